"""Where a specification part takes further statements (F2018 5.3.2)."""

from __future__ import annotations

from asphalt.ir.stmt import StatementFunction, Use
from asphalt.ir.tree import Leaf, Unit, leaves


def last_use(unit: Unit) -> Leaf | None:
    """The statement behind which a USE may be added; None: behind the head of the unit."""
    uses = [n for n in unit.spec if isinstance(n, Leaf) and isinstance(n.what, Use)]
    return uses[-1] if uses else None


def last_declaration(unit: Unit) -> Leaf | None:
    """The statement behind which declarations may be added: before statement functions."""
    last: Leaf | None = None
    for node in unit.spec:
        if isinstance(node, Leaf) and isinstance(node.what, StatementFunction):
            break
        *_, last = leaves(node)
    return last
