"""Counts that a nest finds out are computed from its bounds, for receives to start before it.

Before::

    l = 0
    do j = 1, n                                       ! packs, and counts
      l = l + 1
      s(:,l) = a(:,j)
    end do
    call MPI_Irecv(r, m*l, MPI_REAL, left, 1, comm, request, ierr)

After::

    ...
    call MPI_Irecv(r, m*max(0, n), MPI_REAL, left, 1, comm, request, ierr)

By itself this gains nothing; code motion can then move the start above the nest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.loop_counters import value_behind
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.procedures import Direction
from asphalt.config.passes import Pass
from asphalt.ir.expr import Arg, Expr, Ref, names_in
from asphalt.ir.mapped import mapped
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node, Unit, rewrite
from asphalt.transforms.rewriting.edit import lists_in, map_leaves
from asphalt.transforms.rewriting.make import size
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, Trial


@record
class CountFromBounds(Trial):
    """The arguments of the call ``leaf`` have expressions for counters."""

    starts_receives: ClassVar[bool] = True

    leaf: Leaf
    call: Call


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The receives whose arguments are counters of a nest in front of them."""
    return tuple(_steps(facts))


def _steps(facts: UnitFacts) -> Iterator[CountFromBounds]:
    messages = facts.once(Messages)
    place = facts.once(Independence.of).place
    for _, siblings in lists_in(facts.unit.body):
        for number, node in enumerate(siblings):
            if not isinstance(node, Leaf) or not isinstance(node.what, Call):
                continue
            for leaf, call in messages.calls(node):
                if leaf is not node or not _receives(call) or place.fixed(node) is not None:
                    continue
                values = _values(node, call, siblings[:number], facts)
                if values:
                    made = replace(node.what, args=_replaced(node.what.args, values))
                    names = ", ".join(sorted(values))
                    yield CountFromBounds(
                        line_of(node),
                        f"{names} in {facts.at(node)} is computed from the bounds of the nest",
                        (f"the nest in front of it counts with {names}, once in each iteration",),
                        (node.body or "",),
                        node,
                        made,
                    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with other arguments of one call."""
    assert isinstance(step, CountFromBounds)

    def change(leaf: Leaf) -> Leaf:
        return rewrite(leaf, step.call) if leaf is step.leaf else leaf

    return replace(facts.unit, body=tuple(map_leaves(node, change) for node in facts.unit.body))


def _receives(call: MpiCall) -> bool:
    """Whether a call starts a receive, and nothing else."""
    exchange = call.procedure.exchange
    if exchange is None or stage_of(call) is not Stage.START:
        return False
    return exchange.receive is not None and exchange.send is None


def _values(
    leaf: Leaf, call: MpiCall, before: tuple[Node, ...], facts: UnitFacts
) -> Mapping[str, Expr]:
    """The values of the counters in the arguments that a call only reads; of none, if it also has
    one elsewhere."""
    read: set[str] = set()
    other: set[str] = set()
    for parameter, actual in call.bound():
        plain = parameter.direction is Direction.IN and parameter.kind != "BUFFER"
        (read if plain and not parameter.array else other).update(names_in(actual))
    values: dict[str, Expr] = {}
    for name in sorted(read - other):
        value = value_behind(name, before, leaf, facts)
        if value is not None:
            values[name] = size(value, facts.scope)
    return values


def _replaced(args: tuple[Arg, ...], values: Mapping[str, Expr]) -> tuple[Arg, ...]:
    def change(ref: Ref) -> Expr | None:
        return values.get(ref.name) if ref.args is None else None

    return tuple(mapped(arg, change) for arg in args)


TRANSFORMATION = Transformation(
    "induction variable substitution",
    Pass.MOTION,
    Phase.DIVISION,
    "A count that a nest finds out is computed from its bounds, so that a receive can start before "
    "the nest.",
    check,
    apply,
)
