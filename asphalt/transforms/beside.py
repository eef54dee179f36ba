"""What stands beside a transfer: the work in its overlap window, for people to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from asphalt.analysis.algebra import folded
from asphalt.analysis.messages import Messages
from asphalt.analysis.mpi_call import MpiCall
from asphalt.analysis.unit_facts import UnitFacts, line_of
from asphalt.ir.expr import Arg, names_in
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.edit import lists_in
from asphalt.transforms.windows import in_window, takes_time, windows_of


@dataclass(frozen=True, slots=True)
class Started:
    """An operation that a call of the program itself starts: its line, the MPI procedure, and the
    loops, calls and array statements in its window, each by its first line, as often as there is
    one like it."""

    line: int
    operation: str
    beside: tuple[str, ...]


def work_beside(facts: UnitFacts) -> Mapping[str, tuple[str, ...]]:
    """The loops, calls and array statements in the windows of a unit, each by its first line, by
    the variables of the request that the window belongs to."""
    found: dict[str, list[str]] = {}
    for _, call, texts in _windows(facts):
        for name in names_in(call.args["request"]):
            found.setdefault(name, []).extend(texts)
    return {name: tuple(dict.fromkeys(texts)) for name, texts in found.items()}


def started(facts: UnitFacts) -> Mapping[tuple[Arg, int], Started]:
    """The operations that the program itself starts in a unit, by request: the first one with it,
    the second one."""
    found: dict[tuple[Arg, int], Started] = {}
    seen: Counter[Arg] = Counter()
    for leaf, call, texts in sorted(_windows(facts), key=lambda window: line_of(window[0])):
        if call.binding != "runtime":
            request = folded(call.args["request"])
            operation = Started(line_of(leaf), call.procedure.spelled, tuple(texts))
            found[request, seen[request]] = operation
            seen[request] += 1
    return found


def _windows(facts: UnitFacts) -> Iterator[tuple[Leaf, MpiCall, list[str]]]:
    """Each call that starts an operation, with the work in its window."""
    messages = facts.once(Messages)
    for _, siblings in lists_in(facts.unit.body):
        for window in reversed(tuple(windows_of(siblings, messages))):
            if "request" in window.call.args:
                work = in_window(siblings, window, messages)
                yield window.start, window.call, work_texts(work, messages)


def work_texts(nodes: tuple[Node, ...], messages: Messages) -> list[str]:
    """The outermost statements that take time, each by its first line."""
    texts: list[str] = []
    for node in nodes:
        heads = (leaf for leaf in leaves(node) if takes_time(leaf, messages))
        first = next(heads, None)
        if first is not None:
            texts.append(" ".join((first.body or "").replace("&", " ").split()))
    return texts
