"""Loops that process the blocks of a buffer one by one, inside of a construct or not."""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.permutable_loops import effect_of, region_of, why_ordered
from asphalt.analysis.memory.accesses import Access, Mode
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.names.constants import type_bytes
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.tiling.rank_blocks import RankBlocks, iteration_rank
from asphalt.analysis.verdicts.block_codes import BESIDE, LOOP, ORDER, Obstacle
from asphalt.ir.expr import Lit, Ref, names_in, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, Node, leaves


@record
class Worker:
    """A loop whose iterations each process the block of one rank: that of its variable plus
    ``offset``.  ``rotated``: its iterations get another order on each rank."""

    loop: Do
    offset: int
    rotated: bool

    @property
    def line(self) -> int:
        """The line of the loop."""
        return line_of(self.loop.head)


def worker_in(
    node: Node, blocks: RankBlocks, uses: tuple[Access, ...], rotated: bool, facts: UnitFacts
) -> Worker | Obstacle:
    """The loop in a statement or construct that makes all accesses ``uses`` to a buffer, or why
    there is none; ``rotated``: whether its iterations get another order."""
    outermost = {id(a.loops[0]) if a.loops else 0 for a in uses}
    if len(outermost) != 1 or 0 in outermost:
        message = f"{_at(node)}: its blocks are used outside of a loop over them"
        return Obstacle(LOOP, message, next(leaves(node)))
    loop = uses[0].loops[0]
    offset = _offset(loop, blocks, uses, facts)
    if isinstance(offset, str):
        return Obstacle(LOOP, offset, loop.head)
    if rotated:
        effect = effect_of(loop, facts)
        if effect is not None:
            message = effect.described
            return Obstacle(BESIDE, message, effect.leaf)
        own = touching(loop, blocks.storage, facts, writes=False)
        apart = blocks.displs is None and iteration_rank(loop, blocks, own, facts) == offset
        known = frozenset({blocks.storage} if apart else ())
        ordered = why_ordered((loop,), (loop,), facts, known)
        if ordered is not None:
            where = f"the loop of line {line_of(loop.head)}"
            message = f"the iterations of {where} cannot be reordered: {ordered}"
            return Obstacle(ORDER, message, loop.head)
    return Worker(loop, offset, rotated)


def _offset(loop: Do, blocks: RankBlocks, uses: tuple[Access, ...], facts: UnitFacts) -> int | str:
    """The rank whose block an iteration processes minus the loop variable, or why the loop is not
    one over blocks."""
    where = f"the loop of line {line_of(loop.head)}"
    head = loop.head.what
    if not isinstance(head, DoHead) or head.kind != "count" or head.step or head.label:
        return f"{where} does not count"
    if loop.head.name is not None or loop.end is None:
        return f"{where} has a label, a name or a shared end"
    if not _works(loop, facts):
        return f"{where} does no work"
    offset = iteration_rank(loop, blocks, uses, facts)
    if offset is None:
        return f"{where} may use more than one block in an iteration"
    if not _is_plain(loop, facts):
        return f"the bounds of {where} are not invariant default integers"
    return offset


def _at(node: Node) -> str:
    return f"line {line_of(next(iter(leaves(node))))}"


def _works(loop: Do, facts: UnitFacts) -> bool:
    """Whether the iterations take time: loops, calls, or assignments to arrays."""
    return any(_takes_time(leaf, facts) for node in loop.body for leaf in leaves(node))


def _takes_time(leaf: Leaf, facts: UnitFacts) -> bool:
    what = leaf.action
    if isinstance(what, Assign):
        return not is_scalar(what.target, facts.scope)
    return isinstance(what, DoHead) or leaf.call is not None


def _is_plain(loop: Do, facts: UnitFacts) -> bool:
    """Whether variable and bounds are default integers, and nothing in the loop changes the
    bounds."""
    head, region = loop.head.what, region_of(loop, facts)
    assert isinstance(head, DoHead)
    for part in (head.var, head.first, head.last):
        if part is None or any(isinstance(p, Lit) and "_" in p.text for p in walk(part)):
            return False
        for name in names_in(part):
            symbol = facts.scope.lookup(name)
            if symbol is None or symbol.type is None or symbol.type.base != "integer":
                return False
            if symbol.origin is Origin.INTRINSIC or type_bytes(symbol.type, facts.scope) != 4:
                return False
    bounds = (head.first, head.last)
    if any(region.value(b, ()) is None for b in bounds if b is not None):
        return False
    return isinstance(head.var, Ref) and head.var.args is None


def touching(node: Node, storage: str, facts: UnitFacts, *, writes: bool) -> tuple[Access, ...]:
    """The accesses of a statement or construct to a storage, or those that may write it."""
    return tuple(
        a
        for a in facts.footprint(node).accesses
        if a.storage == storage and (a.writes if writes else a.mode is not Mode.INQUIRE)
    )
