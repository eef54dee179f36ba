"""Blocking to non-blocking: a transfer becomes a start and a wait right behind it.

Before::

    call MPI_Recv(north, n, MPI_REAL, above, 1, comm, status, ierr)

After::

    call asphalt_irecv(north, n, MPI_REAL, above, 1, comm, asphalt_request_1)
    call asphalt_wait(asphalt_request_1, north, status)

A blocking call is equivalent to its non-blocking form followed by the wait (Danalis et al., ICS
2009, section 4, "function equivalence rules"; MPI-4.0 section 3.7); the status goes to the wait.
The buffered and the ready mode keep their calls: the one returns at once as it is, the other
depends on the order of calls on two ranks.  By itself this gains nothing; it lets other code move
between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from asphalt.analysis.contiguity import reference_contiguity
from asphalt.analysis.independence import Independence, is_unseen
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.messages import Messages, Part, part_of
from asphalt.analysis.mpi_call import MpiCall, mpi_constant
from asphalt.analysis.objects import symbol_named
from asphalt.analysis.runtime_calls import RUNTIME_CALLS
from asphalt.analysis.shapes import is_scalar
from asphalt.analysis.symbols import Origin
from asphalt.analysis.unit_facts import UnitFacts, line_of
from asphalt.analysis.verdict import Code, Refused
from asphalt.ir.expr import Component, Expr, Ref
from asphalt.ir.stmt import Call, Decl, Entity, Guarded, TypeSpec
from asphalt.ir.tree import Leaf, Node, Unit
from asphalt.transforms.additions import added
from asphalt.transforms.edit import flat_map
from asphalt.transforms.make import var
from asphalt.transforms.new_names import next_number
from asphalt.transforms.step import Found, Step

NAME = "nonblocking"
REQUEST = "asphalt_request_"

ERROR_READ = Code(
    "ASP020",
    "the error code of a transfer is read",
    "The program looks at the error code of the call.  A transfer that is made non-blocking fails "
    "when it is waited for, which is later.",
    "With MPI_ERRORS_ARE_FATAL, the default, the code is never anything but MPI_SUCCESS: leave the "
    "test out.",
)
NO_VARIABLE = Code(
    "ASP021",
    "the buffer of a transfer may be a copy",
    "A compiler passes a copy of a section with gaps, of an expression, or of an array that may "
    "have gaps; it is gone when a non-blocking call returns.",
    "Pass a contiguous array, or a part of one.",
)
STATUS_READ = Code(
    "ASP022",
    "a status of the module mpi_f08 is read",
    "The wait of asphalt's run-time module gives the status as the older modules have it.",
    "Use MPI_STATUS_IGNORE where the status is not needed.",
)
STAYS = Code(
    "ASP023",
    "a transfer that has to stay as it is",
    "The statement has a label, a directive or a preprocessor line, or shares its line with others "
    "(or the whole procedure has directives of OpenMP or OpenACC).",
    "Write the call as a statement on a line of its own.",
)
CODES = (ERROR_READ, NO_VARIABLE, STATUS_READ, STAYS)


@dataclass(frozen=True, slots=True)
class Split(Step):
    """A blocking transfer that can be made non-blocking; ``status``: the variable that is read."""

    leaf: Leaf
    call: MpiCall
    start: str
    status: Expr | None

    @property
    def operation(self) -> str:
        """The MPI procedure that stood there."""
        return self.call.procedure.spelled


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """Each blocking send or receive of a unit: a step, or why it stays."""
    messages = Messages(facts)
    order = Independence(facts, messages)
    found: list[Found] = []
    for leaf, call in messages.calls(facts.unit):
        if part_of(call) is Part.BOTH and (start := _start_of(call)) is not None:
            found.append(_judged(facts, order, leaf, call, start))
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one transfer split into its start and its wait."""
    assert isinstance(step, Split)
    name = f"{REQUEST}{next_number(facts.unit, REQUEST)}"
    request = var(name)
    call = step.call
    listed = [call.args[name] for name in RUNTIME_CALLS[step.start].dummies[:6]]
    listed = [_handle(arg, name, call) for arg, name in zip(listed, _KINDS, strict=True)]
    start = Call(var(step.start), (*listed, request))
    buffer = listed[0]
    given = () if step.status is None else (step.status,)
    wait = Call(var("asphalt_wait"), (request, buffer, *given))
    unit = replace(facts.unit, body=flat_map(facts.unit.body, step.leaf, _two(start, wait)))
    declared = Decl("type", TypeSpec("integer"), (), None, (Entity(name, name, None),))
    form = facts.located.form
    return added(unit, form, facts.eol, (step.start, "asphalt_wait"), (declared,))


_KINDS = ("buffer", "count", "handle", "rank", "tag", "handle")


def _handle(arg: Expr, kind: str, call: MpiCall) -> Expr:
    """A handle as the run-time module takes it."""
    return Component(arg, "mpi_val", "MPI_VAL") if kind == "handle" and _is_f08(call) else arg


def _is_f08(call: MpiCall) -> bool:
    return call.binding == "mpi_f08"


def _two(start: Call, wait: Call) -> Callable[[Leaf], tuple[Node, ...]]:
    def change(leaf: Leaf) -> tuple[Node, ...]:
        def made(call: Call) -> Leaf:
            what = replace(leaf.what, action=call) if isinstance(leaf.what, Guarded) else call
            return replace(leaf, what=what, body=None, span=None)

        return (made(start), replace(made(wait), lead=()))

    return change


def _start_of(call: MpiCall) -> str | None:
    """The procedure of the run-time module that starts what a blocking call does."""
    wanted = call.operation.replace("mpi_", "mpi_i", 1)
    for name, runtime in RUNTIME_CALLS.items():
        if runtime.operation == wanted:
            return name
    return None


def _judged(facts: UnitFacts, order: Independence, leaf: Leaf, call: MpiCall, start: str) -> Found:
    where = f"line {line_of(leaf)}: {call.procedure.spelled}"
    stays = order.bound(leaf)
    if stays is not None:
        return Refused(STAYS, stays, leaf.span)
    buffer = call.args[RUNTIME_CALLS[start].dummies[0]]
    evidence = _is_one_variable(buffer, facts)
    if evidence is None:
        return Refused(NO_VARIABLE, f"{where}: the buffer may be a copy", leaf.span)
    if call.error is not None and _is_read(call.error, leaf, facts):
        return Refused(ERROR_READ, f"{where}: its error code is read later", leaf.span)
    status = call.args.get("status")
    if status is not None and not _is_read(status, leaf, facts):
        status = None
    if status is not None and _is_f08(call):
        return Refused(STATUS_READ, f"{where}: its status is read later", leaf.span)
    return Split(
        line_of(leaf),
        f"{call.procedure.spelled} becomes a start and a wait",
        (evidence,),
        leaf,
        call,
        start,
        status,
    )


def _is_one_variable(buffer: Expr, facts: UnitFacts) -> str | None:
    """Why a buffer is passed without a copy; None: it may be one."""
    if not isinstance(buffer, Ref) or mpi_constant(buffer, facts.scope) is not None:
        return None
    symbol = symbol_named(buffer.name, facts.scope)
    if symbol is None or symbol.origin in (Origin.PROCEDURE, Origin.PARAMETER, Origin.INTRINSIC):
        return None
    if symbol.dims is None and buffer.args is None and is_scalar(buffer, facts.scope):
        return f"{buffer.spelled} is a scalar variable"
    answer = reference_contiguity(buffer, facts.scope)
    return f"{buffer.spelled} {answer.reason}" if answer.yes else None


def _is_read(expr: Expr, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether what a call gives to a variable may be read, here or by somebody else."""
    if mpi_constant(expr, facts.scope) is not None:
        return False
    if not isinstance(expr, Ref):
        return True
    if not is_unseen(expr.name, facts):
        return True
    storage, reaching = storage_of(expr.name, facts.scope), facts.reaching
    point = reaching.graph.action(leaf)
    if point is None:
        return True
    given = [d for d in reaching.definitions(storage) if d.point == point]
    return not given or any(reaching.def_use(definition) for definition in given)
