"""Expressions according to fparser, in the form of the IR.

fparser's tree has a class for every rule of the standard, so that one thing has several names:
``f(i)`` is a ``Part_Ref``, ``f(k=i)`` a ``Structure_Constructor``, ``max(i, 1)`` an
``Intrinsic_Function_Reference``.  All of them are a ``Ref`` here, as for asphalt's parser. Classes
are recognised by their names: this module imports nothing of fparser.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
)

Tree = Any
"""A node of fparser's tree: ``items`` are its children, None and plain strings among them."""

_NAMES = frozenset(
    ("Name", "Type_Name", "Intrinsic_Name", "Specific_Function_Name", "Intrinsic_Procedure_Name")
)
_LITERALS = {
    "Int_Literal_Constant": "integer",
    "Real_Literal_Constant": "real",
    "Logical_Literal_Constant": "logical",
    "Char_Literal_Constant": "character",
    "Binary_Constant": "boz",
    "Octal_Constant": "boz",
    "Hex_Constant": "boz",
}
_SIGNED = {
    "Signed_Int_Literal_Constant": "integer",
    "Signed_Real_Literal_Constant": "real",
}
_OPERATIONS = frozenset(
    (
        "Level_1_Expr",
        "Mult_Operand",
        "Add_Operand",
        "Level_2_Unary_Expr",
        "Level_2_Expr",
        "Level_3_Expr",
        "Level_4_Expr",
        "And_Operand",
        "Or_Operand",
        "Equiv_Operand",
        "Level_5_Expr",
        "Expr",
    )
)
_OPERATORS = {
    ".eq.": "==",
    ".ne.": "/=",
    ".lt.": "<",
    ".le.": "<=",
    ".gt.": ">",
    ".ge.": ">=",
    ".xor.": ".neqv.",
}
_REFERENCES = frozenset(
    (
        "Part_Ref",
        "Function_Reference",
        "Structure_Constructor",
        "Intrinsic_Function_Reference",
    )
)
_MEMBERS = frozenset(("Procedure_Designator", "Data_Pointer_Object", "Proc_Component_Ref"))
_TRIPLETS = frozenset(("Subscript_Triplet", "Bounds_Spec", "Bounds_Remapping", "Case_Value_Range"))
_KEYWORDS = frozenset(("Actual_Arg_Spec", "Component_Spec"))


def class_of(node: Tree) -> str:
    """The name of the class of a node."""
    return type(node).__name__


def ref(node: Tree) -> Ref:
    """A name."""
    return Ref(str(node).lower(), str(node))


def parts(node: Tree) -> tuple[Tree, ...]:
    """The members of a list node; a node that is no list is the only one, None has none."""
    if node is None:
        return ()
    return tuple(node.items) if class_of(node).endswith("_List") else (node,)


def expression(node: Tree) -> Expr:
    """The expression; what the IR has no form for is an OpaqueExpr with the names in it."""
    kind = class_of(node)
    if kind in _NAMES:
        return ref(node)
    if kind in _LITERALS:
        return Lit(_LITERALS[kind], str(node))
    if kind in _OPERATIONS:
        return _operation(node)
    if kind in _REFERENCES:
        return _reference(node)
    if kind == "Parenthesis":
        return Op("()", (expression(node.items[1]),))
    if kind == "Data_Ref":
        return _member_of(node.items)
    if kind in _MEMBERS:
        base, _, member = node.items
        return Component(expression(base), str(member).lower(), str(member))
    if kind in _SIGNED:
        return _signed(_SIGNED[kind], str(node))
    if kind in ("Label", "Stop_Code"):
        text = str(node)
        return Lit("integer", text) if text[:1].isdigit() else ref(node)
    if kind == "Complex_Literal_Constant" and all(class_of(i) in _SIGNED for i in node.items):
        return Lit("complex", str(node))
    return opaque(node)


def optional(node: Tree) -> Expr | None:
    """The expression, if there is one."""
    return None if node is None else expression(node)


def opaque(node: Tree) -> OpaqueExpr:
    """A part of the tree as text."""
    return OpaqueExpr(str(node), frozenset(_names(node)))


def arguments(node: Tree) -> tuple[Arg, ...]:
    """A list of subscripts or actual arguments."""
    return tuple(argument(part) for part in parts(node))


def argument(node: Tree) -> Arg:
    """A subscript, triplet, keyword argument, alternate return or expression."""
    kind = class_of(node)
    if kind in _TRIPLETS:
        ends = [optional(item) for item in node.items]
        return Section(ends[0], ends[1], ends[2] if len(ends) > 2 else None)
    if kind in _KEYWORDS:
        name, value = node.items
        return Keyword(str(name).lower(), str(name), expression(value))
    if kind == "Alt_Return_Spec":
        return AltReturn(int(str(node.items[0])))
    return expression(node)


def with_arguments(callee: Expr, args: tuple[Arg, ...]) -> Expr:
    """``callee(args)``; a callee that can have no list stays the same, with more names."""
    match callee:
        case Ref(name=name, spelled=spelled, args=None):
            return Ref(name, spelled, args)
        case Component(base=base, name=name, spelled=spelled, args=None):
            return Component(base, name, spelled, args)
    raise ValueError(f"a second list of arguments after {callee}")


def _reference(node: Tree) -> Expr:
    callee, args = node.items
    if class_of(callee) == "Derived_Type_Spec":
        return opaque(node)
    return with_arguments(expression(callee), arguments(args))


def _member_of(chain: tuple[Tree, ...]) -> Expr:
    """``a(i)%b%c(j)``: the parts between the percent signs."""
    base = expression(chain[0])
    for node in chain[1:]:
        match expression(node):
            case Ref(name=name, spelled=spelled, args=args):
                base = Component(base, name, spelled, args)
            case other:
                raise ValueError(f"{other} is no component")
    return base


def _operation(node: Tree) -> Op:
    spelled = next(item for item in node.items if isinstance(item, str))
    low = spelled.lower()
    operands = tuple(expression(item) for item in node.items if not isinstance(item, str))
    return Op(_OPERATORS.get(low, low) if len(operands) == 2 else low, operands, spelled)


def _signed(kind: str, text: str) -> Expr:
    sign, digits = text[:1], text[1:].lstrip()
    return Op(sign, (Lit(kind, digits),)) if sign in ("+", "-") else Lit(kind, text)


def _names(node: Tree) -> Iterator[str]:
    if class_of(node) in _NAMES:
        yield str(node).lower()
    elif isinstance(node, tuple | list):
        for item in node:
            yield from _names(item)
    elif not isinstance(node, str):
        for item in getattr(node, "items", None) or ():
            yield from _names(item)
