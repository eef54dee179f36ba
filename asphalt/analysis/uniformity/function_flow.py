"""The dependences of function results.

A result depends on what defines it, and on nothing else: the sum over all ranks that a function
returns is the same on all of them although each rank contributes its own value.
"""

from __future__ import annotations

from abc import abstractmethod

from asphalt.analysis.call_graph.call_sites import CallingContext
from asphalt.analysis.mpi.call import mpi_function
from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis.names.derived_types import is_derived_type
from asphalt.analysis.names.references import references
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.uniformity.communicators import Group
from asphalt.analysis.uniformity.shape_flow import ShapeFlow
from asphalt.analysis.uniformity.value_graph import ALL, Facts, Level, Variable
from asphalt.ir.expr import Arg, Expr, Ref
from asphalt.ir.program import Located
from asphalt.ir.stmt import Plain, UnitHead


class FunctionFlow(ShapeFlow):
    """The part of the graph that concerns functions.

    ``communicator``: the ranks that are asked about; None: unknown.
    """

    communicator: Group | None

    @abstractmethod
    def assumed_uniform(self, name: str, context: CallingContext, at: int, facts: Facts) -> bool:
        """Whether a directive makes a variable uniform at statement ``at``."""

    def function(self, ref: Ref, context: CallingContext, facts: Facts) -> None:
        mpi = mpi_function(ref, context.scope)
        if mpi is not None:
            found = procedure(mpi)
            varying = found is not None and found.varying
            facts.note(Level.VARYING if varying else Level.UNKNOWN, f"{ref.spelled}()")
            return
        if is_derived_type(ref.name, context.scope):
            return  # a structure constructor: the arguments say all
        if self.assumed_pure(ref, context, facts):
            return  # the arguments say all
        callee = procedure_named(ref, context.scope)
        if callee is None or callee.unit.kind != "function":
            facts.note(Level.UNKNOWN, f"{ref.spelled} is unknown")
            return
        self.result(callee, facts)

    def called(
        self, ref: Ref, args: tuple[Arg, ...], context: CallingContext, at: int
    ) -> Located | None:
        """The function that ``name(args)`` references, if its result depends on the arguments
        through its dummies only: this call is among those that give the dummies their values."""
        symbol = context.scope.lookup(ref.name)
        known = symbol is not None and symbol.origin in (Origin.INTRINSIC, Origin.MPI)
        known = known or is_derived_type(ref.name, context.scope)
        if known or at == ALL or self.sites.assumed.pure(ref.name, context.scope):
            return None
        statement = context.flow.statements[at]
        written = [
            *references(statement.what, ref.name),
            *references(statement.leaf.what, ref.name),
        ]
        callee = procedure_named(ref, context.scope) if args in written else None
        if callee is None or callee.unit.kind != "function" or callee.unit.name != ref.name:
            return None
        head = callee.unit.head.what if callee.unit.head is not None else None
        whole = isinstance(head, UnitHead) and "elemental" not in head.prefix
        return callee if whole else None

    def result(self, callee: Located, facts: Facts) -> None:
        """Make ``facts`` depend on the result of a function."""
        inside = self.sites.of(callee)
        self.left(inside, facts)
        result = next(
            (n for n, s in inside.scope.own.items() if s.origin is Origin.RESULT), callee.unit.name
        )
        symbol = inside.scope.lookup(result)
        if symbol is not None and symbol.dims is not None:
            self.shape(result, symbol, inside, facts)
        if any(
            isinstance(s.what, Plain) and s.what.keyword == "entry" for s in inside.flow.statements
        ):
            facts.note(Level.UNKNOWN, f"{callee.unit.name} has an ENTRY, which shares its result")
        if not self.assumed_uniform(result, inside, ALL, facts):
            facts.depends[Variable(inside, result, place_of_return(inside))] = None

    def left(self, inside: CallingContext, facts: Facts) -> None:
        """Note that a value leaves a procedure each of whose executions may have another
        communicator."""
        around = () if self.communicator is None else self.communicator.enclosing()
        if any(group.execution == inside.key for group in around):
            name = inside.scope.unit.name
            facts.note(Level.UNKNOWN, f"{name} defines it, perhaps for another communicator")

    def assumed_pure(self, procedure: Expr, context: CallingContext, facts: Facts) -> bool:
        """Whether a directive declares that a procedure returns the same results for the same
        arguments."""
        if not isinstance(procedure, Ref):
            return False
        symbol = context.scope.lookup(procedure.name)
        if symbol is not None and symbol.origin in (Origin.INTRINSIC, Origin.MPI):
            return False
        if not self.sites.assumed.pure(procedure.name, context.scope):
            return False
        facts.assume(f"pure:{procedure.name}", f"{procedure.name} is assumed to be pure")
        return True


def place_of_return(context: CallingContext) -> int:
    """The place where a procedure returns."""
    return len(context.flow.statements)
