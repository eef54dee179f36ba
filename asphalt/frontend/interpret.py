"""The meaning of the statements of a unit.

``f(x) = y`` is a statement function or the first assignment to an array: only the declarations
tell.  Where the tree of the file drew the line between specification and body is a hint; where the
unit's own declarations say otherwise, it is drawn again here.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.frontend.attributes import declared_dims
from asphalt.frontend.statements import statement
from asphalt.ir.stmt import (
    Decl,
    Include,
    Opaque,
    Plain,
    Raw,
    StatementFunction,
    Use,
)
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit

__all__ = ["interpret_spec", "interpret_unit", "statement"]

_DEFINITIONS = frozenset(("type", "interface", "enum"))


def interpret_unit(unit: Unit, deep: bool = False) -> Unit:
    """The unit with every ``Raw`` statement of its own interpreted; with ``deep`` also those of the
    units that it contains.

    Never raises: what cannot be understood is ``Opaque``.
    """
    unit = _divided(unit)
    return replace(
        unit,
        head=_head(unit),
        body=tuple(_node(node) for node in unit.body),
        contains=None if unit.contains is None else _leaf(unit.contains),
        contained=tuple(interpret_unit(inner, deep=True) for inner in unit.contained)
        if deep
        else unit.contained,
        end=_leaf(unit.end),
    )


def interpret_spec(unit: Unit) -> Unit:
    """The unit with its head and its specification part interpreted, its body as it was."""
    unit = _divided(unit)
    return replace(unit, head=_head(unit))


def _head(unit: Unit) -> Leaf | None:
    return None if unit.head is None else _leaf(unit.head)


def _leaf(leaf: Leaf, in_spec: bool = False, block: str = "") -> Leaf:
    if not isinstance(leaf.what, Raw):
        return leaf
    return replace(leaf, what=statement(leaf.what.code, in_spec, block))


def _node(node: Node, in_spec: bool = False, block: str = "") -> Node:
    """A node with all its statements interpreted."""
    match node:
        case Leaf():
            return _leaf(node, in_spec, block)
        case Do(head=head, body=body, end=end):
            inside = tuple(_node(child) for child in body)
            return Do(_leaf(head), inside, None if end is None else _leaf(end))
        case Branch(kind=kind, arms=arms, end=end):
            return Branch(
                kind,
                tuple(Arm(_leaf(a.head), tuple(_node(child) for child in a.body)) for a in arms),
                _leaf(end),
            )
        case Block(kind=kind, head=head, body=body, end=end):
            hint = kind if kind in _DEFINITIONS else ""
            inside = tuple(_node(child, in_spec, hint) for child in body)
            return Block(kind, _leaf(head), inside, _leaf(end))
        case Unit():
            return interpret_unit(node, deep=True)


def _divided(unit: Unit) -> Unit:
    """The unit with its specification interpreted, and the border to the body where it belongs."""
    shaped: dict[str, bool] = {}  # the names declared so far, and whether with dimensions
    spec: list[Node] = []
    for index, raw in enumerate(unit.spec):
        node = _node(raw, in_spec=True)
        if not _specifies(node, shaped, unknown=True):
            body = (*(_node(rest) for rest in unit.spec[index:]), *unit.body)
            return replace(unit, spec=tuple(spec), body=body)
        _note(node, shaped)
        spec.append(node)
    ahead: list[Node] = []
    moved = 0
    for raw in unit.body:
        node = _node(raw, in_spec=True) if isinstance(raw, Leaf) else raw
        if not _specifies(node, shaped, unknown=False):
            break
        _note(node, shaped)
        ahead.append(node)
        if isinstance(node, Leaf) and isinstance(node.what, StatementFunction):
            moved = len(ahead)
    return replace(unit, spec=(*spec, *ahead[:moved]), body=unit.body[moved:])


def _note(node: Node, shaped: dict[str, bool]) -> None:
    if isinstance(node, Leaf) and isinstance(node.what, Decl):
        for name, dims in declared_dims(node.what).items():
            shaped[name] = shaped.get(name, False) or dims is not None


def _specifies(node: Node, shaped: dict[str, bool], unknown: bool) -> bool:
    """The node belongs to a specification part.

    ``unknown``: what ``f(x) = y`` is where the unit does not declare f.
    """
    match node:
        case Leaf(what=StatementFunction(name=name)):
            return not shaped[name] if name in shaped else unknown
        case Leaf(what=Decl() | Use() | Include() | Opaque()):
            return True
        case Leaf(what=Plain(keyword=keyword)):
            return keyword in ("format", "entry")
        case Block(kind=kind):
            return kind in _DEFINITIONS
    return False
