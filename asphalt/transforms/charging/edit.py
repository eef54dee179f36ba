"""Statements that charge: their form and their positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.cost.classes import Counts, total
from asphalt.analysis.cost.trip_counts import TripCount, as_expression
from asphalt.ir.expr import Expr, Lit, Op
from asphalt.ir.records import record
from asphalt.ir.source import OF_THE_PREPROCESSOR, TriviaKind
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves

CHARGE = "asphalt_charge"
FLUSH = "asphalt_charge_now"
ALLOCATED = "asphalt_allocated"
TOUCHED = "asphalt_touched"
TOUCHED_STATIC = "asphalt_touched_static"
PAGES = "asphalt_pages"


@record
class Charge:
    """Operations that are done ``trips`` times in each iteration of the loop number ``level``.

    ``waiting``: seconds besides those of the operations, for results that are waited for.
    """

    level: int
    counts: Counts
    trips: tuple[TripCount, ...] = ()
    waiting: float = 0.0

    @property
    def names(self) -> frozenset[str]:
        """The names that the charge depends on."""
        return frozenset().union(*(one.names for one in self.trips))


def together(charges: Iterable[Charge]) -> tuple[Charge, ...]:
    """The charges of statements that are executed equally often, one each, since operations
    overlap: what is done a known number of times counts as so many operations."""
    found: dict[tuple[TripCount, ...], list[Charge]] = {}
    for charge in charges:
        times = 1
        for trip in charge.trips:
            times *= 1 if trip.value is None else trip.value
        rest = tuple(trip for trip in charge.trips if trip.value is None)
        counts, waiting = charge.counts * times, charge.waiting * times
        found.setdefault(rest, []).append(Charge(charge.level, counts, rest, waiting))
    return tuple(
        Charge(
            max(one.level for one in same),
            total(one.counts for one in same),
            trips,
            sum(one.waiting for one in same),
        )
        for trips, same in found.items()
    )


class CannotInsertError(Exception):
    """No statement can be inserted before this one."""


def seconds_expression(charges: Iterable[tuple[float, tuple[TripCount, ...]]]) -> Expr | None:
    """The sum of products of seconds and trips, which are not known, of type ``real(8)``; None:
    nothing is to be charged."""
    terms: list[Expr] = []
    for seconds, trips in charges:
        if seconds <= 0:
            continue
        term: Expr = Lit("real", literal(seconds))
        for factor in as_expression(trips):
            term = Op("*", (term, factor))
        terms.append(term)
    if not terms:
        return None
    total = terms[0]
    for term in terms[1:]:
        total = Op("+", (total, term))
    return total


def literal(seconds: float) -> str:
    """A constant of type ``real(8)``."""
    mantissa, exponent = f"{seconds:.11e}".split("e")
    digits = mantissa.rstrip("0")
    return f"{digits}{'0' if digits.endswith('.') else ''}e{int(exponent)}_8"


def before(node: Node, new: Leaf) -> tuple[Leaf, Node]:
    """``new`` and the node after it, so that control that comes to the node passes ``new``.

    Lines of the preprocessor in front of the node stay in front of both; directives stay with the
    node; a label goes to ``new``.
    """
    first = next(iter(leaves(node)))
    cut = 0
    for number, entry in enumerate(first.lead, 1):
        if entry.kind in OF_THE_PREPROCESSOR | {TriviaKind.DEAD}:
            cut = number
    if any(entry.kind is TriviaKind.DIRECTIVE for entry in first.lead[:cut]):
        raise CannotInsertError("a directive and lines of the preprocessor stand before it")
    new = replace(new, lead=(*first.lead[:cut], *new.lead))
    changed = replace(first, lead=first.lead[cut:])
    if first.label is not None:
        if first.frozen:
            raise CannotInsertError("its label is in a line of the preprocessor")
        digits = len(str(first.label))
        own = first.head
        at = own.find(str(first.label))
        if at < 0:
            raise CannotInsertError("its label stands on another line")
        new = replace(new, label=first.label, head="")
        changed = replace(changed, label=None, head=own[:at] + " " * digits + own[at + digits :])
    return new, with_first(node, changed)


def with_first(node: Node, first: Leaf) -> Node:
    """The node with another first statement."""
    match node:
        case Leaf():
            return first
        case Do() | Block():
            return replace(node, head=first)
        case Branch(arms=arms):
            return replace(node, arms=(replace(arms[0], head=first), *arms[1:]))
        case Unit():
            raise AssertionError("no statement")
