"""Array elements that inner loops reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from asphalt.analysis.cost.trip_counts import TripCount, extents, loop_trips
from asphalt.analysis.cost.types import Surroundings, is_array
from asphalt.analysis.symbolic.polynomials import poly
from asphalt.ir.expr import Arg, Lit, Op, Ref, Section, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, Node


@record
class Inner:
    """A counted loop inside of the examined loop, or an array section, whose ``variable`` is not a
    name.

    ``node``: the loop, or the statement of the section.
    """

    variable: str
    trips: TripCount
    node: Node = field(compare=False)


def references(
    nodes: tuple[Node, ...], loops: tuple[Inner, ...], around: Surroundings
) -> Iterator[tuple[Ref, tuple[Inner, ...]]]:
    """The elements in unconditional assignments of a nest, and the loops around them."""
    for node in nodes:
        match node:
            case Do(head=Leaf(what=DoHead(var=Ref(name=name)) as head), body=body):
                trips = loop_trips(head, around)
                if trips is not None:
                    yield from references(body, (*loops, Inner(name, trips, node)), around)
            case Leaf(what=Assign(target=target, value=value, pointer=False)):
                for part in (*walk(target), *walk(value)):
                    if isinstance(part, Ref) and part.args and is_array(part, around):
                        yield from _elements(part, loops, node, around)


def _elements(
    ref: Ref, loops: tuple[Inner, ...], node: Node, around: Surroundings
) -> Iterator[tuple[Ref, tuple[Inner, ...]]]:
    """One element, or those of a section whose triplets have no stride."""
    args = ref.args or ()
    places = [number for number, arg in enumerate(args) if isinstance(arg, Section)]
    sizes = extents(ref, around)
    if sizes is None or len(sizes) != len(places):
        return
    inner: list[Inner] = []
    elements = list(args)
    for place, trips in zip(places, sizes, strict=True):
        section = args[place]
        if not isinstance(section, Section) or section.stride is not None:
            return
        variable = f"({place + 1})"
        inner.insert(0, Inner(variable, trips, node))
        elements[place] = Ref(variable, variable)
    if loops or inner:
        yield replace(ref, args=tuple(elements)), (*loops, *inner)


def step(arg: Arg, variable: str) -> int | None:
    """The stride of a subscript in a loop; None: unknown, or none."""
    if not isinstance(arg, Lit | Op | Ref):
        return None
    steps = poly(arg).coefficients(Ref(variable, variable))
    return steps[1].value if set(steps) <= {0, 1} and 1 in steps else None


__all__ = ["Inner", "references", "step"]
