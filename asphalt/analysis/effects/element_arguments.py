"""Dummy arrays whose actual arguments are array elements (F2018 15.5.2.11)."""

from __future__ import annotations

from collections.abc import Mapping

from asphalt.analysis.memory.accesses import Subscript
from asphalt.analysis.memory.module_arrays import means_the_same
from asphalt.analysis.memory.never_written import WritesArgument, never_written
from asphalt.analysis.memory.shapes import is_variable
from asphalt.analysis.names.scopes import Scope, Symbol, constant
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import AltReturn, Expr, Keyword, Lit, Ref, Section, names_in, walk
from asphalt.ir.stmt import Dim

_ONE = Lit("integer", "1")


def size_in_caller(
    dummy: Symbol, bound: Mapping[str, Expr], callee: Scope, caller: Scope
) -> Poly | None:
    """The number of elements of an explicit-shape dummy in terms of the caller; None: unknown."""
    return _size(dummy.dims or (), bound, callee, caller)


def _size(
    dims: tuple[Dim, ...], bound: Mapping[str, Expr], callee: Scope, caller: Scope
) -> Poly | None:
    size = Poly.constant(1)
    for dim in dims:
        if dim.kind != "explicit" or dim.upper is None:
            return None
        lower = _in_caller(dim.lower or _ONE, bound, callee, caller)
        upper = _in_caller(dim.upper, bound, callee, caller)
        if lower is None or upper is None:
            return None
        size = size * (upper - lower + Poly.constant(1))
    return size if dims else None


def section_of_element(
    actual: Ref,
    dummy: Symbol,
    bound: Mapping[str, Expr],
    callee: Scope,
    caller: Scope,
    writes_argument: WritesArgument,
) -> tuple[Subscript, ...] | None:
    """The section that a dummy array is associated with if the actual argument is an element (F2018
    15.5.2.11).

    ``call f(s(1,1,k), nx, ny)`` with ``real a(nx,ny)`` is ``s(:,:,k)`` if the declared extents of
    ``s`` are the actual ``nx`` and ``ny``.  None: unknown, as where the last extent is one:
    programs of FORTRAN 66 declare ``a(1)`` and ``a(n,1)`` for an array of any size.
    """
    symbol = caller.lookup(actual.name)
    if symbol is None or not symbol.dims or dummy.dims is None or actual.args is None:
        return None
    size = size_in_caller(dummy, bound, callee, caller)
    if size is None or _size(dummy.dims[-1:], bound, callee, caller) == Poly.constant(1):
        return None
    subscripts = [a for a in actual.args if not isinstance(a, Section | Keyword | AltReturn)]
    if len(subscripts) != len(symbol.dims):
        return None
    stride = Poly.constant(1)
    for dimension, dim in enumerate(symbol.dims):
        if stride == size:
            if not _dims_hold(symbol, dimension, caller, writes_argument):
                return None
            colon = Section(None, None, None)
            return (*([colon] * dimension), *subscripts[dimension:])
        if dim.kind != "explicit" or dim.upper is None:
            return None
        lower = _declared(dim.lower or _ONE, caller)
        if _declared(subscripts[dimension], caller) != lower:
            return None
        stride = stride * (_declared(dim.upper, caller) - lower + Poly.constant(1))
    return None


def _dims_hold(symbol: Symbol, leading: int, scope: Scope, writes_argument: WritesArgument) -> bool:
    """Whether the bounds of the leading dimensions have the same values now as on entry."""
    if symbol.home is not scope:
        return False
    dims = (symbol.dims or ())[:leading]
    bounds = [b for dim in dims for b in (dim.lower, dim.upper) if b is not None]
    names = {name for bound in bounds for name in names_in(bound)}
    return all(
        never_written(name, scope, writes_argument) for name in names if is_variable(name, scope)
    )


def _declared(expr: Expr, scope: Scope) -> Poly:
    def known(part: Expr) -> Expr | None:
        value = constant(part, scope)
        return None if value is None else Lit("integer", str(value))

    return poly(expr, known)


def _in_caller(expr: Expr, bound: Mapping[str, Expr], callee: Scope, caller: Scope) -> Poly | None:
    """A bound of a dummy in terms of the caller: dummies replaced, constants evaluated."""
    unknown = False

    def known(part: Expr) -> Expr | None:
        nonlocal unknown
        value = constant(part, callee)
        if value is not None:
            return Lit("integer", str(value))
        return None

    for part in walk(expr):
        if isinstance(part, Ref) and part.name not in bound and constant(part, callee) is None:
            unknown = unknown or not means_the_same(part, callee, caller)
    if unknown:
        return None
    inner = poly(expr, known)
    total = Poly()
    for monomial, coefficient in inner.terms:
        term = Poly.constant(coefficient)
        for atom in monomial:
            if not isinstance(atom, Ref) or atom.args is not None:
                return None
            actual = bound.get(atom.name, atom)
            term = term * _declared(actual, caller)
        total = total + term
    return total
