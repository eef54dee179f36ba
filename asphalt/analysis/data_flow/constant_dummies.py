"""Dummy arguments that are the same constant in every call: a literal, or a named constant.

Whatever holds for the constant holds for the dummy.  All ranks run one program, so that the
constant is the same on all of them.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import CallSite, CallSites
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Expr, Lit, Ref


class ConstantDummies:
    """The constant actual arguments of the dummies of one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self._sites = CallSites(facts.effects.scopes)
        self._known: dict[str, Expr | None] = {}

    def of(self, name: str) -> Expr | None:
        """The constant that a name of the unit always denotes, as the unit may write it.

        None: it is not a dummy argument, or not known to be one constant.
        """
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def replaced(self, value: Poly) -> Poly:
        """A polynomial with these dummies replaced."""

        def change(part: Expr) -> Expr | None:
            return self.of(part.name) if isinstance(part, Ref) and part.args is None else None

        return poly(value.expression(), change)

    def equal(self) -> tuple[tuple[Poly, Poly], ...]:
        """Each dummy and its constant, as pairs of polynomials in both orders."""
        found: list[tuple[Poly, Poly]] = []
        for name in sorted(self.facts.scope.own):
            value = self.of(name)
            if value is not None:
                one, other = Poly.atom(Ref(name, name)), poly(value, lambda _: None)
                found += ((one, other), (other, one))
        return tuple(found)

    def _find(self, name: str) -> Expr | None:
        symbol = self.facts.scope.lookup(name)
        if symbol is None or symbol.origin is not Origin.DUMMY or symbol.dims is not None:
            return None
        if self.facts.values.written_in_unit(name):
            return None
        callers = self._sites.callers(self._sites.of(self.facts.located))
        if isinstance(callers, str):
            return None
        (first, *others) = (self._passed(site, name) for site in callers)
        return first if all(other == first for other in others) else None

    def _passed(self, site: CallSite, dummy: str) -> Expr | None:
        actual, there = site.args.get(dummy), site.context.scope
        if actual is None:
            return None
        value = constant(actual, there)
        if value is not None:
            return Lit("integer", str(value)) if value >= 0 else None
        symbol = there.lookup(actual.name) if isinstance(actual, Ref) else None
        if symbol is None or symbol.origin is not Origin.PARAMETER:
            return None
        here = self.facts.scope.lookup(symbol.name)
        if here is None or here.origin is not Origin.PARAMETER or not _same(here, symbol):
            return None
        return Ref(here.name, here.name)


def _same(one: Symbol, other: Symbol) -> bool:
    """Whether both are one declaration: of a module, or of an include file."""
    return one.span is not None and one.span == other.span
