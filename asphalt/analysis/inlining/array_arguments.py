"""A dummy array and its actual argument (F2018 15.5.2.11): the same array under another name, or
element i + shift of it for element i."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from asphalt.analysis.effects.specification_expressions import evaluated_on_entry
from asphalt.analysis.inlining.call_context import CallContext, is_placed
from asphalt.analysis.inlining.codes import ARGUMENT, RefusedError
from asphalt.analysis.inlining.replacement import Flattened, Renamed, Replacement, Shifted
from asphalt.analysis.inlining.sequence_arguments import (
    SEQUENCES,
    has_default_size,
    is_sequence,
    only_addressed,
    only_elements,
)
from asphalt.analysis.inlining.uses import ArrayUses
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.reallocation import moved_at
from asphalt.analysis.memory.shapes import Shape
from asphalt.analysis.names.designators import designator_name
from asphalt.analysis.names.scopes import Symbol
from asphalt.analysis.names.visibility import hidden_component
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Arg, Component, Lit, Op, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import Dim

_ONE = Lit("integer", "1")


@record
class ArrayArgument:
    """A dummy array and its actual argument."""

    context: CallContext
    uses: ArrayUses
    dummy: str
    symbol: Symbol
    actual: Ref | Component
    shape: Shape

    def found(self) -> Replacement:
        """The replacement of the dummy.

        Raises:
            RefusedError: it is not simply a part of the array, nor the same sequence of elements.
        """
        try:
            return self._part()
        except RefusedError:
            found = self._sequence()
            if found is None:
                raise
            return found

    def _sequence(self) -> Replacement | None:
        """The replacement of a dummy with the elements of a whole array in another shape."""
        actual, scope, dims = self.actual, self.context.callee, self.symbol.dims or ()
        outer = self.context.caller.lookup(actual.name) if isinstance(actual, Ref) else None
        if outer is None or actual.args is not None:
            return None
        if not is_sequence(outer) or {dim.kind for dim in dims} - SEQUENCES:
            return None
        names = self.context.facts.effects.names(scope)
        if evaluated_on_entry(scope, names).of(names.storage(self.dummy)):
            return None
        body, spelled = scope.unit.body, self.context.spelled(actual)
        if only_addressed(self.dummy, body, scope):
            return Renamed(spelled)
        if self.shape.rank != 1 or not only_elements(self.dummy, body, scope):
            return None
        if not has_default_size(self.shape.extent[0], self.context.caller):
            return None
        lower = tuple(self.context.in_caller(dim.lower or _ONE, self.context.here) for dim in dims)
        extents = tuple(map(self._extent, dims[:-1]))
        start = self.context.known(self.shape.lower[0])
        needed = [value for value in (start, *lower, *extents) if value is not None]
        if len(needed) != 2 * len(dims) or not all(map(self._has_text, needed)):
            return None
        known = [value for value in (*lower, *extents) if value is not None]
        return Flattened(spelled, start, tuple(known[: len(dims)]), tuple(known[len(dims) :]))

    def _has_text(self, value: Poly) -> bool:
        """Whether a value can be written in the caller, wherever the procedure needs it."""
        if any(is_placed(a) or (isinstance(a, Ref) and a.args) for a in value.atoms):
            return False
        return has_default_size(value, self.context.caller) and self.context.stays(
            tuple(value.atoms)
        )

    def _part(self) -> Replacement:
        """The replacement of a dummy that is a part of the array."""
        dims = self.symbol.dims
        assert dims is not None
        whole = self.actual.args is None
        start = self._start(len(dims))
        if len(dims) > self.shape.rank or (whole and len(dims) != self.shape.rank):
            raise RefusedError(ARGUMENT, f"{self.dummy} has another rank than its actual argument")
        kinds = {dim.kind for dim in dims}
        if kinds & {"assumed_rank", "deferred"} and "allocatable" not in self.symbol.attrs:
            raise RefusedError(ARGUMENT, f"{self.dummy} is of assumed rank or deferred shape")
        if not whole and "assumed_shape" in kinds and not self._sections:
            raise RefusedError(ARGUMENT, f"a part of an array is passed for {self.dummy}")
        if any(one != Section(None, None, None) for one in self._sections[:-1]):
            raise RefusedError(ARGUMENT, f"a section with gaps is passed for {self.dummy}")
        equal = tuple(self._extent_is_that(n, dim, start[n]) for n, dim in enumerate(dims))
        # no dummy has elements beyond a section (F2018 15.5.2.11)
        inside = equal[-1] or bool(self._sections) or self._fits(dims, start)
        if len(dims) < self.shape.rank and not inside:
            message = f"{self.dummy} may reach beyond dimension {len(dims)} of "
            raise RefusedError(ARGUMENT, message + self.context.spelled(self.actual))
        self._check_uses(equal, whole)
        spelled = self.context.spelled(self.actual)
        if "allocatable" in self.symbol.attrs and isinstance(self.actual, Ref):
            return Renamed(spelled)
        if whole and only_addressed(
            self.dummy, self.context.callee.unit.body, self.context.callee
        ):  # no subscript names its bounds
            shifts = (Poly(),) * len(dims)
        else:
            shifts = tuple(self._shift(dim, start[n]) for n, dim in enumerate(dims))
        for shift in shifts:
            if not self.context.stays(tuple(shift.atoms)):
                raise RefusedError(ARGUMENT, f"a bound of {self.dummy} changes in the procedure")
        tail = () if whole else (self.actual.args or ())[len(dims) :]
        if whole and isinstance(self.actual, Ref) and all(shift == Poly() for shift in shifts):
            return Renamed(spelled)
        return Shifted(replace(self.actual, spelled=spelled), shifts, tail)  # type: ignore[arg-type]

    def _start(self, rank: int) -> tuple[Poly, ...]:
        """The subscripts of the first element that is passed."""
        if self.actual.args is None:
            return self.shape.lower
        values = []
        sections = self._sections
        if sections and (len(sections) != rank or len(self.actual.args) != self.shape.rank):
            raise RefusedError(ARGUMENT, f"{self.dummy} has another rank than its actual argument")
        for number, given in enumerate(self.actual.args):
            arg: Arg = given
            if number < len(sections):
                first = sections[number].lower
                if first is None:
                    values.append(self.shape.lower[number])
                    continue
                arg = first
            if not isinstance(arg, Ref | Lit | Op) or not is_scalar(arg, self.context.caller):
                raise RefusedError(ARGUMENT, f"a section is passed for {self.dummy}")
            if not self.context.stays((arg,)):
                raise RefusedError(
                    ARGUMENT,
                    f"a subscript of what is passed for {self.dummy} changes in the procedure",
                )
            values.append(self.context.facts.values.polynomial(arg, self.context.call))
        if len(values) != self.shape.rank:
            raise RefusedError(ARGUMENT, f"{self.dummy} would need other subscripts")
        return tuple(values)

    @property
    def _sections(self) -> tuple[Section, ...]:
        """The ranges of consecutive subscripts that are passed, of the leading dimensions."""
        plain = (isinstance(arg, Section) and arg.stride is None for arg in self.actual.args or ())
        number = len(tuple(takewhile(bool, plain)))
        return tuple(arg for arg in (self.actual.args or ())[:number] if isinstance(arg, Section))

    def _extent_is_that(self, number: int, dim: Dim, start: Poly) -> bool:
        """Whether a dimension of the dummy is one of the array.

        Raises RefusedError if it must be, because a further dimension follows, and is not shown to
        be.
        """
        last = number == len(self.symbol.dims or ()) - 1
        lower, extent = self.shape.lower[number], self.shape.extent[number]
        begins = start == lower
        if dim.kind in ("assumed_shape", "deferred"):
            whole = Section(None, None, None)
            return not self._sections or self._sections[number] == whole
        own = self._extent(dim)
        other = None if extent is None else self.context.known(extent)
        same = own is not None and own == other
        if not last and not (same and begins):
            differ = own is not None and other is not None and (own - other).value is not None
            has = "does not have" if differ and not same else "is not known to have"
            name = self.context.spelled(self.actual)
            message = (
                f"dimension {number + 1} of the dummy {self.dummy} {has} the extent of that of"
            )
            raise RefusedError(ARGUMENT, f"{message} the array {name}{self._why_unknown(has)}")
        return same and begins

    def _why_unknown(self, has: str) -> str:
        """What may change the extents of the array, where that is known."""
        name = designator_name(self.actual)
        if self.shape.stated or name is None or "known" not in has:
            return ""
        facts = self.context.facts
        moved = moved_at(name, facts.values)
        return "" if moved is None else f": the MOVE_ALLOC in {facts.at(moved)} may change it"

    def _extent(self, dim: Dim) -> Poly | None:
        """The extent of a dimension of the dummy; None: not known in the caller."""
        if dim.upper is None:
            return None
        high = self.context.in_caller(dim.upper, self.context.here)
        low = self.context.in_caller(dim.lower or _ONE, self.context.here)
        return None if high is None or low is None else high - low + Poly.constant(1)

    def _fits(self, dims: tuple[Dim, ...], start: tuple[Poly, ...]) -> bool:
        """Whether the last dimension of a dummy of lower rank certainly stays within one of the
        array: the elements behind it have other subscripts there."""
        last = len(dims) - 1
        lower, extent, own = self.shape.lower[last], self.shape.extent[last], self._extent(dims[-1])
        if extent is None or own is None:
            return False
        known, first = self.context.known, self.context.known(start[last])
        before = (first - known(lower)).value
        room = (known(lower) + known(extent) - first - own).value
        return before is not None and before >= 0 and room is not None and room >= 0

    def _shift(self, dim: Dim, start: Poly) -> Poly:
        own = self.context.in_caller(dim.lower or _ONE, self.context.here)
        hidden = hidden_component(dim.lower or _ONE, self.context.callee, self.context.caller)
        if own is None or hidden is not None:
            raise RefusedError(ARGUMENT, f"a bound of {self.dummy} is not known in the caller")
        shift = self.context.known(start) - own
        if any(is_placed(a) or (isinstance(a, Ref) and a.args) for a in shift.atoms):
            raise RefusedError(ARGUMENT, f"a bound of {self.dummy} is not known in the caller")
        return shift

    def _check_uses(self, equal: tuple[bool, ...], whole: bool) -> None:
        uses, name = self.uses, self.dummy
        same = whole and all(equal)
        # a dummy of assumed size stands alone only where its address counts (F2018 8.5.8.5)
        sized = self.symbol.dims is not None and self.symbol.dims[-1].kind == "assumed_size"
        if not same and name in uses.whole and not (whole and sized):
            raise RefusedError(
                ARGUMENT, f"all of {name} is used, which is a part of its actual argument"
            )
        for number, exact in enumerate(equal):
            if not exact and (name, number) in uses.open_ends:
                raise RefusedError(
                    ARGUMENT,
                    f"a whole dimension of {name} is used, which is not one of its actual argument",
                )
        if not whole and name in uses.passed:
            raise RefusedError(ARGUMENT, f"{name}, a part of an array, is passed on")
        if name in uses.bounds and not self._has_same_bounds(same):
            raise RefusedError(ARGUMENT, f"the procedure inquires about the bounds of {name}")

    def _has_same_bounds(self, same: bool) -> bool:
        if "allocatable" in self.symbol.attrs:
            return True
        dims = self.symbol.dims or ()
        return same and all(
            self.context.in_caller(dim.lower or _ONE, self.context.here)
            == self.context.known(lower)
            for dim, lower in zip(dims, self.shape.lower, strict=True)
        )
