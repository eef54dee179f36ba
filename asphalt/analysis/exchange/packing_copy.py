"""Packing copies: nests that only copy the elements of another array into the send buffer.

``do p; do k; do j; do i; s(i,j,k,p) = w(...)`` with subscripts of ``w`` that are affine in those of
``s``: the send buffer is a regular section of ``w``, whatever the order of the loops.  A derived
datatype describes the section, so that the emitted code sends ``w`` and omits the copy.
"""

from __future__ import annotations

from asphalt.analysis.exchange.buffers import Buffer, View
from asphalt.analysis.exchange.privatisation import covers_whole, may_be_read_after
from asphalt.analysis.exchange.producer import footprint_between
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import Mode, NameKind
from asphalt.analysis.memory.regions import Region, loop_bounds, loop_variable
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.names.scopes import element_bytes
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign
from asphalt.ir.tree import Do, Leaf, Node, is_continue, leaves


@record
class SubscriptRange:
    """The values of a subscript of the send buffer, each taken once."""

    first: Poly
    last: Poly


@record
class PackingCopy:
    """A copy of every element of the send buffer from another array.

    ``position``: among the siblings of the call.  ``ranges``: of the subscripts of ``buffer``.
    Subscript d of ``source`` is ``constant[d]`` plus the sum over q of ``factor[d][q]`` times
    subscript q of ``buffer``.
    """

    position: int
    nest: Do
    buffer: str
    source: str
    shape: Shape
    source_shape: Shape
    ranges: tuple[SubscriptRange, ...]
    constant: tuple[Poly, ...]
    factor: tuple[tuple[Poly, ...], ...]

    @property
    def view(self) -> View:
        """The view of the source with its declared shape."""
        return View(Buffer(self.source, Ref(self.source, self.source)), self.source_shape)

    def apart(self, dimension: int) -> Poly:
        """The stride in ``source``, in elements, of a dimension of ``buffer``."""
        total = Poly()
        for number, factors in enumerate(self.factor):
            total += factors[dimension] * self.source_shape.stride(number)
        return total


def packing_copy(exchange: Exchange, position: int) -> PackingCopy | None:
    """The copy at a position among the siblings of the call, if it can be removed.

    Nothing else may use the send buffer, from the definition of the source on; the conditions prove
    that the source does not change in between.
    """
    nest = exchange.place.siblings[position]
    found = _single_assignment(nest) if isinstance(nest, Do) else None
    if found is None:
        return None
    assert isinstance(nest, Do)
    loops, leaf, target, value = found
    names = exchange.names
    if names.kind(value.name, True) is not NameKind.VARIABLE or not _same_type(
        exchange, target.name, value.name
    ):
        return None
    if names.storage(target.name) == names.storage(value.name):
        return None
    changing = footprint_between(exchange, position, names).written()
    region = Region(exchange.values, nest.head, changing)
    shape = shape_of(target.name, exchange.scope, exchange.values, nest.head)
    source_shape = shape_of(value.name, exchange.scope, exchange.values, nest.head)
    if shape is None or source_shape is None:
        return None
    subscripts, sources = _plain(target), _plain(value)
    if subscripts is None or sources is None:
        return None
    if not len(loops) == len(subscripts) == shape.rank or len(sources) != source_shape.rank:
        return None
    by_variable = {loop_variable(loop): loop for loop in loops}
    ranges: list[SubscriptRange] = []
    index: list[tuple[Ref, Poly]] = []  # the loop variable of each dimension, and what is added
    for subscript in subscripts:
        poly = region.value(subscript, loops)
        variables = [] if poly is None else _variables(poly, by_variable)
        if poly is None or len(variables) != 1 or variables[0] in [v for v, _ in index]:
            return None
        (variable,) = variables
        added = poly - Poly.atom(variable)
        bounds = loop_bounds(by_variable[variable.name], region)
        if bounds is None or _variables(added, by_variable):
            return None
        ends = (bounds.first, bounds.last)[:: bounds.direction]
        ranges.append(SubscriptRange(ends[0] + added, ends[1] + added))
        index.append((variable, added))
    constants: list[Poly] = []
    factors: list[tuple[Poly, ...]] = []
    for source in sources:
        rest = region.value(source, loops)
        if rest is None:
            return None
        row: list[Poly] = []
        for variable, added in index:
            powers = rest.coefficients(variable)
            factor = powers.get(1, Poly())
            if powers.keys() - {0, 1} or _variables(factor, by_variable):
                return None
            rest = powers.get(0, Poly()) - factor * added
            row.append(factor)
        constants.append(rest)
        factors.append(tuple(row))
    copy = PackingCopy(
        position,
        nest,
        target.name,
        value.name,
        shape,
        source_shape,
        tuple(ranges),
        tuple(constants),
        tuple(factors),
    )
    return copy if _leaves_nothing(exchange, copy, leaf) else None


def _single_assignment(nest: Do) -> tuple[tuple[Do, ...], Leaf, Ref, Ref] | None:
    """The perfectly nested counted loops around one assignment of an element to an element."""
    loops: list[Do] = []
    node: Do | Leaf = nest
    while isinstance(node, Do):
        if loop_variable(node) is None:
            return None
        loops.append(node)
        inside = [inner for inner in node.body if not is_continue(inner)]
        if len(inside) != 1 or not isinstance(inside[0], Do | Leaf):
            return None
        node = inside[0]
    what = node.what
    if not isinstance(what, Assign) or what.pointer:
        return None
    target, value = what.target, what.value
    if not isinstance(target, Ref) or not isinstance(value, Ref):
        return None
    return tuple(loops), node, target, value


def _plain(ref: Ref) -> tuple[Expr, ...] | None:
    """The subscripts of an element; None: a section, or no subscripts."""
    if ref.args is None:
        return None
    found = tuple(arg for arg in ref.args if isinstance(arg, Expr))
    return found if len(found) == len(ref.args) else None


def _variables(poly: Poly, by_variable: dict[str | None, Do]) -> list[Ref]:
    found = [a for a in poly.atoms if isinstance(a, Ref) and a.name in by_variable]
    return sorted(found, key=lambda atom: atom.name)


_ONE_NAME = {"double_precision": "real", "double_complex": "complex"}


def _same_type(exchange: Exchange, first: str, second: str) -> bool:
    """Whether two arrays without pointers to them have the same intrinsic type and kind, so that
    the copy converts nothing."""
    kinds = []
    for name in (first, second):
        symbol = exchange.scope.lookup(name)
        size = None if symbol is None else element_bytes(symbol, exchange.scope)
        if symbol is None or symbol.type is None or size is None or symbol.type.base == "character":
            return False
        if symbol.attrs & {"pointer", "target", "volatile", "asynchronous"}:
            return False
        kinds.append((_ONE_NAME.get(symbol.type.base, symbol.type.base), size))
    return kinds[0] == kinds[1]


def _leaves_nothing(exchange: Exchange, copy: PackingCopy, leaf: Leaf) -> bool:
    """Whether nothing but the call uses what the copy defines: the send buffer and its loops'
    variables."""
    storage = exchange.names.storage(copy.buffer)
    own = {id(inside) for inside in leaves(copy.nest)}
    siblings = exchange.place.siblings
    for node in siblings[copy.position : exchange.place.position]:
        for access in examine((node,), exchange.names).of(storage):
            ignored = access.mode is Mode.INQUIRE and not access.asks_for_a_size
            if id(access.leaf) not in own and not ignored:
                return False
    covers = covers_whole(exchange)
    complete = _defines_all(copy)

    def covers_too(node: Node, name: str) -> bool:
        return (node is copy.nest and name == storage and complete) or covers(node, name)

    if may_be_read_after(exchange, storage, exchange.place.position, covers_too):
        return False
    variables = [loop_variable(loop) for loop in _loops_of(copy.nest)]
    return not any(
        name is None or may_be_read_after(exchange, exchange.names.storage(name), copy.position)
        for name in variables
    )


def _defines_all(copy: PackingCopy) -> bool:
    """Whether every element of the send buffer is defined, whatever the sizes are."""
    for number, found in enumerate(copy.ranges):
        lower, extent = copy.shape.lower[number], copy.shape.extent[number]
        if extent is None or found != SubscriptRange(lower, lower + extent - Poly.constant(1)):
            return False
    return True


def _loops_of(nest: Do) -> tuple[Do, ...]:
    """The loops of a perfect nest."""
    found: list[Do] = []
    node: object = nest
    while isinstance(node, Do):
        found.append(node)
        node = next((inside for inside in node.body if isinstance(inside, Do)), None)
    return tuple(found)
