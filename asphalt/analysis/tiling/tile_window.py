"""The planes that a tile sends, if they are not simply those of its iterations.

The planes of a block are counted in the order of the loop.  Some may lie in front of the plane of
the first iteration (final before the nest), and some behind that of the last.  Iterations may also
change planes of iterations a constant distance before, which are final so much later.
"""

from __future__ import annotations

from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.records import record


@record
class PlaneWindow:
    """How the planes of a block follow the iterations.

    ``before``: planes in front of that of the first iteration (every block: of each block; slab:
    of the buffer); negative: iterations that have no plane.  ``late``: how many iterations back an
    iteration may still write a plane.
    """

    before: Poly
    late: int = 0

    @property
    def ready(self) -> Poly:
        """Planes that are final before the nest; negative: iterations that complete none."""
        return self.before - Poly.constant(self.late)


@record
class Gaps:
    """The numbers of planes of a dimension before the first and behind the last iteration."""

    before: Poly
    behind: Poly | None  # None: the extent is not known

    @property
    def known(self) -> bool:
        """Whether the loop certainly does not run over exactly the dimension."""
        return any(gap is not None and gap.value not in (0, None) for gap in self._both)

    @property
    def _both(self) -> tuple[Poly | None, Poly | None]:
        return self.before, self.behind
