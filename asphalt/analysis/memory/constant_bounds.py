"""Bounds of arrays that are constants, in another scope than that of their declaration."""

from __future__ import annotations

from asphalt.analysis.names.constants import is_size
from asphalt.analysis.names.scopes import Origin, Scope, constant
from asphalt.analysis.names.symbol import NameLookup
from asphalt.ir.expr import Expr, Lit, Ref, names_in, walk
from asphalt.ir.stmt import Dim


def constant_dims(
    dims: tuple[Dim, ...], home: NameLookup | None, scope: Scope
) -> tuple[Dim, ...] | None:
    """Dimensions with constant bounds of ``home``, in terms of ``scope``; None: it has none."""
    bounds = [b for dim in dims for b in (dim.lower, dim.upper) if b is not None]
    if home is scope or all(means_the_same(b, home, scope) for b in bounds):
        return dims
    return _evaluated(dims, home)


def is_constant(bound: Expr, home: NameLookup | None) -> bool:
    """Whether a bound has the same value in all executions, or in all with the same sizes."""
    if not isinstance(home, Scope):
        return False
    parts = [part for part in walk(bound) if isinstance(part, Ref)]
    return constant(bound, home) is not None or all(is_size(part, home) for part in parts)


def means_the_same(expr: Expr, home: NameLookup | None, scope: Scope) -> bool:
    """Whether the named constants of an expression of ``home`` have the same names in ``scope``.

    Asked where values of sizes do not matter; otherwise they are evaluated.
    """
    if home is None or not scope.any_sizes:
        return False
    pairs = [(home.lookup(name), scope.lookup(name)) for name in names_in(expr)]
    return all(
        there is not None
        and here is not None
        and (there.name, there.owner, there.origin) == (here.name, here.owner, Origin.PARAMETER)
        for there, here in pairs
    )


def _evaluated(dims: tuple[Dim, ...], home: NameLookup | None) -> tuple[Dim, ...] | None:
    """Dimensions with numbers for constant bounds; None: some are unknown."""
    assert isinstance(home, Scope)
    bounds = [b for dim in dims for b in (dim.lower, dim.upper) if b is not None]
    if any(constant(bound, home) is None for bound in bounds):
        return None

    def literal(bound: Expr | None) -> Expr | None:
        return None if bound is None else Lit("integer", str(constant(bound, home)))

    return tuple(Dim(dim.kind, literal(dim.lower), literal(dim.upper)) for dim in dims)
