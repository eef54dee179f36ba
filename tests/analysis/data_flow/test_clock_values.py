"""Which readings of a clock only reach variables and output, and which decide something."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.clock_values import why_observed
from support.stepping import Stepped

_PROGRAM = """\
module stopwatch
  implicit none
  real(8) :: since(4), sums(4) = 0
contains
  subroutine click(k)
    use mpi
    integer, intent(in) :: k
    since(k) = MPI_Wtime()
  end subroutine click
  subroutine clack(k)
    use mpi
    integer, intent(in) :: k
    sums(k) = sums(k) + MPI_Wtime() - since(k)
  end subroutine clack
  function passed_by(k) result(t)
    integer, intent(in) :: k
    real(8) :: t
    t = sums(k)
  end function passed_by
  subroutine told(t, rate)
    real(8), intent(in) :: t
    real(8), intent(out) :: rate
    rate = 0
    if (t > 0) rate = 1/t
    print *, t, rate
  end subroutine told
end module stopwatch
program watched
  use mpi
  use stopwatch
  implicit none
  integer :: ierr, i, n, seed(8)
  real(8) :: a(100), t, rate, most, many
  character(20) :: line
  call MPI_Init(ierr)
  n = 100
  a = 1
  call click(1)
  do i = 1, n
    a(i) = a(i) + 1
  end do
  call clack(1)
{}
  print *, a(n)
  call MPI_Finalize(ierr)
end program watched
"""
_HARMLESS = [
    "  print *, sums",
    "  write (*, *, iostat=n) (sums(i), passed_by(i), i = 1, 4)",
    "  t = passed_by(1)\n  call told(t, rate)\n  write (*, *) rate",
    "  t = passed_by(1)\n  if (t /= 0) then\n    rate = 100/t\n  else\n    rate = 0\n  end if\n"
    "  print *, rate",
    "  call MPI_Reduce(sums, most, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierr)\n"
    "  if (most > 3) print *, 'slow', most",
    "  write (line, '(f8.3)') sums(1)\n  print *, line",
    "  if (sums(1) > 2) print *, 'slow', a(1)",
    "  t = passed_by(1)\n  if (t /= 0) then\n    many = 2.0*n\n    rate = many/t\n  end if\n"
    "  print *, rate",
    "  most = 0\n  do i = 1, 4\n    if (sums(i) > most) most = sums(i)\n  end do\n"
    "  if (most == 0) most = 1\n  print *, 8/most",
]
_DECISIVE = {
    "  if (sums(1) > 2) n = 50\n  do i = 1, n\n    a(i) = 0\n  end do": "the loop in line",
    "  if (passed_by(1) > 2) call MPI_Barrier(MPI_COMM_WORLD, ierr)": "a condition in line",
    "  if (sums(1) > 2) stop": "a condition in line",
    "  do while (sums(1) < 2)\n    call clack(1)\n  end do": "the loop in line",
    "  seed(1) = int(sums(1))\n  a(seed(1)) = 2": "a subscript in line",
    "  call MPI_Send(sums, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)": "sends or uses",
    "  seed = int(1000*sums(1))\n  call random_seed(put=seed)": "a procedure that is not seen",
    "  call elsewhere(sums)": "a procedure that is not seen",
    "  call MPI_Allreduce(sums, most, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)\n"
    "  if (most > 2) seed(1) = 1\n  select case (seed(1))\n  case (1)\n"
    "    call MPI_Barrier(MPI_COMM_WORLD, ierr)\n  end select": "a condition in line",
    # results may not change: neither by a value that it only chooses, nor later by that value
    "  if (sums(1) > 2) a(1) = 5": "a condition in line",
    "  if (sums(1) > 2) a(1) = 5\n  do i = 1, n\n    a(i) = 2*a(i)\n  end do": "a condition",
    "  t = passed_by(1)\n  many = 1\n  if (t /= 0) many = 2.0*n\n  print *, many": "a condition",
    "  where (sums > 2) a(1:8) = 5": "a condition in line",
    "  line = ' '\n  if (sums(1) > 2) write (line, '(a)') 'slow'\n"
    "  if (line == 'slow') n = 50": "the loop in line",
    "  n = 7\n  if (sums(1) > 2) write (*, *, iostat=n) 'slow'\n  a(1) = n": "the loop in line",
    "  block\n    t = sums(1)\n  end block": "is not followed",
}


def observed(tmp_path: Path, body: str, unit: str = "clack") -> str | None:
    facts = Stepped.of(tmp_path, {"watched.f90": _PROGRAM.format(body)}).facts()
    return why_observed(unit, facts[-1].effects)


@pytest.mark.parametrize("body", _HARMLESS)
def test_what_is_only_stored_and_written_decides_nothing(body: str, tmp_path: Path) -> None:
    assert observed(tmp_path, body) is None
    assert observed(tmp_path, body, "click") is None


@pytest.mark.parametrize(("body", "why"), _DECISIVE.items())
def test_what_decides_something_is_found(body: str, why: str, tmp_path: Path) -> None:
    found = observed(tmp_path, body)
    assert found is not None
    assert why in found


def test_readings_of_other_variables_do_not_count(tmp_path: Path) -> None:
    body = "  call cpu_time(t)\n  if (t > 5) stop"
    assert observed(tmp_path, body) is None
    found = observed(tmp_path, body, "watched")
    assert found is not None
    assert "a condition in line" in found


@pytest.mark.parametrize(
    ("bound", "why"), [("rate", None), ("most", None), ("ticks", "the loop in line")]
)
def test_system_clock_gives_a_reading_and_two_constants(
    bound: str, why: str | None, tmp_path: Path
) -> None:
    program = f"""\
program p
  implicit none
  integer :: ticks, rate, most, i
  real :: a(9)
  call system_clock(ticks, rate, count_max=most)
  do i = 1, {bound}
    a(1) = i
  end do
  print *, a(1), ticks
end program p
"""
    (facts,) = Stepped.of(tmp_path, {"p.f90": program}).facts()
    found = why_observed("p", facts.effects)
    assert (found is None) == (why is None)
    assert why is None or (found is not None and why in found)


def test_nothing_is_known_without_a_main_program(tmp_path: Path) -> None:
    text = _PROGRAM.format("").split("program watched")[0]
    facts = Stepped.of(tmp_path, {"stopwatch.f90": text}).facts()
    assert why_observed("clack", facts[0].effects) == "not all of the program is seen"


def test_a_common_block_is_one_variable_under_all_its_names(tmp_path: Path) -> None:
    program = """\
program p
  implicit none
  real(8) :: t(2)
  common /clk/ t
  call begin
  call finish
  print *, t
end program p
subroutine begin
  include 'mpif.h'
  real(8) :: from, upto
  common /clk/ from, upto
  from = mpi_wtime()
end subroutine begin
subroutine finish
  implicit none
  real(8) :: a, b
  common /clk/ a, b
{}
end subroutine finish
"""
    texts = {"  b = a": None, "  if (b > 0) stop": "a condition in line"}
    for number, (body, why) in enumerate(texts.items()):
        folder = tmp_path / str(number)
        facts = Stepped.of(folder, {"p.f90": program.format(body)}).facts()
        found = why_observed("begin", facts[0].effects)
        assert (found is None) == (why is None)
        assert why is None or (found is not None and why in found)


def test_a_variable_of_a_common_block_of_a_module_is_that_of_its_users(tmp_path: Path) -> None:
    program = """\
module clocks
  implicit none
  real(8) :: from, upto
  common /clk/ from, upto
end module clocks
program p
  use clocks
  implicit none
  call begin
{}
end program p
subroutine begin
  use mpi
  use clocks
  from = mpi_wtime()
end subroutine begin
"""
    texts = {"  upto = from": None, "  if (from > 0) stop": "a condition in line"}
    for number, (body, why) in enumerate(texts.items()):
        folder = tmp_path / str(number)
        facts = Stepped.of(folder, {"p.f90": program.format(body)}).facts()
        found = why_observed("begin", facts[0].effects)
        assert (found is None) == (why is None)
        assert why is None or (found is not None and why in found)


_UNNAMED = """\
module lap_times
  implicit none
  type :: lap
    real(8) :: took = 0
  contains
    procedure :: late
{binding}
  end type lap
  type(lap) :: last
  real(8) :: spent = 0
  integer :: many = 0
{interface}
contains
  logical function late(self)
    class(lap), intent(in) :: self
    late = .true.
    if (self%took > 9) stop 'late'
  end function late
  real(8) function counted()
    many = many + 1
    counted = many
  end function counted
{procedures}
end module lap_times
program measured
  use mpi
  use lap_times
  implicit none
  real(8) :: t
  character(20) :: line
  logical :: slow
  integer :: ierr, log
  call MPI_Init(ierr)
  t = MPI_Wtime()
{body}
  print *, t
  call MPI_Finalize(ierr)
end program measured
"""
_ASSIGNMENT = """\
  subroutine noted(to, from)
    type(lap), intent(inout) :: to
    real(8), intent(in) :: from
    to%took = from
    if (from > 9) stop 'late'
  end subroutine noted"""
_OPERATION = """\
  real(8) function less(one, other)
    type(lap), intent(in) :: one
    real(8), intent(in) :: other
    less = other - one%took
    if (less > 9) stop 'late'
  end function less"""
_FINAL = """\
  subroutine ended(one)
    type(lap), intent(inout) :: one
    if (one%took > 9) stop 'late'
  end subroutine ended"""


@pytest.mark.parametrize(
    ("body", "more", "why"),
    [
        ("  last%took = t", {}, None),
        (
            "  last = t",
            {
                "interface": "  interface assignment(=)\n    module procedure noted\n"
                "  end interface",
                "procedures": _ASSIGNMENT,
            },
            "may call a procedure with it",
        ),
        (
            "  t = last - t",
            {
                "interface": "  interface operator(-)\n    module procedure less\n  end interface",
                "procedures": _OPERATION,
            },
            "may call a procedure with it",
        ),
        ("  last%took = t\n  slow = last%late()", {}, "may call a procedure with it"),
        (
            "  last%took = t",
            {"binding": "    final :: ended", "procedures": _FINAL},
            "defines what is called without its name",
        ),
        (
            "  call MPI_Op_create(later, .true., log, ierr)\n"
            "  call MPI_Allreduce(t, spent, 1, MPI_REAL8, log, MPI_COMM_WORLD, ierr)",
            {},
            "is the user's",
        ),
        ("  if (t > 9) spent = t", {}, None),
        ("  if (t > 9) spent = counted()", {}, "a call in line"),
        ("  if (t > 9) print *, counted()", {}, "a call in line"),
        ("  write (17, *) t", {}, None),
        ("  write (17, *) t\n  read (18, *) many\n  if (many > 9) stop", {}, None),
        ("  write (17, *) t\n  rewind (17)\n  read (17, *) many\n  if (many > 9) stop", {}, "back"),
        ("  if (t > 9) write (log, *) 1\n  read (log, *) many", {}, "back"),
        ("  write (line, *) t\n  print *, line", {}, None),
    ],
)
def test_readings_are_followed_into_what_has_no_name(
    body: str, more: dict[str, str], why: str | None, tmp_path: Path
) -> None:
    parts = {"binding": "", "interface": "", "procedures": ""} | more
    facts = Stepped.of(tmp_path, {"p.f90": _UNNAMED.format(body=body, **parts)}).facts()
    found = why_observed("measured", facts[-1].effects)
    assert (found is None) == (why is None), found
    assert why is None or (found is not None and why in found)
