"""Whether variables have second names, and whether arrays have gaps: yes, no and unknown."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.aliasing import address_taken, distinct, second_name
from asphalt.analysis.memory.contiguity import contiguity, reference_contiguity
from asphalt.frontend.statements.expressions import parse_expression
from asphalt.support.may_must import Reply
from support.analysed import Analysed

UNIT = """
module shared
  use iso_c_binding, aim => c_f_pointer, place => c_loc
  use iso_c_binding
  use mpi
  implicit none
  real, target :: everywhere(5)
  type node
    real, pointer :: there(:)
    real, allocatable :: own(:)
    real :: fixed(3,4)
  end type
  type link
    type(node), pointer :: one, many(:)
  end type
contains
  subroutine keep(x)
    real, target :: x(:)
  end subroutine
  subroutine move(x)
    real, pointer :: x(:)
  end subroutine
  subroutine look(x)
    real, intent(in) :: x(:)
  end subroutine
  subroutine unit(dummy, n, shape_only, size_only, tight, loose, loose2)
    integer :: n
    real, target :: dummy(n)
    real :: shape_only(:,:), size_only(n,*)
    real, contiguous :: tight(:)
    real, target :: loose(:), loose2(:)
    real, target :: t(10), u(10)
    real, pointer :: p(:), q(:)
    real :: x(10), y(5), w(3,4,5)
    real, allocatable :: z(:,:)
    equivalence (y, x)
    real, volatile :: v(10)
    type(c_ptr) :: address
    type(node) :: d, ds(2)
    type(node), pointer :: to, tos(:)
    type(link) :: l
    integer(MPI_ADDRESS_KIND) :: where
    integer :: i, ierr, request
    {body}
  end subroutine
end module
"""


def unit(body: str = "") -> Analysed:
    return Analysed(UNIT.replace("{body}", body), chain=("shared", "unit"))


@pytest.mark.parametrize(
    ("name", "body", "reply"),
    [
        ("x", "", Reply.YES),
        ("y", "", Reply.YES),
        ("w", "", Reply.NO),
        ("v", "", Reply.UNKNOWN),
        ("t", "", Reply.NO),
        ("t", "t(1) = 2; t = t + u; print *, t", Reply.NO),
        ("t", "p => u", Reply.NO),
        ("t", "p => t", Reply.UNKNOWN),
        ("t", "p => t(2:5)", Reply.UNKNOWN),
        ("t", "if (n > 1) p => t", Reply.UNKNOWN),
        ("t", "address = c_loc(t)", Reply.UNKNOWN),
        ("t", "address = c_loc(t(2))", Reply.UNKNOWN),
        ("t", "t(1) = sum(t)", Reply.NO),
        ("t", "call keep(t)", Reply.UNKNOWN),
        ("t", "call keep(t(2:3))", Reply.UNKNOWN),
        ("t", "call look(t)", Reply.NO),
        ("t", "call nobody(t)", Reply.UNKNOWN),
        ("t", "call nobody(t(1) + 1)", Reply.NO),
        ("t", "call MPI_Bcast(t, 10, MPI_REAL, 0, MPI_COMM_WORLD, ierr)", Reply.NO),
        ("t", "call MPI_Get_address(t, where, ierr)", Reply.UNKNOWN),
        ("t", "associate (a => t)\\n p => a\\n end associate", Reply.UNKNOWN),
        ("t", "d = node(t)", Reply.UNKNOWN),
        ("t", "d%there => t", Reply.UNKNOWN),
        ("p", "allocate(p(n)); p = 0; deallocate(p)", Reply.NO),
        ("p", "nullify(p); p => null(); allocate(p(3))", Reply.NO),
        ("p", "allocate(p(n)); q => p", Reply.UNKNOWN),
        ("p", "p => u", Reply.UNKNOWN),
        ("p", "call c_f_pointer(address, p, [5])", Reply.UNKNOWN),
        ("p", "call c_f_pointer(address, shape=[5], fptr=p)", Reply.UNKNOWN),
        ("p", "call aim(address, p, [5])", Reply.UNKNOWN),
        ("t", "address = place(t)", Reply.UNKNOWN),
        ("p", "allocate(p(n)); call move(p)", Reply.UNKNOWN),
        ("p", "allocate(p(n)); call look(p)", Reply.NO),
        ("dummy", "", Reply.UNKNOWN),
        ("everywhere", "", Reply.UNKNOWN),
        ("nothing", "", Reply.UNKNOWN),
    ],
)
def test_second_names(name: str, body: str, reply: Reply) -> None:
    body = body.replace("\\n", "\n").replace("; ", "\n")
    assert second_name(name, unit(body).scope).reply is reply


def test_the_statement_that_gives_a_second_name_is_shown() -> None:
    found = second_name("t", unit("t = 0\np => t\nt = 1").scope)
    assert found.span is not None
    first = next(i for i, line in enumerate(UNIT.split("\n"), 1) if "{body}" in line)
    assert found.span.first == first + 1
    assert "pointer" in found.reason


@pytest.mark.parametrize(
    ("body", "taken"),
    [
        ("call MPI_Bcast(w, 60, MPI_REAL, 0, MPI_COMM_WORLD, ierr)", False),
        ("call MPI_Isend(w, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, request, ierr)", False),
        ("call MPI_Send_init(w, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, request, ierr)", True),
        ("call MPI_Get_address(w(1,1,1), where, ierr)", True),
        ("call MPI_Win_create(w, where, 4, MPI_INFO_NULL, MPI_COMM_WORLD, i, ierr)", True),
        ("if (n > 1) call MPI_Get_address(w, where, ierr)", True),
        ("i = loc(w)", True),
        ("address = place(w)", True),
        ("call MPI_Get_address(z, where, ierr)", False),
    ],
)
def test_addresses_that_are_kept(body: str, taken: bool) -> None:
    assert address_taken("w", unit(body).scope).no is not taken


@pytest.mark.parametrize(
    ("one", "two", "apart"),
    [
        ("t", "u", True),
        ("t", "w", True),
        ("dummy", "everywhere", True),
        ("loose", "everywhere", False),
        ("everywhere", "loose", False),
        ("loose", "loose2", False),
        ("loose", "dummy", False),
        ("loose", "t", True),
        ("t", "t", False),
        ("p", "t", False),
        ("x", "y", False),
    ],
)
def test_variables_that_certainly_are_two(one: str, two: str, apart: bool) -> None:
    assert distinct(one, two, unit().scope) is apart


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("w", Reply.YES),
        ("w(:,:,2)", Reply.YES),
        ("w(:,2:3,2)", Reply.YES),
        ("w(1,1,1)", Reply.YES),
        ("w(:,:,::2)", Reply.NO),
        ("w(1:2,:,:)", Reply.UNKNOWN),
        ("w(:,2,:)", Reply.UNKNOWN),
        ("w(::n,:,:)", Reply.UNKNOWN),
        ("w + 1", Reply.YES),
        ("z", Reply.YES),
        ("z(:,n)", Reply.YES),
        ("size_only", Reply.YES),
        ("shape_only", Reply.UNKNOWN),
        ("tight", Reply.YES),
        ("p", Reply.UNKNOWN),
        ("d%fixed", Reply.YES),
        ("d%fixed(:,1)", Reply.YES),
        ("d%own", Reply.YES),
        ("d%there", Reply.UNKNOWN),
        ("ds%fixed(1,1)", Reply.UNKNOWN),
        ("ds(1)%own", Reply.YES),
        ("ds(1)%fixed(:,2)", Reply.YES),
        ("ds(1)%fixed(1,:)", Reply.UNKNOWN),
        ("ds(1)%there", Reply.UNKNOWN),
        ("ds(:)%fixed(1,1)", Reply.UNKNOWN),
        ("to%own", Reply.YES),
        ("to%own(2:3)", Reply.YES),
        ("to%own(::2)", Reply.NO),
        ("to%fixed(1,:)", Reply.UNKNOWN),
        ("to%there", Reply.UNKNOWN),
        ("tos%fixed(1,1)", Reply.UNKNOWN),
        ("tos(1)%own", Reply.YES),
        ("l%one%own", Reply.YES),
        ("l%one%there", Reply.UNKNOWN),
        ("l%many%fixed(1,1)", Reply.UNKNOWN),
        ("l%many(n)%own", Reply.YES),
    ],
)
def test_contiguous_references(reference: str, reply: Reply) -> None:
    scope = unit("p => u").scope
    assert reference_contiguity(parse_expression(reference), scope).reply is reply


CALLERS = """
program main
  real :: a(4,6), b(4)
  call pass(a, b)
{calls}
contains
  subroutine pass(x, y)
    real :: x(:,:), y(:)
    call deeper(y)
  end subroutine
  subroutine deeper(v)
    real :: v(:)
  end subroutine
end program
"""


@pytest.mark.parametrize(
    ("calls", "first", "deep"),
    [
        ("", Reply.YES, Reply.YES),
        ("  call pass(a, a(:,2))", Reply.YES, Reply.YES),
        ("  call pass(a(::2,:), b)", Reply.UNKNOWN, Reply.YES),
        ("  call pass(a, b(1:3:2))", Reply.YES, Reply.UNKNOWN),
        ("  call deeper(a(1,:))", Reply.YES, Reply.UNKNOWN),
    ],
)
def test_assumed_shapes_are_what_callers_pass(calls: str, first: Reply, deep: Reply) -> None:
    text = CALLERS.replace("{calls}", calls)
    one = Analysed(text, chain=("main", "pass")).scope
    two = Analysed(text, chain=("main", "deeper")).scope
    assert contiguity("x", one).reply is first
    assert contiguity("v", two).reply is deep
