"""Statements that texts of one unit have in common, and what is known of them in any text.

The optimiser reads a unit again after each step.  A step that executes the statements which it
leaves alone as before, each with the same values, changes nothing in what they access: where no
element was accessed by both of two statements of a list, none is.  That two statements may access
one element is only kept for texts in which the same variables are defined between them: a text
where fewer are may tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from asphalt.ir.records import record
from asphalt.ir.stmt import Jump
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit, leaves

Numbers = tuple[int, ...]
Pair = frozenset[Numbers]
Outline = tuple[object, ...]
"""Calls of MPI and jumps by their numbers, with those of what stands around them."""


@record
class Meeting:
    """Two statements, ``lines``, that may access one element; ``what``: the object, and more to
    tell."""

    lines: Numbers
    what: str


@record
class Question:
    """Whether two statements or constructs commute; ``between``: the storages that are defined
    between them; ``parts``: the statements of them that it is about, if not all."""

    pair: Pair
    between: frozenset[str]
    parts: frozenset[int] | None = None

    def is_about(self, numbers: Numbers) -> bool:
        """Whether these are statements of the two."""
        return {*numbers} <= {number for own in self.pair for number in own}


@record
class NestQuestion:
    """Which iterations of a nest access what the statements access that it is to pass: all that
    stand between, and at the end of that way.  ``hoisted``: those among them that go before.
    ``depth``: the number of its loops that are asked about; ``behind``: whether it stands behind
    the statements.  ``temporaries``: the storages in which that does not matter, each with the
    position of the statement; other texts may need their values."""

    nest: Numbers
    passed: tuple[Numbers, ...]
    hoisted: tuple[Numbers, ...]
    depth: int
    behind: bool
    temporaries: frozenset[tuple[int, str]]


@record
class KnownPairs:
    """What is known of pairs of statements and constructs.

    ``independent``: those that are proved to access no element in conflict.  ``meetings``: where
    others may.  ``sizes``: the named constants that have to be positive for that not to be so;
    None: there are none.  ``parts``: whether parts of them may access one element.  ``matches``:
    of each operation that is started, and the calls that complete it, None: itself, (): they are
    not known.  ``own``: whether all operations that a call may complete are started in the unit.
    ``undecided``: the texts in which no error code decides what is executed.  ``ends``: how many
    of the first and of the last iterations of the loops of a nest access what other statements
    access, None: this is not known.
    """

    independent: set[Pair] = field(default_factory=set)
    meetings: dict[Question, Meeting] = field(default_factory=dict)
    sizes: dict[Question, frozenset[str] | None] = field(default_factory=dict)
    parts: dict[Question, bool] = field(default_factory=dict)
    matches: dict[Outline, tuple[tuple[int, Numbers | None], ...]] = field(default_factory=dict)
    own: dict[tuple[Outline, int], bool] = field(default_factory=dict)
    undecided: set[Outline] = field(default_factory=set)
    ends: dict[NestQuestion, tuple[tuple[int, int], ...] | None] = field(default_factory=dict)


@record
class SameStatements:
    """The statements of one text.

    ``numbers``: of each statement, by identity, a number that it has in all texts.  ``known``: of
    all texts.
    """

    numbers: Mapping[int, int]
    known: KnownPairs

    def pair(self, first: Node, second: Node) -> Pair | None:
        """Two statements or constructs as other texts know them; None: they are no statements of
        this text."""
        found = self._each((first, second))
        return None if found is None else frozenset(found)

    def of(self, statements: Iterable[Leaf]) -> Numbers | None:
        """The numbers of statements; None: some are not of this text."""
        found = tuple(self.numbers.get(id(leaf), -1) for leaf in statements)
        return None if -1 in found else found

    def nest(
        self,
        nest: Node,
        passed: Iterable[Node],
        hoisted: Iterable[Node],
        depth: int,
        behind: bool,
        temporaries: frozenset[tuple[int, str]],
    ) -> NestQuestion | None:
        """A question about a nest as other texts know it; None: it is about statements of no text
        that is known."""
        own, others, before = self.of(leaves(nest)), self._each(passed), self._each(hoisted)
        if own is None or others is None or before is None:
            return None
        return NestQuestion(own, others, before, depth, behind, temporaries)

    def _each(self, nodes: Iterable[Node]) -> tuple[Numbers, ...] | None:
        """The numbers of each of these; None: some are not of this text."""
        found: list[Numbers] = []
        for node in nodes:
            own = self.of(leaves(node))
            if own is None:
                return None
            found.append(own)
        return tuple(found)

    def outline(self, unit: Unit, calls: Callable[[Leaf], bool]) -> Outline | None:
        """The calls of MPI and the jumps of a unit, with what stands around them; None: some are
        statements of no text that is known.  ``calls``: whether a statement calls MPI."""
        if not all(id(leaf) in self.numbers for node in unit.body for leaf in leaves(node)):
            return None
        return tuple(self._outlined(unit.body, calls))

    def _outlined(self, nodes: tuple[Node, ...], calls: Callable[[Leaf], bool]) -> Iterator[object]:
        for node in nodes:
            match node:
                case Leaf():
                    if calls(node) or isinstance(node.action, Jump):
                        yield self.numbers[id(node)]
                case Do(head=head, body=body) | Block(head=head, body=body):
                    yield from self._around((Arm(head, body),), calls)
                case Branch(arms=arms):
                    yield from self._around(arms, calls)
                case _:
                    yield None

    def _around(self, arms: tuple[Arm, ...], calls: Callable[[Leaf], bool]) -> Iterator[object]:
        inside = [tuple(self._outlined(arm.body, calls)) for arm in arms]
        heads = [arm.head for arm in arms]
        if any(inside) or any(calls(leaf) or isinstance(leaf.action, Jump) for leaf in heads):
            numbers = (self.numbers[id(leaf)] for leaf in heads)
            yield tuple(zip(numbers, inside, strict=True))
