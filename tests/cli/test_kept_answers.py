"""Answers that are kept for trees in which nothing changes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from asphalt.cli import kept_answers
from asphalt.cli.main import main
from support.random_tree_edits import FILES, OPTIONS, random_edit, write_files

_EDITS = 60


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree, with a cache of its own that also believes in files that are new."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_answers, "MARGIN", 0.0)
    return tmp_path


def scan(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["scan", "--jobs", "1", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def refuse_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_nothing(*_: object) -> None:
        raise AssertionError("the tree is read")

    monkeypatch.setattr("asphalt.cli.scan.read_project", read_nothing)


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_the_answer_for_a_tree_that_is_as_it_was(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """It is printed as it was, and no file is read for it."""
    asked = (*OPTIONS, "--all", "--check", "--format", form)
    first = scan(capsys, *asked)
    assert first[0] == 1
    assert "calls.f90" in first[1]
    refuse_to_read(monkeypatch)
    assert scan(capsys, *asked) == first


@pytest.mark.parametrize(
    "more",
    [
        ("--all",),
        ("-D", "X"),
        ("-I", "src"),
        ("--passes", "waits"),
        ("--size", "np=4"),
        ("--backend", "persistent"),
    ],
)
def test_another_question_has_another_answer(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
) -> None:
    scan(capsys, *OPTIONS)
    refuse_to_read(monkeypatch)
    with pytest.raises(AssertionError):
        scan(capsys, *OPTIONS, *more)


def test_files_that_have_just_changed_decide_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another change in the same tick of the clock would leave no trace."""
    monkeypatch.setattr(kept_answers, "MARGIN", 3600.0)
    scan(capsys, *OPTIONS)
    refuse_to_read(monkeypatch)
    with pytest.raises(AssertionError):
        scan(capsys, *OPTIONS)


def test_a_file_that_appears_where_it_was_looked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No file of the tree has changed, and the value of the constant has."""
    before = scan(capsys, *OPTIONS, "--format", "json")
    (here / "near" / "sizes.inc").write_text(FILES["inc/sizes.inc"].replace("width", "length"))
    after = scan(capsys, *OPTIONS, "--format", "json")
    assert after != before
    assert after == scan(capsys, *OPTIONS, "--format", "json", "--no-cache")


@pytest.mark.parametrize("count", [_EDITS // 3, pytest.param(_EDITS, marks=pytest.mark.wide)])
def test_random_edits(here: Path, capsys: pytest.CaptureFixture[str], count: int) -> None:
    """After each edit, the answer is that of an empty cache."""
    random = Random(26)
    for _ in range(count):
        edit = random_edit(here, random)
        expected = scan(capsys, *OPTIONS, "--all", "--no-cache")
        assert scan(capsys, *OPTIONS, "--all") == expected, edit
        assert scan(capsys, *OPTIONS, "--all") == expected, f"{edit}, and again"


def test_a_module_whose_file_cannot_be_read_is_told_again(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the sites that it refuses."""
    calls = here / "src/calls.f90"
    calls.write_text(calls.read_text().replace("  use mpi\n", "  use broken\n"))
    (here / "src/broken.f90").write_text("module broken\n  if (x) then\nend module broken\n")
    first = scan(capsys, *OPTIONS)
    assert "the file of module broken cannot be read (refuses 1 site)" in first[2]
    refuse_to_read(monkeypatch)
    assert scan(capsys, *OPTIONS) == first
