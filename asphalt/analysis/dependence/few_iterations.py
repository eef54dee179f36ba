"""Loops with so few iterations that each can have a variable of its own."""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.references import actions
from asphalt.ir.expr import Expr, Ref, names_in
from asphalt.ir.stmt import DoHead, Guarded
from asphalt.ir.tree import Do, leaves

MOST = 64
"""Iterations that are few."""


def few_iterations(loop: Do, facts: UnitFacts) -> int | None:
    """The trip count of a loop from one constant to another with step one.

    None if it is another loop, or has more than ``MOST`` iterations, or only one.  The constants
    may be named, and have other values in later versions.
    """
    head = loop.head.what
    if not isinstance(head, DoHead) or head.kind != "count" or loop.end is None:
        return None
    if head.step is not None or loop.head.name is not None:
        return None
    if head.first is None or head.last is None or not isinstance(head.var, Ref):
        return None
    now = facts.scope_of_these_sizes
    if not all(_is_constant(bound, facts) for bound in (head.first, head.last)):
        return None
    first, last = constant(head.first, now), constant(head.last, now)
    if first is None or last is None or not 1 < last - first + 1 <= MOST:
        return None
    return last - first + 1


def has_own_indices(loop: Do) -> bool:
    """Whether a loop contains FORALL statements or DO CONCURRENT loops, whose indices may have the
    name of the loop variable."""
    return any(
        (isinstance(what, DoHead) and what.kind == "concurrent")
        or (isinstance(leaf.what, Guarded) and leaf.what.kind != "if")
        for node in loop.body
        for leaf in leaves(node)
        for what in actions(leaf.what)
    )


def _is_constant(bound: Expr, facts: UnitFacts) -> bool:
    symbols = [facts.scope.lookup(name) for name in names_in(bound)]
    return all(symbol is not None and symbol.is_parameter for symbol in symbols)
