"""Whether all ranks of a communicator have the same value, and whether they all reach a statement.

Only this module can construct ``Uniform``: a function that takes one takes a proof.  Everything
that asphalt decides at run time is computed from such values, or agreed by all ranks (condition
10).
"""

from __future__ import annotations

from dataclasses import field

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.uniformity.communicators import Communicators, Group
from asphalt.analysis.uniformity.reaching_values import ReachingValues
from asphalt.analysis.uniformity.value_flow import ValueFlow
from asphalt.analysis.uniformity.value_graph import (
    ALL,
    Control,
    Facts,
    Node,
    Reachability,
    Variable,
)
from asphalt.analysis.uniformity.value_graph import Level as Level
from asphalt.ir.expr import Expr
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf


class _Proof:
    """A key that only this module has."""


_PROOF = _Proof()


@record
class Uniform:
    """An expression that has, proved, the same value on all ranks of the communicator.

    ``evidence``: what it depends on.  ``assumptions``: the names of those that the proof needs.
    """

    expr: Expr
    evidence: str
    assumptions: tuple[str, ...]
    _proof: _Proof = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._proof is not _PROOF:
            raise TypeError("only the uniformity analysis proves that a value is uniform")


@record
class NotUniform:
    """An expression that is not proved uniform.

    ``level``: VARYING (it depends on the rank) or UNKNOWN.  ``evidence``: the dependences from the
    expression to the reason.
    """

    expr: Expr
    level: Level
    evidence: str


@record
class Judgement:
    """Whether all ranks reach a statement, and equally often.

    ``assumptions``: the names of those that the proof needs.
    """

    level: Level
    evidence: str
    assumptions: tuple[str, ...] = ()


class Uniformity:
    """The uniformity of the values of one program."""

    def __init__(self, scopes: Scopes, assumed: Assumed | None = None) -> None:
        self._sites = CallSites(scopes, assumed)
        self._communicators = Communicators(self._sites)
        self._values = ReachingValues(self._sites)
        self._flows: dict[Group | None, ValueFlow] = {}

    def value(
        self, expr: Expr, scope: Scope, leaf: Leaf, communicator: Expr | None
    ) -> Uniform | NotUniform:
        """The uniformity of an expression at the statement ``leaf``, over a communicator.

        ``scope`` is that of the unit that contains ``leaf``.
        """
        context = self._sites.context(scope)
        statement = context.flow.at(leaf)
        facts = Facts()
        flow = self._flow(scope, communicator)
        flow.expression(expr, context, ALL if statement is None else statement.position, facts)
        flow.complete(facts)
        evidence = _evidence(facts, flow)
        if facts.level is Level.UNIFORM:
            return Uniform(expr, evidence, _assumptions(facts, flow), _PROOF)
        return NotUniform(expr, facts.level, evidence)

    def control(self, scope: Scope, leaf: Leaf, communicator: Expr | None) -> Judgement:
        """Whether all ranks that execute the unit reach ``leaf``, and equally often."""
        return self._judge(scope, leaf, communicator, whole=False)

    def reached(self, scope: Scope, leaf: Leaf, communicator: Expr | None) -> Judgement:
        """Whether all ranks reach ``leaf`` from the start of the program, and equally often."""
        return self._judge(scope, leaf, communicator, whole=True)

    def _judge(self, scope: Scope, leaf: Leaf, communicator: Expr | None, whole: bool) -> Judgement:
        context = self._sites.context(scope)
        statement = context.flow.at(leaf)
        if statement is None:
            return Judgement(Level.UNKNOWN, "the statement is not one of the unit's")
        flow = self._flow(scope, communicator)
        node = (Reachability if whole else Control)(context, statement.position)
        facts = Facts(depends={node: None})
        flow.complete(facts)
        uniform = facts.level is Level.UNIFORM
        assumptions = _assumptions(facts, flow) if uniform else ()
        return Judgement(facts.level, _evidence(facts, flow), assumptions)

    def _flow(self, scope: Scope, communicator: Expr | None) -> ValueFlow:
        group = None
        if communicator is not None:
            group = self._communicators.group(communicator, self._sites.context(scope))
        if group not in self._flows:
            self._flows[group] = ValueFlow(self._sites, self._communicators, self._values, group)
        return self._flows[group]


def _assumptions(facts: Facts, flow: ValueFlow) -> tuple[str, ...]:
    """The assumptions of everything that a value depends on, sorted."""
    found: set[str] = set(facts.assumed)
    seen: set[Node] = set()
    waiting = list(facts.depends)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            found |= flow.facts[node].assumed.keys()
            waiting += flow.facts[node].depends
    return tuple(sorted(found))


_MANY_REASONS = 6


def _evidence(facts: Facts, flow: ValueFlow) -> str:
    """The dependences of a uniform value; else the shortest path to the first reason."""
    seen: dict[object, tuple[Facts, str]] = {}
    queue: list[tuple[Facts, str]] = [(facts, "")]
    reasons: list[str] = []
    while queue:
        current, way = queue.pop(0)
        for reason, level in current.reasons.items():
            if facts.level is not Level.UNIFORM and level >= facts.level:
                return f"{way}{reason}"
            if level is Level.UNIFORM and reason not in reasons:
                reasons.append(reason)
        for node in current.depends:
            below = flow.facts[node]
            if node in seen or below.level < facts.level:
                continue
            step = f"{'%'.join((node.name, *node.path))}; " if isinstance(node, Variable) else ""
            if step and way.endswith(step):
                step = ""
            seen[node] = (below, way + step)
            queue.append(seen[node])
    if facts.level is Level.UNIFORM:
        return "; ".join(reasons[:_MANY_REASONS]) or "nothing in it differs between ranks"
    return "not known"
