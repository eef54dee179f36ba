"""Whether a procedure can be inlined at all: what the procedure itself must fulfil."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.call_graph.call_sites import UnitKey, unit_key
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.analysis.inlining.codes import KEPT, LONG, RECURSION, TEXT, WAYS, RefusedError
from asphalt.analysis.inlining.returns import without_returns
from asphalt.analysis.messages.collectives import nonblocking_form
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.references import actions
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.ir.conditionals import is_conditional
from asphalt.ir.edit import map_leaves
from asphalt.ir.program import Located
from asphalt.ir.source import OF_THE_PREPROCESSOR, Trivia, TriviaKind
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    DoHead,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    Raw,
    StatementFunction,
    UnitHead,
)
from asphalt.ir.tree import Block, Branch, Leaf, Node, Unit, leaves

LONGEST = 250
"""Statements of a body that is written a second time."""

_PRINTED = (Allocation, ArmHead, Assign, Call, DoHead)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OWN = (TriviaKind.BLANK, TriviaKind.COMMENT)


def communicates(located: Located, scopes: Scopes, seen: frozenset[UnitKey] = frozenset()) -> bool:
    """Whether a procedure transfers messages between two ranks, itself or through others."""
    key = unit_key(located)
    if key in seen:
        return False
    scope = scopes.of(located)
    return any(
        is_transfer(call, scope)
        or (
            ((found := invoked(call, scope)) is not None)
            and communicates(found[0], scopes, seen | {key})
        )
        for call in calls_of(located.unit)
    )


def is_candidate(located: Located, scopes: Scopes) -> bool:
    """Whether a procedure transfers messages, or executes a collective operation that may overlap
    with what follows, itself or through others."""
    return communicates(located, scopes) or transfers_together(located, scopes)


def transfers_together(
    located: Located, scopes: Scopes, seen: frozenset[UnitKey] = frozenset()
) -> bool:
    """Whether a procedure executes a collective operation that has a non-blocking form, itself or
    through others."""
    key = unit_key(located)
    if key in seen:
        return False
    scope = scopes.of(located)
    for call in calls_of(located.unit):
        mpi = mpi_call(call, scope)
        if mpi is not None and nonblocking_form(mpi.procedure) is not None:
            return True
        found = invoked(call, scope)
        if found is not None and transfers_together(found[0], scopes, seen | {key}):
            return True
    return False


def is_transfer(call: Call, scope: Scope) -> bool:
    """Whether an MPI call sends or receives a message, or completes such a call."""
    mpi = mpi_call(call, scope)
    if mpi is None:
        return False
    tagged = any(p.kind == "TAG" for p in mpi.procedure.parameters)
    return tagged or mpi.procedure.timing in (Timing.COMPLETING, Timing.STARTING)


def calls_of(unit: Unit) -> Iterator[Call]:
    """The CALL statements of a unit."""
    for node in unit.body:
        for leaf in leaves(node):
            for what in actions(leaf.what):
                if isinstance(what, Call):
                    yield what


def is_movable(callee: Located, caller: Located, scopes: Scopes) -> bool:
    """Whether statements could replace a call of a procedure, as far as it decides that itself."""
    try:
        movable_body(callee, caller, scopes)
    except RefusedError:
        return False
    return callee.form is caller.form


def movable_body(callee: Located, caller: Located, scopes: Scopes) -> tuple[Node, ...]:
    """The statements that replace a call of a procedure, still with its own names.

    Raises:
        RefusedError: the procedure does something that they could not do elsewhere.
    """
    unit = callee.unit
    name = unit.name
    if unit.kind != "subroutine" or unit.head is None or not isinstance(unit.head.what, UnitHead):
        kind = "a module procedure" if unit.kind == "module_procedure" else "not a subroutine"
        raise RefusedError(TEXT, f"{name} is {kind}")
    skipped = TransferDirectives(callee).all_skipped
    if skipped is not None:
        raise RefusedError(TEXT, f"{name} is skipped by the directive in line {skipped.line}")
    _check_recursion(callee, caller, scopes)
    own = [leaf for node in unit.body for leaf in leaves(node)]
    if len(own) > LONGEST:
        raise RefusedError(LONG, f"{name} has {len(own)} statements, more than {LONGEST}")
    _check_ways(unit)
    _check_specification(unit)
    _check_text(unit, own)
    if callee.path != caller.path:
        _check_names(name, own, scopes.program.macros(caller.path))
    body = tuple(map_leaves(node, _without_conditionals) for node in unit.body)
    return without_returns(body, name, _jumps(own))


def _check_names(name: str, own: list[Leaf], macros: frozenset[str]) -> None:
    """Check that no name in the text of some statements is a macro where they would stand."""
    for leaf in own if macros else ():
        found = macros.intersection(_WORD.findall(leaf.body or ""))
        if found and not leaf.macros:  # whose names are not kept
            raise RefusedError(
                TEXT, f"{name} has {min(found)}, which is a macro in the caller's file"
            )


def _without_conditionals(leaf: Leaf) -> Leaf:
    """The statement without the conditionals of the preprocessor in front of it."""
    lead = tuple(entry for entry in leaf.lead if not is_conditional(entry))
    return leaf if len(lead) == len(leaf.lead) else replace(leaf, lead=lead)


def _check_recursion(callee: Located, caller: Located, scopes: Scopes) -> None:
    targets = {unit_key(callee): "itself", unit_key(caller): caller.unit.name}
    seen: set[UnitKey] = set()
    waiting = [callee]
    while waiting:
        located = waiting.pop()
        scope = scopes.of(located)
        for call in calls_of(located.unit):
            found = invoked(call, scope)
            if found is None:
                continue
            key = unit_key(found[0])
            if key in targets:
                raise RefusedError(RECURSION, f"{callee.unit.name} calls {targets[key]}")
            if key not in seen:
                seen.add(key)
                waiting.append(found[0])


def _check_ways(unit: Unit) -> None:
    assert unit.head is not None
    assert isinstance(unit.head.what, UnitHead)
    if "*" in unit.head.what.args:
        raise RefusedError(WAYS, f"{unit.name} has an alternate return")
    for leaf in leaves(replace(unit, contained=())):
        if isinstance(leaf.what, Plain) and leaf.what.keyword == "entry":
            raise RefusedError(WAYS, f"{unit.name} has an ENTRY statement")


def _check_specification(unit: Unit) -> None:
    for node in unit.spec:
        for leaf in leaves(node):
            _check_lines(leaf.lead, unit.name, ("include",))
            match leaf.what:
                case StatementFunction(name=name):
                    raise RefusedError(TEXT, f"{name} is a statement function of {unit.name}")
                case Decl(kind="namelist"):
                    raise RefusedError(TEXT, f"{unit.name} has a NAMELIST")
                case Raw() | Opaque():
                    raise RefusedError(TEXT, f"a declaration of {unit.name} is not understood")
                case Decl(kind="save", entities=(), groups=()):
                    raise RefusedError(KEPT, f"{unit.name} has a SAVE statement for all variables")


def _check_text(unit: Unit, own: list[Leaf]) -> None:
    name = unit.name
    if any(True for _ in conditional_statements(unit)) or any(leaf.is_hidden for leaf in own):
        raise RefusedError(TEXT, f"{name} has lines for OpenMP alone")
    for number, leaf in enumerate(own):
        _check_lines(leaf.lead, name, ("include",) if number == 0 else ())
        named = leaf.macros and not isinstance(leaf.action, _PRINTED)
        if leaf.frozen or named or (leaf.body == "" and not leaf.head and not leaf.trail):
            raise RefusedError(TEXT, f"the preprocessor changes a statement of {name}")
        match leaf.what:
            case Raw() | Opaque():
                raise RefusedError(TEXT, f"a statement of {name} is not understood")
            case DoHead(kind="concurrent"):
                raise RefusedError(TEXT, f"{name} has a DO CONCURRENT construct")
            case ArmHead(kind="select_type" | "select_rank"):
                raise RefusedError(TEXT, f"{name} has a construct that gives a name another type")
            case Jump(kind=JumpKind.ASSIGNED_GOTO):
                raise RefusedError(TEXT, f"{name} has an assigned GOTO")
    _check_lines(unit.end.lead, name, ())
    for node in unit.body:
        block = next(_blocks(node), None)
        if block is not None:
            raise RefusedError(TEXT, f"{name} has a construct ({block.kind}) with names of its own")
    if own and own[0].joined:
        raise RefusedError(TEXT, f"the first statement of {name} shares its line with others")


def _check_lines(lead: tuple[Trivia, ...], name: str, allowed: tuple[str, ...]) -> None:
    """Check that there are only comments, and the preprocessor lines in ``allowed``."""
    for entry in lead:
        if entry.kind in _OWN or is_conditional(entry):
            continue
        word = entry.text.strip().removeprefix("#").strip()
        if entry.kind not in OF_THE_PREPROCESSOR or not word.startswith(tuple(allowed) or ("\0",)):
            raise RefusedError(TEXT, f"{name} has the line {entry.text.strip()}")


def _blocks(node: Node) -> Iterator[Block]:
    match node:
        case Block():
            yield node
        case Branch(arms=arms):
            for arm in arms:
                for child in arm.body:
                    yield from _blocks(child)
        case Leaf() | Unit():
            return
        case _:
            for child in node.body:
                yield from _blocks(child)


def _jumps(own: list[Leaf]) -> bool:
    """Whether any statement jumps to a label."""
    return any(
        isinstance(what, Jump | IO) and what.labels for leaf in own for what in actions(leaf.what)
    )
