"""Scalars that an iteration of a loop sets before it uses them.

    do r = 0, ranks - 1
      first = n*r + 1
      do j = first, n*(r + 1)
        b(j) = ...

In the nest, ``first`` is another name for ``n*r + 1``.  The same goes for what counts from there:

    do r = 0, ranks - 1
      at = n*m*r
      do k = 1, m
        do j = 1, n
          at = at + 1
          b(at) = ...

where ``at`` is ``n*m*r + n*(k - 1) + j`` (a basic induction variable in its closed form).
"""

from __future__ import annotations

from asphalt.analysis.memory.forward_substitution import Values, is_integer, is_plain_integer
from asphalt.analysis.memory.invariant_frame import loop_variable
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Op, Ref, names_in
from asphalt.ir.mapped import NotMappedError, mapped_expr
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf

_DEPTH = 4


def written_out(expr: Expr, at: Leaf, values: Values, depth: int = _DEPTH) -> Expr:
    """An expression at a statement, with the values of such scalars in their place."""
    try:
        return mapped_expr(expr, lambda ref: _value(ref, at, values, depth))
    except NotMappedError:
        return expr


def _value(ref: Ref, at: Leaf, values: Values, depth: int) -> Expr | None:
    symbol = values.scope.lookup(ref.name)
    if ref.args is not None or symbol is None or not is_plain_integer(symbol) or not depth:
        return None
    leaf = values.set_in_iteration(ref.name, at)
    added: Expr | None = None
    if leaf is None:
        counted = _counted(ref.name, at, values)
        if counted is None:
            return None
        leaf, added = counted
    what = leaf.what
    if not isinstance(what, Assign) or what.pointer:
        return None
    if not isinstance(what.target, Ref) or what.target.args is not None:
        return None
    around = [loop_variable(loop) for loop in values.loops_around(leaf)]
    if not is_integer(what.value, values.scope):
        return None
    given = written_out(what.value, leaf, values, depth - 1)
    if ref.name in names_in(given):
        return None
    for name in names_in(given):
        if name not in around and not values.keeps_between(name, leaf, at):
            return None
    return Op("()", (given if added is None else Op("+", (Op("()", (given,)), added)),))


def _counted(name: str, at: Leaf, values: Values) -> tuple[Leaf, Expr] | None:
    """The statement that sets a scalar in front of loops which add a constant to it in each of
    their iterations, and what they have added when they come to ``at``; None: there is none."""
    writes = values.all_writes(name)
    here = values.path(at)
    loops = [one for one in values.loops_around(at) if len(values.path(one.head)) < len(here)]
    if writes is None or not loops:
        return None
    inner = values.path(loops[-1].head)
    step = _step(name, [w for w in writes if _is_inside(values.path(w), inner)], inner, values)
    if step is None:
        return None
    (added_by,) = (w for w in writes if _is_inside(values.path(w), inner))
    total = step if values.position(added_by) < values.position(at) else Poly()
    runs = step  # what all iterations of the loops so far add
    for depth in range(len(loops) - 1, -1, -1):
        loop = loops[depth]
        ends = _ends(loop, values)
        if ends is None or values.may_jump(loop) or ends[0] in _atoms(runs):
            return None
        variable, first, last = ends
        total += runs * (Poly.atom(variable) - first)
        runs *= last - first + Poly.constant(1)
        path = values.path(loop.head)
        around = values.path(loops[depth - 1].head) if depth else path[:-1]
        setting = _setting(writes, around, path, values)
        if setting is not None:
            return setting, total.expression()
        others = [w for w in writes if _is_inside(values.path(w), around)]
        if others != [added_by] or len(path) != len(around) + 1:
            return None  # it is changed elsewhere, or the loop is under a condition
    return None


def _is_inside(path: tuple[int, ...], around: tuple[int, ...]) -> bool:
    return len(path) > len(around) and path[: len(around)] == around


def _step(name: str, inside: list[Leaf], loop: tuple[int, ...], values: Values) -> Poly | None:
    """The constant that every iteration of a loop adds to a scalar; None: there is none."""
    match inside:
        case [
            Leaf(what=Assign(target=Ref(args=None) as target, value=value, pointer=False)) as leaf
        ]:
            if target.name != name:
                return None
            constant = values.constants(value) - Poly.atom(Ref(name, name))
            single = len(values.path(leaf)) == len(loop) + 1
            return constant if single and constant.value else None
    return None


def _setting(
    writes: list[Leaf], around: tuple[int, ...], loop: tuple[int, ...], values: Values
) -> Leaf | None:
    """The last statement that changes a scalar in front of a loop, in the same list of statements
    as the construct that holds the loop."""
    level = len(around)
    before = [w for w in writes if _is_inside(values.path(w), around)]
    before = [w for w in before if values.path(w)[level] <= loop[level]]
    before = [w for w in before if not _is_inside(values.path(w), loop)]
    if not before:
        return None
    last = max(before, key=values.position)
    return last if len(values.path(last)) == level + 1 else None


def _ends(loop: Do, values: Values) -> tuple[Expr, Poly, Poly] | None:
    """The variable and the bounds of a loop that counts up by one."""
    head, name = loop.head.what, loop_variable(loop)
    if name is None or not isinstance(head, DoHead) or head.step is not None:
        return None
    if head.first is None or head.last is None:
        return None
    return Ref(name, name), values.constants(head.first), values.constants(head.last)


def _atoms(poly: Poly) -> frozenset[Expr]:
    return frozenset(Ref(name, name) for name in names_in(poly.expression()))
