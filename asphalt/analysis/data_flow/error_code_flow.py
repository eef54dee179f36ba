"""Where variables for error codes are MPI_SUCCESS, and what is never executed because of it.

Everything here holds for programs whose errors are fatal (``error_handlers``).  It is the
propagation of one constant along the executable edges (Wegman and Zadeck, TOPLAS 1991, "conditional
constant").  It begins with nothing executed, follows an edge when its source is, and keeps a
variable as MPI_SUCCESS as long as all paths to a statement agree.  Procedures of the program are
analysed the same way, each from what is known of its arguments.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from asphalt.analysis.control_flow.graph import ENTRY, EXIT, ControlFlow, Point, PointRole
from asphalt.analysis.data_flow.code_values import value_of, variables_of
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.data_flow.single_variables import is_single
from asphalt.analysis.effects.error_handlers import SUCCESS, may_be_of_file
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import Effect, EffectKind, NameKind
from asphalt.analysis.memory.forward_substitution import COMPARISONS
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Expr,
    Keyword,
    Lit,
    Op,
    Ref,
    Section,
    argument_value,
    names_in,
    walk,
)
from asphalt.ir.program import Located
from asphalt.ir.stmt import ArmHead, Assign, Call, Guarded
from asphalt.ir.tree import Leaf
from asphalt.support.three_valued import truth

Codes = frozenset[str]
"""Storages that are MPI_SUCCESS."""
_SHARED = frozenset({"pointer", "target", "volatile", "asynchronous", "value"})
_OWN = (Origin.LOCAL, Origin.DUMMY, Origin.PARAMETER, Origin.MPI, Origin.INTRINSIC)
_READ = (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.PURE_FUNCTION, NameKind.INQUIRY)
_Key = tuple[str, tuple[str, ...], Codes]


@dataclass(eq=False)
class _Procedures:
    """The results for procedures of a program, each with the dummies that are MPI_SUCCESS when it
    is called; None: in progress.  ``asked``: those whose idleness is being determined."""

    effects: Effects
    found: dict[_Key, ErrorCodeFlow | None] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)

    def of(self, callee: Located, known: Codes) -> ErrorCodeFlow | None:
        """The result for a procedure; None: it calls itself, so that it is not followed."""
        key = callee.path, tuple(unit.name or "" for unit in callee.chain), known
        if key not in self.found:
            self.found[key] = None
            same = self.effects.same_elsewhere(callee)
            if same is not None:
                self.found[key] = same[0].once(_Procedures).of(same[1], known)
            else:
                scope = self.effects.scopes.of(callee)
                self.found[key] = ErrorCodeFlow(scope, self.effects, known).followed()
        return self.found[key]


class ErrorCodeFlow:
    """The error codes of one unit; ``entry``: the storages that are MPI_SUCCESS when it is
    called."""

    def __init__(
        self,
        scope: Scope,
        effects: Effects,
        entry: Codes = frozenset(),
    ) -> None:
        self.scope = scope
        self.effects = effects
        self.entry = entry
        self.reaching = ReachingDefinitions(scope, effects)
        self._procedures = effects.once(_Procedures)
        self._stores: dict[int, frozenset[str]] = {}

    @property
    def graph(self) -> ControlFlow:
        """The control flow of the unit with all its edges."""
        return self.reaching.graph

    def before(self, leaf: Leaf) -> Codes | None:
        """The storages that are MPI_SUCCESS whenever a statement is reached; None: it never is."""
        points = self.graph.of(leaf)
        return self._before.get(points[0]) if points else frozenset()

    def gives(self, leaf: Leaf, storage: str) -> bool:
        """Whether a statement can store nothing but MPI_SUCCESS in a variable."""
        point = self.graph.action(leaf)
        if point is None:
            return False
        before = self._before.get(point)
        return before is None or storage in self._given(self.graph.points[point], before)

    def followed(self) -> ErrorCodeFlow:
        """Itself, after the propagation."""
        self.is_executed(EXIT)
        return self

    def is_executed(self, point: int) -> bool:
        """Whether a point may be reached."""
        return point in self._before

    @cached_property
    def decides(self) -> bool:
        """Whether some condition is constant, or some call does nothing."""
        return self._may_decide and self._decides

    @cached_property
    def _may_decide(self) -> bool:
        """Whether a variable that may get MPI_SUCCESS is compared in a condition or passed on; else
        the propagation is pointless."""
        asked, calls = set[str](), list[tuple[int, set[str]]]()
        for point in self.graph.points:
            for condition in self._conditions(point.number):
                asked |= set(self._codes_compared(condition))
            call = point.what
            if isinstance(call, Call) and mpi_call(call, self.scope) is None:
                calls.append((point.number, set(self._passed(call))))
        calls = [(number, own) for number, own in calls if own]
        passed = Counter[str](storage for _, own in calls for storage in own)
        if not asked and not passed:
            return False
        changed = set[str]()
        for number, own in calls:
            done = self.reaching.accesses.at(number)
            changed |= own if done.everything else own & set(done.defined)
        if changed & asked or any(passed[storage] > 1 for storage in changed):
            return True
        wanted = asked | passed.keys()
        return bool(self.entry & wanted) or any(
            self._stored(point) & wanted for point in self.graph.points
        )

    def _codes_compared(self, condition: Arg) -> Iterator[str]:
        """The variables that may be codes and are operands of a comparison in a condition."""
        for part in walk(condition):
            if isinstance(part, Op) and part.op in COMPARISONS:
                yield from map(self._storage, self._codes_of(part.operands))

    def _passed(self, call: Call) -> Iterator[str]:
        """The variables that may be codes and are arguments of a call."""
        for arg in call.args:
            actual = argument_value(arg)
            if isinstance(actual, Ref) and self.is_code(actual):
                yield self._storage(actual)

    @cached_property
    def _decides(self) -> bool:
        return any(
            self.holds(condition, before) is not None
            for point, before in self._before.items()
            for condition in self._conditions(point)
        ) or any(self.is_idle_call(number) for number in self._before)

    @cached_property
    def taken(self) -> ControlFlow:
        """The graph with the executable edges only."""
        graph = self.graph
        after = [tuple(self._ways(number)) for number in range(len(graph.points))]
        before: list[list[int]] = [[] for _ in graph.points]
        for number, targets in enumerate(after):
            for target in targets:
                before[target].append(number)
        dead = frozenset(range(len(graph.points))) - self._before.keys()
        ways = tuple(after), tuple(tuple(sources) for sources in before)
        return replace(graph, successors=ways[0], predecessors=ways[1], dead=dead)

    def _ways(self, number: int) -> Iterator[int]:
        """The points that may follow a point."""
        before = self._before.get(number)
        if before is None:
            return
        wrong: str | None = None
        for condition in self._conditions(number):
            value = self.holds(condition, before)
            if value is not None:
                wrong = f"the condition is {str(not value).lower()}"
        for target in self.graph.successors[number]:
            if wrong is None or self.graph.edge_labels.get((number, target)) != wrong:
                yield target

    @cached_property
    def _before(self) -> dict[int, Codes]:
        """For each reachable point, the storages that are MPI_SUCCESS there."""
        found: dict[int, Codes] = {ENTRY: self.entry}
        self._before = found  # what is found so far, for ``_ways``
        work = deque([ENTRY])
        while work:
            here = work.popleft()
            after = self._after(here, found[here])
            for target in self._ways(here):
                known = found.get(target)
                now = after if known is None else known & after
                if now != known:
                    found[target] = now
                    if target not in work:
                        work.append(target)
        return found

    def _after(self, number: int, before: Codes) -> Codes:
        """The storages that are MPI_SUCCESS after a point."""
        point = self.graph.points[number]
        idle = not before and not isinstance(point.what, Call) and not self._stored(point)
        if point.leaf is None or idle or self._does_nothing(point, before):
            return before
        accesses = self.reaching.accesses
        if accesses.leaves_alone(point, before):
            return before | self._stored(point)
        done = accesses.at(number)
        if done.everything:
            return frozenset()
        return self._given(point, before).union(
            storage
            for storage in before
            if storage not in done.defined and not (done.exposed and accesses.is_exposed(storage))
        )

    def _given(self, point: Point, before: Codes) -> frozenset[str]:
        """The storages that a point certainly sets to MPI_SUCCESS."""
        call = point.what
        if isinstance(call, Call) and not point.masked and mpi_call(call, self.scope) is None:
            return frozenset(self._given_by(call, before))
        return self._stored(point)

    def _stored(self, point: Point) -> frozenset[str]:
        """The storages that a point sets to MPI_SUCCESS without a procedure of the program."""
        if point.number not in self._stores:
            self._stores[point.number] = frozenset(self._stored_by(point))
        return self._stores[point.number]

    def _stored_by(self, point: Point) -> set[str]:
        match point.what:
            case Assign(target=Ref(args=None) as target, value=value, pointer=False):
                zero = mpi_constant(value, self.scope) == SUCCESS
                zero = zero or constant(value, self.scope) == 0
                return {self._storage(target)} if zero and self.is_code(target) else set()
            case Call() as call if not point.masked:
                made = mpi_call(call, self.scope)
                error = None if made is None else made.error
                if made is not None and isinstance(error, Ref) and self.is_code_of(made):
                    return {self._storage(error)}
        return set()

    def _given_by(self, call: Call, before: Codes) -> set[str]:
        """The storages that a procedure of the program certainly sets to MPI_SUCCESS."""
        called = self._called(call, before)
        if called is None:
            return set()
        flow, actuals = called
        behind = flow._before.get(EXIT)
        return {
            storage
            for dummy, storage in actuals.items()
            if behind is None or storage_of(dummy, flow.scope) in behind
        }

    def _called(self, call: Call, before: Codes) -> tuple[ErrorCodeFlow, dict[str, str]] | None:
        """The flow of the called procedure, and its dummies for error codes with the storages of
        their actual arguments; None: unknown."""
        callee = procedure_named(call.procedure, self.scope)
        inner = None if callee is None else self.effects.scopes.of(callee)
        head = None if inner is None else inner.head
        if callee is None or inner is None or head is None or inner.kind != "subroutine":
            return None
        actuals: dict[str, str] = {}
        for position, arg in enumerate(call.args):
            actual = argument_value(arg)
            dummy = arg.name if isinstance(arg, Keyword) else None
            if dummy is None and position < len(head.args):
                dummy = head.args[position]
            if dummy is None or not isinstance(actual, Ref) or not self.is_code(actual):
                continue
            symbol = inner.lookup(dummy)
            if symbol is not None and symbol.intent == "in" and self._storage(actual) not in before:
                continue  # nothing is known of it, neither there nor behind
            alone = sum(self._names(other, actual) for other in call.args) == 1
            if alone and dummy in head.args and is_code(Ref(dummy, dummy), inner):
                actuals[dummy] = self._storage(actual)
        if not actuals:
            return None
        known = frozenset(storage_of(d, inner) for d, s in actuals.items() if s in before)
        flow = self._procedures.of(callee, known)
        if flow is None:
            return None
        return flow, {d: s for d, s in actuals.items() if flow.is_code(Ref(d, d))}

    def is_idle_call(self, number: int) -> bool:
        """Whether a point calls a procedure that does nothing because a code is MPI_SUCCESS."""
        before = self._before.get(number)
        return before is not None and self._does_nothing(self.graph.points[number], before)

    def _does_nothing(self, point: Point, before: Codes) -> bool:
        call = point.what
        if not isinstance(call, Call) or mpi_call(call, self.scope) is not None:
            return False
        if not all(self._only_reads(arg) for arg in call.args):
            return False
        called = self._called(call, before) if before else None
        if called is None or not called[0].entry or id(called[0]) in self._procedures.asked:
            return False  # one that calls itself is not looked through
        self._procedures.asked.add(id(called[0]))
        idle = called[0]._is_idle
        self._procedures.asked.discard(id(called[0]))
        return idle

    def _only_reads(self, arg: Arg) -> bool:
        """Whether the evaluation of an argument only reads variables."""
        names = self.reaching.accesses.names
        for part in walk(arg):
            match part:
                case Ref(name=name, args=args):
                    if names.kind(name, args is not None) not in _READ:
                        return False
                case Op():
                    if not names.is_intrinsic_operation(part):
                        return False
                case Lit() | Keyword() | Section():
                    pass
                case _:
                    return False
        return True

    @cached_property
    def _is_idle(self) -> bool:
        """Whether the unit only evaluates conditions."""
        accesses = self.reaching.accesses
        for symbol in self.scope.declared.symbols.values():
            if symbol.intent == "out" or (
                symbol.type is not None and symbol.type.base in ("type", "class")
            ):
                return False
        for number in self._before:
            point = self.graph.points[number]
            if point.leaf is None or self.is_idle_call(number):
                continue
            if accesses.at(number).everything or not all(
                _is_return(effect) for effect in accesses.footprint(number).effects
            ):
                return False
            for access in accesses.footprint(number).accesses:
                read = self.scope.lookup(access.storage)
                if access.writes or read is None or read.origin not in _OWN:
                    return False
        return EXIT in self._before

    # Conditions

    def _conditions(self, number: int) -> tuple[Arg, ...]:
        """The condition that a point tests; (): none."""
        point = self.graph.points[number]
        match point.what:
            case Guarded(condition=condition, kind="if") if point.role is PointRole.TEST:
                return (condition,)
            case ArmHead(kind="if" | "else_if", exprs=(condition,)):
                return (condition,)
        return ()

    def holds(self, condition: Arg, before: Codes) -> bool | None:
        """Whether a condition holds while some storages are MPI_SUCCESS; None: unknown."""
        return truth(condition, partial(self._compared, before=before))

    def _compared(self, expr: Arg, before: Codes) -> bool | None:
        """Whether a comparison holds, if one of its operands is a code."""
        match expr:
            case Op(op=op, operands=(one, other)) if op in COMPARISONS:
                if not any(self._codes_of((one, other))):
                    return None
                mine, theirs = self._integer(one, before), self._integer(other, before)
                return None if mine is None or theirs is None else COMPARISONS[op](mine - theirs)
        return None

    def _codes_of(self, exprs: tuple[Expr, ...]) -> Iterator[Ref]:
        """The variables that may be codes and that integers are made of."""
        parts = (part for expr in exprs for part in variables_of(expr, self.scope))
        return (part for part in parts if self.is_code(part))

    def _integer(self, expr: Expr, before: Codes) -> int | None:
        """The value of constants and codes."""

        def known(variable: Ref) -> int | None:
            is_zero = self.is_code(variable) and self._storage(variable) in before
            return 0 if is_zero else None

        return value_of(expr, self.scope, known)

    # Variables

    def is_code(self, variable: Ref) -> bool:
        """Whether a variable is an integer that only statements access, not an MPI operation in
        progress."""
        if not is_code(variable, self.scope) or not is_single(variable.name, self.scope):
            return False
        return not self.reaching.accesses.is_lent(self._storage(variable))

    def is_code_of(self, call: MpiCall) -> bool:
        """Whether a call stores its error code in a variable, and nothing else."""
        error = call.error
        if not isinstance(error, Ref) or not self.is_code(error):
            return False
        if may_be_of_file(call.procedure, self.effects):
            return False
        others = [a for name, a in call.args.items() if name != "ierror"]
        return call.binding not in ("runtime", "unknown") and not any(
            self._names(other, error) for other in others
        )

    def _names(self, expr: Arg, variable: Ref) -> bool:
        if isinstance(expr, AltReturn | Section):
            return False
        return self._storage(variable) in {storage_of(n, self.scope) for n in names_in(expr)}

    def _storage(self, variable: Expr) -> str:
        assert isinstance(variable, Ref)
        return storage_of(variable.name, self.scope)


def is_code(variable: Ref, scope: Scope) -> bool:
    """Whether a variable is an integer without a second name."""
    symbol = scope.lookup(variable.name)
    if variable.args is not None or variable.name in scope.shadowed:
        return False
    if symbol is None or not symbol.origin.is_variable or symbol.dims is not None:
        return False
    if symbol.equivalenced or symbol.attrs & _SHARED:
        return False
    return symbol.type is not None and symbol.type.base == "integer"


def _is_return(effect: Effect) -> bool:
    return effect.kind is EffectKind.JUMP
