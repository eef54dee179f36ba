"""The clone of the receive buffer in which pieces land.

The clone is an array of bytes, so that it needs no type of the program: its first dimension is one
element, its second one block, its third the ranks (subscripts then are numbers of elements within
a block, as in the call, and do not overflow).  It exists from the entry to the place of the call,
with the size of what the call writes: the number of ranks times the receive count, in elements.
"""

from __future__ import annotations

from asphalt.ir.expr import Arg, Component, Expr, Ref
from asphalt.ir.stmt import Allocation
from asphalt.ir.tree import Leaf
from asphalt.transforms.rewriting.make import Maker, add, fn, num, quotient, var

CLONE = var("asphalt_clone")


def allocate(make: Maker, buffer: Ref | Component, block: Expr, ranks: Expr, why: str) -> Leaf:
    """Allocate ``ranks`` blocks of ``block`` elements like those of ``buffer``."""
    shape: tuple[Arg, ...] = (quotient(fn("storage_size", buffer), num(8)), block, ranks)
    comment = f"received into a clone: {why}"
    return make.leaf(Allocation("allocate", (fn("asphalt_clone", *shape),)), comment)


def element(inside: Expr, rank: Expr) -> Ref:
    """The element ``inside`` (from 0) of the block of ``rank`` (from 0)."""
    return fn("asphalt_clone", num(1), add(inside, num(1)), add(rank, num(1)))


def copy(make: Maker, buffer: Ref | Component) -> tuple[Leaf, ...]:
    """Copy the clone to where the call would have stored its data, and deallocate it."""
    return (
        make.call("asphalt_copy", CLONE, buffer),
        make.leaf(Allocation("deallocate", (CLONE,))),
    )
