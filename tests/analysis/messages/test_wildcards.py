"""Receives with any source or any tag."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.messages.wildcards import takes_any_source, takes_any_tag
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import Tree, load_tree

_RECEIVE = "call MPI_Recv(w, 4, MPI_REAL, {source}, {tag}, MPI_COMM_WORLD, s, i)\n"
_MAIN = "program main\nuse mpi\n{statement}{contains}end program\n"
_CASES = [
    ("0", "7", False, False),
    ("MPI_ANY_SOURCE", "7", True, False),
    ("0", "MPI_ANY_TAG", False, True),
    ("-1", "7", True, False),
    ("0", "-1", False, True),
    ("MPI_PROC_NULL", "7", False, False),
]


def tree_of(folder: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        (folder / name).write_text(text)
    return load_tree([folder], Settings(jobs=1, cache=False))


@pytest.mark.parametrize(("source", "tag", "any_source", "any_tag"), _CASES)
def test_receives(source: str, tag: str, any_source: bool, any_tag: bool, tmp_path: Path) -> None:
    receive = _RECEIVE.format(source=source, tag=tag)
    tree = tree_of(tmp_path, {"a.f90": _MAIN.format(statement=receive, contains="")})
    assert takes_any_source(tree) is any_source
    assert takes_any_tag(tree) is any_tag


@pytest.mark.parametrize("source", ["0", "MPI_ANY_SOURCE", "-1"])
def test_a_receive_that_is_not_analysed_may_take_any_message(source: str, tmp_path: Path) -> None:
    main = _MAIN.format(statement="", contains="contains\ninclude 'p.inc'\n")
    receive = _RECEIVE.format(source=source, tag=7)
    files = {"a.f90": main, "p.inc": f"! do not edit\nsubroutine r\n{receive}end subroutine\n"}
    tree = tree_of(tmp_path, files)
    assert takes_any_source(tree)
    assert takes_any_tag(tree)


def test_a_program_without_receives_takes_nothing(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"a.f90": _MAIN.format(statement="", contains="")})
    assert not takes_any_source(tree)
    assert not takes_any_tag(tree)
