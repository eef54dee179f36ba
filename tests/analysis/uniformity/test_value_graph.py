"""The graph of values, with nodes that are named here."""

from __future__ import annotations

from typing import cast

import pytest

from asphalt.analysis.call_graph.call_sites import CallingContext
from asphalt.analysis.uniformity.value_graph import Facts, Level, Node, ValueGraph, Variable


class _Context:
    key = "unit"


def _node(name: str) -> Variable:
    return Variable(cast(CallingContext, _CONTEXT), name, 0)


_CONTEXT = _Context()


class _Graph(ValueGraph):
    """``b`` differs between ranks, and ``a`` depends on it; building ``b`` may fail."""

    fails = True

    def _build(self, node: Node, facts: Facts) -> None:
        assert isinstance(node, Variable)
        if node.name == "a":
            facts.depends[_node("b")] = None
        elif self.fails:
            raise RecursionError
        else:
            facts.note(Level.VARYING, "its rank")

    def _is_far(self, node: Node) -> bool:
        return False


def test_a_question_that_an_error_has_ended_leaves_nothing_that_is_believed() -> None:
    graph = _Graph()
    with pytest.raises(RecursionError):
        graph.complete(Facts(depends={_node("a"): None}))
    graph.fails = False
    for name in ("b", "a"):
        facts = Facts(depends={_node(name): None})
        graph.complete(facts)
        assert facts.level is Level.VARYING


def test_what_facts_include_is_as_if_it_had_been_noted_there() -> None:
    facts, other = Facts(depends={_node("a"): None}), Facts(depends={_node("b"): None})
    facts.note(Level.UNKNOWN, "first")
    other.note(Level.VARYING, "second")
    other.note(Level.UNIFORM, "first")
    other.assume("pure:f", "third")
    other.depends[_node("a")] = None
    other.shapes.add(("unit", "x"))
    facts.include(other)
    assert facts.level is Level.VARYING
    assert list(facts.reasons.items()) == [
        ("first", Level.UNKNOWN),
        ("second", Level.VARYING),
        ("third", Level.UNIFORM),
    ]
    assert [node.name for node in facts.depends if isinstance(node, Variable)] == ["a", "b"]
    assert list(facts.assumed) == ["pure:f"]
    assert facts.shapes == {("unit", "x")}
