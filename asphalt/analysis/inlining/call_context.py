"""One call of a procedure in its caller: what the call changes, and the values of the expressions
in the procedure's declarations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import eq

from asphalt.analysis.call_graph.call_sites import CallSite, CallSites
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.argument_binding import Binding
from asphalt.analysis.effects.summary import Summary
from asphalt.analysis.inlining.codes import ARGUMENT, RefusedError
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.memory.invariant_frame import Frame, Standpoint
from asphalt.analysis.memory.storage import named_storages, storage_of
from asphalt.analysis.names.scopes import Origin, Scope, constant
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Component, Expr, Ref, Section, names_in
from asphalt.ir.tree import Leaf

_UNSEEN = (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE, EffectKind.STATE)
_SHARED = (Origin.MODULE, Origin.COMMON, Origin.HOST)
_AT = "@"


@dataclass
class CallContext:
    """The call of ``callee`` at ``call``; ``bound``: the arguments by the folded names of the
    dummies.

    Raises:
        RefusedError: what the procedure changes is not known.
    """

    facts: UnitFacts
    call: Leaf
    callee: Scope
    bound: Mapping[str, Expr]
    sites: CallSites

    def __post_init__(self) -> None:
        summary = self.facts.effects.summary(self.callee.located)
        if summary is None:
            raise RefusedError(ARGUMENT, "what the procedure changes is not known")
        self.summary: Summary = summary

    @cached_property
    def _changed(self) -> Mapping[str, frozenset[tuple[str, ...]]]:
        """The storages that the call may change, with the paths of the components that it may."""
        found: dict[str, set[tuple[str, ...]]] = {}
        for access in self.facts.footprint(self.call).accesses:
            if access.writes:
                found.setdefault(access.storage, set()).add(access.path)
        return {storage: frozenset(paths) for storage, paths in found.items()}

    def _changes(self, designator: str) -> bool:
        """Whether the call may change some of an object."""
        root, *path = designator.split("%")
        return any(all(map(eq, changed, path)) for changed in self._changed.get(root, frozenset()))

    @cached_property
    def unseen(self) -> bool:
        """Whether the call may do what is not seen."""
        return any(e.kind in _UNSEEN for e in self.facts.footprint(self.call).effects)

    @property
    def caller(self) -> Scope:
        """The scope of the call."""
        return self.facts.scope

    @property
    def here(self) -> Standpoint:
        """The position of the call."""
        return Standpoint(Frame(self.facts.values, frozenset(), ()), self.call, ())

    def stays(self, exprs: tuple[object, ...]) -> bool:
        """Whether the call changes no operand of some expressions."""
        for expr in exprs:
            if isinstance(expr, Section):
                return False
            named = set(named_storages(expr, self.caller))  # type: ignore[arg-type]
            if None in named:  # as far as whole variables tell
                named |= {storage_of(name, self.caller) for name in names_in(expr)}  # type: ignore[arg-type]
            if any(self._changes(one) for one in named if one is not None):
                return False
            for name in names_in(expr):  # type: ignore[arg-type]
                symbol = self.caller.lookup(name)
                if symbol is None or (self.unseen and symbol.origin in _SHARED):
                    return False
        return True

    def spelled(self, actual: Ref | Component) -> str:
        """The name of a variable as it is declared; of a component as it is written."""
        symbol = self.caller.lookup(actual.name) if isinstance(actual, Ref) else None
        return symbol.spelled if symbol and symbol.name == actual.name else actual.spelled

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
        """The constant that every caller in the tree passes for a dummy that never changes."""
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
        """What a call passes, if it is a constant that this unit also knows."""
        actual = site.args.get(dummy)
        scope = site.context.scope
        value = None if actual is None else constant(actual, scope)
        if value is not None:
            return Poly.constant(value)
        return None if actual is None else _placed(actual, scope)


def is_placed(atom: Expr) -> bool:
    """Whether an atom is a named constant of an include file, which has no text here."""
    return isinstance(atom, Ref) and _AT in atom.name


def _placed(atom: Expr, scope: Scope) -> Poly | None:
    """A named constant of an include file by the place of its declaration: it is the same one in
    all units that include the file, whatever its value; None: it is none."""
    symbol = scope.lookup(atom.name) if isinstance(atom, Ref) and atom.args is None else None
    if symbol is None or symbol.origin is not Origin.PARAMETER or symbol.home is not scope:
        return None
    if symbol.span is None or symbol.span.file == scope.located.path:
        return None
    return Poly.atom(Ref(f"{symbol.name}{_AT}{symbol.span}", symbol.name))
