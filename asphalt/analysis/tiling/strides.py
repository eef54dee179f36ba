"""A tile's part of a block as a regular section: extents and strides of its dimensions.

Where the tiled dimension is not the outermost one of a block, a tile's part is not one contiguous
run but a set of equally strided ones.  Sender and receiver traverse it in the same order, the
first dimension fastest, so that the type signatures of both sides match element by element
(MPI-4.0 section 3.3.1), although the two memory layouts may differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from asphalt.analysis.symbolic.polynomials import Poly, product
from asphalt.ir.records import record


@record
class Strides:
    """The dimensions of a block, the fastest one first.

    ``extents``: their sizes in elements of the dimension; a tile has K of dimension ``along``
    (counted from 0) and all of the others.  ``source``: the strides of the array that is sent, in
    elements, that from block to block behind them; None: they are those of the block, as in the
    receive buffer.  ``ranks``: the number of
    blocks in that array, if it is not the send buffer.
    """

    extents: tuple[Poly, ...]
    along: int
    source: tuple[Poly, ...] | None = None
    ranks: Poly | None = None

    @property
    def sizes(self) -> tuple[Poly, ...]:
        """All sizes, so that callers can ask what they depend on."""
        ranks = () if self.ranks is None else (self.ranks,)
        return (*self.extents, *(self.source or ()), *ranks)

    @property
    def step(self) -> Poly:
        """The stride of the tiled dimension in the block, in elements."""
        return product(self.extents[: self.along])

    @property
    def elements(self) -> Poly:
        """Elements of the block in one step of the tiled dimension."""
        return self.step * product(self.extents[self.along + 1 :])


def part_of_block(extents: Sequence[Poly | None], tiled: int) -> Strides | None:
    """The strides of a tile in a block with these extents; None: the tile is one contiguous run.

    Dimensions in front of the tiled one lie one behind the other, and so do those behind it.
    """
    known = [extent for extent in extents if extent is not None]
    inner, outer = product(known[:tiled]), product(known[tiled + 1 :])
    if outer == Poly.constant(1):
        return None
    if inner == Poly.constant(1):
        return Strides((known[tiled], outer), 0)
    return Strides((inner, known[tiled], outer), 1)
