"""The iterations of a nest that conflict with other statements, as its first and last ones.

Index-set splitting (Banerjee, Loop transformations for restructuring compilers, 1993; Danalis et
al., ICS 2009, section 5) divides the iterations of a nest so that one part is free of a dependence.
Here the parts are a box, the *interior*, and the edges around it: some of the first and some of the
last iterations of each loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.affine_guards import extremes
from asphalt.analysis.memory.regions import Region, loop_bounds
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do

WIDEST = 8
"""The most iterations at one end of a loop that can be an edge."""


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """The numbers of first and of last iterations of a loop that are not in the interior."""

    first: int = 0
    last: int = 0

    def __bool__(self) -> bool:
        return bool(self.first or self.last)


def meeting_iterations(
    region: Region,
    pairs: Iterable[tuple[Access, Access]],
    variables: tuple[str, ...],
) -> tuple[Elements, ...] | None:
    """The values of loop variables for which the second access of a pair touches an element that
    the first one touches, as sets without gaps; None: it cannot be decided.

    They are over-approximated where a subscript or a bound is not affine.
    """
    found: list[Elements] = []
    try:
        for one, two in pairs:
            found += region.iterations_of_conflicts(one, two, variables).parts()
    except UndecidedError:
        return None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class LoopRange:
    """The bounds of a loop with the step 1, and what is known of them: polynomials that are not
    less than others."""

    first: Poly
    last: Poly
    limits: tuple[tuple[Poly, Poly], ...]


def range_of(loop: Do, region: Region) -> LoopRange | None:
    """The range of a loop; None: another step, or bounds that may change in the region."""
    bounds, head = loop_bounds(loop, region), loop.head.what
    if bounds is None or bounds.direction < 0 or not isinstance(head, DoHead):
        return None
    greater = (region.value(part, ()) for part in extremes(head.first, ">=")[1:])
    less = (region.value(part, ()) for part in extremes(head.last, "<=")[1:])
    limits = [(bounds.first, part) for part in greater if part is not None]
    limits += [(part, bounds.last) for part in less if part is not None]
    return LoopRange(bounds.first, bounds.last, tuple(limits))


def ends_of(
    parts: Iterable[Elements], ranges: Sequence[LoopRange | None]
) -> tuple[EdgeCounts, ...] | None:
    """The narrowest ends of the loops that have all iterations of ``parts``; None: some of these
    are neither among the first nor among the last of any loop, or not by a constant number, or
    all iterations of a loop are.

    ``ranges``: of each loop; None for one whose iterations cannot be divided.
    """
    try:
        listed = [_choices(part, ranges) for part in parts if not part.is_empty()]
    except UndecidedError:
        return None
    ends = [EdgeCounts()] * len(ranges)
    for choices in sorted(listed, key=len):
        growth = [
            (max(0, number - getattr(ends[loop], side)), loop, side, number)
            for loop, side, number in choices
        ]
        if not growth:
            return None
        more, loop, side, number = min(growth)
        if more:
            ends[loop] = replace(ends[loop], **{side: number})
    return tuple(ends) if all(map(_leave_some, ends, ranges)) else None


def _leave_some(ends: EdgeCounts, own: LoopRange | None) -> bool:
    """Whether a loop may have iterations that are not at its ends."""
    distance = None if own is None else (own.last - own.first).value
    return distance is None or ends.first + ends.last <= distance


def _choices(
    part: Elements, ranges: Sequence[LoopRange | None]
) -> tuple[tuple[int, str, int], ...]:
    """The ends that contain all iterations of a set: loop, side and number of iterations."""
    found: list[tuple[int, str, int]] = []
    for loop, own in enumerate(ranges):
        affine = Affine()
        ends = None if own is None else (affine.text(own.first), affine.text(own.last))
        if own is None or ends is None or None in ends:
            continue
        texts = ((affine.text(greater), affine.text(less)) for greater, less in own.limits)
        known = [f"{greater} >= {less}" for greater, less in texts if greater and less]
        for side, beyond in (
            ("first", f"e{loop} >= {ends[0]} + "),
            ("last", f"e{loop} <= {ends[1]} - "),
        ):
            number = _least(part, beyond, known, affine)
            if number is not None:
                found.append((loop, side, number))
    return tuple(found)


def _least(part: Elements, beyond: str, known: list[str], affine: Affine) -> int | None:
    """How many iterations at an end contain a set: none of it is ``beyond`` so many."""

    def holds(number: int) -> bool:
        return part.restricted([*known, f"{beyond}{number}"], affine).is_empty()

    if not holds(WIDEST):
        return None
    return next(number for number in range(1, WIDEST + 1) if holds(number))
