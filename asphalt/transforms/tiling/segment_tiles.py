"""Statements that send a message in segments, and receive it in the same segments.

In contrast to a wavefront (``message_tiles``), the tiles of the nest that fills the message and of
the nest that uses it are loops of their own.  They may stand in different statement lists, and
either may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.equal_parts import ConstantTrips
from asphalt.analysis.tiling.tiled_groups import TiledGroup
from asphalt.ir.records import record
from asphalt.ir.stmt import Guarded
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.rewriting.comments import comments_inside, in_front
from asphalt.transforms.rewriting.edit import flat_map
from asphalt.transforms.tiling.message_tiles import Emission, MessageSpan, comment_behind


@record
class SegmentEnd:
    """An end of a message: the statement list that ``path`` leads to, and what is executed there
    in tiles.

    ``groups``: the nests and the start of a send, or the wait of a receive and the nests; (): no
    nest is tiled.  ``before``, ``after``: the positions of statements in between that move in front
    of the tiles or behind them.
    """

    path: tuple[int, ...]
    message: MessageSpan
    groups: tuple[TiledGroup, ...] = ()
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def begins(self) -> int:
        """The position of the first group."""
        return self.groups[0].position if self.groups else -1

    @property
    def covered(self) -> range:
        """The positions from the first group to the last one."""
        return range(self.begins, self.groups[-1].position + 1) if self.groups else range(0)


class Segments(Emission):
    """The statements of both ends of one message."""

    def __init__(
        self,
        facts: UnitFacts,
        receive: SegmentEnd,
        send: SegmentEnd,
        trips: ConstantTrips,
        site: str,
        work: Poly,
        assumed: tuple[str, ...],
    ) -> None:
        super().__init__(facts, receive.message, send.message, trips, site, work, assumed)
        self.ends = receive, send

    def segmented(
        self, sides: Sequence[SegmentEnd], along: str, siblings: tuple[Node, ...]
    ) -> tuple[Node, ...]:
        """A list with those ends that stand in it."""
        made: list[Node] = []
        chosen = False
        for position, node in enumerate(siblings):
            side = next((s for s in sides if position == s.begins), None)
            if side is None and any(position in s.covered for s in sides):
                continue
            new = self._tiled(siblings, side, along) if side else self._whole(node, position, sides)
            if new and not chosen:
                chosen = True
                choice: Node = self._chosen(self._maker(node))
                if side is None:
                    lead = next(iter(leaves(node))).lead
                    choice = in_front(choice, lead)
                    new = (self._without_lead(new[0], lead), *new[1:])
                made.append(choice)
            made += new or (node,)
        return tuple(made)

    def _tiled(self, siblings: tuple[Node, ...], side: SegmentEnd, along: str) -> tuple[Node, ...]:
        tiles = self._tiles(side.groups, self._maker(siblings[side.begins]), along)
        before, after = ([siblings[p] for p in some] for some in (side.before, side.after))
        return (*before, tiles, *after)

    def _whole(self, node: Node, position: int, sides: Sequence[SegmentEnd]) -> tuple[Node, ...]:
        """What stands outside of tiles with all segments started, or waited for; (): nothing of
        these messages."""
        nodes: tuple[Node, ...] = (node,)
        for side in sides:
            message = side.message
            if position == message.start_position and message.receives:
                nodes = flat_map(nodes, message.start, self._posting_for)
            elif position == message.start_position and not side.groups:
                nodes = flat_map(nodes, message.start, self._all_sent)
            if position == message.end_position and not message.receives:
                nodes = flat_map(nodes, message.end, self._waited)
            elif position == message.end_position and not side.groups:
                nodes = flat_map(nodes, message.end, self._all_received)
        return () if len(nodes) == 1 and nodes[0] is node else self._changed(node, nodes)

    @staticmethod
    def _changed(node: Node, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The nodes, unless all leaves are what they were."""
        same = [id(leaf) for leaf in leaves(node)]
        return () if [id(leaf) for n in nodes for leaf in leaves(n)] == same else nodes

    def _all_sent(self, leaf: Leaf) -> tuple[Node, ...]:
        """The starts of all segments, one behind the other."""
        return self._for_all(leaf, self.send, starts=True)

    def _all_received(self, leaf: Leaf) -> tuple[Node, ...]:
        """The waits for all segments."""
        return self._for_all(leaf, self.receive, starts=False)

    def _for_all(self, leaf: Leaf, message: MessageSpan, *, starts: bool) -> tuple[Node, ...]:
        make = self._maker(leaf)
        guarded = isinstance(leaf.what, Guarded)
        outer = make.inner() if guarded else make
        inner = outer.inner()
        if starts:
            body: tuple[Node, ...] = (self._set_hi(inner), inner.leaf(self._started(message)))
        else:
            body = (inner.leaf(self._wait(message, self.lo)),)
        node: Node = outer.do(self.lo.name, self.first, self.last, body, step=self.tile)
        if isinstance(leaf.what, Guarded):
            node = make.branch(leaf.what.condition, (node,))
        inside = comments_inside(leaf, self.facts.free, self.facts.eol)
        return (in_front(node, (*leaf.lead, *inside, *comment_behind(leaf, make))),)
