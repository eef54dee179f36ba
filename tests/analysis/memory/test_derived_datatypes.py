"""Which elements a datatype stands for that a unit makes itself, and where it is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.memory.mpi_buffers import transfer_buffers
from asphalt.analysis.mpi.call import mpi_call
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.stmt import Call
from asphalt.optimiser.optimise import optimise
from support.analysed import Analysed, described

_UNIT = """\
subroutine edges(n, m, width, peer, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, width, peer, comm
  real(8) :: u(0:n+1, 0:m+1), p(n, m, 4), behind(3)
  {declared}
  integer :: made, part, ierr, k
  integer, external :: gap
{body}
  call MPI_Send({buffer}, {count}, made, peer, 1, comm, ierr)
{after}
end subroutine edges
"""
_ROW = "call MPI_Type_vector(m, 1, n + 2, MPI_DOUBLE_PRECISION, made, ierr)"
_COMMITTED = "call MPI_Type_commit(made, ierr)"


def sent(
    *body: str, buffer: str = "u(1,1)", count: str = "1", declared: str = "", after: str = ""
) -> str:
    """What the send reads."""
    text = _UNIT.format(
        body="\n".join(f"  {line}" for line in body),
        buffer=buffer,
        count=count,
        declared=declared,
        after=after,
    )
    unit = Analysed(text)
    leaf = unit.leaf("call MPI_Send")
    assert isinstance(leaf.what, Call)
    call = mpi_call(leaf.what, unit.scope)
    assert call is not None
    found = transfer_buffers(leaf, call, unit.scope, unit.values)
    assert found is not None
    return " ".join(described(one) for one in found)


@pytest.mark.parametrize(
    ("maker", "buffer", "section"),
    [
        (_ROW, "u(1,1)", "u(1,1:m)"),
        (_ROW, "u(0,1)", "u(0,1:m)"),
        (_ROW, "u(n+1,1)", "u(n + 1,1:m)"),
        (_ROW.replace("(m, 1", "(m + 2, 1"), "u(n,0)", "u(n,0:m + 1)"),
        (_ROW.replace("(m, 1", "(m, n + 2"), "u(0,1)", "u(:,1:m)"),
        (_ROW.replace("(m, 1", "(m, n + 1"), "u(0,1)", "u(0:n,1:m)"),
        (_ROW.replace("(m, 1", "(m, n"), "u(1,1)", "u(1:n,1:m)"),
        ("call MPI_Type_contiguous(n, MPI_DOUBLE_PRECISION, made, ierr)", "u(1,0)", "u(1:n,0)"),
        ("call MPI_Type_vector(1, n, 7, MPI_DOUBLE_PRECISION, made, ierr)", "u(1,0)", "u(1:n,0)"),
        ("call MPI_Type_vector(n, 3, 3, MPI_DOUBLE_PRECISION, made, ierr)", "p(1,1,1)", None),
        ("call MPI_Type_vector(4, n, n*m, MPI_DOUBLE_PRECISION, made, ierr)", "p(1,2,1)",
         "p(:,2,1:4)"),
        ("call MPI_Type_vector(m, 1, n, MPI_DOUBLE_PRECISION, made, ierr)", "p(2,1,3)",
         "p(2,1:m,3)"),
        ("call MPI_Type_vector(m, 1, n, MPI_DOUBLE_PRECISION, made, ierr)", "p(2,2,3)", None),
        # blocks that are longer than their distance, that are not one element of a dimension
        # apart, that may reach into the next column, of other elements than the array's
        (_ROW.replace("(m, 1", "(m, n + 3"), "u(0,1)", None),
        (_ROW.replace("n + 2", "width"), "u(1,1)", None),
        (_ROW.replace("n + 2", "-n - 2"), "u(1,1)", None),
        (_ROW.replace("(m, 1", "(m, 3"), "u(n,1)", None),
        (_ROW.replace("DOUBLE_PRECISION", "REAL"), "u(1,1)", None),
        (_ROW, "u", None),
    ],
)  # fmt: skip
def test_the_section_of_a_datatype(maker: str, buffer: str, section: str | None) -> None:
    found = sent(maker, _COMMITTED, buffer=buffer)
    assert found == f"reads {section or buffer.split('(')[0]}"


def test_a_datatype_of_another_one() -> None:
    found = sent(
        "call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, part, ierr)",
        "call MPI_Type_vector(m, 1, 3, part, made, ierr)",
        _COMMITTED,
        buffer="w(1,1)",
        declared="real(8) :: w(6, m)",
    )
    assert found == "reads w(1:2,1:m)"
    gaps = sent(
        "call MPI_Type_vector(2, 1, 2, MPI_DOUBLE_PRECISION, part, ierr)",
        "call MPI_Type_contiguous(n, part, made, ierr)",
        _COMMITTED,
    )
    assert gaps == "reads u"


def test_several_of_a_datatype() -> None:
    dense = "call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, made, ierr)"
    six = sent(dense, _COMMITTED, buffer="w(1,2)", count="3", declared="real(8) :: w(6, m)")
    assert six == "reads w(:,2)"
    assert sent(_ROW, _COMMITTED, count="2") == "reads u"


@pytest.mark.parametrize(
    "body",
    [
        # another call may make it, or what is given to it changes behind
        (_ROW, "call MPI_Type_free(made, ierr)", _ROW.replace("(m, 1", "(m, 2"), _COMMITTED),
        ("if (n > 3) then", _ROW, "end if", _COMMITTED),
        ("call MPI_Type_create_resized(MPI_DOUBLE_PRECISION, 0_8, 8_8, made, ierr)", _COMMITTED),
        (_ROW, "call other(made)", _COMMITTED),
        (_ROW, "made = part", _COMMITTED),
        ("k = m", _ROW.replace("(m,", "(k,"), "call other(k)", _COMMITTED),
        ("do k = 1, m", _ROW.replace("(m,", "(k,"), "end do", _COMMITTED),
        (_ROW.replace("(m,", "(gap(m),"), _COMMITTED),
        ("goto 5", _ROW, "5 continue", _COMMITTED),
    ],
)
def test_a_handle_that_is_not_known(body: tuple[str, ...]) -> None:
    assert sent(*body) == "reads u"


def test_the_arguments_of_a_call_that_keep_their_value() -> None:
    row = _ROW.replace("(m,", "(k,")
    assert sent("k = m - 1", row, _COMMITTED) == "reads u(1,1:m - 1)"
    assert sent("call MPI_Comm_size(comm, k, ierr)", row, _COMMITTED) == "reads u(1,1:k)"
    assert sent("k = m", row, _COMMITTED, after="  k = 7") == "reads u"


@pytest.mark.parametrize("where", ["save :: made", "common /types/ made", "target :: made"])
def test_a_handle_that_others_may_change(where: str) -> None:
    assert sent(_ROW, _COMMITTED, declared=where) == "reads u"


def test_what_stands_behind_an_array_in_memory() -> None:
    """A count that reaches beyond an array may mean the next one of its common block."""
    text = "real(8) :: w, x\n  common /fields/ w(4, 3), x(4, 3)"
    row = "call MPI_Type_vector({}, 1, 4, MPI_DOUBLE_PRECISION, made, ierr)"
    inside = sent(row.format(3), _COMMITTED, buffer="w(2,1)", declared=text)
    assert inside == "reads w(2,1:3)"
    beyond = sent(row.format(6), _COMMITTED, buffer="w(2,1)", declared=text)
    assert beyond == "reads x reads w"


_TYPES = """\
module types
  use mpi
  implicit none
  integer, save :: n, m, ny, row, part, ierr{more}
  real(8), save, allocatable :: u(:, :)
end module types
"""
_MAKER = """\
subroutine make
  use types
  implicit none
  integer :: k
  {make}
end subroutine make
"""
_USER = """\
subroutine edges(peer, comm)
  use types
  implicit none
  integer, intent(in) :: peer, comm
  call MPI_Send(u(1, 1), 1, row, peer, 1, comm, ierr)
end subroutine edges
"""
_PROGRAM = """\
program main
  use types
  implicit none
  integer :: step
  {main}
  do step = 1, 10
    call edges(0, MPI_COMM_WORLD)
    {loop}
  end do
  {after}
end program main
"""
_SIZES = "n = 8\n  call size_of(m)\n  allocate (u(0:n+1, 0:m+1))\n  call make"
_MADE = _ROW.replace("made", "row") + "\n  call MPI_Type_commit(row, ierr)"


def read_elsewhere(
    make: str = _MADE, main: str = _SIZES, loop: str = "", after: str = "", more: str = ""
) -> str:
    """What a send reads whose datatype another procedure makes."""
    size = "subroutine size_of(k)\n  integer :: k\n  read *, k\nend subroutine size_of\n"
    program = _PROGRAM.format(main=main, loop=loop, after=after)
    texts = (_TYPES.format(more=more), _MAKER.format(make=make), _USER, program, size)
    unit = Analysed(*texts, chain=("edges",))
    leaf = unit.leaf("call MPI_Send")
    assert isinstance(leaf.what, Call)
    call = mpi_call(leaf.what, unit.scope)
    assert call is not None
    found = transfer_buffers(leaf, call, unit.scope, unit.values)
    assert found is not None
    return " ".join(described(one) for one in found).replace("types::", "")


def test_a_datatype_that_another_procedure_makes() -> None:
    assert read_elsewhere() == "reads u(1,1:m)"
    assert read_elsewhere(after="call MPI_Type_free(row, ierr)") == "reads u(1,1:m)"
    assert read_elsewhere(_MADE.replace("(m,", "(m - 1,")) == "reads u(1,1:m - 1)"
    of_parts = _MADE.replace("MPI_DOUBLE_PRECISION", "part")
    part = "call MPI_Type_contiguous(1, MPI_DOUBLE_PRECISION, part, ierr)\n  "
    assert read_elsewhere(part + of_parts) == "reads u(1,1:m)"


@pytest.mark.parametrize(
    "given",
    [
        # made twice, by an assignment, by a procedure, by another call
        {"loop": _MADE.replace("(m,", "(m - 1,")},
        {"loop": "row = MPI_REAL"},
        {"main": _SIZES + "\n  call size_of(row)"},
        {"make": "call MPI_Type_create_resized(MPI_REAL8, 0_8, 8_8, row, ierr)"},
        # of what changes later, or may have been changed in between
        {"loop": "m = m - 1"},
        {"loop": "call size_of(m)"},
        {"main": _SIZES.replace("call size_of(m)", "call size_of(m)\n  call make\n  m = m - 1")},
        # of a variable of that procedure, of a part with gaps or that is not known
        {"make": "k = m\n  " + _MADE.replace("(m,", "(k,")},
        {"make": _MADE.replace("MPI_DOUBLE_PRECISION", "part")},
        {"make": "call MPI_Type_vector(2, 1, 2, MPI_REAL8, part, ierr)\n  "
                 + _MADE.replace("MPI_DOUBLE_PRECISION", "part")},
        # with other names
        {"more": "\n  target :: row"},
        {"more": "\n  integer :: other\n  equivalence (row, other)"},
        {"main": _SIZES + "\n  allocate (u(0:n+1, 0:ny))"},
    ],
)  # fmt: skip
def test_a_datatype_of_another_procedure_that_is_not_known(given: dict[str, str]) -> None:
    """It is another one, or consists of another number of elements, somewhere in the program."""
    assert read_elsewhere(**given) == "reads u"


_ROWS = """\
subroutine step(u, v, n, m, left, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, left, comm
  real(8), intent(inout) :: u(0:n+1, 0:m+1), v(n, m)
  integer :: row, request, i, j, ierr

  call MPI_Type_vector(m, 1, n + 2, MPI_DOUBLE_PRECISION, row, ierr)
  call MPI_Type_commit(row, ierr)
  call MPI_Irecv(u(0, 1), {what}, left, 1, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  do j = 1, m
    do i = 1, n
      v(i, j) = u(i, j) + u(i-1, j)
    end do
  end do
  call MPI_Type_free(row, ierr)
end subroutine step
"""


@pytest.mark.parametrize(
    ("what", "loop"), [("1, row", "do i = 2, n"), ("2, row", None), ("m*(n+2), MPI_REAL8", None)]
)
def test_a_nest_is_split_beside_a_row_of_a_field(
    what: str, loop: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "step.f90"
    path.write_text(_ROWS.format(what=what))
    tree = load_tree([tmp_path])
    content = optimise(tree, tree.units_of(str(path))[0]).content
    if loop is None:
        assert content is None
        return
    assert content is not None
    interior, wait = (content.decode().index(text) for text in (loop, "call MPI_Wait"))
    assert interior < wait
