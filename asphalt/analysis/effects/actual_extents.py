"""The sequence of elements of an actual argument that is passed to a dummy (F2018 15.5.2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from asphalt.analysis.memory.invariant_frame import Standpoint
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import AltReturn, Expr, Keyword, Ref, Section
from asphalt.ir.records import record

_UNIT = Poly.constant(1)


@record
class Dimension:
    """A dimension of the actual argument: index = ``start`` + position * ``stride``.

    ``lower``: the smallest index that may be passed in it.
    """

    number: int
    lower: Poly | None
    extent: Poly | None
    start: Poly | None
    stride: int | None = 1


@record
class PassedElements:
    """The dimensions that are passed, and the subscripts of the others.

    ``element``: the actual argument is an element, at which the sequence begins.
    """

    rank: int
    dims: tuple[Dimension, ...]
    fixed: tuple[tuple[int, Poly | None], ...] = ()
    element: bool = False


def run_of(actual: Expr, here: Standpoint) -> PassedElements | None:
    if not isinstance(actual, Ref):
        return None
    shape = here.shape(actual.name)
    if shape is None:
        symbol = here.frame.scope.lookup(actual.name)
        scalar = symbol is not None and symbol.dims is None and actual.args is None
        return PassedElements(0, ()) if scalar else None
    if actual.args is None:
        whole = tuple(
            Dimension(number, lower, extent, lower)
            for number, (lower, extent) in enumerate(zip(shape.lower, shape.extent, strict=True))
        )
        return PassedElements(shape.rank, whole)
    if len(actual.args) != shape.rank:
        return None
    subscripts = [a for a in actual.args if not isinstance(a, Keyword | AltReturn)]
    if len(subscripts) < shape.rank:
        return None
    sections = any(isinstance(a, Section) for a in subscripts)
    dims: list[Dimension] = []
    fixed: list[tuple[int, Poly | None]] = []
    for number, (subscript, lower, extent) in enumerate(
        zip(subscripts, shape.lower, shape.extent, strict=True)
    ):
        if isinstance(subscript, Section):
            dims.append(_triplet(number, subscript, lower, extent, here))
            continue
        if not is_scalar(subscript, here.frame.scope):
            return None
        start = here.value(subscript)
        if sections:
            fixed.append((number, start))
        else:
            dims.append(Dimension(number, lower, extent, start))
    return PassedElements(shape.rank, tuple(dims), tuple(fixed), not sections)


def _triplet(
    number: int, section: Section, lower: Poly, extent: Poly | None, here: Standpoint
) -> Dimension:
    step = _UNIT if section.stride is None else here.value(section.stride)
    stride = None if step is None else step.value
    upper = None if extent is None else lower + extent - _UNIT
    if stride is not None and stride < 0:
        first, last = upper, lower
    else:
        first, last = lower, upper  # type: ignore[assignment]
    start = first if section.lower is None else here.value(section.lower)
    end = last if section.upper is None else here.value(section.upper)
    length = None
    if stride == 1 and start is not None and end is not None:
        length = end - start + _UNIT
    return Dimension(number, start, length, start, stride)


def extent_passed(actual: Expr, dimension: int, here: Standpoint) -> Poly | None:
    run = run_of(actual, here)
    if run is None or run.element or dimension >= len(run.dims):
        return None
    return run.dims[dimension].extent


@dataclass(slots=True)
class Relation:
    """The constraints between indices ``d0`` ... of the dummy and ``e0`` ... of the argument.

    ``within``: limits of indices; beyond them an element has another index in the next dimension.
    ``known``: the relation is exact.
    """

    affine: Affine
    constraints: list[str] = field(default_factory=list)
    within: list[tuple[int, Poly, Poly]] = field(default_factory=list)
    known: bool = True

    def equal(self, number: int, value: Poly | None, more: str = "") -> None:
        """Constrain the index in a dimension to a value plus a text."""
        text = None if value is None else self.affine.text(value)
        if text is None:
            self.known = False
        else:
            self.constraints.append(f"e{number} = {text}{more}")
