"""Regions of a dummy argument as regions of the actual argument (F2018 15.5.2).

An assumed-shape dummy is the actual argument, section by section.  A dummy with bounds of its own
is a run of elements in array element order: as long as its leading extents are those of the actual
argument, its dimensions are that array's; where products of extents agree, a group of dimensions is
a group; constant extents are compared element by element, through the linear offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from asphalt.analysis.algebra import Monomial, Poly, product
from asphalt.analysis.frame import Standpoint
from asphalt.analysis.iterations import around
from asphalt.analysis.sets import Affine, Elements, UndecidedError
from asphalt.analysis.shapes import is_scalar
from asphalt.analysis.symbols import Origin, Scope, Symbol
from asphalt.ir.expr import AltReturn, Component, Expr, Keyword, Lit, Op, Ref, Section

_ONE = Lit("integer", "1")
_UNIT = Poly.constant(1)


@dataclass(frozen=True, slots=True)
class Binding:
    """The arguments of one call: actual arguments by the folded names of the dummies.

    ``callee`` None: a library procedure, which has no names but its dummies.  ``constants`` gives
    the value of an expression of the callee with its named constants replaced.
    """

    callee: Scope | None
    constants: Callable[[Expr], Poly]
    bound: Mapping[str, Expr]

    def value(self, monomial: Monomial, here: Standpoint) -> Poly | None:
        """What a product has on entry to the callee, in terms of the caller."""
        factors = [self._atom(atom, here) for atom in monomial]
        known = [factor for factor in factors if factor is not None]
        return product(known) if len(known) == len(factors) else None

    def polynomial(self, poly: Poly, here: Standpoint) -> Poly | None:
        """A polynomial of the callee's entry in terms of the caller."""
        total = Poly()
        for monomial, coefficient in poly.terms:
            value = self.value(monomial, here)
            if value is None:
                return None
            total = total + value * Poly.constant(coefficient)
        return total

    def _atom(self, atom: Expr, here: Standpoint) -> Poly | None:
        match atom:
            case Ref(name="size", args=(Ref(name=name, args=None), Lit() as dim)) if (
                name in self.bound and dim.integer is not None
            ):
                return _extent_passed(self.bound[name], dim.integer - 1, here)
        expr = self._expression(atom, here)
        return None if expr is None else here.value(expr)

    def _expression(self, expr: Expr, here: Standpoint) -> Expr | None:
        """An expression of the callee as one of the caller; None: it has none."""
        match expr:
            case Lit():
                return expr
            case Ref(name=name, args=args):
                if name in self.bound:
                    actual = self.bound[name]
                    scalar = args is None and is_scalar(actual, here.frame.scope)
                    return actual if scalar else None
                parts = []
                for arg in args or ():
                    if isinstance(arg, Section | Keyword | AltReturn):
                        return None
                    part = self._expression(arg, here)
                    if part is None:
                        return None
                    parts.append(part)
                if not self._same_name(name, here.frame.scope):
                    return None
                return Ref(name, name, None if args is None else tuple(parts))
            case Op(op=op, operands=operands):
                inner = [self._expression(operand, here) for operand in operands]
                known = [operand for operand in inner if operand is not None]
                return Op(op, tuple(known)) if len(known) == len(inner) else None
        return None

    def _same_name(self, name: str, caller: Scope) -> bool:
        own = None if self.callee is None else self.callee.lookup(name)
        other = caller.lookup(name)
        if own is None or other is None:
            return False
        if own.origin is Origin.INTRINSIC:
            return other.origin is Origin.INTRINSIC
        shared = (Origin.MODULE, Origin.HOST, Origin.PARAMETER)
        return own.origin in shared and own.identity == other.identity


def _extent_passed(actual: Expr, dimension: int, here: Standpoint) -> Poly | None:
    run = _run_of(actual, here)
    if run is None or run.element or dimension >= len(run.dims):
        return None
    return run.dims[dimension].extent


@dataclass(frozen=True, slots=True)
class _Dimension:
    """A dimension of the actual argument: index = ``start`` + position * ``stride``.

    ``lower``: the smallest index that the run may have there.
    """

    number: int
    lower: Poly | None
    extent: Poly | None
    start: Poly | None
    stride: int | None = 1


@dataclass(frozen=True, slots=True)
class _Run:
    """What is passed: its dimensions, and the subscripts of the others; ``element``: an element
    is passed, and the run goes on from it."""

    rank: int
    dims: tuple[_Dimension, ...]
    fixed: tuple[tuple[int, Poly | None], ...] = ()
    element: bool = False


def _run_of(actual: Expr, here: Standpoint) -> _Run | None:
    if not isinstance(actual, Ref):
        return None
    shape = here.shape(actual.name)
    if shape is None:
        symbol = here.frame.scope.lookup(actual.name)
        scalar = symbol is not None and symbol.dims is None and actual.args is None
        return _Run(0, ()) if scalar else None
    if actual.args is None:
        whole = tuple(
            _Dimension(number, lower, extent, lower)
            for number, (lower, extent) in enumerate(zip(shape.lower, shape.extent, strict=True))
        )
        return _Run(shape.rank, whole)
    if len(actual.args) != shape.rank:
        return None
    subscripts = [a for a in actual.args if not isinstance(a, Keyword | AltReturn)]
    if len(subscripts) < shape.rank:
        return None
    sections = any(isinstance(a, Section) for a in subscripts)
    dims: list[_Dimension] = []
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
            dims.append(_Dimension(number, lower, extent, start))
    return _Run(shape.rank, tuple(dims), tuple(fixed), not sections)


def _triplet(
    number: int, section: Section, lower: Poly, extent: Poly | None, here: Standpoint
) -> _Dimension:
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
    return _Dimension(number, start, length, start, stride)


@dataclass(slots=True)
class _Relation:
    """The constraints between indices ``d0`` ... of the dummy and ``e0`` ... of the argument.

    ``within``: limits of indices; beyond them an element belongs to another index of the next
    dimension.  ``known``: the relation leaves nothing open.
    """

    affine: Affine
    constraints: list[str] = field(default_factory=list)
    within: list[tuple[int, Poly, Poly]] = field(default_factory=list)
    known: bool = True

    def equal(self, number: int, value: Poly | None, more: str = "") -> None:
        """The index in a dimension is a value plus something."""
        text = None if value is None else self.affine.text(value)
        if text is None:
            self.known = False
        else:
            self.constraints.append(f"e{number} = {text}{more}")


def carried(
    elements: Elements,
    dummy: Symbol,
    actual: Expr,
    binding: Binding,
    here: Standpoint,
    *,
    must: bool,
) -> Elements | None:
    """The elements of the actual argument that ``elements`` of a dummy are.

    ``must``: only such; else at least these.  None: it cannot be told.  Indices are those that the
    dummy's mean, which may lie beyond the bounds of a dimension where the dummy's do.
    """
    run = _run_of(actual, here)
    if run is None:
        return None
    image = _Image(elements, binding, here, run, must)
    relation = _Relation(Affine(here.varying))
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
    sequence = _Sequence(elements, dummy, run, binding, here)
    alike = sequence.alike(replace(relation, constraints=list(relation.constraints), within=[]))
    found = None if alike is None else image.by(alike)
    if alike is not None and found is not None and _stays_within(found, alike, here):
        return found
    grouped = sequence.grouped(relation)
    if grouped.known or found is None:
        return image.by(grouped)
    return found


@dataclass(frozen=True, slots=True)
class _Image:
    """Elements of a dummy to be seen as elements of what is passed."""

    elements: Elements
    binding: Binding
    here: Standpoint
    run: _Run
    must: bool

    def by(self, relation: _Relation) -> Elements | None:
        """The elements that a relation gives; None: it cannot be told."""
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


def _stays_within(found: Elements, relation: _Relation, here: Standpoint) -> bool:
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
    run: _Run, dummy: Symbol, binding: Binding, here: Standpoint, relation: _Relation
) -> None:
    assert dummy.dims is not None
    for position, (dim, own) in enumerate(zip(run.dims, dummy.dims, strict=True)):
        lower = binding.polynomial(binding.constants(own.lower or _ONE), here)
        text = None if lower is None else relation.affine.text(lower)
        if text is None or dim.stride is None:
            relation.known = False
            continue
        relation.equal(dim.number, dim.start, f" + {dim.stride} * (d{position} - ({text}))")


@dataclass(frozen=True, slots=True)
class _Extent:
    """A dimension of the dummy in terms of the caller; ``inside``: all indices stay in it."""

    lower: Poly
    extent: Poly | None
    inside: bool


@dataclass(slots=True)
class _Sequence:
    """Sequence association (F2018 15.5.2.11) of a dummy that has bounds of its own."""

    elements: Elements
    dummy: Symbol
    run: _Run
    binding: Binding
    here: Standpoint

    def alike(self, relation: _Relation) -> _Relation | None:
        """The relation where the dummy has the leading extents of what is passed, so that its
        indices are those of the argument even beyond their bounds; None: it has not.

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

    def grouped(self, relation: _Relation) -> _Relation:
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
        """The dummy's dimensions; the last extent of an assumed-size dummy is what is used."""
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
        """Whether the region is the whole dummy, as it is declared or as far as it is used."""
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
    def _same(extent: _Extent, dim: _Dimension) -> bool:
        return (
            extent.extent is not None
            and extent.extent == dim.extent
            and dim.start is not None
            and dim.start == dim.lower
        )

    @staticmethod
    def _identical(own: int, extent: _Extent, dim: _Dimension, relation: _Relation) -> None:
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
        self, extents: list[_Extent], own: int, dims: tuple[_Dimension, ...], relation: _Relation
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
        extents: list[_Extent], own: int, dims: tuple[_Dimension, ...], relation: _Relation
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


def root_of(actual: Expr) -> str | None:
    """The variable that an actual argument is, or is a part of."""
    match actual:
        case Ref(name=name):
            return name
        case Component(base=base):
            return root_of(base)
    return None
