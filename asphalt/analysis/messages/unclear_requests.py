"""Why it is not known with which requests a line starts or completes operations."""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.messages.called_transfers import ProcedureRequests, UnitRequests, lines_of
from asphalt.analysis.messages.messages import Stage, stage_of
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.standard.row import ABORTS
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf

_DEEP = 4  # procedures that are called in one another


@record
class Unclear:
    """A line of a file that is the reason, and why, as a clause about the line."""

    path: str
    line: int
    why: str


def why_unclear(leaf: Leaf, requests: UnitRequests, depth: int = _DEEP) -> Unclear | None:
    """Why the effects of a line on requests are not known; None: they are, or it only may abort the
    program in a called procedure."""
    if requests.of(leaf) is not None:
        return None
    path, line = requests.facts.located.path, line_of(leaf)
    call = None if leaf.call is None else mpi_call(leaf.call, requests.scope)
    if call is not None and ABORTS in call.procedure.facts:
        return None
    if call is not None and "flag" in call.args:
        why = f"({call.procedure.spelled}) completes messages only if its flag is true"
        return Unclear(path, line, why)
    if call is not None and "outcount" in call.args:
        why = f"({call.procedure.spelled}) completes those messages that have ended, if any have"
        return Unclear(path, line, why)
    waits = call is not None and (call.procedure.collective and "request" not in call.args)
    if call is not None and (waits or stage_of(call) is Stage.BOTH):
        why = f"({call.procedure.spelled}) waits for other ranks, and is not passed by the call"
        return Unclear(path, line, why)
    if call is not None:
        why = f"({call.procedure.spelled}) neither starts nor completes messages of one variable"
        return Unclear(path, line, why)
    callee = requests.called(leaf)
    effects = requests.facts.effects
    if callee is None or depth == 0:
        return Unclear(path, line, "may do something else in MPI")
    if effects.once(ProcedureRequests).of(callee) is None:
        return _inside(callee, UnitRequests(UnitFacts(callee, effects)), depth)
    why = f"passes {callee.unit.name} a request or a buffer that may be a copy of a variable"
    return Unclear(path, line, why)


def _inside(callee: Located, own: UnitRequests, depth: int) -> Unclear | None:
    """The reason in a procedure."""
    lines = tuple(lines_of(callee.unit.body))
    for leaf in lines:
        found = why_unclear(leaf, own, depth - 1)
        if found is not None:
            return found
    requests = (r for leaf in lines if (one := own.of(leaf)) for r in one.requests)
    for request in dict.fromkeys(requests):
        for leaf in lines:
            if own.only_defined_so(request, (leaf,)) is None:
                name = request.object.rpartition("::")[2]
                why = f"defines the request {name} by itself"
                return Unclear(callee.path, line_of(leaf), why)
    return None
