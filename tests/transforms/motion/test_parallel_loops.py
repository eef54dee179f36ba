"""Transfers in procedures with OpenMP: parallel loops move as wholes, and both compilations of a
line behind a sentinel allow each step."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from support.mpi_run import OPENMPI, RUNTIME, Mpi, build, installed, run

_PROGRAM = """\
module threads
  implicit none
  integer :: nt = 1
end module threads
module work
  use mpi
  implicit none
contains
  subroutine step(a, b, c, n, left, right)
!$  use threads, only: nt
    integer, intent(in) :: n, left, right
    real(8), intent(inout) :: a(n), b(n), c(n)
    integer :: i, ierr, m, request
    real(8) :: t
!$  integer, external :: omp_get_max_threads, omp_get_thread_num
    m = 1; t = 0
{before}    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, &
      b, n, MPI_DOUBLE_PRECISION, left, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{behind}    c(1) = c(1) + b(1) + m
  end subroutine step
  logical function large(n)
    integer, intent(inout) :: n
    large = n > 10
  end function large
end module work
program ring
  use work
  implicit none
  integer, parameter :: n = 3000
  integer :: me, np, ierr, k
  real(8) :: a(n), b(n), c(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me; b = 0; c = 2
  do k = 1, 3
    call step(a, b, c, n, mod(me - 1 + np, np), mod(me + 1, np))
  end do
  print '(i0, 3(1x, z16))', me, sum(a), sum(b), sum(c)
  call MPI_Finalize(ierr)
end program ring
"""
_LOOP = """\
    do i = 1, n
      c(i) = c(i)*0.5d0 + sqrt(c(i))
    end do
"""
_PRIVATE = """\
!$omp parallel do if (n > 100) private(t) &
!$omp   & schedule(static, m)
    do i = 1, n
      t = c(i)
!$omp critical
      c(i) = t*0.5d0 + sqrt(t)
!$omp end critical
    end do

!$omp end parallel do ! all of them
"""
_REGION = """\
!$omp parallel if (n > 100) private(t) &
!$omp   & num_threads(m + 1)
! all of them
!$omp do schedule(static, m)
    do i = 1, n
      t = c(i)
!$omp atomic update
      c(i) = c(i) + 0.5d0*t
    end do
!$omp end do nowait

!$omp end parallel ! all of them
"""
_PLAIN_REGION = f"!$omp parallel\n!$omp do\n{_LOOP}!$omp end parallel\n"
_TWO_LOOPS = f"""\
!$omp parallel private(t)
!$omp do
{_LOOP}!$omp end do

!$omp do schedule(static, m)
    do i = 1, n
      t = c(i)
      c(i) = t + 0.25d0*abs(t)
    end do
!$omp end do nowait
!$omp end parallel ! all of them
"""
_THREADS = f"!$omp parallel do if (n > nt)\n{_LOOP}"
_WORKSHARE = """\
!$omp parallel workshare default(shared) shared(a, c)
    c(1:2) = 0
    ! the rest
    where (c < 0) c = 1

    forall (i = 1:3) c(i) = i
!$omp end parallel workshare
"""
_TAKEN = {
    "loop in front": (f"!$omp parallel do\n{_LOOP}", _LOOP),
    "loop in the window": ("", _PRIVATE),
    "two loops in the window": ("", f"{_PRIVATE}!$omp parallel do\n{_LOOP}"),
    "region in front": (_PLAIN_REGION, _LOOP),
    "region in the window": ("", _REGION),
    "region of two loops in front": (_TWO_LOOPS, _LOOP),
    "region of two loops in the window": ("", _TWO_LOOPS),
    "two regions of two loops": (_TWO_LOOPS, f"{_TWO_LOOPS}{_PRIVATE}{_TWO_LOOPS}"),
    "region of two loops in a branch": (f"    if (n > 3) then\n{_TWO_LOOPS}    end if\n", _LOOP),
    "branch in the window": ("", f"    if (n > 3) then\n{_TWO_LOOPS}    end if\n"),
    "regions in the window": ("", f"{_REGION}{_PLAIN_REGION}{_LOOP}"),
    "region in a branch": ("", f"    if (n > 3) then\n{_REGION}    end if\n"),
    "lines in front": ("!$  m = omp_get_max_threads()\n!$  m = m*0\n", _LOOP),
    "a line of several": (
        "!$  m = omp_get_max_threads() & ! of them\n!$ &   - 1\n!$  m = m*0\n", _LOOP),
    "construct in front": (
        f"!$  if (omp_get_thread_num() == 0) then\n    m = 2\n!$  end if\n{_LOOP}", _THREADS),
    "construct of lines": (
        "!$  if (omp_get_max_threads() > 7) then\n!$    m = 2\n!$  else\n!$    m = 3\n!$  end if\n"
        "!$  if (m > 1) m = 1\n", _LOOP),
    "a line in the window": ("", f"!$  t = 7\n{_PRIVATE}"),
    "loop in a branch": ("", f"    if (n > 3) then\n{_PRIVATE}    end if\n"),
    "variable of another module": ("", _THREADS),
    # SHARED lists b, and does not access it
    "lists of shared variables": (
        "", f"!$omp parallel do shared(b, c)\n{_LOOP}"
        + _TWO_LOOPS.replace("private(t)", "private(t) shared(b)")),
    "a workshare in front": (f"{_WORKSHARE}    m = 1\n", _LOOP),
}  # fmt: skip
_RUN = (
    "a workshare in front",
    "lists of shared variables",
    "region of two loops in front",
    "region of two loops in the window",
    "two regions of two loops",
    "branch in the window",
    "regions in the window",
    "region in a branch",
    "two loops in the window",
    "construct in front",
    "a line in the window",
    "loop in a branch",
)
_NESTED = """\
!$omp parallel do private(m)
    do i = 1, n
{0}    end do
    m = 1
"""
_CALL = """\
      call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 2, c, n, MPI_DOUBLE_PRECISION, left, 2, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
"""
_BEHIND_RECEIVE = {
    "the line reads what is received": ("", f"!$  c(1) = b(1)\n{_LOOP}"),
    "the construct reads what is received": (
        "", f"!$  if (b(1) > 0) then\n    c(n) = 1\n!$  end if\n{_LOOP}"),
    "the loop reads what is received": (
        "", "!$omp parallel do\n    do i = 1, n\n      c(i) = c(i) + b(i)\n    end do\n"),
    "the directive reads what is received": ("", f"!$omp parallel do if (b(1) > 0)\n{_LOOP}"),
    "the region reads what is received": (
        "", _PLAIN_REGION.replace("sqrt(c(i))", "b(i)")),
    "the directive of the region reads what is received": (
        "", _PLAIN_REGION.replace("parallel\n", "parallel if (b(1) > 0)\n", 1)),
    "the first loop of a region reads what is received": (
        "", _TWO_LOOPS.replace("sqrt(c(i))", "b(i)")),
    "the second loop of a region reads what is received": (
        "", _TWO_LOOPS.replace("abs(t)", "b(i)")),
    "the directive of the second loop of a region reads what is received": (
        "", _TWO_LOOPS.replace("static, m", "static, int(b(1)) + 1")),
    "a region reduces what is received": (
        "", _TWO_LOOPS.replace("private(t)", "private(t) reduction(max: b)")),
    "a loop copies what is received": ("", f"!$omp parallel do firstprivate(b)\n{_LOOP}"),
    "the directive of its loop reads what is received": (
        "", _PLAIN_REGION.replace("do\n", "do schedule(static, int(b(1)) + 1)\n", 1)),
}  # fmt: skip
_BEHIND_SEND = {"the line changes what is sent": ("", f"!$  a(1) = 7\n{_LOOP}")}
_STAYING = {
    "the directive calls a function": ("", f"!$omp parallel do if (large(m))\n{_LOOP}"),
    # without OpenMP, both arms are executed
    "a construct with ELSE": (
        "!$  if (omp_get_thread_num() == 0) then\n    m = 2\n!$  else\n    m = 3\n!$  end if\n",
        _LOOP),
    "a jump": ("!$  if (n < 0) return\n", _LOOP),
    # with OpenMP, t has the value 0
    "a private variable": ("", f"{_PRIVATE}    c(2) = t\n"),
    "a loop variable": ("", f"{_PRIVATE}    c(2) = i\n"),
    "a firstprivate variable": (
        "", f"{_PRIVATE.replace('private', 'firstprivate')}    c(2) = t\n"),
    "a region": ("!$omp parallel\n    m = 1\n!$omp end parallel\n", _LOOP),
    "a region with more than the loop": (
        f"!$omp parallel\n!$omp do\n{_LOOP}!$omp end do\n    m = 1\n!$omp end parallel\n", _LOOP),
    "a region that begins before the loop": (
        f"!$omp parallel\n    m = 1\n!$omp do\n{_LOOP}!$omp end do\n!$omp end parallel\n", _LOOP),
    "a region of two loops with a master": (
        "", _TWO_LOOPS.replace(
            "\n!$omp do sch", "\n!$omp master\n    print *, n\n!$omp end master\n!$omp do sch")),
    "a region of two loops with a copy for all": (
        "", _TWO_LOOPS.replace(
            "\n!$omp do sch",
            "\n!$omp single\n    t = 1\n!$omp end single copyprivate(t)\n!$omp do sch")),
    "a region of two loops with output": (
        "", _TWO_LOOPS.replace("      t =", "      print *, i\n      t =")),
    "a region of two loops with a statement": (
        _TWO_LOOPS.replace("\n!$omp do sch", "\n    m = 1\n!$omp do sch"), _LOOP),
    "a region of two loops with one for itself": (
        _TWO_LOOPS.replace("\n!$omp do sch", "\n!$omp single\n!$omp do sch"), _LOOP),
    "a region of two loops without an end": (
        _TWO_LOOPS.replace("!$omp end parallel ! all of them\n", ""), _LOOP),
    "a value of each thread behind two loops": ("", f"{_LOOP}{_TWO_LOOPS}    c(2) = t\n"),
    "a loop variable behind two loops": ("", f"{_LOOP}{_TWO_LOOPS}    c(2) = i\n"),
    "a region whose loop no threads share": (
        f"!$omp parallel num_threads(1)\n{_LOOP}!$omp end parallel\n", _LOOP),
    "a region of one thread": (
        f"!$omp parallel\n!$omp single\n{_LOOP}!$omp end single\n!$omp end parallel\n", _LOOP),
    "a region with COPYIN": (
        "", _PLAIN_REGION.replace("parallel\n", "parallel copyin(nt)\n", 1)),
    "a value of each thread behind a region": ("", f"{_REGION}    c(2) = t\n"),
    "a firstprivate value of a region": (
        "", f"{_REGION.replace('private', 'firstprivate')}    c(2) = t\n"),
    "a loop variable of a region": ("", f"{_PLAIN_REGION}    c(2) = i\n"),
    "a barrier in a region": (
        "", _PLAIN_REGION.replace("      c", "!$omp barrier\n      c")),
    "a workshare with a private variable": (
        _WORKSHARE.replace("shared(a, c)", "private(t)"), _LOOP),
    "a workshare for one of several regions": (
        _WORKSHARE.replace("parallel ", "").replace(" default(shared) shared(a, c)", "").replace(
            "!$omp w", "!$omp parallel\n!$omp w") + "!$omp end parallel\n", _LOOP),
    "a workshare with a call": (
        _WORKSHARE.replace("c(1:2) = 0", "call random_number(c(1:2))"), _LOOP),
    "a workshare with another directive": (
        _WORKSHARE.replace("    ! the rest\n", "!$omp atomic\n    m = m + 1\n"), _LOOP),
    "a workshare without an end": (
        _WORKSHARE.replace("!$omp end parallel workshare\n", ""), _LOOP),
    "sections": (
        f"!$omp parallel sections\n{_LOOP}!$omp end parallel sections\n", _LOOP),
    "a task": (f"!$omp task\n{_LOOP}!$omp end task\n", _LOOP),
    "OpenACC": (f"!$acc parallel loop\n{_LOOP}", _LOOP),
    "default(private)": ("", f"!$omp parallel do default(private) shared(c)\n{_LOOP}"),
}  # fmt: skip


def _transformed(folder: Path, text: str) -> str:
    folder.mkdir()
    path = folder / "ring.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (step,) = (one for one in tree.units_of(str(path)) if one.unit.name == "step")
    found = optimise(tree, step, Options(TRANSFERS))
    return text if found.content is None else found.content.decode()


_QUICK = (
    "region of two loops in the window",
    "regions in the window",
    "two loops in the window",
    "region in a branch",
)
"""What the quick suite executes."""


@pytest.mark.parametrize(
    "case",
    [one if one in _QUICK else pytest.param(one, marks=pytest.mark.wide) for one in _TAKEN],
)
def test_both_compilations_do_what_they_did(case: str, tmp_path: Path) -> None:
    before, behind = _TAKEN[case]
    text = _PROGRAM.format(before=before, behind=behind)
    found = _transformed(tmp_path / "in", text)
    assert "call asphalt_irecv(b" in found
    assert all(line in found for line in (before + behind).splitlines())
    assert behind in found
    assert found.index("call asphalt_wait(") > found.index(behind)
    for mpi in installed(OPENMPI) if case in _RUN else ():
        _same(mpi, tmp_path, text, found)


@pytest.mark.parametrize("case", [*_BEHIND_RECEIVE, *_BEHIND_SEND])
def test_a_wait_stays_before_what_one_of_them_accesses(case: str, tmp_path: Path) -> None:
    before, behind = {**_BEHIND_RECEIVE, **_BEHIND_SEND}[case]
    text = _PROGRAM.format(before=before, behind=behind)
    found = _transformed(tmp_path / "in", text)
    request = 2 if case in _BEHIND_SEND else 1
    assert f"call asphalt_wait(asphalt_request_{request}, " in found
    first = behind.splitlines()[0]
    assert found.index(f"asphalt_wait(asphalt_request_{request}, ") < found.index(first)


@pytest.mark.parametrize("case", _STAYING)
def test_what_may_differ_in_one_of_them_stays(case: str, tmp_path: Path) -> None:
    before, behind = _STAYING[case]
    text = _PROGRAM.format(before=before, behind=behind)
    assert _transformed(tmp_path / "in", text) == text


def test_nothing_comes_between_the_loops_of_one_region(tmp_path: Path) -> None:
    """The wait passes the first region, and not the second one, whose second loop needs it."""
    needs = _TWO_LOOPS.replace("abs(t)", "b(i)")
    text = _PROGRAM.format(before=_TWO_LOOPS, behind=f"{_TWO_LOOPS}{needs}{_LOOP}")
    found = _transformed(tmp_path / "in", text)
    assert found.count(_TWO_LOOPS) == 2
    assert found.count(needs) == 1
    start, wait = found.index("call asphalt_irecv(b"), found.index("asphalt_wait(asphalt_request_1")
    assert start < found.rindex(_TWO_LOOPS) < wait < found.index(needs)
    for mpi in installed(OPENMPI):
        _same(mpi, tmp_path, text, found)


@pytest.mark.parametrize("reads", [False, True])
def test_nothing_passes_a_workshare(reads: bool, tmp_path: Path) -> None:
    """Nor does anything come in front of its end."""
    shared = _WORKSHARE.replace("c(1:2) = 0", "c(1:2) = b(1:2)") if reads else _WORKSHARE
    text = _PROGRAM.format(before=_LOOP, behind=shared + _LOOP)
    found = _transformed(tmp_path / "in", text)
    assert shared + _LOOP in found
    assert found.index("call asphalt_irecv(b") < found.index(_LOOP)
    assert found.index("call asphalt_wait") < found.index(shared)
    for mpi in installed(OPENMPI):
        _same(mpi, tmp_path, text, found)


_TWO = _NESTED.replace("parallel do private(m)", "parallel private(m)\n!$omp do").replace(
    "    m = 1", "!$omp end do\n!$omp end parallel\n    m = 1"
)


@pytest.mark.parametrize("nested", [_NESTED, _TWO])
@pytest.mark.parametrize("behind", [_LOOP, ""])
def test_calls_in_parallel_loops_stay(nested: str, behind: str, tmp_path: Path) -> None:
    loop = nested.format(_CALL + _LOOP.replace("i ", "m "))
    text = _PROGRAM.format(before=loop, behind=behind)
    found = _transformed(tmp_path / "in", text)
    assert _CALL in found
    assert "call asphalt_" not in found[: found.index(loop) + len(loop)]


def _same(mpi: Mpi, folder: Path, text: str, found: str) -> None:
    for flags in ((), ("-fopenmp",)):
        printed = []
        for name, source in (("old", text), ("new", found)):
            place = folder / f"{name}{len(flags)}"
            place.mkdir()
            path = place / "ring.f90"
            path.write_text(source)
            built = build(mpi, [*RUNTIME, path], place, ("-O1", *flags))
            outcome = run(mpi, built, 3, threads=2)
            assert outcome.code == 0, outcome.stderr
            printed.append(sorted(outcome.stdout.splitlines()))
        assert printed[0] == printed[1]
