"""Variables of modules that keep their values from an ALLOCATE on.

    program main                       ! nx is a variable of a module, which setup defines
      call setup
      allocate (u(nx,ny))              ! the shape of u, wherever it is allocated
      call solve

The bounds of the only ALLOCATE of an array are its shape in all procedures if each definition of
the variables in them is executed before that ALLOCATE, and never again.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSite, CallSites
from asphalt.analysis.call_graph.component_definitions import may_change, overlap
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.names.scopes import Origin, Scope, Scopes, Symbol
from asphalt.ir.tree import Leaf

_Statements = dict[CallingContext, list[ConditionedStatement]]


def stays_from(
    symbol: Symbol,
    allocation: Leaf,
    scope: Scope,
    path: tuple[str, ...] = (),
    passed: bool | None = None,
) -> bool:
    """Whether nothing in the program defines an integer of a module, or the integer component
    ``path`` of a structure of a module, after an ALLOCATE of the unit ``scope``, or a call, has
    been executed.

    ``passed``: for a call that allocates, whether it may define the variable, which has its value
    behind the call.
    """
    kept = scope.scopes.once(_known)
    key = id(allocation), symbol.identity, path, passed
    if key not in kept:
        order = _Order(scope.scopes.once(CallSites))
        kept[key] = allocation, order.settled(symbol, allocation, scope, path, passed)
    return kept[key][1]


def _known(scopes: Scopes) -> dict[tuple[object, ...], tuple[Leaf, bool]]:
    """The answers for statements, which are kept so that no others get their identity."""
    return {}


class _Order:
    """Which statements of a program are executed before which other ones."""

    def __init__(self, sites: CallSites) -> None:
        self.sites = sites

    def settled(
        self,
        symbol: Symbol,
        allocation: Leaf,
        scope: Scope,
        path: tuple[str, ...],
        passed: bool | None,
    ) -> bool:
        """Whether each definition of a variable is executed before any ALLOCATE."""
        if symbol.origin is not Origin.MODULE or symbol.dims is not None or symbol.equivalenced:
            return False
        if symbol.attrs & {"pointer", "target", "volatile", "bind"}:
            return False
        if not path and (symbol.type is None or symbol.type.base != "integer"):
            return False
        mains = self.sites.scopes.program.main_programs()
        found = self.sites.shared_definitions(symbol)
        here = self.sites.context(scope)
        behind = here.flow.at(allocation)
        if len(mains) != 1 or isinstance(found, str) or behind is None:
            return False
        later = self._ways_to(here, behind)
        if later is None:
            return False
        for context, definition in found:
            if not overlap(definition.path, path) or not may_change(
                definition, path, context.scope
            ):
                continue
            if passed and definition.statement is behind and not behind.loops:
                continue
            earlier = self._ways_to(context, definition.statement)
            if earlier is None or definition.lasting:
                return False
            if passed is False and behind in earlier.get(here, []):
                return False
            if not self._before(self.sites.of(mains[0]), earlier, later):
                return False
        return True

    def _ways_to(
        self, context: CallingContext, statement: ConditionedStatement
    ) -> _Statements | None:
        """The statements of all units through which control gets to one statement; None: they are
        not known."""
        found: _Statements = {context: [statement]}
        work = [context]
        while work:
            inner = work.pop()
            if inner.scope.unit.kind == "program":
                continue
            callers = self.sites.callers(inner)
            if isinstance(callers, str):
                if not self.sites.is_never_called(inner):
                    return None
                continue
            for site in callers:
                known = found.setdefault(site.context, [])
                if not known:
                    work.append(site.context)
                if site.statement not in known:
                    known.append(site.statement)
        return found

    def _before(
        self, context: CallingContext, earlier: _Statements, later: _Statements, depth: int = 8
    ) -> bool:
        """Whether one execution of a unit is through with some statements when it begins others."""
        first, second = earlier.get(context, []), later.get(context, [])
        if not first or not second:
            return True
        if any(map(context.flow.may_come_back_to, first)):
            return False
        if max(s.position for s in first) < min(s.position for s in second):
            around = {loop for s in second for loop in s.loops}
            heads = {start for start, _ in around}  # a loop defines its variable in each iteration
            repeated = around.intersection(loop for s in first for loop in s.loops)
            return not repeated and heads.isdisjoint(s.position for s in first)
        (one, *more) = first
        if more or second != [one] or one.loops or depth == 0:
            return False
        called = [
            inner
            for inner in {*earlier, *later} - {context}
            for site in self._callers(inner)
            if site.context is context and site.statement is one
        ]
        return len(called) == 1 and self._before(called[0], earlier, later, depth - 1)

    def _callers(self, inner: CallingContext) -> tuple[CallSite, ...]:
        callers = self.sites.callers(inner)
        return () if isinstance(callers, str) else callers
