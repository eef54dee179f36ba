"""The operations on whole arrays: assignments, reductions, products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asphalt.analysis.cost.classes import Counts
from asphalt.analysis.cost.trip_counts import TripCount, extents
from asphalt.analysis.cost.types import Surroundings, base_of
from asphalt.ir.expr import Arg, ArrayConstructor, Component, Expr, Lit, OpaqueExpr, Ref, names_in

if TYPE_CHECKING:
    from asphalt.analysis.cost.expressions import OperationCounter


def assign_array(counter: OperationCounter, target: Expr, value: Expr) -> None:
    """An assignment to an array, element by element."""
    own = None if _may_be_allocated(target, counter.around) else extents(target, counter.around)
    sizes = own if own is not None else extents(value, counter.around) or None
    if sizes is None:
        counter.unknown.append("an array statement with unknown extents")
        return
    opaque = isinstance(value, OpaqueExpr | ArrayConstructor)
    counter.elements = (*counter.elements, sizes)
    level = counter.value(value)
    counter.converted(value, base_of(target, counter.around), level)
    if opaque:
        counter.unknown.append("what the elements of an array constructor cost")
    counter.note(counter.depth, counter.reference(target, "store", counter.depth))
    counter.note(counter.depth, Counts.of(loop=1))
    counter.elements = counter.elements[:-1]
    counter.add(len(counter.loops), loop_entry=1)
    for name in names_in(target):
        counter.changed(name)


def _may_be_allocated(target: Expr, around: Surroundings) -> bool:
    """Whether the assignment may reallocate the target (F2018 10.2.1.3)."""
    if not isinstance(target, Ref) or target.args is not None:
        return isinstance(target, Component) and target.args is None
    symbol = around.symbol(target.name)
    return symbol is None or "allocatable" in symbol.attrs


def reduction(counter: OperationCounter, name: str, args: tuple[Arg, ...]) -> int:
    """SUM and other reductions; returns the number of the innermost loop in which the result
    changes."""
    sizes = extents(args[0], counter.around)
    outer = counter.depth if counter.elements else counter.level_of(names_in(args[0]))
    if not sizes:
        counter.unknown.append(f"{name}: the extents of its argument are unknown")
        return outer
    kept, counter.elements = counter.elements, (sizes,)
    arrays = args[:2] if name in ("dot_product", "merge") else args[:1]
    for arg in arrays:
        counter.value(arg)
    real = base_of(args[0], counter.around) in ("real", "complex")
    if name == "dot_product" or name == "norm2":
        counter.add(counter.depth, multiply=1, add=1, loop=1)
    elif name == "product":
        counter.note(counter.depth, Counts.of(multiply=1, loop=1) if real else Counts.of(integer=1))
    else:
        counter.note(counter.depth, Counts.of(add=1, loop=1) if real else Counts.of(integer=1))
    counter.elements = kept
    counter.add(len(counter.loops), loop_entry=1)
    return outer


def matmul(counter: OperationCounter, args: tuple[Arg, ...]) -> int:
    """A product of matrices; returns the number of the innermost loop in which it changes."""
    left, right = extents(args[0], counter.around), extents(args[1], counter.around)
    columns: tuple[TripCount, ...] | None = None
    match args[1]:
        case Ref(args=None) as matrix:
            symbol = counter.around.symbol(matrix.name)
            rank = len(symbol.dims) if symbol is not None and symbol.dims is not None else 0
            two = Lit("integer", "2")
            columns = (TripCount(Ref("size", "size", (matrix, two))),) if rank == 2 else ()
        case _ if right is not None:
            columns = right[1:]
    if not left or columns is None:
        counter.unknown.append("matmul: the extents of its arguments are unknown")
        return counter.depth
    kept, counter.elements = counter.elements, ((*left, *columns),)
    counter.note(counter.depth, Counts.of(multiply=1, add=1, load=2, loop=0.25))
    counter.elements = kept
    return counter.depth
