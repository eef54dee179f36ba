"""The geometry of blocks of different lengths, and the elements of their lists."""

from __future__ import annotations

import pytest

from asphalt.analysis.exchange.per_rank import per_rank
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Guard, Layout, Misfit
from asphalt.analysis.tiling.uneven_blocks import uneven_layout_of
from asphalt.ir.expr import Ref
from asphalt.unparse.expr_text import expr_text
from support.judging import program
from support.producers import exchange_of, found_producers

PLANES = "do z = 1, nz\n  s(:,z,:) = z\nend do\n"
ROWS = "do k = 1, m\n  s(:,k) = k\nend do\n"
PEER = Ref("p", "p")


def unit(send: str, nest: str, counts: str = "c", declare: str = "integer :: c(np)") -> Exchange:
    return exchange_of(
        f"""
        subroutine unit(s, r, n, nz, np, m, p)
          use mpi
          integer, intent(in) :: n, nz, np, m, p
          integer :: z, k, d(np), ierr
          {declare}
          real(8), intent(inout) :: s{send}, r(*)
        {nest}
          call MPI_Alltoallv(s, {counts}, d, MPI_REAL8, r, {counts}, d, MPI_REAL8, p, ierr)
        end subroutine unit
        """
    )


def layout(send: str, nest: str) -> Layout | Misfit:
    return uneven_layout_of(found_producers(unit(send, nest))[0])


def size(name: str) -> Poly:
    return Poly.atom(Ref(name, name))


def test_the_last_dimension_is_dealt_in_slabs() -> None:
    found = layout("(n,m)", ROWS)
    assert isinstance(found, Layout)
    assert (found.pattern, found.unit, found.guards) == (TileShape.SLAB, size("n"), ())
    assert found.uneven is not None
    assert found.uneven.spread is None


def test_planes_that_the_loop_leaves_out_at_the_beginning_are_guarded() -> None:
    found = layout("(n,0:m)", ROWS)
    assert isinstance(found, Layout)
    assert found.guards == (Guard(Poly.constant(1), "==", Poly.constant(0)),)


def test_each_column_is_a_block() -> None:
    found = layout("(n,nz,np)", PLANES)
    assert isinstance(found, Layout)
    assert (found.pattern, found.unit, found.guards) == (TileShape.EVERY_BLOCK, size("n"), ())
    assert found.uneven is not None
    assert found.uneven.spread == size("n") * size("nz")


def test_a_loop_that_may_leave_its_dimension_is_guarded() -> None:
    found = layout("(n,m,np)", PLANES)
    assert isinstance(found, Layout)
    assert found.guards == (Guard(size("nz"), "<=", size("m")),)


def test_a_loop_further_inside_of_a_block_does_not_fit() -> None:
    found = layout("(n,nz,m,np)", "do z = 1, nz\n  s(:,z,:,:) = z\nend do\n")
    assert isinstance(found, Misfit)
    assert found.kind == "blocks"


def test_subscripts_of_a_packed_buffer_do_not_follow_the_loop() -> None:
    nest = "do z = 1, nz\n  do k = 1, m\n    s(d(1) + (z-1)*z + k) = z\n  end do\nend do\n"
    found = layout("(*)", nest)
    assert isinstance(found, Misfit)
    assert found.kind == "subscripts"


@pytest.mark.parametrize(
    ("counts", "declare", "element"),
    [
        ("c", "integer :: c(np)", "c(p+1)"),
        ("c", "integer :: c(0:np-1)", "c(p)"),
        ("c(:)", "integer :: c(-1:np)", "c(p-1)"),
        ("c(1:np)", "integer :: c(0:np)", "c(p+1)"),
        ("c(m:)", "integer :: c(0:np)", "c(m+p)"),
        ("c(2)", "integer :: c(np)", "c(p+2)"),
        ("c(:,z)", "integer :: c(np,9)", "c(p+1,z)"),
        ("c(3:,z+1)", "integer :: c(np,9)", "c(p+3,z+1)"),
        ("t%c", "type list\ninteger :: c(0:8)\nend type\ntype(list) :: t", "t%c(p)"),
        ("t%c(2:)", "type list\ninteger :: c(8)\nend type\ntype(list) :: t", "t%c(p+2)"),
        (
            "t%c",
            "type list\ninteger, allocatable :: c(:)\nend type\ntype(list) :: t",
            "t%c(lbound(t%c,1)+p)",
        ),
        ("t%c", "type list\ninteger(8) :: c(8)\nend type\ntype(list) :: t", None),
        ("t%c", "type list\ninteger :: c\nend type\ntype(list) :: t", None),
        ("t(2)%c", "type list\ninteger :: c(8)\nend type\ntype(list) :: t(3)", None),
        ("c(2)", "integer, allocatable :: c(:)", "c(p+2)"),
        ("c(2)", "integer, pointer :: c(:)", None),
        ("c(1,2)", "integer :: c(np,9)", None),
        ("c", "integer :: c(np,9)", None),
        ("c(::2)", "integer :: c(np)", None),
        ("c(z,:)", "integer :: c(9,np)", None),
        ("c(d)", "integer :: c(np)", None),
        ("c+1", "integer :: c(np)", None),
        ("[c]", "integer :: c(np)", None),
        ("c", "real :: c(np)", None),
        ("c", "integer :: c", None),
    ],
)
def test_the_number_of_a_rank(counts: str, declare: str, element: str | None) -> None:
    found = per_rank(unit("(n,m)", ROWS, counts, declare), "sendcounts")
    assert (None if found is None else expr_text(found.of(PEER)).replace(" ", "")) == element


def test_a_sequence_from_an_element_of_an_assumed_shape_is_no_list() -> None:
    dummy = "integer, intent(in) :: c(:)"
    text = f"""
        subroutine unit(s, r, n, m, p, c)
          use mpi
          integer, intent(in) :: n, m, p
          {dummy}
          integer :: k, d(9), ierr
          real(8), intent(inout) :: s(n,m), r(*)
        {ROWS}
          call MPI_Alltoallv(s, c(1), d, MPI_REAL8, r, c, d, MPI_REAL8, p, ierr)
        end subroutine unit
        """
    found = exchange_of(text)
    assert per_rank(found, "sendcounts") is None
    assert per_rank(found, "recvcounts") is not None


def test_the_same_program_with_equal_blocks_has_no_lists() -> None:
    (producer, *_) = found_producers(exchange_of(program()))
    assert producer.exchange.call.procedure.exchange is not None
    assert producer.exchange.call.procedure.exchange.send_displacements is None
