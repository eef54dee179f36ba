"""Where a specification part accepts further statements (F2018 5.3.2)."""

from __future__ import annotations

from asphalt.ir.conditionals import depth_before
from asphalt.ir.stmt import StatementFunction, Use
from asphalt.ir.tree import Leaf, Unit, leaves


def last_use(unit: Unit) -> Leaf | None:
    """The statement after which a USE may be inserted; None: after the head of the unit."""
    uses = [n for n in unit.spec if isinstance(n, Leaf) and isinstance(n.what, Use)]
    return uses[-1] if uses else None


def last_declaration(unit: Unit) -> Leaf | None:
    """The statement after which declarations may be inserted: before statement functions."""
    last: Leaf | None = None
    for node in unit.spec:
        if isinstance(node, Leaf) and isinstance(node.what, StatementFunction):
            break
        *_, last = leaves(node)
    return last


def takes_declarations(unit: Unit) -> bool:
    """Whether inserted declarations stand on lines of their own, and the conditionals of the
    preprocessor nest within the unit."""
    own = [leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node)]
    for behind in (last_use(unit), last_declaration(unit)):
        if behind is None:
            continue
        number = next(i for i, other in enumerate(own) if other is behind) + 1
        following = own[number] if number < len(own) else unit.contains or unit.end
        if depth_before(unit, behind) is None or following.joined:
            return False
    return True
