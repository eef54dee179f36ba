"""The iterations of counted loops as constraints on their variables."""

from __future__ import annotations

from asphalt.analysis.memory.invariant_frame import Standpoint, loop_variable
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do


def iterations(loop: Do, here: Standpoint, affine: Affine) -> tuple[list[str], int] | None:
    """Constraints that define exactly the iterations of a loop, on its variable; and its step.

    ``here`` is before the loop.  None: a bound is not affine, or the step is unknown.
    """
    head, name = loop.head.what, loop_variable(loop)
    if not isinstance(head, DoHead) or head.first is None or head.last is None or name is None:
        return None
    ends = here.value(head.first), here.value(head.last)
    step = Poly.constant(1) if head.step is None else here.value(head.step)
    if ends[0] is None or ends[1] is None or step is None or not step.value:
        return None
    first, last = affine.text(ends[0]), affine.text(ends[1])
    variable = affine.text(Poly.atom(Ref(name, name)))
    if first is None or last is None or variable is None:
        return None
    return strided(variable, first, last, step.value), step.value


def around(here: Standpoint, affine: Affine) -> list[str]:
    """The known constraints on the variables of the loops around a statement."""
    found: list[str] = []
    for depth, loop in enumerate(here.loops):
        before = Standpoint(here.frame, here.at, here.loops[:depth])
        trips = iterations(loop, before, affine)
        found += trips[0] if trips is not None else []
    return found


def strided(index: str, first: str, last: str, step: int) -> list[str]:
    """The constraints of ``index = first, last, step`` (F2018 11.1.7.4.1)."""
    low, high = (first, last) if step > 0 else (last, first)
    limits = [f"{low} <= {index} <= {high}"]
    if abs(step) > 1:
        limits.append(f"({index} - ({first})) mod {abs(step)} = 0")
    return limits
