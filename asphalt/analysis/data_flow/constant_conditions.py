"""Whether a condition is constant at a statement."""

from __future__ import annotations

from functools import partial

from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.forward_substitution import COMPARISONS, Values, is_integer
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    Lit,
    Op,
    Ref,
    Section,
    Unstructured,
    walk,
)
from asphalt.ir.tree import Leaf
from asphalt.support.three_valued import truth

_QUIET = (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.PURE_FUNCTION, NameKind.INQUIRY)


class ConstantConditions:
    """The conditions of one unit."""

    def __init__(self, scope: Scope, values: Values) -> None:
        self.scope = scope
        self.values = values

    def of(self, condition: Arg, at: Leaf) -> bool | None:
        """The value of a logical expression just before a statement.

        None: unknown, or its evaluation may have a side effect.
        """
        if not self._is_quiet(condition):
            return None
        return truth(condition, partial(self._plain, at=at))

    def integer(self, expr: Arg, at: Leaf) -> int | None:
        """The value of an integer expression just before a statement; None: unknown."""
        if isinstance(expr, Section) or not self._is_quiet(expr):
            return None
        if not isinstance(expr, Lit | Ref | Op) or not is_integer(expr, self.scope):
            return None
        return self.values.polynomial(expr, at).value

    def matches(self, value: int, item: Arg, at: Leaf) -> bool | None:
        """Whether a value matches an item of a CASE: a constant, or a range (F2018 11.1.9)."""
        if not isinstance(item, Section):
            own = self.integer(item, at)
            return None if own is None else own == value
        low = None if item.lower is None else self.integer(item.lower, at)
        high = None if item.upper is None else self.integer(item.upper, at)
        if (item.lower is not None and low is None) or (item.upper is not None and high is None):
            return None
        return (low is None or low <= value) and (high is None or value <= high)

    def _plain(self, expr: Arg, at: Leaf) -> bool | None:
        match expr:
            case Lit(kind="logical", text=text):
                return text.lower().startswith(".true")
            case Op(op=op, operands=(a, b)) if op in COMPARISONS:
                return self._compared(op, a, b, at)
        return None

    def _compared(self, op: str, a: Expr, b: Expr, at: Leaf) -> bool | None:
        one, other = self.integer(a, at), self.integer(b, at)
        return None if one is None or other is None else COMPARISONS[op](one - other)

    def _is_quiet(self, expr: Arg) -> bool:
        for part in walk(expr):
            if isinstance(part, Unstructured | Component):
                return False
            if isinstance(part, Op) and part.op.startswith(".") and part.op not in _OWN:
                return False
            if isinstance(part, Ref) and not self._is_read(part):
                return False
        return True

    def _is_read(self, ref: Ref) -> bool:
        return name_kind(ref.name, ref.args is not None, self.scope) in _QUIET


_OWN = frozenset((".not.", ".and.", ".or.", ".eqv.", ".neqv."))
