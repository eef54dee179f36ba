"""Inquiries about the shapes of arrays: ``size(u, 1)``, ``ubound(u, 2)``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from asphalt.analysis.memory.accesses import ALIASED, Access
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Arg, Expr, Lit, Ref
from asphalt.ir.mapped import mapped

if TYPE_CHECKING:
    from asphalt.analysis.memory.forward_substitution import Values

SHAPE_INQUIRIES = frozenset({"size", "lbound", "ubound"})
_NOTHING = Lit("integer", "0")


def asked_about(ref: Arg, scope: Scope) -> str | None:
    """The array of which an inquiry asks for a bound or an extent; None: it is no such inquiry, or
    it evaluates something else, too."""
    match ref:
        case Ref(name=function, args=(Ref(name=array, args=None), Lit())):
            symbol = scope.lookup(function) if function in SHAPE_INQUIRIES else None
            return array if symbol is not None and symbol.origin is Origin.INTRINSIC else None
    return None


def without_inquiries(expr: Arg, scope: Scope) -> tuple[Arg, frozenset[str]]:
    """An expression without its inquiries about shapes, and the arrays of which they ask."""
    arrays: set[str] = set()

    def change(ref: Ref) -> Expr | None:
        array = asked_about(ref, scope)
        if array is None:
            return None
        arrays.add(array)
        return _NOTHING

    return mapped(expr, change), frozenset(arrays)


def keeps_shape(array: str, writes: Iterable[Access], scope: Scope) -> bool:
    """Whether an array of a unit has the same shape behind some accesses, ``writes``: all to its
    storage that write."""
    symbol = scope.lookup(array)
    if symbol is None or symbol.dims is None or "pointer" in symbol.attrs:
        return False
    if "allocatable" not in symbol.attrs:
        return True
    return storage_of(array, scope) != ALIASED and all(w.subscripts is not None for w in writes)


def in_stated_bounds(index: Poly, access: Access, values: Values) -> Poly:
    """The subscript of an element of an array, with the bounds that the source states for inquiries
    about this array.

    They are the same, since the array has an element: the bounds of a dimension without elements
    are 1 and 0, whatever is stated (F2018 16.9.109, 16.9.196).
    """
    scope = values.scope
    inquiries = [atom for atom in index.atoms if asked_about(atom, scope) is not None]
    for atom in inquiries:
        name = asked_about(atom, scope)
        if name is None or access.path or access.storage in (ALIASED, ""):
            continue
        if storage_of(name, scope) != access.storage:
            continue
        stated = _stated(atom, name, access, values)
        if stated is not None and set(index.coefficients(atom)) <= {0, 1}:
            by_power = index.coefficients(atom)
            index = by_power.get(0, Poly()) + by_power.get(1, Poly()) * stated
    return index


def _stated(inquiry: Expr, name: str, access: Access, values: Values) -> Poly | None:
    shape = shape_of(name, values.scope, values, access.leaf)
    if shape is None or not shape.stated or not isinstance(inquiry, Ref):
        return None
    number = inquiry.args[1].integer if inquiry.args and isinstance(inquiry.args[1], Lit) else None
    if number is None or not 0 < number <= shape.rank:
        return None
    lower, extent = shape.lower[number - 1], shape.extent[number - 1]
    if inquiry.name == "lbound" or extent is None:
        return lower if inquiry.name == "lbound" else None
    return extent if inquiry.name == "size" else lower + extent - Poly.constant(1)
