"""Sequence association: a dummy with bounds of its own is a sequence of elements (F2018 15.5.2.11).

If its leading extents are those of the actual argument, its dimensions correspond to that array's.
If products of extents agree, groups of dimensions correspond.  Constant extents are compared
element by element, through the linear offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from asphalt.analysis.effects.actual_extents import Dimension, PassedElements, Relation
from asphalt.analysis.effects.argument_binding import Binding
from asphalt.analysis.memory.invariant_frame import Standpoint
from asphalt.analysis.names.scopes import Symbol
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Lit
from asphalt.ir.records import record

_ONE = Lit("integer", "1")
_UNIT = Poly.constant(1)


@record
class _Extent:
    """A dimension of the dummy in terms of the caller; ``inside``: all indices are within its
    bounds."""

    lower: Poly
    extent: Poly | None
    inside: bool


@dataclass(slots=True)
class SequenceAssociation:
    """The relations between a dummy with bounds of its own and the elements that are passed."""

    elements: Elements
    dummy: Symbol
    run: PassedElements
    binding: Binding
    here: Standpoint

    def alike(self, relation: Relation) -> Relation | None:
        """The relation if the leading extents are the same, so that the dummy's indices are those
        of the argument even beyond their bounds; None: they are not.

        The last dimension of the dummy may be shorter or longer, and begin inside of a dimension.
        """
        extents, dims = self._extents(), self.run.dims
        if extents is None or len(extents) > len(dims):
            return None
        for own, (extent, dim) in enumerate(zip(extents, dims, strict=False)):
            last = own == len(extents) - 1
            if not last and not self._same(extent, dim):
                return None
            if last and not self._same(extent, dim) and own < len(dims) - 1:
                if dim.lower is None or dim.extent is None:
                    return None
                limit = dim.lower + dim.extent - _UNIT
                relation.within.append((dim.number, dim.lower, limit))
            self._identical(own, extent, dim, relation)
        for dim in dims[len(extents) :]:
            relation.equal(dim.number, dim.start)
        return relation if relation.known else None

    def grouped(self, relation: Relation) -> Relation:
        """The relation between groups of dimensions with the same number of elements."""
        extents = self._extents()
        dims = self.run.dims
        own = at = 0
        while extents is not None and own < len(extents) and at < len(dims):
            if self._same(extents[own], dims[at]) and extents[own].inside:
                self._identical(own, extents[own], dims[at], relation)
                own, at = own + 1, at + 1
                continue
            group = self._group(extents, own, at)
            if group is None:
                if not self._linear(extents[own:], own, dims[at:], relation):
                    relation.known = False
                return relation
            self._whole_group(extents[own : group[0]], own, dims[at : group[1]], relation)
            own, at = group
        if extents is None or own < len(extents):
            relation.known = False
            return relation
        for dim in dims[at:]:
            relation.equal(dim.number, dim.start)
        return relation

    def _extents(self) -> list[_Extent] | None:
        """The dummy's dimensions; the last extent of an assumed-size dummy is the one in use."""
        dims = self.dummy.dims
        assert dims is not None
        constants = self.binding.constants
        found: list[_Extent] = []
        box = self.elements.box()
        for number, dim in enumerate(dims):
            own_lower = constants(dim.lower or _ONE)
            own_upper = constants(dim.upper) if dim.upper is not None else None
            lower = self.binding.polynomial(own_lower, self.here)
            if lower is None:
                return None
            used = own_upper if own_upper is not None else box[number][1]
            length = None if used is None else used - own_lower + _UNIT
            extent = None if length is None else self.binding.polynomial(length, self.here)
            inside = self._inside(number, own_lower, own_upper)
            found.append(_Extent(lower, extent, inside))
        return found

    def _inside(self, number: int, lower: Poly, upper: Poly | None) -> bool:
        affine = Affine()
        low, high = affine.text(lower), None if upper is None else affine.text(upper)
        outside = f"e{number} < {low}" + (f" or e{number} > {high}" if high is not None else "")
        try:
            return self.elements.restricted([f"({outside})"], affine).is_empty()
        except UndecidedError:
            return False

    def _is_whole_dummy(self) -> bool:
        """Whether the region is the whole dummy, as declared or as far as it is used."""
        constants = self.binding.constants
        affine = Affine()
        constraints = []
        for number, (dim, ends) in enumerate(
            zip(self.dummy.dims or (), self.elements.box(), strict=True)
        ):
            upper = constants(dim.upper) if dim.upper is not None else ends[1]
            low = affine.text(constants(dim.lower or _ONE))
            high = None if upper is None else affine.text(upper)
            if high is None:
                return False
            constraints.append(f"{low} <= e{number} <= {high}")
        whole = Elements.where(self.elements.rank, constraints, affine)
        return whole.is_subset(self.elements)

    @staticmethod
    def _same(extent: _Extent, dim: Dimension) -> bool:
        return (
            extent.extent is not None
            and extent.extent == dim.extent
            and dim.start is not None
            and dim.start == dim.lower
        )

    @staticmethod
    def _identical(own: int, extent: _Extent, dim: Dimension, relation: Relation) -> None:
        text = relation.affine.text(extent.lower)
        if text is None:
            relation.known = False
        else:
            relation.equal(dim.number, dim.start, f" + d{own} - ({text})")

    def _group(self, extents: list[_Extent], own: int, at: int) -> tuple[int, int] | None:
        """The smallest groups of dimensions that have the same number of elements."""
        dims = self.run.dims
        inner = _UNIT
        for end in range(own + 1, len(extents) + 1):
            extent = extents[end - 1]
            if extent.extent is None:
                return None
            inner = inner * extent.extent
            if end < len(extents) and not all(e.inside for e in extents[own:end]):
                continue  # it may run on into the next dimension
            outer = _UNIT
            for stop in range(at + 1, len(dims) + 1):
                dim = dims[stop - 1]
                if dim.extent is None or dim.start is None or dim.start != dim.lower:
                    break
                outer = outer * dim.extent
                if inner == outer:
                    return end, stop
        return None

    def _whole_group(
        self, extents: list[_Extent], own: int, dims: tuple[Dimension, ...], relation: Relation
    ) -> None:
        if self._linear(extents, own, dims, relation):
            return
        for dim in dims:
            assert dim.lower is not None
            assert dim.extent is not None
            low = relation.affine.text(dim.lower)
            high = relation.affine.text(dim.lower + dim.extent - _UNIT)
            if low is None or high is None:
                relation.known = False
            else:
                relation.constraints.append(f"{low} <= e{dim.number} <= {high}")
        relation.known = relation.known and self._is_whole_dummy()

    @staticmethod
    def _linear(
        extents: list[_Extent], own: int, dims: tuple[Dimension, ...], relation: Relation
    ) -> bool:
        """Constant extents: equal offsets in array element order."""
        inner = [e.extent.value if e.extent is not None else None for e in extents[:-1]]
        outer = [d.extent.value if d.extent is not None else None for d in dims[:-1]]
        if None in inner or None in outer or not dims:
            return False
        affine = relation.affine
        left, right = ["0"], ["0"]
        for number, extent in enumerate(extents):
            stride = prod(n for n in inner[:number] if n is not None)
            left.append(f"{stride} * (d{own + number} - ({affine.text(extent.lower)}))")
        limits: list[str] = []
        for number, dim in enumerate(dims):
            stride = prod(n for n in outer[:number] if n is not None)
            low = None if dim.lower is None else affine.text(dim.lower)
            start = None if dim.start is None else affine.text(dim.start)
            if low is None or start is None:
                return False
            left.append(f"{stride} * (({start}) - ({low}))")
            right.append(f"{stride} * (e{dim.number} - ({low}))")
            if number < len(dims) - 1:
                limits.append(f"0 <= e{dim.number} - ({low}) < {outer[number]}")
        relation.constraints += [f"{' + '.join(left)} = {' + '.join(right)}", *limits]
        return True
