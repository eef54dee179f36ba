"""The headers of DO CONCURRENT and FORALL (F2018 R1125), which the tree keeps as text."""

from __future__ import annotations

from asphalt.frontend.lexical.tokens import Cursor, FortranSyntaxError
from asphalt.frontend.statements.declarations import type_spec
from asphalt.frontend.statements.expressions import designator, expression
from asphalt.ir.expr import Expr
from asphalt.ir.stmt import ConcurrentHeader, DoHead


def concurrent_header(text: str) -> ConcurrentHeader | None:
    """The indexes and the mask of ``([integer ::] i = 1:n [:step], ... [, mask]) [locality]``.

    None: not understood.
    """
    cursor = Cursor(text)
    try:
        cursor.expect("(")
        if cursor.low == "integer" and cursor.after().low in ("::", "(", "*"):
            type_spec(cursor)
            cursor.expect("::")
        indexes = [_index(cursor)]
        mask: Expr | None = None
        while mask is None and cursor.accept(","):
            if cursor.after().low == "=":
                indexes.append(_index(cursor))
            else:
                mask = expression(cursor)
        cursor.expect(")")
    except FortranSyntaxError:
        return None
    return ConcurrentHeader(tuple(indexes), mask)


def _index(cursor: Cursor) -> DoHead:
    name = designator(cursor)
    cursor.expect("=")
    first = expression(cursor)
    cursor.expect(":")
    last = expression(cursor)
    step = expression(cursor) if cursor.accept(":") else None
    return DoHead("count", name, first, last, step)
