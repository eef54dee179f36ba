"""A condition that controls many definitions is looked at once."""

from __future__ import annotations

import pytest

from asphalt.analysis.call_graph.call_sites import CallingContext
from asphalt.analysis.uniformity.value_flow import ValueFlow
from asphalt.analysis.uniformity.value_graph import Facts
from asphalt.ir.expr import Arg, Op
from support.uniform_units import V, level, main

_TESTED = "mod(me, 2) == 1"
_MANY = f"n = 0\nif ({_TESTED}) then\nn = 1\nm = n + 1\nn = m + 2\nend if\ncall site(n + m)"


def test_a_condition_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tested: list[Op] = []
    expression = ValueFlow.expression

    def watched(flow: ValueFlow, expr: Arg, context: CallingContext, at: int, to: Facts) -> None:
        if isinstance(expr, Op) and expr.op == "==":
            tested.append(expr)
        expression(flow, expr, context, at, to)

    monkeypatch.setattr(ValueFlow, "expression", watched)
    assert level(main(_MANY).value()) is V
    assert len(tested) == 1


def test_the_shape_that_a_condition_asks_for_counts_for_each_array() -> None:
    """The allocation of each array depends on the shape of the other, and one on the rank."""
    body = (
        "allocate(x(2), y(3))\n"
        "if (size(y) == 3) then\ndeallocate(x)\nallocate(x(me + 1))\nend if\n"
        "if (size(x) == 2) then\ndeallocate(y)\nallocate(y(4))\nend if\n"
    )
    declared = "integer, allocatable :: x(:), y(:)"
    for asked in ("size(x)", "size(y)", "size(x) + size(y)"):
        assert level(main(f"{body}call site({asked})", declared).value()) is V
