"""Single waits: a wait for several operations becomes one wait for each.

Before::

    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    do j = 1, n                                       ! needs what the first one brings
      ...
    end do

After::

    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
    do j = 1, n
      ...
    end do

All operations are complete behind the last wait, as before (MPI-4.0 section 3.7.5).  The order does
not matter, since each operation progresses whichever is waited for.  By itself this gains nothing;
code motion can then move the second wait below the loop (Danalis et al., ICS 2009, section 5).
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.error_codes import ErrorCodes
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.mpi.library_effects import Quantity, library_row
from asphalt.analysis.mpi.procedures import MpiProcedure
from asphalt.analysis.requests.operations import Operation, operations
from asphalt.config.passes import Pass
from asphalt.ir.expr import Arg, Expr, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Unit
from asphalt.transforms.nonblocking.rules import is_read
from asphalt.transforms.rewriting.edit import flat_map
from asphalt.transforms.rewriting.make import num
from asphalt.transforms.rewriting.replacement import statements_for
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, Trial

MOST = 8
"""Waits that one statement becomes; a statement for more is easier to read as it is."""
_ONE = "MPI_Wait"
_NO_STATUS = "MPI_STATUS_IGNORE"


@record
class SplitWait(Trial):
    """The statement ``leaf`` becomes ``calls``."""

    leaf: Leaf
    calls: tuple[Call, ...]


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The waits of a unit for a known number of operations that it has started itself."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    known = {id(one.leaf): one for one in operations(facts.reaching, facts.scope, facts.values)}
    found: list[Found] = []
    for leaf, call in messages.own_calls():
        own = known.get(id(leaf))
        if own is None or not isinstance(leaf.what, Call) or order.place.fixed(leaf) is not None:
            continue
        started = messages.completed_by(leaf) or ()
        calls = _calls(own, leaf, facts) if len(started) > 1 else ()
        if calls:
            line = line_of(leaf)
            does = f"{call.procedure.spelled} of {facts.at(leaf)} becomes {len(calls)} waits"
            evidence = ("behind the last of them the same operations are complete",)
            found.append(SplitWait(line, does, evidence, (leaf.body or "",), leaf, calls))
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one wait for several operations split."""
    assert isinstance(step, SplitWait)
    spelled = step.does.split(" ")[0]
    change = statements_for(step.calls, (f"asphalt: {spelled} in parts",), facts)
    return replace(facts.unit, body=flat_map(facts.unit.body, step.leaf, change))


def _calls(own: Operation, leaf: Leaf, facts: UnitFacts) -> tuple[Call, ...]:
    """The waits instead of one; (): it stays."""
    call = own.call
    if not _is_for_all(call.procedure) or call.binding in ("runtime", "unknown"):
        return ()
    array = next((a for p, a in call.bound() if p.kind == "REQUEST"), None)
    number = None if own.count is None else facts.values.constants(own.count).value
    first = None if own.first is None else facts.values.constants(own.first).value
    if not isinstance(array, Ref) or number is None or first is None:
        return ()
    if not 1 < number <= MOST or not is_unseen(call, leaf, facts):
        return ()
    requests = [Ref(array.name, array.spelled, (num(first + n),)) for n in range(number)]
    calls = tuple(_wait(request, call, leaf) for request in requests)
    return calls if all(_is_wait(one, call, facts) for one in calls) else ()


def _is_for_all(procedure: MpiProcedure) -> bool:
    """Whether it returns when all operations of an array are complete."""
    done = library_row(procedure).completion
    several = any(p.kind == "REQUEST" and p.array for p in procedure.parameters)
    return done is not None and done.certain and done.quantity is Quantity.ALL and several


def is_unseen(call: MpiCall, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether nobody reads its statuses, and its error code is that of each wait."""
    if any(is_read(a, leaf, facts) for p, a in call.bound() if p.kind == "STATUS"):
        return False
    unread = call.error is None or not is_read(call.error, leaf, facts)
    return unread or facts.once(ErrorCodes).why_not(call) is None


def _wait(request: Expr, call: MpiCall, leaf: Leaf) -> Call:
    """The wait for one request, spelled as the call is."""
    assert isinstance(leaf.what, Call)
    assert isinstance(leaf.what.procedure, Ref)
    spelled = leaf.what.procedure.spelled
    change = str.upper if spelled.isupper() else str.lower if spelled.islower() else str
    status = _NO_STATUS if change is str else change(_NO_STATUS)
    args: tuple[Arg, ...] = (request, Ref(status.lower(), status))
    error = () if call.error is None else (call.error,)
    return Call(Ref(_ONE.lower(), change(_ONE)), (*args, *error))


def _is_wait(made: Call, call: MpiCall, facts: UnitFacts) -> bool:
    """Whether the names mean MPI's here."""
    found = mpi_call(made, facts.scope)
    if found is None or found.binding != call.binding:
        return False
    status = found.args["status"]
    return mpi_constant(status, facts.scope) == _NO_STATUS.lower()


TRANSFORMATION = Transformation(
    "single waits",
    Pass.WAITS,
    Phase.DIVISION,
    "A wait for several operations becomes one wait for each.",
    check,
    apply,
    in_place=True,
)
