"""Aliasing of dummy arguments by callers in the tree.

A caller passes one array as two arguments, or one that the procedure can also access by another
name (F2018 15.5.2.13 forbids both where the array is changed, but programs do it).  Calls in text
that is not analysed are taken to keep the rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.call_sites import unit_key
from asphalt.analysis.effects.element_arguments import size_in_caller
from asphalt.analysis.names.references import actions, bind, expressions_of, references
from asphalt.analysis.names.resolve import specific_named
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import AltReturn, Arg, Component, Expr, Keyword, Ref, Section, names_in
from asphalt.ir.program import Located
from asphalt.ir.source import Span
from asphalt.ir.tree import leaves
from asphalt.support.may_must import MayMustAnswer, no, unknown

_ELSEWHERE = (Origin.MODULE, Origin.COMMON, Origin.HOST)


def passed_under_two_names(scope: Scope, located: Located) -> MayMustAnswer:
    """Whether a caller passes an array twice, or one that the procedure also accesses by another
    name, and the procedure may change it."""
    for caller, args, span in _calls(located, scope):
        bound = bind(args, scope.dummies)
        roots = {} if bound is None else {d: r for d, e in bound.items() if (r := _root(e))}
        if bound is None:
            what = f"the arguments of a call of {located.unit.name}, which may be this procedure,"
            return unknown(f"{what} are not those of its dummies", span)
        for dummy, root in roots.items():
            symbol = caller.lookup(root)
            own_symbol = scope.lookup(dummy)
            if symbol is not None and not _may_hold_array(symbol):
                continue
            if own_symbol is not None and own_symbol.intent == "in":
                continue
            for other, same in roots.items():
                if other == dummy or same != root:
                    continue
                if not _apart(dummy, other, bound, scope, caller):
                    return unknown(f"{dummy} and {other} are one array, {root} of a caller", span)
            own = None if symbol is None else _known_inside(symbol, scope)
            if own is not None:
                return unknown(f"{dummy} is {root} of a caller, which is {own} here", span)
    return no("no caller in the tree passes an array under two names")


def _calls(located: Located, scope: Scope) -> Iterator[tuple[Scope, tuple[Arg, ...], Span | None]]:
    name = located.unit.name
    for caller in scope.program.mentions(name) if name else ():
        inside = scope.scopes.of(caller)
        meant = specific_named(name, inside)
        if meant is not None and unit_key(meant) != unit_key(located):
            continue  # another procedure of that name
        for node in caller.unit.body:
            for leaf in leaves(node):
                for what in actions(leaf.what):
                    for args in references(what, name):
                        if args is not None:
                            yield inside, args, leaf.span


def _root(expr: Expr) -> str | None:
    match expr:
        case Ref(name=name):
            return name
        case Component(base=base):
            return _root(base)
    return None


def _may_hold_array(symbol: Symbol) -> bool:
    """Whether a variable is an array, or a structure that may contain one."""
    return symbol.is_array or symbol.type is None or symbol.type.name is not None


def _apart(one: str, two: str, bound: dict[str, Expr], callee: Scope, caller: Scope) -> bool:
    """Whether two parts of one array cannot overlap.

    ``call f(w(1), w(1+n))`` with ``integer x(n), y(n)``: they begin n elements apart, and x has n.
    Different components of one structure cannot overlap.
    """
    first, second = bound[one], bound[two]
    scalars = _is_scalar(one, callee) and _is_scalar(two, callee)
    if isinstance(first, Component) and isinstance(second, Component):
        if first.base != second.base:
            return False
        return first.name != second.name or (scalars and _other_elements(first, second))
    if scalars and _other_elements(first, second):
        return True
    here, there = (_extent_of(dummy, bound, callee, caller) for dummy in (one, two))
    if here is None or there is None:
        return False
    (low, size), (other, other_size) = here, there
    return _not_negative(other - low - size) or _not_negative(low - other - other_size)


def _is_scalar(dummy: str, callee: Scope) -> bool:
    """Whether a dummy is a scalar variable: it is associated with one element alone."""
    symbol = callee.lookup(dummy)
    if symbol is None or symbol.dims is not None or symbol.type is None:
        return False
    return not symbol.attrs & {"external", "procedure", "pointer", "allocatable", "implicit"}


def _other_elements(one: Expr, other: Expr) -> bool:
    """Whether two elements of one array are different, since a subscript differs by a number."""
    if not isinstance(one, Ref | Component) or type(one) is not type(other) or one.args is None:
        return False
    assert isinstance(other, Ref | Component)
    if other.args is None or len(one.args) != len(other.args):
        return False
    pairs = zip(one.args, other.args, strict=True)
    plain = (
        (a, b)
        for a, b in pairs
        if not isinstance(a, Section | Keyword | AltReturn)
        and not isinstance(b, Section | Keyword | AltReturn)
    )
    return any((poly(a) - poly(b)).value not in (None, 0) for a, b in plain)


def _not_negative(value: Poly) -> bool:
    return value.value is not None and value.value >= 0


def _extent_of(
    dummy: str, bound: dict[str, Expr], callee: Scope, caller: Scope
) -> tuple[Poly, Poly] | None:
    """The first element of a vector that is passed to a dummy, and the number of elements of the
    dummy."""
    actual, symbol = bound[dummy], callee.lookup(dummy)
    if not isinstance(actual, Ref) or actual.args is None or len(actual.args) != 1:
        return None
    subscript = actual.args[0]
    if symbol is None or isinstance(subscript, Section | Keyword | AltReturn):
        return None
    size = size_in_caller(symbol, bound, callee, caller)
    return None if size is None else (poly(subscript), size)


def _known_inside(symbol: Symbol, callee: Scope) -> str | None:
    """The name by which the procedure itself can access a variable of a caller."""
    if symbol.origin not in _ELSEWHERE and not _is_host_of(symbol, callee):
        return None
    seen: set[str] = set()
    for node in callee.unit.body:
        for leaf in leaves(node):
            for what in actions(leaf.what):
                for expr in expressions_of(what):
                    seen |= names_in(expr)
    for name in sorted(seen):
        own = callee.lookup(name)
        if own is None or own.origin not in _ELSEWHERE:
            continue
        if own.identity == symbol.identity:
            return name
        if own.common_block is not None and own.common_block == symbol.common_block:
            return name
    return None


def _is_host_of(symbol: Symbol, callee: Scope) -> bool:
    """Whether the unit that declares a variable contains a procedure."""
    host = callee.host
    while host is not None:
        if host is symbol.home:
            return True
        host = host.host
    return False
