"""Whether the two calls of a procedure in phases get what one call gets.

Both get the same variables, and no copies: a compiler may pass a copy of a noncontiguous argument,
and write it back on return (F2018 15.5.2.4), when the library still reads or writes the variable.
"""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.specification_expressions import evaluated_on_entry
from asphalt.analysis.inlining.codes import ARGUMENT, RefusedError
from asphalt.analysis.inlining.split_phase import Phases
from asphalt.analysis.inlining.version_calls import evaluated
from asphalt.analysis.memory.contiguity import reference_contiguity
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.symbol import Symbol
from asphalt.ir.expr import Component, Expr, Ref, Section, names_in
from asphalt.ir.stmt import Call, UnitHead
from asphalt.ir.tree import Leaf, Node


def check_passed(
    facts: UnitFacts, leaf: Leaf, inside: UnitFacts, phases: Phases, between: tuple[Node, ...]
) -> None:
    """Check the arguments of a call for a procedure in ``phases``, with some statements of the
    caller ``between`` the two.

    Raises:
        RefusedError: the second phase may get something else.
    """
    call, head = leaf.what, inside.unit.head
    assert isinstance(call, Call)
    assert head is not None
    assert isinstance(head.what, UnitHead)
    bound = bind(call.args, head.what.args)
    if bound is None or len(bound) != len(head.what.args):
        raise RefusedError(ARGUMENT, "not all dummies have an actual argument")
    written = {storage for node in between for storage in facts.footprint(node).written()}
    on_entry = {a.storage for a in evaluated_on_entry(inside.scope, inside.names).accesses}
    if written & on_entry:
        raise RefusedError(
            ARGUMENT, f"{min(written & on_entry)} decides a bound in it, and changes"
        )
    for dummy, actual in bound.items():
        symbol = inside.scope.lookup(dummy)
        assert symbol is not None
        check_copy(dummy, symbol, actual, facts.scope, pending=dummy in phases.pending)
        names = evaluated(actual, facts.scope)
        if dummy in on_entry:
            names |= names_in(actual)
        changed = {name for name in names if facts.names.storage(name) in written}
        if changed:
            raise RefusedError(ARGUMENT, f"what is passed for {dummy} depends on {min(changed)}")


def check_copy(dummy: str, symbol: Symbol, actual: Expr, scope: Scope, *, pending: bool) -> None:
    """Check that no copy of an actual argument is passed."""
    if symbol.dims is None and not pending:
        return
    refused = RefusedError(ARGUMENT, f"a copy may be passed for {dummy}")
    if not isinstance(actual, Ref | Component):
        raise refused
    if "allocatable" in symbol.attrs:
        return
    described = {dim.kind for dim in symbol.dims or ()} == {"assumed_shape"}
    if described and "contiguous" not in symbol.attrs and not _has_vectors(actual):
        return
    if symbol.dims is None and isinstance(actual, Ref) and actual.args is None:
        return
    if not reference_contiguity(actual, scope).yes:
        raise refused


def _has_vectors(actual: Ref | Component) -> bool:
    """Whether an actual argument may have a vector subscript: only its sections and a whole array
    have none for sure."""
    return any(not isinstance(arg, Section) for arg in actual.args or ())
