"""The overlap windows of a statement list: from a call that starts a transfer to its completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from asphalt.analysis.cost.array_work import ArrayWork
from asphalt.analysis.data_flow.short_calls import only_counts
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Branch, Do, Leaf, Node, leaves
from asphalt.transforms.rewriting.edit import lists_in

GOES_ON = "asphalt: the nest goes on, beside the next transfer"
"""The comment at a part of a nest that was given to a window (``sharing``)."""
NEXT = "asphalt: what begins the next iteration"
"""The comment at the work of the next iteration (``rotation``)."""
BESIDE_TAKEN = f"{NEXT}, beside messages that are taken behind it"
"""The same in front of what takes messages (``later_receives``)."""


@record
class OverlapWindow:
    """The statements between the start at ``first`` and the completion at ``last`` of a list;
    ``call``: the one that starts the transfer, in the statement ``start``."""

    first: int
    last: int
    call: MpiCall
    start: Leaf


def windows_of(siblings: tuple[Node, ...], messages: Messages) -> Iterator[OverlapWindow]:
    """The windows of a list, the last start first."""
    known = messages.facts.once(_Windows).found
    found = known.get(id(siblings))
    if found is None:
        found = known[id(siblings)] = siblings, tuple(_windows_of(siblings, messages))
    yield from found[1]


class _Windows:
    """The windows of lists of a unit, by the identity of the list, which is kept with them."""

    def __init__(self, facts: UnitFacts) -> None:
        self.found: dict[int, tuple[tuple[Node, ...], tuple[OverlapWindow, ...]]] = {}


def _windows_of(siblings: tuple[Node, ...], messages: Messages) -> Iterator[OverlapWindow]:
    place = {id(leaf): n for n, node in enumerate(siblings) for leaf in leaves(node)}
    for first in reversed(range(len(siblings))):
        for leaf, call in messages.calls(siblings[first]):
            if stage_of(call) is not Stage.START:
                continue
            completions = messages.completion(leaf) or ()
            places = {place.get(id(other), -1) for other in completions}
            if len(places) == 1 and (last := places.pop()) > first:
                yield OverlapWindow(first, last, call, leaf)


def partial_windows(siblings: tuple[Node, ...], messages: Messages) -> Iterator[OverlapWindow]:
    """The windows of which a list has one end only, such as the arm of a branch that starts a
    transfer: the other end is in front of the list (-1) or behind it."""
    here = {id(leaf) for node in siblings for leaf in leaves(node)}
    behind = len(siblings)
    for place, node in enumerate(siblings):
        for leaf, call in messages.calls(node) if isinstance(node, Leaf) else ():
            stage = stage_of(call)
            if stage is Stage.START:
                ends = messages.completion(leaf)
                if ends and here.isdisjoint(map(id, ends)):
                    yield OverlapWindow(place, behind, call, leaf)
            elif stage is Stage.COMPLETE:
                starts = messages.completed_by(leaf)
                if starts and here.isdisjoint(id(one.leaf) for one in starts):
                    yield OverlapWindow(-1, place, starts[0].call, starts[0].leaf)


def in_window(
    siblings: tuple[Node, ...], window: OverlapWindow, messages: Messages
) -> tuple[Node, ...]:
    """The statements that are executed while a transfer is in progress: those between its start and
    its completion, on any path where these stand in the arms of branches, and those of a loop whose
    iterations start a transfer each."""
    first, last = siblings[window.first], siblings[window.last]
    around: tuple[Node, ...] = ()
    if isinstance(first, Do) and not messages.only_starts(first, computing=True):
        around = first.body
    elif isinstance(first, Branch):
        starts = (arm.body for arm in first.arms if any(n is window.start for n in arm.body))
        around = tuple(n for body in starts for n in _behind(body, window.start))
    ends = messages.completion(window.start) or ()
    before = (_before(arm.body, ends) for arm in last.arms) if isinstance(last, Branch) else ()
    return (*around, *siblings[window.first + 1 : window.last], *(n for b in before for n in b))


def _behind(nodes: tuple[Node, ...], start: Leaf) -> tuple[Node, ...]:
    """The statements of a list behind one of them."""
    return nodes[1 + next(n for n, node in enumerate(nodes) if node is start) :]


def _before(nodes: tuple[Node, ...], ends: tuple[Leaf, ...]) -> tuple[Node, ...]:
    """The statements of a list in front of the first of some of them; (): it has none."""
    places = (n for n, node in enumerate(nodes) if any(node is end for end in ends))
    return nodes[: next(places, 0)]


def paths_of(node: Node) -> tuple[tuple[Leaf, ...], ...]:
    """The lines of each arm of a branch, or all lines of another statement."""
    if isinstance(node, Branch):
        return tuple(
            tuple(line for n in (a.head, *a.body) for line in leaves(n)) for a in node.arms
        )
    return (tuple(leaves(node)),)


def is_given(node: Node) -> bool:
    """Whether a statement was placed in its window on purpose, so that it does not move on."""
    return _is_marked(node, GOES_ON) or is_beside_taken(node)


def is_beside_taken(node: Node) -> bool:
    """Whether a statement was placed between all that is sent and one that takes messages."""
    return _is_marked(node, BESIDE_TAKEN)


def _is_marked(node: Node, comment: str) -> bool:
    return any(comment in entry.text for leaf in leaves(node) for entry in leaf.lead)


def is_work(node: Node, messages: Messages) -> bool:
    """Whether a statement takes time: it has a loop, calls a procedure that is not MPI's, or works
    on arrays as a whole; and not only in case of an error."""
    known = messages.facts.once(_Work).found
    found = known.get(id(node))
    if found is None:
        found = known[id(node)] = node, _is_work(node, messages)
    return found[1]


class _Work:
    """Which statements of a unit take time, by the identity of each, which is kept with it."""

    def __init__(self, facts: UnitFacts) -> None:
        self.found: dict[int, tuple[Node, bool]] = {}


def _is_work(node: Node, messages: Messages) -> bool:
    if messages.only_starts(node, computing=True):
        return False
    return any(takes_time(x, messages) for x in leaves(node))


def takes_time(leaf: Leaf, messages: Messages) -> bool:
    """Whether one line begins a loop, calls a procedure that is not MPI's, or works on more than a
    few elements of arrays."""
    if messages.facts.executed.is_check(leaf):
        return False
    if isinstance(leaf.what, DoHead):
        return True
    if leaf.call is not None:
        return messages.call(leaf) is None and not only_counts(leaf, messages.facts)
    return messages.facts.once(ArrayWork).in_line(leaf)


def work_in_windows(facts: UnitFacts) -> Mapping[str, int]:
    """How many statements that take time are in the windows of a unit, by the request."""
    messages = facts.once(Messages)
    found: dict[str, set[int]] = {}
    for _, siblings in lists_in(facts.unit.body):
        for window in windows_of(siblings, messages):
            inside = in_window(siblings, window, messages)
            work = found.setdefault(repr(window.call.args.get("request", window.call.queue)), set())
            work |= {id(node) for node in inside if is_work(node, messages)}
    return {request: len(work) for request, work in found.items()}
