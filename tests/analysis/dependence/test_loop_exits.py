"""The loops in a construct, and the labels that end them."""

from __future__ import annotations

from asphalt.analysis.dependence.loop_exits import (
    blocks_in,
    ends_a_loop,
    ends_inside,
    goes_on_inside,
    loops_in,
    loops_to,
)
from asphalt.ir.tree import Block, Branch, Do, leaves
from support.analysed import Analysed

_LABELLED = """\
subroutine s(a, n)
  real :: a(n, n)
  do 10 j = 1, n
    do 10 i = 1, n
10  a(i, j) = 0
  do 20 j = 1, n
    a(1, j) = 1
20 continue
end subroutine
"""
_NESTED = """\
subroutine s(a, n)
  real :: a(n)
  outer: do j = 1, n
    if (a(j) > 0) then
      do i = 1, n
        if (a(i) < 0) cycle
        if (a(i) > 9) cycle outer
      end do
    else
      block
        a(j) = 1
      end block
    end if
  end do outer
end subroutine
"""


def test_labels_that_end_loops() -> None:
    unit = Analysed(_LABELLED)
    shared, own = unit.body
    assert isinstance(shared, Do)
    assert isinstance(own, Do)
    assert (loops_to(10, shared), loops_to(20, shared), loops_to(20, own)) == (2, 0, 1)
    assert [ends_inside(loop) for loop in loops_in(shared)] == [True, True]
    last, other = unit.leaf("a(i, j)"), unit.leaf("a(1, j)")
    assert ends_a_loop(last, shared)
    assert not ends_a_loop(other, own)
    assert ends_a_loop(unit.leaf("continue"), own)


def test_loops_and_blocks() -> None:
    unit = Analysed(_NESTED)
    (outer,) = unit.body
    assert [len(tuple(loops_in(node))) for node in (outer, *outer.body)] == [2, 1]  # type: ignore[union-attr]
    (block,) = blocks_in(outer)
    assert isinstance(block, Block)
    assert block.kind == "block"
    assert not any(isinstance(node, Branch) for node in loops_in(outer))


def test_a_jump_goes_on_inside_of_the_loop_that_it_names() -> None:
    unit = Analysed(_NESTED)
    (outer,) = unit.body
    (inner,) = (loop for loop in loops_in(outer) if loop is not outer)
    jumps = [effect for effect in unit.footprint.effects if effect.leaf in set(leaves(inner))]
    assert [goes_on_inside(jump, outer) for jump in jumps] == [True, True]
    assert [goes_on_inside(jump, inner) for jump in jumps] == [True, False]
