"""Buffers that are only read after a message from a rank.

A receive from MPI_PROC_NULL leaves its buffer unchanged (MPI-4.0 section 3.10).  If every read of
the buffer follows a receive under the condition that its source is a rank::

    call MPI_Recv(line, n, MPI_REAL, west, 1, comm, status, ierr)
    if (west /= MPI_PROC_NULL) then
      u(0,:) = line
    end if

and reads nothing that this receive does not define, then the old contents are never read.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import EffectKind, Mode
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.ir.expr import Arg, Op, Ref, names_in
from asphalt.ir.stmt import ArmHead, Guarded
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves

_UNSEEN = frozenset({EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE, EffectKind.STATE})


def guarded_reads(
    facts: UnitFacts, messages: Messages, name: str
) -> tuple[tuple[Node, ...], ...] | None:
    """The reads of a local array, if all follow a receive and the condition that its source is a
    rank.

    Each such receive comes with the statements after it, up to the next one into the array.  None:
    there are other reads.
    """
    behind: set[int] = set()
    found: list[tuple[Node, ...]] = []
    for siblings in _lists(facts.unit.body):
        for number, node in enumerate(siblings):
            for leaf, call in messages.calls(node):
                if leaf is node and _receives(call, name):
                    guarded, stop = _behind(call, siblings[number:], name, facts, messages)
                    behind |= guarded
                    found += [siblings[number : number + stop]] if guarded else []
    for leaf in (leaf for node in facts.unit.body for leaf in leaves(node)):
        own = messages.call(leaf)
        if own is not None and _receives(own, name):
            if any(name in names_in(arg) for arg in _others(own, name)):
                return None
            continue
        reads = any(a.mode is Mode.READ for a in facts.footprint(leaf).of(name))
        if reads and id(leaf) not in behind:
            return None
    return tuple(found)


def _behind(
    call: MpiCall, nodes: tuple[Node, ...], name: str, facts: UnitFacts, messages: Messages
) -> tuple[set[int], int]:
    """The statements after a receive (the first node) that are executed only if its source is a
    rank, up to the next receive into the array; and the number of nodes before the end of the last
    one."""
    exchange = call.procedure.exchange
    source = call.args.get((exchange.source if exchange is not None else None) or "")
    found: set[int] = set()
    stop = 0
    if not isinstance(source, Ref) or source.args is not None:
        return found, stop
    storage = storage_of(source.name, facts.scope)
    for number, node in enumerate(nodes):
        received = any(_receives(other, name) for _, other in messages.calls(node))
        footprint = facts.footprint(node)
        changed = footprint.may_write(storage) or any(e.kind in _UNSEEN for e in footprint.effects)
        if (number and received) or changed:
            break
        match node:
            case Branch(kind="if", arms=(arm,)) if _is_rank(arm.head, source, facts):
                found |= {id(leaf) for child in arm.body for leaf in leaves(child)}
                stop = number + 1
            case Leaf(what=Guarded()) if _is_rank(node, source, facts):
                found.add(id(node))
                stop = number + 1
    return found, stop


def _is_rank(head: Leaf, source: Ref, facts: UnitFacts) -> bool:
    """Whether the condition of an IF says that a source is not MPI_PROC_NULL."""
    what = head.what
    conditions: tuple[Arg, ...] = ()
    if isinstance(what, ArmHead):
        conditions = what.exprs
    elif isinstance(what, Guarded) and what.kind == "if":
        conditions = (what.condition,)
    match conditions:
        case (Op(op="/=", operands=(Ref(args=None) as one, Ref(args=None) as other)),):
            pair = {one.name, other.name}
            null = next((r for r in (one, other) if r.name != source.name), None)
            known = None if null is None else mpi_constant(null, facts.scope)
            return source.name in pair and known == "mpi_proc_null"
    return False


def _receives(call: MpiCall, name: str) -> bool:
    return any(
        t.writes and _is(call, t.argument, name) for t in library_row(call.procedure).transfers
    )


def _others(call: MpiCall, name: str) -> Iterator[Arg]:
    """The arguments of a receive into an array, with the subscripts of the buffer in place of the
    buffer."""
    buffers = {
        t.argument for t in library_row(call.procedure).transfers if t.writes and not t.reads
    }
    for argument, actual in call.args.items():
        if argument in buffers and isinstance(actual, Ref) and actual.name == name:
            yield from actual.args or ()
        else:
            yield actual


def _is(call: MpiCall, argument: str, name: str) -> bool:
    actual = call.args.get(argument)
    return isinstance(actual, Ref) and actual.name == name


def _lists(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    yield nodes
    for node in nodes:
        match node:
            case Do(body=body) | Block(body=body):
                yield from _lists(body)
            case Branch(arms=arms):
                for arm in arms:
                    yield from _lists(arm.body)
