"""Summaries come back in the next run on the same tree, and only there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asphalt.analysis.effects import procedure_effects
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.mentions import Mentions
from asphalt.frontend.source_tree.outline import Request
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.frontend.source_tree.workers import Failed, Workers
from asphalt.project import Project
from support.judging import program

SETTINGS = Settings(jobs=1)
NEST = """\
do z = 1, nz
  do p = 1, np
    call plane(s(:,z,p), n, z, me)
  end do
end do
"""
PLANE = """\
subroutine plane(x, n, z, me)
  implicit none
  integer, intent(in) :: n, z, me
  real(8) :: x(n)
  integer :: i
  include 'more.inc'
  do i = 1, n
    x(i) = dble(i*z){statement}
  end do
end subroutine plane
"""


class Work:
    """What was computed about procedures since the last look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self._count(monkeypatch, procedure_effects, "summarise")
        self._count(monkeypatch, procedure_effects.Effects, "_flow_of")

    def _count(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counted(*arguments: Any) -> Any:
            self.done.append(name)
            return original(*arguments)

        monkeypatch.setattr(owner, name, counted)

    def look(self) -> set[str]:
        """Which kinds of work were done."""
        found, self.done = set(self.done), []
        return found


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Work(monkeypatch)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "main.f90").write_text(program(nest=NEST))
    (root / "more.inc").write_text("integer, parameter :: unused = 1\n")
    write_plane(root)
    return root


def write_plane(root: Path, statement: str = "") -> None:
    (root / "plane.f90").write_text(PLANE.format(statement=statement))


def reports(root: Path, settings: Settings = SETTINGS) -> list[Any]:
    return [site.report for site in Project(root, settings=settings).sites()]


def test_the_second_run_computes_no_summary(tree: Path, work: Work) -> None:
    first = reports(tree)
    assert [report.verdict for report in first] == ["proved"]
    assert work.look() == {"summarise", "_flow_of"}
    assert reports(tree) == first
    assert work.look() == set()
    (change,) = Project(tree, settings=SETTINGS).transform()
    assert b"asphalt_tiled" in change.after
    assert work.look() == set()


def test_without_a_cache_nothing_is_kept(tree: Path, work: Work) -> None:
    settings = replace(SETTINGS, cache=False)
    assert reports(tree, settings) == reports(tree, settings)
    work.look()
    reports(tree, settings)
    assert work.look() == {"summarise", "_flow_of"}


def test_a_changed_procedure_changes_the_verdict(tree: Path, work: Work) -> None:
    assert [report.verdict for report in reports(tree)] == ["proved"]
    write_plane(tree, "\n    print *, x(i)")
    changed = reports(tree)
    assert [report.verdict for report in changed] == ["refused"]
    assert reports(tree) == changed
    write_plane(tree)
    assert [report.verdict for report in reports(tree)] == ["proved"]


def test_a_changed_include_file_counts(tree: Path, work: Work) -> None:
    reports(tree)
    (tree / "more.inc").write_text("include 'inner.inc'\n")
    work.look()
    reports(tree)
    assert "summarise" in work.look()
    (tree / "inner.inc").write_text("real(8), save :: kept\n")
    reports(tree)
    assert "summarise" in work.look()
    (tree / "inner.inc").write_text("real(8), save :: other\n")
    reports(tree)
    assert "summarise" in work.look()
    reports(tree)
    assert work.look() == set()


def test_a_definition_in_c_counts(tree: Path, work: Work) -> None:
    (tree / "main.f90").write_text(program(nest="call dscal(n*nz*np, 2d0, s, 1)\n" + NEST))
    reports(tree)
    work.look()
    (tree / "own.c").write_text(
        "void dscal_(int *n, double *a, double *x, int *inc) { abort(); }\n"
    )
    reports(tree)
    assert "summarise" in work.look()


def test_settings_count(tree: Path, work: Work) -> None:
    reports(tree)
    for settings in (
        replace(SETTINGS, defines=("SOME",)),
        replace(SETTINGS, include_dirs=(str(tree),)),
    ):
        work.look()
        found = reports(tree, settings)
        assert "summarise" in work.look()
        assert reports(tree, settings) == found
        assert work.look() == set()


def test_what_holds_under_an_assumption_stays_there(tree: Path, work: Work) -> None:
    plane = PLANE.format(statement="\n    call unseen")
    (tree / "plane.f90").write_text(plane)
    accepted = replace(SETTINGS, assume=frozenset({"pure:unseen"}))
    without, with_it = reports(tree), reports(tree, accepted)
    assert [report.assumptions for report in without] == [("pure:unseen",)]
    assert [report.accepted for report in without] == [()]
    assert [report.accepted for report in with_it] == [("pure:unseen",)]
    work.look()
    assert (reports(tree), reports(tree, accepted)) == (without, with_it)
    assert work.look() == set()


def test_a_damaged_entry_is_absent(tree: Path, work: Work, tmp_path: Path) -> None:
    first = reports(tree)
    for entry in (tmp_path / "cache").glob("asphalt/??/*"):
        entry.write_bytes(entry.read_bytes()[:-3] + b"xyz")
    work.look()
    assert reports(tree) == first
    assert work.look() == {"summarise", "_flow_of"}


def test_conclusions_from_what_could_not_be_read_are_not_kept(
    tree: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Workers.run

    def failing(self: Any, function: Any, items: Any, seconds: float) -> Any:
        for item, result in zip(items, original(self, function, items, seconds), strict=True):
            asked = isinstance(item, Request) and item.path.endswith("plane.f90")
            yield Failed("too much of it") if asked else result

    with monkeypatch.context() as broken:
        broken.setattr(Workers, "run", failing)
        assert [report.verdict for report in reports(tree)] == ["assumed"]  # it is pure
    assert [report.verdict for report in reports(tree)] == ["proved"]


def test_where_a_name_stands_comes_back(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = load_tree([tree], SETTINGS)
    units = [located.unit.name for located in first.mentions("plane")]
    assert units == ["exchange"]
    first.keep_mentions()
    with monkeypatch.context() as patch:
        patch.setattr(Mentions, "_search", None)  # nothing is to be searched
        again = load_tree([tree], SETTINGS)
        assert [located.unit.name for located in again.mentions("plane")] == units
    other = "subroutine more\n  call plane()\nend subroutine more\n"
    (tree / "more.f90").write_text(other)
    changed = load_tree([tree], SETTINGS)
    with monkeypatch.context() as patch:
        searched = _searched_files(patch)
        assert [located.unit.name for located in changed.mentions("plane")] == [*units, "more"]
        assert searched == [[str(tree / "more.f90")]]
    changed.keep_mentions()
    (tree / "more.f90").write_text(other.replace("plane", "plate"))
    back = load_tree([tree], SETTINGS)
    assert [located.unit.name for located in back.mentions("plane")] == units
    assert [located.unit.name for located in back.mentions("plate")] == ["more"]


def _searched_files(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files that are searched for each name from now on."""
    found: list[list[str]] = []
    search = Mentions._search

    def noting(self: Mentions, name: str, paths: list[str]) -> object:
        found.append(paths)
        return search(self, name, paths)

    monkeypatch.setattr(Mentions, "_search", noting)
    return found
