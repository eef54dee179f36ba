"""Whether a procedure that exchanges messages can be executed in two phases, as two procedures.

The first phase is what stands in front of a wait: it packs, and starts operations.  The second one
is the wait with all that follows: it completes them and unpacks (split-phase operations, as in
Split-C and in the IRONMAN interface).  A caller computes between the two.

Each phase is a procedure with all dummy arguments and local variables of the original.  The phases
are equal to the procedure if

* a local variable that lives from one to the other is an argument of both: one that carries a
  value, a request, and a buffer of an operation that is in progress meanwhile;
* no other operation outlives the first phase than those of its own calls of MPI; and
* no statement changes what the declarations evaluate: the second phase evaluates them again.

Whether its caller passes the same variables to both, and no copies, is asked in
``transforms.inlining.split_phase_arguments``.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.inlining.codes import ARGUMENT, KEPT, MEANING, TEXT, WAYS, RefusedError
from asphalt.analysis.inlining.procedure import calls_of, communicates
from asphalt.analysis.inlining.procedure_parts import check_declarations
from asphalt.analysis.memory.loop_scalars import upward_exposed
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.standard.row import ACCESSES_WINDOW
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.names.symbol import Symbol
from asphalt.ir.expr import root_name
from asphalt.ir.records import record
from asphalt.ir.stmt import Jump, JumpKind, Opaque, Raw, UnitHead
from asphalt.ir.tree import Node, leaves

_PLAIN_JUMPS = frozenset({JumpKind.CYCLE, JumpKind.EXIT, JumpKind.STOP, JumpKind.ERROR_STOP})
_DESCRIBED = frozenset({"optional", "pointer", "value", "volatile"})
_NOT_CARRIED = frozenset({"allocatable", "pointer", "target", "save", "volatile"})
_STAGES = frozenset({Stage.START, Stage.COMPLETE, Stage.NOTHING})


@record
class Phases:
    """The two phases of a procedure: the second one begins with the statement at ``position`` of
    its body.  ``carried``: the local variables that are arguments of both.  ``pending``: the
    variables that operations may access between the two, but for those of modules."""

    position: int
    carried: tuple[str, ...]
    pending: tuple[str, ...]


def check_phases(facts: UnitFacts) -> None:
    """Check what a procedure must fulfil wherever its second phase begins.

    Raises:
        RefusedError: it does not.
    """
    unit, scope = facts.unit, facts.scope
    head = unit.head
    assert head is not None
    assert isinstance(head.what, UnitHead)
    for leaf in (leaf for node in unit.body for leaf in leaves(node)):
        jump = leaf.action
        if isinstance(jump, Jump) and (jump.labels or jump.kind not in _PLAIN_JUMPS):
            raise RefusedError(WAYS, f"{unit.name} is left, or goes elsewhere, in {facts.at(leaf)}")
        if leaf.label is not None or isinstance(leaf.what, Opaque | Raw):
            raise RefusedError(TEXT, f"{facts.at(leaf)} has a label, or is not understood")
    for dummy in head.what.args:
        symbol = scope.lookup(dummy)
        if symbol is None or symbol.attrs & _DESCRIBED:
            raise RefusedError(ARGUMENT, f"{dummy} may be absent, a copy, or have other names")
    for symbol in scope.own.values():
        other_names = symbol.attrs & {"pointer", "target"} or symbol.equivalenced
        if symbol.origin is Origin.LOCAL and other_names:
            raise RefusedError(KEPT, f"{symbol.name} may have other names")
    for call in calls_of(unit):
        mpi = mpi_call(call, scope)
        found = invoked(call, scope) if mpi is None else None
        if mpi is not None and not _is_plain(mpi):
            raise RefusedError(MEANING, f"{mpi.procedure.spelled} may be in progress meanwhile")
        if found is not None and communicates(found[0], facts.effects.scopes):
            raise RefusedError(MEANING, f"{found[0].unit.name} communicates, too")
    check_declarations(facts)


def _is_plain(call: MpiCall) -> bool:
    """Whether a call starts operations with buffers that it names, completes operations, or does
    neither."""
    if ACCESSES_WINDOW in call.procedure.facts or stage_of(call) not in _STAGES:
        return False
    if stage_of(call) is not Stage.START:
        return True
    kinds = [parameter.kind for parameter, _ in call.bound()]
    return kinds.count("REQUEST") == 1 and "BUFFER" in kinds


def positions(facts: UnitFacts) -> Iterator[int]:
    """Where a second phase may begin: in front of the statements that complete operations, and
    behind one that starts some."""
    messages = facts.once(Messages)
    started = False
    for number, node in enumerate(facts.unit.body):
        stages = {stage_of(call) for _, call in messages.calls(node)}
        if Stage.COMPLETE in stages and Stage.START not in stages and started:
            yield number
        started = started or Stage.START in stages


def phases_at(facts: UnitFacts, position: int) -> Phases:
    """The phases of a procedure of which the second one begins at a position.

    Raises:
        RefusedError: a variable cannot live from one to the other.
    """
    first, second = facts.unit.body[:position], facts.unit.body[position:]
    buffers = dict.fromkeys(_roots(facts, first, "BUFFER"))
    requests = dict.fromkeys(_roots(facts, first, "REQUEST"))
    own = {name for name in (*buffers, *requests) if _is_local(facts, name)}
    used = [_used(facts, nodes) for nodes in (first, second)]
    for name in used[0] & used[1]:
        symbol = facts.scope.lookup(name)
        allocated = symbol is not None and "allocatable" in symbol.attrs
        if allocated or upward_exposed(second, name, facts.names, _covers_nothing):
            own.add(name)
    for name in sorted(own):
        _check_carried(facts, name)
    symbols = facts.scope.own.values()
    carried = tuple(s.name for s in symbols if s.name in own)
    pending = tuple(name for name in buffers if name in own or _is_passed(facts, name))
    return Phases(position, carried, pending)


def _covers_nothing(node: Node, storage: str) -> bool:
    del node, storage
    return False


def _roots(facts: UnitFacts, nodes: tuple[Node, ...], kind: str) -> Iterator[str]:
    """The variables that the starts among some statements name as arguments of a kind."""
    messages = facts.once(Messages)
    for node in nodes:
        for _, call in messages.calls(node):
            if stage_of(call) is not Stage.START:
                continue
            for parameter, actual in call.bound():
                name = root_name(actual) if parameter.kind == kind else None
                if parameter.kind == kind and name is None:
                    raise RefusedError(MEANING, f"a {kind.lower()} is not a variable")
                if name is not None:
                    yield name


def _used(facts: UnitFacts, nodes: tuple[Node, ...]) -> set[str]:
    """The local variables that some statements access."""
    accesses = (a for node in nodes for a in facts.footprint(node).accesses)
    return {a.storage for a in accesses if _is_local(facts, a.storage)}


def _symbol(facts: UnitFacts, name: str) -> Symbol | None:
    return facts.scope.lookup(name)


def _origin(facts: UnitFacts, name: str) -> Origin | None:
    symbol = _symbol(facts, name)
    return None if symbol is None else symbol.origin


def _is_passed(facts: UnitFacts, name: str) -> bool:
    """Whether a variable is a dummy argument, or one of a host that is no module."""
    symbol = _symbol(facts, name)
    if symbol is None or symbol.origin is not Origin.HOST:
        return symbol is not None and symbol.origin is Origin.DUMMY
    return any(u.name == symbol.owner and u.kind != "module" for u in facts.located.chain)


def _is_local(facts: UnitFacts, name: str) -> bool:
    return _origin(facts, name) is Origin.LOCAL


def _check_carried(facts: UnitFacts, name: str) -> None:
    symbol = _symbol(facts, name)
    assert symbol is not None
    if not is_local(name, facts) or symbol.attrs & _NOT_CARRIED or symbol.initial is not None:
        raise RefusedError(KEPT, f"{name} lives from one phase to the other, and is no plain local")
    if symbol.type is None or symbol.type.base == "character" or symbol.common_block is not None:
        raise RefusedError(KEPT, f"{name} lives from one phase to the other, and is no plain local")
    if "implicit" in symbol.attrs:
        raise RefusedError(KEPT, f"{name} lives from one phase to the other, and is not declared")
