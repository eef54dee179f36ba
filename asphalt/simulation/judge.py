"""Judges steps by simulation: builds the whole program with them, and runs it on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from asphalt.diagnostics.change import Change
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.known_amounts import Known
from asphalt.gain.model import Price
from asphalt.ir.program import Located
from asphalt.running.mpi import rank_count
from asphalt.simulation.runs import BuiltProgram, SimulationError, Simulator, TimedPart
from asphalt.simulation.study import Builder

_Text = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class SimulatedTimes:
    """The simulated seconds of the whole program, on each platform with each number of ranks.

    ``content``: the original bytes of a file; None: not a file of the project.  ``changed``: the
    files that were transformed so far, with their entries in the header.  Results are cached.
    """

    builder: Builder
    simulators: Sequence[Simulator]
    ranks: Sequence[int]
    content: Callable[[str], bytes | None]
    changed: tuple[Change, ...] = ()
    _known: dict[_Text, Price] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The platforms, each with each number of ranks."""
        return tuple(
            f"{one.platform.name} with {rank_count(count)}"
            for one in self.simulators
            for count in self.ranks
        )

    @property
    def executes(self) -> bool:
        """Whether the judge executes the program: it does."""
        return True

    def with_changes(self, changed: tuple[Change, ...]) -> SimulatedTimes:
        """This judge, for a program of which ``changed`` files are already transformed."""
        return replace(self, changed=changed)

    def price(self, tree: Tree, located: Located, known: Known | None = None) -> Price:
        """The time of the whole program with the sources of ``tree``, whatever ``located`` is.

        Raises ``UsageError`` if it does not build, and ``SimulationError`` if it does not run.
        """
        del known  # it is executed
        if () not in self._known:
            self._known[()] = self._simulated(())  # its errors are the original's
        changes = self._changes(tree)
        text = tuple((str(change.path), change.after) for change in changes)
        if text not in self._known:
            self._known[text] = self._simulated(changes)
        return self._known[text]

    def _changes(self, tree: Tree) -> tuple[Change, ...]:
        """The files of a tree that differ from the original."""
        known = {str(change.path): change for change in self.changed}
        found: list[Change] = []
        for entry in tree.files:
            after, before = tree.content(entry.path), self.content(entry.path)
            if before is not None and after != before:
                change = known.get(entry.path, Change(Path(entry.path), before, after, (), ()))
                found.append(replace(change, after=after))
        return tuple(found)

    def _simulated(self, changes: Sequence[Change]) -> Price:
        name = "transformed" if changes else "original"
        with TemporaryDirectory(prefix="version-", dir=self.builder.work) as work:
            program, _ = replace(self.builder, work=Path(work)).build(name, changes)
            seconds = (
                _seconds(simulator, program, count, name)
                for simulator in self.simulators
                for count in self.ranks
            )
            return Price(tuple(seconds))


def _seconds(simulator: Simulator, program: BuiltProgram, count: int, name: str) -> float:
    try:
        return simulator.run(program, count, TimedPart.WHOLE).seconds
    except SimulationError as error:
        raise SimulationError(f"the {name} program on {rank_count(count)}: {error}") from None
