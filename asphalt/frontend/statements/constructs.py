"""Heads of executable constructs: DO, and the arms of IF, SELECT, WHERE, FORALL, ASSOCIATE."""

from __future__ import annotations

from collections.abc import Callable

from asphalt.frontend.lexical.tokens import Cursor, FortranSyntaxError
from asphalt.frontend.statements.declarations import type_spec
from asphalt.frontend.statements.expressions import arguments, designator, expression, opaque_from
from asphalt.ir.expr import Arg, Keyword
from asphalt.ir.stmt import ArmHead, DoHead, Guarded, Jump, JumpKind, What


def do_head(cursor: Cursor) -> DoHead:
    """Every form of DO; in fixed form the blanks around the label may be missing."""
    word = cursor.take()
    label: int | None = None
    if word.low != "do":
        cursor = _resplit_do(cursor)
    if cursor.here.kind == "int":
        label = cursor.label()
    if cursor.at_end:
        return DoHead("forever", label=label)
    cursor.accept(",")
    if cursor.low == "while" and cursor.after().low == "(":
        cursor.take()
        cursor.expect("(")
        condition = expression(cursor)
        cursor.expect(")")
        cursor.finish()
        return DoHead("while", condition=condition, label=label)
    if cursor.low == "concurrent" and cursor.after().low == "(":
        first = cursor.at + 1
        cursor.at = len(cursor.tokens) - 1
        return DoHead("concurrent", condition=opaque_from(cursor, first), label=label)
    var = designator(cursor)
    cursor.expect("=")
    low = expression(cursor)
    cursor.expect(",")
    high = expression(cursor)
    step = expression(cursor) if cursor.accept(",") else None
    cursor.finish()
    return DoHead("count", var, low, high, step, label=label)


def _resplit_do(cursor: Cursor) -> Cursor:
    """``do10i = ...`` with the blank after DO that the source left out."""
    start = cursor.tokens[0].start
    if not cursor.tokens[0].low.startswith("do"):
        raise FortranSyntaxError("expected 'do'")
    again = Cursor(f"do {cursor.code[start + 2 :]}")
    again.take()
    return again


def if_head(cursor: Cursor, action: Callable[[Cursor], What]) -> What:
    """``if (c) then``, ``if (c) action`` or the arithmetic IF."""
    cursor.take()
    cursor.expect("(")
    condition = expression(cursor)
    cursor.expect(")")
    if cursor.low == "then" and cursor.after().kind == "end":
        return ArmHead("if", (condition,))
    if cursor.here.kind == "int":
        labels = [cursor.label()]
        while cursor.accept(","):
            labels.append(cursor.label())
        cursor.finish()
        return Jump(JumpKind.ARITHMETIC_IF, tuple(labels), exprs=(condition,))
    return Guarded(condition, action(cursor))


def else_head(cursor: Cursor) -> ArmHead:
    """``else``, ``else if (c) then``, ``elsewhere (m)``, each perhaps with a construct name."""
    word = cursor.take().low
    if word == "else":
        if cursor.low in ("if", "where") and (cursor.after().low == "(" or cursor.low == "where"):
            word += cursor.take().low
        else:
            _construct_name(cursor)
            return ArmHead("else")
    exprs: tuple[Arg, ...] = ()
    if cursor.accept("("):
        exprs = (expression(cursor),)
        cursor.expect(")")
    if word == "elseif":
        cursor.expect("then")
        _construct_name(cursor)
        return ArmHead("else_if", exprs)
    _construct_name(cursor)
    return ArmHead("elsewhere", exprs)


def _construct_name(cursor: Cursor) -> None:
    """Pass the name of the construct that may end its statements."""
    if cursor.here.kind == "name":
        cursor.take()
    cursor.finish()


def select_head(cursor: Cursor) -> ArmHead:
    """``select case (e)``, ``select type (x => e)``, ``select rank (x)``."""
    word = cursor.take().low
    kind = word.removeprefix("select") or cursor.name().low
    if kind not in ("case", "type", "rank"):
        raise cursor.error("expected case, type or rank")
    cursor.expect("(")
    selector = _association(cursor)
    cursor.expect(")")
    cursor.finish()
    return ArmHead(f"select_{kind}", (selector,))


def _association(cursor: Cursor) -> Arg:
    if cursor.here.kind == "name" and cursor.after().low == "=>":
        name = cursor.take()
        cursor.take()
        return Keyword(name.low, name.text, expression(cursor))
    return expression(cursor)


def case_head(cursor: Cursor) -> ArmHead:
    """``case (1, 3:5)`` or ``case default``; also of SELECT RANK."""
    word = cursor.take().low
    if word.endswith("default") or cursor.accept("default"):
        _construct_name(cursor)
        return ArmHead(f"{word.removesuffix('default')}_default")
    if word == "rank" and cursor.accept("(", "*", ")"):
        values: tuple[Arg, ...] = ()
    else:
        values = arguments(cursor)
    _construct_name(cursor)
    return ArmHead(word, values)


def type_guard(cursor: Cursor) -> ArmHead:
    """``type is (t)``, ``class is (t)``, ``class default``."""
    word = cursor.take().low
    if word == "class" and cursor.accept("default"):
        _construct_name(cursor)
        return ArmHead("class_default")
    cursor.expect("is")
    cursor.expect("(")
    if cursor.after().low == ")":
        cursor.name()
    else:
        type_spec(cursor)
    cursor.expect(")")
    _construct_name(cursor)
    return ArmHead(f"{word}_is")


def where_head(cursor: Cursor, action: Callable[[Cursor], What]) -> What:
    """``where (m)`` or ``where (m) a = b``."""
    cursor.take()
    cursor.expect("(")
    mask = expression(cursor)
    cursor.expect(")")
    return ArmHead("where", (mask,)) if cursor.at_end else Guarded(mask, action(cursor), "where")


def forall_head(cursor: Cursor, action: Callable[[Cursor], What]) -> What:
    """``forall (...)`` or ``forall (...) a = b``; the header is kept as text."""
    cursor.take()
    first = cursor.at
    cursor.skip_group()
    header = opaque_from(cursor, first)
    if cursor.at_end:
        return ArmHead("forall", (header,))
    return Guarded(header, action(cursor), "forall")


def associate_head(cursor: Cursor) -> ArmHead:
    """``associate (a => b, c => d(i))``."""
    cursor.take()
    cursor.expect("(")
    pairs = [_association(cursor)]
    while cursor.accept(","):
        pairs.append(_association(cursor))
    cursor.expect(")")
    cursor.finish()
    if not all(isinstance(pair, Keyword) for pair in pairs):
        raise cursor.error("expected '=>'")
    return ArmHead("associate", tuple(pairs))


def bare_construct(cursor: Cursor) -> ArmHead:
    """``block`` or ``critical``."""
    word = cursor.take().low
    if word == "critical" and cursor.low == "(":
        cursor.skip_group()
    cursor.finish()
    return ArmHead(word)


CONSTRUCTS: dict[str, Callable[[Cursor], What]] = {
    **dict.fromkeys(("else", "elseif", "elsewhere"), else_head),
    **dict.fromkeys(("select", "selectcase", "selecttype", "selectrank"), select_head),
    **dict.fromkeys(("case", "casedefault", "rank"), case_head),
    "associate": associate_head,
    "block": bare_construct,
    "critical": bare_construct,
}
