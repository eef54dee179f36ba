"""Lines of the cache that a loop loses before it needs them again.

After the cost of loops by Carr, McKinley and Tseng (ASPLOS 1994): references to one array whose
subscripts differ by constants are a group, and where a loop goes along the first dimension of an
array, its turns share the lines of that array.  They do so only if what one turn touches fits into
the cache: a turn that goes through more lines than that finds none of them again (least recently
used goes first), and each of its references fetches a line.

    do k = 1, nz               ! goes along b; a turn touches nx*ny lines of it
      do j = 1, ny
        do i = 1, nx
          b(k, j, i) = a(i, j, k)

Loops that touch lines next to each other are not looked at: those are fetched ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asphalt.analysis.algebra import folded, poly
from asphalt.analysis.costs_references import way
from asphalt.analysis.costs_trips import (
    Trips,
    is_harmless,
    is_repeatable,
    loop_trips,
    product,
    usable,
)
from asphalt.analysis.costs_types import Surroundings, is_array, is_valued_as_array
from asphalt.ir.expr import Arg, Lit, Op, Ref, names_in, walk
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, Node

LINE = 64
"""Bytes of a line: those of x86 and most ARM processors."""


@dataclass(frozen=True, slots=True)
class Inner:
    """A counted loop inside of the loop that is looked at."""

    variable: str
    trips: Trips


def lost(
    body: tuple[Node, ...], variable: str, varying: frozenset[str], cache: int, around: Surroundings
) -> tuple[Trips, ...]:
    """How many lines a turn of a loop fetches anew, for each group of references: as many as it
    touches, if that is more than fit into a cache of so many bytes, else none.

    ``varying``: what changes in the loop.
    """
    if cache == 0 or not variable or not usable(around, ("sign",)):
        return ()
    groups: dict[object, tuple[Trips, ...]] = {}
    others = varying - {variable}
    for ref, loops in _references(body, (), around):
        crossed = _crossed(ref, variable, loops, others, around)
        if crossed:
            groups.setdefault(_group(ref), tuple(one.trips for one in crossed))
    least = -(-cache // LINE // max(1, len(groups)))
    found = (product(trips, least) for trips in groups.values())
    return tuple(trips for trips in found if trips.value != 0)


def _references(
    nodes: tuple[Node, ...], loops: tuple[Inner, ...], around: Surroundings
) -> Iterator[tuple[Ref, tuple[Inner, ...]]]:
    """The elements in assignments of a nest that no condition guards, and the loops around them."""
    for node in nodes:
        match node:
            case Do(head=Leaf(what=DoHead(var=Ref(name=name)) as head), body=body):
                trips = loop_trips(head, around)
                if trips is not None:
                    yield from _references(body, (*loops, Inner(name, trips)), around)
            case Leaf(what=Assign(target=target, value=value, pointer=False)) if loops:
                for part in (*walk(target), *walk(value)):
                    if isinstance(part, Ref) and _is_element(part, around):
                        yield part, loops


def _is_element(ref: Ref, around: Surroundings) -> bool:
    return bool(ref.args) and is_array(ref, around) and not is_valued_as_array(ref, around)


def _crossed(
    ref: Ref,
    variable: str,
    loops: tuple[Inner, ...],
    others: frozenset[str],
    around: Surroundings,
) -> tuple[Inner, ...]:
    """The inner loops that take a reference to other lines; none, if the outer one does not go
    along its first dimension, or if where it goes is not known."""
    first, *further = ref.args or ()
    inside = {one.variable for one in loops}
    if _step(first, variable) not in (1, -1) or names_in(first) & others:
        return ()
    if any(variable in names_in(arg) or names_in(arg) & (others - inside) for arg in further):
        return ()
    crossed = []
    for one in loops:
        steps = [_step(arg, one.variable) for arg in further if one.variable in names_in(arg)]
        if not steps:
            continue
        if (
            None in steps
            or not way(ref, one.variable, around)
            or not _is_known(one, others, around)
        ):
            return ()
        crossed.append(one)
    return tuple(crossed)


def _is_known(loop: Inner, others: frozenset[str], around: Surroundings) -> bool:
    """Whether its turns can be counted before a turn of the outer loop."""
    trips = loop.trips
    return not trips.names & others and is_harmless(trips, around) and is_repeatable(trips, around)


def _step(arg: Arg, variable: str) -> int | None:
    """How far a subscript goes in a turn of a loop; None: not known, or not at all."""
    if not isinstance(arg, Lit | Op | Ref):
        return None
    steps = poly(arg).coefficients(Ref(variable, variable))
    return steps[1].value if set(steps) <= {0, 1} and 1 in steps else None


def _group(ref: Ref) -> object:
    """What is the same for two references whose subscripts differ by constants."""
    return ref.name, tuple(_without_constant(arg) for arg in ref.args or ())


def _without_constant(arg: Arg) -> object:
    if not isinstance(arg, Lit | Op | Ref):
        return folded(arg)
    return frozenset((monomial, number) for monomial, number in poly(arg).terms if monomial)


__all__ = ["LINE", "lost"]
