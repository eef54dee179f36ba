"""Calls bound to the types of asphalt's runtime call nothing of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.effects.error_handlers import why_errors_return
from support.stepping import Stepped

RUNTIME = "use asphalt_exchange, only: asphalt_exchange_t"
OBJECT = "type(asphalt_exchange_t) :: x"
TEXT = """\
program main
  use mpi
  {use}
  implicit none
  integer :: ierr
  real :: a(3)
  {object}
  call MPI_Init(ierr)
  call x%progress()
  do while (x%next_tile(a))
    print *, x%lo
  end do
  call MPI_Finalize(ierr)
end program main
"""
SHAPES = """\
module shapes
  implicit none
  type :: shape_t
    integer :: lo = 0
  contains
    procedure :: progress
    procedure :: next_tile
  end type shape_t
contains
  subroutine progress(x)
    class(shape_t), intent(inout) :: x
    x%lo = x%lo + 1
  end subroutine progress
  logical function next_tile(x, a)
    class(shape_t), intent(inout) :: x
    real, intent(in) :: a(3)
    next_tile = x%lo < 3
    {}
  end function next_tile
end module shapes
"""


def _why(folder: Path, use: str, variable: str, files: dict[str, str] | None = None) -> str | None:
    main = {"main.f90": TEXT.format(use=use, object=variable)}
    return why_errors_return(Stepped.of(folder, main | (files or {})).facts()[0].effects)


@pytest.mark.parametrize("use", [RUNTIME, "use asphalt_exchange"])
def test_what_an_object_of_the_runtime_does_is_known(use: str, tmp_path: Path) -> None:
    assert _why(tmp_path, use, OBJECT) is None


@pytest.mark.parametrize(
    ("use", "variable"),
    [
        ("use elsewhere, only: asphalt_exchange_t", OBJECT),
        ("use asphalt_exchange, only: asphalt_exchange_t => elsewhere_t", OBJECT),
        ("use elsewhere", OBJECT),
        (RUNTIME, "class(asphalt_exchange_t), pointer :: x"),
        (RUNTIME, "type(elsewhere_t) :: x"),
    ],
    ids=["another module", "renamed", "all of another module", "polymorphic", "another type"],
)
def test_an_object_of_another_type_may_do_anything(use: str, variable: str, tmp_path: Path) -> None:
    """Its procedures may set an error handler."""
    why = _why(tmp_path, use, variable)
    assert why is not None
    assert "what progress does is not known" in why


def test_a_type_of_the_program_with_such_a_name_is_its_own(tmp_path: Path) -> None:
    own = SHAPES.replace("shape_t", "asphalt_exchange_t")
    use = "use shapes, only: asphalt_exchange_t"
    assert _why(tmp_path, use, OBJECT, {"shapes.f90": own.format("")}) is None
    for name in ("call elsewhere(x%lo)", "x%lo = elsewhere(x%lo)"):
        why = _why(tmp_path, use, OBJECT, {"shapes.f90": own.format(name)})
        assert why is not None
        assert "what elsewhere does is not known" in why


def test_a_procedure_bound_to_a_type_of_the_program_is_followed(tmp_path: Path) -> None:
    use, variable = "use shapes, only: shape_t", "type(shape_t) :: x"
    assert _why(tmp_path, use, variable, {"shapes.f90": SHAPES.format("")}) is None
    unseen = SHAPES.format("call elsewhere(x%lo)")
    assert _why(tmp_path, use, variable, {"shapes.f90": unseen}) is not None
