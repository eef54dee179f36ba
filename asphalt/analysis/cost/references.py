"""Loads and stores by their stride in a loop."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.cost.classes import Counts
from asphalt.analysis.cost.types import Surroundings, base_of, dims_of, is_array
from asphalt.analysis.names.constants import constant
from asphalt.analysis.symbolic.polynomials import poly
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Keyword,
    Ref,
    Section,
    children,
    names_in,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import Dim

_NEAR = 8
"""Elements: two that are no further apart are in one cache line, or in consecutive ones."""


@record
class EnclosingLoop:
    """A loop around a statement: its variable ('' for none) and all names that change in it."""

    variable: str
    varying: frozenset[str]


def reference(
    expr: Expr, kind: str, level: int, loops: tuple[EnclosingLoop, ...], around: Surroundings
) -> Counts:
    """A load or store by its stride in the loop in which it changes."""
    number = 2 if base_of(expr, around) == "complex" else 1
    if not isinstance(expr, Ref | Component) or expr.args is None:
        return Counts.from_mapping({kind: number})
    args = expr.args
    if level > len(loops):  # by elements
        first = args[0]
        apart = "far" if not isinstance(first, Section) else "indexed" if first.stride else ""
        return Counts.from_mapping({f"{kind}_{apart}" if apart else kind: number})
    if level == 0:
        return Counts.from_mapping({kind: number})
    loop = loops[level - 1]
    others = loop.varying - {loop.variable}
    if any(names_in(arg) & others or holds_element(arg, loops, around) for arg in args):
        return Counts.from_mapping({f"{kind}_indexed": number})
    apart = stride_class(expr, loop.variable, around)
    return Counts.from_mapping({f"{kind}_{apart}" if apart else kind: number})


def stride_class(expr: Ref | Component, variable: str, around: Surroundings) -> str:
    """The stride of an element in a loop: '' (near), far or indexed."""
    if inner(expr):
        return "indexed"
    apart: int | None = 1
    dims = dims_of(expr, around)
    for number, arg in enumerate(expr.args or ()):
        if variable in names_in(arg):
            if isinstance(arg, Section | Keyword | AltReturn):
                return "far" if number else ""
            steps = poly(arg).coefficients(Ref(variable, variable))
            coefficient = steps[1].value if set(steps) <= {0, 1} and 1 in steps else None
            if apart is None or (number and coefficient is None):
                return "far"
            if coefficient is None:
                return "indexed"
            return "" if abs(coefficient * apart) <= _NEAR else "far"
        extent = None if dims is None or number >= len(dims) else known_extent(dims[number], around)
        apart = None if apart is None or extent is None else apart * extent
    return ""


def known_extent(dim: Dim, around: Surroundings) -> int | None:
    """A constant extent of a dimension; None for any other."""
    if dim.kind != "explicit" or dim.upper is None:
        return None
    upper = constant(dim.upper, around.scope)
    lower = 1 if dim.lower is None else constant(dim.lower, around.scope)
    return None if upper is None or lower is None else upper - lower + 1


def holds_element(expr: Arg, loops: tuple[EnclosingLoop, ...], around: Surroundings) -> bool:
    """Whether an expression contains an array element that changes in a loop."""
    if isinstance(expr, Ref | Component) and listed(expr):
        return is_array(expr, around) and level_of(names_in(expr), loops) > 0
    return any(holds_element(child, loops, around) for child in children(expr))


def level_of(names: Iterable[str], loops: tuple[EnclosingLoop, ...]) -> int:
    """The number of the innermost loop in which one of some names changes; 0: in none."""
    wanted = frozenset(names)
    for number in range(len(loops), 0, -1):
        if wanted & loops[number - 1].varying:
            return number
    return 0


def listed(expr: Expr) -> bool:
    """Whether a designator has a list of subscripts somewhere."""
    match expr:
        case Ref(args=tuple()):
            return True
        case Component(base=base, args=args):
            return args is not None or listed(base)
    return False


def inner(expr: Expr) -> bool:
    """Whether a component before the last one has subscripts."""
    return isinstance(expr, Component) and listed(expr.base)


def roots(expr: Arg) -> frozenset[str]:
    """The name of the variable that contains a designator's object."""
    while isinstance(expr, Component):
        expr = expr.base
    return frozenset({expr.name}) if isinstance(expr, Ref) else frozenset()
