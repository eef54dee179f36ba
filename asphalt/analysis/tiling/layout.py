"""What a tile sends and where it lands: the result of ``geometry``.

Sizes are compared as polynomials; what is not equal up to algebra becomes a guard, a relation that
the run checks before it tiles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from asphalt.analysis.exchange.packing_counter import PackingCounter
from asphalt.analysis.exchange.per_rank import Uneven
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.strides import Strides
from asphalt.analysis.tiling.tile_window import PlaneWindow
from asphalt.ir.expr import Component, Expr, Ref
from asphalt.ir.tree import Leaf


@dataclass(frozen=True, slots=True)
class Guard:
    """A relation that the run checks before it tiles: ``left relation right``."""

    left: Poly
    relation: str  # == or <=
    right: Poly


@dataclass(frozen=True, slots=True)
class Divides:
    """The run checks that ``unit`` divides ``count`` and that ``count/unit`` is positive."""

    count: Poly
    unit: Poly


@dataclass(frozen=True, slots=True)
class Contiguous:
    """The run checks that an array has no gaps; each rank knows that of its own array alone."""

    array: Ref | Component


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Packed:
    """Blocks that are filled alike by all iterations, each with as many elements as its rank says.

    ``unit``: elements that one iteration adds to the block of rank ``asphalt_peer``.  ``counter``:
    the variable that runs through the send buffer, where one does; the blocks then lie one behind
    the other, each filled by all iterations.
    """

    unit: Expr
    counter: PackingCounter | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The geometry of one tiled exchange.

    ``unit``: elements that one iteration adds to one block (or slab); ``plane``: the same as the
    source states it.  ``block``: steps of the dimension in one block.  ``offset``: the subscript
    of the tiled dimension is loop variable + ``offset``.
    ``dimension``: that dimension of the send buffer.  ``stated``: sizes as the source writes them.
    ``uneven``: the counts and displacements, where blocks differ in length (then ``block`` and the
    places inside of the buffers say nothing).
    ``window``: which planes a tile sends, where they are not those of its iterations.  ``apart``:
    why pieces cannot land in the receive buffer; only ``receive.buffer`` counts then.
    ``strides``: how a tile's part lies in a block where it is not one contiguous run.  ``count``:
    elements that the call sends to each rank, where blocks are equally long.
    ``packed``: what an iteration adds, where that depends on the rank it is for.
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
    apart: str | None = None
    uneven: Uneven | None = None
    strides: Strides | None = None
    count: Poly = field(default_factory=Poly)
    packed: Packed | None = None

    @property
    def needed(self) -> tuple[Expr, ...]:
        """What is evaluated at the entry besides the sizes."""
        if self.packed is None:
            return ()
        counter = self.packed.counter
        return (self.packed.unit, *(() if counter is None else (counter.first, counter.last)))

    @property
    def description(self) -> str:
        """The pattern for people."""
        pattern = self.pattern if self.strides is None else TileShape.STRIDED
        return f"{pattern.value}{'' if self.uneven is None else ', uneven'}"

    @property
    def step(self) -> Poly:
        """Elements of a block between neighbours in the tiled dimension."""
        return self.unit if self.strides is None else self.strides.step


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why there is no layout: a reason for people, and the statement that shows it."""

    kind: str  # subscripts | strided | blocks | shape
    reason: str
    leaf: Leaf


def equal(left: Poly, right: Poly) -> tuple[Guard, ...]:
    """Nothing where two sizes are equal up to algebra, else the guard that they are."""
    return () if left == right else (Guard(left, "==", right),)


def numbers_differ(a: Poly, b: Poly) -> bool:
    return (a - b).value not in (0, None)
