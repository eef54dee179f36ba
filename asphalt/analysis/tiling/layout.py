"""What a tile sends and where it lands: the result of ``geometry``.

Sizes are compared as polynomials.  An equality that algebra does not prove becomes a guard: a
relation that the run checks before it tiles.
"""

from __future__ import annotations

from dataclasses import field

from asphalt.analysis.exchange.buffers import FlatShape
from asphalt.analysis.exchange.packing_counter import PackingCounter
from asphalt.analysis.exchange.per_rank import Uneven
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.strides import Strides
from asphalt.analysis.tiling.tile_window import PlaneWindow
from asphalt.ir.expr import Component, Expr, Ref
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf


@record
class Guard:
    """A relation that the run checks before it tiles: ``left relation right``."""

    left: Poly
    relation: str  # == or <=
    right: Poly


@record
class Divides:
    """The run checks that ``unit`` divides ``count`` and that ``count/unit`` is positive."""

    count: Poly
    unit: Poly


@record
class Contiguous:
    """The run checks that an array is contiguous; each rank knows this of its own array only."""

    array: Ref | Component


@record
class Address:
    """The first element of a piece: that of the buffer, plus the position inside the block times
    ``tile_factor`` in one dimension, plus the rank times ``block_factor`` in one (maybe the same).

    ``tail``: the subscripts of the dimensions behind those of the buffer (``buffers.View``);
    ``room``: steps of the last dimension of ``fixed`` that the buffer has, where others follow.
    """

    buffer: str
    fixed: tuple[Poly, ...]
    tile_dimension: int
    tile_factor: Poly
    block_dimension: int
    block_factor: Poly
    tail: tuple[Poly, ...] = ()
    room: Poly | None = None


@record
class Packed:
    """Blocks to which all iterations add equally many elements; their number depends on the rank.

    ``unit``: elements that one iteration adds to the block of rank ``asphalt_peer``.  ``counter``:
    the counter that addresses the send buffer, if there is one; the blocks then lie one behind the
    other.
    """

    unit: Expr
    counter: PackingCounter | None = None


@record
class Layout:
    """The geometry of one tiled exchange.

    ``unit``: elements that one iteration adds to one block (or slab); ``plane``: the same as the
    source states it.  ``block``: steps of the dimension in one block.  ``offset``: the subscript
    of the tiled dimension is loop variable + ``offset``.
    ``dimension``: that dimension of the send buffer.  ``stated``: sizes as the source writes them.
    ``uneven``: the counts and displacements, if blocks differ in length (then ``block`` and the
    addresses in the buffers have no meaning).
    ``window``: the planes that a tile sends, if they are not those of its iterations.
    Of ``receive``, ``buffer`` and ``fixed`` alone have a meaning: blocks follow one another from
    there on.  ``strides``: of a tile's part of a block, if it is not one contiguous run.
    ``count``: elements that the call sends to each rank, if blocks are equally long.  ``packed``:
    what an iteration adds, if that depends on the rank of the block.  ``flat``: the shape
    of the send buffer, if ``dimension`` is one of a flat view of it (``exchange.flat_views``).
    """

    pattern: TileShape
    dimension: int
    offset: Poly
    unit: Poly
    plane: Expr
    block: Poly
    send: Address
    receive: Address
    guards: tuple[Guard | Divides | Contiguous, ...]
    stated: tuple[tuple[Poly, Expr], ...] = ()
    window: PlaneWindow | None = None
    uneven: Uneven | None = None
    strides: Strides | None = None
    count: Poly = field(default_factory=Poly)
    packed: Packed | None = None
    flat: FlatShape | None = None

    @property
    def needed(self) -> tuple[Expr, ...]:
        """The expressions that the run evaluates at the entry, besides the sizes."""
        if self.packed is None:
            return ()
        counter = self.packed.counter
        return (self.packed.unit, *(() if counter is None else (counter.first, counter.last)))

    @property
    def description(self) -> str:
        """The pattern as reports name it."""
        pattern = self.pattern if self.strides is None else TileShape.STRIDED
        return f"{pattern.value}{'' if self.uneven is None else ', uneven'}"

    @property
    def step(self) -> Poly:
        """The stride of the tiled dimension in a block, in elements."""
        return self.unit if self.strides is None else self.strides.step


@record
class Misfit:
    """Why there is no layout, in words, with the statement that shows it."""

    kind: str  # subscripts | strided | blocks | shape
    reason: str
    leaf: Leaf


def equal(left: Poly, right: Poly) -> tuple[Guard, ...]:
    """No guard if algebra proves that two sizes are equal, else the guard that they are."""
    return () if left == right else (Guard(left, "==", right),)


def numbers_differ(a: Poly, b: Poly) -> bool:
    return (a - b).value not in (0, None)
