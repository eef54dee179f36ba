"""Statements of a nest that may be executed for all iterations before the others.

Loop distribution (Allen and Kennedy, Optimizing Compilers for Modern Architectures, section 2.4.4;
Danalis et al., ICS 2009, section 5, "loop fission"): a nest whose statements fall into two groups
becomes two nests, one for each group.  It is legal exactly if nothing in the first group depends on
an earlier execution of something in the other group, in any iterations of the two, whatever loops
they have in common.  Statements that use the same private variable of an iteration remain together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from asphalt.analysis.control_flow.graph import jump_targets
from asphalt.analysis.data_flow.temporaries import is_dead_after, is_local
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.permutable_loops import is_private, region_of
from asphalt.analysis.dependence.vector_rounding import inexact, keeps_a_loop
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.loop_scalars import jumps_in, upward_exposed
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.expr import Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, Node, is_continue, leaves


@record
class NestStatement:
    """A statement of a nest, not a counted loop, and the loops around it, the outermost first."""

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
        """The nest as a region."""
        return region_of(self.nest, self.facts)

    @cached_property
    def can_be_parted(self) -> bool:
        """Whether the statements are executed in sequence, as often as their loops say, and use the
        variables of their own loops only."""
        return (
            len(self.parts) > 1
            and not any(True for _ in jumps_in(self.nest))
            and not any(label for leaf in leaves(self.nest) for label in jump_targets(leaf.what))
            and all(self._is_around(access) for access in self._accesses)
            and all(self._is_left_alike(storage) for storage in self._own)
        )

    def accesses(self, part: NestStatement) -> tuple[Access, ...]:
        """The accesses of a statement, and those of the bounds of the loops around it; not to their
        variables."""
        own = {id(leaf) for leaf in leaves(part.node)} | {id(loop.head) for loop in part.loops}
        return tuple(a for a in self._accesses if id(a.leaf) in own and a.storage not in self._own)

    def separable(self, wanted: frozenset[int], *, first: bool) -> frozenset[int]:
        """The largest group of the statements numbered ``wanted`` that can be executed for all
        iterations before the others (``first``) or after them."""
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
        """A description of what may round differently if some statements have nests of their own;
        None: nothing does.

        A compiler may vectorise an innermost loop, or one that it makes innermost; it may vectorise
        a loop that has lost statements differently.
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
        """The statements of a loop that contain something in a group."""
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
        """Whether the last value of a loop's variable is that of the same loop, or is never
        used."""
        loops = [n for n in self._loops if self.facts.names.storage(_variable(n)) == storage]
        unread = is_local(storage, self.facts) and is_dead_after(storage, self.nest, self.facts)
        return len(loops) == 1 or unread

    def _goes_with(self, number: int) -> frozenset[int]:
        return next(web for web in self._webs if number in web)

    @cached_property
    def _webs(self) -> tuple[frozenset[int], ...]:
        """Sets of statements that use the same private variable."""
        webs = [frozenset((n,)) for n in range(len(self.parts))]
        for storage in sorted(self._private):
            for together in self._using(storage):
                joined = [web for web in webs if web & together]
                webs = [web for web in webs if not web & together]
                webs.append(frozenset().union(*joined))
        return tuple(webs)

    def _using(self, storage: str) -> Iterator[frozenset[int]]:
        """The statements that access a private variable: all of them, or, if all are in one list,
        from each assignment that defines it to the one before the next."""
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
            and not upward_exposed((node,), storage, self.facts.names, lambda _, name: False)
        )

    @cached_property
    def _private(self) -> frozenset[str]:
        """The variables that are private to an iteration of the outermost loop."""
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
        """Whether a statement may depend on an earlier execution of another one."""
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
        """Whether two accesses may be to one element, that of statement ``first`` before that of
        ``second``."""
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


@record
class _Before:
    """One iteration of some loops precedes another at the loop number ``level``; after the last
    loop: it is the same."""

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
    """The statements of a nest, in source order."""
    own: list[NestStatement] = []
    if isinstance(node, Do) and _is_plain(node):
        own = [part for child in node.body for part in _parts(child, (*loops, node))]
    if own:
        yield from own
    elif not is_continue(node):
        yield NestStatement(node, loops)


def _is_plain(loop: Do) -> bool:
    """Whether a loop has the step one."""
    head = loop.head.what
    return isinstance(head, DoHead) and loop_variable(loop) is not None and head.step is None
