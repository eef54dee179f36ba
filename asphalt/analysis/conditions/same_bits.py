"""Bit for bit: tiling a loop must not make the compiler compute other last digits.

The order of operations in the source is preserved.  But where the tiled loop is innermost, its trip
count becomes the tile's, and a compiler that vectorises it calls a vector version of a function for
some elements and the scalar one for others; the two differ in the last digit.  A loop inside of it
with few iterations, known to the compiler, does not help: it is unrolled.  Nor does a loop in which
no array is traversed across its columns: gfortran then vectorises the loop around it, or
interchanges the two (-O2, -O3).  Operations that IEEE 754 rounds correctly (+ - * / and the
square root) give the same bits either way.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.dependence.vector_rounding import (
    ANY,
    Value,
    evaluated,
    inexact_part,
    is_open_value,
    remains,
)
from asphalt.analysis.effects.argument_accesses import bound_arguments
from asphalt.analysis.effects.known_libraries import is_library_call
from asphalt.analysis.effects.summary import dummies_of
from asphalt.analysis.exchange.producer import Producer, ProducerPhase
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds
from asphalt.config.assumptions import BITS
from asphalt.ir.expr import Expr, Ref, walk
from asphalt.ir.stmt import Call, DoHead
from asphalt.ir.tree import leaves

LAST_DIGITS = Code(
    "ASP903",
    "last digits may change",
    "The tiled loop is the innermost one, and evaluates functions such as SIN or EXP, or a "
    "power.  With the trip count of a tile, a compiler may use vector versions of these functions "
    "for other elements than before, which changes last digits.  A loop inside of it does not "
    "count if it has few iterations, known at compile time, or if the variable of the tiled loop "
    "is in no second or later subscript of an array.",
    "Put a loop inside (tile an outer loop), switch off the vectorisation of this file, or accept "
    "it with `--assume bits` or a directive `!$asphalt assume(bits)` in front of the call.",
    9,
)

CODES = (LAST_DIGITS,)
_DEPTH = 6  # calls that are followed


def check(producer: Producer) -> Answer:
    """Whether no phase has an innermost tiled loop with functions that are not exactly rounded."""
    for phase in producer.phases:
        if _keeps_a_loop(phase, producer):
            continue
        name = _inexact(phase, producer.exchange.scope)
        if name is not None:
            message = (
                f"the loop over {phase.variable} is innermost and evaluates {name}: last digits "
                "may change with the length of a tile"
            )
            return Holds(message, (BITS.word,))
    return Holds("cutting the loops into tiles leaves no operation another choice of rounding")


def _inexact(phase: ProducerPhase, scope: Scope) -> str | None:
    for node in phase.tiled.body:
        for leaf in leaves(node):
            if isinstance(leaf.what, Call) and not _loops(leaf.what, scope):
                return "a procedure that may be inlined"
            for expr in evaluated(leaf.what):
                for part in walk(expr):
                    found = inexact_part(part, scope)
                    if found is not None:
                        return found
    return None


def _keeps_a_loop(phase: ProducerPhase, producer: Producer) -> bool:
    """Whether a loop inside of the tiled one remains after the compiler has unrolled loops."""

    scope = producer.exchange.scope

    def constant_value(expr: Expr) -> Value:
        if is_open_value(expr, scope):
            return ANY
        value = producer.region.value(expr, ())
        return None if value is None else value.value

    along = str(phase.variable)
    return any(remains(node, constant_value, 1, along) for node in phase.tiled.body)


def _loops(call: Call, scope: Scope, depth: int = _DEPTH) -> bool:
    """Whether a procedure, or one that it calls, has a loop that remains wherever it is inlined."""
    found = invoked(call, scope)
    if found is None or depth == 0:
        return is_library_call(call, scope)  # compiled elsewhere: never inlined
    located, call = found
    inside = scope.scopes.of(located)
    given = _constant_arguments(call, inside, scope)

    def constant_value(expr: Expr) -> Value:
        known = constants_in(expr, inside)
        if any(isinstance(atom, Ref) and atom.name in given for atom in known.atoms):
            return ANY  # a compiler may know it: no loop to count on
        return ANY if is_open_value(expr, inside) else known.value

    actions = [leaf.what for node in located.unit.body for leaf in leaves(node)]
    if any(remains(node, constant_value, 1) for node in located.unit.body):
        return True
    if any(isinstance(what, DoHead) for what in actions) and not any(
        isinstance(what, Call) or inexact_part(part, inside) is not None
        for what in actions
        for expr in evaluated(what)
        for part in walk(expr)
    ):
        return True  # unrolled, and nothing in it is rounded in another way
    return any(isinstance(what, Call) and _loops(what, inside, depth - 1) for what in actions)


def _constant_arguments(call: Call, inside: Scope, scope: Scope) -> frozenset[str]:
    """The dummy arguments that get a constant."""
    bound = bound_arguments(call, dummies_of(inside)) or {}
    return frozenset(
        dummy
        for dummy, actual in bound.items()
        if constants_in(actual, scope).value is not None or is_open_value(actual, scope)
    )
