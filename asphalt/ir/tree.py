"""The tree of a file: leaves own the text, constructs are structure.

The text of a leaf is ``lead + head + body + trail``; the text of a file is that of its leaves in
order, then ``tail``.  ``head`` is what stands on the physical line before the statement (white
space, label, construct name with its colon).  ``trail`` is what follows it (white space, a comment,
a ``;``, the line ending).  ``body`` is the statement itself, with continuation lines and the
comments between them; ``None``: it is printed anew from ``what``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import TypeVar, cast

from asphalt.ir.records import record
from asphalt.ir.source import Form, Span, Trivia
from asphalt.ir.stmt import Call, Guarded, Plain, What


class _Remembering:
    """A node never changes, and so remembers its leaves and what was found out about it alone."""

    __slots__ = ("_found", "_leaves")
    _leaves: tuple[Leaf, ...]
    _found: dict[Callable[..., object], object]


@record
class NamedToken:
    """A macro that stands for one name or number; ``alone``: the text of the statement has this
    token in no other way; ``uses``: how often the macro stands in it."""

    name: str
    token: str
    alone: bool = True
    uses: int = 1


@record
class Leaf(_Remembering):
    """A statement with the text around it.

    ``span`` is that of the body; None for a statement that asphalt made.  ``joined``: it follows a
    ``;`` on the same line.  ``shift``: how many columns a moved leaf is to be indented further.
    ``frozen``: the preprocessor changed a line of it, or it contains preprocessor lines; its text
    may not be edited or moved.  ``cut`` are the folded names of the statement that its body does
    not show in one piece: a continuation, a blank of fixed form or a macro stands in their place.
    ``macros``: those in its text that stand for one name or number each.
    """

    what: What
    span: Span | None = None
    lead: tuple[Trivia, ...] = ()
    head: str = ""
    body: str | None = None
    trail: str = ""
    label: int | None = None
    name: str | None = None
    joined: bool = False
    shift: int = 0
    frozen: bool = False
    cut: frozenset[str] = field(default=frozenset(), compare=False)
    macros: tuple[NamedToken, ...] = field(default=(), compare=False)

    @property
    def line(self) -> int:
        """The line on which the statement begins; 0 for one that asphalt made."""
        return 0 if self.span is None else self.span.first

    @property
    def is_hidden(self) -> bool:
        """Whether the statement stands behind ``!$``: only a compilation with OpenMP has it."""
        return self.frozen and ":" not in self.head and self.head.lstrip(" \t")[1:2] == "$"

    @property
    def action(self) -> What:
        """The action of the statement: of a one-line IF, WHERE or FORALL, the statement in it."""
        return self.what.action if isinstance(self.what, Guarded) else self.what

    @property
    def call(self) -> Call | None:
        """The CALL statement that it is, or that is its action."""
        action = self.action
        return action if isinstance(action, Call) else None


@record
class Do(_Remembering):
    """A DO construct.

    ``end`` is the END DO, or a ``10 continue`` that ends this loop alone.  ``end`` None: the loop
    ends with a labelled statement that is executed (``10 a(i) = 0``) or that several loops share;
    that statement is the last leaf in the body of the innermost of them, and carries the label.
    """

    head: Leaf
    body: tuple[Node, ...]
    end: Leaf | None


@record
class Arm:
    """An arm of a branch: its head (``if``, ``else if``, ``case`` ...) and its statements.

    The head of a SELECT construct is an arm of its own, with an empty body (or only trivia).
    """

    head: Leaf
    body: tuple[Node, ...]


@record
class Branch(_Remembering):
    """IF, SELECT CASE, SELECT TYPE, SELECT RANK, WHERE construct.  ``kind``: if, select, where."""

    kind: str
    arms: tuple[Arm, ...]
    end: Leaf


@record
class Block(_Remembering):
    """A construct that only groups.

    ``kind``: associate, block, critical, forall, team in executable parts; type, enum, interface in
    specification parts (an interface's procedures are Units in its body).
    """

    kind: str
    head: Leaf
    body: tuple[Node, ...]
    end: Leaf


@record
class Unit(_Remembering):
    """A program unit or procedure.

    ``kind``: program module submodule subroutine function block_data module_procedure.
    ``head`` None: a main program without PROGRAM statement.  ``name`` is folded ('' when unnamed).
    """

    kind: str
    name: str
    head: Leaf | None
    spec: tuple[Node, ...]
    body: tuple[Node, ...]
    contains: Leaf | None
    contained: tuple[Unit, ...]
    end: Leaf


Node = Leaf | Do | Branch | Block | Unit
T = TypeVar("T")
N = TypeVar("N", bound=_Remembering)


@record
class File(_Remembering):
    """A source file.

    ``eol`` and ``width`` (line limit in columns) are what new statements are printed with.
    ``bom`` is what stood before the first character.  ``stray``: leaves after the last unit that
    belong to no unit (kept, never analysed).  ``macros``: the names that the preprocessor may
    replace in it.
    """

    path: str
    form: Form
    eol: str
    width: int
    units: tuple[Unit, ...]
    tail: tuple[Trivia, ...] = ()
    bom: str = ""
    stray: tuple[Leaf, ...] = ()
    macros: frozenset[str] = frozenset()


def leaves(node: Node | File) -> Iterator[Leaf]:
    """All leaves below ``node`` in source order."""
    if isinstance(node, Leaf):
        return iter((node,))
    try:
        return iter(node._leaves)
    except AttributeError:
        found = tuple(_leaves_below(node))
        object.__setattr__(node, "_leaves", found)
        return iter(found)


def _leaves_below(node: Do | Branch | Block | Unit | File) -> Iterator[Leaf]:
    match node:
        case Do(head=head, body=body, end=end):
            yield head
            yield from _leaves_of(body)
            if end is not None:
                yield end
        case Branch(arms=arms, end=end):
            for arm in arms:
                yield arm.head
                yield from _leaves_of(arm.body)
            yield end
        case Block(head=head, body=body, end=end):
            yield head
            yield from _leaves_of(body)
            yield end
        case Unit():
            if node.head is not None:
                yield node.head
            yield from _leaves_of((*node.spec, *node.body))
            if node.contains is not None:
                yield node.contains
            yield from _leaves_of(node.contained)
            yield node.end
        case File(units=units, stray=stray):
            yield from _leaves_of(units)
            yield from stray


def loops_of(nodes: Iterable[Node]) -> Iterator[Do]:
    """All DO constructs in some statements, outer ones first."""
    for node in nodes:
        match node:
            case Do(body=body):
                yield node
                yield from loops_of(body)
            case Branch(arms=arms):
                for arm in arms:
                    yield from loops_of(arm.body)
            case Block(body=body):
                yield from loops_of(body)


def _leaves_of(nodes: Iterable[Node]) -> Iterator[Leaf]:
    for node in nodes:
        yield from leaves(node)


def with_first_leaf(node: Node, leaf: Leaf) -> Node:
    """A statement or construct with another first leaf."""
    match node:
        case Leaf():
            return leaf
        case Branch(arms=arms):
            return replace(node, arms=(replace(arms[0], head=leaf), *arms[1:]))
    return replace(node, head=leaf)


def once(node: N, find: Callable[[N], T]) -> T:
    """What ``find`` says of a node, asked once: it depends on nothing else, and does not change."""
    try:
        found = node._found
    except AttributeError:
        found = {}
        object.__setattr__(node, "_found", found)
    if find not in found:
        found[find] = find(node)
    return cast(T, found[find])


def chains_in(file: File) -> list[tuple[Unit, ...]]:
    """Each unit with its hosts, in the order of ``units_in``."""
    chains: list[tuple[Unit, ...]] = []
    for unit in file.units:
        _add_chains(chains, unit, ())
    return chains


def _add_chains(chains: list[tuple[Unit, ...]], unit: Unit, hosts: tuple[Unit, ...]) -> None:
    chain = (*hosts, unit)
    chains.append(chain)
    for inner in unit.contained:
        _add_chains(chains, inner, chain)


def units_in(node: File | Unit) -> Iterator[Unit]:
    """All units of a file, or below and including a unit, outermost first."""
    if isinstance(node, Unit):
        yield node
    for unit in node.units if isinstance(node, File) else node.contained:
        yield from units_in(unit)


def with_meaning(leaf: Leaf, what: What) -> Leaf:
    """The leaf with what its text means."""
    return remade(leaf, what, leaf.span)


def remade(leaf: Leaf, what: What, span: Span | None) -> Leaf:
    """The leaf with another meaning and place.  A run makes more leaves than of anything else, and
    ``replace`` is slow."""
    return Leaf(
        what,
        span,
        leaf.lead,
        leaf.head,
        leaf.body,
        leaf.trail,
        leaf.label,
        leaf.name,
        leaf.joined,
        leaf.shift,
        leaf.frozen,
        leaf.cut,
        leaf.macros,
    )


def rewrite(leaf: Leaf, what: What) -> Leaf:
    """The leaf with another meaning: its text is cleared so that it can never contradict ``what``.

    Lead, trail, construct name and label stay.
    """
    return replace(leaf, what=what, body=None)


def is_continue(node: Node) -> bool:
    """Whether a node is a CONTINUE statement."""
    return isinstance(node, Leaf) and node.what == Plain("continue")
