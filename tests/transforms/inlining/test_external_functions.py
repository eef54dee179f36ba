"""Functions that only a type declares, as FORTRAN 77 programs have them, keep their names where
procedures that reference them are inlined."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.transforms.inlining import inline
from support.mpi_run import Mpi, installed, same_lines
from support.stepping import Stepped

_STEP = """\
subroutine step(a, b, n, to, from, spent)
  use mpi
  implicit none
  integer, intent(in) :: n, to, from
  real(8), intent(inout) :: a(n), b(n), spent
{declared}  integer :: ierr
  spent = spent + {reference}
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, to, 1, b, n, MPI_DOUBLE_PRECISION, from, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end subroutine step
"""
_REST = """\
function timer()
  implicit none
  real(8) :: timer
  timer = 2
end function timer
program main
  use mpi
  implicit none{rule}
  integer, parameter :: n = 20000
{inside}  real(8) :: a(n), b(n), c(n), spent
  integer :: ierr, i
  call MPI_Init(ierr)
  a = 1; c = 1; spent = 0
{uses}  call step(a, b, n, 0, 0, spent)
  do i = 1, n
    c(i) = sqrt(c(i) + i)*exp(-c(i))
  end do
  print *, sum(b), sum(c), spent
  call MPI_Finalize(ierr)
end program main
"""
_TYPED = "  real(8) :: timer\n"


def _inlined(folder: Path, step: str, **parts: str) -> str | None:
    """The main program with the procedure inlined; None: it is called."""
    rest = _REST.format(**{"inside": "", "uses": "", "rule": "", **parts})
    tree = Stepped.of(folder, {"main.f90": step + rest})
    tree.applied(inline, unit="main")
    text = tree.text("main.f90").rpartition("program main\n  use mpi")[2]
    return None if "call step(" in text else text


def _step(declared: str = _TYPED, reference: str = "timer()") -> str:
    return _STEP.format(declared=declared, reference=reference)


@pytest.mark.parametrize(
    ("inside", "uses"),
    [
        ("", ""),
        (_TYPED, "  spent = timer()\n"),
        ("  double precision timer\n", "  if (timer() < 0) stop\n"),
        (_TYPED + "  external timer\n", "  spent = timer()\n"),
    ],
)
@pytest.mark.parametrize("declared", [_TYPED, _TYPED + "  external timer\n"])
def test_the_function_is_the_same_in_the_caller(
    declared: str, inside: str, uses: str, tmp_path: Path
) -> None:
    text = _inlined(tmp_path, _step(declared), inside=inside, uses=uses)
    assert text is not None
    assert "spent = spent + timer()" in text
    assert "asphalt_timer" not in text
    assert text.count(":: timer\n") + text.count("precision timer\n") == 1


@pytest.mark.parametrize(
    ("inside", "uses", "rule"),
    [
        (_TYPED, "  timer = 3; spent = timer\n", ""),  # a variable
        ("  real(4) :: timer\n", "  spent = timer()\n", ""),  # a function of another type
        ("  real(8) :: timer(3)\n", "  timer = 3; spent = timer(1)\n", ""),
        (_TYPED, "", ""),  # which of them it is cannot be seen
        ("", "", " (type, external)"),
    ],
)
def test_a_name_that_means_something_else(
    inside: str, uses: str, rule: str, tmp_path: Path
) -> None:
    assert _inlined(tmp_path, _step(), inside=inside, uses=uses, rule=rule) is None


def test_an_intrinsic_name_means_the_same(tmp_path: Path) -> None:
    """A compiler's own function in one of them is not that of the program in the other."""
    declared = "  real(8) :: second\n"
    external = declared + "  external second\n"
    for step, inside, inlined in (
        (external, external, True),
        (external, declared, False),
        (external, "", False),
    ):
        folder = tmp_path / f"{bool(inside)}{inlined}"
        folder.mkdir()
        uses = "  spent = second()\n" if inside else ""
        found = _inlined(folder, _step(step, "second()"), inside=inside, uses=uses)
        assert (found is not None) is inlined


def test_a_function_that_is_passed_needs_its_attribute(tmp_path: Path) -> None:
    declared = _TYPED + "  external timer\n"
    step = _step(declared).replace(
        "  call MPI_Sendrecv", "  call other(timer)\n  call MPI_Sendrecv"
    )
    for number, (inside, inlined) in enumerate(((declared, True), (_TYPED, False), ("", False))):
        folder = tmp_path / str(number)
        folder.mkdir()
        uses = "  spent = timer()\n" if inside else ""
        assert (_inlined(folder, step, inside=inside, uses=uses) is not None) is inlined


def test_a_substring_is_no_function(tmp_path: Path) -> None:
    text = _inlined(
        tmp_path,
        _step("  character(4) :: timer\n", "len(timer(1:2))"),
        inside=_TYPED,
        uses="  spent = timer()\n",
    )
    assert text is not None
    assert "len(asphalt_timer_1(1:2))" in text


def test_an_undeclared_function(tmp_path: Path) -> None:
    step = _step("", "timer()").replace("  implicit none\n", "  implicit real(8) (t)\n", 1)
    text = _inlined(tmp_path, step, inside=_TYPED, uses="  spent = timer()\n")
    assert text is not None
    assert "spent = spent + timer()" in text


@pytest.mark.parametrize("mpi", installed())
def test_what_comes_out_is_linked(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "main.f90"
    source.write_text(_step() + _REST.format(inside=_TYPED, uses="  spent = timer()\n", rule=""))
    settings = Settings(cache=False, jobs=1, networks=("ethernet-1g",))
    (change,) = Project(source, settings=settings).transform()
    assert b"call step(" not in change.after
    (line,) = same_lines(mpi, tmp_path, change.before.decode(), change.after, 1)
    assert float(line.split()[2]) == 4


def test_a_caller_that_declares_all_external_procedures_gets_none_of_mpi(tmp_path: Path) -> None:
    """MPI's module need not have interfaces of its procedures (MPI-4.0 section 19.1.3)."""
    step = _step("", "1")
    assert _inlined(tmp_path / "plain", step) is not None
    assert _inlined(tmp_path / "strict", step, rule=" (type, external)") is None
