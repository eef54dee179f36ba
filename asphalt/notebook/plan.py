"""A plan: what ``apply`` would make of a project, or of one of its sites."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

from asphalt import project as core
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import SiteReport, StepReport
from asphalt.ir.source import Form
from asphalt.machine.choose import DEFAULT
from asphalt.notebook.diff import Diff
from asphalt.notebook.simulation import Simulated, Swept, simulated, swept
from asphalt.output.write import write_tree


class Plan:
    """The transformed sources, for given K and D.  A notebook shows their difference.

    ``exchanges``: the names of the exchanges to prepush; ``units``: file and name of the procedures
    whose transfers are transformed; None: all.  Nothing is written before ``write``.
    """

    def __init__(
        self,
        project: core.Project,
        *,
        tile: int | None = None,
        depth: int | None = None,
        exchanges: Collection[str] | None = None,
        units: Collection[tuple[str, str]] | None = None,
    ) -> None:
        self.core = project
        self.tile, self.depth = tile, depth
        self._exchanges, self._units = exchanges, units

    @cached_property
    def outcome(self) -> core.Outcome:
        """The changes, and every step that was tried."""
        return self._at(self.tile, self.depth)

    def _at(self, tile: int | None, depth: int | None) -> core.Outcome:
        trial = tile is not None or depth is not None
        return self.core.outcome(tile, depth, trial, units=self._units, exchanges=self._exchanges)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changed files, each with its bytes before and after."""
        return self.outcome.changes

    @property
    def sites(self) -> tuple[SiteReport, ...]:
        """The reports on the sites that are transformed."""
        return tuple(site for change in self.changes for site in change.sites)

    @property
    def steps(self) -> tuple[StepReport, ...]:
        """The steps by which procedures with transfers are transformed, each with its reason and
        the seconds that it saves on each network by the cost model."""
        return tuple(step for one in self.outcome.procedures for step in one.steps)

    def diff(self) -> Diff:
        """The difference that it makes."""
        tree = self.core.tree
        fixed = {one.path for one in self.changes if tree.file(str(one.path)).form is Form.FIXED}
        return Diff(self.changes, frozenset(fixed))

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """Write the project with these changes into a mirrored tree, as ``asphalt apply --output``
        does, with the runtime.  Returns the changed files.  Raises ``UsageError`` where the folder
        holds something else."""
        write_tree(self.core.roots, self.changes, Path(folder))
        return tuple(change.path for change in self.changes)

    def simulate(
        self,
        ranks: int = 16,
        platform: str = DEFAULT,
        *,
        build: str | None = None,
        arguments: str = "",
        timeout: float = 600.0,
    ) -> Simulated:
        """Original and transformed program on a simulated cluster, as ``asphalt simulate`` does.

        ``platform``: the name of a built-in network, or a platform file of SimGrid; ``build``: the
        build command, such as ``make FC={fc}`` (None: all sources are compiled); ``timeout``:
        seconds of each build and run.  Raises ``SimulationError`` where a run fails.
        """
        return simulated(self.core, self.changes, ranks, platform, build, arguments, timeout)

    def sweep(
        self,
        tiles: Sequence[int] = (1, 2, 4, 8),
        depths: Sequence[int] = (4,),
        ranks: int = 16,
        platform: str = DEFAULT,
        *,
        build: str | None = None,
        arguments: str = "",
        timeout: float = 600.0,
    ) -> Swept:
        """The simulated time for each K of ``tiles`` and D of ``depths``; the others as for
        ``simulate``."""
        plans = {(k, d): self._at(k, d).changes for k in tiles for d in depths}
        return swept(self.core, plans, ranks, platform, build, arguments, timeout)

    def __repr__(self) -> str:
        return f"<Plan: {len(self.sites)} {'site' if len(self.sites) == 1 else 'sites'}>"

    def _repr_html_(self) -> str:
        return self.diff()._repr_html_()
