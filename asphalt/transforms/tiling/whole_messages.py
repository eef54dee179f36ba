"""The messages of a statement list, each from its start to its wait."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.messages.messages import Messages, Stage, Way, envelopes_of, stage_of
from asphalt.ir.tree import Branch, Leaf, Node, leaves
from asphalt.transforms.motion.windows import OverlapWindow, windows_of
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.nonblocking.rules import is_code_lost
from asphalt.transforms.tiling.message_tiles import MessageSpan

_ARGUMENTS = {
    Way.IN: ("buf", "count", "datatype", "source", "tag", "comm"),
    Way.OUT: ("buf", "count", "datatype", "dest", "tag", "comm"),
}


def messages_of(
    siblings: tuple[Node, ...], facts: UnitFacts, messages: Messages
) -> tuple[MessageSpan, ...]:
    """The messages that statements of a list send or receive: those that are non-blocking, and
    blocking ones that could be; only if neither status nor error code is read."""
    place = {id(leaf): p for p, node in enumerate(siblings) for leaf in leaves(node)}
    return (*started_messages(siblings, messages), *_blocking(place, facts, 1))


def exchanged_messages(siblings: tuple[Node, ...], facts: UnitFacts) -> tuple[MessageSpan, ...]:
    """The messages of statements of a list that send and receive in one blocking call, which could
    be two non-blocking ones; only if neither status nor error code is read."""
    place = {id(leaf): p for p, node in enumerate(siblings) for leaf in leaves(node)}
    return tuple(_blocking(place, facts, 2))


def started_messages(siblings: tuple[Node, ...], messages: Messages) -> tuple[MessageSpan, ...]:
    """The non-blocking ones of these messages."""
    windows = (_window(w, siblings, messages) for w in windows_of(siblings, messages))
    return tuple(m for m in windows if m is not None)


def _window(
    window: OverlapWindow, siblings: tuple[Node, ...], messages: Messages
) -> MessageSpan | None:
    call, start = window.call, window.start
    completion = messages.completion(start) or ()
    if call.binding != "runtime" or call.queue is not None or len(completion) != 1:
        return None
    (end,) = completion
    wait = messages.call(end)
    if wait is None or wait.binding != "runtime" or "status" in wait.args:
        return None
    if len(messages.completed_by(end) or ()) != 1 or stage_of(wait) is not Stage.COMPLETE:
        return None
    envelopes = envelopes_of(call) or ()
    if len(envelopes) != 1:
        return None
    way = envelopes[0].way
    arguments = tuple(call.args[name] for name in _ARGUMENTS[way] if name in call.args)
    starter = "asphalt_irecv" if way is Way.IN else f"asphalt_{call.operation.split('_')[1]}"
    if len(arguments) != len(_ARGUMENTS[way]):
        return None
    operation = "the receive" if way is Way.IN else "the send"
    return MessageSpan(
        way is Way.IN, operation, starter, arguments, start, window.first, end, window.last,
    )  # fmt: skip


def _blocking(place: dict[int, int], facts: UnitFacts, sides: int) -> Iterator[MessageSpan]:
    for step in facts.once(nonblocking.message_splits):
        if len(step.sides) != sides or step.assumed:
            continue
        leaf = step.leaf
        read = any(side.status is not None for side in step.sides)
        read = read or is_code_lost(leaf, step.call, facts)
        if read or id(leaf) not in place:
            continue
        envelopes = envelopes_of(step.call) or ()
        long = all(len(side.arguments) == len(_ARGUMENTS[Way.IN]) for side in step.sides)
        for side in step.sides if len(envelopes) == sides and long else ():
            here = place[id(leaf)]
            receives = side.start == "asphalt_irecv"
            yield MessageSpan(
                receives, step.operation, side.start, side.arguments, leaf, here, leaf, here
            )


def holds_directly(node: Node, leaf: Leaf) -> bool:
    """Whether a node is a statement, or a branch with it in one of its arms."""
    if node is leaf:
        return True
    return isinstance(node, Branch) and any(
        child is leaf for arm in node.arms for child in arm.body
    )
