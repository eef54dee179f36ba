"""Condition 2: either all ranks reach the site, or none does."""

from __future__ import annotations

import re
from collections import Counter

from asphalt.analysis.conditions.evidence import way_to
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.uniformity.uniformity import Level, Uniformity
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.config.assumptions import CONTROL

RANK_DEPENDENT = Code(
    "ASP201",
    "whether a rank reaches the call depends on the rank",
    "A condition or a loop on the path to the call differs between ranks.  Ranks that take part "
    "in the same collective operation from another call would neither send nor expect tiles.",
    "Let all ranks of the communicator take the same path to the exchange.",
    2,
)
NOT_PROVED = Code(
    "ASP202",
    "it is not proved that all ranks reach this call together",
    "A condition on the path to the call is not known to be the same on all ranks, or the callers "
    "of the procedure are not among the given files; and a rank might be in another call of the "
    "same operation instead.",
    "Give asphalt the whole program, or accept it with `--assume control` or a directive "
    "`!$asphalt assume(control)` in front of the call.",
    2,
)

CODES = (RANK_DEPENDENT, NOT_PROVED)


_SPECIFIC = re.compile(r"(?:_c)?(?:_f08(?:ts)?|_fts)?_*$")


def _general_name(operation: str) -> str:
    """The name of an operation without the affixes of profiling, specific names (MPI-4.0 section
    19.1.5) and compilers."""
    return _SPECIFIC.sub("", operation.removeprefix("p"))


def check(exchange: Exchange, uniformity: Uniformity) -> Answer:
    """Whether every rank of the communicator enters the collective from this site.

    It holds if the path to the site is uniform, from the start of the program; or if the given
    sources contain no other call of this operation.  Since all ranks must match collective calls
    (MPI-4.0 section 6.1), they are then all at this one.  The second proof does not apply to an
    open-coded exchange.
    """
    scope, leaf = exchange.scope, exchange.leaf
    comm = exchange.call.args.get("comm")
    for judgement in (uniformity.control(scope, leaf, comm), uniformity.reached(scope, leaf, comm)):
        if judgement.level is Level.VARYING:
            message = f"the path to the call depends on the rank: {judgement.evidence}"
            return Refused(
                RANK_DEPENDENT, message, exchange.span, judgement.evidence, way_to(exchange)
            )
    if judgement.level is Level.UNIFORM:
        evidence = f"all ranks reach the call: {judgement.evidence}"
        return Holds(evidence, judgement.assumptions)
    if exchange.open_coded is not None:  # a rank that has nothing to exchange might skip it
        message = f"it is not proved that all ranks reach the messages ({judgement.evidence})"
        return Holds(message, (CONTROL.word,))
    operation = exchange.call.operation
    own = {(exchange.located.path, exchange.span.first)}
    if exchange.sole:  # what it calls is called from nowhere else
        own |= {(mark.span.file, mark.span.first) for mark in exchange.via}
    same = [
        mention
        for mention in scope.program.mpi_calls()
        if _general_name(mention.operation) == _general_name(operation)
    ]
    there = Counter((mention.path, mention.line) for mention in same)
    others = [m for m in same if there[m.path, m.line] > ((m.path, m.line) in own)]
    if not others:
        spelled = exchange.call.procedure.spelled
        return Holds(f"it is the only {spelled} of the given sources, so all ranks are in it")
    message = (
        f"the path to the call is not proved the same on all ranks ({judgement.evidence}), and "
        f"{others[0].path}:{others[0].line} calls the same operation"
    )
    return Holds(message, (CONTROL.word,))
