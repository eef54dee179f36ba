"""Where the readings of a clock go: into variables and output alone, or into what the program does.

What a program measures may change (the assumption ``timers``); what it does may not.  From the
readings of one unit their values are followed through assignments, arguments, results of functions
and collective operations, whatever the order of execution.  An array, a variable of a derived type
and a COMMON block count as one variable each.  A condition may depend on a reading if all that it
decides is what is written, and what is assigned to variables that depend on readings themselves
(the longest time of several).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.data_flow.clock_escapes import why_called_without_name
from asphalt.analysis.data_flow.clock_uses import Flow, ObservedReadingError, Tainted, flows_of
from asphalt.analysis.effects.clocks import FUNCTION, SUBROUTINES, readings, reads_by_function
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.names.references import (
    actions,
    expressions_of,
    named_by,
    passed_on,
    use_renames,
)
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import Ref, names_in, root_name, walk
from asphalt.ir.program import Located
from asphalt.ir.stmt import Assign, Call
from asphalt.ir.tree import leaves

_MANY = 400  # variables that depend on the readings of one unit
_OTHER_NAMES = frozenset({"pointer", "target", "volatile", "bind"})


def why_observed(unit: str, effects: Effects) -> str | None:
    """Why the readings of a clock in the units of a name may not change, as a clause; None: they
    only reach variables and output."""
    return effects.once(ClockValues).why_observed(unit)


class ClockValues:
    """The readings of the clocks of one program; those of each unit are followed once."""

    def __init__(self, effects: Effects) -> None:
        self._scopes = effects.scopes
        self._sites = CallSites(effects.scopes, effects.assumed)
        self._answers: dict[str, str | None] = {}

    def why_observed(self, unit: str) -> str | None:
        """See the function of this name."""
        if unit not in self._answers:
            self._answers[unit] = self._followed(unit)
        return self._answers[unit]

    def _followed(self, unit: str) -> str | None:
        program = self._scopes.program
        if not program.main_programs():
            return "not all of the program is seen"
        places = {
            id(located.unit): located
            for name in (FUNCTION, f"p{FUNCTION}", *SUBROUTINES)
            for located in program.mentions(name)
            if not located.is_unread
        }
        units = [one for one in places.values() if (one.unit.name or "main") == unit]
        if not units:
            return f"where {unit} reads a clock is not seen"
        try:
            trace = self._traced(units, values_only=False)
            measured = self._traced(units, values_only=True) if trace.decided else None
        except ObservedReadingError as observed:
            return str(observed)
        if measured is None:
            return None
        for variable, (line, name, scope) in trace.decided.items():
            if variable not in measured.reached and not _only_feeds(name, scope, measured.reached):
                return f"a condition in line {line} depends on it"
        return None

    def _traced(self, units: Iterable[Located], *, values_only: bool) -> _Trace:
        """Where the readings of some units go; raises ObservedReadingError."""
        trace = _Trace(self._sites, values_only)
        for located in units:
            trace.start(self._scopes.of(located))
        trace.follow()
        return trace


@dataclass(slots=True)
class _Trace:
    """The variables that depend on some readings.

    ``values_only``: not those about which they only decide.  ``local``: by unit, the names in it
    that have such values.  ``reached``: the variables.  ``decided``: those about which a reading
    decides, with the line, and the name in the unit.
    """

    sites: CallSites
    values_only: bool
    local: dict[int, set[str]] = field(default_factory=dict)
    units: dict[int, Located] = field(default_factory=dict)
    changed: dict[int, None] = field(default_factory=dict)
    known: set[object] = field(default_factory=set)
    reached: set[object] = field(default_factory=set)
    decided: dict[object, tuple[int, str, Scope]] = field(default_factory=dict)

    def start(self, scope: Scope) -> None:
        """Begin with what a unit reads from clocks."""
        for leaf in (leaf for node in scope.unit.body for leaf in leaves(node)):
            for what in actions(leaf.what):
                if isinstance(what, Call):
                    for variable in readings(what, scope):
                        self._reach(root_name(variable), scope, True)
                for part in (p for e in expressions_of(what) for p in walk(e)):
                    if isinstance(part, Ref) and reads_by_function(part, scope):
                        self._note(scope.located, part.name)

    def follow(self) -> None:
        """Follow all values; raises ObservedReadingError."""
        while self.changed:
            key = next(iter(self.changed))
            del self.changed[key]
            located = self.units[key]
            scope = self.sites.scopes.of(located)
            tainted = Tainted(scope, frozenset(self.local[key]))
            for flow in flows_of(tainted):
                self._take(flow, scope)

    def _take(self, flow: Flow, scope: Scope) -> None:
        if flow.only_decided is not None:
            if self.values_only:
                return
            variable = _variable(flow.name, scope)
            if variable is not None and flow.name is not None:
                self.decided.setdefault(variable, (flow.only_decided, flow.name, scope))
        if flow.callee is None:
            self._reach(flow.name, scope, True)
        else:
            self._reach(flow.name, self.sites.scopes.of(flow.callee), False)

    def _note(self, located: Located, name: str) -> None:
        key = id(located.unit)
        self.units[key] = located
        names = self.local.setdefault(key, set())
        if name not in names:
            names.add(name)
            self.changed[key] = None

    def _reach(self, name: str | None, scope: Scope, assigned: bool) -> None:
        """A value reaches a variable of a unit; ``assigned``: by a statement of the unit."""
        where = scope.unit.name or "main"
        symbol = None if name is None else scope.lookup(name)
        if name is None or symbol is None:
            raise ObservedReadingError(f"what {name or 'a variable'} is in {where} is not known")
        if not symbol.origin.is_variable:
            raise ObservedReadingError(f"{name} in {where} is no variable")
        if symbol.equivalenced or symbol.attrs & _OTHER_NAMES:
            raise ObservedReadingError(f"{name} in {where} may have other names")
        unnamed = why_called_without_name(symbol, scope)
        if unnamed is not None:
            raise ObservedReadingError(f"{name} in {where} has it, and {unnamed}")
        if symbol.origin is Origin.HOST:
            scope, symbol = _owner(scope, symbol)
        variable = symbol.common_block or symbol.identity
        self.reached.add(variable)
        key = (variable, symbol.origin is Origin.COMMON, assigned)
        if key in self.known:
            return
        self.known.add(key)
        if len(self.known) > _MANY:
            raise ObservedReadingError("it reaches too many variables")
        match symbol.origin:
            case Origin.MODULE:
                self._module_variable(symbol)
            case Origin.COMMON:
                self._common_block(symbol)
            case _:
                self._own_variable(symbol, scope)
                if symbol.origin is Origin.DUMMY and assigned:
                    self._left_by_dummy(symbol, scope)
                elif symbol.origin is Origin.RESULT:
                    self._left_by_result(scope)

    def _own_variable(self, symbol: Symbol, scope: Scope) -> None:
        self._note(scope.located, symbol.name)
        for context in self.sites.all_contained(self.sites.context(scope)):
            seen = context.scope.lookup(symbol.name)
            if seen is None or seen.identity == symbol.identity:
                self._note(context.scope.located, symbol.name)

    def _module_variable(self, symbol: Symbol) -> None:
        for located in self._mentions(symbol.name):
            scope = self.sites.scopes.of(located)
            if any(use_renames(located, symbol.name)):
                raise ObservedReadingError(
                    f"{symbol.name} has another name in {located.unit.name or 'main'}"
                )
            seen = scope.lookup(symbol.name)
            if seen is None or seen.identity == symbol.identity:
                self._note(located, symbol.name)

    def _common_block(self, symbol: Symbol) -> None:
        if not symbol.common_block:
            raise ObservedReadingError(f"{symbol.name} is in blank COMMON")
        for located in self._mentions(symbol.common_block):
            for context in (c := self.sites.of(located), *self.sites.all_contained(c)):
                scope = context.scope
                for name in scope.declared.commons.get(symbol.common_block, ()):
                    self._note(scope.located, name)
                    self._own_variable(_symbol(name, scope), scope)
                    if scope.unit.kind == "module":
                        self._module_variable(_symbol(name, scope))

    def _mentions(self, name: str) -> Iterable[Located]:
        for located in self.sites.scopes.program.mentions(name):
            if located.is_unread:
                raise ObservedReadingError(
                    f"{located.path} holds {name} in text that is not analysed"
                )
            yield located

    def _left_by_dummy(self, symbol: Symbol, scope: Scope) -> None:
        """The actual arguments of a dummy that gets a value."""
        callers = self.sites.callers(self.sites.context(scope))
        if isinstance(callers, str):
            name = scope.unit.name
            if any(_uses(located, name) for located in self._mentions(name)):
                raise ObservedReadingError(callers)
            return
        for site in callers:
            actual = site.args.get(symbol.name)
            if actual is not None:
                self._reach(root_name(actual), site.context.scope, True)

    def _left_by_result(self, scope: Scope) -> None:
        """The references of a function."""
        name = scope.unit.name
        for located in self._mentions(name):
            if passed_on(located, name):
                raise ObservedReadingError(f"{located.unit.name} does not only call {name}")
            self._note(located, name)


def _only_feeds(name: str, scope: Scope, measured: Collection[object]) -> bool:
    """Whether a unit reads a variable of its own in nothing but assignments to what is measured:
    a part of such a value that is computed only where it is needed."""
    symbol = scope.lookup(name)
    if symbol is None or symbol.origin is not Origin.LOCAL or "save" in symbol.attrs:
        return False
    if scope.unit.contained:
        return False
    for leaf in (leaf for node in scope.unit.body for leaf in leaves(node)):
        named = named_by(leaf.what)
        if named is not None and name not in named:
            continue
        what = leaf.what
        if named is None or not isinstance(what, Assign) or not isinstance(what.target, Ref):
            return False
        if name in names_in(what.value) and _variable(what.target.name, scope) not in measured:
            return False
        if any(name in names_in(arg) for arg in what.target.args or ()):
            return False
    return True


def _variable(name: str | None, scope: Scope) -> object:
    """What tells a variable from others; None: it is not known."""
    symbol = None if name is None else scope.lookup(name)
    if symbol is not None and symbol.origin is Origin.HOST:
        _, symbol = _owner(scope, symbol)
    return None if symbol is None else symbol.common_block or symbol.identity


def _uses(located: Located, name: str) -> bool:
    """Whether a unit does more with the name of a procedure than declare it."""
    named = (named_by(leaf.what) for node in located.unit.body for leaf in leaves(node))
    return passed_on(located, name) or any(names is None or name in names for names in named)


def _owner(scope: Scope, symbol: Symbol) -> tuple[Scope, Symbol]:
    """The unit that declares a variable of a host, with the variable as seen there."""
    host = scope.host
    while host is not None:
        seen = host.lookup(symbol.name)
        if seen is not None and seen.origin is not Origin.HOST:
            return host, seen
        host = host.host
    raise ObservedReadingError(f"the host of {symbol.name} is not known")


def _symbol(name: str, scope: Scope) -> Symbol:
    symbol = scope.lookup(name)
    if symbol is None or symbol.equivalenced:
        raise ObservedReadingError(f"{name} in {scope.unit.name or 'main'} may have other names")
    return symbol
