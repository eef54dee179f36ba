"""Definitions and uses at each point of a control-flow graph: whole variables, arrays included."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from asphalt.analysis.control_flow.construct_names import (
    MARK,
    NOTHING,
    ConstructNames,
    bound_by,
    with_construct_names,
)
from asphalt.analysis.control_flow.graph import ControlFlow, Point, PointRole
from asphalt.analysis.data_flow.plain_statements import PlainStatements
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import (
    ALIASED,
    Access,
    CalledAccess,
    CallEffect,
    Effect,
    EffectKind,
    Footprint,
    Mode,
    NameKind,
    NameSemantics,
    RefinedNames,
    Statement,
)
from asphalt.analysis.memory.rma_windows import access_variables
from asphalt.analysis.memory.statement_accesses import examine_as
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.library_effects import Until, accesses_window, library_row
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.parallel_loops import threads_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import (
    Arg,
    Expr,
    Ref,
    Section,
    argument_value,
    names_in,
    root_name,
    walk,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import (
    ArmHead,
    Assign,
    Call,
    Decl,
    DoHead,
    Guarded,
    Raw,
    StatementFunction,
    What,
)
from asphalt.ir.tree import leaves


@record
class PointAccesses:
    """The definitions and uses of one point.

    ``defined``: storages that it may define, and whether it certainly defines all of each.
    ``used``: storages whose value it may read.  ``exposed``: it may define and use whatever other
    procedures can access; ``everything``: it may do anything.
    """

    defined: dict[str, bool]
    used: frozenset[str]
    exposed: bool = False
    everything: bool = False


_FROM_ELSEWHERE = frozenset({EffectKind.UNKNOWN_CALL, EffectKind.STATE})


class UnitAccesses:
    """The accesses of all points of a unit's graph, each computed once."""

    def __init__(self, graph: ControlFlow, scope: Scope, effects: Effects) -> None:
        self.graph = graph
        self.scope = _Unshadowed(scope.located, scope.scopes) if scope.shadowed else scope
        self.names = _NamesInConstructs(effects.names(self.scope), bool(scope.shadowed))
        self._known: dict[int, PointAccesses] = {}
        self._constructs: dict[int, ConstructNames] = {}
        self._exposed: dict[str, bool] = {}
        self._footprints: dict[int, Footprint] = {}
        self._plain = PlainStatements(self.scope, self.names)

    def at(self, number: int) -> PointAccesses:
        """The definitions and uses of a point."""
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = self._at(self.graph.points[number])
        return found

    def leaves_alone(self, point: Point, storages: Collection[str]) -> bool:
        """Whether a point certainly defines none of these; if not, ``at`` has to be asked."""
        if point.leaf is None or id(point.leaf) in self._behind:
            return False
        own = self.construct_names(point) is NOTHING
        return own and self._plain.leaves_alone(point, storages)

    @cached_property
    def everywhere(self) -> frozenset[int]:
        """The points that may define and use everything."""
        return frozenset(p.number for p in self.graph.points if self.at(p.number).everything)

    @cached_property
    def exposing(self) -> frozenset[int]:
        """The points that may define and use whatever unknown procedures can access."""
        return frozenset(p.number for p in self.graph.points if self.at(p.number).exposed)

    def defining(self, storage: str) -> frozenset[int]:
        """The points that define a storage themselves, certainly or perhaps."""
        return self._defining.get(storage, frozenset())

    @cached_property
    def _defining(self) -> Mapping[str, frozenset[int]]:
        found: defaultdict[str, set[int]] = defaultdict(set)
        for point in self.graph.points:
            for storage in self.at(point.number).defined:
                found[storage].add(point.number)
        return {storage: frozenset(points) for storage, points in found.items()}

    def using(self, storage: str) -> frozenset[int]:
        """The points that may read the value of a storage themselves."""
        return self._using.get(storage, frozenset())

    @cached_property
    def _using(self) -> Mapping[str, frozenset[int]]:
        found: defaultdict[str, set[int]] = defaultdict(set)
        for point in self.graph.points:
            for storage in self.at(point.number).used:
                found[storage].add(point.number)
        return {storage: frozenset(points) for storage, points in found.items()}

    def is_exposed(self, storage: str) -> bool:
        """Whether an unknown procedure may access a storage."""
        found = self._exposed.get(storage)
        if found is None:
            found = self._exposed[storage] = self._is_exposed(storage)
        return found

    def construct_names(self, point: Point) -> ConstructNames:
        """The names that the enclosing constructs of a point bind."""
        bound = NOTHING
        for node in point.around:
            known = self._constructs.get(id(node))
            if known is None:
                known = self._constructs[id(node)] = bound_by(node, self.graph, bound)
            bound = known
        return bound

    def footprint(self, number: int) -> Footprint:
        """The accesses and effects of a point, with the names of ``construct_names``."""
        found = self._footprints.get(number)
        if found is None:
            found = self._footprints[number] = self._footprint(self.graph.points[number])
        return found

    def _footprint(self, point: Point) -> Footprint:
        bound = self.construct_names(point)
        accesses: list[Access] = []
        effects: list[Effect] = []
        for what in _parts(point):
            assert point.leaf is not None
            seen = with_construct_names(what, bound)
            found = examine_as(seen, point.leaf, self.names)
            accesses += found.accesses
            effects += found.effects
        return Footprint(tuple(accesses), tuple(effects))

    def _at(self, point: Point) -> PointAccesses:
        if point.leaf is None:
            return PointAccesses({}, frozenset())
        bound = self.construct_names(point)
        footprint = self.footprint(point.number)
        kinds = {effect.kind for effect in footprint.effects}
        used = set(footprint.read()) | self._in_statement_functions(point)
        used |= self._in_directives.get(point.number, frozenset())
        sizes = {a.storage for a in footprint.accesses if a.asks_for_a_size}
        used |= sizes & self._resized if sizes else sizes
        whole = {
            storage
            for what in _parts(point)
            for storage in self._surely_defined(with_construct_names(what, bound), point)
            if storage != ALIASED
        }
        defined = {a.storage: a.storage in whole for a in footprint.accesses if a.writes}
        defined |= self._begun(point)
        for marked in [*used, *defined]:
            root = self._root(marked, bound)
            if root is not None and marked in defined:
                defined[root] = False
            if root is not None and marked in used:
                used.add(root)
        strange = not bound.clear or EffectKind.OPAQUE in kinds or id(point.leaf) in self._behind
        return PointAccesses(
            defined,
            frozenset(used),
            bool(kinds & _FROM_ELSEWHERE) or self._completes(point),
            strange or isinstance(point.what, Raw),
        )

    @cached_property
    def _resized(self) -> frozenset[str]:
        """The storages whose size an assignment, or a called procedure, may define."""
        return frozenset(
            access.storage
            for point in self.graph.points
            for access in self.footprint(point.number).accesses
            if access.may_resize and not self._is_mpi(point)
        )

    def _is_mpi(self, point: Point) -> bool:
        """Whether a point is an MPI call, which allocates nothing."""
        return isinstance(point.what, Call) and mpi_call(point.what, self.scope) is not None

    def _root(self, marked: str, bound: ConstructNames) -> str | None:
        """The storage that a construct associates with a name."""
        name = marked
        while name in bound.stands_for:
            name = bound.stands_for[name]
        return None if name == marked else self.names.storage(name)

    def _surely_defined(self, what: What, point: Point) -> Iterable[str]:
        """The storages that every execution of the statement defines entirely."""
        if point.masked or isinstance(point.what, Guarded):
            return
        match what:
            case Assign(target=Ref(name=name, args=args), pointer=False) if _is_whole(args):
                if self.names.is_intrinsic_assignment(what):
                    yield self.names.storage(name)
            case DoHead(kind="count", var=Ref(name=name, args=None)):
                yield self.names.storage(name)
            case Call(args=args):
                done = self.names.call(what)
                sure = {
                    found.storage
                    for found in done.accesses
                    if found.mode is Mode.WRITE and found.subscripts is None and found.part is None
                }
                for arg in args:
                    value = argument_value(arg)
                    if isinstance(value, Ref) and value.args is None:
                        storage = self.names.storage(value.name)
                        if storage in sure:
                            yield storage

    def _begun(self, point: Point) -> dict[str, bool]:
        """The names that the head of a construct binds to a new, perhaps undefined, value."""
        assert point.leaf is not None
        if not isinstance(point.what, ArmHead):
            return {}
        outer = set(self.construct_names(point).names.values())
        suffix = f"{MARK}{point.number}"
        for follower in self.graph.successors[point.number]:
            inside = self.construct_names(self.graph.points[follower])
            own = [n for n in inside.names.values() if n.endswith(suffix) and n not in outer]
            if own:
                return {name: True for name in own if name not in inside.stands_for}
        return {}

    def _in_statement_functions(self, point: Point) -> set[str]:
        """What the statement functions that a statement references read besides their arguments."""
        if not self._functions:
            return set()
        wanted = {name for what in _parts(point) for name in _names_of(what)}
        found: set[str] = set()
        work = [name for name in wanted if name in self._functions]
        seen = set(work)
        while work:
            function = self._functions[work.pop()]
            inside = names_in(function.value) - set(function.args)
            found |= {
                self.names.storage(name)
                for name in inside
                if self.names.kind(name, False) is NameKind.VARIABLE
            }
            work += [n for n in inside if n in self._functions and n not in seen]
            seen |= inside
        return found

    @cached_property
    def _in_directives(self) -> Mapping[int, frozenset[str]]:
        """What the directives of parallel loops evaluate, at the points where these begin."""
        found: dict[int, frozenset[str]] = {}
        for one in threads_of(self.scope.unit).loops:
            for number in self.graph.of(one.loop.head)[:1]:
                found[number] = frozenset(
                    self.names.storage(name)
                    for name in one.evaluated
                    if self.names.kind(name, False) is NameKind.VARIABLE
                )
        return found

    @cached_property
    def _functions(self) -> dict[str, StatementFunction]:
        spec = [leaf.what for node in self.scope.unit.spec for leaf in leaves(node)]
        return {what.name: what for what in spec if isinstance(what, StatementFunction)}

    @cached_property
    def _behind(self) -> frozenset[int]:
        """Statements after lines that are executed under OpenMP only."""
        return frozenset(id(leaf) for leaf, _ in conditional_statements(self.scope.unit))

    def _completes(self, point: Point) -> bool:
        """Whether an MPI call may complete earlier operations, and so access their buffers, or show
        what other ranks have put into variables."""
        what = point.what
        mpi = mpi_call(what, self.scope) if isinstance(what, Call) else None
        if mpi is None:
            return False
        if mpi.procedure.timing is Timing.COMPLETING or library_row(mpi.procedure).ends_access:
            return True
        return accesses_window(mpi.procedure) and access_variables(self.scope)

    def _is_exposed(self, storage: str) -> bool:
        if MARK in storage:
            return False
        symbol = self.scope.lookup(storage)
        if symbol is None or symbol.origin not in (Origin.LOCAL, Origin.DUMMY, Origin.RESULT):
            return True
        if symbol.attrs & {"volatile", "asynchronous", "pointer", "target"}:
            return True
        if "save" in symbol.attrs and self.scope.unit.kind != "program":
            return True  # it may be called again before it returns
        return self.is_lent(storage) or named_inside(storage, self.scope)

    def is_lent(self, storage: str) -> bool:
        """Whether MPI may access a storage after the return of a call that names it."""
        return storage in self._lent

    @cached_property
    def _lent(self) -> frozenset[str]:
        """The variables that MPI may access after the call that names them has returned."""
        found: set[str] = set()
        for point in self.graph.points:
            what = point.what
            mpi = mpi_call(what, self.scope) if isinstance(what, Call) else None
            if mpi is None:
                continue
            held = {t.argument for t in library_row(mpi.procedure).transfers}
            brief = {
                t.argument for t in library_row(mpi.procedure).transfers if t.until is Until.RETURN
            }
            for parameter, actual in mpi.bound():
                kept = parameter.kind == "BUFFER" and parameter.name not in held
                if kept or parameter.name in held - brief or parameter.written_later:
                    found |= {self.names.storage(name) for name in self._given(actual)}
        return frozenset(found)

    def _given(self, actual: Expr) -> Iterable[str]:
        """The variables whose address a call may pass on: not those of subscripts, whose values are
        used when it is made."""
        name = root_name(actual)
        if name is None or self.names.kind(name, True) is not NameKind.VARIABLE:
            return names_in(actual)
        return (name,)


class _Unshadowed(Scope):
    """A scope with the meaning that names have outside of the constructs that bind them."""

    @property
    def shadowed(self) -> frozenset[str]:
        """Empty: bound names are replaced before they are looked up."""
        return frozenset()


class _NamesInConstructs(RefinedNames):
    """The names of a unit, with those that constructs bind as variables of their own."""

    def __init__(self, names: NameSemantics, bound: bool) -> None:
        super().__init__(names)
        self._bound = bound

    @property
    def statements(self) -> dict[int, Statement] | None:
        return None if self._bound else self.names.statements

    def kind(self, name: str, listed: bool) -> NameKind:
        return NameKind.VARIABLE if MARK in name else self.names.kind(name, listed)

    def storage(self, name: str) -> str:
        return name if MARK in name else self.names.storage(name)

    def call(self, call: Call) -> CallEffect:
        done = self.names.call(call)
        marked = sorted(n for arg in call.args for n in names_in(arg) if MARK in n)
        more = tuple(
            CalledAccess(n, mode) for n in marked for mode in (Mode.READ, Mode.MAYBE_WRITE)
        )
        return replace(done, accesses=(*done.accesses, *more)) if more else done


def _parts(point: Point) -> tuple[What, ...]:
    """The statements that a point executes."""
    what = point.what
    match what:
        case Guarded(condition=condition, action=action):
            test = ArmHead("if", (condition,))
            return (test,) if point.role is PointRole.TEST else (test, action)
        case DoHead(kind="count", var=var) if point.role is PointRole.STEP and var is not None:
            return (Assign(var, var),)
        case DoHead(kind="count"):
            return (what,)
        case DoHead(condition=condition):
            return () if condition is None else (ArmHead("if", (condition,)),)
        case Decl() | None:
            return ()
    return (what,)


def _is_whole(args: tuple[Arg, ...] | None) -> bool:
    return args is None or all(arg == Section(None, None, None) for arg in args)


def _names_of(what: What) -> Iterable[str]:
    match what:
        case Assign(target=target, value=value):
            exprs: tuple[Arg | None, ...] = (target, value)
        case Call(args=args):
            exprs = args
        case DoHead(first=first, last=last, step=step):
            exprs = (first, last, step)
        case _:
            exprs = (*getattr(what, "exprs", ()), *getattr(what, "reads", ()))
            exprs = (*exprs, *getattr(what, "writes", ()), *getattr(what, "objects", ()))
            exprs = (*exprs, *getattr(what, "options", ()))
    for expr in exprs:
        for part in walk(expr) if expr is not None else ():
            if isinstance(part, Ref):
                yield part.name
            else:
                yield from getattr(part, "names", ())
