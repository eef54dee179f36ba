"""Exchanges with the same partners that can be done together, in one message each way.

Choi and Snyder, ICPP 1997, section 2, "communication combination".  What the first ones send is
copied where they stand; the message of all stands where the last one stands, and with it the
statements between that need what the first ones receive.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from asphalt.analysis.data_flow.temporaries import is_live_on_exit, is_local_until_return
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.memory.accesses import Access, EffectKind, Mode
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.messages.messages import Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.names.constants import constant
from asphalt.analysis.repetition.message_sections import accesses_of, sides_of_exchange
from asphalt.analysis.repetition.overlap_windows import OverlapWindow, overlap_window
from asphalt.analysis.repetition.packed_parts import PackedPart, packed_part
from asphalt.analysis.repetition.whole_exchanges import WholeExchanges, exchanges_messages, moves
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.uniformity.uniformity import Uniform
from asphalt.config.assumptions import UNIFORM
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node, leaves

_Moved = list[tuple[int, Node, tuple[Access, ...]]]
OUT, IN = "asphalt_out_", "asphalt_in_"
"""What the names of arrays begin with that messages are packed into."""
_SAME = ("dest", "source", "comm")
_TAGS = ("sendtag", "recvtag")


@record
class Member:
    """One of several exchanges: its position in their list, and what it sends and receives.

    ``way``: what exchanges have in common that are one message: partners, communicator, type.
    """

    position: int
    leaf: Leaf
    call: MpiCall
    sent: PackedPart
    received: PackedPart
    way: tuple[object, ...]

    @property
    def count(self) -> Poly:
        """The number of elements each way."""
        return self.sent.count


@record
class Group:
    """Exchanges of one list that can be done together.

    ``behind``: the positions of what stands behind the message of all, in order: of a member, what
    it receives; of another statement, all of it.  ``sizes``: the named constants that must be
    positive.
    """

    members: tuple[Member, ...]
    behind: tuple[int, ...]
    sizes: frozenset[str]
    assumed: tuple[str, ...]

    @property
    def is_reduction(self) -> bool:
        """Whether its members are reductions."""
        return self.members[0].call.procedure.collective

    @property
    def ways(self) -> tuple[tuple[Member, ...], ...]:
        """The members, those with the same partners together."""
        found: dict[tuple[object, ...], list[Member]] = {}
        for member in self.members:
            found.setdefault(member.way, []).append(member)
        return tuple(map(tuple, found.values()))


@dataclass(slots=True)
class _Search:
    """A group that grows; ``moved``: the statements that stand behind the message, by position;
    ``all_ways``: its members may have different partners; ``hidden``: no window becomes shorter."""

    siblings: tuple[Node, ...]
    all_ways: bool
    hidden: bool
    members: list[Member]
    moved: _Moved = field(default_factory=list)
    sizes: frozenset[str] = frozenset()
    written: set[str] = field(default_factory=set)


class CombinedExchanges:
    """The groups of one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.whole = facts.once(WholeExchanges)
        self.order = self.whole.order

    def in_list(
        self, siblings: tuple[Node, ...], *, all_ways: bool = False, hidden: bool = False
    ) -> Group | None:
        """The first exchanges of a list that can be done together; ``all_ways``: also with those
        that have other partners, at the same time; ``hidden``: only if their overlap windows are
        equal, as long as they can be."""
        for position, node in enumerate(siblings):
            first = self._member(position, node)
            if isinstance(first, Member):
                found = self._from(first, _Search(siblings, all_ways, hidden, [first]))
                if found is not None:
                    return found
        return None

    def _from(self, first: Member, found: _Search) -> Group | None:
        siblings = found.siblings
        found.moved.append((first.position, first.leaf, self._writes(first)))
        best: Group | None = None
        for position in range(first.position + 1, len(siblings)):
            node = siblings[position]
            if not self._is_passed(node):
                break
            member = self._member(position, node)
            if isinstance(member, Member) and self._joins(found, member):
                best = self._group(found)
                continue
            if not self._takes(found, position, node):
                break
        if best is None or not found.all_ways:
            return best
        several = any(len(way) > 1 for way in best.ways)
        return best if several and len(best.ways) > 1 else None

    def _group(self, found: _Search) -> Group:
        assumed: set[str] = set()
        for member in found.members:
            assumed |= set(self._assumed(member))
        behind = tuple(position for position, _, _ in found.moved)
        return Group(tuple(found.members), behind, found.sizes, tuple(sorted(assumed)))

    def _joins(self, found: _Search, member: Member) -> bool:
        """Whether an exchange can be one of those before it; if so, it is."""
        first = found.members[0]
        alike = [one for one in found.members if one.way == member.way]
        if not alike and not found.all_ways:
            return False
        if any(self._differ(one, member) for one in alike):
            return False
        others = (one for one in found.members if one.way != member.way)
        if any(self._may_meet(one, member) for one in others):
            return False
        if found.hidden and self._window(first, found) != self._window(member, found):
            return False
        names = frozenset[str]().union(
            *(one.sent.evaluated | one.received.evaluated for one in (*found.members, member))
        )
        scope = self.facts.scope
        if found.written & {storage_of(name, scope) for name in names}:
            return False
        sizes = self._needed(found, member.leaf, self._reads(member))
        if sizes is None:
            return False
        if self._are_ordered(first, member):
            return False
        found.sizes |= sizes
        found.members.append(member)
        found.moved.append((member.position, member.leaf, self._writes(member)))
        found.written |= {access.storage for access in self._writes(member)}
        return True

    def _assumed(self, member: Member) -> tuple[str, ...]:
        """The assumptions that a member rests on."""
        whole = self.whole.of(member.leaf)
        assert not isinstance(whole, str)
        return whole.assumed

    def _differ(self, one: Member, other: Member) -> bool:
        """Whether one message cannot be that of two exchanges with the same partners."""
        return not _tags_agree(one.call, other.call)

    def _may_meet(self, one: Member, other: Member) -> bool:
        """Whether the message of one may be received as that of another with other partners, or of
        another type, if both are under way at the same time."""
        scope = self.facts.scope_of_these_sizes
        tags = [{constant(m.call.args[tag], scope) for tag in _TAGS} for m in (one, other)]
        return None in tags[0] | tags[1] or bool(tags[0] & tags[1])

    def _communicates(self, node: Node) -> bool:
        """Whether a statement sends or receives."""
        effects = self.facts.footprint(node).effects
        return any(effect.kind is EffectKind.MPI and moves(effect.detail) for effect in effects)

    def _are_ordered(self, first: Member, last: Member) -> bool:
        """Whether fewer messages may leave what is seen in another order."""
        return self.whole.why_ordered(first.leaf, last.leaf) is not None

    def _window(self, member: Member, found: _Search) -> OverlapWindow:
        """The longest overlap window of an exchange."""
        reads, writes = self._reads(member), self._writes(member)
        return overlap_window(member.position, reads, writes, found.siblings, self.order)

    def _takes(self, found: _Search, position: int, node: Node) -> bool:
        """Whether a statement between may stay in front of the message, or stand behind it."""
        accesses = accesses_of(node, self.order)
        if accesses is None:
            return False
        sizes = self._needed(found, node, accesses)
        if sizes is None:
            found.moved.append((position, node, accesses))
        elif found.all_ways and self._communicates(node):
            return False  # its messages may have the tag of a receive that is posted before it
        else:
            found.sizes |= sizes
        found.written |= {access.storage for access in accesses if access.writes}
        return True

    def _needed(
        self, found: _Search, node: Node, accesses: tuple[Access, ...]
    ) -> frozenset[str] | None:
        """The named constants that must be positive for a statement to be executed before those
        behind the message; None: it cannot be."""
        needed: frozenset[str] = frozenset()
        for _, other, others in found.moved:
            for conflict in self.order.conflicting(other, node, others, accesses):
                sizes = conflict.sizes(self.order.is_positive)
                if sizes is None:
                    return None
                needed |= sizes
        return needed

    def _is_passed(self, node: Node) -> bool:
        """Whether a statement may change places with exchanges, but for its data: on all ranks
        alike, for other exchanges are whole, too."""
        if self.order.place.fixed(node) is not None:
            return False
        for leaf, call in self.order.messages.calls(node):
            if stage_of(call) is Stage.NOTHING:
                continue
            if leaf is not node or not exchanges_messages(leaf, self.facts):
                return False
            if isinstance(self.whole.of(leaf), str):
                return False
        for effect in self.facts.footprint(node).effects:
            if effect.kind is not EffectKind.MPI:
                return False
            if self.order.messages.call(effect.leaf) is not None:
                continue
            if effect.leaf is not node or isinstance(self.whole.of(effect.leaf), str):
                return False
        return True

    def _member(self, position: int, node: Node) -> Member | str:
        """An exchange that can be one of several; or why it cannot."""
        facts = self.facts
        if not isinstance(node, Leaf) or not isinstance(node.what, Call):
            return "it is no call"
        call = self.order.messages.call(node)
        sides = None if call is None else sides_of_exchange(call)
        if call is None or sides is None:
            return "it is no MPI_SENDRECV"
        whole = self.whole.of(node)
        if isinstance(whole, str):
            return whole
        sent, received = (packed_part(node, side, facts) for side in sides)
        if isinstance(sent, str):
            return sent
        if isinstance(received, str):
            return received
        if any(part.elements.name.startswith((OUT, IN)) for part in (sent, received)):
            return "it is combined already"
        if sent.key != received.key or call.args["sendtype"] != call.args["recvtype"]:
            return "it sends and receives different types"
        if sent.count != received.count:
            return "it sends and receives different numbers of elements"
        if not self._is_uniform(call.args["sendcount"], node, call):
            return "ranks may send different numbers of elements"
        if mpi_constant(Ref("mpi_proc_null", "MPI_PROC_NULL"), facts.scope) is None:
            return "MPI_PROC_NULL is not known here"
        for name in ("status", "ierror"):
            given = call.args.get(name)
            if given is not None and self.is_read(given, node):
                return f"its {name} is read"
        way = (*(call.args[name] for name in (*_SAME, "sendtype")), sent.key)
        return Member(position, node, call, sent, received, way)

    def _is_uniform(self, count: Expr, leaf: Leaf, call: MpiCall) -> bool:
        """Whether all ranks send the same number of elements in one execution."""
        if self.facts.uniformity is None:
            return False
        found = self.facts.uniformity.value(count, self.facts.scope, leaf, call.args["comm"])
        return isinstance(found, Uniform) and all(
            one.partition(":")[0] == UNIFORM.word for one in found.assumptions
        )

    def is_read(self, given: Expr, leaf: Leaf) -> bool:
        """Whether what a call stores in a variable may be read."""
        facts = self.facts
        if mpi_constant(given, facts.scope) is not None:
            return False
        if not isinstance(given, Ref) or not is_local_until_return(given.name, facts):
            return True
        point = facts.reaching.graph.action(leaf)
        definitions = facts.reaching.definitions(storage_of(given.name, facts.scope))
        own = [one for one in definitions if one.point == point]
        return not own or any(is_live_on_exit(d, facts) or facts.reaching.def_use(d) for d in own)

    def _reads(self, member: Member) -> tuple[Access, ...]:
        """What an exchange reads where it stands, to pack it."""
        return self._of(member, writes=False)

    def _writes(self, member: Member) -> tuple[Access, ...]:
        """What an exchange writes when its message is there."""
        return self._of(member, writes=True)

    def _of(self, member: Member, *, writes: bool) -> tuple[Access, ...]:
        found = accesses_of(member.leaf, self.order) or ()
        part = member.received if writes else member.sent
        storage = storage_of(part.elements.name, self.facts.scope)
        own = [a for a in found if a.writes is writes and a.storage == storage]
        named = {storage_of(name, self.facts.scope) for name in part.evaluated}
        evaluated = (a for a in found if a.mode is Mode.READ and a.storage in named)
        return (*own, *(() if writes else evaluated))


def _tags_agree(one: MpiCall, other: MpiCall) -> bool:
    """Whether two exchanges have the same tags, or each one tag both ways: the message of both has
    those of one of them."""
    if all(one.args[name] == other.args[name] for name in _TAGS):
        return True
    return all(call.args["sendtag"] == call.args["recvtag"] for call in (one, other))


def place_of(member: Member) -> int:
    """The line of an exchange."""
    return line_of(next(leaves(member.leaf)))
