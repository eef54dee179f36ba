"""The longest overlap windows that exchanges of one list can have.

Choi and Snyder, ICPP 1997, section 2: a send can start where what it sends has been changed last,
and the receive need not be complete before what it brings is used first.  Statements that only copy
elements belong to a message: they pack it, or unpack it.  A window is told by the statements that
compute at its ends; where two exchanges have equal windows, one message for both is hidden as well
as each was.
"""

from __future__ import annotations

from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import Access, EffectKind
from asphalt.analysis.repetition.message_sections import accesses_of
from asphalt.ir.expr import Lit, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, Call, DoHead, Guarded, Plain
from asphalt.ir.tree import Node, leaves


@record
class OverlapWindow:
    """The positions of the last statement that changes what is sent, and of the first that needs
    what is received, among those of the list that compute; -1 and their number: none does."""

    after: int
    before: int


def overlap_window(
    position: int,
    reads: tuple[Access, ...],
    writes: tuple[Access, ...],
    siblings: tuple[Node, ...],
    order: Independence,
) -> OverlapWindow:
    """The window of an exchange at a position that reads and writes so much."""
    after, before = -1, len(siblings)
    chain = [(siblings[position], reads)]
    for number in range(position - 1, -1, -1):
        node = siblings[number]
        if _meets(node, chain, order, earlier=True):
            if computes(node, order):
                after = number
                break
            chain.append((node, accesses_of(node, order) or ()))
    chain = [(siblings[position], writes)]
    for number in range(position + 1, len(siblings)):
        node = siblings[number]
        if _meets(node, chain, order, earlier=False):
            if computes(node, order):
                before = number
                break
            chain.append((node, accesses_of(node, order) or ()))
    return OverlapWindow(
        sum(computes(one, order) for one in siblings[: after + 1]),
        sum(computes(one, order) for one in siblings[:before]),
    )


def computes(node: Node, order: Independence) -> bool:
    """Whether a statement or construct does more than copy elements and communicate."""
    if any(effect.kind is not EffectKind.MPI for effect in order.facts.footprint(node).effects):
        return True
    for leaf in leaves(node):
        what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
        match what:
            case Assign(value=Ref() | Lit()) | DoHead(kind="count") | ArmHead():
                continue
            case Plain(keyword="end do" | "end if" | "continue" | "enddo" | "endif"):
                continue
            case Call() if any(
                e.kind is EffectKind.MPI for e in order.facts.footprint(leaf).effects
            ):
                continue
        return True
    return False


def _meets(
    node: Node,
    chain: list[tuple[Node, tuple[Access, ...]]],
    order: Independence,
    *,
    earlier: bool,
) -> bool:
    """Whether a statement changes what those of a chain need (``earlier``), or needs or changes
    what they define."""
    found = accesses_of(node, order)
    if found is None:
        return True
    for other, accesses in chain:
        mine = tuple(a for a in found if a.writes) if earlier else found
        theirs = accesses if earlier else tuple(a for a in accesses if a.writes)
        for conflict in order.conflicting(node, other, mine, theirs):
            if conflict.sizes(order.is_positive) is None:
                return True
    return False
