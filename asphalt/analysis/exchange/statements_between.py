"""Statements between the phases of a producer that may be executed before all of them.

    do k = 1, planes                       t = t - MPI_Wtime()
      call transform(a(:,:,k))      -->    do k = first, last            ! one tile
    end do                                   call transform(a(:,:,k))
    t = t - MPI_Wtime()                    end do
    do k = 1, planes                       do k = first, last
      s(:,:,k) = a(:,:,k)                    s(:,:,k) = a(:,:,k)
    end do                                 end do

They assign to variables that the phases do not use, and have no other effects than readings of a
clock, which condition 7 judges.
"""

from __future__ import annotations

from asphalt.analysis.control_flow.graph import jump_targets
from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import ALIASED, EffectKind
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import ArmHead, Assign, Call, Plain
from asphalt.ir.tree import Branch, Leaf, Node, leaves

_HARMLESS = frozenset({EffectKind.CLOCK, EffectKind.ASSUMED})


def may_be_first(exchange: Exchange, node: Node) -> bool:
    """Whether a sibling of the call consists of assignments and calls, conditional ones included,
    that do not touch the buffers and have no effects that others can see."""
    if not isinstance(node, Leaf) and not (isinstance(node, Branch) and node.kind == "if"):
        return False
    if not all(_is_plain(leaf) for leaf in leaves(node)):
        return False
    footprint = examine((node,), exchange.names)
    if any(effect.kind not in _HARMLESS for effect in footprint.effects):
        return False
    used = {ALIASED, *_buffers(exchange)}
    return not any(access.storage in used for access in footprint.accesses)


def _is_plain(leaf: Leaf) -> bool:
    """Whether it is an assignment, a call, or part of an IF construct around some."""
    what = leaf.action
    if leaf.label is not None or leaf.joined or leaf.trail.lstrip().startswith(";"):
        return False
    if any(trivia.kind in (TriviaKind.DIRECTIVE, TriviaKind.CONDITIONAL) for trivia in leaf.lead):
        return False
    if any(True for _ in jump_targets(what)):
        return False
    match what:
        case Assign(pointer=pointer):
            return not pointer
        case ArmHead(kind=kind):
            return kind in ("if", "else_if", "else")
        case Plain(keyword=keyword):
            return keyword in ("end if", "endif", "continue")
        case Call():
            return True
    return False


def _buffers(exchange: Exchange) -> set[str]:
    """The storages of the send and the receive buffer."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    found = (buffer_of(exchange, argument) for argument in (arguments.send, arguments.receive))
    return {exchange.names.storage(buffer.name) for buffer in found if buffer is not None}


def commute(producer: Producer) -> bool:
    """Whether the statements that are executed before all phases commute with the phases in front
    of them."""
    siblings = producer.exchange.place.siblings
    names = producer.exchange.names
    for position in producer.moved:
        own = examine((siblings[position],), names).accesses
        for phase in producer.phases:
            if phase.position > position:
                continue
            others = producer.phase_accesses(phase)
            if any(one.conflicts(other) for one in own for other in others):
                return False
    return True
