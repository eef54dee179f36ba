"""Whether a counted loop has a second iteration, from its bounds (F2018 11.1.7.4.3)."""

from __future__ import annotations

from enum import Enum
from itertools import product

from asphalt.analysis.memory.affine_guards import extremes
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do


class SecondIteration(Enum):
    """Whether there is a second iteration."""

    CERTAINLY = "whatever values its bounds have"
    WITH_SOME_SIZE = "it depends on one unbounded variable"
    PERHAPS = "it is not known"


def second_iteration(loop: Do, values: Values) -> SecondIteration:
    """Whether a loop has more than one iteration when it is reached."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.kind != "count":
        return SecondIteration.PERHAPS
    if head.first is None or head.last is None:
        return SecondIteration.PERHAPS
    step = 1 if head.step is None else values.polynomial(head.step, loop.head).value
    if not step:
        return SecondIteration.PERHAPS
    ways = ("<=", ">=") if step > 0 else (">=", "<=")
    limits = product(extremes(head.last, ways[0]), extremes(head.first, ways[1]))
    rooms = [_room(first, last, step, loop, values) for last, first in limits]
    if any(room.value is not None and room.value < abs(step) for room in rooms):
        return SecondIteration.PERHAPS
    if rooms[0].value is not None:
        return SecondIteration.CERTAINLY
    return (
        SecondIteration.WITH_SOME_SIZE
        if _grows_with_one_variable(rooms[0])
        else SecondIteration.PERHAPS
    )


def _room(first: Expr, last: Expr, step: int, loop: Do, values: Values) -> Poly:
    """The distance from the first to the last value of the variable, in the direction of the
    step."""
    room = values.polynomial(last, loop.head) - values.polynomial(first, loop.head)
    return room if step > 0 else -room


def _grows_with_one_variable(room: Poly) -> bool:
    """Whether a number is a multiple of one variable and a constant, and has no upper limit."""
    if len(room.atoms) != 1:
        return False
    (atom,) = room.atoms
    coefficient = dict(room.terms).get((atom,), 0)
    linear = all(len(monomial) <= 1 for monomial, _ in room.terms)
    return linear and coefficient > 0 and isinstance(atom, Ref) and atom.args is None
