"""Which definitions of a variable in a module or in COMMON reach a place of the program.

A call counts as a definition by all that the called procedure leaves in the variable.  What a
procedure finds when it is entered is what reaches its calls.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import (
    CallingContext,
    CallSites,
    SharedDefinitions,
    UnitKey,
)
from asphalt.analysis.call_graph.definitions import VariableDefinition
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.control_flow.graph import ENTRY
from asphalt.ir.records import record


@record
class _Reached:
    """The numbers of the definitions that reach a place; ``through``: what was there before does,
    too."""

    given: frozenset[int] = frozenset()
    through: bool = False


class SharedReaching:
    """The reaching definitions of one variable, or of a component of it.

    ``found``: all its definitions that may be executed.
    """

    def __init__(
        self, sites: CallSites, found: SharedDefinitions, path: tuple[str, ...] = ()
    ) -> None:
        self._sites = sites
        self._path = path
        self._all = found
        self._own: dict[CallingContext, list[tuple[int, VariableDefinition]]] = {}
        self._calls: dict[CallingContext, list[tuple[ConditionedStatement, UnitKey]]] = {}
        self._left: dict[UnitKey, _Reached] = {}
        self._known: dict[tuple[UnitKey, int], _Reached] = {}
        for number, (context, definition) in enumerate(found):
            self._own.setdefault(context, []).append((number, definition))
        lasting = any(definition.lasting for _, definition in found)
        self._is_known = not lasting and self._find_calls() and self._solve()

    def at(self, context: CallingContext, place: int) -> tuple[SharedDefinitions, bool] | None:
        """The definitions that reach a statement of whatever unit, and whether the same execution
        of the unit makes them; None: they are not known.

        ``place``: its position; the number of all statements of the unit for its return.
        """
        if not self._is_known:
            return None
        here = self._here(context, place)
        found, entered, waiting = set(here.given), {context.key}, [context]
        while waiting and here.through:
            inner = waiting.pop()
            callers = self._callers(inner)
            if callers is None:
                return None
            for outer, statement in callers:
                before = self._here(outer, statement.position)
                found |= before.given
                if before.through and outer.key not in entered:
                    entered.add(outer.key)
                    waiting.append(outer)
        return tuple(self._all[number] for number in sorted(found)), not here.through

    def _callers(
        self, context: CallingContext
    ) -> list[tuple[CallingContext, ConditionedStatement]] | None:
        if context.scope.unit.kind == "program":
            return []
        callers = self._sites.callers(context)
        if isinstance(callers, str):
            return [] if self._sites.is_never_called(context) else None
        return [(site.context, site.statement) for site in callers]

    def _find_calls(self) -> bool:
        """Find the calls by which other units may define the variable; False: not all are known."""
        waiting = list(self._own)
        seen = set(waiting)
        while waiting:
            inner = waiting.pop()
            callers = self._callers(inner)
            if callers is None:
                return False
            for outer, statement in callers:
                self._calls.setdefault(outer, []).append((statement, inner.key))
                if outer not in seen:
                    seen.add(outer)
                    waiting.append(outer)
        return True

    def _solve(self) -> bool:
        """Find what each of these units leaves in the variable: a least fixpoint."""
        units = {*self._own, *self._calls}
        self._left = {unit.key: _Reached() for unit in units}
        changed = True
        while changed:
            self._known.clear()
            left = {unit.key: self._here(unit, len(unit.flow.statements)) for unit in units}
            changed, self._left = left != self._left, left
        self._known.clear()
        return True

    def _here(self, context: CallingContext, place: int) -> _Reached:
        """What reaches a statement from its own unit and from what that calls."""
        asked = (context.key, place)
        if asked not in self._known:
            self._known[asked] = self._search(context, place)
        return self._known[asked]

    def _search(self, context: CallingContext, place: int) -> _Reached:
        reaching = self._sites.reaching(context)
        by_point: dict[int, list[_Reached]] = {}
        for number, definition in self._own.get(context, ()):
            point = reaching.point(definition.statement)
            hides = reaching.hides(definition, self._path)
            made = _Reached(frozenset({number}), not hides)
            by_point.setdefault(-1 if point is None else point, []).append(made)
        for statement, callee in self._calls.get(context, ()):
            point = reaching.point(statement)
            by_point.setdefault(-1 if point is None else point, []).append(self._left[callee])
        hiding = {
            point for point, made in by_point.items() if len(made) == 1 and not made[0].through
        }
        passed = None if -1 in by_point else reaching.passed(place, hiding)
        found = frozenset(
            one
            for point, made in by_point.items()
            if passed is None or point in passed
            for part in made
            for one in part.given
        )
        return _Reached(found, passed is None or ENTRY in passed)
