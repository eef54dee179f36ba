"""Whether every use of a variable comes behind all its definitions, so that it has one value there.

The statements of a unit without backward jumps are executed in source order, once in an execution
of the unit.  So a statement of a unit that is executed once comes behind another one if it stands
behind it; and a statement of a called procedure does if all calls of the procedure do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, UnitKey
from asphalt.analysis.call_graph.component_definitions import overlap
from asphalt.analysis.call_graph.definitions import VariableDefinition
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement, expressions
from asphalt.analysis.names.derived_types import without_parents
from asphalt.analysis.names.designators import designators_in
from asphalt.analysis.names.references import expressions_of
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.ir.expr import Arg, names_in
from asphalt.ir.stmt import Call, Opaque, Raw

_DEPTH = 8  # calls, from the unit of the definitions upwards and to a use
_Given = tuple[CallingContext, VariableDefinition]
Once = Callable[[CallingContext, ConditionedStatement], bool]


def repeats(context: CallingContext, statement: ConditionedStatement) -> bool:
    """Whether one execution of a unit may execute a statement several times, or in several
    threads."""
    return bool(statement.loops) or statement.threaded or context.flow.may_come_back_to(statement)


def is_settled(
    symbol: Symbol,
    path: tuple[str, ...],
    given: Iterable[_Given],
    once: Once,
    sites: CallSites,
) -> bool:
    """Whether a variable, or its component ``path``, has one value wherever it is used.

    ``given``: all its definitions, of which one execution of the program executes some; ``once``:
    whether a statement is executed at most once.
    """
    found = tuple(given)
    keys = {context.key for context, _ in found}
    if len(keys) != 1 or not all(once(context, d.statement) for context, d in found):
        return False
    home = found[0][0]
    own = {definition.statement.position for _, definition in found}
    name = found[0][1].name
    if any(_reads(d.statement, name, path, home, defines=True) for _, d in found):
        return False
    last = max(own)
    before = (s for s in home.flow.statements if s.position < last and s.position not in own)
    if any(_reads(statement, name, path, home) for statement in before):
        return False
    begun = _begun(home, last, once, sites)
    return begun is not None and all(
        _follows(user, begun, sites, _DEPTH) or _uses_later(user, name, path, begun)
        for user in _users(symbol, home, sites)
        if user.key != home.key
    )


def _begun(
    home: CallingContext, last: int, once: Once, sites: CallSites
) -> Mapping[UnitKey, int] | None:
    """The units from the main program to ``home``, with the position behind which the definitions
    have been executed in each."""
    found = {home.key: last}
    here = home
    for _ in range(_DEPTH):
        if here.scope.unit.kind == "program":
            return found
        callers = sites.callers(here)
        if isinstance(callers, str) or len(callers) != 1:
            return None
        (site,) = callers
        if not once(site.context, site.statement):
            return None
        here = site.context
        found[here.key] = site.statement.position
    return None


def _users(symbol: Symbol, home: CallingContext, sites: CallSites) -> tuple[CallingContext, ...]:
    """The units that may use the variable."""
    if symbol.origin not in (Origin.MODULE, Origin.COMMON):
        return tuple(
            inner for inner in sites.all_contained(home) if symbol.name not in inner.scope.own
        )
    holder = symbol.common_block if symbol.origin is Origin.COMMON else symbol.name
    mentioned = sites.holding(holder or "", symbol.name) or ()
    direct = [sites.of(located) for located in mentioned]
    found = {one.key: one for user in direct for one in (user, *sites.all_contained(user))}
    return tuple(
        one
        for one in found.values()
        if one.scope.unit.kind != "module"
        and not _is_another(one.scope.lookup(symbol.name), symbol)
    )


def _is_another(found: Symbol | None, symbol: Symbol) -> bool:
    """Whether a unit means something else by the name of a variable of a module."""
    if found is None or symbol.origin is not Origin.MODULE:
        return False
    return found.identity != symbol.identity


def _uses_later(
    user: CallingContext, name: str, path: tuple[str, ...], begun: Mapping[UnitKey, int]
) -> bool:
    """Whether a unit uses the variable only behind the definitions: on the way to them, or
    never."""
    if user.scope.lookup(name) is None:
        return False  # it may have another name there
    last = begun.get(user.key)
    earlier = (s for s in user.flow.statements if last is None or s.position <= last)
    return not any(_reads(statement, name, path, user) for statement in earlier)


def _follows(
    user: CallingContext, begun: Mapping[UnitKey, int], sites: CallSites, depth: int
) -> bool:
    """Whether a unit is executed only behind the definitions."""
    if user.key in begun:
        return False  # it is on the way to them, and may use the variable before
    callers = sites.callers(user)
    if depth == 0 or isinstance(callers, str):
        return sites.is_never_called(user)
    return all(
        site.statement.position > begun[site.context.key]
        if site.context.key in begun
        else _follows(site.context, begun, sites, depth - 1)
        for site in callers
    )


def _reads(
    statement: ConditionedStatement,
    name: str,
    path: tuple[str, ...],
    home: CallingContext,
    defines: bool = False,
) -> bool:
    """Whether a statement may use a component of a variable; ``defines``: besides defining it."""
    what = statement.what
    if isinstance(what, Opaque | Raw):
        return True
    symbol = home.scope.lookup(name)

    def names(expr: Arg) -> bool:
        if not path or symbol is None:
            return name in names_in(expr)
        parts = (one.split("%") for one in designators_in(expr))
        return any(
            root == name and overlap(without_parents(symbol, tuple(way)), path)
            for root, *way in parts
        )

    conditions = (
        expr for condition in home.flow.conditions(statement) for expr in expressions(condition)
    )
    times = sum(map(names, expressions_of(what)))
    if isinstance(what, Call) and defines:
        times -= 1  # the argument that it defines
    elif defines:
        times -= 1  # the left-hand side
    return times > 0 or any(map(names, conditions))
