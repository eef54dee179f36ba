"""Loops that compute rows of temporaries for the loop behind them::

    do j = 2, m - 1
      do i = 1, n                              ! a row loop
        row(i) = u(i,j-1) + u(i,j+1)
      end do
      do i = 2, n - 1                          ! the last loop
        after(i,j) = u(i,j) + row(i-1) + row(i+1)
      end do
    end do

For some iterations of the last loop only these, and those next to them, of a row loop are needed:
here one more on each side.  So the last loop can be divided as if it were perfectly nested in the
others, if what the row loops do may be done several times: they read nothing that the nest defines,
and define nothing but arrays of which each iteration around them defines all that it reads.

A product and a sum can become one operation, which rounds once (IEEE 754-2008, 5.4.1).  Where a
part has few iterations, compilers keep its row in registers, and a product of a row loop can become
one with a sum of the last loop; in the whole nest, it went through memory.  Of two products in one
sum, only one can be part of the operation.  Which one that is depends on what else uses them:
iterations that are written out one by one may share a product.
"""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.permutable_loops import is_private
from asphalt.analysis.memory.accesses import Access, Mode
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Arg, Expr, Lit, Op, Ref, Section, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, is_continue, leaves


@record
class RowLoop:
    """A row loop.  Iteration ``i`` of the last loop needs its iterations from ``i + least`` to
    ``i + greatest``."""

    loop: Do
    least: int
    greatest: int


@record
class Rows:
    """The row loops in the innermost of some perfectly nested loops, in their order, the last loop,
    and the arrays that they define for it."""

    loops: tuple[RowLoop, ...]
    last: Do
    arrays: frozenset[str]


def rows_of(chain: tuple[Do, ...], facts: UnitFacts) -> Rows | None:
    """The row loops in the innermost of perfectly nested loops; None: it has other statements, or
    what they do may not be done several times."""
    inner = [node for node in chain[-1].body if not is_continue(node)]
    loops = [node for node in inner if isinstance(node, Do) and _is_plain(node)]
    if len(inner) < 2 or len(loops) < len(inner):
        return None
    *before, last = loops
    around = {facts.names.storage(str(loop_variable(loop))) for loop in chain}
    counters = around | {facts.names.storage(str(loop_variable(loop))) for loop in loops}
    changed = [
        access
        for access in facts.footprint(chain[0]).accesses
        if access.writes and access.storage not in counters
    ]
    given: dict[str, tuple[int, int]] = {}
    for number, loop in enumerate(before):
        own = _defined_in(loop, counters, around, changed, facts)
        if not own or own.keys() & given.keys():
            return None
        given |= {storage: (number, offset) for storage, offset in own.items()}
    if not all(is_private(storage, chain, facts) for storage in given):
        return None
    needed = _needed_by(last, given, facts)
    if needed is None or any(not needed[number] for number in range(len(before))):
        return None
    rows = (
        RowLoop(loop, min(needed[number]), max(needed[number]))
        for number, loop in enumerate(before)
    )
    return Rows(tuple(rows), last, frozenset(given))


def product_for_sums(rows: Rows, scope: Scope) -> Leaf | None:
    """A statement of these loops with a product that may become one operation with a sum in some
    parts, and not in others: it adds two, or the value of a row may be one."""
    for loop in (*(row.loop for row in rows.loops), rows.last):
        for leaf in leaves(loop):
            what = leaf.what
            if isinstance(what, Assign) and (
                (loop is not rows.last and not _is_no_product(what.value, scope))
                or any(map(_adds_two_products, walk(what.value)))
            ):
                return leaf
    return None


def _adds_two_products(expr: Arg) -> bool:
    """Whether both operands of a sum are products: a compiler rounds one of them with the sum, and
    which one depends on what else uses them.  In ``v - a*u - b*w``, it may be each with its sum."""
    match expr:
        case Op(op="+" | "-", operands=(one, other)):
            return _is_product(one) and _is_product(other)
    return False


def _is_product(expr: Arg) -> bool:
    match expr:
        case Op(op="()" | "+" | "-", operands=(inner,)):
            return _is_product(inner)
        case Op(op="*" | "**"):
            return True
    return False


def _is_no_product(value: Expr, scope: Scope) -> bool:
    match value:
        case Op(op="+" | "-", operands=(_, _)) | Op(op="/") | Lit():
            return True
        case Op(op="()" | "+" | "-", operands=(inner,)):
            return _is_no_product(inner, scope)
        case Ref(name=name, args=tuple()):  # a scalar may be the product of a statement before
            symbol = scope.lookup(name)
            if symbol is not None and symbol.origin is Origin.INTRINSIC:
                return name == "sqrt"
            return symbol is not None and symbol.dims is not None
    return False


def _is_plain(loop: Do) -> bool:
    """Whether a counted loop has the step 1."""
    head = loop.head.what
    return loop_variable(loop) is not None and isinstance(head, DoHead) and head.step is None


def _defined_in(
    loop: Do, counters: set[str], around: set[str], changed: list[Access], facts: UnitFacts
) -> dict[str, int] | None:
    """The arrays that a loop defines, each with the ``c`` of the element ``i + c`` that iteration
    ``i`` gives a value; None: it does more, or reads what the nest defines.

    ``counters``: the variables of all loops; ``around``: of those around it.
    """
    own = facts.names.storage(str(loop_variable(loop)))
    for node in loop.body:
        match node:
            case Leaf(what=Assign(pointer=False)):
                continue
        if not is_continue(node):
            return None
    found: dict[str, int] = {}
    for access in facts.footprint(loop).accesses:
        if access.storage in counters:
            kept = access.storage == own and (access.leaf is loop.head or not access.writes)
            if not kept and (access.writes or access.storage not in around):
                return None  # what a loop before has left in its variable, perhaps
            continue
        if not access.writes:
            if any(one.meets(access) for one in changed):
                return None
            continue
        offset = _offset(access, loop)
        if access.mode is not Mode.WRITE or offset is None or access.storage in found:
            return None
        found[access.storage] = offset
    return found


def _needed_by(
    last: Do, given: dict[str, tuple[int, int]], facts: UnitFacts
) -> dict[int, list[int]] | None:
    """For each row loop, which of its iterations an iteration of the last loop needs, relative to
    its own; None: this is not known."""
    needed: dict[int, list[int]] = {number: [] for number, _ in given.values()}
    for access in facts.footprint(last).accesses:
        if access.storage not in given:
            continue
        number, defined = given[access.storage]
        offset = _offset(access, last)
        if access.writes or offset is None:
            return None
        needed[number].append(offset - defined)
    return needed


def _offset(access: Access, loop: Do) -> int | None:
    """The ``c`` of an access to the element ``i + c`` in iteration ``i`` of a loop."""
    if access.path or access.subscripts is None or len(access.subscripts) != 1:
        return None
    (subscript,) = access.subscripts
    name = str(loop_variable(loop))
    if isinstance(subscript, Section) or access.loops != (loop,):
        return None
    return (poly(subscript) - Poly.atom(Ref(name, name))).value
