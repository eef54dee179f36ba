"""The scope of a directive ``assume(uniform: NAME)``.

Among declarations it holds in the whole unit and in those that the unit contains.  Before a
statement it holds there, and afterwards as long as control has certainly passed it and nothing can
have changed the variable since.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites
from asphalt.analysis.call_graph.defined_operations import may_be_function
from asphalt.analysis.call_graph.definitions import is_user_function
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.directives.directives import Assume, Directive
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.references import expressions_of
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import Arg, Component, ImpliedDo, Op, OpaqueExpr, Ref, walk
from asphalt.ir.stmt import Call, Guarded, Opaque, Raw

_OWN = (Origin.LOCAL, Origin.DUMMY, Origin.RESULT)
_OTHER_NAMES = frozenset({"pointer", "target", "volatile"})


class UniformDirectives:
    """The directives about values in one program."""

    def __init__(self, sites: CallSites) -> None:
        self._sites = sites

    def in_force(self, name: str, context: CallingContext, at: int) -> Directive | None:
        """The directive that makes a variable uniform at statement ``at`` of a unit."""
        symbol = context.scope.lookup(name)
        scope: Scope | None = context.scope
        while scope is not None:
            for directive in self._sites.assumed.of(scope.unit):
                if directive.leaf is None and directive.clause == Assume("uniform", name):
                    seen = scope.lookup(name)
                    same = scope is context.scope or (
                        seen is not None and symbol is not None and seen.identity == symbol.identity
                    )
                    if same:
                        return directive
            scope = scope.host
        for directive in self._sites.assumed.of(context.scope.unit):
            if directive.leaf is not None and directive.clause == Assume("uniform", name):
                statement = context.flow.at(directive.leaf)
                if statement is not None and self._holds(statement, name, symbol, context, at):
                    return directive
        return None

    def _holds(
        self,
        said: ConditionedStatement,
        name: str,
        symbol: Symbol | None,
        context: CallingContext,
        at: int,
    ) -> bool:
        if at == said.position:
            return True
        if at < said.position or context.flow.has_gotos or symbol is None:
            return False
        reading = context.flow.statements[at]
        if reading.lists[: len(said.lists)] != said.lists:
            return False  # control may come without passing the directive
        if symbol.equivalenced or symbol.attrs & _OTHER_NAMES:
            return False
        around = (loop for loop in reading.loops if loop not in said.loops)
        last = max([at - 1, *(end for _, end in around)])
        between = range(said.position, last + 1)
        given = context.defined.get(name)
        if any(d.lasting or d.statement.position in between for d in given):
            return False
        inside = any(
            name in inner.defined and name not in inner.scope.own
            for inner in self._sites.all_contained(context)
        )
        if symbol.origin in _OWN and not inside:
            return True
        return not any(_may_call(context.flow.statements[n], context.scope) for n in between)


def _may_call(statement: ConditionedStatement, scope: Scope) -> bool:
    """Whether a statement may call a procedure of the user."""
    what = statement.what
    if isinstance(what, Opaque | Raw):
        return True
    if isinstance(what, Call) and mpi_call(what, scope) is None:
        return True
    whole = statement.leaf.what
    tested = expressions_of(whole) if isinstance(whole, Guarded) else ()
    return any(
        _calls(part, scope) for expr in (*expressions_of(what), *tested) for part in walk(expr)
    )


def _calls(part: Arg, scope: Scope) -> bool:
    match part:
        case Ref(args=args) if args is not None:
            return is_user_function(part, scope)
        case Component(args=args):
            return args is not None
        case Op():
            return may_be_function(part, scope)
        case OpaqueExpr() | ImpliedDo():
            return True
        case _:
            return False
