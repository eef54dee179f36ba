"""A called procedure in terms of its callers, with the regions of their variables that it
accesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from asphalt.analysis.effects.argument_binding import Binding
from asphalt.analysis.effects.argument_regions import actual_region
from asphalt.analysis.effects.array_flow import Flow
from asphalt.analysis.effects.summary import Summary
from asphalt.analysis.memory.invariant_frame import Standpoint
from asphalt.analysis.names.scopes import Scope, Symbol, element_bytes
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.records import record


@record
class Callee:
    """A procedure of the tree, or of a library (``scope`` None).

    ``symbol``: the declaration of a dummy.  ``flow``: the regions of a dummy or a shared variable,
    in terms of values on entry.  ``constants``: the value of an expression with named constants
    replaced.
    """

    summary: Summary
    scope: Scope | None
    symbol: Callable[[str], Symbol | None]
    flow: Callable[[str], Flow]
    constants: Callable[[Expr], Poly]


@record
class ArgumentPart:
    """The region of an actual argument (``writes``: the one that the call changes)."""

    callee: Callee
    dummy: str
    actual: Ref
    bound: Mapping[str, Expr]
    writes: bool
    _known: dict[object, Elements] = field(default_factory=dict)

    @property
    def passed(self) -> str | None:
        """The array, if the dummy has bounds of its own."""
        own = self.callee.symbol(self.dummy)
        dims = () if own is None else own.dims or ()
        return self.actual.name if any(d.kind in _OWN_BOUNDS for d in dims) else None

    def touched(self, here: Standpoint) -> Elements:
        """A superset of the elements of the actual argument that are read, or written."""
        return self._asked(here, must=False)

    def surely_written(self, here: Standpoint) -> Elements:
        """A subset of the elements that every call defines."""
        return self._asked(here, must=True)

    def _asked(self, here: Standpoint, *, must: bool) -> Elements:
        key = (must, here.products, here.frame.changing, id(here.at), tuple(map(id, here.loops)))
        if key not in self._known:
            self._known[key] = self._carried(here, must=must)
        return self._known[key]

    def _carried(self, here: Standpoint, *, must: bool) -> Elements:
        scope = here.frame.scope
        symbol, own = scope.lookup(self.actual.name), self.callee.symbol(self.dummy)
        rank = 0 if symbol is None or symbol.dims is None else len(symbol.dims)
        unknown = Elements.none(rank, exact=False) if must else Elements.all(rank, exact=False)
        if symbol is None or own is None or own.attrs & {"allocatable", "pointer", "optional"}:
            return unknown
        if not same_elements(own, symbol, self.callee.scope, scope):
            return unknown
        flow = self.callee.flow(self.dummy)
        elements = flow.surely if must else flow.maybe if self.writes else flow.exposed
        binding = Binding(self.callee.scope, self.callee.constants, self.bound)
        found = actual_region(elements, own, self.actual, binding, here, must=must)
        return unknown if found is None else found


@record
class SharedPart:
    """The region of a variable that caller and callee share: ``storage`` in the callee."""

    callee: Callee
    storage: str
    bound: Mapping[str, Expr]
    writes: bool

    @property
    def passed(self) -> str | None:
        """None: caller and procedure access the array with the same shape."""
        return None

    def touched(self, here: Standpoint) -> Elements:
        """A superset of the elements that are read, or written."""
        flow = self.callee.flow(self.storage)
        elements = flow.maybe if self.writes else flow.exposed
        found = self._seen(elements, here, must=False)
        return Elements.all(elements.rank, exact=False) if found is None else found

    def surely_written(self, here: Standpoint) -> Elements:
        """A subset of the elements that every call defines."""
        elements = self.callee.flow(self.storage).surely
        found = self._seen(elements, here, must=True)
        return Elements.none(elements.rank, exact=False) if found is None else found

    def _seen(self, elements: Elements, here: Standpoint, *, must: bool) -> Elements | None:
        binding = Binding(self.callee.scope, self.callee.constants, self.bound)
        values = {meaning: binding.value(meaning, here) for _, meaning in elements.parameters}
        same = [f"e{number} = d{number}" for number in range(elements.rank)]
        try:
            return elements.image(elements.rank, same, values, Affine(here.varying), exact=must)
        except UndecidedError:
            return None


def same_elements(own: Symbol, other: Symbol, callee: Scope | None, caller: Scope) -> bool:
    """Whether elements of two variables have the same type and size."""
    if own.type is None or other.type is None:
        return False
    if own.type.base == "type":
        return other.type.base == "type" and own.type.name == other.type.name
    if (own.type.base in _COMPLEX) != (other.type.base in _COMPLEX):
        return False
    size = element_bytes(own, callee or caller)
    return size is not None and size == element_bytes(other, caller)


_OWN_BOUNDS = ("explicit", "assumed_size")
_COMPLEX = ("complex", "double_complex")
