"""The work in the overlap windows of transfers, for people to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, names_in
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.motion.windows import in_window, takes_time, windows_of
from asphalt.transforms.rewriting.edit import lists_in


@record
class Started:
    """An operation that a call of the program itself starts: its line, the MPI procedure, and the
    loops, calls and array statements in its window, each by its first line and as often as it
    occurs.  ``lines``: of these; ``ends``: of the calls that complete it."""

    line: int
    operation: str
    overlaps: tuple[str, ...]
    lines: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


@record
class OverlappedWork:
    """The loops, calls and array statements in the windows of a request: their first lines, and the
    numbers of these lines."""

    texts: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()


def overlapped_work(facts: UnitFacts) -> Mapping[str, OverlappedWork]:
    """The work in the windows of a unit, by the variables of the request that the window belongs
    to."""
    found: dict[str, list[Leaf]] = {}
    for _, call, heads in _windows(facts):
        for name in names_in(call.args["request"]):
            found.setdefault(name, []).extend(heads)
    return {
        name: OverlappedWork(
            tuple(dict.fromkeys(map(text_of, heads))), tuple(dict.fromkeys(map(line_of, heads)))
        )
        for name, heads in found.items()
    }


def started(facts: UnitFacts) -> Mapping[tuple[Arg, int], Started]:
    """The operations that the program itself starts in a unit, by request and by number among those
    with this request."""
    messages = facts.once(Messages)
    found: dict[tuple[Arg, int], Started] = {}
    seen: Counter[Arg] = Counter()
    for leaf, call, heads in sorted(_windows(facts), key=lambda window: line_of(window[0])):
        if call.binding != "runtime":
            request = folded(call.args["request"])
            found[request, seen[request]] = Started(
                line_of(leaf),
                call.procedure.spelled,
                tuple(map(text_of, heads)),
                tuple(map(line_of, heads)),
                tuple(map(line_of, messages.completion(leaf) or ())),
            )
            seen[request] += 1
    return found


def _windows(facts: UnitFacts) -> Iterator[tuple[Leaf, MpiCall, list[Leaf]]]:
    """Each call that starts an operation, with the work in its window."""
    messages = facts.once(Messages)
    for _, siblings in lists_in(facts.unit.body):
        for window in reversed(tuple(windows_of(siblings, messages))):
            if "request" in window.call.args:
                work = in_window(siblings, window, messages)
                yield window.start, window.call, work_heads(work, messages)


def work_texts(nodes: tuple[Node, ...], messages: Messages) -> list[str]:
    """The outermost statements that take time, each by its first line."""
    return [text_of(head) for head in work_heads(nodes, messages)]


def work_heads(nodes: tuple[Node, ...], messages: Messages) -> list[Leaf]:
    """The first line of each of the outermost statements that take time."""
    found = (
        next((leaf for leaf in leaves(node) if takes_time(leaf, messages)), None) for node in nodes
    )
    return [head for head in found if head is not None]


def text_of(head: Leaf) -> str:
    return " ".join((head.body or "").replace("&", " ").split())
