"""Packing nests that address the send buffer with a counter.

    at = 0
    do p = 0, ranks - 1                            ! one block a rank
      do k = 1, planes                             ! the loop that is tiled
        do j = 1, rows(p)
          do i = 1, n
            at = at + 1
            s(at) = w(i, first(p) + j, k)

Each iteration k adds the same number of elements to block p: ``n*rows(p)``.  So block p begins
behind the contents of all blocks before it, and iteration k fills its k-th run of that many
elements.  If the counter is set to the begin of a tile in each block, the nest may be executed tile
by tile: its iterations write different elements, and share nothing else.

Or the loop over the ranks sets the counter to the displacement of the block,

    do p = 0, ranks - 1
      at = first(p)                                ! of MPI_ALLTOALLV
      do k = 1, planes

and the run checks that the block before it is full there (``packed_fit`` in the run-time library).
Where blocks are equally long (MPI_ALLTOALL), it may be set to anything: the subscripts that count
are flat ones (``flat_views``).
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.per_rank import PEER, Uneven, uneven_blocks
from asphalt.analysis.exchange.privatisation import may_be_read_after
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.messages.loops import substituted
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr, poly
from asphalt.ir.expr import Expr, Lit, Op, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, Node, is_continue

_ONE = Poly.constant(1)


@record
class PackingCounter:
    """A counter that addresses the send buffer.

    ``variable``: the counter; None: what would be its value is computed from the loop variables
    (``packed_subscripts``).  ``blocks``: the loop over the ranks; ``first`` and ``last`` are its
    bounds, where the rank ``asphalt_peer`` is its variable minus ``first``.  ``unit``: elements
    that one iteration of the tiled loop adds to the block of ``asphalt_peer``.  ``begins``: its
    value at the begin of a block minus the displacement of it.  ``copies``: the nest only copies
    elements of other arrays.  ``set_inside``: the loop over the ranks sets it, to what it is at the
    begin of a block; else ``begins`` is its value in front of the nest, where there are no
    displacements.  ``bytes``: of an element, where counts and displacements are numbers of bytes
    (MPI_BYTE); else 1.
    """

    variable: Ref | None
    blocks: Do
    first: Expr
    last: Expr
    unit: Expr
    begins: Poly
    copies: bool
    set_inside: bool = False
    bytes: int = 1


@record
class _Steps:
    """What a statement list adds to the counter.

    ``after``: 1 if every element is written behind its own addition, 0 if before; None: no element
    is written.
    """

    count: Expr
    after: int | None


class _NoCounterError(Exception):
    """The nest is not of this kind."""


def counter_of(exchange: Exchange, loops: tuple[Do, ...], position: int) -> PackingCounter | None:
    """The counter of a packing nest whose last loop of ``loops`` is to be tiled; None: it has none.

    ``position``: of the nest among the siblings of the call.
    """
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    send = buffer_of(exchange, arguments.send)
    if send is None or len(loops) != 2 or send.origin is not None or "%" in send.name:
        return None
    blocks, tiled = loops
    if any(bounds_of(loop) is None for loop in loops):
        return None
    shape = shape_of(send.name, exchange.scope, exchange.values, blocks.head)
    if shape is None or shape.rank != 1:
        return None
    try:
        found = _Nest(exchange, send.name, blocks, tiled)
    except _NoCounterError:
        return None
    setting = _setting(blocks)
    name = found.variable.name
    equal = exchange.open_coded is None and arguments.send_displacements is None
    width = 1 if equal else _bytes(exchange, send.name)
    begin: Poly | None
    if setting is None:
        begin = _value_before(exchange, position, name)
    elif equal:
        begin = Poly() if _sets(setting, name) else None
    else:
        begin = _from_displacement(exchange, setting, name, blocks, width)
    if begin is None or may_be_read_after(exchange, name, position):
        return None
    if width > 1 and setting is None:
        return None
    first, last = bounds_of(blocks) or (Lit("integer", "0"), Lit("integer", "0"))
    unit = for_peer(found.steps.count, blocks, first)
    wanted = shape.lower[0] - Poly.constant(found.steps.after or 0)
    if PEER.name in names_in(unit) if equal else begin != wanted:
        return None
    inside = equal and setting is not None
    return PackingCounter(
        found.variable, blocks, first, last, unit, begin, found.copies, inside, width
    )


def _bytes(exchange: Exchange, buffer: str) -> int:
    """The bytes of an element of the send buffer, if counts and displacements are numbers of bytes;
    else 1."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    if exchange.open_coded is not None:
        return 1
    for argument in (arguments.send_type, arguments.receive_type):
        actual = exchange.call.args.get(argument or "")
        kind = None if actual is None else datatype_of(actual, exchange.scope)
        if kind is None or kind.name != "mpi_byte":
            return 1
    symbol, tests_all = exchange.scope.lookup(buffer), exchange.scope.lookup("all")
    if tests_all is not None and tests_all.origin is not Origin.INTRINSIC:
        return 1
    return (None if symbol is None else element_bytes(symbol, exchange.scope)) or 1


def _sets(setting: Assign, name: str) -> bool:
    return isinstance(setting.target, Ref) and setting.target.name == name


def _setting(blocks: Do) -> Assign | None:
    """The assignment in front of the tiled loop, in the loop over the ranks."""
    found = [node.what for node in blocks.body if isinstance(node, Leaf)]
    return next((what for what in found if isinstance(what, Assign)), None)


def _from_displacement(
    exchange: Exchange, setting: Assign, name: str, blocks: Do, width: int
) -> Poly | None:
    """What a statement adds to the displacement of the block of an iteration to set the counter;
    ``width``: of an element, where that is a number of bytes, of which the run checks that they are
    whole elements."""
    uneven = uneven_blocks(exchange)
    if not isinstance(uneven, Uneven) or not _sets(setting, name):
        return None
    begin = displacement(exchange, uneven, blocks)
    if begin is None:
        return None
    if width > 1:
        begin = Op("/", (begin, Lit("integer", str(width))))
    constants = exchange.values.constants
    more = constants(setting.value) - constants(begin)
    return more if more.value is not None else None


def displacement(exchange: Exchange, uneven: Uneven, blocks: Do) -> Expr | None:
    """The displacement of the block of an iteration of the loop over the ranks."""
    block, bounds = loop_variable(blocks), bounds_of(blocks)
    if block is None or bounds is None:
        return None
    begins = uneven.send_displacements
    rank = begins.lower + Poly.atom(Ref(block, block)) - exchange.values.constants(bounds[0])
    return replace(begins.actual, args=(rank.expression(), *begins.rest))


def for_peer(expr: Expr, blocks: Do, first: Expr) -> Expr:
    """An expression in the variable of the loop over the ranks as one for ``asphalt_peer``."""
    block = loop_variable(blocks)
    assert block is not None
    found = substituted(expr, {block: (Poly.atom(PEER) + poly(first)).expression()})
    assert isinstance(found, Lit | Ref | Op)
    return found


class _Nest:
    """The analysis of one nest."""

    def __init__(self, exchange: Exchange, buffer: str, blocks: Do, tiled: Do) -> None:
        self.exchange = exchange
        self.buffer = buffer
        self.variables = {loop_variable(blocks), loop_variable(tiled)}
        self.target: Ref | None = None
        self.copies = True
        self.fixed = {loop_variable(blocks)}
        self.steps = self._list(tiled.body)
        if self.target is None or self.steps.after is None:
            raise _NoCounterError
        self._shares_nothing(blocks)

    @property
    def variable(self) -> Ref:
        """The counter."""
        assert self.target is not None
        return self.target

    def _list(self, nodes: tuple[Node, ...]) -> _Steps:
        """What a statement list adds to the counter."""
        parts = [node for node in nodes if not is_continue(node)]
        if parts and all(isinstance(node, Leaf) for node in parts):
            return self._statements(parts)
        found = [self._loop(node) for node in parts]
        kinds = {steps.after for steps in found}
        if len(kinds) != 1:
            raise _NoCounterError
        total = found[0].count
        for steps in found[1:]:
            total = Op("+", (total, steps.count))
        return _Steps(total, found[0].after)

    def _loop(self, node: Node) -> _Steps:
        bounds = bounds_of(node) if isinstance(node, Do) else None
        if bounds is None:
            raise _NoCounterError
        assert isinstance(node, Do)
        low, high = bounds
        if (names_in(low) | names_in(high)) & (self.variables - self.fixed):
            raise _NoCounterError  # another number in every iteration
        self.variables.add(loop_variable(node))
        inner = self._list(node.body)
        trips = (poly(high) - poly(low) + _ONE).expression()
        if not _is_positive_constant(trips):
            trips = Ref("max", "max", (Lit("integer", "0"), trips))
        return _Steps(_product(trips, inner.count), inner.after)

    def _statements(self, nodes: list[Node]) -> _Steps:
        """What a sequence of assignments to the counter and the buffer adds to the counter."""
        added = 0
        places: list[int] = []
        for node in nodes:
            what = node.what if isinstance(node, Leaf) else None
            if not isinstance(what, Assign) or what.pointer or not isinstance(what.target, Ref):
                raise _NoCounterError
            if what.target.args is None:
                step = (poly(what.value) - Poly.atom(folded_expr(what.target))).value
                if step is None or step < 1 or self.target not in (None, folded_expr(what.target)):
                    raise _NoCounterError
                self.target = Ref(what.target.name, what.target.name)
                added += step
                continue
            if what.target.name != self.buffer or len(what.target.args) != 1:
                raise _NoCounterError
            self.copies = self.copies and self._is_element(what.value)
            (subscript,) = what.target.args
            if not isinstance(subscript, Lit | Ref | Op):
                raise _NoCounterError
            value = poly(subscript)
            atoms = [a for a in value.atoms if isinstance(a, Ref)]
            if len(atoms) != 1 or self.target not in (None, atoms[0]):
                raise _NoCounterError
            self.target = self.target or Ref(atoms[0].name, atoms[0].name)
            ahead = (value - Poly.atom(atoms[0])).value
            if ahead is None:
                raise _NoCounterError
            places.append(added + ahead)
        after = _after(places, added)
        if after is None:
            raise _NoCounterError
        return _Steps(Lit("integer", str(added)), after)

    def _is_element(self, value: Expr) -> bool:
        """Whether a value is that of a variable or an element, not of a function."""
        if not isinstance(value, Ref):
            return False
        kind = self.exchange.names.kind(value.name, value.args is not None)
        return kind is NameKind.VARIABLE

    def _shares_nothing(self, blocks: Do) -> None:
        """Raise unless the iterations share nothing but the counter and their loops' variables."""
        names = self.exchange.names
        footprint = examine((blocks,), names)
        own = {names.storage(name) for name in self.variables if name is not None}
        counter, buffer = names.storage(self.variable.name), names.storage(self.buffer)
        read = {a.storage for a in footprint.accesses if not a.writes}
        symbol = self.exchange.scope.lookup(self.variable.name)
        integer = symbol is not None and symbol.type is not None and symbol.type.base == "integer"
        if (
            not integer
            or symbol is None
            or symbol.dims is not None
            or element_bytes(symbol, self.exchange.scope) != 4
            or footprint.effects
            or buffer in read
            or not footprint.written() <= own | {counter, buffer}
            or counter in own
            or len({counter, buffer, *own}) != len(own) + 2
        ):
            raise _NoCounterError


def _after(places: list[int], added: int) -> int | None:
    """Whether elements are written behind the additions of their own (1) or before (0)."""
    if places and all(1 <= place <= added for place in places):
        return 1
    return 0 if places and all(0 <= place < added for place in places) else None


def bounds_of(loop: Do) -> tuple[Expr, Expr] | None:
    """The bounds of a loop that counts up by one."""
    head = loop.head.what
    if loop_variable(loop) is None or not isinstance(head, DoHead) or head.step is not None:
        return None
    return None if head.first is None or head.last is None else (head.first, head.last)


def _is_positive_constant(expr: Expr) -> bool:
    return isinstance(expr, Lit) and (expr.integer or 0) > 0


def _product(a: Expr, b: Expr) -> Expr:
    one = Lit("integer", "1")
    return b if a == one else a if b == one else Op("*", (a, b))


def _value_before(exchange: Exchange, position: int, name: str) -> Poly | None:
    """The value of a variable that the siblings in front of a nest assign."""
    storage = exchange.names.storage(name)
    for node in reversed(exchange.place.siblings[:position]):
        what = node.what if isinstance(node, Leaf) else None
        if isinstance(what, Assign):
            target = what.target
            if isinstance(target, Ref) and target.name == name and target.args is None:
                value = exchange.values.constants(what.value)
                return value if value.value is not None else None
        if examine((node,), exchange.names).may_write(storage):
            return None
    return None
