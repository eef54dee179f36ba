"""Expressions for integer values."""

from __future__ import annotations

from asphalt.ir.expr import Lit, Op, num


def test_a_literal_constant_has_no_sign() -> None:
    assert num(7) == Lit("integer", "7")
    assert num(0) == Lit("integer", "0")
    assert num(-7) == Op("-", (Lit("integer", "7"),))
