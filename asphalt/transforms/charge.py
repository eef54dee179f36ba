"""Adds the cost of computation to a program, for a simulated clock.

    do j = 1, m                        call asphalt_charge(3.2e-9_8*max(0.0_8, real(m, 8)) &
      do i = 1, n                                         + 4.1e-9_8*max(0.0_8, real(m, 8)) &
        a(i, j) = b(i, j) + s    ->                                  *max(0.0_8, real(n, 8)))
      end do                           do j = 1, m
    end do                               do i = 1, n
    call MPI_Send(a, ...)                ...
                                       call asphalt_charge_now()
                                       call MPI_Send(a, ...)

What is charged before a loop is what the whole loop costs, where the number of its turns is known
there; otherwise each turn charges itself.  Branches charge themselves, procedures too.  Nothing is
charged earlier than a call that may communicate, and what has been charged passes on the simulated
clock before such a call.  The results of the program stay what they were: the new statements read
variables and change none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from asphalt.analysis.costs import Counts
from asphalt.analysis.costs_chains import waits
from asphalt.analysis.costs_expressions import Counter, LoopAround
from asphalt.analysis.costs_names import (
    defined_by,
    defined_in,
    expressions,
    kept_in_registers,
)
from asphalt.analysis.costs_trips import Trips, is_harmless, is_repeatable, loop_trips, usable
from asphalt.analysis.costs_types import Surroundings, is_user_function
from asphalt.analysis.mpi_call import mpi_function
from asphalt.analysis.symbols import Scope
from asphalt.ir.expr import Arg, Expr, Keyword, Ref, walk
from asphalt.ir.insertion import last_declaration
from asphalt.ir.source import Form
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    DoHead,
    Entity,
    Guarded,
    Include,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    Raw,
    Use,
    What,
)
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.charge_edit import (
    CHARGE,
    FLUSH,
    CannotInsertError,
    Charge,
    before,
    maker_at,
    seconds_expression,
)
from asphalt.transforms.declare import insert_behind

Waits = Callable[[Call, Scope], bool]
"""Whether a call may communicate without charging by itself what came before."""
_ENDS = (JumpKind.STOP, JumpKind.ERROR_STOP)


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of an operation of each class, and until its result can be used; ``window``: seconds
    of the operations that a processor overlaps, 0 for any number of them."""

    seconds: Mapping[str, float]
    latency: Mapping[str, float]
    window: float = 0.0


@dataclass(frozen=True, slots=True)
class NotCharged:
    """Computation that is not charged: where it stands, and why."""

    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class _Placed:
    """Statements with what they cost: ``due`` is to be charged before the statement number ``at``
    of ``nodes``.  ``closed``: control runs through all of them, none of which communicates."""

    nodes: tuple[Node, ...]
    due: tuple[Charge, ...]
    at: int
    closed: bool


@dataclass
class Charger:
    """Charges the statements of one unit."""

    scope: Scope
    costs: Costs
    waits: Waits
    form: Form
    eol: str
    not_charged: list[NotCharged] = field(default_factory=list)
    _estimating: bool = False
    _loops: tuple[LoopAround, ...] = ()
    _floor: int = 0
    _selectors: Mapping[str, Expr] = field(default_factory=dict)
    _ends_of_loops: frozenset[int] = frozenset()
    _line: int = 0

    def unit(self, unit: Unit) -> Unit:
        """The unit with its executable statements charged."""
        self._ends_of_loops = frozenset(
            leaf.what.label
            for node in unit.body
            for leaf in leaves(node)
            if isinstance(leaf.what, DoHead) and leaf.what.label is not None
        )
        if not unit.body:
            return unit
        if not usable(self._around):
            self._refuse(unit.body[0], "an intrinsic function is hidden by a name of this unit")
            return unit
        body = self._emitted(self._block(unit.body))
        changed = replace(unit, body=body)
        return self._declared(changed) if body != unit.body else unit

    def _declared(self, unit: Unit) -> Unit:
        """The unit with the called procedures declared, where IMPLICIT NONE asks for that."""
        rules = [
            leaf
            for outer in self.scope.located.chain
            for node in outer.spec
            for leaf in leaves(node)
            if isinstance(leaf.what, Decl) and leaf.what.kind == "implicit"
        ]
        if not any("external" in (leaf.body or "").lower() for leaf in rules):
            return unit
        names = tuple(Entity(name, name) for name in (CHARGE, FLUSH))
        make = maker_at((*unit.spec, *unit.body)[0], self.form, self.eol)
        new = make.leaf(Decl("external", entities=names))
        return insert_behind(unit, last_declaration(unit), (new,))

    def estimate(self, nodes: tuple[Node, ...]) -> tuple[Charge, ...]:
        """What statements cost in all, as far as it can be told before them: all arms of a branch
        are taken equally often."""
        self._estimating = True
        found = self._block(nodes).due
        self._estimating = False
        return found

    @property
    def _around(self) -> Surroundings:
        return Surroundings(self.scope, self._selectors)

    def _counter(self) -> Counter:
        return Counter(self._around, self._loops, self._floor)

    def _refuse(self, node: Node, message: str) -> None:
        line = self._line_of(node)
        self.not_charged.append(NotCharged(self.scope.located.path, line, message))

    def _line_of(self, node: Node) -> int:
        for leaf in leaves(node):
            if leaf.span is not None:
                self._line = leaf.span.first
                break
        return self._line

    # statement lists

    def _block(self, nodes: tuple[Node, ...]) -> _Placed:
        """Charges a list; what its first part costs is left to the caller."""
        out: list[Node] = []
        first: tuple[tuple[Charge, ...], int] | None = None
        due: list[Charge] = []
        at: int | None = None
        defined: frozenset[str] = frozenset()
        counter = self._counter()

        def close() -> None:
            nonlocal first, due, at, defined
            if first is None:
                first = (tuple(due), len(out) if at is None else at)
            elif due and at is not None:
                self._insert(out, at, due)
            due, at, defined = [], None, frozenset()

        for node in nodes:
            if self._is_target(node):
                close()
                counter.forget()
            done = self._node(node, counter)
            movable = [c for c in done.due if self._may_move(c, defined)]
            stuck = [c for c in done.due if c not in movable]
            if done.due and at is None:
                at = len(out)
            due += movable
            if stuck:
                call = self._call(done.nodes[0], stuck)
                if call is not None:
                    try:
                        out += before(done.nodes[0], call)
                    except CannotInsertError as error:
                        self._refuse(node, str(error))
                        out.append(done.nodes[0])
                    out += done.nodes[1:]
                else:
                    out += done.nodes
            else:
                out += done.nodes
            if not isinstance(node, Leaf):
                counter.forget()
            defined |= self._also_selectors(defined_in((node,)))
            if not done.closed and not self._estimating:
                close()
                counter.forget()
        closed = first is None
        close()
        assert first is not None
        return _Placed(tuple(out), first[0], first[1], closed)

    def _may_move(self, charge: Charge, defined: frozenset[str]) -> bool:
        return self._estimating or (not charge.names & defined and self._is_safe(charge))

    def _is_safe(self, charge: Charge) -> bool:
        return all(
            is_harmless(t, self._around) and is_repeatable(t, self._around) for t in charge.trips
        )

    def _also_selectors(self, names: frozenset[str]) -> frozenset[str]:
        """The names, with what those among them stand for that ASSOCIATE constructs define."""
        more = {
            part.name
            for name in names & self._selectors.keys()
            for part in walk(self._selectors[name])
            if isinstance(part, Ref)
        }
        return names | more

    def _is_target(self, node: Node) -> bool:
        """Whether control may come to a statement from elsewhere."""
        first = next(iter(leaves(node)))
        entry = isinstance(first.what, Plain) and first.what.keyword == "entry"
        if isinstance(first.what, Plain) and first.what.keyword == "format":
            return False
        return entry or first.label is not None

    def _emitted(self, placed: _Placed) -> tuple[Node, ...]:
        """The list with what its first part costs charged in it."""
        out = list(placed.nodes)
        self._insert(out, placed.at, placed.due)
        return tuple(out)

    def _insert(self, out: list[Node], at: int, due: Iterable[Charge]) -> None:
        """Puts a charge before the statement number ``at``."""
        due = tuple(due)
        if self._estimating:
            return
        if at >= len(out):
            neighbour = out[-1] if out else None
            call = None if neighbour is None else self._call(neighbour, due)
            if call is not None:
                out.append(call)
            return
        call = self._call(out[at], due)
        if call is None:
            return
        try:
            out[at : at + 1] = self._before(out[at], call)
        except CannotInsertError as error:
            self._refuse(out[at], str(error))

    def _before(self, node: Node, call: Leaf) -> tuple[Node, ...]:
        """The call, then the node.  The label that ends a loop stays where it is."""
        first = next(iter(leaves(node)))
        if first.label not in self._ends_of_loops:
            return before(node, call)
        kept = replace(first, label=None)
        new, _ = before(kept, call)
        return (replace(new, label=None), replace(first, lead=first.lead[len(new.lead) :]))

    def _call(self, beside: Node, due: Iterable[Charge]) -> Leaf | None:
        amounts = []
        for charge in due:
            seconds = charge.counts.seconds(self.costs.seconds) + charge.waiting
            if all(is_repeatable(t, self._around) for t in charge.trips):
                amounts.append((seconds, charge.trips))
            else:
                self._refuse(beside, "how often it is done depends on a function of the program")
        amount = seconds_expression(amounts)
        if amount is None:
            return None
        return maker_at(beside, self.form, self.eol).call(CHARGE, amount)

    # statements

    def _node(self, node: Node, counter: Counter) -> _Placed:
        """Charges one statement or construct; ``due`` is to be charged before it."""
        match node:
            case Leaf():
                return self._leaf(node, counter)
            case Do():
                return self._do(node)
            case Branch(kind="where"):
                return self._where(node)
            case Branch():
                return self._branch(node)
            case Block(kind="forall"):
                self._refuse(node, "FORALL is not charged")
                return _Placed((node,), (), 0, True)
            case Block():
                return self._grouped(node)
        return _Placed((node,), (), 0, True)

    def _taken(self, counter: Counter, node: Node) -> tuple[Charge, ...]:
        """What a counter has found since it was asked last."""
        for message in counter.unknown:
            self._refuse(node, message)
        found = tuple(Charge(p.level, p.counts, p.trips) for p in counter.pieces)
        counter.pieces.clear()
        counter.unknown.clear()
        return found

    def _leaf(self, leaf: Leaf, counter: Counter) -> _Placed:
        what = leaf.what
        closed = not self._calls_out(what)
        flush = self._is_clock_read(what)
        nodes: tuple[Node, ...] = (leaf,)
        match what:
            case Assign(target=target, value=value, pointer=False):
                counter.assign(target, value)
            case Assign(target=target) | Allocation(objects=(target, *_)):
                for name in defined_by(what):
                    counter.changed(name)
            case Call(args=args):
                for arg in args:
                    self._argument(arg, counter)
                flush = flush or self.waits(what, self.scope)
                counter.add(counter.depth, call=0 if flush else 1)
                counter.forget()
                closed = False
            case Guarded():
                return self._guarded(leaf, what, counter, closed, flush)
            case Jump(kind=kind, exprs=exprs):
                for expr in exprs:
                    counter.value(expr)
                closed = closed and kind in _ENDS
            case IO(labels=labels):
                closed = closed and not labels
                counter.forget()
            case Opaque(reason=reason):
                self._refuse(leaf, f"this statement is not understood: {reason}")
                return _Placed(self._flushed(nodes), (), 0, False)
            case Plain(keyword="entry"):
                closed = False
            case Raw() | Decl() | Use() | Include() | Plain() | ArmHead() | DoHead():
                pass
        due = self._taken(counter, leaf)
        return _Placed(self._flushed(nodes) if flush else nodes, due, 0, closed)

    def _argument(self, arg: Arg, counter: Counter) -> None:
        """What it costs to pass an argument: an expression is computed, a variable is not."""
        match arg:
            case Keyword(value=value):
                self._argument(value, counter)
            case Ref(args=tuple()) if is_user_function(arg, self._around):
                counter.value(arg)
            case Ref():
                for inner in arg.args or ():
                    counter.value(inner)
            case _:
                counter.value(arg)

    def _flushed(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The statements, and before them the one by which the clock catches up."""
        call = maker_at(nodes[0], self.form, self.eol).call(FLUSH)
        try:
            return (*self._before(nodes[0], call), *nodes[1:])
        except CannotInsertError as error:
            self._refuse(nodes[0], f"the clock is late here: {error}")
            return nodes

    def _calls_out(self, what: What) -> bool:
        """Whether a statement calls a function of the program, or one of MPI."""
        return any(
            isinstance(part, Ref)
            and part.args is not None
            and (is_user_function(part, self._around) or mpi_function(part, self.scope) is not None)
            for expr in expressions(what)
            for part in walk(expr)
        )

    def _is_clock_read(self, what: What) -> bool:
        return any(
            isinstance(part, Ref)
            and part.args is not None
            and mpi_function(part, self.scope) is not None
            for expr in expressions(what)
            for part in walk(expr)
        )

    def _guarded(
        self, leaf: Leaf, what: Guarded, counter: Counter, closed: bool, flush: bool
    ) -> _Placed:
        """``if (condition) action``: what the action costs is charged under the same condition."""
        nodes: tuple[Node, ...] = (leaf,)
        action = what.action
        if what.kind != "if":
            if what.kind == "where" and isinstance(action, Assign):
                counter.assign(action.target, action.value)
            else:
                self._refuse(leaf, "FORALL is not charged")
            return _Placed(nodes, self._taken(counter, leaf), 0, True)
        ends = isinstance(action, Jump) and action.kind is not JumpKind.CYCLE
        counter.condition(what.condition, ends)
        due = self._taken(counter, leaf)
        inner = self._counter_for_arm()
        match action:
            case Assign(target=target, value=value, pointer=False):
                inner.assign(target, value)
            case Call(args=args):
                for arg in args:
                    self._argument(arg, inner)
                flush = flush or self.waits(action, self.scope)
                inner.add(inner.depth, call=0 if flush else 1)
                closed = False
            case Jump(kind=kind):
                closed = closed and kind in _ENDS
            case IO(labels=labels):
                closed = closed and not labels
            case _:
                pass
        costs = self._taken(inner, leaf)
        for name in defined_by(what):
            counter.changed(name)
        call = None if self._estimating else self._call(leaf, costs)
        if self._estimating:
            due = (*due, *(_part(c, 2) for c in costs))
        elif call is not None:
            if self._is_repeatable(what.condition):
                guard = replace(call, what=Guarded(what.condition, call.what))
                try:
                    nodes = self._before(leaf, guard)
                except CannotInsertError as error:
                    self._refuse(leaf, str(error))
            else:
                due = (*due, *(_part(c, 2) for c in costs))
        return _Placed(self._flushed(nodes) if flush else nodes, due, 0, closed)

    def _is_repeatable(self, condition: Expr) -> bool:
        return is_repeatable(Trips(condition), self._around)

    def _counter_for_arm(self) -> Counter:
        return Counter(self._around, self._loops, len(self._loops))

    def _branch(self, branch: Branch) -> _Placed:
        counter = self._counter()
        due: tuple[Charge, ...] = ()
        later: tuple[Charge, ...] = ()
        arms: list[Arm] = []
        closed = True
        flush = False
        floor, self._floor = self._floor, len(self._loops)
        for number, arm in enumerate(branch.arms):
            head = arm.head.what
            if isinstance(head, ArmHead) and head.kind in ("if", "else_if", "select_case"):
                for expr in head.exprs:
                    counter.condition(expr)  # type: ignore[arg-type]
                found = self._taken(counter, arm.head)
                if number == 0:
                    due = found
                else:
                    later += tuple(replace(c, level=len(self._loops)) for c in found)
                flush = flush or self._is_clock_read(head)
                closed = closed and not self._calls_out(head)
            inner = self._block(arm.body)
            closed = closed and inner.closed
            costs = (*later, *inner.due)
            if self._estimating:
                due += tuple(_part(c, _ways(branch)) for c in costs)
            arms.append(replace(arm, body=self._emitted(replace(inner, due=costs))))
        self._floor = floor
        nodes: tuple[Node, ...] = (replace(branch, arms=tuple(arms)),)
        return _Placed(self._flushed(nodes) if flush else nodes, due, 0, closed)

    def _where(self, branch: Branch) -> _Placed:
        """A WHERE construct: every assignment for all elements, as if no mask were false."""
        counter = self._counter()
        for arm in branch.arms:
            for node in arm.body:
                for leaf in leaves(node):
                    if isinstance(leaf.what, Assign):
                        counter.assign(leaf.what.target, leaf.what.value)
        closed = not any(self._calls_out(leaf.what) for leaf in leaves(branch))
        return _Placed((branch,), self._taken(counter, branch), 0, closed)

    def _grouped(self, block: Block) -> _Placed:
        """ASSOCIATE, BLOCK, CRITICAL: charged inside, where their names have their meanings."""
        kept = self._selectors
        head = block.head.what
        if isinstance(head, ArmHead):
            named = {e.name: e.value for e in head.exprs if isinstance(e, Keyword)}
            self._selectors = {**kept, **named}
        inner = self._block(block.body)
        body = self._emitted(inner)
        self._selectors = kept
        return _Placed((replace(block, body=body),), (), 0, inner.closed)

    # loops

    def _do(self, do: Do) -> _Placed:
        head = do.head.what
        if not isinstance(head, DoHead) or head.kind == "concurrent":
            self._refuse(do, "DO CONCURRENT is not charged")
            return _Placed((do,), (), 0, True)
        variable = head.var.name if isinstance(head.var, Ref) else ""
        depth = len(self._loops)
        varying = self._also_selectors(defined_in(do.body)) | {variable}
        varying -= kept_in_registers(do.body, variable)
        kept = self._loops
        counter = self._counter()
        counter.add(depth, loop_entry=1)
        for expr in (head.first, head.last, head.step):
            if expr is not None:
                counter.value(expr)
        outside = self._taken(counter, do)
        self._loops = (*kept, LoopAround(variable, varying))
        placed = self._block(do.body)
        turn = [Charge(depth + 1, Counts.of(loop=1)), *self._waiting(do, head, placed, variable)]
        if head.condition is not None:
            condition = self._counter()
            condition.condition(head.condition, ends=True)
            turn += self._taken(condition, do)
        self._loops = kept
        trips = loop_trips(head, self._around)
        flush = self._is_clock_read(head)
        stays, leaves_loop = self._divided((*turn, *placed.due), placed, trips, varying, depth)
        body = self._emitted(replace(placed, due=stays)) if stays else placed.nodes
        due = (*outside, *leaves_loop)
        closed = self._is_closed(do, placed) and not self._calls_out(head)
        nodes: tuple[Node, ...] = (replace(do, body=body),)
        return _Placed(self._flushed(nodes) if flush else nodes, due, 0, closed)

    def _divided(
        self,
        charges: tuple[Charge, ...],
        placed: _Placed,
        trips: Trips | None,
        varying: frozenset[str],
        depth: int,
    ) -> tuple[tuple[Charge, ...], tuple[Charge, ...]]:
        """What each turn charges by itself, and what is charged before the loop."""
        stays: list[Charge] = []
        out: list[Charge] = []
        countable = trips is not None and placed.closed and is_repeatable(trips, self._around)
        for charge in charges:
            free = self._may_move(charge, varying)
            if charge.level <= depth and free:
                out.append(charge)
            elif countable and free:
                assert trips is not None
                out.append(replace(charge, level=depth, trips=(trips, *charge.trips)))
            else:
                stays.append(charge)
        return tuple(stays), tuple(out)

    def _waiting(self, do: Do, head: DoHead, placed: _Placed, variable: str) -> tuple[Charge, ...]:
        """What a turn of an innermost loop waits for results, beyond what it computes."""
        own = [leaf.what for node in do.body for leaf in leaves(node)]
        if any(isinstance(what, DoHead | Call | IO) for what in own):
            return ()
        depth = len(self._loops)
        busy = sum(
            c.counts.seconds(self.costs.seconds) for c in placed.due if c.level == depth
        ) + self.costs.seconds.get("loop", 0.0)
        found = waits(do.body, variable, self._around, self.costs.latency)
        least = found.least(busy, self.costs.window)
        return (Charge(depth, Counts(), (), least - busy),) if least > busy else ()

    def _is_closed(self, do: Do, placed: _Placed) -> bool:
        """Whether control runs through the loop, and nothing in it communicates."""
        if placed.closed:
            return True
        for node in do.body:
            for leaf in leaves(node):
                what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
                match what:
                    case Jump(kind=JumpKind.CYCLE | JumpKind.EXIT, construct=None):
                        continue
                    case Jump(kind=kind) if kind in _ENDS:
                        continue
                    case Jump() | Call() | Opaque():
                        return False
                    case IO(labels=labels) if labels:
                        return False
                if self._calls_out(what):
                    return False
        return True


def _part(charge: Charge, ways: int) -> Charge:
    return replace(charge, counts=charge.counts * (1 / ways), waiting=charge.waiting / ways)


def _ways(branch: Branch) -> int:
    """How many ways there are through a branch."""
    kinds = [arm.head.what.kind for arm in branch.arms if isinstance(arm.head.what, ArmHead)]
    complete = {"else", "case_default", "class_default"} & set(kinds)
    return max(1, sum(not k.startswith("select") for k in kinds)) + (0 if complete else 1)
