"""Small named constants in subscripts and bounds: widths of halos, numbers of fields, positions.

A proof may rest on their values where the compiler checks these (``checked_sizes``).  Problem sizes
are larger: no proof for one of them is worth that the program does not compile with another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.names.constants import is_size, value_now
from asphalt.analysis.names.designators import designator_name, symbol_named
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.symbol import Identity, Origin, Symbol
from asphalt.ir.expr import Component, Ref, names_in, walk
from asphalt.ir.stmt import Call, DoHead, What
from asphalt.ir.tree import leaves

GREATEST = 32
"""The greatest value of a constant that is small."""
_TO_OTHERS = frozenset({"real", "cmplx", "aint", "anint", "logical"})
_DEPTH = 6  # calls that are followed, and constants that give each other's values


def index_constants(scope: Scope) -> dict[str, tuple[Identity, int]]:
    """The small integer constants that stand in subscripts and bounds of a unit, of the procedures
    that it calls, and in the declarations of arrays that these name: by the name in the unit, what
    identifies them, and their values.

    Only those that the unit can name, and that are declared in it, in its hosts, or in modules, by
    text that no macro changes.
    """
    found: dict[str, tuple[Identity, int]] = {}
    for name, home in _in_unit(scope, {id(scope.unit)}, _DEPTH):
        symbol, here = home.lookup(name), scope.lookup(name)
        if symbol is None or here is None or here.identity != symbol.identity:
            continue
        value = value_now(Ref(name, name), scope)
        if value is not None and abs(value) <= GREATEST and _is_written(here, _DEPTH):
            found[name] = here.identity, value
    return dict(sorted(found.items()))


def _is_written(symbol: Symbol, depth: int) -> bool:
    """Whether the declaration of a constant, and those of the constants that give its value, stand
    in the text of their units, and no macro changes them: builds may give macros other values."""
    home, span = symbol.home, symbol.initial_span
    if not isinstance(home, Scope) or span is None or symbol.initial is None or depth == 0:
        return False
    own = (leaf for node in home.unit.spec for leaf in leaves(node))
    if not any(leaf.span == span and not leaf.frozen and not leaf.macros for leaf in own):
        return False
    others = (home.lookup(name) for name in names_in(symbol.initial))
    return all(
        other is not None and (other.origin is Origin.INTRINSIC or _is_written(other, depth - 1))
        for other in others
    )


def _in_unit(scope: Scope, known: set[int], depth: int) -> Iterator[tuple[str, Scope]]:
    statements = tuple(
        what for node in scope.unit.body for leaf in leaves(node) for what in actions(leaf.what)
    )
    for name, home in _constants(statements, scope):
        if is_size(Ref(name, name), home):
            yield name, home
    for what in statements if depth else ():
        called = invoked(what, scope) if isinstance(what, Call) else None
        if called is not None and id(called[0].unit) not in known:
            known.add(id(called[0].unit))
            yield from _in_unit(scope.scopes.of(called[0]), known, depth - 1)


def _constants(statements: Iterable[What], scope: Scope) -> Iterator[tuple[str, Scope]]:
    """The names in subscripts and bounds, each with the scope that it is to be read in."""
    seen: set[tuple[str, int]] = set()
    for what in statements:
        expressions = expressions_of(what)
        if isinstance(what, DoHead):
            for bound in expressions:
                yield from ((part.name, scope) for part in walk(bound) if isinstance(part, Ref))
        for part in (part for expression in expressions for part in walk(expression)):
            if not isinstance(part, Ref | Component):
                continue
            for index in () if _gives_no_integer(part, scope) else part.args or ():
                yield from ((one.name, scope) for one in walk(index) if isinstance(one, Ref))
            yield from _in_declaration(_symbol(part, scope), seen)


def _gives_no_integer(part: Ref | Component, scope: Scope) -> bool:
    """Whether a reference is one to a function that converts to another type than integer (F2018
    16.9): no subscript and no bound has the value of its arguments, of which one may be a kind."""
    if not isinstance(part, Ref) or part.name not in _TO_OTHERS:
        return False
    symbol = scope.lookup(part.name)
    return symbol is not None and symbol.origin is Origin.INTRINSIC


def _in_declaration(
    symbol: Symbol | None, seen: set[tuple[str, int]]
) -> Iterator[tuple[str, Scope]]:
    """The names in the bounds of an array."""
    home = None if symbol is None else symbol.home
    if symbol is None or not isinstance(home, Scope) or (symbol.name, id(home)) in seen:
        return
    seen.add((symbol.name, id(home)))
    for dim in symbol.dims or ():
        for bound in (dim.lower, dim.upper):
            for one in () if bound is None else walk(bound):
                if isinstance(one, Ref):
                    yield one.name, home


def _symbol(part: Ref | Component, scope: Scope) -> Symbol | None:
    if isinstance(part, Ref):
        return scope.lookup(part.name)
    name = designator_name(part)
    return None if name is None else symbol_named(name, scope)
