"""Statements of a unit that can be executed if errors of MPI calls are fatal (``error_code_flow``).

Error handling that is never executed is ignored: no path leads there, its statements access
nothing, and the call of a procedure that only tests for an error does nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.control_flow.graph import PointRole
from asphalt.analysis.data_flow.error_code_flow import ErrorCodeFlow
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.effects.error_handlers import errors_return, may_return, rests_on_fatal
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import NameSemantics, RefinedNames, Statement
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import AltReturn, argument_value
from asphalt.ir.stmt import ArmHead, Call, Guarded, Plain, What
from asphalt.ir.tree import Leaf

_NOTHING = Plain("continue")


@dataclass(frozen=True)
class FeasibleStatements:
    """Answers for one unit.  ``all_count``: all statements count as executed, which is so or means
    that less is known."""

    scope: Scope
    effects: Effects
    all_count: bool = False

    @cached_property
    def codes(self) -> ErrorCodeFlow:
        """Where variables for error codes are MPI_SUCCESS, if errors are fatal."""
        return ErrorCodeFlow(self.scope, self.effects)

    @cached_property
    def is_less(self) -> bool:
        """Whether some statement of the unit is known never to be executed."""
        fatal = self.effects.assumed.fatal
        if self.all_count or may_return(self.effects):
            return False
        if not fatal and not self.effects.scopes.program.main_programs():
            return False  # errors may return; asked at no cost
        return self.codes.decides and not errors_return(self.effects)

    @property
    def rests_on_fatal(self) -> bool:
        """Whether it is only assumed that no error handler returns, and that matters here."""
        return self.is_less and rests_on_fatal(self.effects)

    @cached_property
    def reaching(self) -> ReachingDefinitions:
        """Control flow and definitions."""
        whole = self.codes.reaching
        return whole.on(self.codes.taken) if self.is_less else whole

    @cached_property
    def names(self) -> NameSemantics:
        """The names of the unit, with what its statements do if errors are fatal."""
        names = self.effects.names(self.scope)
        return _ExecutedNames(names, self._instead) if self.is_less else names

    def never(self, leaf: Leaf) -> bool:
        """Whether a statement, or the action of a one-line IF, is never executed."""
        action = isinstance(leaf.what, Guarded) and leaf.what.kind == "if"
        return self._instead.get((id(leaf), action)) is _NOTHING

    def is_check(self, leaf: Leaf) -> bool:
        """Whether the only purpose of a statement is to test that a code is MPI_SUCCESS."""
        action = isinstance(leaf.what, Guarded) and leaf.what.kind == "if"
        return (id(leaf), action) in self._instead

    @cached_property
    def _instead(self) -> dict[tuple[int, bool], What]:
        """What statements, or actions of one-line IFs, do if errors are fatal, where it is less."""
        found: dict[tuple[int, bool], What] = {}
        for point in self.codes.graph.points if self.is_less else ():
            if point.leaf is None:
                continue
            key = id(point.leaf), point.role is PointRole.ACTION
            if not self.codes.is_executed(point.number):
                found[key] = _NOTHING
            elif isinstance(point.what, Call) and self.codes.is_idle_call(point.number):
                found[key] = _evaluated(point.what)
        return found


def all_statements(scope: Scope, effects: Effects) -> FeasibleStatements:
    """The answers for a unit in which no error code is known to decide what is executed."""
    return FeasibleStatements(scope, effects, all_count=True)


class _ExecutedNames(RefinedNames):
    """The names of a unit in which some statements do less than stands there.

    ``instead``: what they do, by the identity of the statement and whether it is the action of a
    one-line IF.
    """

    def __init__(self, names: NameSemantics, instead: Mapping[tuple[int, bool], What]) -> None:
        super().__init__(names)
        self._instead = instead

    @property
    def statements(self) -> dict[int, Statement] | None:
        return self.names.statements  # of what they do, which is all that differs

    def effective_statement(self, what: What, leaf: Leaf) -> What:
        return self._instead.get((id(leaf), leaf.what is not what), what)


def _evaluated(call: Call) -> ArmHead:
    """A statement that evaluates the arguments of a call."""
    given = (argument_value(arg) for arg in call.args)
    return ArmHead("if", tuple(arg for arg in given if not isinstance(arg, AltReturn)))
