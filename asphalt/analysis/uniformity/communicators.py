"""The group of ranks that a communicator expression denotes, and the groups that contain it.

A variable denotes one communicator if only one statement defines it, and that statement is executed
once, or once in each execution of the unit concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, UnitKey
from asphalt.analysis.call_graph.definitions import MAX_PATH, Source, VariableDefinition, component
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.mpi.datatypes import mpi_constant
from asphalt.analysis.mpi.procedures import procedure, procedures_with
from asphalt.analysis.mpi.standard.row import MAKES_INTERCOMMUNICATOR
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.analysis.uniformity.cartesian_grids import NumberOfRanks, grid_has_all
from asphalt.analysis.uniformity.initial_handles import begins_with_number, is_followed
from asphalt.analysis.uniformity.last_definition import is_settled, repeats
from asphalt.analysis.uniformity.split_colours import Shared, Split, shared_by, split_at
from asphalt.ir.expr import Component, Expr, Op, Ref
from asphalt.ir.records import record


@record
class Group:
    """The ranks of a communicator; equal groups are the same ranks, as each of them sees it.

    ``within``: a group that contains them; that of MPI_COMM_WORLD contains all.  ``execution``: the
    unit in one execution of which it is one group; None: in the whole run.  ``split``: the call
    that put them together.
    """

    name: tuple[object, ...]
    within: Group | None = field(default=None, compare=False)
    execution: UnitKey | None = field(default=None, compare=False)
    split: Split | None = field(default=None, compare=False)

    def enclosing(self) -> Iterator[Group]:
        """The group itself and those that are known to contain it, the innermost first."""
        yield self
        if self.within is not None:
            yield from self.within.enclosing()


WORLD = Group(("mpi_comm_world",))


def is_within(inner: Group | None, outer: Group) -> bool:
    """Whether a group contains another; None: an unknown group."""
    return outer == WORLD or (inner is not None and outer in inner.enclosing())


@record
class _New:
    """A communicator that a statement creates, or that comes from an untracked source.

    ``within``: the group that contains its ranks, if known; ``repeated``: one execution of the unit
    may create several.
    """

    within: Group | None
    repeated: bool


_DEPTH = 10  # variables that are given on to each other
_Given = tuple[CallingContext, VariableDefinition]


class Communicators:
    """The groups of communicators in one program."""

    def __init__(self, sites: CallSites) -> None:
        self.sites = sites
        self._has_two_groups: bool | None = None
        self._known: dict[tuple[UnitKey, Expr], Group | None] = {}

    def group(self, expr: Expr, context: CallingContext, depth: int = _DEPTH) -> Group | None:
        """The ranks of a communicator; None: unknown."""
        if depth < _DEPTH:
            return self._group(expr, context, depth)
        asked = (context.key, expr)
        if asked not in self._known:
            self._known[asked] = self._group(expr, context, depth)
        return self._known[asked]

    def _group(self, expr: Expr, context: CallingContext, depth: int) -> Group | None:
        while isinstance(expr, Op) or (isinstance(expr, Component) and expr.name == "mpi_val"):
            if isinstance(expr, Op):
                if expr.op != "()" or not isinstance(expr.operands[0], Expr):
                    return None
                expr = expr.operands[0]
            else:
                expr = expr.base
        constant = mpi_constant(expr, context.scope)
        if constant is not None:
            return WORLD if (constant,) == WORLD.name else Group((constant,), WORLD)
        part = component(expr, context.scope)
        if part is None or part.subscripts or len(part.path) == MAX_PATH or depth == 0:
            return None
        symbol = context.scope.lookup(part.root)
        if symbol is None or not is_followed(symbol, part.path):
            return None
        return self._variable(symbol, part.root, part.path, context, depth)

    def _variable(
        self, symbol: Symbol, name: str, path: tuple[str, ...], context: CallingContext, depth: int
    ) -> Group | None:
        if symbol.origin is Origin.HOST:
            host = _declaring(symbol, context, self.sites)
            own = None if host is None else host.scope.own.get(symbol.name)
            if host is None or own is None or not is_followed(own, path):
                return None
            return self._variable(own, own.name, path, host, depth)
        if symbol.origin in (Origin.MODULE, Origin.COMMON):
            found = self.sites.shared_definitions(symbol)
            if isinstance(found, str):
                return None
            holder = symbol.common_block or symbol.owner
            name_of_it = (symbol.origin, holder, symbol.name, path)
            return self._of_all(symbol, found, path, name_of_it, None, depth)
        if symbol.origin not in (Origin.LOCAL, Origin.DUMMY) or _is_recursive(context):
            return None
        units = (context, *self.sites.all_contained(context))
        if any("*" in unit.defined for unit in units):
            return None
        given = [
            (unit, definition)
            for unit in units
            if unit is context or name not in unit.scope.own
            for definition in unit.defined.get(name)
            if self.sites.changes(definition)
        ]
        own_name = ("local", context.key, name, path)
        if symbol.origin is Origin.DUMMY and symbol.intent != "out":
            if any(_concerns(definition, path) for _, definition in given):
                return None
            return self._dummy(name, path, own_name, context, depth)
        saved = "save" in symbol.attrs and context.scope.unit.kind != "program"
        if not saved:
            return self._of_all(symbol, given, path, own_name, context, depth)
        if begins_with_number(symbol, path):
            return None
        return self._given(given, path, own_name, None, depth)

    def _of_all(
        self,
        symbol: Symbol,
        given: Iterable[_Given],
        path: tuple[str, ...],
        name: tuple[object, ...],
        home: CallingContext | None,
        depth: int,
    ) -> Group | None:
        """The group of a variable with all its definitions; if it holds a number at first, which
        may be a communicator, it is used behind them only."""
        found = tuple(given)
        one = self._given(found, path, name, home, depth)
        if one is None:
            return self._settled(symbol, found, path, name)
        if not begins_with_number(symbol, path):
            return one
        own = tuple(given for given in found if self._made((given,), path, depth))
        always = own and all(self._is_executed(unit, d.statement) for unit, d in own)
        settled = always and is_settled(symbol, path, own, self._is_executed_once, self.sites)
        return one if settled else None

    def _settled(
        self,
        symbol: Symbol,
        given: Iterable[_Given],
        path: tuple[str, ...],
        name: tuple[object, ...],
    ) -> Group | None:
        """The group of a variable that has one value behind its definitions, whichever of them is
        executed: in other branches, or in a called procedure."""
        found = tuple(one for one in given if _concerns(one[1], path))
        known = all(
            (d.source is Source.CALLEE and d.callee is not None and not d.exprs)
            or (d.source is Source.EXPRESSIONS and d.whole)
            or d.old_communicator is not None
            or d.parent_communicator is not None
            for _, d in found
        )
        if not found or not known or any(d.lasting for _, d in found):
            return None
        if self._may_have_two_groups():
            return None
        settled = is_settled(symbol, path, found, self._is_executed_once, self.sites)
        return Group(name, split=self._split(found, path)) if settled else None

    def _split(
        self, given: tuple[_Given, ...], path: tuple[str, ...], depth: int = _DEPTH
    ) -> Split | None:
        """The only split that some definitions do, or a procedure that is the only one.

        It is executed at most once.
        """
        if not depth:
            return None
        if len(given) == 1 and given[0][1].source is Source.CALLEE:
            rest = path[len(given[0][1].path) :]
            inside = self._inside(given[0][1], rest)
            return None if inside is None else self._split(inside, rest, depth - 1)
        splits = [one for unit, d in given if (one := split_at(unit, d)) is not None]
        if len(splits) != 1 or len({unit.key for unit, _ in given}) != 1:
            return None
        (split,) = splits
        if not self._is_executed_once(split.context, split.statement):
            return None
        others = (d.statement for _, d in given if d.statement is not split.statement)
        return replace(split, others=tuple(others))

    def shared_by(self, group: Group) -> Shared:
        """What the ranks of a group share because of the split that made it."""
        if group.split is None:
            return Shared()
        return shared_by(group.split, self._is_executed_once, self.sites)

    def _given(
        self,
        given: Iterable[_Given],
        path: tuple[str, ...],
        name: tuple[object, ...],
        home: CallingContext | None,
        depth: int,
    ) -> Group | None:
        """The group of a variable with all its definitions.

        ``home``: the unit in whose execution the variable exists; None: it is saved.
        """
        given = tuple(given)
        made = self._made(given, path, depth)
        if made is None:
            return None
        groups = {one for one in made if isinstance(one, Group)}
        if len(groups) == 1 and len(groups) == len(set(made)):
            (group,) = groups
            return group if home is not None or group.execution is None else None
        if len(made) != 1 or not isinstance(made[0], _New) or made[0].repeated:
            return None
        within = made[0].within
        if within is None and self._may_have_two_groups():
            return None
        ((unit, definition),) = [g for g in given if self._made([g], path, depth)]
        if self._is_executed_once(unit, definition.statement):
            return Group(name, within, split=self._split(((unit, definition),), path))
        own = home is not None and unit.key == home.key
        return Group(name, within, home.key) if home is not None and own else None

    def _made(
        self, given: Iterable[_Given], path: tuple[str, ...], depth: int
    ) -> list[Group | _New] | None:
        """The group that some definitions give the component ``path``; None: it is ambiguous."""
        found: list[Group | _New] = []
        for context, definition in given:
            if _concerns(definition, path):
                made = self._made_by(context, definition, path, depth - 1) if depth else None
                if made is None:
                    return None
                found += made
        return found

    def _made_by(
        self,
        context: CallingContext,
        definition: VariableDefinition,
        path: tuple[str, ...],
        depth: int,
    ) -> list[Group | _New] | None:
        statement = definition.statement
        repeated = repeats(context, statement)
        rest = path[len(definition.path) :]
        if definition.source is Source.CALLEE:
            return self._returned(definition, rest, repeated, depth)
        if definition.old_communicator is not None and not rest:
            group = self.group(definition.old_communicator, context, depth)
            return [_New(None, repeated) if group is None else group]
        if definition.parent_communicator is not None and not rest:
            group = self.group(definition.parent_communicator, context, depth)
            lasting = group is not None and group.execution is None
            if lasting and grid_has_all(statement, context, group, _Number(self, depth)):
                return [group]  # type: ignore[list-item]
            return [_New(group, repeated)]
        if definition.source is not Source.EXPRESSIONS or not definition.whole:
            return None
        if len(definition.exprs) != 1 or definition.lasting:
            return None
        value: object = definition.exprs[0]
        for name in rest:
            value = Component(value, name, name) if isinstance(value, Ref | Component) else None
        group = self.group(value, context, depth) if isinstance(value, Expr) else None
        return [_New(None, repeated) if group is None else group]

    def _returned(
        self, definition: VariableDefinition, path: tuple[str, ...], repeated: bool, depth: int
    ) -> list[Group | _New] | None:
        """The group that a procedure gives to an argument."""
        given = self._inside(definition, path)
        if given is None or definition.callee is None:
            return None
        inside = self.sites.of(definition.callee)
        made = self._made(given, path, depth)
        if made is None:
            return None
        return [
            _New(_outlasting(one.within, inside), one.repeated or repeated)
            if isinstance(one, _New)
            else _outlasting(one, inside) or _New(None, repeated)
            for one in made
        ]

    def _inside(
        self, definition: VariableDefinition, path: tuple[str, ...]
    ) -> tuple[_Given, ...] | None:
        """The definitions by which a procedure gives an argument its value; None: not known."""
        if definition.callee is None or definition.exprs:
            return None
        inside = self.sites.of(definition.callee)
        symbol = inside.scope.lookup(definition.dummy)
        units = (inside, *self.sites.all_contained(inside))
        if symbol is None or not is_followed(symbol, path) or _is_recursive(inside):
            return None
        if any("*" in unit.defined for unit in units):
            return None
        if any(definition.dummy in unit.defined for unit in units[1:]):
            return None
        given = inside.defined.get(definition.dummy)
        return tuple((inside, d) for d in given if self.sites.changes(d) and _concerns(d, path))

    def _dummy(
        self,
        name: str,
        path: tuple[str, ...],
        own_name: tuple[object, ...],
        context: CallingContext,
        depth: int,
    ) -> Group | None:
        """The actual argument, if it is the same in all calls; else the dummy itself."""
        callers = self.sites.callers(context)
        found: set[Group | None] = set()
        for site in callers if not isinstance(callers, str) else ():
            actual: object = site.args.get(name)
            for step in path:
                known = isinstance(actual, Ref | Component)
                actual = Component(actual, step, step) if known else None  # type: ignore[arg-type]
            given = isinstance(actual, Expr)
            found.add(self.group(actual, site.context, depth - 1) if given else None)  # type: ignore[arg-type]
        only = found.pop() if len(found) == 1 else None
        if only is not None:
            return only
        if self._may_have_two_groups():
            return None
        once = not isinstance(callers, str) and self._unit_is_executed_once(context)
        return Group(own_name, None, None if once else context.key)

    def _is_executed_once(
        self, context: CallingContext, statement: ConditionedStatement, depth: int = 8
    ) -> bool:
        """Whether a statement is executed at most once in the run."""
        if repeats(context, statement):
            return False
        return self._unit_is_executed_once(context, depth)

    def _is_executed(
        self, context: CallingContext, statement: ConditionedStatement, depth: int = 8
    ) -> bool:
        """Whether all ranks execute a statement."""
        if context.flow.conditions(statement):
            return False
        if context.scope.unit.kind == "program":
            return True
        callers = self.sites.callers(context) if depth else ""
        if isinstance(callers, str) or len(callers) != 1:
            return False
        return self._is_executed(callers[0].context, callers[0].statement, depth - 1)

    def _unit_is_executed_once(self, context: CallingContext, depth: int = 8) -> bool:
        if context.scope.unit.kind == "program":
            return True
        callers = self.sites.callers(context) if depth else ""
        if isinstance(callers, str) or len(callers) != 1:
            return False
        return self._is_executed_once(callers[0].context, callers[0].statement, depth - 1)

    def _may_have_two_groups(self) -> bool:
        """Whether the program may have an intercommunicator."""
        if self._has_two_groups is None:
            names = procedures_with(MAKES_INTERCOMMUNICATOR)
            mentioned = {m.operation for m in self.sites.scopes.program.mpi_calls()}
            folded = {found.name for one in mentioned if (found := procedure(one)) is not None}
            self._has_two_groups = bool((folded | mentioned) & names)
        return self._has_two_groups


class _Number(NumberOfRanks):
    """Finds the group whose size a variable has."""

    def __init__(self, communicators: Communicators, depth: int) -> None:
        self._communicators = communicators
        self._depth = depth

    def group(self, communicator: Expr, context: CallingContext) -> object:
        return self._communicators.group(communicator, context, self._depth)

    def definitions(self, symbol: Symbol, context: CallingContext) -> tuple[_Given, ...] | None:
        sites = self._communicators.sites
        if symbol.origin in (Origin.MODULE, Origin.COMMON):
            found = sites.shared_definitions(symbol)
            return None if isinstance(found, str) else found
        if symbol.origin is not Origin.LOCAL or "*" in context.defined:
            return None
        for inner in sites.all_contained(context):
            seen = symbol.name in inner.defined and symbol.name not in inner.scope.own
            if seen or "*" in inner.defined:
                return None
        given = context.defined.get(symbol.name)
        return tuple((context, d) for d in given if sites.changes(d))


def _outlasting(group: Group | None, inside: CallingContext) -> Group | None:
    """A group, if it is the same in other executions of a unit."""
    return None if group is None or group.execution == inside.key else group


def _concerns(definition: VariableDefinition, path: tuple[str, ...]) -> bool:
    """Whether a definition may give a component a value that is usable as a communicator."""
    same = all(a == b for a, b in zip(definition.path, path, strict=False))
    return same and not definition.freed


def _is_recursive(context: CallingContext) -> bool:
    head = context.scope.head
    return head is not None and "recursive" in head.prefix


def _declaring(symbol: Symbol, context: CallingContext, sites: CallSites) -> CallingContext | None:
    """The unit around ``context`` that declares a variable."""
    scope = context.scope.host
    while scope is not None:
        own = scope.own.get(symbol.name)
        if own is not None and own.identity == symbol.identity:
            return sites.context(scope)
        scope = scope.host
    return None
