"""Buffered sends: a blocking send leaves from a copy of its buffer.

Before::

    do p = 2, np
      strip(:) = g(:,p)
      call MPI_Send(strip, n, MPI_REAL, p - 1, 1, comm, ierr)
    end do

After::

    do p = 2, np
      strip(:) = g(:,p)
      call asphalt_send(strip, n, MPI_REAL, p - 1, 1, comm)
    end do

The runtime has a copy of the buffer for each message in progress, so that the program can
fill the buffer again at once.  This is the counterpart of ``receive_queues``, for the ranks that
send.  MPI may buffer a standard send (MPI-4.0 section 3.4); with this it is buffered whether MPI
does so or not.  The runtime waits for a copy when it needs its memory, or in MPI_FINALIZE.
That may be after the procedure returns, so that the work of its callers overlaps, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.receive_schedule import direct_statements
from asphalt.analysis.messages.messages import Messages, Way, envelopes_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.config.passes import Pass
from asphalt.ir.expr import names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Do, Leaf, Unit, loops_of
from asphalt.transforms.buffers.clones import too_long
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.edit import flat_map
from asphalt.transforms.rewriting.make import num, var
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation


@record
class Depart(Step):
    """A blocking send that can leave from a copy; ``awaited``: whether its buffer is filled again,
    or another part of the exchange follows, so that its early end can gain."""

    split: nonblocking.Split
    limit: int | None
    awaited: bool


def check(facts: UnitFacts, limit: int | None = None) -> tuple[Found, ...]:
    """The blocking sends that can leave from copies: those whose buffer the unit fills.

    They are ``awaited`` in loops that fill the buffer, and in procedures that post receives early,
    whose ranks have another part in the same exchange.  ``limit``: MiB that copies may have; None:
    what the runtime says.
    """
    messages = facts.once(Messages)
    ahead = any(call.queue is not None for _, call in messages.own_calls())
    packing = {id(leaf) for loop in loops_of(facts.unit.body) for leaf in _packed(loop, messages)}
    accesses = (a for node in facts.unit.body for a in facts.footprint(node).accesses)
    written = {access.storage for access in accesses if access.writes}
    return tuple(
        Depart(
            step.line,
            f"{step.operation} of {facts.at(step.leaf)} leaves from a copy",
            ("a standard send may be buffered", *step.evidence),
            step,
            limit,
            ahead or id(step.leaf) in packing,
        )
        for step in facts.once(nonblocking.message_splits)
        if step.is_send
        and (ahead or _buffers(step.call, messages) & written)
        and too_long(step.sides[0].arguments[1:3], step.leaf, facts, limit) is None
    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one send that leaves from a copy."""
    assert isinstance(step, Depart)
    bound = () if step.limit is None else (num(step.limit),)
    split = step.split
    call = Call(var("asphalt_send"), (*split.sides[0].arguments, *bound))
    change = nonblocking.instead(split, (call,), f"asphalt: {split.operation} from a copy", facts)
    body = flat_map(facts.unit.body, split.leaf, change)
    unit = replace(facts.unit, body=body)
    return added(unit, facts.located.form, facts.eol, {"asphalt_send"}, ())


def _packed(loop: Do, messages: Messages) -> Iterator[Leaf]:
    """The sends of a loop whose buffers it fills, if it does nothing else with MPI."""
    own = {id(leaf) for leaf in direct_statements(loop.body)}
    calls = list(messages.calls(loop))
    written = {
        access.storage
        for access in messages.facts.footprint(loop).accesses
        if access.writes and access.leaf is not loop.head
    }
    sends = [
        (leaf, call)
        for leaf, call in calls
        if all(one.way is Way.OUT for one in envelopes_of(call) or ()) and "buf" in call.args
    ]
    if len(sends) < len(calls):
        return
    for leaf, call in sends:
        if id(leaf) in own and _buffers(call, messages) & written:
            yield leaf


def _buffers(call: MpiCall, messages: Messages) -> set[str]:
    """The variables that a send names for its buffer."""
    return {messages.facts.names.storage(name) for name in names_in(call.args["buf"])}


TRANSFORMATION = Transformation(
    "buffered sends",
    Pass.EXPANSION,
    Phase.DEPARTURES,
    "A blocking send leaves from a copy of its buffer.",
    check,
    apply,
    in_place=True,
)
