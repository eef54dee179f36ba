"""What the optimiser is asked for, and what is known of the program around a unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.combining import Combining
from asphalt.config.passes import TRANSFERS
from asphalt.config.sizes import Size
from asphalt.gain.model import Judge
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.optimiser.acceptance import Key
from asphalt.optimiser.origins import SourceLine, itself

if TYPE_CHECKING:
    from asphalt.optimiser.searched import Searched


@record
class Options:
    """The options of a user, the same for all units of a program.

    ``passes``: those that may be applied.  ``accepted``: the assumptions that the user accepts.
    ``clone_limit``: MiB that the copies of message buffers may have on a rank; None: the usual
    limit.  ``faulty``: the line and the code of an error in the MPI calls of a unit, by its file
    and name; such units are neither changed nor inlined.  ``sizes``: of variables in runs, for the
    cost model.  ``networks``: those of the cost model; (): the usual ones.  ``least_gain``:
    the part of its time that all steps together must save in a unit, or it stays as it is; None:
    they may save nothing.  ``combining``: which exchanges become one.
    """

    passes: Collection[str] = TRANSFERS
    accepted: frozenset[str] = frozenset()
    clone_limit: int | None = None
    faulty: Mapping[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    sizes: tuple[Size, ...] = ()
    networks: tuple[str, ...] = ()
    least_gain: float | None = None
    combining: Combining = Combining.AUTO

    def asks_for(self, *passes: str) -> bool:
        """Whether all of these passes may be applied."""
        return set(passes) <= set(self.passes)

    def fault_in(self, located: Located) -> str | None:
        """The error in the MPI calls of a unit, as a clause; None: none is known."""
        found = self.faulty.get((located.path, located.unit.name))
        return None if found is None else f"line {found[0]} has an error ({found[1]})"


@record
class Context:
    """The context of a unit that is optimised: what is known of the program.

    ``model``: the judge of steps; None: the cost model with the usual networks.  ``changed``: the
    units that have been optimised before.  ``given``: maps a line of the tree to the line of the
    user's source that it came from.  ``analyses``: those of the tree; None: none has been made.
    ``searched``: what is known already of units of the tree; None: nobody keeps it.
    """

    model: Judge | None = None
    changed: Collection[Key] = ()
    given: Callable[[SourceLine], SourceLine] = itself
    analyses: Analyses | None = None
    searched: Searched | None = None
