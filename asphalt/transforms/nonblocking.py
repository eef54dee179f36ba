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

from asphalt.analysis.conditions.point_to_point import (
    ERROR_READ,
    NO_VARIABLE,
    STATUS_READ,
    STAYS,
)
from asphalt.analysis.constants import type_bytes
from asphalt.analysis.contiguity import may_be_array, reference_contiguity
from asphalt.analysis.independence import Independence, is_unseen
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.messages import Messages, Part, part_of
from asphalt.analysis.mpi_call import MpiCall, mpi_constant
from asphalt.analysis.objects import symbol_named
from asphalt.analysis.runtime_calls import RUNTIME_CALLS
from asphalt.analysis.shapes import is_scalar
from asphalt.analysis.symbols import Origin
from asphalt.analysis.unit_facts import UnitFacts, line_of
from asphalt.analysis.verdict import Refused
from asphalt.ir.expr import Component, Expr, Lit, Ref, names_in, walk
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import ArmHead, Call, Decl, Entity, Guarded, Include, TypeSpec
from asphalt.ir.tree import Leaf, Node, Unit, leaves
from asphalt.transforms.additions import added
from asphalt.transforms.comments import comments_inside
from asphalt.transforms.edit import flat_map
from asphalt.transforms.make import var
from asphalt.transforms.new_names import next_number
from asphalt.transforms.step import Found, Step

NAME = "nonblocking"
REQUEST = "asphalt_request_"


@dataclass(frozen=True, slots=True)
class Side:
    """One message of a call: the procedure of the run-time module that starts it, its arguments
    from the buffer to the communicator, and the status if it is read."""

    start: str
    arguments: tuple[Expr, ...]
    status: Expr | None = None


@dataclass(frozen=True, slots=True)
class Split(Step):
    """A blocking transfer that can be made non-blocking; receives come before sends."""

    leaf: Leaf
    call: MpiCall
    sides: tuple[Side, ...]

    @property
    def operation(self) -> str:
        """The MPI procedure that stood there."""
        return self.call.procedure.spelled


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """Each blocking send or receive of a unit: a step, or why it stays."""
    messages = Messages(facts)
    order = Independence(facts, messages)
    found: list[Found] = []
    for leaf, call in messages.own_calls():
        if part_of(call) is Part.BOTH and (sides := _sides(call)):
            found.append(_judged(facts, order, leaf, call, sides))
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one transfer split into starts and waits."""
    assert isinstance(step, Split)
    first = next_number(facts, REQUEST)
    names = [f"{REQUEST}{number}" for number, _ in enumerate(step.sides, first)]
    calls: list[Call] = []
    for name, side in zip(names, step.sides, strict=True):
        calls.append(Call(var(side.start), (*side.arguments, var(name))))
    for name, side in zip(names, step.sides, strict=True):
        status = () if side.status is None else (side.status,)
        calls.append(Call(var("asphalt_wait"), (var(name), side.arguments[0], *status)))
    mark = f"asphalt: {step.operation} made non-blocking"
    body = flat_map(facts.unit.body, step.leaf, _instead(calls, mark, facts))
    entities = tuple(Entity(name, name, None) for name in names)
    declared = Decl("type", TypeSpec("integer"), (), None, entities)
    runtime = {side.start for side in step.sides} | {"asphalt_wait"}
    unit = replace(facts.unit, body=body)
    return added(unit, facts.located.form, facts.eol, runtime, (declared,))


def _instead(calls: list[Call], mark: str, facts: UnitFacts) -> Callable[[Leaf], tuple[Node, ...]]:
    """Replaces a call by others, each under the same condition."""

    def change(leaf: Leaf) -> tuple[Node, ...]:
        made: list[Leaf] = []
        for call in calls:
            what = replace(leaf.what, action=call) if isinstance(leaf.what, Guarded) else call
            made.append(replace(leaf, what=what, body=None, span=None, lead=(), trail=facts.eol))
        indent = leaf.head[: len(leaf.head) - len(leaf.head.lstrip())] if facts.free else ""
        comment = Trivia(TriviaKind.COMMENT, f"{indent}! {mark}{facts.eol}")
        inside = comments_inside(leaf, facts.free, facts.eol)
        made[0] = replace(made[0], lead=(*leaf.lead, *inside, comment))
        made[-1] = replace(made[-1], trail=leaf.trail)
        return tuple(made)

    return change


def _sides(call: MpiCall) -> tuple[Side, ...]:
    """The messages of a blocking call, if the run-time module can start them.

    A call that receives and sends starts the receive first, so that the message finds it posted.
    """
    exchange = call.procedure.exchange
    if exchange is None:
        return ()
    tags = [p.name for p in call.procedure.parameters if p.kind == "TAG"]
    (communicator,) = (p.name for p in call.procedure.parameters if p.kind == "COMMUNICATOR")
    found: list[Side] = []
    if exchange.source is not None:
        names = (exchange.receive, exchange.receive_count, exchange.receive_type, exchange.source)
        found.append(_side(call, "mpi_irecv", (*names, tags[-1], communicator)))
    if exchange.destination is not None:
        both = exchange.source is not None
        wanted = "mpi_isend" if both else call.operation.replace("mpi_", "mpi_i", 1)
        names = (exchange.send, exchange.send_count, exchange.send_type, exchange.destination)
        found.append(_side(call, wanted, (*names, tags[0], communicator)))
    return tuple(found) if all(side.start and side.arguments for side in found) else ()


def _side(call: MpiCall, operation: str, names: tuple[str | None, ...]) -> Side:
    start = next((n for n, own in RUNTIME_CALLS.items() if own.operation == operation), "")
    if any(name is None or name not in call.args for name in names):
        return Side("", ())
    handles = {p.name for p in call.procedure.parameters if p.kind in _HANDLES}
    given = (
        _handle(call.args[name], call) if name in handles else call.args[name]
        for name in names
        if name is not None
    )
    return Side(start, tuple(given))


_HANDLES = ("DATATYPE", "COMMUNICATOR")


def _handle(arg: Expr, call: MpiCall) -> Expr:
    """A handle as the run-time module takes it."""
    return Component(arg, "mpi_val", "MPI_VAL") if _is_f08(call) else arg


def _is_f08(call: MpiCall) -> bool:
    return call.binding == "mpi_f08"


def _judged(
    facts: UnitFacts, order: Independence, leaf: Leaf, call: MpiCall, sides: tuple[Side, ...]
) -> Found:
    where = f"line {line_of(leaf)}: {call.procedure.spelled}"
    stays = order.bound(leaf) or _condition_changes(facts, leaf, call) or _unclear_include(facts)
    if stays is not None:
        return Refused(STAYS, stays, leaf.span)
    evidence: list[str] = []
    for side in sides:
        reason = _is_one_variable(side.arguments[0], facts)
        if reason is None:
            return Refused(NO_VARIABLE, f"{where}: the buffer may be a copy", leaf.span)
        if any(may_be_array(_given(argument), facts.scope) for argument in side.arguments[1:]):
            return Refused(STAYS, f"{where}: an array where MPI has a scalar", leaf.span)
        if not all(_is_default_integer(argument, facts) for argument in side.arguments[1:]):
            return Refused(STAYS, f"{where}: an argument is no default integer", leaf.span)
        evidence.append(reason)
    if len(sides) == 2 and sides[0].arguments[0] == sides[1].arguments[0]:
        return Refused(STAYS, f"{where}: one buffer for both messages", leaf.span)
    if call.error is not None and _is_read(call.error, leaf, facts):
        return Refused(ERROR_READ, f"{where}: its error code is read later", leaf.span)
    status = call.args.get("status")
    if status is not None and _is_read(status, leaf, facts):
        if _is_f08(call):
            return Refused(STATUS_READ, f"{where}: its status is read later", leaf.span)
        if not _is_status(status, facts):
            return Refused(STAYS, f"{where}: its status is no array of its size", leaf.span)
        sides = (replace(sides[0], status=status), *sides[1:])
    does = f"{call.procedure.spelled} becomes {'two starts' if sides[1:] else 'a start'} and "
    does += "two waits" if sides[1:] else "a wait"
    return Split(line_of(leaf), does, tuple(evidence), leaf, call, sides)


def _given(argument: Expr) -> Expr:
    """What the call has for an argument of the run-time procedure."""
    own = isinstance(argument, Component) and argument.name == "mpi_val"
    return argument.base if own and isinstance(argument, Component) else argument


def _unclear_include(facts: UnitFacts) -> str | None:
    """Why it is not known where declarations end: an include file that may hold statements."""
    program = facts.scope.program
    for node in facts.unit.spec:
        for leaf in leaves(node):
            what = leaf.what
            if isinstance(what, Include) and program.include(facts.located, what.path) is None:
                return f"line {line_of(leaf)}: include file with more than declarations"
    return None


def _is_status(expr: Expr, facts: UnitFacts) -> bool:
    """Whether an actual argument can be an explicit-shape array of MPI_STATUS_SIZE elements: a
    whole array declared so, or an element of an array with storage of its own (F2018 15.5.2.11)."""
    symbol = facts.scope.lookup(expr.name) if isinstance(expr, Ref) else None
    if not isinstance(expr, Ref) or symbol is None or symbol.dims is None:
        return False
    first = symbol.dims[0]
    if symbol.attrs & {"pointer"} or first.kind not in ("explicit", "assumed_size", "deferred"):
        return False
    if first.kind == "explicit" and first.lower is None and isinstance(first.upper, Lit):
        return int(first.upper.text) >= _STATUS_SIZE or len(symbol.dims) > 1
    return True


_STATUS_SIZE = 6
"""The most default integers that an MPI library in use has in a status (Open MPI)."""


def _is_default_integer(expr: Expr, facts: UnitFacts) -> bool:
    """Whether a count, rank, tag or handle is certainly an integer of the default kind."""
    if isinstance(expr, Component):
        return expr.name == "mpi_val"
    for name in names_in(expr):
        if mpi_constant(Ref(name, name), facts.scope) is not None:
            continue
        symbol = facts.scope.lookup(name)
        if symbol is None or symbol.origin is Origin.MPI:
            return False
        if symbol.origin is not Origin.INTRINSIC and type_bytes(symbol.type, facts.scope) != 4:
            return False
    return not any(isinstance(part, Lit) and "_" in part.text for part in walk(expr))


def _condition_changes(facts: UnitFacts, leaf: Leaf, call: MpiCall) -> str | None:
    """Why the condition of a one-line IF may not be evaluated twice."""
    if not isinstance(leaf.what, Guarded):
        return None
    head = replace(leaf, what=ArmHead("if", (leaf.what.condition,)))
    condition = facts.footprint(head)
    written = {root for arg in call.defined(facts.scope) for root in names_in(arg)}
    if condition.effects or any(access.writes for access in condition.accesses):
        return f"line {line_of(leaf)}: the condition calls a procedure"
    if written & names_in(leaf.what.condition):
        return f"line {line_of(leaf)}: the call changes its own condition"
    return None


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
