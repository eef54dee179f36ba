"""What stands for the dummy arguments of a procedure at one of its calls (F2018 15.5.2).

A variable of the same type and shape is the dummy under another name.  An array with other bounds
is, where its leading extents are those of the dummy: then element i of the dummy is element
i + shift, and a whole dimension is one.  What is computed for a call is computed once, before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from asphalt.analysis.access import EffectKind, Footprint
from asphalt.analysis.algebra import Poly
from asphalt.analysis.binding import Binding
from asphalt.analysis.call_sites import CallSite, CallSites
from asphalt.analysis.frame import Frame, Standpoint
from asphalt.analysis.inlining.codes import ARGUMENT, TWICE, RefusedError
from asphalt.analysis.inlining.replacement import Renamed, Replacement, Shifted, Standing
from asphalt.analysis.inlining.types import expression_key, symbol_key
from asphalt.analysis.inlining.uses import ArrayUses
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.objects import designator_name, object_named, symbol_named
from asphalt.analysis.shapes import Shape, is_scalar
from asphalt.analysis.shared import storages_in
from asphalt.analysis.summary import Summary
from asphalt.analysis.symbols import Origin, Scope, Symbol, constant
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.analysis.values import constants_in
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref, Section, names_in, walk
from asphalt.ir.stmt import Dim
from asphalt.ir.tree import Leaf

_ONE = Lit("integer", "1")
_VARIABLES = (
    Origin.LOCAL, Origin.DUMMY, Origin.RESULT, Origin.COMMON, Origin.MODULE, Origin.HOST,
)  # fmt: skip
_SHARED = (Origin.MODULE, Origin.COMMON, Origin.HOST)
_SAME = ("allocatable", "target", "volatile", "asynchronous")
_NUMBERS = ("integer", "real", "double_precision", "complex", "double_complex", "logical")
_UNSEEN = (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE, EffectKind.STATE)


@dataclass(frozen=True, slots=True)
class Arguments:
    """``names``: what stands for each dummy; ``before``: new variables by the dummy that they are
    for, with their values; ``absent``: optional dummies without an argument; ``given``: those with
    one."""

    names: Mapping[str, Replacement]
    before: tuple[tuple[str, Expr], ...]
    given: frozenset[str]


@dataclass
class Passed:
    """The arguments of one call; ``bound``: by the folded names of the dummies."""

    facts: UnitFacts
    call: Leaf
    callee: Scope
    bound: Mapping[str, Expr]
    uses: ArrayUses
    sites: CallSites
    _names: dict[str, Replacement] = field(default_factory=dict)
    _before: list[tuple[str, Expr]] = field(default_factory=list)

    def __post_init__(self) -> None:
        summary = self.facts.effects.summary(self.callee.located)
        if summary is None:
            raise RefusedError(ARGUMENT, "what the procedure changes is not known")
        self.summary: Summary = summary
        self.done: Footprint = self.facts.footprint(self.call)
        self.changed: frozenset[str] = self.done.written()
        self.unseen: bool = any(e.kind in _UNSEEN for e in self.done.effects)

    @property
    def caller(self) -> Scope:
        """The scope of the call."""
        return self.facts.scope

    def found(self) -> Arguments:
        """What stands for the dummies.

        Raises:
            RefusedError: an argument is not simply its dummy.
        """
        given = set()
        for dummy in self.summary.dummies:
            symbol = self.callee.lookup(dummy)
            if symbol is None or symbol.type is None or symbol.attrs & {"external", "procedure"}:
                raise RefusedError(ARGUMENT, f"{dummy} is not declared as a variable")
            actual = self.bound.get(dummy)
            if "optional" in symbol.attrs:
                if actual is not None:
                    given.add(dummy)
                elif dummy not in self.uses.names:
                    continue
            if actual is None:
                raise RefusedError(ARGUMENT, f"nothing is passed for {dummy}")
            self._check_attributes(dummy, symbol, actual)
            if symbol.dims is None:
                self._scalar(dummy, symbol, actual)
            else:
                self._array(dummy, symbol, actual)
        self._check_twice()
        return Arguments(self._names, tuple(self._before), frozenset(given))

    def _check_attributes(self, dummy: str, symbol: Symbol, actual: Expr) -> None:
        if "pointer" in symbol.attrs or (symbol.type and symbol.type.base == "class"):
            raise RefusedError(ARGUMENT, f"{dummy} is a pointer, or of no fixed type")
        outer = self.caller.lookup(actual.name) if isinstance(actual, Ref) else None
        attrs = frozenset() if outer is None else outer.attrs
        if outer is not None and "optional" in attrs:
            raise RefusedError(ARGUMENT, f"{outer.spelled}, passed for {dummy}, may be missing")
        for attr in _SAME:
            if attr == "allocatable" and attr not in symbol.attrs:
                continue
            if (attr in symbol.attrs) != (attr in attrs):
                raise RefusedError(
                    ARGUMENT, f"only one of {dummy} and what is passed has the attribute {attr}"
                )
        derived = symbol.type is not None and symbol.type.base == "type"
        if symbol.intent == "out" and (derived or "allocatable" in symbol.attrs):
            raise RefusedError(ARGUMENT, f"{dummy} is made anew by INTENT(OUT)")

    # scalars

    def _scalar(self, dummy: str, symbol: Symbol, actual: Expr) -> None:
        key = symbol_key(symbol, self.callee)
        written = dummy in self.summary.written or (self.unseen and symbol.intent != "in")
        own = expression_key(actual, self.caller)
        if key is None or key != own:
            raise RefusedError(ARGUMENT, f"{dummy} has not the type of what is passed")
        if not is_scalar(actual, self.caller):
            raise RefusedError(ARGUMENT, f"{dummy} is a scalar, and an array is passed")
        copied = "value" in symbol.attrs
        if isinstance(actual, Component) and is_object(actual, self.caller) and not copied:
            self._names[dummy] = Standing(actual)
            return
        if isinstance(actual, Ref) and self._is_variable(actual) and not copied:
            if actual.args is None:
                self._names[dummy] = Renamed(self.spelled(actual))
                return
            if self._stays(actual.args) and (written or self._stays((actual,))):
                self._names[dummy] = Standing(actual)
                return
        if written and not copied:
            raise RefusedError(ARGUMENT, f"the procedure changes {dummy}: a value is passed")
        value = self._constant(actual)
        if value is not None and not copied:
            self._names[dummy] = Standing(value)
        elif symbol.type is not None and symbol.type.base in _NUMBERS:
            if not copied and not self._stays((actual,)):
                message = f"what is passed for {dummy} is made of what the procedure changes"
                raise RefusedError(ARGUMENT, message)
            self._before.append((dummy, actual))
        else:
            raise RefusedError(ARGUMENT, f"the value for {dummy} cannot be kept")

    def _constant(self, actual: Expr) -> Expr | None:
        """The expression where it is an integer or logical constant."""
        match actual:
            case Lit(kind="integer" | "logical"):
                return actual
            case Op(op="-", operands=(Lit(kind="integer"),)):
                return actual
            case Ref(args=None) if not self._is_variable(actual):
                symbol = self.caller.lookup(actual.name)
                scalar = symbol is not None and symbol.dims is None
                return actual if scalar else None
        return None

    def _is_variable(self, ref: Ref) -> bool:
        symbol = self.caller.lookup(ref.name)
        return (
            symbol is not None
            and symbol.origin in _VARIABLES
            and (ref.args is None or symbol.dims is not None)
        )

    def _stays(self, exprs: tuple[object, ...]) -> bool:
        """Whether the call changes nothing that expressions are made of."""
        for expr in exprs:
            if isinstance(expr, Section):
                return False
            for name in names_in(expr):  # type: ignore[arg-type]
                if storage_of(name, self.caller) in self.changed:
                    return False
                symbol = self.caller.lookup(name)
                if symbol is None or (self.unseen and symbol.origin in _SHARED):
                    return False
        return True

    def spelled(self, actual: Ref | Component) -> str:
        """The name of a variable as it is declared; of a component as it stands."""
        symbol = self.caller.lookup(actual.name) if isinstance(actual, Ref) else None
        return symbol.spelled if symbol and symbol.name == actual.name else actual.spelled

    # arrays

    def _array(self, dummy: str, symbol: Symbol, actual: Expr) -> None:
        name = designator_name(actual)
        outer = None if name is None else symbol_named(name, self.caller)
        if not isinstance(actual, Ref | Component) or outer is None or outer.dims is None:
            raise RefusedError(ARGUMENT, f"{dummy} is an array, and no array is passed")
        key = symbol_key(symbol, self.callee)
        if key is None or key != symbol_key(outer, self.caller):
            raise RefusedError(ARGUMENT, f"{dummy} has not the type of {outer.spelled}")
        if "pointer" in outer.attrs:
            raise RefusedError(ARGUMENT, f"{outer.spelled} is a pointer")
        here = Standpoint(Frame(self.facts.values, frozenset()), self.call, ())
        shape = here.shape(name or "")
        if shape is None:
            raise RefusedError(ARGUMENT, f"the shape of {outer.spelled} is not known")
        self._names[dummy] = _Mapping(self, dummy, symbol, actual, shape, here).found()

    def in_caller(self, expr: Expr, here: Standpoint) -> Poly | None:
        """An expression of the procedure's declarations, as a value on entry, in the caller."""
        binding = Binding(self.callee, lambda e: constants_in(e, self.callee), self.bound)
        total = Poly()
        for monomial, coefficient in constants_in(expr, self.callee).terms:
            term = Poly.constant(coefficient)
            for atom in monomial:
                value = _placed(atom, self.callee) or binding.value((atom,), here)
                if value is None:
                    return None
                term = term * value
            total = total + term
        return self.known(total)

    def known(self, value: Poly) -> Poly:
        """A value with the caller's own dummies replaced by what all its callers pass, and the
        constants of include files by where they stand."""
        total = Poly()
        for monomial, coefficient in value.terms:
            term = Poly.constant(coefficient)
            for atom in monomial:
                found = self._always(atom) or _placed(atom, self.caller)
                term = term * (Poly.atom(atom) if found is None else found)
            total = total + term
        return total

    def _always(self, atom: Expr) -> Poly | None:
        """The constant that every caller in the tree passes for a dummy that stays what it is."""
        if not isinstance(atom, Ref) or atom.args is not None:
            return None
        symbol = self.caller.lookup(atom.name)
        if symbol is None or symbol.origin is not Origin.DUMMY or symbol.dims is not None:
            return None
        if self.facts.values.written_in_unit(atom.name):
            return None
        callers = self.sites.callers(self.sites.of(self.facts.located))
        if isinstance(callers, str):
            return None
        values = {self._constant_passed(site, atom.name) for site in callers}
        (value, *others) = values
        return None if others else value

    def _constant_passed(self, site: CallSite, dummy: str) -> Poly | None:
        """What a call passes, where it is a constant that this unit knows, too."""
        actual = site.args.get(dummy)
        scope = site.context.scope
        value = None if actual is None else constant(actual, scope)
        if value is not None:
            return Poly.constant(value)
        return None if actual is None else _placed(actual, scope)

    # one variable under two names

    def _check_twice(self) -> None:
        roots: dict[str, list[str]] = {}
        for dummy, actual in self.bound.items():
            if isinstance(actual, Ref) and self._is_variable(actual):
                storage = storage_of(actual.name, self.caller)
                roots.setdefault(storage, []).append(dummy)
        for dummies in roots.values():
            for one, other in _pairs(dummies):
                changed = {one, other} & set(self.summary.written)
                if changed and not _apart(self.bound[one], self.bound[other], self.caller):
                    name = names_of(self.bound[one])
                    raise RefusedError(TWICE, f"{name} is passed as {one} and as {other}")
        for shared in sorted(self.summary.shared_read | self.summary.shared_written, key=repr):
            storages = storages_in(shared, self.caller)
            for storage, dummies in roots.items():
                if storages is not None and storage not in storages:
                    continue
                for dummy in dummies:
                    if storages is None and self._is_own(self.bound[dummy]):
                        continue
                    if shared in self.summary.shared_written or dummy in self.summary.written:
                        name = names_of(self.bound[dummy])
                        message = f"{name} is passed as {dummy}, and the procedure knows it"
                        raise RefusedError(TWICE, message)

    def _is_own(self, actual: Expr) -> bool:
        symbol = self.caller.lookup(actual.name) if isinstance(actual, Ref) else None
        return symbol is not None and symbol.origin is Origin.LOCAL


@dataclass(frozen=True, slots=True)
class _Mapping:
    """A dummy array over an array of the caller."""

    passed: Passed
    dummy: str
    symbol: Symbol
    actual: Ref | Component
    shape: Shape
    here: Standpoint

    def found(self) -> Replacement:
        dims = self.symbol.dims
        assert dims is not None
        whole = self.actual.args is None
        start = self._start(len(dims))
        if len(dims) > self.shape.rank or (whole and len(dims) != self.shape.rank):
            raise RefusedError(ARGUMENT, f"{self.dummy} has another rank than what is passed")
        kinds = {dim.kind for dim in dims}
        if kinds & {"assumed_rank", "deferred"} and "allocatable" not in self.symbol.attrs:
            raise RefusedError(ARGUMENT, f"{self.dummy} has no fixed rank")
        if not whole and "assumed_shape" in kinds:
            raise RefusedError(ARGUMENT, f"a part of an array is passed for {self.dummy}")
        equal = tuple(self._extent_is_that(n, dim, start[n]) for n, dim in enumerate(dims))
        self._check_uses(equal, whole)
        spelled = self.passed.spelled(self.actual)
        if "allocatable" in self.symbol.attrs and isinstance(self.actual, Ref):
            return Renamed(spelled)
        shifts = tuple(self._shift(dim, start[n]) for n, dim in enumerate(dims))
        for shift in shifts:
            if not self.passed._stays(tuple(shift.atoms)):
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
        for arg in self.actual.args:
            if not isinstance(arg, Ref | Lit | Op) or not is_scalar(arg, self.passed.caller):
                raise RefusedError(ARGUMENT, f"a section is passed for {self.dummy}")
            if not self.passed._stays((arg,)):
                raise RefusedError(ARGUMENT, f"the place of {self.dummy} changes in the procedure")
            values.append(self.passed.facts.values.polynomial(arg, self.here.at))
        if len(values) != self.shape.rank:
            raise RefusedError(ARGUMENT, f"{self.dummy} is passed with other subscripts")
        return tuple(values)

    def _extent_is_that(self, number: int, dim: Dim, start: Poly) -> bool:
        """Whether a dimension of the dummy is one of the array.

        Raises RefusedError if it must be, because a further dimension follows, and is not shown to
        be.
        """
        last = number == len(self.symbol.dims or ()) - 1
        lower, extent = self.shape.lower[number], self.shape.extent[number]
        begins = start == lower
        if dim.kind in ("assumed_shape", "deferred"):
            return True
        own = None
        if dim.upper is not None:
            high = self.passed.in_caller(dim.upper, self.here)
            low = self.passed.in_caller(dim.lower or _ONE, self.here)
            own = None if high is None or low is None else high - low + Poly.constant(1)
        same = own is not None and extent is not None and own == self.passed.known(extent)
        if not last and not (same and begins):
            message = f"dimension {number + 1} of {self.dummy} has not the extent of that of "
            raise RefusedError(ARGUMENT, message + self.passed.spelled(self.actual))
        return same and begins

    def _shift(self, dim: Dim, start: Poly) -> Poly:
        own = self.passed.in_caller(dim.lower or _ONE, self.here)
        if own is None:
            raise RefusedError(ARGUMENT, f"a bound of {self.dummy} is not known in the caller")
        shift = self.passed.known(start) - own
        if any(isinstance(a, Ref) and (a.args or _AT in a.name) for a in shift.atoms):
            raise RefusedError(ARGUMENT, f"a bound of {self.dummy} is not known in the caller")
        return shift

    def _check_uses(self, equal: tuple[bool, ...], whole: bool) -> None:
        uses, name = self.passed.uses, self.dummy
        same = whole and all(equal)
        # a dummy of assumed size stands alone only where its address counts (F2018 8.5.8.5)
        sized = self.symbol.dims is not None and self.symbol.dims[-1].kind == "assumed_size"
        if not same and name in uses.whole and not (whole and sized):
            raise RefusedError(ARGUMENT, f"all of {name} is used, and is not all that is passed")
        for number, exact in enumerate(equal):
            if not exact and (name, number) in uses.open_ends:
                raise RefusedError(ARGUMENT, f"a whole dimension of {name} is used, and is another")
        if not whole and name in uses.passed:
            raise RefusedError(ARGUMENT, f"{name} is passed on, and is a part of an array")
        if name in uses.bounds and not self._has_same_bounds(same):
            raise RefusedError(ARGUMENT, f"the procedure asks for the bounds of {name}")

    def _has_same_bounds(self, same: bool) -> bool:
        if "allocatable" in self.symbol.attrs:
            return True
        dims = self.symbol.dims or ()
        return same and all(
            self.passed.in_caller(dim.lower or _ONE, self.here) == self.passed.known(lower)
            for dim, lower in zip(dims, self.shape.lower, strict=True)
        )


def is_object(actual: Component, scope: Scope) -> bool:
    """Whether a component is one object, whatever happens: without subscripts and pointers."""
    found = object_named(designator_name(actual) or "", scope) if actual.args is None else None
    return found is not None and not found.symbol.attrs & {"pointer", "allocatable"}


_AT = "@"


def _placed(atom: Expr, scope: Scope) -> Poly | None:
    """A named constant of an include file by the place of its declaration: it is the same one in
    all units that include the file, whatever its value; None: it is none."""
    symbol = scope.lookup(atom.name) if isinstance(atom, Ref) and atom.args is None else None
    if symbol is None or symbol.origin is not Origin.PARAMETER or symbol.home is not scope:
        return None
    if symbol.span is None or symbol.span.file == scope.located.path:
        return None
    return Poly.atom(Ref(f"{symbol.name}{_AT}{symbol.span}", symbol.name))


def _pairs(names: list[str]) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(names):
        for other in names[number + 1 :]:
            yield one, other


def _apart(one: Expr, other: Expr, scope: Scope) -> bool:
    """Whether two elements of an array certainly are different ones."""
    if not isinstance(one, Ref) or not isinstance(other, Ref):
        return False
    if one.args is None or other.args is None or len(one.args) != len(other.args):
        return False
    for a, b in zip(one.args, other.args, strict=True):
        first, second = constant(a, scope), constant(b, scope)
        if first is not None and second is not None and first != second:
            return True
    return False


def names_of(expr: Expr) -> str:
    """The variable that is passed, for people."""
    return next((p.spelled for p in walk(expr) if isinstance(p, Ref)), "a variable")
