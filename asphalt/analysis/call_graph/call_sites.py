"""The call sites of a procedure with their actual arguments, and the definitions of a shared
variable.

Both need the whole program: without a main program in the tree, callers may be anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from asphalt.analysis.call_graph.common_blocks import is_same_variable
from asphalt.analysis.call_graph.definitions import Source, VariableDefinition
from asphalt.analysis.call_graph.main_program import defined_elsewhere, has_main, named_elsewhere
from asphalt.analysis.call_graph.missing_sources import unknown_module
from asphalt.analysis.call_graph.program_end import only_ends
from asphalt.analysis.call_graph.reaching import UnitReaching
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement, UnitFlow
from asphalt.analysis.call_graph.sure_definitions import SureDefinitions
from asphalt.analysis.call_graph.unit_definitions import UnitDefinitions
from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.names.generic_names import may_mean
from asphalt.analysis.names.references import (
    bind,
    generic_listings,
    is_in_specification,
    is_only_component,
    passed_on,
    references,
)
from asphalt.analysis.names.resolve import is_separate_body, procedure_named
from asphalt.analysis.names.scopes import Origin, Scope, Scopes, Symbol
from asphalt.analysis.names.visibility import chain
from asphalt.ir.expr import Arg, Expr, Ref
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Guarded, Plain, UnitHead
from asphalt.ir.tree import Unit, leaves

# More units than this that mention a name: it is not followed.
MANY_UNITS = 30

_UNCALLED = "nothing calls {}"
_BIND = re.compile(r"\bbind\s*\(", re.IGNORECASE)

UnitKey = tuple[str, tuple[str, ...], int]


@runtime_checkable
class _CountsMentions(Protocol):
    def mention_count(self, name: str) -> int:
        """How many units mention a name, without reading them."""


@dataclass(frozen=True, slots=True, eq=False)
class CallingContext:
    """A program unit as value propagation sees it."""

    key: UnitKey
    scope: Scope
    flow: UnitFlow
    defined: UnitDefinitions

    @property
    def dummies(self) -> tuple[str, ...]:
        """The folded names of the dummy arguments."""
        return self.scope.dummies


@record
class CallSite:
    """A call of a procedure; ``args``: actual arguments by dummy name."""

    context: CallingContext
    statement: ConditionedStatement
    args: dict[str, Expr]


SharedDefinitions = tuple[tuple[CallingContext, VariableDefinition], ...]


class CallSites:
    """Units, callers and module variables of one program; each is looked up once."""

    def __init__(self, scopes: Scopes, assumed: Assumed | None = None) -> None:
        self.scopes = scopes
        self.assumed = assumed or Assumed()
        self._contexts: dict[UnitKey, CallingContext] = {}
        self._callers: dict[UnitKey, tuple[CallSite, ...] | str] = {}
        self._reaching: dict[CallingContext, UnitReaching] = {}
        self._surely = SureDefinitions(self)
        self._uncalled: dict[UnitKey, bool] = {}
        self._mentions: dict[str, tuple[Located, ...] | None] = {}
        # with the definition, so that no other one can get its identity
        self._changes: dict[tuple[int, int], tuple[VariableDefinition, bool]] = {}

    def context(self, scope: Scope) -> CallingContext:
        """The unit of a scope."""
        key = unit_key(scope.located)
        found = self._contexts.get(key)
        if found is None:
            flow = UnitFlow(scope.unit, partial(only_ends, scope=scope))
            found = CallingContext(key, scope, flow, UnitDefinitions(flow, scope))
            self._contexts[key] = found
        return found

    def of(self, located: Located) -> CallingContext:
        """The context of a unit; always the same object for the same unit."""
        found = self._contexts.get(unit_key(located))
        return found if found is not None else self.context(self.scopes.of(located))

    def reaching(self, context: CallingContext) -> UnitReaching:
        """The reaching definitions of a unit."""
        if context not in self._reaching:
            own = UnitReaching(context.scope.unit, context.flow, self._surely)
            self._reaching[context] = own
        return self._reaching[context]

    def contained(self, context: CallingContext) -> tuple[CallingContext, ...]:
        """The units that a unit contains."""
        located = context.scope.located
        found = (
            self.scopes.program.contained(located, unit.name)
            for unit in context.scope.unit.contained
        )
        return tuple(self.of(inner) for inner in found if inner is not None)

    def all_contained(self, context: CallingContext) -> tuple[CallingContext, ...]:
        """The internal procedures of a unit, and those of module procedures in it."""
        direct = self.contained(context)
        return (*direct, *(deep for inner in direct for deep in self.all_contained(inner)))

    def changes(self, definition: VariableDefinition, depth: int = 6) -> bool:
        """Whether a definition may really change the variable.

        A procedure that has it as an actual argument need not.
        """
        key = id(definition), depth
        known = self._changes.get(key)
        if known is None:
            known = self._changes[key] = definition, self._is_change(definition, depth)
        return known[1]

    def _is_change(self, definition: VariableDefinition, depth: int) -> bool:
        if definition.source is not Source.CALLEE or definition.callee is None or depth == 0:
            return True
        inside = self.of(definition.callee)
        dummy = definition.dummy
        symbol = inside.scope.lookup(dummy)
        if symbol is None or symbol.equivalenced or symbol.attrs & {"pointer", "target"}:
            return True
        if "value" in symbol.attrs:
            return False
        if symbol.intent == "out" and _is_structure(symbol):
            return True  # it gets its initial values
        units = (inside, *self.all_contained(inside))
        own = [one for unit in units for one in unit.defined.get(dummy)]
        if symbol.intent == "in":  # which compilers do not ask of calls without an interface
            seen = (one for one in own if one.source is not Source.UNKNOWN)
            return any(self.changes(one, depth - 1) for one in seen if depth > 1)
        return any("*" in unit.defined for unit in units) or any(
            self.changes(inner, depth - 1) for inner in own
        )

    def mentions(self, name: str) -> tuple[Located, ...] | None:
        """The units that mention a name; None: there are too many to analyse."""
        if name not in self._mentions:
            program = self.scopes.program
            many = isinstance(program, _CountsMentions) and program.mention_count(name) > MANY_UNITS
            found = () if many else program.mentions(name)
            self._mentions[name] = None if many or len(found) > MANY_UNITS else found
        return self._mentions[name]

    def callers(self, context: CallingContext) -> tuple[CallSite, ...] | str:
        """All calls of a procedure; a text: why they are not known."""
        if context.key not in self._callers:
            self._callers[context.key] = self._find_callers(context)
        return self._callers[context.key]

    def _find_callers(self, context: CallingContext) -> tuple[CallSite, ...] | str:
        name = context.scope.unit.name
        if context.scope.kind not in ("subroutine", "function"):
            return f"{name} is not a procedure that is called by its name"
        if not has_main(self.scopes.program):
            return f"{name} may have callers outside of the tree"
        stated = () if context.scope.head is None else context.scope.head.prefix
        if is_bound_to_c(context.scope.unit) or any(one.startswith("bind") for one in stated):
            return f"{name} may be called from C"
        foreign = named_elsewhere(self.scopes.program, name)
        if foreign is not None:
            return f"{foreign} may call {name}"
        nodes = (*context.scope.unit.spec, *context.scope.unit.body)
        own = (leaf.what for node in nodes for leaf in leaves(node))
        if any(isinstance(what, Plain) and what.keyword == "entry" for what in own):
            return f"{name} has other entries"
        mentioned = self.mentions(name)
        if mentioned is None:
            return f"{name} is mentioned in too many places"
        found: list[CallSite] = []
        generic: set[str] = set()
        for located in mentioned:
            if located.is_unread:
                return f"{located.path} holds {name} in text that is not analysed"
            if passed_on(located, name, generic=False):
                return f"{located.unit.name} does not only call {name} by its name"
            generic |= generic_listings(located, name)
            for site in self._calls_in(self.of(located), context, name):
                if site is None:
                    unseen = unknown_module(name, self.of(located).scope)
                    why = "is ambiguous" if unseen is None else f"is unclear: {unseen.why}"
                    return f"a use of {name} in {located.unit.name} {why}"
                found.append(site)
        for other in sorted(generic - {name}):
            sites = self._calls_by(other, context)
            if isinstance(sites, str):
                return sites
            found += sites
        return tuple(found) if found else _UNCALLED.format(name)

    def is_never_called(self, context: CallingContext) -> bool:
        """Whether nothing ever calls a procedure: the tree has one main program, and no file of it,
        in whatever language, names the procedure but to define it."""
        if context.key not in self._uncalled:
            self._uncalled[context.key] = self._is_uncalled(context)
        return self._uncalled[context.key]

    def is_never_executed(
        self, context: CallingContext, among: frozenset[UnitKey] = frozenset()
    ) -> bool:
        """Whether nothing calls a procedure but procedures that are never executed, or it itself
        (``among``: those on the way there)."""
        callers = self.callers(context)
        if isinstance(callers, str):
            return self.is_never_called(context)
        return self._is_seen_whole(context) and all(
            site.context.key in among | {context.key}
            or self.is_never_executed(site.context, among | {context.key})
            for site in callers
        )

    def _is_uncalled(self, context: CallingContext) -> bool:
        name = context.scope.unit.name
        return self.callers(context) == _UNCALLED.format(name) and self._is_seen_whole(context)

    def _is_seen_whole(self, context: CallingContext) -> bool:
        """Whether the tree has one main program, and nothing but the calls that are seen can refer
        to a procedure."""
        program, unit = self.scopes.program, context.scope.unit
        name = unit.name
        if len(program.main_programs()) != 1:
            return False
        if program.foreign_files_with(name) or len(program.defined_in("external", name)) > 1:
            return False
        head = unit.head.what if unit.head is not None else None
        prefix = head.prefix if isinstance(head, UnitHead) else ()
        separate = "module" in prefix or unit.kind == "module_procedure"
        if any(one.lacks_host for one in chain(context.scope)):
            return False
        if separate and not is_separate_body(context.scope):
            return False  # an interface that is not seen makes it accessible
        return not any(is_in_specification(one, name) for one in self.mentions(name) or ())

    def _calls_by(self, generic: str, callee: CallingContext) -> list[CallSite] | str:
        """The calls by a generic name that may be calls of a procedure; a text: why they are not
        known."""
        name = callee.scope.unit.name
        if "(" in generic:
            return f"{generic} may call {name}"
        mentioned = self.mentions(generic)
        if mentioned is None:
            return f"{generic} is mentioned in too many places"
        found: list[CallSite] = []
        for located in mentioned:
            caller = self.of(located)
            unclear = (
                f"a use of {generic} in {located.unit.name}, which may be {name}, is ambiguous"
            )
            if located.is_unread or passed_on(located, generic) or generic in caller.scope.shadowed:
                return unclear
            symbol = caller.scope.lookup(generic)
            if symbol is not None and _is_variable(symbol, callee):
                continue
            for statement, reference in _references(caller, generic):
                if reference is None:
                    return unclear
                call = Call(Ref(generic, generic), reference)
                if may_mean(call, callee.scope, generic, caller.scope):
                    args = bind(reference, callee.dummies)
                    if args is None:
                        return unclear
                    found.append(CallSite(caller, statement, args))
        return found

    def _calls_in(
        self, caller: CallingContext, callee: CallingContext, name: str
    ) -> Iterator[CallSite | None]:
        if name in caller.scope.shadowed:
            yield None
        symbol = caller.scope.lookup(name)
        if symbol is not None and _is_variable(symbol, callee):
            return
        target = procedure_named(Ref(name, name), caller.scope)
        if symbol is not None and "generic" in symbol.attrs:
            target = callee.scope.located  # it may be this one
        if target is None and len(self.scopes.program.defined_in("external", name)) > 1:
            yield None  # one of several procedures
        if target is None:
            if (symbol is None or symbol.home is None) and not _is_elsewhere(caller, name):
                yield None  # it may be this one
            return
        if unit_key(target) != callee.key:
            return
        own = caller.key == callee.key
        for statement, reference in _references(caller, name):
            if reference is None:
                # the name alone: in a function, its own result
                if not own:
                    yield None
            else:
                args = bind(reference, callee.dummies)
                yield CallSite(caller, statement, args) if args is not None else None

    def shared_definitions(self, symbol: Symbol) -> SharedDefinitions | str:
        """All definitions of a module or COMMON variable; a text: why they are not known."""
        if not has_main(self.scopes.program):
            return f"{symbol.name} of {_holder(symbol)} may be defined outside of the tree"
        holder = symbol.common_block if symbol.origin is Origin.COMMON else symbol.name
        if not holder:
            return f"{symbol.name} is in blank COMMON"
        mentioned = self.holding(holder, symbol.name)
        if mentioned is None:
            return f"{holder} is mentioned in too many places"
        elsewhere = defined_elsewhere(self.scopes.program, symbol, holder)
        if elsewhere is not None:
            return elsewhere
        unread = next((located.path for located in mentioned if located.is_unread), None)
        if unread is not None:
            return f"{unread} holds {holder} in text that is not analysed"
        found: list[tuple[CallingContext, VariableDefinition]] = []
        for context in self._with_contained(mentioned):
            if "*" in context.defined or symbol.name in context.scope.shadowed:
                return f"{context.scope.unit.name} is not understood"
            here = is_same_variable(symbol, context.scope, symbol.name in context.defined)
            if isinstance(here, str):
                return here
            if here:
                given = context.defined.get(symbol.name)
                found += [(context, d) for d in given if self.changes(d)]
        return tuple(found)

    def holding(self, holder: str, name: str) -> tuple[Located, ...] | None:
        """The units that mention a COMMON block or module variable, with those that may have a
        variable of the block from a module that declares it; None: there are too many."""
        found = self.mentions(holder)
        if holder == name or found is None or all(one.unit.kind != "module" for one in found):
            return found
        users = self.mentions(name)
        return None if users is None else (*found, *users)

    def own_definitions(self, name: str, context: CallingContext) -> SharedDefinitions | None:
        """All definitions of a variable of a unit in it and in what it contains; None: a statement
        there is not understood."""
        units = (context, *self.all_contained(context))
        if any("*" in unit.defined for unit in units):
            return None
        return tuple(
            (unit, one)
            for unit in units
            if unit is context or name not in unit.scope.own
            for one in unit.defined.get(name)
            if self.changes(one)
        )

    def _with_contained(self, units: tuple[Located, ...]) -> tuple[CallingContext, ...]:
        """Units and all that they contain, where a COMMON block need not be mentioned again."""
        found: dict[UnitKey, CallingContext] = {}
        for located in units:
            context = self.of(located)
            for unit in (context, *self.all_contained(context)):
                found.setdefault(unit.key, unit)
        return tuple(found.values())


def _references(
    caller: CallingContext, name: str
) -> Iterator[tuple[ConditionedStatement, tuple[Arg, ...] | None]]:
    """The references to a name in the statements of a unit, with their argument lists."""
    for statement in caller.flow.statements:
        found = list(references(statement.what, name))
        if isinstance(statement.leaf.what, Guarded):
            found += references(statement.leaf.what, name)
        yield from ((statement, reference) for reference in found)


def _is_variable(symbol: Symbol, callee: CallingContext) -> bool:
    """Whether a name cannot be that of a procedure where it is this symbol: it is an array, a named
    constant, a variable of a module, or has a type, which a subroutine has not."""
    if symbol.attrs & {"generic", "external", "procedure", "pointer"}:
        return False
    if symbol.dims is not None or symbol.origin in (
        Origin.MODULE,
        Origin.COMMON,
        Origin.PARAMETER,
    ):
        return True
    typed = symbol.type is not None and "implicit" not in symbol.attrs
    return typed and symbol.origin.is_variable and callee.scope.kind == "subroutine"


def _is_elsewhere(caller: CallingContext, name: str) -> bool:
    """Whether a name that a unit does not declare is only that of components there."""
    scope = caller.scope
    return not scope.declared.open and is_only_component(scope.located, name)


def _is_structure(symbol: Symbol) -> bool:
    return symbol.type is None or symbol.type.base in ("type", "class")


def _holder(symbol: Symbol) -> str:
    if symbol.origin is Origin.COMMON:
        return f"COMMON /{symbol.common_block}/"
    return f"module {symbol.owner}"


def unit_key(located: Located) -> UnitKey:
    """A key of a unit that does not change when the unit is read again."""
    span = located.unit.end.span
    return located.path, tuple(u.name for u in located.chain), span.first if span else -1


def is_bound_to_c(unit: Unit) -> bool:
    """Whether a procedure has the BIND attribute, so that C may call it."""
    head = unit.head
    if head is None:
        return False
    return "bind" in head.cut or _BIND.search(head.body or "") is not None
