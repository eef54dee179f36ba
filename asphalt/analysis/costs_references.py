"""Loads and stores by the distance between two turns of a loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asphalt.analysis.algebra import poly
from asphalt.analysis.costs import Counts
from asphalt.analysis.costs_types import Surroundings, base_of, is_array
from asphalt.ir.expr import Arg, Component, Expr, Keyword, Ref, Section, children, names_in


@dataclass(frozen=True, slots=True)
class LoopAround:
    """A loop around a statement: its variable ('' for none) and all names that change in it."""

    variable: str
    varying: frozenset[str]


def reference(
    expr: Expr, kind: str, level: int, loops: tuple[LoopAround, ...], around: Surroundings
) -> Counts:
    """A load or store by the distance between two turns of the loop that it changes in."""
    number = 2 if base_of(expr, around) == "complex" else 1
    args = expr.args if isinstance(expr, Ref | Component) else None
    if args is None:
        return Counts.from_mapping({kind: number})
    if level > len(loops):  # by elements
        near = isinstance(args[0], Section) and args[0].stride is None
        return Counts.from_mapping({kind if near else f"{kind}_far": number})
    if level == 0:
        return Counts.from_mapping({kind: number})
    loop = loops[level - 1]
    others = loop.varying - {loop.variable}
    if any(names_in(arg) & others or holds_element(arg, loops, around) for arg in args):
        return Counts.from_mapping({f"{kind}_indexed": number})
    variable = Ref(loop.variable, loop.variable)
    if any(loop.variable in names_in(arg) for arg in args[1:]):
        return Counts.from_mapping({f"{kind}_far": number})
    first = args[0]
    if isinstance(first, Section | Keyword):
        return Counts.from_mapping({kind: number})
    steps = poly(first).coefficients(variable)  # type: ignore[arg-type]
    coefficient = steps[1].value if set(steps) <= {0, 1} and 1 in steps else None
    near = coefficient in (1, -1) and not inner(expr)
    return Counts.from_mapping({kind if near else f"{kind}_far": number})


def holds_element(expr: Arg, loops: tuple[LoopAround, ...], around: Surroundings) -> bool:
    """Whether an element of an array that changes in a loop is a part of an expression."""
    if isinstance(expr, Ref | Component) and listed(expr):
        return is_array(expr, around) and level_of(names_in(expr), loops) > 0
    return any(holds_element(child, loops, around) for child in children(expr))


def level_of(names: Iterable[str], loops: tuple[LoopAround, ...]) -> int:
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
    """Whether an element stands before the last component."""
    return isinstance(expr, Component) and listed(expr.base)


def roots(expr: Arg) -> frozenset[str]:
    """The name of the variable that a designator is a part of."""
    while isinstance(expr, Component):
        expr = expr.base
    return frozenset({expr.name}) if isinstance(expr, Ref) else frozenset()
