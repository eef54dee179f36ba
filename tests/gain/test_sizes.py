"""Values of variables that the cost model knows: given ones, constants of callers, definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.config.sizes import size_of
from asphalt.diagnostics.change import Change
from asphalt.gain.model import Model
from asphalt.gain.sizes import Sizes
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from asphalt.project import Project
from support.mpi_run import OPENMPI, RUNTIME, build, installed, run
from support.stepping import Stepped

GATHER = """\
module shape
  implicit none
  integer :: width, others(4)
  real(8) :: weight
  type extent
    integer :: length
  end type extent
  type(extent) :: box
end module shape
subroutine gather(a, w, count, work, comm)
  use mpi
  use shape, only: across => width, box
  implicit none
  integer, intent(in) :: count, work, comm
  real(8), intent(inout) :: a(*), w(*)
  integer :: status(MPI_STATUS_SIZE), ierr, i, p, half, twice
  half = {half}
  do p = 1, 3
    call MPI_Recv(a, {count}, MPI_DOUBLE_PRECISION, p, 1, comm, status, ierr)
    do i = 1, {work}
      w(i) = w(i) + a(i)
    end do
  end do
end subroutine gather
"""
CALLER = """\
subroutine caller{number}(a, w, comm)
  implicit none
  integer, intent(in) :: comm
  real(8), intent(inout) :: a(*), w(*)
  integer :: many
  many = {many}
  call gather(a, w, {count}, {work}, comm)
end subroutine caller{number}
"""


def _gather(count: str = "count", work: str = "work", half: str = "1") -> str:
    return GATHER.format(count=count, work=work, half=half)


def _caller(count: str, work: str, number: int = 1, many: str = "0") -> str:
    return CALLER.format(count=count, work=work, number=number, many=many)


def _optimised(folder: Path, text: str, *sizes: str) -> Optimised:
    stepped = Stepped.of(folder, {"unit.f90": text})
    (facts,) = (f for f in stepped.facts() if f.unit.name == "gather")
    options = Options(sizes=tuple(map(size_of, sizes)))
    return optimise(stepped.tree, facts.located, options)


def _kept(folder: Path, text: str, *sizes: str) -> bool:
    """Whether messages of a million elements are received as before: copies cost too much."""
    return _optimised(folder, text, *sizes).content is None


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        ("count", ["count=1000000", "work=2000"]),
        ("count", ["gather:count=1000000"]),
        ("across", ["width=1000000"]),
        ("across", ["shape:width=1000000"]),
        ("2*max(1, across)", ["width=500000"]),
        ("box%length", ["box%length=1000000"]),
        ("box%length", ["shape:box%length=1000000"]),
    ],
)
def test_given_sizes_decide_about_steps(count: str, sizes: list[str], tmp_path: Path) -> None:
    text = _gather(count)
    assert not _kept(tmp_path / "unknown", text)
    assert _kept(tmp_path / "known", text, *sizes)


@pytest.mark.parametrize("size", ["across=1000000", "gather:width=1000000", "length=1000000"])
def test_sizes_of_other_variables_say_nothing(size: str, tmp_path: Path) -> None:
    """A variable has the name, and the owner, that it has where it is declared."""
    assert not _kept(tmp_path, _gather("across + box%length"), size)


def test_a_size_of_one_procedure_counts_before_one_of_any(tmp_path: Path) -> None:
    other = "count=5"
    assert _kept(tmp_path / "one", _gather(), "gather:count=1000000", other)
    assert _kept(tmp_path / "two", _gather(), other, "gather:count=1000000")


def test_what_all_callers_pass_is_known(tmp_path: Path) -> None:
    one, same = _caller("1000000", "2000"), _caller("10**6", "2000", number=2)
    assert _kept(tmp_path / "one", _gather() + one)
    assert _kept(tmp_path / "same", _gather() + one + same)
    assert _kept(tmp_path / "defined", _gather() + _caller("many", "2000", many="1000000"))


@pytest.mark.parametrize("other", ["10", "many"])
def test_what_callers_pass_differently_is_not(other: str, tmp_path: Path) -> None:
    one = _caller("1000000", "2000")
    two = _caller(other, "2000", number=2).replace("many = 0", "read *, many")
    assert not _kept(tmp_path, _gather() + one + two)


def test_a_size_reaches_what_is_computed_from_it(tmp_path: Path) -> None:
    text = _gather("half", half="count/2")
    assert not _kept(tmp_path / "unknown", text)
    assert _kept(tmp_path / "known", text, "count=2000000")
    again = text.replace("  do p", "  if (across > 1) half = 7\n  do p")
    assert not _kept(tmp_path / "twice", again, "count=2000000")  # it has two definitions


def test_procedures_that_pass_each_other_their_arguments_end(tmp_path: Path) -> None:
    call = "  if (work > 1) call gather(a, w, count, work - 1, comm)\nend subroutine gather"
    text = _gather().replace("end subroutine gather", call)
    assert not _kept(tmp_path, text)


def test_a_negative_value_is_subtracted(tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"unit.f90": _gather()})
    (facts,) = (f for f in stepped.facts() if f.unit.name == "gather")
    sizes = Sizes((size_of("work=-3"),))
    difference: Expr = Op("-", (Ref("count", "count"), Ref("work", "work")))
    assert sizes.in_numbers(difference, facts.scope) == Op(
        "-", (Ref("count", "count"), Op("()", (Op("-", (Lit("integer", "3"),)),)))
    )
    unknown = Component(Ref("box", "box"), "length", "length")
    assert sizes.in_numbers(unknown, facts.scope) == unknown


def test_work_has_the_given_size(tmp_path: Path) -> None:
    seconds = []
    for size in ("work=100", "work=200"):
        stepped = Stepped.of(tmp_path / size, {"unit.f90": _gather("4")})
        (facts,) = (f for f in stepped.facts() if f.unit.name == "gather")
        model = Model(sizes=(size_of(size),))
        nodes = facts.unit.body[1:]
        seconds.append(model.seconds(stepped.tree, facts.located)(nodes))
    assert seconds[1] == pytest.approx(2 * seconds[0], rel=0.1)


PROGRAM = """\
program main
  use mpi
  implicit none
  integer :: n, m, me, ierr
  character(9) :: word
  real(8) :: a(5000), w(5000)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call get_command_argument(1, word)
  read (word, *) n
  call get_command_argument(2, word)
  read (word, *) m
  a = me
  w = 1
  if (me == 0) then
    call gather(a, w, n, m, MPI_COMM_WORLD)
  else
    call MPI_Send(a, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)
  end if
  print *, me, sum(w), a(1), a(n + 1)
  call MPI_Finalize(ierr)
end program main
"""


def _changed(folder: Path, *sizes: str) -> tuple[Change, ...]:
    given = tuple(map(size_of, sizes))
    settings = Settings(cache=False, jobs=1, passes=("expansion",), sizes=given)
    return Project(folder, settings=settings).transform()


@pytest.mark.skipif(not installed(OPENMPI), reason="no Open MPI")
def test_other_sizes_than_the_given_ones_give_the_same_results(tmp_path: Path) -> None:
    """What is emitted is right for any sizes: those that are given only decide what is worth it."""
    text = _gather() + PROGRAM
    (tmp_path / "main.f90").write_text(text)
    assert _changed(tmp_path, "gather:count=1000000", "work=2000") == ()
    (change,) = _changed(tmp_path, "n=2000", "m=2000")
    assert "call asphalt_" in change.after.decode()
    results = []
    for name, content in (("before", text.encode()), ("after", change.after)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "main.f90").write_bytes(content)
        exe = build(OPENMPI, [*RUNTIME, folder / "main.f90"], folder)
        runs = [run(OPENMPI, exe, 4, sizes) for sizes in (("1", "1"), ("7", "3"), ("4000", "5000"))]
        results.append([sorted(one.stdout.splitlines()) for one in runs])
    assert results[0] == results[1]
    assert all(results[0])
