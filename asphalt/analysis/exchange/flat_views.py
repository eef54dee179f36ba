"""Views of a buffer whose last subscript runs through several dimensions.

    do k = 1, planes                               ! the loop that is tiled
      do q = 0, ranks - 1
        do j = 1, nb
          s(nb*planes*q + nb*(k - 1) + j) = ...

writes the planes of ``s(nb, planes, 0:ranks-1)``.  A flat view has these dimensions in place of the
last one, all of them with the lower bound that it has.  That the subscripts stay in them is proved
where finality is (condition 4); that there are such dimensions at all, the run checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from asphalt.analysis.exchange.buffers import FlatShape, View
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.regions import Bounds, Region, loop_bounds, loop_variable
from asphalt.analysis.memory.shapes import Shape
from asphalt.analysis.symbolic.flat_indices import Ends, FlatDimensions, flat_dimensions
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Lit, Ref, Section
from asphalt.ir.records import record

_ONE = Poly.constant(1)
_STRIDE_ONE = Lit("integer", "1")


def flat_view(
    view: View, writes: Iterable[Access], region: Region, count: Poly | None
) -> View | None:
    """The view with the dimensions that the last subscripts of some writes run through; None: they
    show no such dimensions.

    ``writes`` have the subscripts of ``view``.  ``count``: elements of a block.
    """
    flat = [_flat(write, view.shape, region) for write in writes]
    known = [one for one in flat if one is not None]
    if view.tail or not flat or len(known) < len(flat):
        return None
    block = None if count is None else count.divided_by(view.shape.stride(view.shape.rank - 1))
    dimensions = flat_dimensions(((one.value, one.ends) for one in known), block)
    if dimensions is None:
        return None
    return replace(
        view, shape=_shape(view.shape, dimensions), flat=FlatShape(view.shape, dimensions)
    )


def flat_writes(view: View, writes: Iterable[Access], region: Region) -> tuple[Access, ...]:
    """Writes to the array of a flat view, with their subscripts in the view: None where these are
    not known."""
    assert view.flat is not None
    made: list[Access] = []
    for write in writes:
        flat = _flat(write, view.flat.array, region)
        subscripts = None if flat is None else _subscripts(write, flat, view.flat)
        made.append(replace(write, subscripts=subscripts))
    return tuple(made)


@record
class _Flat:
    """A last subscript, counted from 0: its value, or that of the begin of a section.

    ``length``: elements of the section; None: it is no section.  ``ends``: of the loop variables.
    """

    value: Poly
    length: Poly | None
    ends: Mapping[Expr, Ends]


def _flat(write: Access, shape: Shape, region: Region) -> _Flat | None:
    """The last subscript of a write; None: it is not known."""
    if write.subscripts is None or len(write.subscripts) != shape.rank or write.part is not None:
        return None
    last = write.subscripts[-1]
    begin: Expr | None
    if isinstance(last, Section):
        begin, end = last.lower, last.upper
        if begin is None or end is None or last.stride not in (None, _STRIDE_ONE):
            return None
    else:
        begin = end = last
    value, high = (region.value_at(e, write.leaf, write.loops) for e in (begin, end))
    if value is None or high is None:
        return None
    ends: dict[Expr, Ends] = {
        Ref(name, name): _ends(loop_bounds(loop, region))
        for loop in write.loops
        if (name := loop_variable(loop)) is not None
    }
    length = high - value + _ONE if isinstance(last, Section) else None
    if length is not None and length.atoms & ends.keys():
        return None
    return _Flat(value - shape.lower[-1], length, ends)


def _ends(bounds: Bounds | None) -> Ends:
    """The least and the greatest value of a loop's variable."""
    if bounds is None:
        return None, None
    low, high = (bounds.first, bounds.last)[:: bounds.direction]
    return low, high


def _subscripts(write: Access, flat: _Flat, shape: FlatShape) -> tuple[Expr | Section, ...] | None:
    """The subscripts of a write in the flat view."""
    assert write.subscripts is not None
    indices = shape.dimensions.indices(flat.value, flat.ends)
    if indices is None:
        return None
    lower = shape.array.lower[-1]
    made: list[Expr | Section] = [(lower + index).expression() for index in indices]
    if flat.length is not None:
        number, steps = shape.dimensions.run(flat.length)
        if any(index.terms for index in indices[:number]):
            return None
        begin = lower + indices[number]
        made[:number] = [Section(None, None, None)] * number
        if steps != _ONE:
            made[number] = Section(begin.expression(), (begin + steps - _ONE).expression(), None)
    return (*write.subscripts[:-1], *made)


def _shape(shape: Shape, dimensions: FlatDimensions) -> Shape:
    """The shape of the flat view."""
    number = len(dimensions.strides)
    return Shape(
        (*shape.lower[:-1], *(shape.lower[-1],) * number),
        (*shape.extent[:-1], *dimensions.extents, None),
        stated=True,
    )
