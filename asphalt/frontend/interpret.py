"""The meaning of the statements of a unit.

``f(x) = y`` is a statement function or the first assignment to an array: only the declarations
tell.  The splitter draws the line between specification and body without knowing them; it is drawn
again here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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


def interpret_unit(unit: Unit, deep: bool = False, hosted: bool = True) -> Unit:
    """The unit with every ``Raw`` statement of its own interpreted; with ``deep`` also those of the
    units that it contains.

    ``hosted``: it may see names of a host (a module procedure, an internal procedure), so that an
    undeclared ``f(x) = y`` assigns to an array of the host; False for an external procedure, where
    it is a statement function.  Never raises: what cannot be understood is ``Opaque``.
    """
    unit = _divided(unit, hosted)
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


def interpret_spec(unit: Unit, hosted: bool = True) -> Unit:
    """The unit with its head and its specification part interpreted, its body as it was."""
    unit = _divided(unit, hosted)
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
            inside = tuple(_node(child, in_spec, kind) for child in body)
            return Block(kind, _leaf(head), inside, _leaf(end))
        case Unit():
            return interpret_unit(node, deep=True)


@dataclass(slots=True)
class _Declared:
    """What the specification part says about names, as far as it has been read."""

    hosted: bool
    dims: dict[str, bool] = field(default_factory=dict)
    implicit_none: bool = False
    open: bool = False

    def note(self, node: Node) -> None:
        if not isinstance(node, Leaf):
            return
        match node.what:
            case Decl(kind="implicit", attrs=("none",)):
                self.implicit_none = True
            case Decl() as decl:
                for name, dims in declared_dims(decl).items():
                    self.dims[name] = self.dims.get(name, False) or dims is not None
            case Use() | Include() | Opaque():
                self.open = True

    def is_function(self, what: StatementFunction) -> bool:
        """``name(args) = value`` cannot be an assignment to an array."""
        if what.name in self.dims:
            return not self.dims[what.name]
        return not (self.hosted or self.open or self.implicit_none)


def _divided(unit: Unit, hosted: bool) -> Unit:
    """The unit with its specification interpreted, and the border to the body where it belongs."""
    declared = _Declared(hosted)
    spec: list[Node] = []
    nodes = list(unit.spec)
    for index, raw in enumerate(nodes):
        node = _node(raw, in_spec=True)
        if not _specifies(node, declared):
            moved = tuple(_again(rest) for rest in nodes[index:])
            return replace(unit, spec=tuple(spec), body=(*moved, *unit.body))
        declared.note(node)
        spec.append(node)
    ahead: list[Node] = []
    for raw in unit.body:
        node = _node(raw, in_spec=True) if isinstance(raw, Leaf) else raw
        if not _specifies(node, declared):
            break
        declared.note(node)
        ahead.append(node)
        if _is_statement_function(node):
            spec.extend(ahead)
            ahead.clear()
    return replace(unit, spec=tuple(spec), body=unit.body[len(spec) - len(nodes) :])


def _specifies(node: Node, declared: _Declared) -> bool:
    """The node belongs to a specification part."""
    match node:
        case Leaf(what=StatementFunction() as what):
            return declared.is_function(what)
        case Leaf(what=Decl() | Use() | Include() | Opaque()):
            return True
        case Leaf(what=Plain(keyword=keyword)):
            return keyword in ("format", "entry")
        case Block(kind="type" | "interface" | "enum"):
            return True
    return False


def _is_statement_function(node: Node) -> bool:
    return isinstance(node, Leaf) and isinstance(node.what, StatementFunction)


def _again(node: Node) -> Node:
    """A node of the body that the splitter took for a part of the specification."""
    return _node(node)
