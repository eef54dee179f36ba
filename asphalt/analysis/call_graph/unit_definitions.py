"""The definitions of the variables of one unit, found as far as somebody asks for them."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from asphalt.analysis.call_graph.definitions import VariableDefinition, definitions_of
from asphalt.analysis.call_graph.statement_conditions import UnitFlow
from asphalt.analysis.names.references import named_by
from asphalt.analysis.names.scopes import Scope

_ANY = ""  # stands for all names


class UnitDefinitions:
    """All definitions in a unit's own body by the variable's name in the unit; '*': by a statement
    that is not understood.  A statement is looked at when somebody asks for a name that it has."""

    def __init__(self, flow: UnitFlow, scope: Scope) -> None:
        self._flow = flow
        self._scope = scope
        self._of_statements: dict[int, tuple[VariableDefinition, ...]] = {}
        self._of_names: dict[str, tuple[VariableDefinition, ...]] = {}

    def get(self, name: str) -> tuple[VariableDefinition, ...]:
        """The definitions of a variable, in source order."""
        if name not in self._of_names:
            there = sorted({*self._naming.get(name, ()), *self._naming.get(_ANY, ())})
            found = (one for number in there for one in self._of_statement(number))
            self._of_names[name] = tuple(one for one in found if one.name == name)
        return self._of_names[name]

    def __contains__(self, name: str) -> bool:
        """Whether something may define a variable."""
        return bool(self.get(name))

    def _of_statement(self, number: int) -> tuple[VariableDefinition, ...]:
        if number not in self._of_statements:
            found = tuple(definitions_of(self._flow.statements[number], self._scope))
            self._of_statements[number] = found
        return self._of_statements[number]

    @cached_property
    def _naming(self) -> dict[str, list[int]]:
        """The numbers of the statements that have each name; ``_ANY``: of those that may have any
        name."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for number, statement in enumerate(self._flow.statements):
            for what in (statement.what, statement.leaf.what):
                names = named_by(what)
                for name in (_ANY,) if names is None else names:
                    found[name].append(number)
        return dict(found)
