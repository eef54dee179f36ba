"""The bounds of an ALLOCATE in variables of modules: they keep their values from there on, or the
shape is not known."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.shapes import shape_of
from asphalt.ir.tree import leaves
from asphalt.unparse.expr_text import expr_text
from support.analysed import Analysed

_PROGRAM = """\
module sizes
  implicit none
  integer, save :: n = 4, m, twice
  integer, target :: p
  integer, parameter :: three = 3
  namelist /given/ n, m
  interface show
    procedure show_one, show_all
  end interface show
  real, allocatable, save :: u(:,:), v(:,:), w(:,:), z(:,:)
contains
  subroutine show_one(x)
    real, intent(in) :: x
    print *, x
  end subroutine show_one
  subroutine show_all(x)
    real{grows} :: x(:,:)
    print *, x
  end subroutine show_all
  subroutine swell(x)
    real, allocatable :: x(:,:)
    if (size(x) > 9) x = x(:,:2)
  end subroutine swell
  integer function counted(k)
    integer, intent(in) :: k
    m = k
    counted = m
  end function counted
end module sizes
program main
  use mpi
  use sizes
  implicit none
  integer :: own, ierr
  own = 5
{before}  allocate (u({bounds}))
  allocate (v(n,m), w(n,m), z(m,n))
{after}  call work
end program main
subroutine set
  use sizes
  n = 3
  m = 2*n
  if (m > n) m = m + 1
end subroutine set
subroutine set_up
  use sizes
  implicit none
  call set
  call make
end subroutine set_up
subroutine make
  use sizes
  implicit none
end subroutine make
subroutine other
  use sizes{renames}
  implicit none
  integer, pointer :: q
{other}end subroutine other
subroutine read_only(k)
  implicit none
  integer, intent(in) :: k
  print *, k
end subroutine read_only
subroutine work
  use sizes
  implicit none
  print *, m
{work}end subroutine work
"""


def _bounds(array: str = "u", **parts: str) -> str:
    """The bounds of an array in another unit; ``?``: they are not known there."""
    given = dict.fromkeys(("before", "after", "other", "work", "renames", "grows"), "")
    text = _PROGRAM.format(**given | {"bounds": "0:n+1,three*m", "before": "  call set\n"} | parts)
    unit = Analysed(text, chain=("work",))
    at = next(leaves(unit.body[0]))
    found = shape_of(array, unit.scope, unit.values, at)
    assert found is not None
    if not found.stated:
        return "?"
    pairs = zip(found.lower, found.extent, strict=True)
    return ",".join(
        f"{expr_text(low.expression())}+{expr_text(extent.expression()) if extent else '*'}"
        for low, extent in pairs
    )


_KNOWN = "0+n + 2,1+3*m"


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"before": "  n = 3\n  m = 4\n  if (n > own) m = 5\n"},
        {"before": "  do own = 1, 3\n    m = own\n  end do\n"},
        {"before": "  call MPI_Bcast(m, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)\n"},
        {"before": "  read (*, *) n, m\n"},
        {"before": "  if (own > 3) goto 10\n  call set\n  10 continue\n"},
        {"before": "  own = counted(1) + counted(2)\n"},
        {"before": "  call set\n", "after": "  do own = 1, 3\n    call work\n  end do\n"},
        {"after": "  call read_only(m)\n"},
        {"other": "  m = 3\n"},  # nothing calls it
        {"after": "  deallocate (u)\n"},
    ],
)
def test_what_is_defined_before_the_allocation_gives_the_shape(parts: dict[str, str]) -> None:
    assert _bounds(**parts) == _KNOWN


@pytest.mark.parametrize(
    "parts",
    [
        {"after": "  m = m + 1\n"},
        {"after": "  call set\n"},
        {"after": "  own = counted(1)\n"},
        {"after": "  read (*, given)\n"},
        {"after": "  call MPI_Bcast(m, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)\n"},
        {"after": "  do m = 1, 3\n    print *, m\n  end do\n"},
        {"work": "  m = 3\n"},
        {"other": "  m = 3\n", "after": "  call other\n"},
        {"other": "  k = 3\n", "renames": ", k => m", "after": "  call other\n"},
        {
            "before": "  do own = 1, 2\n  m = own\n",
            "after": "  deallocate (u, v, w, z)\n  end do\n",
        },
        {
            "before": "  call set\n  do n = 1, 2\n  if (n == 2) cycle\n",
            "after": "  end do\n",
        },
        {"before": "  10 m = m + 1\n", "after": "  if (m < 3) goto 10\n"},
        {"bounds": "0:n+1,three*own"},
        {"bounds": "0:n+1,three*p", "before": "  p = 3\n"},
        {"bounds": "0:n+1,three*counted(3)"},
        {"after": "  u = u(:1,:1)\n"},
    ],
)
def test_what_may_change_later_gives_no_shape(parts: dict[str, str]) -> None:
    assert _bounds(**parts) == "?"


def _made(calls: str, more: str = "") -> str:
    """The bounds where a procedure allocates that the main program calls."""
    text = _PROGRAM.format(
        before="", after="", other="", work="", renames="", grows="", bounds="three,three"
    )
    text = text.replace("  allocate (u(three,three))\n", calls).replace(
        "subroutine make\n  use sizes\n  implicit none\n",
        "subroutine make\n  use sizes\n  implicit none\n  allocate (u(0:n+1,three*m))\n",
    )
    text = text.replace("  call set\n  call make\n", f"  call set\n  call make\n{more}")
    unit = Analysed(text, chain=("work",))
    found = shape_of("u", unit.scope, unit.values, next(leaves(unit.body[0])))
    assert found is not None
    return "known" if found.stated else "?"


@pytest.mark.parametrize(
    ("calls", "more", "answer"),
    [
        ("  call set_up\n", "", "known"),
        ("  call set\n  call make\n", "", "known"),  # nothing calls set_up
        ("  call make\n  call set\n", "", "?"),
        ("  call set_up\n", "  call set\n", "?"),
        ("  call set_up\n  call set_up\n", "", "?"),
        ("  do own = 1, 2\n    call set_up\n    deallocate (u)\n  end do\n", "", "?"),
        ("  call set_up\n  call set\n", "", "?"),
    ],
)
def test_the_order_of_calls_decides(calls: str, more: str, answer: str) -> None:
    assert _made(calls, more) == answer


@pytest.mark.parametrize(
    ("after", "grows", "answer"),
    [
        ("  v = w\n", "", "1+n,1+m"),
        ("  v = w\n  w = 2*v + 1\n", "", "1+n,1+m"),
        ("  v = 2*v\n", "", "1+n,1+m"),
        ("  call show(v)\n", "", "1+n,1+m"),
        ("  v = z\n", "", "?"),
        ("  v = w\n  w = z\n", "", "?"),
        ("  v = w(:,:2)\n", "", "?"),
        ("  v = transpose(w)\n", "", "?"),
        ("  v = w\n  m = 1\n", "", "?"),
        ("  call show(v)\n", ", allocatable, intent(in)", "1+n,1+m"),
        ("  call show(v)\n", ", allocatable", "1+n,1+m"),
        ("  call show(v)\n", ", allocatable, intent(out)", "1+n,1+m"),
        ("  call swell(v)\n", ", allocatable", "?"),
        ("  if (m > 9) call swell(v)\n", "", "?"),
        ("  v = w\n  deallocate (w)\n  allocate (w(2,2))\n", "", "?"),
    ],
)
def test_arrays_that_are_assigned_to_each_other(after: str, grows: str, answer: str) -> None:
    assert _bounds("v", after=after, grows=grows) == answer
