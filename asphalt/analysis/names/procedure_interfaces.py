"""Whether two texts of a procedure have the same interface for its callers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.ir.expr import Expr, Keyword, TypeSpec, names_in
from asphalt.ir.stmt import Dim


def same_interface(one: Scope, other: Scope) -> bool:
    """Whether head, dummy arguments and result of two texts of one procedure, and all names in
    their declarations, are declared alike."""
    first = one.head
    if first != other.head or first is None:
        return False
    waiting = [*first.args, first.result or first.name, *_names(first.type, ())]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name == "*":
            continue
        seen.add(name)
        symbols = one.lookup(name), other.lookup(name)
        if _declared(symbols[0]) != _declared(symbols[1]):
            return False
        if symbols[0] is not None:
            waiting += _names(symbols[0].type, symbols[0].dims or (), symbols[0].initial)
    return True


def _declared(symbol: Symbol | None) -> Symbol | None:
    """A symbol without the place of its declaration."""
    return None if symbol is None else replace(symbol, span=None, home=None, initial_span=None)


def _names(
    spec: TypeSpec | None, dims: tuple[Dim, ...], initial: Expr | None = None
) -> Iterator[str]:
    """The names in a declaration."""
    found = [initial, *(bound for dim in dims for bound in (dim.lower, dim.upper))]
    if spec is not None:
        length = spec.length.value if isinstance(spec.length, Keyword) else spec.length
        found += [spec.kind, length if isinstance(length, Expr) else None]
        if spec.name is not None:
            yield spec.name.lower()
    for expr in found:
        if expr is not None:
            yield from names_in(expr)
