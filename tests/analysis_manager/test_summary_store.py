"""Summaries come back in the next run on the same tree, and only there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
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
from support.random_procedure_edits import random_edit, write_files

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
    assert b"asphalt_x%finished" in change.after
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


def _look(folder: Path, cache: bool) -> tuple[list[Any], dict[tuple[str, ...], Any]]:
    """All reports on a tree, and the summaries of its procedures."""
    project = Project(folder, settings=replace(SETTINGS, cache=cache))
    reported = [*(site.report for site in project.sites()), *project.findings]
    effects = project._analyses.of()[0]
    summaries = {
        (entry.path, *(unit.name for unit in located.chain)): effects.summary(located)
        for entry in project.tree.files
        for located in project.tree.units_of(entry.path)
        if located.unit.kind != "module"
    }
    project._analyses.keep()
    return reported, summaries


@pytest.fixture
def procedures(tmp_path: Path, work: Work) -> Path:
    """A tree of procedures that call each other, of which a run knows all."""
    root = tmp_path / "procedures"
    root.mkdir()
    write_files(root)
    _look(root, cache=True)
    work.look()
    return root


def _edit(root: Path, name: str, old: str, new: str) -> None:
    text = (root / name).read_text()
    assert old in text
    (root / name).write_text(text.replace(old, new, 1))


def _examined(monkeypatch: pytest.MonkeyPatch, root: Path) -> list[str]:
    """The procedures whose statements a run looks at for their summaries."""
    made: list[str] = []
    original = procedure_effects.Effects._examined

    def noting(self: Any, key: tuple[str, str]) -> Any:
        made.append(key[1])
        return original(self, key)

    with monkeypatch.context() as patch:
        patch.setattr(procedure_effects.Effects, "_examined", noting)
        found = _look(root, cache=True)
    assert found == _look(root, cache=False)
    return sorted(set(made))


@pytest.mark.parametrize(
    ("name", "old", "new", "made"),
    [
        ("low.f90", "  n = 2\n", "  n = 3\n", ["quiet"]),
        ("low.f90", "  n = 2\n", "  ! two\n  n = 2\n", ["quiet"]),
        ("high.f90", "    m = 3\n", "    m = 4\n", ["around", "around/inside"]),
        ("high.f90", "subroutine by_call(n)\n", "\n\nsubroutine by_call(n)\n", []),
        (
            "low.f90",
            "subroutine quiet(n)\n",
            "! sets it\nsubroutine quiet(n)\n",
            ["fill", "low", "quiet", "shared"],
        ),
        ("state.f90", "contains\n", "\n! what it does\ncontains\n", []),
        ("state.f90", "    n = n + 1\n", "    n = n + 2\n", ["state/area_of_integer"]),
        ("low.f90", "  n = n + 1\n", "  print *, n\n", ["by_call", "exchange", "low", "main"]),
        (
            "low.f90",
            "subroutine quiet(n)\n",
            "subroutine new\nend\nsubroutine quiet(n)\n",
            ["new"],
        ),
    ],
)
def test_one_edited_procedure_costs_that_procedure_and_what_sees_it(
    procedures: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    old: str,
    new: str,
    made: list[str],
) -> None:
    _edit(procedures, name, old, new)
    assert _examined(monkeypatch, procedures) == made
    assert _examined(monkeypatch, procedures) == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("state.f90", "counter = 0", "counter(3) = 0"),
        (
            "low.f90",
            "subroutine quiet(n)\n",
            "subroutine quiet(n)\n  interface low\n  end interface\n",
        ),
        ("low.f90", "integer, intent(inout) :: n\n  n = 2", "integer :: n(2)\n  n = 2"),
        ("low.f90", "end subroutine quiet\n", "end subroutine quiet\nsubroutine low\nend\n"),
    ],
)
def test_an_edit_that_others_may_see_leaves_no_summary(
    procedures: Path, monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str
) -> None:
    """Of declarations, say, on which the meaning of a procedure elsewhere may depend."""
    _edit(procedures, name, old, new)
    assert {"by_call", "ping", "main"} <= set(_examined(monkeypatch, procedures))


def test_an_edit_and_another_header_leave_no_summary(
    procedures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = (procedures / "low.f90").read_text()
    (procedures / "low.f90").unlink()
    (procedures / "low.F90").write_text('#include "do.h"\n' + low.replace("  n = 2\n", "  DO\n"))
    (procedures / "do.h").write_text("#define DO n = 2\n")
    _look(procedures, cache=True)
    (procedures / "do.h").write_text("#define DO n = n\n")
    _edit(procedures, "low.F90", "  n = n + 1\n", "  n = n + 2\n")
    assert {"low", "ping"} <= set(_examined(monkeypatch, procedures))


def test_random_edits_of_procedures(procedures: Path) -> None:
    """After each edit, what is known is what an empty cache would lead to."""
    random = Random(26)
    for _ in range(20):
        edit = random_edit(procedures, random)
        assert _look(procedures, cache=True) == _look(procedures, cache=False), edit
