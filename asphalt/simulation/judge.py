"""A judge of steps that simulates: the whole program is built with them, and runs on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from asphalt.diagnostics.change import Change
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Price
from asphalt.ir.program import Located
from asphalt.simulation.runs import BuiltProgram, SimulationError, Simulator, TimedPart
from asphalt.simulation.study import Builder, rank_count

_Text = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class SimulatedTimes:
    """The simulated seconds of the whole program, on each platform with each number of ranks.

    ``content``: the bytes of a file as the user gave it; None: no file of the project.
    ``changed``: what has become of files so far, with its entries in the header.  What was
    simulated once is remembered.
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
        """The program runs."""
        return True

    def beside(self, changed: tuple[Change, ...]) -> SimulatedTimes:
        """The same where files have been changed so far."""
        return replace(self, changed=changed)

    def price(self, tree: Tree, located: Located) -> Price:
        """What the program takes with a tree for its sources, whichever unit is asked for.

        Raises ``UsageError`` if that does not build, and ``SimulationError`` if it does not run.
        """
        if () not in self._known:
            self._known[()] = self._simulated(())  # what is wrong with it is told of the original
        changes = self._changes(tree)
        text = tuple((str(change.path), change.after) for change in changes)
        if text not in self._known:
            self._known[text] = self._simulated(changes)
        return self._known[text]

    def _changes(self, tree: Tree) -> tuple[Change, ...]:
        """The files of a tree that are not as the user gave them."""
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
