"""The operations that may have a request, wherever the program starts them.

A request that is a local variable is defined by its unit alone, and one in a module by the units
that can access it.  If all of these define it by starts and completions only, directly or in called
procedures, the operations are those of the starts.  An argument of the unit may come from wherever
the callers define it.
"""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.call_graph.call_sites import (
    CallingContext,
    CallSites,
    SharedDefinitions,
    unit_key,
)
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.messages.called_transfers import (
    Part,
    PassedRequests,
    StartedOperation,
    UnitRequests,
    lines_of,
    part_of,
)
from asphalt.analysis.names.host_association import is_text_missing, named_inside
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.tree import Leaf

_CALLERS_DEEP = 4
_OTHER_NAMES = frozenset({"pointer", "target", "volatile"})


class RequestStarts:
    """The answers for one unit, in its terms."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.own = facts.once(UnitRequests)
        self._found: dict[Part, tuple[StartedOperation, ...] | None] = {}

    def of(self, request: Part) -> tuple[StartedOperation, ...] | None:
        """All operations that a request may have; None: not known."""
        if request not in self._found:
            self._found[request] = self._of(request)
        return self._found[request]

    def outlive(self, request: Part) -> bool:
        """Whether its operations may have been started in an earlier invocation of the unit."""
        symbol = self.facts.scope.lookup(request.storage)
        local = symbol is not None and symbol.origin is Origin.LOCAL
        return not local and self.facts.unit.kind != "program"

    def _of(self, request: Part) -> tuple[StartedOperation, ...] | None:
        name = request.storage.rpartition("::")[2]
        if request.is_of_module:
            owner = request.storage.rpartition("::")[0]
            home = self.facts.effects.scopes.module(owner)
            symbol = None if home is None else home.own.get(name)
            plain = symbol is not None and _has_one_name(symbol)
            if symbol is None or not plain:
                return None
            definitions = self.facts.effects.scopes.once(CallSites).shared_definitions(symbol)
            return None if isinstance(definitions, str) else self._of_all(definitions, request)
        symbol = self.facts.scope.lookup(name)
        if symbol is not None and symbol.origin is Origin.DUMMY:
            return self._of_dummy(symbol, request)
        if symbol is None:
            return None
        if not _is_local(symbol, self.facts):
            return self._of_program(symbol, request) if _is_of_program(symbol) else None
        lines = self.own.only_defined_so(request, lines_of(self.facts.unit.body))
        return None if lines is None else _starts(self.own, lines, request)

    def _of_dummy(self, symbol: Symbol, request: Part) -> tuple[StartedOperation, ...] | None:
        """The operations of a dummy argument, which only this unit starts with it."""
        if not _has_one_name(symbol) or symbol.attrs & {"optional", "value"}:
            return None
        lines = self.own.only_defined_so(request, lines_of(self.facts.unit.body))
        sites = self.facts.effects.scopes.once(CallSites)
        callers = sites.callers(sites.context(self.facts.scope))
        if lines is None or isinstance(callers, str) or self.facts.unit.contained:
            return None
        for site in callers:
            actual, caller = site.args.get(symbol.name), self._requests_of(site.context)
            passed = None if actual is None else part_of(actual, site.context.scope)
            if caller is self.own or passed is None or passed.is_of_module:
                return None
            home = caller.scope.lookup(passed.storage)
            if home is None or not _is_local(home, caller.facts):
                return None
            if not self._gets_only_ours(request.of(passed), caller):
                return None
        return _starts(self.own, lines, request)

    def _gets_only_ours(self, request: Part, caller: UnitRequests) -> bool:
        """Whether all operations that a caller has with a local request come from this unit."""
        key = unit_key(self.facts.located)
        others = [
            leaf
            for leaf in lines_of(caller.facts.unit.body)
            if (found := caller.called(leaf)) is None or unit_key(found) != key
        ]
        lines = caller.only_defined_so(request, others)
        return lines is not None and not _starts(caller, lines, request)

    def _of_program(self, symbol: Symbol, request: Part) -> tuple[StartedOperation, ...] | None:
        """The operations of a variable of the main program, which its internal procedures may
        define."""
        assert isinstance(symbol.home, Scope)
        sites = self.facts.effects.scopes.once(CallSites)
        definitions = sites.own_definitions(symbol.name, sites.context(symbol.home))
        if definitions is None or is_text_missing(symbol.home):
            return None
        return self._of_all(definitions, request)

    def _of_all(
        self, definitions: SharedDefinitions, request: Part
    ) -> tuple[StartedOperation, ...] | None:
        """The operations of a request that has these definitions and no other ones."""
        if self.own.only_defined_so(request, lines_of(self.facts.unit.body)) is None:
            return None
        found: list[StartedOperation] = []
        for context, definition in definitions:
            unit = self._requests_of(context)
            lines = unit.only_defined_so(request, (definition.statement.leaf,))
            if lines is None:
                return None
            starts = _starts(unit, lines, request)
            given = starts if unit is self.own else self._in_own_terms(starts, context)
            if given is None:
                return None
            found += given
        return tuple(dict.fromkeys(found))

    def _requests_of(self, context: CallingContext) -> UnitRequests:
        if context.key == unit_key(self.facts.located):
            return self.own
        return self.facts.effects.once(_UnitsElsewhere).of(context)

    def _in_own_terms(
        self, starts: Iterable[StartedOperation], context: CallingContext
    ) -> tuple[StartedOperation, ...] | None:
        """Operations that another unit starts, in terms of this one; None: not known."""
        found: list[StartedOperation] = []
        for one in starts:
            parts: set[Part] = set()
            for part in one.buffers:
                own = self._part_here(part, context, _CALLERS_DEEP)
                if own is None:
                    return None
                parts |= own
            buffers = tuple(sorted(parts, key=repr))
            found.append(StartedOperation(one.path, one.line, one.operation, one.request, buffers))
        return tuple(found)

    def _part_here(self, part: Part, context: CallingContext, depth: int) -> set[Part] | None:
        """The variables of this unit that a part of a variable of another one may be."""
        if part.is_of_module:
            return {part}
        symbol = context.scope.lookup(part.storage)
        if symbol is not None and symbol.home is not None and _is_of_program(symbol):
            own = self.facts.scope.lookup(part.storage)
            return {part} if own is not None and own.identity == symbol.identity else None
        if symbol is None or symbol.origin is not Origin.DUMMY or depth == 0:
            return None
        callers = self.facts.effects.scopes.once(CallSites).callers(context)
        if isinstance(callers, str):
            return None
        found: set[Part] = set()
        for site in callers:
            passed = PassedRequests(context.scope, site.context.scope, site.args).buffer(part)
            if passed is None:
                return None
            if site.context.key == unit_key(self.facts.located):
                found.add(passed)
                continue
            further = self._part_here(passed, site.context, depth - 1)
            if further is None:
                return None
            found |= further
        return found


class _UnitsElsewhere:
    """The requests of units of a program, each looked at once."""

    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self._found: dict[object, UnitRequests] = {}

    def of(self, context: CallingContext) -> UnitRequests:
        """The requests of one unit."""
        if context.key not in self._found:
            facts = UnitFacts(context.scope.located, self.effects)
            self._found[context.key] = UnitRequests(facts)
        return self._found[context.key]


def _is_local(symbol: Symbol, facts: UnitFacts) -> bool:
    """Whether each execution of a unit has a variable of its own, which nothing else can access."""
    kept = bool(symbol.attrs & {"save", "data"}) or symbol.initial is not None
    if kept and facts.unit.kind != "program":
        return False
    if symbol.origin is not Origin.LOCAL or not _has_one_name(symbol):
        return False
    return not named_inside(symbol.name, facts.scope)


def _is_of_program(symbol: Symbol) -> bool:
    """Whether a variable is one of the main program, with one name in it and its procedures."""
    home = symbol.home
    if symbol.origin not in (Origin.LOCAL, Origin.HOST) or not isinstance(home, Scope):
        return False
    return home.unit.kind == "program" and _has_one_name(symbol)


def _has_one_name(symbol: Symbol) -> bool:
    plain = symbol.common_block is None and not symbol.equivalenced
    return plain and not symbol.attrs & _OTHER_NAMES


def _starts(
    unit: UnitRequests, lines: Iterable[Leaf], request: Part
) -> tuple[StartedOperation, ...]:
    """The operations that some lines may start with a request."""
    found = (one for leaf in lines if (effects := unit.of(leaf)) for one in effects.starts)
    return tuple(one for one in found if request.meets(one.request.object))
