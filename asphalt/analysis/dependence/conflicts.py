"""Conflicts of two statements: accesses that may be to one element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.regions import Region
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.expr import Arg, Ref, names_in
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Node


@dataclass(frozen=True, slots=True)
class StatementConflicts:
    """Two statements with the conflicts that were found, and those that are still to be found."""

    first: Node
    second: Node
    found: list[Conflict]
    rest: Iterator[Conflict]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that may be to one element, if they are known."""

    reason: str
    region: Region | None = None
    first: Access | None = None
    second: Access | None = None

    def sizes(self, is_positive: Callable[[str], bool]) -> frozenset[str] | None:
        """The fewest named constants in the accesses that resolve it if they are positive; None:
        they do not."""
        if self.region is None or self.first is None or self.second is None:
            return None
        named = _names_of(self.first) | _names_of(self.second)
        positive = sorted(name for name in named if is_positive(name))
        for wanted in (*((name,) for name in positive), tuple(positive)):
            if not wanted:
                continue

            def order(
                problem: AffineProblem,
                then: Mapping[str, str],
                later: Mapping[str, str],
                wanted: tuple[str, ...] = wanted,
            ) -> None:
                del then, later
                for name in wanted:
                    problem.add(Poly.atom(Ref(name, name)), ">=", Poly.constant(1), {})

            if self.region.conflict(self.first, self.second, order) is None:
                return frozenset(wanted)
        return None


def _names_of(access: Access) -> frozenset[str]:
    """The names in the subscripts of an access, and in the bounds of the loops around it."""
    exprs: list[Arg | None] = [*(access.subscripts or ())]
    for loop in access.loops:
        head = loop.head.what
        if isinstance(head, DoHead):
            exprs += (head.first, head.last)
    return frozenset(name for expr in exprs if expr is not None for name in names_in(expr))
