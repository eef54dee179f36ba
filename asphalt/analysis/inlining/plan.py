"""Whether the body of a procedure can replace a call, and the declarations that it needs."""

from __future__ import annotations

from collections.abc import Mapping

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.control_flow.graph import jump_targets
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.exchange.site import StatementPosition
from asphalt.analysis.inlining.absent_arguments import without_absent
from asphalt.analysis.inlining.arguments import InlinedArguments, Passed
from asphalt.analysis.inlining.call_context import CallContext
from asphalt.analysis.inlining.codes import ARGUMENT, MEANING, TEXT, RefusedError
from asphalt.analysis.inlining.meaning import check_implicit_interfaces, check_operations
from asphalt.analysis.inlining.names import InlinedNames, Needed
from asphalt.analysis.inlining.procedure import movable_body
from asphalt.analysis.inlining.replacement import Present, Replacement
from asphalt.analysis.inlining.runtime_names import clashing_name
from asphalt.analysis.inlining.uses import array_uses
from asphalt.analysis.names.parallel_loops import why_threaded
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.visibility import words_of
from asphalt.analysis.symbolic.polynomials import folded_expr
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.ir.conditionals import depth_before
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.insertion import takes_declarations
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import Form, TriviaKind
from asphalt.ir.stmt import (
    Call,
    DoHead,
    Guarded,
    Include,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    Raw,
    UnitHead,
)
from asphalt.ir.tree import Block, Do, Leaf, Node, Unit, leaves


@record
class Inlining:
    """A call and what replaces it.

    ``body``: the statements of the procedure, with its own names; ``names``: what stands for
    these, where it is not the name itself; ``before``: variables of the caller to be set first, by
    new names; ``labels``: new labels for those that the caller has.
    """

    call: Leaf
    place: StatementPosition
    callee: Located
    scope: Scope
    body: tuple[Node, ...]
    names: Mapping[str, Replacement]
    before: tuple[tuple[str, Expr], ...]
    needed: Needed
    labels: Mapping[int, int]

    def change(self, ref: Ref) -> Expr | None:
        """The replacement of a reference in the procedure."""
        found = self.names.get(ref.name)
        return None if found is None else found.of(ref)


def planned(
    facts: UnitFacts,
    leaf: Leaf,
    place: StatementPosition,
    call: Call,
    callee: Located,
    sites: CallSites,
    after_procedure: bool = False,
    reserved: frozenset[str] = frozenset(),
) -> Inlining | Refused:
    """Plan what replaces a call of a procedure of the tree, or say why nothing can.

    ``after_procedure``, ``reserved``: how new variables are named (``InlinedNames``).
    """
    try:
        _check_place(facts, leaf, place)
        return _plan(facts, leaf, place, call, callee, sites, after_procedure, reserved)
    except RefusedError as refused:
        assert leaf.span is not None
        name = callee.unit.name
        return Refused(refused.code, f"{name} is not inlined: {refused.message}", leaf.span)


def _plan(
    facts: UnitFacts,
    leaf: Leaf,
    place: StatementPosition,
    call: Call,
    callee: Located,
    sites: CallSites,
    after_procedure: bool,
    reserved: frozenset[str],
) -> Inlining:
    scopes = facts.effects.scopes
    scope = scopes.of(callee)
    if callee.form is not facts.located.form:
        raise RefusedError(TEXT, "it is in the other source form")
    body = movable_body(callee, facts.located, scopes)
    head = callee.unit.head
    assert head is not None
    assert isinstance(head.what, UnitHead)
    bound = bind(call.args, head.what.args)
    if bound is None:
        raise RefusedError(
            ARGUMENT, "the actual arguments do not correspond to its dummy arguments"
        )
    absent = frozenset(head.what.args) - bound.keys()
    body = without_absent(body, absent, scope, free=callee.form is Form.FREE)
    clash = clashing_name(scope)
    if clash is not None:
        raise RefusedError(MEANING, clash)
    own = frozenset(head.what.args)
    names = InlinedNames(scope, facts.scope, own, after_procedure, reserved)
    names.body(body)
    check_operations(body, scope, facts.scope)
    context = CallContext(facts, leaf, scope, bound, sites)
    arguments = Passed(context, array_uses(body, scope)).found()
    check_implicit_interfaces(body, scope, facts.scope)
    before = _kept(arguments, names, scope)
    _check_construct_names(body, facts)
    return Inlining(
        leaf,
        place,
        callee,
        scope,
        body,
        {**arguments.names, **names.names, **_presence(arguments, names)},
        before,
        names.needed(),
        _labels(body, facts),
    )


def _kept(
    arguments: InlinedArguments, names: InlinedNames, scope: Scope
) -> tuple[tuple[str, Expr], ...]:
    """New variables, with their declarations, for what is computed before the call."""
    before = []
    for dummy, value in arguments.before:
        symbol = scope.lookup(dummy)
        assert symbol is not None
        before.append((names.variable(dummy, symbol), value))
    return tuple(before)


def _presence(arguments: InlinedArguments, names: InlinedNames) -> Mapping[str, Replacement]:
    """What replaces ``present``, if it is the intrinsic function."""
    if "present" in names.names or not arguments.given:
        return {}
    known = {**arguments.names, **names.names}
    given: set[Expr] = set()
    for dummy in arguments.given:
        ref = Ref(dummy, dummy)
        found = known[dummy].of(ref) if dummy in known else ref
        if found is not None:
            given.add(folded_expr(found))
    return {"present": Present(frozenset(given))}


def _check_place(facts: UnitFacts, leaf: Leaf, place: StatementPosition) -> None:
    """Check that statements can stand in place of the call."""
    unit = facts.unit
    if leaf.frozen or leaf.span is None:
        raise RefusedError(TEXT, "the preprocessor changes the call")
    if isinstance(leaf.what, Guarded) and leaf.what.kind != "if":
        raise RefusedError(TEXT, "the call is not a statement of its own")
    if leaf.joined or ";" in leaf.trail.split("!")[0]:
        raise RefusedError(TEXT, "the call shares its line with other statements")
    for entry in leaf.lead:
        if entry.kind in (TriviaKind.DIRECTIVE, TriviaKind.CONDITIONAL):
            raise RefusedError(TEXT, f"the directive {entry.text.strip()} stands before the call")
    if depth_before(unit, leaf) is None or not takes_declarations(unit):
        raise RefusedError(TEXT, "declarations of the caller do not stand on lines of their own")
    threads = why_threaded(leaf, unit)
    if threads is not None:
        raise RefusedError(TEXT, threads)
    for around in place.around:
        if isinstance(around, Block):
            raise RefusedError(TEXT, f"the call stands in a construct ({around.kind})")
        head = around.head.what if isinstance(around, Do) else None
        if isinstance(head, DoHead) and head.kind == "concurrent":
            raise RefusedError(TEXT, "the call stands in a DO CONCURRENT construct")
    if closes_a_loop(leaf, unit) and _may_be_jumped_to(leaf, unit):
        raise RefusedError(TEXT, "the call ends a loop, and statements may jump to it")


def closes_a_loop(leaf: Leaf, unit: Unit) -> bool:
    """Whether a statement is the last one of a loop, or of several, by its label."""
    heads = (own.what for node in unit.body for own in leaves(node))
    return leaf.label is not None and any(
        isinstance(what, DoHead) and what.label == leaf.label for what in heads
    )


def _may_be_jumped_to(leaf: Leaf, unit: Unit) -> bool:
    """Whether another statement may jump to a labelled one."""
    for own in (own for node in unit.body for own in leaves(node)):
        what = own.action
        if isinstance(what, Opaque | Raw | Include) or leaf.label in tuple(jump_targets(what)):
            return True
        if isinstance(what, Jump) and what.kind is JumpKind.ASSIGNED_GOTO and not what.labels:
            return True
    return False


def _check_construct_names(body: tuple[Node, ...], facts: UnitFacts) -> None:
    own = {leaf.name.lower() for node in body for leaf in leaves(node) if leaf.name is not None}
    taken = words_of(facts.unit)
    for name in sorted(own):
        if name in taken or facts.scope.lookup(name) is not None:
            raise RefusedError(TEXT, f"the construct name {name} exists in the caller")


def _labels(body: tuple[Node, ...], facts: UnitFacts) -> Mapping[int, int]:
    own = {leaf.label for node in body for leaf in leaves(node) if leaf.label is not None}
    taken = {leaf.label for leaf in leaves(facts.unit) if leaf.label is not None}
    used = own | taken
    formats = {
        leaf.label
        for node in body
        for leaf in leaves(node)
        if isinstance(leaf.what, Plain) and leaf.what.keyword == "format"
    }
    found: dict[int, int] = {}
    for label in sorted(own & taken):
        if label in formats:
            raise RefusedError(TEXT, f"the caller also has the label {label} of a FORMAT")
        digits = len(str(label))
        free = (n for n in range(10 ** (digits - 1), 10**digits) if n not in used)
        new = next(free, None)
        if new is None:
            raise RefusedError(TEXT, f"there is no free label for {label}")
        found[label] = new
        used.add(new)
    return found
