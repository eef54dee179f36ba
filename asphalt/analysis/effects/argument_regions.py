"""Regions of a dummy argument as regions of the actual argument (F2018 15.5.2).

An assumed-shape dummy is associated with the actual argument section by section; for a dummy with
bounds of its own see ``sequence_association``.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.effects.actual_extents import PassedElements, Relation, run_of
from asphalt.analysis.effects.argument_binding import Binding
from asphalt.analysis.effects.sequence_association import SequenceAssociation
from asphalt.analysis.memory.invariant_frame import Standpoint
from asphalt.analysis.memory.loop_domains import around
from asphalt.analysis.names.scopes import Symbol
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Lit
from asphalt.ir.records import record

_ONE = Lit("integer", "1")
_UNIT = Poly.constant(1)


def actual_region(
    elements: Elements,
    dummy: Symbol,
    actual: Expr,
    binding: Binding,
    here: Standpoint,
    *,
    must: bool,
) -> Elements | None:
    """The elements of the actual argument with which ``elements`` of a dummy are associated.

    ``must``: a subset of them; else a superset.  None: unknown.  Indices may be outside of a
    dimension where those of the dummy are.
    """
    run = run_of(actual, here)
    if run is None:
        return None
    image = _Image(elements, binding, here, run, must)
    relation = Relation(Affine(here.varying))
    for number, start in run.fixed:
        relation.equal(number, start)
    if dummy.dims is None:
        if run.dims and not run.element:
            return None  # an elemental call
        for dim in run.dims:
            relation.equal(dim.number, dim.start)
        return image.by(relation)
    if any(dim.kind == "assumed_shape" for dim in dummy.dims):
        if len(run.dims) != len(dummy.dims) or run.element:
            return None
        _shaped(run, dummy, binding, here, relation)
        return image.by(relation)
    kinds = {dim.kind for dim in dummy.dims}
    if not kinds <= {"explicit", "assumed_size"} or any(dim.stride != 1 for dim in run.dims):
        return None
    sequence = SequenceAssociation(elements, dummy, run, binding, here)
    alike = sequence.alike(replace(relation, constraints=list(relation.constraints), within=[]))
    found = None if alike is None else image.by(alike)
    whole = None if must else _whole_run(dummy, run, binding, here)
    limits = [relation for relation in (alike, whole) if relation is not None]
    if found is not None and all(_stays_within(found, limit, here) for limit in limits):
        return found
    if whole is not None:
        return replace(Elements.where(run.rank, whole.constraints, whole.affine), exact=False)
    grouped = sequence.grouped(relation)
    if grouped.known or found is None:
        return image.by(grouped)
    return found


def _whole_run(
    dummy: Symbol, run: PassedElements, binding: Binding, here: Standpoint
) -> Relation | None:
    """The elements that are passed for an explicit-shape dummy that has as many as some leading
    dimensions of the array, from their first ones on, whatever its subscripts are; None: it has
    others, or may have: programs of FORTRAN 66 declare ``a(1)`` and ``a(n,1)`` for an array of any
    size."""
    size = last = _UNIT
    for own in dummy.dims or ():
        if own.upper is None:
            return None
        length = binding.constants(own.upper) - binding.constants(own.lower or _ONE) + _UNIT
        extent = binding.polynomial(length, here)
        if extent is None:
            return None
        size, last = size * extent, extent
    if last == _UNIT:
        return None
    relation = Relation(Affine(here.varying))
    elements = _UNIT
    for dim in run.dims:
        if elements == size:
            relation.equal(dim.number, dim.start)
            continue
        if dim.lower is None or dim.extent is None or dim.start != dim.lower:
            return None
        elements = elements * dim.extent
        upper = dim.lower + dim.extent - _UNIT
        low, high = relation.affine.text(dim.lower), relation.affine.text(upper)
        if low is None or high is None:
            return None
        relation.constraints.append(f"{low} <= e{dim.number} <= {high}")
        relation.within.append((dim.number, dim.lower, upper))
    return relation if elements == size and relation.known and run.element else None


@record
class _Image:
    """Elements of a dummy to be translated to elements of the actual argument."""

    elements: Elements
    binding: Binding
    here: Standpoint
    run: PassedElements
    must: bool

    def by(self, relation: Relation) -> Elements | None:
        """The elements that a relation gives; None: unknown."""
        if self.must and not relation.known:
            return None
        values = {
            meaning: self.binding.value(meaning, self.here)
            for _, meaning in self.elements.parameters
        }
        try:
            found = self.elements.image(
                self.run.rank, relation.constraints, values, relation.affine, exact=self.must
            )
        except UndecidedError:
            return None
        if found is None or relation.known:
            return found
        return replace(found, exact=False)


def _stays_within(found: Elements, relation: Relation, here: Standpoint) -> bool:
    affine = Affine(relation.affine.varying)
    known = around(here, affine)
    for number, lower, upper in relation.within:
        low, high = affine.text(lower), affine.text(upper)
        if low is None or high is None:
            return False
        try:
            for beyond in (f"e{number} < {low}", f"e{number} > {high}"):
                if not found.restricted([*known, beyond], affine).is_empty():
                    return False
        except UndecidedError:
            return False
    return True


def _shaped(
    run: PassedElements, dummy: Symbol, binding: Binding, here: Standpoint, relation: Relation
) -> None:
    assert dummy.dims is not None
    for position, (dim, own) in enumerate(zip(run.dims, dummy.dims, strict=True)):
        lower = binding.polynomial(binding.constants(own.lower or _ONE), here)
        text = None if lower is None else relation.affine.text(lower)
        if text is None or dim.stride is None:
            relation.known = False
            continue
        relation.equal(dim.number, dim.start, f" + {dim.stride} * (d{position} - ({text}))")
