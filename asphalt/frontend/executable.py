"""Executable statements: calls, loops, arms of constructs, jumps, allocation."""

from __future__ import annotations

from collections.abc import Callable

from asphalt.frontend.declarations import type_spec
from asphalt.frontend.expressions import (
    argument,
    arguments,
    designator,
    expression,
    opaque_from,
)
from asphalt.frontend.io_statements import (
    file_statement,
    inquire_statement,
    print_statement,
    read_statement,
    write_statement,
)
from asphalt.frontend.tokens import Cursor, FortranSyntaxError
from asphalt.ir.expr import Arg, Component, Expr, Keyword, OpaqueExpr, Ref
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    DoHead,
    Guarded,
    Jump,
    JumpKind,
    Plain,
    What,
)


def assignment(cursor: Cursor) -> Assign:
    """``a(i) = x`` or ``p => x``."""
    target = designator(cursor)
    pointer = cursor.low == "=>"
    if not pointer and cursor.low != "=":
        raise cursor.error("expected '='")
    cursor.take()
    value = expression(cursor)
    cursor.finish()
    return Assign(target, value, pointer)


def call(cursor: Cursor) -> Call:
    """``call p``, ``call p(args)``, ``call a%p(args)``."""
    cursor.expect("call")
    what = designator(cursor)
    cursor.finish()
    match what:
        case Ref(name=name, spelled=spelled, args=args):
            return Call(Ref(name, spelled), args or ())
        case Component(base=base, name=name, spelled=spelled, args=args):
            return Call(Component(base, name, spelled), args or ())
    raise cursor.error("expected a procedure")


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


def goto(cursor: Cursor) -> Jump:
    """``goto 10``, ``go to 10``, ``goto (10, 20) i``, ``goto i, (10, 20)``."""
    word = cursor.take().low
    if word == "go":
        cursor.expect("to")
    elif word != "goto":
        digits = word.removeprefix("goto")
        if not digits.isdigit():
            raise FortranSyntaxError("expected 'goto'")
        cursor.finish()
        return Jump(JumpKind.GOTO, (int(digits),))
    if cursor.here.kind == "int":
        label = cursor.label()
        cursor.finish()
        return Jump(JumpKind.GOTO, (label,))
    if cursor.low == "(":
        labels = _labels(cursor)
        cursor.accept(",")
        index = expression(cursor)
        cursor.finish()
        return Jump(JumpKind.COMPUTED_GOTO, labels, exprs=(index,))
    token = cursor.name()
    labels = ()
    if not cursor.at_end:
        cursor.accept(",")
        labels = _labels(cursor)
    cursor.finish()
    return Jump(JumpKind.ASSIGNED_GOTO, labels, exprs=(Ref(token.low, token.text),))


def _labels(cursor: Cursor) -> tuple[int, ...]:
    cursor.expect("(")
    labels = [cursor.label()]
    while cursor.accept(","):
        labels.append(cursor.label())
    cursor.expect(")")
    return tuple(labels)


def cycle_or_exit(cursor: Cursor) -> Jump:
    """``cycle [name]`` or ``exit [name]``."""
    kind = JumpKind(cursor.take().low)
    name = None if cursor.at_end else cursor.name().low
    cursor.finish()
    return Jump(kind, construct=name)


def leave(cursor: Cursor) -> Jump:
    """``return [e]``, ``stop [code]``, ``error stop [code]``."""
    word = cursor.take().low
    if word == "error":
        cursor.expect("stop")
    if word == "errorstop" or word == "error":
        word = "error stop"
    exprs: list[Expr] = []
    if not cursor.at_end and cursor.low != ",":
        exprs.append(expression(cursor))
    if cursor.accept(",", "quiet", "="):
        exprs.append(expression(cursor))
    cursor.finish()
    return Jump(JumpKind(word), exprs=tuple(exprs))


def allocation(cursor: Cursor) -> Allocation:
    """``allocate``, ``deallocate``, ``nullify``; a type-spec is the option ``type``."""
    kind = cursor.take().low
    cursor.expect("(")
    objects: list[Expr] = []
    options: list[Keyword] = []
    if any(t.low == "::" for t in cursor.tokens[cursor.at : _first_comma(cursor)]):
        first = cursor.at
        while cursor.low != "::":
            if cursor.low == "(":
                cursor.skip_group()
            else:
                cursor.take()
        options.append(Keyword("type", "type", opaque_from(cursor, first)))
        cursor.take()
    while True:
        item = argument(cursor)
        if isinstance(item, Keyword):
            options.append(item)
        elif isinstance(item, Ref | Component | OpaqueExpr):
            objects.append(item)
        else:
            raise cursor.error("expected a variable")
        if not cursor.accept(","):
            break
    cursor.expect(")")
    cursor.finish()
    return Allocation(kind, tuple(objects), tuple(options))


def _first_comma(cursor: Cursor) -> int:
    """The index of the first comma outside of parentheses, or of the end."""
    index = cursor.at
    while cursor.tokens[index].kind != "end":
        low = cursor.tokens[index].low
        if low == ",":
            return index
        # A bound pair such as a(1::2) is no type-spec: its '::' is inside of parentheses.
        index = cursor.closing(index) + 1 if low == "(" else index + 1
    return index


def pause(cursor: Cursor) -> IO:
    """``pause [text]``: it prints and waits for a line."""
    cursor.take()
    reads = () if cursor.at_end else (expression(cursor),)
    cursor.finish()
    return IO("pause", reads)


def assign_label(cursor: Cursor) -> Assign:
    """``assign 10 to i``: the label is no integer value, so it is kept as text."""
    cursor.take()
    label = cursor.label()
    cursor.expect("to")
    target = designator(cursor)
    cursor.finish()
    return Assign(target, OpaqueExpr(str(label), frozenset()))


def continue_statement(cursor: Cursor) -> Plain:
    """``continue``."""
    cursor.take()
    cursor.finish()
    return Plain("continue")


EXECUTABLE: dict[str, Callable[[Cursor], What]] = {
    "call": call,
    "else": else_head,
    "elseif": else_head,
    "elsewhere": else_head,
    "select": select_head,
    "selectcase": select_head,
    "selecttype": select_head,
    "selectrank": select_head,
    "case": case_head,
    "casedefault": case_head,
    "rank": case_head,
    "associate": associate_head,
    "block": bare_construct,
    "critical": bare_construct,
    "go": goto,
    "goto": goto,
    "cycle": cycle_or_exit,
    "exit": cycle_or_exit,
    "return": leave,
    "stop": leave,
    "error": leave,
    "errorstop": leave,
    "allocate": allocation,
    "deallocate": allocation,
    "nullify": allocation,
    "continue": continue_statement,
    "pause": pause,
    "assign": assign_label,
    "read": read_statement,
    "accept": read_statement,
    "write": write_statement,
    "print": print_statement,
    "inquire": inquire_statement,
    **{
        word: file_statement(word)
        for word in ("open", "close", "rewind", "backspace", "endfile", "flush", "wait")
    },
}
