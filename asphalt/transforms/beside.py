"""What stands beside a transfer: the work in its overlap window, for people to read."""

from __future__ import annotations

from collections.abc import Mapping

from asphalt.analysis.messages import Messages, Part, called, part_of
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.expr import names_in
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.edit import lists_in


def work_beside(facts: UnitFacts) -> Mapping[str, tuple[str, ...]]:
    """The loops and calls in the windows of a unit, each by its first line, by the variables of the
    request that the window belongs to."""
    messages = facts.once(Messages)
    found: dict[str, list[str]] = {}
    for _, siblings in lists_in(facts.unit.body):
        place = {id(leaf): n for n, node in enumerate(siblings) for leaf in leaves(node)}
        for first, node in enumerate(siblings):
            for leaf, call in messages.calls(node):
                if part_of(call) is not Part.START or "request" not in call.args:
                    continue
                ends = {place.get(id(end), -1) for end in messages.completion(leaf) or ()}
                if len(ends) == 1:
                    texts = _work(siblings[first + 1 : ends.pop()], messages)
                    for name in names_in(call.args["request"]):
                        found.setdefault(name, []).extend(texts)
    return {name: tuple(dict.fromkeys(texts)) for name, texts in found.items()}


def _work(nodes: tuple[Node, ...], messages: Messages) -> list[str]:
    """The outermost statements that take time."""
    texts: list[str] = []
    for node in nodes:
        heads = (leaf for leaf in leaves(node) if _takes_time(leaf, messages))
        first = next(heads, None)
        if first is not None:
            texts.append(" ".join((first.body or "").replace("&", " ").split()))
    return texts


def _takes_time(leaf: Leaf, messages: Messages) -> bool:
    if isinstance(leaf.what, DoHead):
        return True
    return called(leaf.what) is not None and messages.call(leaf) is None
