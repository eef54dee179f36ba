"""Later receives: the work of the next iteration comes before messages are taken from a queue.

Before::

    do l = 1, fields
      ...                                               ! posts the receives, sends the rows
      if (me == 0) then
        do p = 2, np
          call asphalt_take(asphalt_queue_1, row)
          total(l) = total(l) + sum(row)
        end do
      end if
      if (l < fields) call relax(t(:,l+1))              ! what begins the next iteration
    end do

After::

    do l = 1, fields
      ...
      if (l < fields) call relax(t(:,l+1))
      if (me == 0) then
        do p = 2, np
          call asphalt_take(asphalt_queue_1, row)
          ...

The messages then overlap with that work, too, on the rank that nobody waits for: all that it sends
in an iteration has left before (``sends_first``).  ``rotation`` has moved the work to the end of
the iteration.  The work does not communicate, so that each rank posts, sends and takes all messages
in the same order as before, and no buffer has to last longer than one iteration.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.control_flow.loop_continuation import continuation_condition, if_condition
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.config.passes import Pass
from asphalt.ir.tree import Do, Node, Unit, leaves
from asphalt.transforms.motion.schedules import Move
from asphalt.transforms.motion.windows import BESIDE_TAKEN, NEXT
from asphalt.transforms.rewriting.edit import lists_in, map_leaves, rewrite_list
from asphalt.transforms.rewriting.make import maker_at
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The loops of a unit that end with work of the next iteration that can move above the
    statements that take messages from queues."""
    messages, order = facts.once(Messages), facts.once(Independence.of)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, loop in enumerate(siblings):
            target = _target(loop, messages, order) if isinstance(loop, Do) else None
            if isinstance(loop, Do) and target is not None:
                work, takes_it = (next(leaves(loop.body[n])) for n in (-1, target))
                where = facts.at(work), facts.at(takes_it)
                does = f"the work of {where[0]} goes before the messages taken in {where[1]}"
                evidence = ("all statements on the way are independent of it",)
                origin = len(loop.body) - 1
                inside = (*path, position)
                found.append(Move(line_of(work), does, evidence, inside, origin, target))
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with the work of the next iteration above the statements that take messages.  A
    comment keeps code motion from moving statements that may send past it."""
    assert isinstance(step, Move)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        work = nodes[step.origin]
        first = next(leaves(work))
        lead = tuple(line for line in first.lead if not line.text.rstrip().endswith(NEXT))
        make = maker_at(work, facts.located.form, facts.eol)
        new = replace(first, lead=(*lead, make.comment(BESIDE_TAKEN)))
        marked = map_leaves(work, lambda leaf: new if leaf is first else leaf)
        return (*nodes[: step.target], marked, *nodes[step.target : step.origin])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def takes_at(nodes: tuple[Node, ...], messages: Messages) -> int | None:
    """The position in a list, behind all that sends messages or posts receives, of the first
    statement that takes messages from queues; None: there is none."""
    starting = (n for n, node in enumerate(nodes) if posts_or_sends(node, messages))
    behind = 1 + max(starting, default=-1)
    places = (n for n in range(behind, len(nodes)) if takes(nodes[n], messages))
    return next(places, None)


def takes(node: Node, messages: Messages) -> bool:
    """Whether messages are taken from a queue in a statement."""
    return any(_takes(call) for _, call in messages.calls(node))


def posts_or_sends(node: Node, messages: Messages) -> bool:
    """Whether a message between two ranks is sent in a statement, or the receive of one started."""
    return any(
        not _takes(call) and messages.envelopes(call) != () for _, call in messages.calls(node)
    )


def _takes(call: MpiCall) -> bool:
    return call.queue is not None and stage_of(call) is not Stage.START


def _target(loop: Do, messages: Messages, order: Independence) -> int | None:
    """Where the last statement of a loop, with which the next iteration begins, may go."""
    goes_on = continuation_condition(loop)
    if goes_on is None or if_condition(loop.body[-1]) != goes_on:
        return None
    *before, work = loop.body
    target = takes_at(tuple(before), messages)
    if target is None or any(messages.calls(work)):
        return None
    passed = before[target:]
    return None if any(order.why_not(node, work) is not None for node in passed) else target


TRANSFORMATION = Transformation(
    "later receives",
    Pass.MOTION,
    Phase.ITERATIONS,
    "What begins the next iteration comes before messages are taken from a queue.",
    check,
    apply,
)
