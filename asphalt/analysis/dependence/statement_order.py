"""Which statements of a nest may be executed for all iterations before the others are begun.

Loop distribution (Allen and Kennedy, Optimizing Compilers for Modern Architectures, section 2.4.4;
Danalis et al., ICS 2009, section 5, "loop fission"): a nest whose statements fall into two groups
becomes two nests, one group each.  It is legal exactly if nothing of the group that goes first
depends on something of the other group that was executed before it: whatever the iterations of the
two, whatever loops they have in common.  Statements that hand each other values in a variable that
belongs to an iteration stay together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.control_flow.graph import jump_targets
from asphalt.analysis.data_flow.temporaries import is_unseen, stays_inside
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.permutable_loops import is_private, region_of
from asphalt.analysis.dependence.vector_rounding import inexact, keeps_a_loop
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.loop_scalars import exposed, jumps_in
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import Assign, DoHead, Plain
from asphalt.ir.tree import Do, Leaf, Node, leaves


@dataclass(frozen=True, slots=True)
class NestStatement:
    """A statement of a nest that is no counted loop itself, and the loops around it, the outermost
    first."""

    node: Node
    loops: tuple[Do, ...]


class StatementOrder:
    """Answers for one nest of a unit."""

    def __init__(self, nest: Do, facts: UnitFacts) -> None:
        self.nest = nest
        self.facts = facts
        self.parts = tuple(_parts(nest, ()))

    @cached_property
    def region(self) -> Region:
        """The nest as the region of questions about it."""
        return region_of(self.nest, self.facts)

    @cached_property
    def can_be_parted(self) -> bool:
        """Whether the parts are executed one after the other, as often as their loops say, and
        nothing but what is inside of a loop asks for its variable."""
        return (
            len(self.parts) > 1
            and not any(True for _ in jumps_in(self.nest))
            and not any(label for leaf in leaves(self.nest) for label in jump_targets(leaf.what))
            and all(self._is_around(access) for access in self._accesses)
            and all(self._is_left_alike(storage) for storage in self._own)
        )

    def accesses(self, part: NestStatement) -> tuple[Access, ...]:
        """What a part reads and writes, and the bounds of the loops around it; not their
        variables."""
        own = {id(leaf) for leaf in leaves(part.node)} | {id(loop.head) for loop in part.loops}
        return tuple(a for a in self._accesses if id(a.leaf) in own and a.storage not in self._own)

    def separable(self, wanted: frozenset[int], *, first: bool) -> frozenset[int]:
        """The largest group of parts, of those with the numbers ``wanted``, that can be executed
        for all iterations before the others (``first``) or behind them."""
        group = wanted
        while True:
            kept = frozenset(n for n in group if self._goes_with(n) <= group)
            others = [n for n in range(len(self.parts)) if n not in kept]
            if first:
                kept = frozenset(n for n in kept if not any(self._needs(n, m) for m in others))
            else:
                kept = frozenset(n for n in kept if not any(self._needs(m, n) for m in others))
            if kept == group:
                return group
            group = kept

    def inexact(self, group: frozenset[int]) -> str | None:
        """What may give other last digits where some parts have nests of their own, for people;
        None: nothing does.

        A compiler may vectorise an innermost loop, or one that it makes innermost; one that has
        lost statements, it may vectorise otherwise.
        """
        for part in (self.parts[n] for n in group):
            if any(self._may_be_vectorised_otherwise(loop, group) for loop in part.loops):
                found = inexact((part.node,), self.facts.scope, self.facts.effects)
                if found is not None:
                    return found
        return None

    def _may_be_vectorised_otherwise(self, loop: Do, group: frozenset[int]) -> bool:
        before = {n for n, p in enumerate(self.parts) if any(loop is one for one in p.loops)}
        left = self._left(loop, group & before)
        return not before <= group and not keeps_a_loop(left, _variable(loop), self.region)

    def _left(self, loop: Do, group: Iterable[int]) -> Iterator[Node]:
        """The statements of a loop of which something is in a group."""
        for child in loop.body:
            inside = {id(leaf) for leaf in leaves(child)}
            if any(id(next(leaves(self.parts[n].node))) in inside for n in group):
                yield child

    @cached_property
    def _accesses(self) -> tuple[Access, ...]:
        return self.facts.footprint(self.nest).accesses

    @cached_property
    def _loops(self) -> tuple[Do, ...]:
        return tuple({id(loop): loop for part in self.parts for loop in part.loops}.values())

    @cached_property
    def _own(self) -> frozenset[str]:
        """The storages of the loops' variables."""
        return frozenset(self.facts.names.storage(_variable(loop)) for loop in self._loops)

    def _is_around(self, access: Access) -> bool:
        """Whether an access to a loop's variable is one in that loop, or by its head."""
        if access.storage not in self._own:
            return True
        loops = [n for n in self._loops if self.facts.names.storage(_variable(n)) == access.storage]
        if any(access.leaf is loop.head for loop in loops):
            return True
        return not access.writes and any(loop is one for loop in loops for one in access.loops)

    def _is_left_alike(self, storage: str) -> bool:
        """Whether the last value of a loop's variable is that of the same loop, or nobody's."""
        loops = [n for n in self._loops if self.facts.names.storage(_variable(n)) == storage]
        unread = is_unseen(storage, self.facts) and stays_inside(storage, self.nest, self.facts)
        return len(loops) == 1 or unread

    def _goes_with(self, number: int) -> frozenset[int]:
        return next(web for web in self._webs if number in web)

    @cached_property
    def _webs(self) -> tuple[frozenset[int], ...]:
        """The parts, those together that hand each other values in a private variable."""
        webs = [frozenset((n,)) for n in range(len(self.parts))]
        for storage in sorted(self._private):
            for together in self._using(storage):
                joined = [web for web in webs if web & together]
                webs = [web for web in webs if not web & together]
                webs.append(frozenset().union(*joined))
        return tuple(webs)

    def _using(self, storage: str) -> Iterator[frozenset[int]]:
        """The parts that touch a private variable: all of them, or, where all are statements of one
        list, from each assignment that defines it to the one before the next."""
        numbers = [
            n for n, p in enumerate(self.parts) if any(a.storage == storage for a in self._of(n))
        ]
        if len({self.parts[n].loops for n in numbers}) > 1:
            yield frozenset(numbers)
            return
        web: list[int] = []
        for number in numbers:
            if web and self._defines(self.parts[number].node, storage):
                yield frozenset(web)
                web = []
            web.append(number)
        if web:
            yield frozenset(web)

    def _defines(self, node: Node, storage: str) -> bool:
        """Whether a statement is an assignment to a scalar that does not read it."""
        return (
            isinstance(node, Leaf)
            and isinstance(node.what, Assign)
            and isinstance(node.what.target, Ref)
            and node.what.target.args is None
            and self.facts.names.storage(node.what.target.name) == storage
            and not exposed((node,), storage, self.facts.names, lambda _, name: False)
        )

    @cached_property
    def _private(self) -> frozenset[str]:
        """The variables that hold values within an iteration of the outermost loop only."""
        names = {
            a.storage
            for a in self._accesses
            if a.writes and not a.path and a.storage not in self._own
        }
        return frozenset(n for n in names if is_private(n, (self.nest,), self.facts))

    def _of(self, number: int) -> tuple[Access, ...]:
        return self._by_part[number]

    @cached_property
    def _by_part(self) -> tuple[tuple[Access, ...], ...]:
        return tuple(self.accesses(part) for part in self.parts)

    @cached_property
    def _known(self) -> dict[tuple[int, int], bool]:
        return {}

    def _needs(self, later: int, earlier: int) -> bool:
        """Whether something that a part does may depend on what another one did before it."""
        key = later, earlier
        if key not in self._known:
            self._known[key] = any(
                a.storage not in self._private
                and a.conflicts(b)
                and self._may_come_before(a, earlier, b, later)
                for a in self._of(earlier)
                for b in self._of(later)
            )
        return self._known[key]

    def _may_come_before(self, a: Access, first: int, b: Access, second: int) -> bool:
        """Whether two accesses may be to one element, that of the part ``first`` before that of the
        part ``second``."""
        common = [
            one
            for one, two in zip(self.parts[first].loops, self.parts[second].loops, strict=False)
            if one is two
        ]
        if not all(any(loop is one for one in x.loops) for loop in common for x in (a, b)):
            return True  # the bounds of a loop, say, are asked for outside of it
        names = [_variable(loop) for loop in common]
        levels = len(names) + (first < second)
        return any(
            self.region.conflict(a, b, _Before(tuple(names), level)) is not None
            for level in range(levels)
        )


@dataclass(frozen=True, slots=True)
class _Before:
    """One iteration of some loops comes before another one, which the loop number ``level``
    decides; behind the last loop: it is the same."""

    names: tuple[str, ...]
    level: int

    def __call__(
        self, problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]
    ) -> None:
        for depth, name in enumerate(self.names[: self.level + 1]):
            problem.compare(one[name], "<" if depth == self.level else "=", two[name])


def _variable(loop: Do) -> str:
    name = loop_variable(loop)
    assert name is not None
    return name


def _parts(node: Node, loops: tuple[Do, ...]) -> Iterator[NestStatement]:
    """The parts of a nest, in the order of the source."""
    own: list[NestStatement] = []
    if isinstance(node, Do) and _is_plain(node):
        own = [part for child in node.body for part in _parts(child, (*loops, node))]
    if own:
        yield from own
    elif not (isinstance(node, Leaf) and node.what == Plain("continue")):
        yield NestStatement(node, loops)


def _is_plain(loop: Do) -> bool:
    """Whether a loop counts upwards by one."""
    head = loop.head.what
    return isinstance(head, DoHead) and loop_variable(loop) is not None and head.step is None
