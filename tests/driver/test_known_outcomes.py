"""What became of a unit is used again under other assumptions, where no question about them was
asked: the results are those of a search that knows nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.passes import PASSES, TRANSFERS
from asphalt.config.settings import Settings
from asphalt.driver.known_outcomes import KnownOutcomes
from asphalt.driver.overlap import Outcome, OverlapRequest, optimised
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.options import Options
from asphalt.optimiser.outcome import Optimised
from asphalt.optimiser.preparation import Search
from asphalt.optimiser.searched import Searched
from asphalt.project import Project
from fuzz import exchanges, gathers
from fuzz.batch import _MAIN, SUPPORT
from support.searched_units import searched_for as searched_for

_PROGRAM = """\
subroutine total(a, b, n)
  use mpi
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n)
  real(8) :: mine, all
  integer :: i, ierr
  mine = sum(a)
  call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  do i = 1, n
    b(i) = sqrt(b(i) + i)
  end do
  a = a/all
end subroutine total

subroutine timed(a, b, n, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: a(n), b(n)
  real(8) :: edge(n), start
  integer :: i, ierr
  start = MPI_Wtime()
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, left, 1, edge, n, MPI_DOUBLE_PRECISION, right, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  print *, MPI_Wtime() - start
  do i = 1, n
    b(i) = sqrt(b(i) + i)
  end do
  a = a + edge
end subroutine timed

subroutine plain(a, b, n, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: a(n), b(n)
  real(8) :: edge(n)
  integer :: i, ierr
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, left, 1, edge, n, MPI_DOUBLE_PRECISION, right, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  a = a + edge
  b = b + edge
end subroutine plain

program main
  use mpi
  implicit none
  integer, parameter :: n = 20000
  real(8) :: a(n), b(n)
  integer :: me, np, left, right, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np); right = modulo(me + 1, np)
  a = me; b = 1
  call total(a, b, n); call timed(a, b, n, left, right); call plain(a, b, n, left, right)
  print *, sum(a), sum(b)
  call MPI_Finalize(ierr)
end program main
"""
_WAYS: tuple[frozenset[str], ...] = (
    frozenset(),
    frozenset(("bits",)),
    frozenset(("timers", "fatal")),
    frozenset(("fatal",)),
    frozenset(("bits", "control", "timers")),
    frozenset(),
)


def _analyses(folder: Path, text: str = _PROGRAM) -> Analyses:
    (folder / "main.f90").write_text(text)
    return Analyses(load_tree([folder], Settings(cache=False, jobs=1)))


def _request(accepted: frozenset[str], known: KnownOutcomes, *passes: str) -> OverlapRequest:
    return OverlapRequest(Options(passes or TRANSFERS, accepted), known=known)


def _told(outcome: Outcome) -> tuple[object, ...]:
    return outcome.changes, outcome.procedures, outcome.own, dict(outcome.tries), outcome.notes


@pytest.mark.parametrize(
    ("then", "now", "anew"),
    [
        ((), (), set()),
        ((), ("bits",), {"total"}),
        (("bits",), (), {"total"}),
        ((), ("bits@total:9",), {"total"}),
        ((), ("timers",), {"timed"}),
        (("bits", "timers"), ("bits",), {"timed"}),
        ((), ("fatal",), {"total", "timed", "plain"}),
        ((), ("pure:total",), {"total", "timed", "plain"}),
    ],
)
def test_only_units_that_asked_are_optimised_anew(
    then: tuple[str, ...],
    now: tuple[str, ...],
    anew: set[str],
    tmp_path: Path,
    searched_for: list[str],
) -> None:
    analyses, known = _analyses(tmp_path), KnownOutcomes()
    passes = ("nonblocking", "motion")  # nothing of one procedure comes to another
    optimised(analyses, (), _request(frozenset(then), known, *passes))
    searched_for.clear()
    optimised(analyses, (), _request(frozenset(now), known, *passes))
    assert set(searched_for) - {"main"} == anew


def test_results_are_those_of_a_new_search(tmp_path: Path) -> None:
    analyses, known = _analyses(tmp_path), KnownOutcomes()
    texts = set()
    for accepted in _WAYS:
        fresh = optimised(analyses, (), _request(accepted, KnownOutcomes()))
        assert _told(optimised(analyses, (), _request(accepted, known))) == _told(fresh)
        texts.add(tuple(change.after for change in fresh.changes))
    assert len(texts) > 1  # the assumptions matter


def test_other_passes_or_another_text_are_another_question(
    tmp_path: Path, searched_for: list[str]
) -> None:
    analyses, known = _analyses(tmp_path), KnownOutcomes()
    optimised(analyses, (), _request(frozenset(), known, "nonblocking", "motion"))
    searched_for.clear()
    optimised(analyses, (), _request(frozenset(), known, "nonblocking", "motion", "splitting"))
    assert {"total", "timed", "plain"} <= set(searched_for)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.wide) for n in (1, 2, 3))])
def test_random_procedures_have_the_results_of_a_new_search(seed: int, tmp_path: Path) -> None:
    make = (exchanges.procedure, gathers.procedure)[seed % 2]
    file, text = make(31 + seed, seed)
    path, caller = tmp_path / file, tmp_path / "caller.f90"
    path.write_text(text)
    caller.write_text(_MAIN.format(calls=f"  ierr = 0; call {path.stem}\n"))
    tree = load_tree([path, caller, SUPPORT], Settings(cache=False, jobs=1))
    ways = [*_WAYS]
    Random(seed).shuffle(ways)
    analyses, known = Analyses(tree), KnownOutcomes()
    for accepted in ways[:4]:
        asked = _request(accepted, known, *PASSES)
        fresh = _request(accepted, KnownOutcomes(), *PASSES)
        told = _told(optimised(analyses, (), asked))
        assert told == _told(optimised(analyses, (), fresh)), accepted


_CHAIN = """\
module halo
  use mpi
  implicit none
  integer, parameter :: n = 20000
contains
  subroutine exchange(a, b, c, left, right)
    integer, intent(in) :: left, right
    real(8), intent(inout) :: a(n), b(n), c(n)
    integer :: i, ierr, status(MPI_STATUS_SIZE)

    call MPI_Sendrecv(b, n, MPI_DOUBLE_PRECISION, right, 1, a, n, MPI_DOUBLE_PRECISION, &
                      left, 1, MPI_COMM_WORLD, status, ierr)
    do i = 1, n
      c(i) = sqrt(c(i) + i)
    end do
    c = c + a
  end subroutine exchange
end module halo

program main
  use mpi
  use halo, only: exchange, n
  implicit none
  real(8) :: a(n), b(n), c(n)
  integer :: me, np, left, right, step, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  a = 0; b = me; c = me
  do step = 1, 4
    call exchange(a, b, c, left, right)
    b = b + c
  end do
  print '(i0, z17)', me, sum(c)
  call MPI_Finalize(ierr)
end program main
"""


def test_a_procedure_that_is_judged_at_its_call_is_searched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, int]] = []
    best = Search.best

    def noted(search: Search) -> Optimised:
        begun.append((search.shop.chain[-1], id(search.shop.tree)))
        return best(search)

    monkeypatch.setattr(Search, "best", noted)
    (tmp_path / "main.f90").write_text(_CHAIN)
    settings = Settings(passes=TRANSFERS, cache=False, jobs=1)
    found = Project(tmp_path, settings=settings).outcome()
    assert [name for name, _ in begun].count("exchange") == 2  # the second round, with its result
    assert len(begun) == len(set(begun))
    assert any("asphalt_isend" in change.after.decode() for change in found.changes)
    # and the result is that of a search for each
    monkeypatch.setattr(Searched, "of", lambda *_: None)
    monkeypatch.setattr(Searched, "taken", lambda *_: None)
    begun.clear()
    again = Project(tmp_path, settings=settings).outcome()
    assert [name for name, _ in begun].count("exchange") == 3
    assert _told(again) == _told(found)
