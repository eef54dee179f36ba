"""Executable statements: assignments, calls, jumps, allocation."""

from __future__ import annotations

from collections.abc import Callable

from asphalt.frontend.lexical.tokens import Cursor, FortranSyntaxError
from asphalt.frontend.statements.expressions import (
    argument,
    designator,
    expression,
    opaque_from,
)
from asphalt.frontend.statements.io_statements import (
    file_statement,
    inquire_statement,
    print_statement,
    read_statement,
    write_statement,
)
from asphalt.ir.expr import Component, Expr, Keyword, OpaqueExpr, Ref
from asphalt.ir.stmt import (
    IO,
    Allocation,
    Assign,
    Call,
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
    colons = _colons(cursor)
    if colons is not None:
        first, cursor.at = cursor.at, colons
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


def _colons(cursor: Cursor) -> int | None:
    """The index of the ``::`` after a type-spec; one in parentheses, as in a(1::2), is none."""
    index = cursor.at
    while cursor.tokens[index].low not in (",", ")") and cursor.tokens[index].kind != "end":
        if cursor.tokens[index].low == "::":
            return index
        index = cursor.closing(index) + 1 if cursor.tokens[index].low == "(" else index + 1
    return None


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
