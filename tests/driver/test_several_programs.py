"""A tree of several programs, each with its own copy of a module, is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.settings import Settings
from asphalt.driver.several_programs import several_programs
from asphalt.frontend.source_tree.tree import load_tree

MODULE = "module grid\n  integer :: n = 3\nend module grid\n"
MAIN = "program {name}\n  use mpi\n  use grid\n  implicit none\n  print *, n\nend program {name}\n"


def cases(folder: Path, *copies: str) -> Path:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "main.f90").write_text(MAIN.format(name=name))
    for name in copies:
        (folder / name / "grid.f90").write_text(MODULE)
    return folder


def test_a_module_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "--no-cache", str(cases(tmp_path, "one", "two"))]) == 0
    told = capsys.readouterr().err
    assert "is one of 2 main programs, and 2 files define its module grid" in told
    assert str(tmp_path / "two" / "grid.f90") in told


def test_one_module_for_all(tmp_path: Path) -> None:
    tree = load_tree((cases(tmp_path, "one"),), Settings(cache=False))
    assert list(several_programs(tree)) == []


def test_one_of_them_alone(tmp_path: Path) -> None:
    tree = load_tree((cases(tmp_path, "one", "two") / "one",), Settings(cache=False))
    assert list(several_programs(tree)) == []
