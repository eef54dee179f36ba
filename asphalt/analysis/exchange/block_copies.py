"""Copies of a contiguous block from one array to another, element by element or as sections."""

from __future__ import annotations

from collections.abc import Callable

from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.names.designators import designator_name
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly, product
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, Node

_ONE = Poly.constant(1)


@record
class BlockCopy:
    """``count`` elements of ``source`` are copied to ``target``, in their order.

    ``source_at``, ``target_at``: elements before them in the arrays.
    """

    source: str
    source_at: Poly
    target: str
    target_at: Poly
    count: Poly


@record
class _Axis:
    """An index with ``trips`` values, and its stride in elements in both arrays."""

    trips: Poly
    steps: tuple[Poly, Poly]


def block_copy(node: Node, scope: Scope, values: Values) -> BlockCopy | None:
    """The copy that a statement, or a nest around one assignment, makes; None: it makes none."""
    loops: list[Do] = []
    while isinstance(node, Do) and len(node.body) == 1:
        loops.append(node)
        node = node.body[0]
    if not isinstance(node, Leaf) or not isinstance(node.what, Assign) or node.what.pointer:
        return None
    sides = (node.what.value, node.what.target)
    names = [designator_name(side) for side in sides]
    shapes = [None if n is None else shape_of(n, scope, values, node) for n in names]
    source, target = names
    if source is None or target is None or shapes[0] is None or shapes[1] is None:
        return None
    value = values.constants
    places = [_place(s, shape, value) for s, shape in zip(sides, shapes, strict=True) if shape]
    if places[0] is None or places[1] is None:
        return None
    (first, own), (second, other) = places[0], places[1]
    if len(own) != len(other) or any(a[0] != b[0] for a, b in zip(own, other, strict=True)):
        return None
    axes = [_Axis(a[0], (a[1], b[1])) for a, b in zip(own, other, strict=True)]
    for loop in loops:
        head, name = loop.head.what, loop_variable(loop)
        if not isinstance(head, DoHead) or name is None or head.step is not None:
            return None
        assert head.first is not None
        assert head.last is not None
        low, high = value(head.first), value(head.last)
        atom = Ref(name, name)
        steps: list[Poly] = []
        moved: list[Poly] = []
        for place in (first, second):
            powers = place.coefficients(atom)
            if powers.keys() - {0, 1}:
                return None
            steps.append(powers.get(1, Poly()))
            moved.append(powers.get(0, Poly()) + powers.get(1, Poly()) * low)
        first, second = moved
        axes.append(_Axis(high - low + _ONE, (steps[0], steps[1])))
    count = _together(axes)
    return None if count is None else BlockCopy(source, first, target, second, count)


def _place(
    side: Expr, shape: Shape, value: Callable[[Expr], Poly]
) -> tuple[Poly, list[tuple[Poly, Poly]]] | None:
    """Elements before the first one that is accessed; trips and step of each section."""
    if not isinstance(side, Ref | Component) or side.args is None or len(side.args) != shape.rank:
        return None
    place, sections = Poly(), []
    for number, (arg, lower) in enumerate(zip(side.args, shape.lower, strict=True)):
        stride = shape.stride(number)
        match arg:
            case Section(lower=start, upper=end, stride=None):
                extent = shape.extent[number]
                low = lower if start is None else value(start)
                if end is None and extent is None:
                    return None
                high = lower + extent - _ONE if end is None and extent is not None else None
                high = value(end) if end is not None else high
                assert high is not None
                place += (low - lower) * stride
                sections.append((high - low + _ONE, stride))
            case Lit() | Ref() | Component() | Op():
                place += (value(arg) - lower) * stride
            case _:
                return None
    return place, sections


def _together(axes: list[_Axis]) -> Poly | None:
    """The number of elements if all indices together cover one contiguous block; else None."""
    left, done = list(axes), _ONE
    while left:
        following = next((axis for axis in left if axis.steps == (done, done)), None)
        if following is None:
            return None
        left.remove(following)
        done = product((done, following.trips))
    return done
