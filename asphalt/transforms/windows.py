"""The overlap windows of a statement list: from a call that starts a transfer to its completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from asphalt.analysis.messages import Messages, Part, called, part_of
from asphalt.analysis.mpi_call import MpiCall
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf, Node, leaves
from asphalt.transforms.edit import lists_in


@dataclass(frozen=True, slots=True)
class Window:
    """The statements between the start at ``first`` and the completion at ``last`` of a list;
    ``call``: the one that starts the transfer, in the statement ``start``."""

    first: int
    last: int
    call: MpiCall
    start: Leaf


def windows_of(siblings: tuple[Node, ...], messages: Messages) -> Iterator[Window]:
    """The windows of a list, the last start first."""
    place = {id(leaf): n for n, node in enumerate(siblings) for leaf in leaves(node)}
    for first in reversed(range(len(siblings))):
        for leaf, call in messages.calls(siblings[first]):
            if part_of(call) is not Part.START:
                continue
            completions = messages.completion(leaf) or ()
            places = {place.get(id(other), -1) for other in completions}
            if len(places) == 1 and (last := places.pop()) > first:
                yield Window(first, last, call, leaf)


def in_window(
    siblings: tuple[Node, ...], first: int, last: int, messages: Messages
) -> tuple[Node, ...]:
    """The statements that are executed while a transfer is under way that ``first`` starts and
    ``last`` completes: those between, and those of a loop whose iterations start one each."""
    start = siblings[first]
    around = start.body if isinstance(start, Do) and not messages.only_starts(start) else ()
    return (*around, *siblings[first + 1 : last])


def is_work(node: Node, messages: Messages) -> bool:
    """Whether a statement takes time: it has a loop, or calls a procedure that is not MPI's."""
    return not messages.only_starts(node) and any(takes_time(x, messages) for x in leaves(node))


def takes_time(leaf: Leaf, messages: Messages) -> bool:
    """Whether one line begins a loop, or calls a procedure that is not MPI's."""
    if isinstance(leaf.what, DoHead):
        return True
    return called(leaf.what) is not None and messages.call(leaf) is None


def work_in_windows(facts: UnitFacts) -> Mapping[str, int]:
    """How many statements that take time stand in the windows of a unit, by the request."""
    messages = facts.once(Messages)
    found: dict[str, int] = {}
    for _, siblings in lists_in(facts.unit.body):
        for window in windows_of(siblings, messages):
            inside = in_window(siblings, window.first, window.last, messages)
            key = repr(window.call.args.get("request", window.call.queue))
            found[key] = found.get(key, 0) + sum(is_work(node, messages) for node in inside)
    return found
