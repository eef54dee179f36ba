"""The definitions that reach the places where variables are read."""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, SharedDefinitions
from asphalt.analysis.call_graph.component_definitions import overlap
from asphalt.analysis.call_graph.definitions import VariableDefinition
from asphalt.analysis.call_graph.shared_reaching import SharedReaching
from asphalt.analysis.names.scopes import Origin, Symbol

_Path = tuple[str, ...]


class ReachingValues:
    """The reaching definitions of all variables of a program; each question is answered once."""

    def __init__(self, sites: CallSites) -> None:
        self._sites = sites
        self._given: dict[tuple[CallingContext, str, _Path], list[VariableDefinition]] = {}
        self._places: dict[tuple[object, ...], int] = {}
        self._first: dict[tuple[object, ...], int] = {}
        self._shared: dict[object, SharedReaching] = {}

    def given(self, context: CallingContext, name: str, path: _Path) -> list[VariableDefinition]:
        """The definitions of a component in a unit's own statements."""
        key = context, name, path
        if key not in self._given:
            given = context.defined.get(name)
            self._given[key] = [
                d for d in given if self._sites.changes(d) and overlap(d.path, path)
            ]
        return self._given[key]

    def place(self, context: CallingContext, name: str, path: _Path, at: int) -> int:
        """The first place that was asked about which the same definitions reach as ``at``."""
        symbol = context.scope.lookup(name)
        if symbol is not None and symbol.origin in (Origin.MODULE, Origin.COMMON):
            return at  # any call between may define it
        asked = (context, name, path, at)
        if asked not in self._places:
            given = self.given(context, name, path)
            found, hidden = self._sites.reaching(context).at(given, at, path)
            same = (context, name, path, tuple(map(id, found)), hidden)
            self._places[asked] = self._first.setdefault(same, at)
        return self._places[asked]

    def shared(
        self,
        symbol: Symbol,
        found: SharedDefinitions,
        path: _Path,
        context: CallingContext,
        place: int,
    ) -> tuple[SharedDefinitions, bool]:
        """The definitions of a shared variable that reach a place, and whether the same execution
        of the unit makes them; all of them, ``found``, if they are not known."""
        asked = (symbol.identity, path)
        if asked not in self._shared:
            self._shared[asked] = SharedReaching(self._sites, found, path)
        return self._shared[asked].at(context, place) or (found, False)
