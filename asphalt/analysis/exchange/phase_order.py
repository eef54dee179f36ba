"""Which accesses would change their order when phases are fused, interchanged or rotated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.privatisation import (
    is_private,
    is_private_and_dead,
    reads_from_before,
)
from asphalt.analysis.exchange.producer import Producer, ProducerPhase
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.regions import Region, Violation, loop_variable
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf

Order = Callable[[AffineProblem, Mapping[str, str], Mapping[str, str]], None]


@record
class Reorder:
    """Two accesses whose order would change, with their iterations."""

    storage: str
    earlier: Leaf
    later: Leaf
    violation: Violation


def carried_by_fusion(producer: Producer) -> Reorder | None:
    """Two accesses that fusing the phases tile by tile would execute in another order."""
    for number, before in enumerate(producer.phases):
        for after in producer.phases[number + 1 :]:
            found = _fusion_pair(producer, before, after)
            if found is not None:
                return found
    return None


def _fusion_pair(producer: Producer, before: ProducerPhase, after: ProducerPhase) -> Reorder | None:
    @cache
    def passes_nothing_on(storage: str) -> bool:
        return is_private(producer, (before, after), storage)

    def takes_over(access: Access) -> bool:
        """Whether the phase before may use the value that a variable has in front of an iteration.
        If not, the loop of the later phase that is its own gives it a value again."""
        own = _is_own_variable(access, before, producer)
        return not own and reads_from_before(producer, before, access.storage)

    for a in producer.phase_accesses(before):
        for b in producer.phase_accesses(after):
            if not a.conflicts(b):
                continue
            if _is_own_variable(b, after, producer) and not takes_over(a):
                continue
            if passes_nothing_on(a.storage):
                continue
            if before.tiled not in a.loops or after.tiled not in b.loops:
                return Reorder(a.storage, a.leaf, b.leaf, Violation(None))
            later = ">" if producer.direction > 0 else "<"

            def order(
                problem: AffineProblem,
                one: Mapping[str, str],
                two: Mapping[str, str],
                relation: str = later,
            ) -> None:
                problem.compare(one[before.variable], relation, two[after.variable])

            violation = producer.region.conflict(a, b, order)
            if violation is not None:
                return Reorder(a.storage, a.leaf, b.leaf, violation)
    return None


def _is_own_variable(access: Access, phase: ProducerPhase, producer: Producer) -> bool:
    """Whether it accesses a loop variable of the nest itself, which is defined before every use."""
    names = {loop_variable(loop) for loop in phase.loops}
    storage = producer.exchange.names.storage
    return access.storage in {storage(name) for name in names if name is not None}


def carried_by_interchange(producer: Producer, phase: ProducerPhase) -> Reorder | None:
    """Two accesses of one phase whose order changes because its tiled loop is not its outermost."""
    outer = phase.loops[:-1]
    if not outer:
        return None
    directions = []
    for loop in outer:
        direction = _direction(loop, producer.region)
        if direction is None:
            return Reorder("", loop.head, loop.head, Violation(None))
        directions.append(direction)
    accesses = producer.phase_accesses(phase)
    if producer.counter is not None and producer.counter.variable is None:
        # the iterations write different elements of the buffer (``packed_subscripts``)
        sent = producer.exchange.call.procedure.exchange
        send = None if sent is None else buffer_of(producer.exchange, sent.send)
        own = None if send is None else producer.exchange.names.storage(send.name)
        accesses = tuple(access for access in accesses if access.storage != own)

    @cache
    def passes_nothing_on(storage: str) -> bool:
        return is_private(producer, (phase,), storage)

    for a in accesses:
        for b in accesses:
            if not a.conflicts(b):
                continue
            if _is_own_variable(a, phase, producer):
                continue
            if passes_nothing_on(a.storage):
                continue
            if phase.tiled not in a.loops or phase.tiled not in b.loops:
                return Reorder(a.storage, a.leaf, b.leaf, Violation(None))
            for level in range(len(outer)):
                violation = producer.region.conflict(
                    a, b, _interchanged(phase, directions, level, producer.direction)
                )
                if violation is not None:
                    return Reorder(a.storage, a.leaf, b.leaf, violation)
    return None


def _direction(loop: Do, region: Region) -> int | None:
    """The sign of a loop's step; None: not known, or its bounds may change in the region."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.first is None or head.last is None:
        return None
    if region.value(head.first, ()) is None or region.value(head.last, ()) is None:
        return None
    step = Poly.constant(1) if head.step is None else region.value(head.step, ())
    if step is None or not step.value:
        return None
    return 1 if step.value > 0 else -1


def _interchanged(phase: ProducerPhase, directions: list[int], level: int, direction: int) -> Order:
    """The relation of two iterations that loop number ``level`` executes in order, but whose tiles
    reverse that order."""

    def order(problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
        for depth, loop in enumerate(phase.loops[: level + 1]):
            name = loop_variable(loop)
            assert name is not None
            before = "<" if directions[depth] > 0 else ">"
            problem.compare(one[name], before if depth == level else "=", two[name])
        problem.compare(one[phase.variable], ">" if direction > 0 else "<", two[phase.variable])

    return order


def carried_by_rotation(producer: Producer) -> Reorder | None:
    """Two accesses that depend on the order of the iterations of the tiled loops."""
    for before in producer.phases:
        for after in producer.phases:
            found = _rotation_pair(producer, before, after)
            if found is not None:
                return found
    return None


def _rotation_pair(
    producer: Producer, before: ProducerPhase, after: ProducerPhase
) -> Reorder | None:
    @cache
    def passes_nothing_on(storage: str) -> bool:
        return is_private_and_dead(producer, (before, after), storage)

    for a in producer.phase_accesses(before):
        for b in producer.phase_accesses(after):
            if not a.conflicts(b):
                continue
            tiled_variables = {producer.exchange.names.storage(p.variable) for p in (before, after)}
            if a.storage in tiled_variables:
                continue  # its last value is restored
            if passes_nothing_on(a.storage):
                continue
            if before.tiled not in a.loops or after.tiled not in b.loops:
                return Reorder(a.storage, a.leaf, b.leaf, Violation(None))
            for relation in ("<", ">"):

                def order(
                    problem: AffineProblem,
                    one: Mapping[str, str],
                    two: Mapping[str, str],
                    relation: str = relation,
                ) -> None:
                    problem.compare(one[before.variable], relation, two[after.variable])

                violation = producer.region.conflict(a, b, order)
                if violation is not None:
                    return Reorder(a.storage, a.leaf, b.leaf, violation)
    return None
