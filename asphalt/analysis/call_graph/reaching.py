"""Which definitions of a variable reach a place of a unit.

A definition reaches a place if a path of the control-flow graph leads there from it on which no
statement certainly defines the variable anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from asphalt.analysis.call_graph.definitions import VariableDefinition
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement, UnitFlow
from asphalt.analysis.control_flow.graph import ENTRY, EXIT, ControlFlow, control_flow
from asphalt.analysis.names.openmp_sentinels import may_jump
from asphalt.ir.expr import Component, Ref, Unstructured, walk
from asphalt.ir.stmt import DoHead, Guarded
from asphalt.ir.tree import Unit

Surely = Callable[[VariableDefinition, tuple[str, ...]], bool]
Reached = tuple[list[VariableDefinition], bool]
"""The definitions, and whether they hide what the variable was when the unit was entered."""


class UnitReaching:
    """The reaching definitions of one unit.

    ``surely``: whether a called procedure certainly defines a component of its argument.
    """

    def __init__(self, unit: Unit, flow: UnitFlow, surely: Surely | None = None) -> None:
        self._surely = surely or (lambda definition, path: False)
        self.graph: ControlFlow = control_flow(unit)
        self._statements = flow.statements
        self._is_whole = not any(is_hidden(s) and may_jump(s.what) for s in flow.statements)

    def at(
        self, given: Sequence[VariableDefinition], place: int, path: tuple[str, ...] = ()
    ) -> Reached:
        """The definitions that reach a statement.

        ``place``: its position; the number of all statements for the return.  ``given``: all
        definitions that may concern the component ``path`` of one variable.
        """
        by_point: dict[int, list[VariableDefinition]] = {}
        for definition in given:
            point = self.point(definition.statement)
            if point is None:
                return list(given), False
            by_point.setdefault(point, []).append(definition)
        hiding = {point for point, own in by_point.items() if any(self.hides(d, path) for d in own)}
        passed = self.passed(place, hiding)
        if passed is None:
            return list(given), False
        found = [d for point, own in by_point.items() if point in passed for d in own]
        return found, ENTRY not in passed

    def passed(self, place: int, hiding: Collection[int]) -> set[int] | None:
        """The points from which a path leads to a statement that passes none of ``hiding`` on its
        way; None: not known."""
        waiting = self._before(place)
        if not waiting or not self._is_whole:
            return None
        seen: set[int] = set()
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                if here not in hiding:
                    waiting += self.graph.predecessors[here]
        return seen

    def _before(self, place: int) -> list[int]:
        """The points from which control comes to a statement."""
        if place == len(self._statements):
            return list(self.graph.predecessors[EXIT])
        statement = self._statements[place]
        if is_hidden(statement):
            return []
        points, what = self.graph.of(statement.leaf), statement.leaf.what
        if isinstance(what, DoHead) and what.kind == "count":
            points = points[:1]  # the bounds are evaluated once
        before = [point for start in points for point in self.graph.predecessors[start]]
        if isinstance(what, Guarded) and _may_call(what):
            before += points  # a function in the condition is called before the action
        return before

    def point(self, statement: ConditionedStatement) -> int | None:
        """The point of the graph where a statement has its effect; None: not known."""
        if is_hidden(statement) or statement.threaded:
            return None
        return self.graph.action(statement.leaf)

    def hides(self, definition: VariableDefinition, path: tuple[str, ...]) -> bool:
        """Whether a definition certainly gives a component its value."""
        point, what = self.point(definition.statement), definition.statement.leaf.what
        counts = (
            isinstance(what, DoHead) and what.kind == "count"
        )  # also where it runs no iteration
        if point is None or definition.lasting:
            return False
        if not (definition.whole or counts or self._surely(definition, path)):
            return False
        if self.graph.points[point].masked or (isinstance(what, Guarded) and what.kind != "if"):
            return False
        return definition.path == path[: len(definition.path)]


def is_hidden(statement: ConditionedStatement) -> bool:
    """Whether a statement stands in a line that only some compilations execute."""
    what = statement.leaf.what
    return statement.what is not (what.action if isinstance(what, Guarded) else what)


def _may_call(guarded: Guarded) -> bool:
    """Whether the condition of a one-line IF may reference a function."""
    return any(
        isinstance(part, Unstructured)
        or (isinstance(part, Ref | Component) and part.args is not None)
        for part in walk(guarded.condition)
    )
