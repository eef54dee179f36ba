"""Input/output statements: what each reads, what it defines and where it may go to."""

from __future__ import annotations

from collections.abc import Callable

from asphalt.frontend.lexical.tokens import Cursor
from asphalt.frontend.statements.expressions import argument, expression, is_implied_do
from asphalt.ir.expr import Arg, Component, Expr, Keyword, Lit, OpaqueExpr, Ref
from asphalt.ir.stmt import IO

_BRANCHES = frozenset(("err", "end", "eor"))
_DEFINED = frozenset(("iostat", "iomsg", "size", "newunit", "id"))
_INQUIRE_INPUTS = frozenset(("unit", "file", "id"))


class IoEffects:
    """The effects of an I/O statement that were found so far: what it reads, defines and branches
    to."""

    def __init__(self) -> None:
        self.reads: list[Arg] = []
        self.writes: list[Arg] = []
        self.labels: list[int] = []

    def io(self, kind: str) -> IO:
        """The statement with these effects."""
        return IO(kind, tuple(self.reads), tuple(self.writes), tuple(self.labels))


def _control_list(cursor: Cursor) -> list[tuple[str, Expr | None]]:
    """``(6, '(a)', iostat=ios)``: keywords ('' without one) and values (None: ``*``)."""
    cursor.expect("(")
    found: list[tuple[str, Expr | None]] = []
    while True:
        keyword = ""
        if cursor.here.kind == "name" and cursor.after().low == "=":
            keyword = cursor.take().low
            cursor.take()
        if cursor.low == "*" and cursor.after().low in (",", ")"):
            cursor.take()
            found.append((keyword, None))
        else:
            found.append((keyword, expression(cursor)))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return found


def _items(cursor: Cursor, into: list[Arg], transfer: IoEffects) -> None:
    """The items of a data transfer; the variable of an implied DO is defined, its bounds read."""
    while not cursor.at_end:
        _item(cursor, into, transfer)
        if not cursor.accept(","):
            break


def _item(cursor: Cursor, into: list[Arg], transfer: IoEffects) -> None:
    if cursor.low != "(" or not is_implied_do(cursor):
        into.append(expression(cursor))
        return
    cursor.take()
    while not (cursor.here.kind == "name" and cursor.after().low == "="):
        _item(cursor, into, transfer)
        cursor.expect(",")
    variable = cursor.name()
    cursor.expect("=")
    transfer.writes.append(Ref(variable.low, variable.text))
    transfer.reads.append(expression(cursor))
    while cursor.accept(","):
        transfer.reads.append(expression(cursor))
    cursor.expect(")")


def _data_transfer(cursor: Cursor, kind: str) -> IO:
    """READ or WRITE with a control list."""
    control = _control_list(cursor)
    cursor.accept(",")
    transfer = IoEffects()
    reading = kind == "read"
    no_items = cursor.at_end
    for position, (given, value) in enumerate(control):
        keyword = given or ("unit", "fmt")[position] if given or position < 2 else ""
        if not keyword:
            raise cursor.error("an I/O control list with three unnamed entries")
        if value is None:
            continue
        if keyword in _BRANCHES or (keyword == "fmt" and isinstance(value, Lit)):
            _branch(keyword, value, transfer)
        elif keyword in _DEFINED:
            transfer.writes.append(value)
        else:
            _input(transfer, keyword, value, reading, no_items)
    _items(cursor, transfer.writes if reading else transfer.reads, transfer)
    cursor.finish()
    return transfer.io(kind)


def _input(transfer: IoEffects, keyword: str, value: Expr, reading: bool, no_items: bool) -> None:
    """A control that is read; what it may also define or stand for is marked by a keyword."""
    transfer.reads.append(value)
    if not isinstance(value, Ref | Component | OpaqueExpr):
        return
    if keyword == "unit" and not reading:
        transfer.writes.append(Keyword("unit", "unit", value))
    elif keyword == "nml" or (keyword == "fmt" and no_items and isinstance(value, Ref)):
        _namelist(transfer, value, reading)


def _namelist(transfer: IoEffects, group: Expr, reading: bool) -> None:
    """``group`` may be a namelist: its members are read, or defined."""
    (transfer.writes if reading else transfer.reads).append(Keyword("nml", "nml", group))


def _branch(keyword: str, value: Expr, transfer: IoEffects) -> None:
    """A label to go to; the label of a FORMAT is none, and a literal format reads nothing."""
    if keyword not in _BRANCHES:
        return
    if not isinstance(value, Lit) or value.integer is None:
        transfer.reads.append(value)
    else:
        transfer.labels.append(value.integer)


def read_statement(cursor: Cursor) -> IO:
    """``read (5, *) x`` or ``read *, x``."""
    cursor.take()
    if cursor.low == "(" and not _is_parenthesised_format(cursor):
        return _data_transfer(cursor, "read")
    return _formatted(cursor, "read")


def _is_parenthesised_format(cursor: Cursor) -> bool:
    """``read ('(i5)'), x``: what is in the parenthesis is the format, as a comma follows."""
    after = cursor.tokens[cursor.closing() + 1].low
    return after == "," or after == "//"


def write_statement(cursor: Cursor) -> IO:
    """``write (6, *) x``; an internal unit is defined, and stands as ``unit=`` in ``writes``."""
    cursor.take()
    return _data_transfer(cursor, "write")


def print_statement(cursor: Cursor) -> IO:
    """``print *, x``, ``print 10, x``, ``print '(a)', x``, ``print nml``."""
    cursor.take()
    return _formatted(cursor, "print")


def _formatted(cursor: Cursor, kind: str) -> IO:
    transfer = IoEffects()
    if not cursor.accept("*"):
        form = expression(cursor)
        if not isinstance(form, Lit):
            transfer.reads.append(form)
            if cursor.at_end and isinstance(form, Ref):
                _namelist(transfer, form, kind == "read")
    if not cursor.at_end:
        cursor.expect(",")
        _items(cursor, transfer.writes if kind == "read" else transfer.reads, transfer)
    cursor.finish()
    return transfer.io(kind)


def file_statement(kind: str) -> Callable[[Cursor], IO]:
    """OPEN, CLOSE, REWIND, BACKSPACE, ENDFILE, FLUSH, WAIT: ``rewind u`` or ``open (...)``."""

    def parse(cursor: Cursor) -> IO:
        cursor.take()
        transfer = IoEffects()
        if cursor.low != "(":
            if not cursor.at_end:
                transfer.reads.append(expression(cursor))
            cursor.finish()
            return transfer.io(kind)
        for keyword, value in _control_list(cursor):
            if value is None:
                continue
            if keyword in _BRANCHES:
                _branch(keyword, value, transfer)
            elif keyword in _DEFINED and not (kind == "wait" and keyword == "id"):
                transfer.writes.append(value)
            else:
                transfer.reads.append(value)
        cursor.finish()
        return transfer.io(kind)

    return parse


def inquire_statement(cursor: Cursor) -> IO:
    """INQUIRE: all but the unit, the file and id= is defined."""
    cursor.take()
    transfer = IoEffects()
    if cursor.low == "(" and cursor.after().low == "iolength":
        cursor.take()
        target = argument(cursor)
        cursor.expect(")")
        transfer.writes.append(target.value if isinstance(target, Keyword) else target)
        _items(cursor, transfer.reads, transfer)
        cursor.finish()
        return transfer.io("inquire")
    for keyword, value in _control_list(cursor):
        if value is None:
            continue
        if keyword in _BRANCHES:
            _branch(keyword, value, transfer)
        elif not keyword or keyword in _INQUIRE_INPUTS:
            transfer.reads.append(value)
        else:
            transfer.writes.append(value)
    cursor.finish()
    return transfer.io("inquire")
