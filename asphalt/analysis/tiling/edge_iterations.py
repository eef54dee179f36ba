"""The iterations of a nest that conflict with other statements, as its first and last ones.

Index-set splitting (Banerjee, Loop transformations for restructuring compilers, 1993; Danalis et
al., ICS 2009, section 5) divides the iterations of a nest so that one part is free of a dependence.
Here the parts are a box, the *interior*, and the edges around it: some of the first and some of the
last iterations of each loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.affine_guards import extremes
from asphalt.analysis.memory.regions import Region, loop_bounds
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do

WIDEST = 8
"""The most iterations at one end of a loop that can be an edge."""


_Ends = tuple[tuple[int, str, int], ...]
"""Ends of loops: the number of the loop, ``first`` or ``last``, and how many iterations."""


@record
class EdgeCounts:
    """The numbers of first and of last iterations of a loop that are not in the interior."""

    first: int = 0
    last: int = 0

    def __bool__(self) -> bool:
        return bool(self.first or self.last)


@record
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
    region: Region,
    pairs: Iterable[tuple[Access, Access]],
    variables: tuple[str, ...],
    ranges: Sequence[LoopRange | None],
) -> tuple[EdgeCounts, ...] | None:
    """The narrowest ends of the loops that have all iterations in which the second access of a pair
    touches an element that the first one touches; None: this cannot be decided, some of these are
    neither among the first nor among the last of any loop, or not by a constant number, or all
    iterations of a loop are.

    ``variables``: of the loops; ``ranges``: of each, None for one whose iterations cannot be
    divided.  Iterations are over-approximated where a subscript or a bound is not affine.
    """
    try:
        listed = _listed(region, pairs, variables, ranges)
    except UndecidedError:
        return None
    if listed is None:
        return None
    ends = [EdgeCounts()] * len(ranges)
    for choices in sorted(listed, key=len):
        more, loop, side, number = min(
            (max(0, number - getattr(ends[loop], side)), loop, side, number)
            for loop, side, number in choices
        )
        if more:
            ends[loop] = replace(ends[loop], **{side: number})
    return tuple(ends) if all(map(_leave_some, ends, ranges)) else None


def _listed(
    region: Region,
    pairs: Iterable[tuple[Access, Access]],
    variables: tuple[str, ...],
    ranges: Sequence[LoopRange | None],
) -> list[_Ends] | None:
    """For each set of iterations without gaps that conflicts of pairs have, in their order, the
    ends that contain it; None: one is in none of them.

    Conflicts about whole objects come first: all iterations have them, so that nothing else needs
    to be asked.
    """
    found: list[tuple[int, _Ends]] = []
    in_order = sorted(enumerate(pairs), key=lambda item: item[1][0].subscripts is not None)
    for number, (one, two) in in_order:
        for part in region.iterations_of_conflicts(one, two, variables).parts():
            if part.is_empty():
                continue
            choices = _choices(part, ranges)
            if not choices:
                return None
            found.append((number, choices))
    return [choices for _, choices in sorted(found, key=lambda item: item[0])]


def _leave_some(ends: EdgeCounts, own: LoopRange | None) -> bool:
    """Whether a loop may have iterations that are not at its ends."""
    distance = None if own is None else (own.last - own.first).value
    return distance is None or ends.first + ends.last <= distance


def _choices(part: Elements, ranges: Sequence[LoopRange | None]) -> _Ends:
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
