"""Condition 10: every run-time decision is the same on all ranks."""

from __future__ import annotations

from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.names.designators import spelled_designator
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Contiguous, Divides, Guard, Layout
from asphalt.analysis.uniformity.uniformity import Level, NotUniform, Uniform, Uniformity
from asphalt.analysis.verdicts.verdict import Code, Holds, Refused
from asphalt.ir.expr import Expr
from asphalt.ir.records import record

RANK_DEPENDENT = Code(
    "ASP1001",
    "sizes depend on the rank",
    "A bound of the loop or a size of the exchange differs between ranks, so they would cut their "
    "blocks into different tiles.",
    "Let all ranks loop over the same range, e.g. the largest, and skip the iterations that a "
    "rank does not have.",
    10,
)

CODES = (RANK_DEPENDENT,)


@record
class Decision:
    """The inputs of the run-time decision at the entry of the producer.

    ``proved``: all inputs, each proved uniform; None: some are not, so the ranks agree by one
    reduction at every entry.
    """

    proved: tuple[Uniform, ...] | None
    holds: Holds


def check(producer: Producer, layout: Layout, uniformity: Uniformity) -> Decision | Refused:
    """Whether bounds, sizes and guards are uniform, or the ranks can agree on them."""
    exchange = producer.exchange
    if layout.uneven is not None:
        # nothing about the blocks or the loops has to be the same on two ranks
        evidence = "the ranks agree on the length of a piece, and on their guards, at every entry"
        return Decision(None, Holds(evidence))
    comm = exchange.call.args.get("comm")
    leaf = producer.phases[0].nest.head
    proved: list[Uniform] = []
    open_question: NotUniform | None = None
    for expr in _inputs(producer, layout):
        answer = uniformity.value(expr, exchange.scope, leaf, comm)
        if not isinstance(answer, Uniform):
            # it has the same value at the call, and a directive may stand there
            at_call = uniformity.value(expr, exchange.scope, exchange.leaf, comm)
            answer = at_call if isinstance(at_call, Uniform) else answer
        if isinstance(answer, Uniform):
            proved.append(answer)
        elif answer.level is Level.VARYING:
            message = f"a size of the exchange depends on the rank: {answer.evidence}"
            return Refused(RANK_DEPENDENT, message, leaf.span)
        else:
            open_question = answer
    for guard in layout.guards:
        if isinstance(guard, Contiguous):
            array = spelled_designator(guard.array)
            evidence = f"each rank checks whether {array} is contiguous, and the ranks agree"
            return Decision(None, Holds(evidence))
    if open_question is None:
        evidence = "all sizes are proved equal on all ranks"
        assumptions = sorted({name for value in proved for name in value.assumptions})
        return Decision(tuple(proved), Holds(evidence, tuple(assumptions)))
    evidence = f"the ranks agree on the sizes at every entry ({open_question.evidence})"
    return Decision(None, Holds(evidence))


def _inputs(producer: Producer, layout: Layout) -> list[Expr]:
    polys: list[Poly] = [layout.unit, layout.block]
    if layout.window is not None:
        polys.append(layout.window.before)
    polys += [address.room for address in (layout.send, layout.receive) if address.room is not None]
    if layout.strides is not None:
        polys += layout.strides.sizes
    for guard in layout.guards:
        match guard:
            case Guard(left=left, right=right):
                polys += [left, right]
            case Divides(count=count, unit=unit):
                polys += [count, unit]
    inputs = [producer.first, producer.last, *(poly.expression() for poly in polys)]
    unique: list[Expr] = []
    for expr in inputs:
        if expr not in unique:
            unique.append(expr)
    return unique
