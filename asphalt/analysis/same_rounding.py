"""Whether statements compute the same bits however a compiler vectorises the loop around them.

A sum, difference, product or quotient, and a square root, is rounded correctly (IEEE 754), and a
square is one product: scalar and vector instructions give the same.  Other functions and powers
have versions for vectors that differ in the last digit (see ``conditions/same_bits``).
"""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.conditions.same_bits import (
    ANY,
    Value,
    evaluated,
    inexact_part,
    is_open_value,
    remains,
)
from asphalt.analysis.effects import Effects
from asphalt.analysis.invoked import invoked
from asphalt.analysis.regions import Region, loop_variable
from asphalt.analysis.symbols import Origin, Scope
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.expr import Arg, Component, Expr, Lit, Op, Ref, walk
from asphalt.ir.stmt import ArmHead, Call, DoHead, Guarded, What
from asphalt.ir.tree import Do, Node, leaves

_DEPTH = 6  # calls that are followed


def why_other_digits(
    loops: Iterable[Do], body: Iterable[Node], facts: UnitFacts, region: Region
) -> str | None:
    """What of a body may differ in its last digit when the loops around it that are given get other
    bounds, for people; None: nothing."""
    nodes = tuple(body)
    if all(keeps_a_loop(nodes, str(loop_variable(loop)), region) for loop in loops):
        return None
    return inexact(nodes, facts.scope, facts.effects)


def keeps_a_loop(nodes: Iterable[Node], along: str, region: Region) -> bool:
    """Whether there is a loop in the body of one over ``along`` that a compiler neither unrolls
    entirely nor puts outside."""

    def value(expr: Expr) -> Value:
        if is_open_value(expr, region.values.scope):
            return ANY
        found = region.value(expr, ())
        return None if found is None else found.value

    return any(remains(node, value, 1, along) for node in nodes)


def inexact(
    nodes: Iterable[Node], scope: Scope, effects: Effects, depth: int = _DEPTH
) -> str | None:
    """What of some statements may differ in its last digit, for people; None: nothing."""
    for node in nodes:
        for leaf in leaves(node):
            for part in (p for expr in _expressions(leaf.what) for p in walk(expr)):
                found = _inexact(part, scope, effects, depth)
                if found is not None:
                    return found
            call = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
            if isinstance(call, Call):
                found = _called(call, "a procedure", scope, effects, depth)
                if found is not None:
                    return found
    return None


def _expressions(what: What) -> tuple[Arg, ...]:
    match what:
        case Guarded(condition=condition, action=action):
            return (condition, *_expressions(action))
        case Call(args=args):
            return args
        case ArmHead(exprs=exprs):
            return exprs
        case DoHead(first=first, last=last, step=step):
            return tuple(part for part in (first, last, step) if part is not None)
    return evaluated(what)


def _inexact(part: Arg, scope: Scope, effects: Effects, depth: int) -> str | None:
    match part:
        case Op(op="**", operands=(_, Lit(kind="integer") as power)) if power.integer == 2:
            return None
        case Component(spelled=spelled) if effects.names(scope).bound_function(part):
            return spelled
        case Ref(spelled=spelled, args=tuple(args)) if inexact_part(part, scope) is not None:
            symbol = scope.lookup(part.name)
            if symbol is not None and symbol.origin is Origin.INTRINSIC:
                return spelled
            call = Call(Ref(part.name, spelled), args)
            return _called(call, spelled, scope, effects, depth)
    return inexact_part(part, scope)


def _called(call: Call, name: str, scope: Scope, effects: Effects, depth: int) -> str | None:
    """What of a called procedure may differ; the procedure itself if it is not known."""
    found = invoked(call, scope) if depth else None
    if found is None:
        return name
    located, _ = found
    return inexact(located.unit.body, scope.scopes.of(located), effects, depth - 1)
