"""Buffers of collective operations as blocks, one for each rank, and loops over these blocks.

The blocks of a buffer are runs of its last dimension: equally many planes for each rank, one behind
the other, or those of arrays of counts and displacements (MPI-4.0 sections 6.5 to 6.8).  If every
iteration of a loop accesses one block only, which depends on the loop variable, the blocks can be
sent or received one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import ALIASED, Access
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.designators import symbol_named
from asphalt.analysis.symbolic.polynomials import Poly, folded
from asphalt.ir.expr import AltReturn, Expr, Keyword, Ref, Section, names_in, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf, leaves

_ONE = Poly.constant(1)


@record
class Listed:
    """An array with one element for each rank, and its first index."""

    name: str
    lower: Poly

    def of(self, rank: Poly) -> Poly:
        """The element for a rank."""
        index = folded((rank + self.lower).expression())
        return Poly.atom(Ref(self.name, self.name, (index,)))


@record
class RankBlocks:
    """The blocks of an array with ``dimensions`` dimensions, from ``lower`` of the last one on:
    ``planes`` of it for each rank, or ``counts`` from ``displs`` on.

    ``names``: the variables that this depends on (folded).
    """

    storage: str
    dimensions: int
    lower: Poly
    planes: Poly = _ONE
    counts: Listed | None = None
    displs: Listed | None = None
    names: frozenset[str] = frozenset()

    def of(self, rank: Poly) -> tuple[Poly, Poly]:
        """The first and the last index of the last dimension in the block of a rank."""
        if self.counts is not None and self.displs is not None:
            first = self.lower + self.displs.of(rank)
            return first, first + self.counts.of(rank) - _ONE
        first = self.lower + self.planes * rank
        return first, first + self.planes - _ONE


def rank_blocks(
    buffer: Expr, count: Expr, datatype: Expr, displs: Expr | None, leaf: Leaf, facts: UnitFacts
) -> RankBlocks | str:
    """The blocks of a buffer of the call ``leaf``, or why they are not known.

    ``displs``: an array, as ``count`` is one then; None: one count for all ranks.
    """
    found = _begin(buffer, datatype, leaf, facts)
    if isinstance(found, str):
        return found
    begin, shape = found
    assert isinstance(buffer, Ref)
    if displs is not None:
        counts, places = _listed(count, leaf, facts), _listed(displs, leaf, facts)
        if shape.rank > 1 or counts is None or places is None:
            return f"{buffer.spelled} is not cut by arrays with an element for each rank"
        names = begin.names | {counts.name, places.name}
        return replace(begin, counts=counts, displs=places, names=names)
    number = facts.values.polynomial(count, leaf)
    planes = number.divided_by(shape.stride(shape.rank - 1))
    if planes is None:
        return f"a block is not made of planes of {buffer.spelled}"
    return replace(begin, planes=planes, names=begin.names | _names(number))


def planes_of(
    buffer: Expr, datatype: Expr | None, leaf: Leaf, facts: UnitFacts
) -> tuple[RankBlocks, tuple[Poly, ...]] | str:
    """The planes of a buffer of the call ``leaf`` as its blocks, and the sizes of the dimensions of
    one; or why they are not known.  ``datatype``: that of its elements; None: the call may have
    any."""
    found = _begin(buffer, datatype, leaf, facts)
    if isinstance(found, str):
        return found
    begin, shape = found
    if shape.rank == 1:
        return "its buffer has one dimension, and no planes"
    return begin, tuple(size for size in shape.extent[:-1] if size is not None)


def _begin(
    buffer: Expr, datatype: Expr | None, leaf: Leaf, facts: UnitFacts
) -> tuple[RankBlocks, Shape] | str:
    """The planes of a buffer from its first passed element, and its shape; or why not known."""
    scope, values = facts.scope, facts.values
    symbol = symbol_named(buffer.name, scope) if isinstance(buffer, Ref) else None
    if not isinstance(buffer, Ref) or symbol is None:
        return "a buffer is not a variable"
    storage = storage_of(buffer.name, scope)
    if storage == ALIASED:
        return f"{buffer.spelled} may have other names"
    if datatype is not None:
        known = datatype_of(datatype, scope)
        if known is None or known.bytes is None or known.bytes != element_bytes(symbol, scope):
            return f"the datatype is not known to be that of an element of {buffer.spelled}"
    shape = shape_of(buffer.name, scope, values, leaf)
    first = None if shape is None else _first_plane(buffer, shape, leaf, facts)
    if shape is None or first is None:
        return f"the blocks are not known to begin where {buffer.spelled} does"
    names = {n for part in (*shape.lower, *shape.extent[:-1], first) for n in _names(part)}
    return RankBlocks(storage, shape.rank, first, names=frozenset(names)), shape


def iteration_rank(
    loop: Do, blocks: RankBlocks, accesses: Iterable[Access], facts: UnitFacts
) -> int | None:
    """The number to be added to the variable of a loop to get the rank whose block is the only one
    that an iteration accesses; None: there is no such number.

    ``accesses``: those of the loop to the buffer.
    """
    head, variable = loop.head.what, loop_variable(loop)
    if not isinstance(head, DoHead) or variable is None or head.first is None:
        return None
    here = facts.names.storage(variable)
    writes = tuple(a for a in facts.footprint(loop).accesses if a.writes)
    changing = {a.storage for a in writes}
    fixed = {storage_of(name, facts.scope) for name in blocks.names}
    if ALIASED in (here, *changing) or fixed & changing:
        return None
    # one iteration: its variable has one value
    start = next(leaves(loop.body[0]))
    region = Region(facts.values, start, frozenset(changing - {here}), writes)
    inside = [region.refined(replace(a, loops=_without(a, loop))) for a in accesses]
    if any(not _is_bounded(a, blocks) for a in inside):
        return None
    first = facts.values.constants(head.first).value
    offsets = (-1, 0) if first is None else (-first, -1, 0)
    for offset in dict.fromkeys(offsets):
        own = blocks.of(Poly.atom(Ref(variable, variable)) + Poly.constant(offset))
        last = blocks.dimensions - 1
        if all(region.out_of_bounds(a, last, *own) is None for a in inside):
            return offset
    return None


def _without(access: Access, loop: Do) -> tuple[Do, ...]:
    return tuple(other for other in access.loops if other is not loop)


def _is_bounded(access: Access, blocks: RankBlocks) -> bool:
    """Whether the indices of an access in the last dimension are known."""
    if access.path or access.subscripts is None or len(access.subscripts) != blocks.dimensions:
        return False
    last = access.subscripts[-1]
    return not isinstance(last, Section) or None not in (last.lower, last.upper)


def _first_plane(buffer: Ref, shape: Shape, leaf: Leaf, facts: UnitFacts) -> Poly | None:
    """The index of the last dimension from which on a buffer is passed: that of a whole array, or
    of the first element of one of its planes; None: not known, or within a plane."""
    if buffer.args is None:
        return shape.lower[-1]
    first: list[Poly] = []
    for index in buffer.args:
        if isinstance(index, Section | Keyword | AltReturn):
            return None
        first.append(facts.values.polynomial(index, leaf))
    if len(first) != shape.rank or tuple(first[:-1]) != shape.lower[:-1]:
        return None
    return first[-1]


def _listed(array: Expr, leaf: Leaf, facts: UnitFacts) -> Listed | None:
    """A whole array with one dimension."""
    if not isinstance(array, Ref) or array.args is not None:
        return None
    shape = shape_of(array.name, facts.scope, facts.values, leaf)
    return Listed(array.name, shape.lower[0]) if shape is not None and shape.rank == 1 else None


def _names(poly: Poly | None) -> set[str]:
    if poly is None:
        return set()
    return {
        name
        for atom in poly.atoms
        for part in walk(atom)
        if isinstance(part, Ref)
        for name in names_in(part)
    }
