"""Charges for the copies of messages in the runtime, which would take no time otherwise.

Its other operations are small compared with the messages, and are not charged.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.ir.expr import Component, Expr, Lit, Op, Ref
from asphalt.ir.source import Form
from asphalt.ir.stmt import Assign
from asphalt.ir.tree import Leaf, Node, Unit, leaves
from asphalt.transforms.charging.edit import CHARGE, FLUSH, before, literal
from asphalt.transforms.rewriting.edit import flat_map
from asphalt.transforms.rewriting.make import maker_at

_COPY = "memcpy"


def with_copies_charged(unit: Unit, bandwidth: float, form: Form, eol: str) -> Unit | None:
    """The unit with charged copies, at a number of bytes per second; None: it has no copy."""
    body = unit.body
    for node in unit.body:
        for leaf in leaves(node):
            size = _copied(leaf)
            if size is None:
                continue
            make = maker_at(leaf, form, eol)
            seconds = Op("*", (Lit("real", literal(1 / bandwidth)), _real(size)))
            charge, now = make.call(CHARGE, seconds), make.call(FLUSH)

            def change(old: Leaf, charge: Leaf = charge, now: Leaf = now) -> tuple[Node, ...]:
                first, rest = before(old, charge)
                return first, now, rest

            body = flat_map(body, leaf, change)
    return None if body is unit.body else replace(unit, body=body)


def _copied(leaf: Leaf) -> Expr | None:
    """The number of bytes that a statement copies; None: it copies nothing."""
    what = leaf.what
    if isinstance(what, Assign) and isinstance(what.value, Ref) and what.value.name == _COPY:
        match what.value.args:
            case (_, _, (Lit() | Ref() | Component() | Op()) as size):
                return size
    return None


def _real(size: Expr) -> Expr:
    return Ref("real", "real", (size, Lit("integer", "8")))
