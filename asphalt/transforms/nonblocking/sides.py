"""The operations that the runtime starts instead of a blocking call."""

from __future__ import annotations

from asphalt.analysis.messages.collectives import nonblocking_form
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.procedures import MpiProcedure, Timing, table
from asphalt.analysis.mpi.runtime_module import IN_PLACE, RUNTIME_CALLS
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Component, Expr
from asphalt.ir.records import record
from asphalt.transforms.rewriting.make import var

_HANDLES = ("DATATYPE", "COMMUNICATOR", "OPERATION")


@record
class Side:
    """An operation: the procedure of the runtime that starts it, its arguments up to the
    communicator, and the status if it is read.

    ``buffers``: the arguments that MPI accesses until the wait; ``arrays``: those that it may read
    until then (counts, displacements, types).  ``in_place``: those that are MPI_IN_PLACE.
    ``typed``: a status is of the derived type of ``mpi_f08``.
    """

    start: str
    arguments: tuple[Expr, ...]
    buffers: tuple[Expr, ...]
    arrays: tuple[Expr, ...] = ()
    status: Expr | None = None
    in_place: tuple[Expr, ...] = ()
    typed: bool = False

    @property
    def scalars(self) -> tuple[Expr, ...]:
        """The other arguments."""
        others = (*self.buffers, *self.arrays, *self.in_place)
        return tuple(a for a in self.arguments if not any(a is other for other in others))

    @property
    def wait(self) -> str:
        """The procedure of the runtime that completes it."""
        if len(self.buffers) > 1:
            return "asphalt_wait_both"
        return "asphalt_wait_f08" if self.has_typed_status else "asphalt_wait"

    @property
    def take(self) -> str:
        """The procedure of the runtime that takes it from a queue of receives."""
        return "asphalt_take_f08" if self.has_typed_status else "asphalt_take"

    @property
    def has_typed_status(self) -> bool:
        """Whether its status is read, and of the derived type of ``mpi_f08``."""
        return self.status is not None and self.typed


def sides_of(call: MpiCall, scope: Scope) -> tuple[Side, ...]:
    """The operations that a blocking call stands for; (): the runtime cannot start them.

    A call that receives and sends starts the receive first, so that the message finds it posted.
    With one buffer for both it is one operation, which sends from a copy.
    """
    form = nonblocking_form(call.procedure)
    if form is not None:
        return _collective(call, form, scope)
    exchange = call.procedure.exchange
    if exchange is None or call.procedure.collective:
        return ()
    if exchange.send == exchange.receive:
        own = [p.name for p in call.procedure.parameters if p.kind not in ("STATUS", "ERROR_CODE")]
        one = _side(call, call.operation.replace("mpi_", "mpi_i", 1), tuple(own))
        return () if one is None else (one,)
    tags = [p.name for p in call.procedure.parameters if p.kind == "TAG"]
    (communicator,) = (p.name for p in call.procedure.parameters if p.kind == "COMMUNICATOR")
    found: list[Side | None] = []
    if exchange.source is not None:
        names = (exchange.receive, exchange.receive_count, exchange.receive_type, exchange.source)
        found.append(_side(call, "mpi_irecv", (*names, tags[-1], communicator)))
    if exchange.destination is not None:
        both = exchange.source is not None
        wanted = "mpi_isend" if both else call.operation.replace("mpi_", "mpi_i", 1)
        names = (exchange.send, exchange.send_count, exchange.send_type, exchange.destination)
        found.append(_side(call, wanted, (*names, tags[0], communicator)))
    known = tuple(side for side in found if side is not None)
    return known if len(known) == len(found) else ()


def started_side(call: MpiCall) -> Side | None:
    """The message between two ranks that a non-blocking call starts; None: the runtime
    cannot start it."""
    peer = "source" if "source" in call.args else "dest"
    return _side(call, call.operation, ("buf", "count", "datatype", peer, "tag", "comm"))


def starts_nothing(call: MpiCall) -> bool:
    """Whether MPI has a non-blocking form of a collective operation that is not used: barriers, and
    operations of neighbours."""
    form = table().get(call.operation.replace("mpi_", "mpi_i", 1))
    blocking = call.procedure.timing is Timing.BLOCKING
    return call.procedure.collective and blocking and form is not None and form.collective


def handle_arrays(call: MpiCall) -> tuple[Expr, ...]:
    """Arrays of handles of derived types, which the runtime takes as they are."""
    if not is_f08(call):
        return ()
    return tuple(actual for p, actual in call.bound() if p.array and p.kind in _HANDLES)


def is_f08(call: MpiCall) -> bool:
    """Whether handles are of derived types."""
    return call.binding == "mpi_f08"


def _start_of(operation: str) -> str:
    return next((n for n, own in RUNTIME_CALLS.items() if own.operation == operation), "")


def _collective(call: MpiCall, form: MpiProcedure, scope: Scope) -> tuple[Side, ...]:
    start = _start_of(form.name)
    buffers: list[Expr] = []
    in_place: list[Expr] = []
    arrays: list[Expr] = []
    arguments: list[Expr] = []
    for parameter, actual in call.bound():
        if parameter.kind == "ERROR_CODE":
            continue
        is_handle = parameter.kind in _HANDLES and not parameter.array
        given = _handle(actual, call) if is_handle else actual
        arguments.append(given)
        if parameter.kind == "BUFFER" and mpi_constant(actual, scope) == "mpi_in_place":
            arguments[-1] = var(IN_PLACE)
            in_place.append(arguments[-1])
        elif parameter.kind == "BUFFER":
            buffers.append(given)
        elif parameter.array:
            arrays.append(given)
    side = Side(start, tuple(arguments), tuple(buffers), tuple(arrays), in_place=tuple(in_place))
    return (side,) if start else ()


def _side(call: MpiCall, operation: str, names: tuple[str | None, ...]) -> Side | None:
    start = _start_of(operation)
    if not start or any(name is None or name not in call.args for name in names):
        return None
    handles = {p.name for p in call.procedure.parameters if p.kind in _HANDLES}
    given = tuple(
        _handle(call.args[name], call) if name in handles else call.args[name]
        for name in names
        if name is not None
    )
    return Side(start, given, given[:1], typed=is_f08(call))


def _handle(arg: Expr, call: MpiCall) -> Expr:
    """A handle as the runtime takes it."""
    return Component(arg, "mpi_val", "MPI_VAL") if is_f08(call) else arg
