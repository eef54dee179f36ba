"""The variables that the names of a unit may stand for, in any of its invocations.

A dummy argument is another variable in each call.  What an earlier call has passed may be the
buffer of an operation that is still in progress, under a name that means something else by now.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, unit_key
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import ALIASED, NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.messages.called_transfers import Part, part_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Component, Expr, OpaqueExpr, Ref

_CALLERS_DEEP = 4


class ArgumentOrigins:
    """The answers for one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.sites = facts.effects.scopes.once(CallSites)
        self._found: dict[str, frozenset[Part] | None] = {}

    def of(self, designator: str) -> frozenset[Part] | None:
        """All variables, or components of them, that an object with one name may be; None: not
        known."""
        if designator not in self._found:
            storage, *path = designator.split("%")
            context = self.sites.context(self.facts.scope)
            part = Part(storage, tuple(path))
            self._found[designator] = self._of(part, context, _CALLERS_DEEP)
        return self._found[designator]

    def _of(self, part: Part, context: CallingContext, depth: int) -> frozenset[Part] | None:
        if part.is_of_module or part.storage == ALIASED:
            return frozenset({part})
        symbol = context.scope.lookup(part.storage)
        home = None if symbol is None else symbol.home
        if symbol is not None and symbol.origin is Origin.HOST:
            if not isinstance(home, Scope):
                return None
            context = self.sites.context(home)
            symbol = home.lookup(part.storage)
        if symbol is None or symbol.origin is not Origin.DUMMY:
            path, names, _ = unit_key(context.scope.located)
            return frozenset({Part("/".join((path, *names, part.storage)), part.path)})
        callers = self.sites.callers(context)
        if isinstance(callers, str) or depth == 0:
            return None
        found: set[Part] = set()
        for site in callers:
            actual = site.args.get(symbol.name)
            if actual is None or _is_value(actual, site.context.scope):
                continue
            passed = part_of(actual, site.context.scope)
            further = None if passed is None else part.of(passed)
            own = None if further is None else self._of(further, site.context, depth - 1)
            if own is None:
                return None
            found |= own
        return frozenset(found)


def _is_value(actual: Expr, scope: Scope) -> bool:
    """Whether an actual argument is certainly no variable."""
    if isinstance(actual, Ref):
        kind = name_kind(actual.name, actual.args is not None, scope)
        return kind in (NameKind.CONSTANT, NameKind.PURE_FUNCTION, NameKind.INQUIRY)
    if isinstance(actual, OpaqueExpr):  # an array constructor, or a substring of an element
        return not actual.names or actual.text.startswith(("[", "(/"))
    return not isinstance(actual, Component)
