"""Requests of a loop that goes once around a ring of ranks:

    do i = 0, np - 1
      peer = modulo(me + i, np)
      call MPI_Irecv(..., request(peer), ierr)

The subscript takes every value from 0 to np - 1 once, as ``i`` does: me + i, modulo the number of
iterations.
"""

from __future__ import annotations

from asphalt.analysis.memory.iteration_values import written_out
from asphalt.analysis.memory.regions import Region, loop_bounds, loop_variable
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr, poly
from asphalt.ir.expr import Expr, Op, Ref
from asphalt.ir.tree import Do, Leaf

_ONE = Poly.constant(1)


def in_loop_order(
    subscript: Expr, array: str, at: Leaf, loops: tuple[Do, ...], region: Region
) -> Expr:
    """A subscript that takes the same values in all iterations of some loops, each as often, and
    follows the variable of one of them; the subscript itself, if it goes around no ring."""
    scope = region.values.scope
    around: list[tuple[Ref, Poly]] = []
    given = folded_expr(written_out(subscript, at, region.values))
    for atom in poly(given).atoms:
        match atom:
            case Ref(name="modulo" | "mod" as name, args=(first, ranks)):
                symbol = scope.lookup(name)
                if symbol is not None and symbol.origin is Origin.INTRINSIC:
                    turn = _turn(first, ranks, loops, region)
                    around += [] if turn is None else [(atom, turn)]
    if len(around) != 1:
        return subscript
    ((cyclic, turn),) = around
    powers = poly(given).coefficients(cyclic)
    rest = powers.get(0, Poly())
    if powers.keys() - {0, 1} or powers[1] != _ONE or region.value(rest.expression(), ()) is None:
        return subscript
    if cyclic.name == "mod":  # it may be negative, but no subscript is below the lower bound
        shape = shape_of(array, scope, region.values, at)
        lowest = None if shape is None or shape.rank != 1 else (shape.lower[0] - rest).value
        if lowest is None or lowest < 0:
            return subscript
    return (rest + turn).expression()


def _turn(first: object, ranks: object, loops: tuple[Do, ...], region: Region) -> Poly | None:
    """The number of the iteration, from 0, of the loop in which ``modulo(first, ranks)`` goes
    around once."""
    if not isinstance(first, Ref | Op) or not isinstance(ranks, Ref | Op):
        return None
    number = region.value(ranks, ())
    for loop in loops:
        variable, bounds = loop_variable(loop), loop_bounds(loop, region)
        if variable is None or bounds is None or number is None:
            continue
        atom = Ref(variable, variable)
        low, high = (bounds.first, bounds.last)[:: bounds.direction]
        inside = region.value(first, (loop,))
        if high - low + _ONE != number or inside is None:
            continue
        powers = inside.coefficients(atom)
        if not powers.keys() - {0, 1} and powers.get(1, Poly()).value in (1, -1):
            return Poly.atom(atom) - low
    return None
