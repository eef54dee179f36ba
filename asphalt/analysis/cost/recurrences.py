"""Recurrences: how long an iteration of an innermost loop waits for values.

A processor overlaps the operations of several iterations unless one needs the result of another.
The latencies of loop-carried dependences bound the time of an iteration from below (the maximum
cycle mean of the dependence graph, in max-plus algebra).

It overlaps no more iterations than fit into its instruction window.  The operations in that window
take ``window`` seconds one after the other.  If an iteration has ``busy`` seconds of operations,
and ``through`` seconds from its start to its last result, then window/busy iterations are in
flight, and one ends each ``through*busy/window`` seconds (Little's law), or each ``through``
seconds if not even one iteration fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from asphalt.analysis.cost.classes import FAMILY
from asphalt.analysis.cost.operators import products
from asphalt.analysis.cost.types import Surroundings, base_of, is_array, is_intrinsic_function
from asphalt.analysis.symbolic.polynomials import folded_expr, poly
from asphalt.ir.expr import Arg, Component, Expr, Keyword, Lit, Op, Ref, Section, children, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, Guarded
from asphalt.ir.tree import Arm, Branch, Leaf, Node

Delays = dict[str, float]
_ROUNDS = 12  # a multiple of the length of any likely cycle
_BEGINNING = ""  # of a turn, among the names that values wait for


@record
class IterationLatency:
    """The latencies of an iteration, in seconds.

    ``carried``: from an iteration to the next one, 0 without a loop-carried dependence.
    ``through``: from the start of an iteration to its last result.
    """

    carried: float
    through: float

    def least(self, busy: float, window: float) -> float:
        """The least time of an iteration whose operations take ``busy`` seconds one after the
        other.

        ``window``: the time of the operations that a processor overlaps, 0 for any number.
        """
        if not window:
            return self.carried
        return max(self.carried, self.through * min(1.0, busy / window))


def iteration_latency(
    body: tuple[Node, ...],
    variable: str,
    around: Surroundings,
    latency: Mapping[str, float],
) -> IterationLatency:
    """The latencies of an iteration.

    ``body``: of an innermost loop; ``variable``: the loop's, '' for none.
    """
    chains = _Chains(variable, around, latency, _targets(body))
    chains.run(body)
    ready = [dict.fromkeys(chains.values, 0.0)]
    for _ in range(2 * _ROUNDS):
        before = ready[-1]
        ready.append(
            {
                name: max(
                    (before.get(s, 0.0) + d for s, d in delays.items() if s != _BEGINNING),
                    default=0.0,
                )
                for name, delays in chains.values.items()
            }
        )
    gains = (ready[-1][name] - ready[_ROUNDS][name] for name in chains.values)
    through = (delay for delays in chains.values.values() for delay in delays.values())
    return IterationLatency(max(gains, default=0.0) / _ROUNDS, max(through, default=0.0))


def _targets(body: tuple[Node, ...]) -> Mapping[str, tuple[Expr, ...]]:
    """The array elements that an iteration defines, by array."""
    found: dict[str, tuple[Expr, ...]] = {}
    for what in _assignments(body):
        if isinstance(what.target, Ref) and what.target.args is not None:
            name = what.target.name
            found[name] = (*found.get(name, ()), folded_expr(what.target))
    return found


def _assignments(body: tuple[Node, ...]) -> Iterator[Assign]:
    for node in body:
        match node:
            case Leaf(what=Assign() as what) | Leaf(what=Guarded(action=Assign() as what)):
                yield what
            case Branch(arms=arms):
                for arm in arms:
                    yield from _assignments(arm.body)


class _Chains:
    """``values``: for each name, the delay of its value after those of the previous iteration."""

    def __init__(
        self,
        variable: str,
        around: Surroundings,
        latency: Mapping[str, float],
        targets: Mapping[str, tuple[Expr, ...]],
    ) -> None:
        self.variable = variable
        self.around = around
        self.latency = latency
        self.targets = targets
        self.values: dict[str, Delays] = {}
        self.stored: dict[str, Expr] = {}

    def run(self, body: tuple[Node, ...]) -> None:
        """Follow the statements of an iteration."""
        for node in body:
            match node:
                case Leaf(what=Assign(pointer=False) as what):
                    self._assign(what, sure=True)
                case Leaf(what=Guarded(kind="if", action=Assign(pointer=False) as what)):
                    self._assign(what, sure=False)
                case Branch(arms=arms):
                    self._arms(arms)

    def _arms(self, arms: tuple[Arm, ...]) -> None:
        before, stored = dict(self.values), dict(self.stored)
        ends = []
        kept = dict(stored)
        for arm in arms:
            self.values, self.stored = dict(before), dict(stored)
            self.run(arm.body)
            ends.append(self.values)
            kept |= self.stored
        self.values, self.stored = dict(before), kept
        for end in ends:
            for name, delays in end.items():
                if delays is not before.get(name):
                    self.values[name] = _later(self.values.get(name, {name: 0.0}), delays)

    def _assign(self, what: Assign, sure: bool) -> None:
        delays = self._value(what.value)
        target = what.target
        if not isinstance(target, Ref):
            return
        if not sure:
            delays = _later(delays, self.values.get(target.name, {target.name: 0.0}))
        self.values[target.name] = delays
        if target.args is not None:
            self.stored[target.name] = folded_expr(target)

    def _value(self, expr: Arg) -> Delays:
        match expr:
            case Lit() | Section():
                return {}
            case Keyword(value=value):
                return self._value(value)
            case Ref(name=name, args=None):
                if name == self.variable:
                    return {_BEGINNING: 0.0}
                return self.values.get(name, {name: 0.0})
            case Ref(name=name, args=tuple(args)) if is_intrinsic_function(expr, self.around):
                given = _latest(self._value(arg) for arg in args)
                return self._after(given, self._function(name, expr))
            case Ref() if is_array(expr, self.around):
                return self._element(expr)
            case Op(op="()", operands=(inner,)):
                return self._value(inner)
            case Op(operands=operands):
                given = _latest(self._value(operand) for operand in operands)
                name = self._operation(expr)
                if name == "power" and base_of(operands[1], self.around) == "integer":
                    return self._after(given, "multiply", products(operands[1], self.around))
                return self._after(given, name)
            case Component(args=args):
                return self._after(_latest(self._value(arg) for arg in args or ()), "load")
        return _latest(self._value(child) for child in children(expr))

    def _element(self, ref: Ref) -> Delays:
        subscripts = _latest(self._value(arg) for arg in ref.args or ())
        given = self._after({_BEGINNING: 0.0, **subscripts}, "load")
        if self.stored.get(ref.name) == folded_expr(ref):
            return _later(given, self.values[ref.name])  # it is still in a register
        if not self._reads_previous_iteration(ref):
            return given
        return _later(given, {ref.name: self.latency.get("store", 0.0)})

    def _reads_previous_iteration(self, ref: Ref) -> bool:
        """Whether an element is, as far as is known, one that the previous iteration wrote."""
        for what in self.targets.get(ref.name, ()):
            if what == folded_expr(ref):
                return self.variable not in names_in(what)
            if self._apart(what, ref):
                return True
        return False

    def _apart(self, written: Expr, read: Ref) -> bool:
        """Whether two elements are one iteration apart; also those in MIN and MAX of subscripts."""
        if not isinstance(written, Ref) or written.args is None or read.args is None:
            return False
        pairs = list(zip(written.args, read.args, strict=False))
        differences = []
        for one, other in pairs:
            if isinstance(one, Section | Keyword) or isinstance(other, Section | Keyword):
                return False
            inner = _without_clamp(other, self.variable)
            differences.append((poly(one) - poly(inner)).value)  # type: ignore[arg-type]
        moving = [number for number, (one, _) in enumerate(pairs) if self.variable in names_in(one)]
        rest = [d for n, d in enumerate(differences) if n not in moving]
        return (
            bool(moving)
            and all(d == 0 for d in rest)
            and all(differences[n] in (1, -1) for n in moving)
        )

    def _after(self, given: Delays, name: str, times: int = 1) -> Delays:
        delay = times * self.latency.get(name, 0.0)
        return {source: time + delay for source, time in given.items()}

    def _operation(self, expr: Op) -> str:
        base = base_of(expr, self.around)
        real = any(
            base_of(operand, self.around) in ("real", "complex") for operand in expr.operands
        )
        if base in ("integer", "logical") and not real:
            return "integer_divide" if expr.op == "/" else "integer"
        return {"*": "multiply", "/": "divide", "**": "power"}.get(expr.op, "add")

    def _function(self, name: str, expr: Ref) -> str:
        if name in FAMILY:
            return FAMILY[name]
        if "sqrt" in name:
            return "sqrt"
        integer = base_of(expr, self.around) in ("integer", "logical")
        if name in ("mod", "modulo"):
            return "integer_divide" if integer else "divide"
        if name in ("real", "dble", "int", "nint", "cmplx", "floor"):
            return "convert"
        return "integer" if integer else "add"


def _without_clamp(subscript: Arg, variable: str) -> Arg:
    if isinstance(subscript, Ref) and subscript.name in ("max", "min") and subscript.args:
        for arg in subscript.args:
            if variable in names_in(arg):
                return arg
    return subscript


def _latest(all_delays: Iterator[Delays]) -> Delays:
    found: Delays = {}
    for delays in all_delays:
        found = _later(found, delays)
    return found


def _later(one: Delays, other: Delays) -> Delays:
    return {name: max(one.get(name, 0.0), other.get(name, 0.0)) for name in {**one, **other}}
