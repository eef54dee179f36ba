"""What became of a unit in another run is believed for the same tree, and for no other one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from asphalt.cli.main import main
from asphalt.config.settings import Settings
from asphalt.config.sizes import size_of
from asphalt.project import Outcome, Project
from support.searched_units import searched_for as searched_for

_FILES = {
    "sizes.inc": "  integer, parameter :: length = 20000\n",
    "work.f90": """\
module work
  implicit none
  include 'sizes.inc'
  real(8) :: factor = 2
contains
  subroutine smooth(b)
    real(8), intent(inout) :: b(length)
    integer :: i
    do i = 1, length
      b(i) = sqrt(b(i) + factor*i)
    end do
  end subroutine smooth
end module work
""",
    "halo.F90": """\
module halo
  use mpi
  use work, only: length, smooth
  implicit none
contains
  subroutine step(a, b, edge, left, right)
    real(8), intent(inout) :: a(length), b(length), edge(length)
    integer, intent(in) :: left, right
    real(8) :: start
    integer :: ierr
    start = MPI_Wtime()
    call MPI_Sendrecv(a, length, MPI_DOUBLE_PRECISION, left, 1, &
                      edge, length, MPI_DOUBLE_PRECISION, right, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
#ifdef SHORT
    b(1) = 0
#endif
    call smooth(b)
    a = a + edge
  end subroutine step
end module halo
""",
    "main.f90": """\
program main
  use mpi
  use halo, only: step
  use work, only: length
  implicit none
  real(8) :: a(length), b(length), edge(length)
  integer :: me, np, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me; b = 1
  call step(a, b, edge, modulo(me - 1, np), modulo(me + 1, np))
  print *, sum(a), sum(b)
  call MPI_Finalize(ierr)
end program main
""",
    "other.c": "void other(void) { }\n",
}
_LINES = (  # pairs of text that make other programs where they occur
    ("length = 20000", "length = 2"),
    ("factor*i)", "factor*i); if (b(i) < 0) print *, i"),
    ("factor*i)", "i)"),
    ("b(i) = sqrt", "factor = sqrt"),
    ("edge, length, MPI", "b, length, MPI"),
    ("a = me; b = 1", "a = me; b = 1; factor = 3"),
    ("use work, only: length\n", "use work, only: length, factor\n"),
    ("call smooth(b)", "call smooth(edge)"),
    ("void other", "void smooth_"),
    ("end do\n", "end do\n    ! a comment\n"),
    ("#ifdef SHORT", "#ifndef SHORT"),
    ("right, 1, &", "right, MPI_ANY_TAG, &"),
)
_EDITS = 8


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree, with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "tree"
    folder.mkdir()
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    return folder


_SETTINGS = Settings(jobs=1)


def _told(outcome: Outcome) -> tuple[object, ...]:
    return outcome.changes, outcome.procedures, outcome.own, dict(outcome.tries), outcome.notes


def _run(folder: Path, settings: Settings = _SETTINGS) -> tuple[object, ...]:
    return _told(Project(folder, settings=settings).outcome())


def test_another_run_believes_what_the_first_has_found(tree: Path, searched_for: list[str]) -> None:
    first = _run(tree)
    assert first[0]
    assert set(searched_for) == {"main", "step"}
    searched_for.clear()
    assert _run(tree) == first
    assert not searched_for


def test_without_a_cache_nothing_is_kept(tree: Path, searched_for: list[str]) -> None:
    alone = replace(_SETTINGS, cache=False)
    first = _run(tree, alone)
    count = len(searched_for)
    assert _run(tree, alone) == first
    assert _run(tree) == first
    assert len(searched_for) == 3 * count


@pytest.mark.parametrize(
    "other",
    [
        {"defines": ("SHORT",)},
        {"passes": ("nonblocking", "motion")},
        {"sizes": (size_of("left=10"),)},
        {"networks": ("ethernet-1g",)},
        {"clone_limit": 0},
        {"one_configuration": True},
        {"assume": frozenset({"fatal"})},
    ],
)
def test_another_question_is_searched_for(
    tree: Path, searched_for: list[str], other: dict[str, object]
) -> None:
    _run(tree)
    searched_for.clear()
    asked = replace(_SETTINGS, **other)  # type: ignore[arg-type]
    found = _run(tree, asked)
    assert searched_for
    assert found == _run(tree, replace(asked, cache=False))


def test_an_assumption_that_nobody_asks_for_changes_no_answer(
    tree: Path, searched_for: list[str]
) -> None:
    _run(tree)
    searched_for.clear()
    _run(tree, replace(_SETTINGS, assume=frozenset({"bits"})))
    assert not searched_for


def test_of_several_programs_an_edit_of_one_counts_for_all(
    tree: Path, searched_for: list[str]
) -> None:
    """A file of one of them may decide whether one of another is compiled by itself."""
    for name in ("one", "two"):
        (tree / name).mkdir()
        for file in _FILES:
            (tree / name / file).write_text(_FILES[file])
    for file in _FILES:
        (tree / file).unlink()
    first = _run(tree)
    assert searched_for.count("step") == 2
    searched_for.clear()
    assert _run(tree) == first
    assert not searched_for
    (tree / "two" / "more.inc").write_text("  integer :: more\n")
    (tree / "two" / "more.f90").write_text("module more\n  include 'more.inc'\nend module more\n")
    _run(tree)
    assert searched_for.count("step") == 2


def test_another_version_of_asphalt_searches(
    tree: Path, searched_for: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _run(tree)
    searched_for.clear()
    monkeypatch.setattr(
        "asphalt.frontend.source_tree.snapshot.package_digest", lambda: b"another one"
    )
    assert _run(tree) == first
    assert searched_for


@pytest.mark.parametrize("count", [_EDITS, pytest.param(10 * _EDITS, marks=pytest.mark.wide)])
def test_random_edits(tree: Path, count: int) -> None:
    """After each edit, what becomes of the tree is what an empty cache says; often an edit is taken
    back."""
    random = Random(31)
    texts: set[object] = set()
    for _ in range(count):
        path = tree / random.choice(sorted(_FILES))
        text = path.read_text()
        found = [pair for pair in _LINES if pair[0] in text]
        found += [(new, old) for old, new in _LINES if new in text]
        if found:
            old, new = random.choice(found)
            path.write_text(text.replace(old, new, 1))
        told = _run(tree)
        assert told == _run(tree, replace(_SETTINGS, cache=False)), path.name
        texts.add(repr(told[0]))
    assert len(texts) > 2


def test_apply_does_not_search_for_what_scan_has_found(
    tree: Path,
    tmp_path: Path,
    searched_for: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*arguments: str) -> tuple[str, str]:
        assert main([arguments[0], "--jobs", "1", str(tree), *arguments[1:]]) == 0
        said = capsys.readouterr()
        return said.out, said.err

    run("scan")
    searched_for.clear()
    shown = run("diff")
    run("apply", "-o", str(tmp_path / "one"), "--root", str(tree))
    assert not searched_for
    assert shown == run("diff", "--no-cache")
    run("apply", "-o", str(tmp_path / "two"), "--root", str(tree), "--no-cache")
    assert searched_for
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.[Ff]*")}
        for name in ("one", "two")
    )
    assert one == two
    assert one["halo.F90"] != _FILES["halo.F90"].encode()
