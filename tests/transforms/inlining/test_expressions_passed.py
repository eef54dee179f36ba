"""Expressions as actual arguments, and modules that stand before the caller in its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.running.mpi import OPENMPI
from support.mpi_run import Mpi, installed, same_lines

_HALO = """\
module halo
  implicit none
  integer :: tag = 3
end module halo
"""
_STEP = """\
subroutine step(n, a, r, left, right)
  use mpi
{used}  implicit none
  integer :: n, left, right, ierr
  real(8) :: a(n), r(n)
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, {tag}, r, n, MPI_DOUBLE_PRECISION, left, &
                    {tag}, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{more}end subroutine step
"""
_MAIN = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 20000
  integer :: me, np, ierr, i
  integer(8) :: wide
  real(8) :: a(n), r(n), b(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  wide = 1
  a = me
  b = 2
  call step(n, a, r, {left}, {right})
  do i = 1, n
    b(i) = sqrt(b(i)) + 1
  end do
  print *, me, sum(r), sum(b)
  call MPI_Finalize(ierr)
contains
  integer function around(rank)
    integer, intent(in) :: rank
    around = modulo(rank, np)
  end function around
end program main
"""
_LEFT, _RIGHT = "modulo(me - 1, np)", "modulo(me + 1, np)"


def _text(
    left: str = _LEFT, right: str = _RIGHT, used: str = "", tag: str = "1", more: str = ""
) -> tuple[str, str]:
    return _STEP.format(used=used, tag=tag, more=more), _MAIN.format(left=left, right=right)


def _made(folder: Path, text: str) -> bytes:
    folder.mkdir(exist_ok=True)
    (folder / "main.f90").write_text(text)
    settings = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS))
    changes = Project(folder, settings=settings).outcome().changes
    return changes[0].after if changes else text.encode()


def _is_inlined(content: bytes) -> bool:
    return b"call step(" not in content


@pytest.mark.parametrize("mpi", installed(OPENMPI))
@pytest.mark.parametrize(
    ("left", "right"),
    [
        (_LEFT, _RIGHT),
        ("mod(me + np - 1, np)", "merge(0, me + 1, me == np - 1)"),
        ("max(me - 1, 0) + merge(np - 1, 0, me == 0)", _RIGHT),
        ("abs(modulo(me - 1, np))", "int(modulo(real(me + 1), real(np)))"),
    ],
)
def test_they_are_evaluated_once_before(left: str, right: str, mpi: Mpi, tmp_path: Path) -> None:
    text = "".join(_text(left, right))
    same_lines(mpi, tmp_path, text, _made(tmp_path / "in", text))


def test_functions_of_fortran_have_known_types(tmp_path: Path) -> None:
    made = _made(tmp_path, "".join(_text()))
    assert _is_inlined(made)
    assert b"= modulo(me - 1, np)" in made


@pytest.mark.parametrize(
    ("left", "more"),
    [
        ("around(me - 1)", ""),  # a function of the program
        ("modulo(me - 1, int(wide))*wide", ""),  # of another kind
        (_LEFT, "  left = 0\n"),  # the procedure changes it
    ],
)
def test_others_are_not_passed_so(left: str, more: str, tmp_path: Path) -> None:
    assert not _is_inlined(_made(tmp_path, "".join(_text(left, more=more))))


@pytest.mark.parametrize("mpi", installed(OPENMPI))
def test_what_the_procedure_changes_does_not_change_an_expression(mpi: Mpi, tmp_path: Path) -> None:
    """The neighbour is computed from a variable that the procedure gets and sets."""
    step, main = _text("modulo(k - 2, np)", "k", more="  right = 7\n  r(1) = r(1) + left\n")
    main = main.replace(":: me, np", ":: k, me, np")
    text = step + main.replace("  wide = 1\n", "  k = modulo(me + 1, np)\n")
    same_lines(mpi, tmp_path, text, _made(tmp_path / "in", text))


@pytest.mark.parametrize("mpi", installed(OPENMPI))
def test_an_array_in_parentheses_is_no_second_name_of_it(mpi: Mpi, tmp_path: Path) -> None:
    step, main = _text(more="  r(1) = 5\n  r(2) = a(1)\n")
    text = step + main.replace("step(n, a, r,", "step(n, (a), a,").replace("sum(r)", "sum(a)")
    made = _made(tmp_path / "in", text)
    assert not _is_inlined(made)
    same_lines(mpi, tmp_path, text, made)


_USED = {"used": "  use halo\n", "tag": "tag"}


@pytest.mark.parametrize("mpi", installed(OPENMPI))
def test_a_module_before_the_caller_can_be_used(mpi: Mpi, tmp_path: Path) -> None:
    text = _HALO + "".join(_text(**_USED))
    made = _made(tmp_path / "in", text)
    assert _is_inlined(made)
    same_lines(mpi, tmp_path, text, made)


def test_one_behind_the_caller_cannot(tmp_path: Path) -> None:
    step, main = _text(**_USED)
    assert not _is_inlined(_made(tmp_path, main + _HALO + step))


_SIZES = "module sizes\n  implicit none\n  integer, parameter :: few = 3\nend module sizes\n"
_SHOW = "subroutine show\n  use halo\n  print *, tag\nend subroutine show\n"


def test_one_of_another_file_cannot(tmp_path: Path) -> None:
    step, main = _text(**_USED)
    (tmp_path / "halo.f90").write_text(_HALO)
    (tmp_path / "step.f90").write_text(step)
    assert not _is_inlined(_made(tmp_path, main))


def test_one_that_another_unit_of_the_file_uses_can(tmp_path: Path) -> None:
    step, main = _text(**_USED)
    (tmp_path / "halo.f90").write_text(_HALO)
    assert _is_inlined(_made(tmp_path, step + main))


@pytest.mark.parametrize(("beside", "can"), [(_SHOW, True), ("", False)])
def test_one_that_the_file_of_a_used_module_uses_can(
    beside: str, can: bool, tmp_path: Path
) -> None:
    step, main = _text(**_USED)
    (tmp_path / "halo.f90").write_text(_HALO)
    (tmp_path / "sizes.f90").write_text(_SIZES + beside)
    (tmp_path / "step.f90").write_text(step)
    text = main.replace("  use mpi\n", "  use mpi\n  use sizes\n", 1)
    assert _is_inlined(_made(tmp_path, text)) is can


@pytest.mark.parametrize("right", ["+0", "0"])
def test_a_number_with_a_sign_stands_for_the_dummy(right: str, tmp_path: Path) -> None:
    made = _made(tmp_path, "".join(_text("0", right)))
    assert _is_inlined(made)
    assert b"  right = " not in made
