"""The directives about the transfers and collective operations of one unit.

In front of a call, ``skip`` leaves the call, and what completes it, as they are; ``assume(bits)``
accepts other last digits of a reduction.  Among or in front of the declarations of the unit or of a
host of it, they hold for all calls in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.directives.directives import Assume, Directive, Skip, directives
from asphalt.ir.program import Located
from asphalt.ir.tree import Leaf


@dataclass(frozen=True)
class TransferDirectives:
    """The directives of one unit and its hosts."""

    located: Located

    def skipped(self, leaf: Leaf) -> Directive | None:
        """The directive for which asphalt does not transform a call; None: there is none."""
        return self.all_skipped or next(
            (d for d in self._near(leaf) if isinstance(d.clause, Skip)), None
        )

    @cached_property
    def all_skipped(self) -> Directive | None:
        """The directive for which asphalt transforms no call of the unit; None: there is none."""
        return next((d for d in self._far if isinstance(d.clause, Skip)), None)

    @cached_property
    def skipped_here(self) -> tuple[Directive, ...]:
        """The directives for which asphalt does not transform single calls."""
        return tuple(d for d in self._own if d.leaf is not None and isinstance(d.clause, Skip))

    def assumed(self, leaf: Leaf) -> frozenset[str]:
        """The assumptions that are accepted for one call, in front of it, by name."""
        return _assumptions(self._near(leaf))

    @cached_property
    def assumed_by_all(self) -> frozenset[str]:
        """The assumptions that are accepted for all calls of the unit, by name."""
        return _assumptions(self._far)

    def _near(self, leaf: Leaf) -> tuple[Directive, ...]:
        return tuple(d for d in self._own if d.leaf is leaf)

    @cached_property
    def _own(self) -> tuple[Directive, ...]:
        return directives(self.located.unit)

    @cached_property
    def _far(self) -> tuple[Directive, ...]:
        hosts = (directives(unit) for unit in reversed(self.located.chain[:-1]))
        found = (*self._own, *(d for own in hosts for d in own))
        return tuple(d for d in found if d.leaf is None)


def _assumptions(found: Iterable[Directive]) -> frozenset[str]:
    return frozenset(d.clause.assumption for d in found if isinstance(d.clause, Assume))
