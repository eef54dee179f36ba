"""Variables that keep their values from the first message of a program to its last one.

Neighbours and communicators are found out once, before the first exchange, and freed behind the
last one.  Then each execution of an exchange has the same partners.  What counts are the statements
of the main program, with all that they call: none that may define the variable stands on a path
from one that may send or receive to another one.
"""

from __future__ import annotations

from functools import cache, cached_property

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.control_flow.paths import closure
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.mpi.procedures import Timing, procedure
from asphalt.analysis.names.scopes import Origin
from asphalt.ir.expr import Expr, Ref, names_in

_FIXED = (Origin.PARAMETER, Origin.MPI, Origin.INTRINSIC)
_TRAFFIC = frozenset({Store.INCOMING, Store.OUTGOING})
_OTHER_NAMES = frozenset({"pointer", "target", "volatile", "asynchronous"})


class LastingValues:
    """The variables of one program whose main program is ``main``; ``traffic``: the points of it
    that may send or receive, themselves or in what they call."""

    def __init__(self, main: UnitFacts) -> None:
        self.main = main
        graph = main.reaching.graph
        self._before = cache(lambda point: closure(graph.predecessors, (point,)))
        self.traffic = frozenset(p.number for p in graph.points if self._moves(p.number))

    def why_changing(self, expr: Expr, facts: UnitFacts, besides: frozenset[str]) -> str | None:
        """Why an expression of a unit may not have the same value whenever messages are sent or
        received; None: it has.  ``besides``: names that need not be looked at."""
        for name in sorted(names_in(expr) - besides):
            why = self._why(name, facts)
            if why is not None:
                return why
        return None

    def _why(self, name: str, facts: UnitFacts) -> str | None:
        symbol = facts.scope.lookup(name)
        if symbol is None:
            return f"{name} is not declared"
        if symbol.origin in _FIXED:
            return None
        if not symbol.origin.is_variable:
            return f"{symbol.spelled} is no variable"
        if symbol.origin is Origin.DUMMY:
            return self._why_passed(name, symbol.spelled, facts)
        storage = facts.names.storage(name)
        is_own = facts.unit is self.main.unit and symbol.origin is Origin.LOCAL
        if "::" not in storage and not is_own:
            return f"{symbol.spelled} is no variable of a module"
        if symbol.attrs & _OTHER_NAMES or symbol.equivalenced:
            return f"{symbol.spelled} may have other names"
        changed = self._changed(storage)
        return None if changed is None else f"{symbol.spelled} may change in {changed}"

    def _why_passed(self, name: str, spelled: str, facts: UnitFacts) -> str | None:
        """Why a dummy argument may not stand for one variable that keeps its value; None: it does,
        in all calls of the program."""
        if len(facts.reaching.definitions(facts.names.storage(name))) > 1:
            return f"{spelled} may change in {facts.unit.name}"
        sites = self._sites.callers(self._sites.of(facts.located))
        if isinstance(sites, str):
            return sites
        passed: dict[object, tuple[str, UnitFacts]] = {}
        for site in sites:
            actual, scope = site.args.get(name), site.context.scope
            symbol = scope.lookup(actual.name) if isinstance(actual, Ref) else None
            if not isinstance(actual, Ref) or symbol is None or actual.args is not None:
                return f"{spelled} is no variable where {facts.unit.name} is called"
            if symbol.origin is Origin.DUMMY:
                return f"{spelled} is a dummy argument of {scope.unit.name}, too"
            own = scope.unit is self.main.unit
            caller = self.main if own else UnitFacts(scope.located, self.main.effects)
            passed[symbol.identity] = actual.name, caller
        if len(passed) != 1:
            return f"{spelled} is not the same variable in all calls of {facts.unit.name}"
        ((only, caller),) = passed.values()
        return self._why(only, caller)

    @cached_property
    def _sites(self) -> CallSites:
        return CallSites(self.main.effects.scopes)

    def _changed(self, storage: str) -> str | None:
        """Where a storage may be defined between two messages; None: nowhere."""
        graph, accesses = self.main.reaching.graph, self.main.reaching.accesses
        for point in sorted(accesses.defining(storage) | accesses.everywhere):
            earlier = self._before(point) & self.traffic
            later = any(point in self._before(other) for other in self.traffic)
            if point in self.traffic or self._starts(point) or (earlier and later):
                return self.main.at(graph.points[point].line)
        return None

    def _moves(self, point: int) -> bool:
        """Whether a statement may send or receive, itself or in what it calls."""
        for effect in self.main.reaching.accesses.footprint(point).effects:
            if effect.kind is not EffectKind.MPI:
                continue
            row = procedure(effect.detail)
            if row is None:
                return True
            library = library_row(row)
            stores = {a.store for a in (*library.accesses, *library.prepared)}
            if stores & _TRAFFIC or library.completion is not None:
                return True
        return False

    def _starts(self, point: int) -> bool:
        """Whether a statement may start an operation that defines its buffer later."""
        for effect in self.main.reaching.accesses.footprint(point).effects:
            row = procedure(effect.detail) if effect.kind is EffectKind.MPI else None
            if row is not None and row.timing in (Timing.NONBLOCKING, Timing.PERSISTENT):
                return True
        return False
