"""Summaries of procedures, stored from run to run.

They are conclusions from the whole tree, so they are stored under a digest of every file, of the
configuration, and of the source of the analysis.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.effects.procedure_effects import Effects, Known, ProcedureKey
from asphalt.analysis.effects.summary_provenance import Tracing
from asphalt.analysis.names.scopes import Scopes
from asphalt.frontend.source_tree.source_digest import source_digest
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located

_DEPENDENCIES = ("islpy", "pympistandard")


class Remembered:
    """The effects of the calls of a tree while ``pure`` procedures are assumed to be so, with what
    other runs have found."""

    def __init__(
        self,
        tree: Tree,
        scopes: Scopes,
        pure: frozenset[str],
        tracing: Tracing | None = None,
        locate: Callable[[ProcedureKey], Located | None] = lambda key: None,
        fatal: bool = False,
    ) -> None:
        self._tree = tree
        self._pure = pure
        self._sizes = ("any sizes", *sorted(map(str, scopes.asked))) if scopes.any_sizes else ()
        self._recalled = 0
        assumed = Assumed(pure, fatal)  # summaries do not depend on ``fatal``
        self.effects = Effects(scopes, assumed, self._recall, tracing=tracing, locate=locate)

    def keep(self) -> None:
        """Stores what is known by now for other runs, if it is more than before."""
        known = self.effects.known
        if known.size > self._recalled:
            self._tree.keep(known, *self._key())
            self._recalled = known.size

    def _recall(self) -> Known | None:
        known = self._tree.kept(*self._key())
        if not isinstance(known, Known):
            return None
        self._recalled = known.size
        return known

    def _key(self) -> tuple[str | bytes, ...]:
        versions = [f"{name} {version(name)}" for name in _DEPENDENCIES]
        assumed = (*self._sizes, *sorted(self._pure))
        return ("summaries", source_digest(__name__), *versions, *assumed)
