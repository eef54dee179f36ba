"""Motion of calls: what starts messages in a procedure moves up, what completes them moves down.

Before::

    call begin(u, messages)          ! MPI_Irecv, MPI_Isend
    call finish(u, messages)         ! MPI_Waitall, and copies to the halo of u
    call react(c, q)                 ! accesses neither u nor buffers

After::

    call begin(u, messages)
    call react(c, q)
    call finish(u, messages)

The two calls, or one of them and a call of MPI, stand in one statement list, or in two: messages
may be started in one iteration and completed in the next one.  They move as a whole, so that the
procedures remain as they are.  What they pass does not communicate (``called_order``).
Computation beyond a statement that they cannot pass moves into the window itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.called_order import CalledOrder
from asphalt.analysis.messages.called_transfers import (
    RequestEffects,
    StartedOperation,
    UnitRequests,
)
from asphalt.analysis.messages.messages import Messages
from asphalt.config.assumptions import TIMERS
from asphalt.config.passes import Pass
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.motion import code_motion
from asphalt.transforms.motion.schedules import Move, Schedule
from asphalt.transforms.motion.windows import is_given, is_work
from asphalt.transforms.rewriting.edit import lists_in
from asphalt.transforms.rewriting.step import Phase, Transformation


@record
class CalledWindow:
    """The statements between the one at ``first`` of a list, which starts an operation, and the one
    at ``last``, which may complete it; at least one of them calls a procedure that does so, or it
    is not known exactly what it completes.

    A start or a completion elsewhere, such as in the iteration before, counts as one in front of
    the list (-1), or behind it.
    """

    first: int
    last: int
    started: StartedOperation


def windows_in(siblings: tuple[Node, ...], order: CalledOrder) -> Iterator[CalledWindow]:
    """The windows of a list."""
    requests = order.requests
    done = [requests.inside(node) for node in siblings]
    ends: set[int] = set()
    for first, effects in enumerate(done):
        if effects is None or not effects.only_starts:
            continue
        for one in effects.starts:
            last = _end(one, done, first)
            if last is None:
                continue
            ends.add(last)
            elsewhere = last == len(siblings)
            nodes = siblings[first : first + 1] + siblings[last : last + 1]
            if elsewhere and not order.is_completed(one.request):
                continue
            if any(order.is_asked_about(node) for node in nodes):
                yield CalledWindow(first, last, one)
    for last, effects in enumerate(done):
        if effects is None or not effects.only_completes or last in ends:
            continue
        if order.is_asked_about(siblings[last]):
            for one in order.may_complete(siblings[last]):
                yield CalledWindow(-1, last, one)


def _end(one: StartedOperation, done: list[RequestEffects | None], first: int) -> int | None:
    """Where the next statement stands that completes the request of an operation, and starts none;
    None: one that may do something else comes before."""
    for number in range(first + 1, len(done)):
        effects = done[number]
        if effects is None:
            return None
        if any(one.request.meets(part.object) for part in effects.completes):
            return number if effects.only_completes else None
    return len(done)


def work_in(
    siblings: tuple[Node, ...], window: CalledWindow, messages: Messages, requests: UnitRequests
) -> tuple[Node, ...]:
    """The statements that take time in a window, without those that communicate."""
    inside = siblings[window.first + 1 : window.last]
    return tuple(node for node in inside if _is_work(node, messages, requests))


def check(facts: UnitFacts) -> Iterator[Schedule]:
    """The lists of a unit in another order, found one by one."""
    messages, order = facts.once(Messages), facts.once(CalledOrder)
    if not any(map(order.is_asked_about, facts.unit.body)):
        return
    for path, siblings in lists_in(facts.unit.body):
        moves: list[Move] = []
        while len(moves) < code_motion.MOST_MOVES:
            move = next(_moves(siblings, path, messages, order), None)
            if move is None:
                break
            moves.append(move)
            siblings = move.moved(siblings)
        if moves:
            first = moves[0]
            yield Schedule(first.line, first.does, first.evidence, tuple(moves))


def _moves(
    siblings: tuple[Node, ...], path: tuple[int, ...], messages: Messages, order: CalledOrder
) -> Iterator[Move]:
    """The moves for the windows of a list, the last one first."""
    windows = list(windows_in(siblings, order))
    ends = sorted({one.last for one in windows if one.last < len(siblings)}, reverse=True)
    begins = sorted({one.first for one in windows if one.first >= 0}, reverse=True)
    for last in ends:
        yield from _move(siblings, path, last, +1, messages, order)
    for first in begins:
        yield from _move(siblings, path, first, -1, messages, order)
    for last in ends:
        yield from _from_behind(siblings, path, last, messages, order)


def _move(
    siblings: tuple[Node, ...],
    path: tuple[int, ...],
    origin: int,
    direction: int,
    messages: Messages,
    order: CalledOrder,
) -> Iterator[Move]:
    """The move of one statement behind, or before, the last work that it may pass."""
    moved, reached = siblings[origin], origin
    others = range(origin + 1, len(siblings)) if direction > 0 else reversed(range(origin))
    for number in others:
        other = siblings[number]
        if is_given(other) or not order.commutes(moved, other):
            break
        if is_work(other, messages):
            reached = number
    if reached == origin:
        return
    places = [order.facts.at(_head(node)) for node in (moved, siblings[reached])]
    clocks = code_motion.measured(siblings, origin, reached, order.facts)
    what, where = ("completes", "behind") if direction > 0 else ("starts", "before")
    yield Move(
        line_of(_head(moved)),
        f"what {what} messages in {places[0]} goes {where} {places[1]}{clocks and f', {clocks}'}",
        ("what it passes neither communicates nor names a buffer of these messages",),
        path,
        origin,
        reached,
        assumed=(TIMERS.word,) if clocks else (),
    )


def _from_behind(
    siblings: tuple[Node, ...],
    path: tuple[int, ...],
    last: int,
    messages: Messages,
    order: CalledOrder,
) -> Iterator[Move]:
    """The move of work into the window that ends at ``last``, from behind something that what
    completes the messages cannot pass."""
    for origin in range(last + 1, len(siblings)):
        work = siblings[origin]
        if is_given(work) or not _is_work(work, messages, order.requests):
            continue
        if all(order.passes(work, node) for node in reversed(siblings[last:origin])):
            places = [order.facts.at(_head(node)) for node in (work, siblings[last])]
            clocks = code_motion.measured(siblings, origin, last, order.facts)
            does = f"the work of {places[0]} goes before what completes messages in {places[1]}"
            yield Move(
                line_of(_head(work)),
                f"{does}{clocks and f', {clocks}'}",
                ("all statements on the way are independent of it",),
                path,
                origin,
                last,
                assumed=(TIMERS.word,) if clocks else (),
            )
            return


def _is_work(node: Node, messages: Messages, requests: UnitRequests) -> bool:
    done = requests.inside(node)
    return done is not None and not done.requests and is_work(node, messages)


def _head(node: Node) -> Leaf:
    return next(iter(leaves(node)))


TRANSFORMATION = Transformation(
    "motion of calls",
    Pass.MOTION,
    Phase.WINDOWS,
    "A call of a procedure that starts messages moves up, one that completes them moves down.",
    check,
    code_motion.apply,
    in_place=True,
)
