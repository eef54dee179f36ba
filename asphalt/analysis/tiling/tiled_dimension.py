"""The dimension of the send buffer that the tiled loop runs over, and the planes outside of it."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.memory.shapes import Shape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Guard, Misfit, equal
from asphalt.analysis.tiling.tile_window import Gaps
from asphalt.ir.expr import Ref, Section, names_in
from asphalt.ir.tree import leaves

_ONE = Poly.constant(1)


def tiled_dimension(
    producer: Producer, writes: Iterable[Access], shape: Shape
) -> tuple[int, Poly] | Misfit:
    """The dimension that the tiled loop runs over, and subscript minus loop variable."""
    variable = Ref(producer.packing.variable, producer.packing.variable)
    misfit: Misfit | None = None
    for write in writes:
        if write.subscripts is None or len(write.subscripts) != shape.rank:
            reason = "the send buffer is defined as a whole, or under another shape"
            return Misfit("subscripts", reason, write.leaf)
        for dimension, subscript in enumerate(write.subscripts):
            if isinstance(subscript, Section):
                continue
            value = producer.region.value(subscript, write.loops)
            if value is None:
                continue
            offset = value - Poly.atom(variable)
            if not offset.coefficients(variable).keys() - {0} and not _varies(offset, write):
                return dimension, offset
        reason = (
            _changed(producer, write)
            or f"no subscript of the send buffer is {variable.name} plus an invariant of the nest"
        )
        misfit = misfit or Misfit("subscripts", reason, write.leaf)
    return misfit or Misfit(
        "subscripts", "nothing in the nest writes the send buffer", producer.packing.nest.head
    )


def _changed(producer: Producer, write: Access) -> str | None:
    """Which statements of the nest change a scalar in the subscripts of a write, so that its value
    is not known there; None: its value is known, or there is none."""
    values = producer.exchange.values
    around = {loop_variable(loop) for loop in write.loops}
    inside = {id(leaf) for leaf in leaves(producer.packing.nest)}
    for subscript in write.subscripts or ():
        if isinstance(subscript, Section):
            continue
        if producer.region.value_at(subscript, write.leaf, write.loops) is not None:
            continue
        for name in sorted(names_in(subscript) - around):
            changes = [leaf for leaf in values.all_writes(name) or () if id(leaf) in inside]
            if changes:
                lines = list(dict.fromkeys(line_of(leaf) for leaf in changes))
                return f"the value of {name} in a subscript is not known: {_at(lines)} it"
    return None


def _at(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]} changes"
    return f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]} change"


def _varies(poly: Poly, write: Access) -> bool:
    variables = {loop_variable(loop) for loop in write.loops}
    return any(isinstance(atom, Ref) and atom.name in variables for atom in poly.atoms)


def loop_ends(producer: Producer) -> tuple[Poly, Poly] | None:
    """The lowest and the highest value of the tiled loop's variable."""
    first = producer.region.value(producer.first, ())
    last = producer.region.value(producer.last, ())
    if first is None or last is None:
        return None
    return (first, last) if producer.direction > 0 else (last, first)


def gaps(producer: Producer, shape: Shape, dimension: int, offset: Poly) -> Gaps | None:
    """The planes of a dimension that the tiled loop does not visit, in the order of the loop."""
    ends = loop_ends(producer)
    if ends is None:
        return None
    extent, lower = shape.extent[dimension], shape.lower[dimension]
    low = ends[0] + offset - lower
    high = None if extent is None else lower + extent - _ONE - ends[1] - offset
    if producer.direction > 0:
        return Gaps(low, high)
    return None if high is None else Gaps(high, low)


def exactly(producer: Producer, shape: Shape, dimension: int, offset: Poly) -> tuple[Guard, ...]:
    """The guards that the tiled loop visits exactly the planes of a dimension."""
    ends, extent = loop_ends(producer), shape.extent[dimension]
    assert ends is not None
    assert extent is not None
    lower = shape.lower[dimension]
    return (
        *equal(ends[0] + offset, lower),
        *equal(ends[1] + offset, lower + extent - _ONE),
    )
