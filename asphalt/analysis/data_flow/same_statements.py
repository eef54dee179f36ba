"""Statements that texts of one unit have in common, and what is known of them in any text.

The optimiser reads a unit again after each step.  A step that executes the statements which it
leaves alone as before, each with the same values, changes nothing in what they access: where no
element was accessed by both of two statements of a list, none is.  That two statements may access
one element is only kept for texts in which the same variables are defined between them: a text
where fewer are may tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from asphalt.ir.stmt import Jump
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit, leaves

Numbers = tuple[int, ...]
Pair = frozenset[Numbers]
Outline = tuple[object, ...]
"""Calls of MPI and jumps by their numbers, with those of what stands around them."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two statements, ``lines``, that may access one element; ``what``: the object, and more to
    tell."""

    lines: Numbers
    what: str


@dataclass(frozen=True, slots=True)
class Question:
    """Whether two statements or constructs commute; ``between``: the storages that are defined
    between them; ``parts``: the statements of them that it is about, if not all."""

    pair: Pair
    between: frozenset[str]
    parts: frozenset[int] | None = None

    def is_about(self, numbers: Numbers) -> bool:
        """Whether these are statements of the two."""
        return {*numbers} <= {number for own in self.pair for number in own}


@dataclass(frozen=True, slots=True)
class KnownPairs:
    """What is known of pairs of statements and constructs.

    ``independent``: those that are proved to access no element in conflict.  ``meetings``: where
    others may.  ``sizes``: the named constants that have to be positive for that not to be so;
    None: there are none.  ``parts``: whether parts of them may access one element.  ``matches``:
    of each operation that is started, and the calls that complete it, None: itself, (): they are
    not known.  ``own``: whether all operations that a call may complete are started in the unit.
    ``undecided``: the texts in which no error code decides what is executed.
    """

    independent: set[Pair] = field(default_factory=set)
    meetings: dict[Question, Meeting] = field(default_factory=dict)
    sizes: dict[Question, frozenset[str] | None] = field(default_factory=dict)
    parts: dict[Question, bool] = field(default_factory=dict)
    matches: dict[Outline, tuple[tuple[int, Numbers | None], ...]] = field(default_factory=dict)
    own: dict[tuple[Outline, int], bool] = field(default_factory=dict)
    undecided: set[Outline] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
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
        found: list[Numbers] = []
        for node in (first, second):
            own = self.of(leaves(node))
            if own is None:
                return None
            found.append(own)
        return frozenset(found)

    def of(self, statements: Iterable[Leaf]) -> Numbers | None:
        """The numbers of statements; None: some are not of this text."""
        found = tuple(self.numbers.get(id(leaf), -1) for leaf in statements)
        return None if -1 in found else found

    def outline(self, unit: Unit, calls: Callable[[Leaf], bool]) -> Outline | None:
        """The calls of MPI and the jumps of a unit, with what stands around them; None: some are
        statements of no text that is known.  ``calls``: whether a statement calls MPI."""
        if not all(id(leaf) in self.numbers for node in unit.body for leaf in leaves(node)):
            return None

        def of_nodes(nodes: tuple[Node, ...]) -> Iterator[object]:
            for node in nodes:
                match node:
                    case Leaf():
                        if counts(node):
                            yield self.numbers[id(node)]
                    case Do(head=head, body=body) | Block(head=head, body=body):
                        yield from around((Arm(head, body),))
                    case Branch(arms=arms):
                        yield from around(arms)
                    case _:
                        yield None

        def around(arms: tuple[Arm, ...]) -> Iterator[object]:
            inside = [tuple(of_nodes(arm.body)) for arm in arms]
            if any(inside) or any(counts(arm.head) for arm in arms):
                heads = (self.numbers[id(arm.head)] for arm in arms)
                yield tuple(zip(heads, inside, strict=True))

        def counts(leaf: Leaf) -> bool:
            return calls(leaf) or isinstance(leaf.action, Jump)

        return tuple(of_nodes(unit.body))
