"""Scalars that an iteration of a loop sets before it uses them.

    do r = 0, ranks - 1
      first = n*r + 1
      do j = first, n*(r + 1)
        b(j) = ...

In the nest, ``first`` is another name for ``n*r + 1``.
"""

from __future__ import annotations

from asphalt.analysis.memory.forward_substitution import Values, is_integer, is_plain_integer
from asphalt.analysis.memory.invariant_frame import loop_variable
from asphalt.ir.expr import Expr, Op, Ref, names_in
from asphalt.ir.mapped import NotMappedError, mapped_expr
from asphalt.ir.stmt import Assign
from asphalt.ir.tree import Leaf

_DEPTH = 4


def written_out(expr: Expr, at: Leaf, values: Values, depth: int = _DEPTH) -> Expr:
    """An expression at a statement, with the values of such scalars in their place."""
    try:
        return mapped_expr(expr, lambda ref: _value(ref, at, values, depth))
    except NotMappedError:
        return expr


def _value(ref: Ref, at: Leaf, values: Values, depth: int) -> Expr | None:
    symbol = values.scope.lookup(ref.name)
    if ref.args is not None or symbol is None or not is_plain_integer(symbol) or not depth:
        return None
    leaf = values.set_in_iteration(ref.name, at)
    what = None if leaf is None else leaf.what
    if leaf is None or not isinstance(what, Assign) or what.pointer:
        return None
    if not isinstance(what.target, Ref) or what.target.args is not None:
        return None
    around = [loop_variable(loop) for loop in values.loops_around(leaf)]
    if not is_integer(what.value, values.scope):
        return None
    given = written_out(what.value, leaf, values, depth - 1)
    if ref.name in names_in(given):
        return None
    for name in names_in(given):
        if name not in around and not values.keeps_between(name, leaf, at):
            return None
    return Op("()", (given,))
