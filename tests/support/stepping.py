"""Apply steps of one transformation to a source tree, as the optimiser does: again and again, each
time from the text that the last one made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import Tree, load_tree
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.transforms.rewriting.step import Step
from asphalt.unparse.unparse import unparse
from support.mpi_run import Mpi, build, run, runtime_texts

MANY = 60


@dataclass
class Stepped:
    """A tree of files that are given as texts, by name; ``uniform``: what all ranks have in
    common is asked."""

    tree: Tree
    any_sizes: bool = False
    uniform: bool = False
    accepted: frozenset[str] = frozenset()

    @staticmethod
    def of(folder: Path, files: dict[str, str]) -> Stepped:
        """The tree of some files, written to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_bytes(text.encode("latin-1"))
        return Stepped(load_tree((folder,), Settings(cache=False, jobs=1)))

    @staticmethod
    def at(path: Path) -> Stepped:
        """The tree that is one file."""
        return Stepped(load_tree((path,), Settings(cache=False, jobs=1)))

    def facts(self) -> list[UnitFacts]:
        """All units."""
        effects, common = Analyses(self.tree).of(any_sizes=self.any_sizes)
        known = common if self.uniform else None
        return [
            UnitFacts(
                located, effects, self.tree.file(entry.path).eol, known, accepted=self.accepted
            )
            for entry in self.tree.files
            for located in self.tree.units_of(entry.path)
        ]

    def found(self, module: ModuleType) -> list[tuple[UnitFacts, Step | Refused]]:
        """What a transformation finds in all units."""
        return [(facts, one) for facts in self.facts() for one in module.check(facts)]

    def apply(self, module: ModuleType, facts: UnitFacts, step: Step) -> None:
        """Apply one step."""
        path = facts.located.path
        file = replace_unit(self.tree.file(path), facts.unit, module.apply(facts, step))
        self.tree = self.tree.edited({path: unparse(file).encode("latin-1")})

    def refusals(self, module: ModuleType) -> list[Refused]:
        """What stays, and why."""
        return [one for _, one in self.found(module) if isinstance(one, Refused)]

    def steps(self, module: ModuleType) -> list[Step]:
        """What is possible."""
        return [one for _, one in self.found(module) if isinstance(one, Step)]

    def applied(self, *modules: ModuleType, unit: str | None = None) -> int:
        """Apply steps until there are none, in one unit or in all; how many there were."""
        count = 0
        while (first := self._first(modules, unit)) is not None:
            self.apply(*first)
            count += len(first[-1].reported)
            assert count < MANY, "it does not end"
        return count

    def _first(
        self, modules: Sequence[ModuleType], unit: str | None
    ) -> tuple[ModuleType, UnitFacts, Step] | None:
        for module in modules:
            for facts, one in self.found(module):
                if isinstance(one, Step) and unit in (None, facts.unit.name):
                    return module, facts, one
        return None

    def text(self, name: str) -> str:
        """The text of a file as it is now."""
        path = next(e.path for e in self.tree.files if Path(e.path).name == name)
        return self.tree.content(path).decode("latin-1")

    def result(
        self,
        mpi: Mpi,
        folder: Path,
        order: Sequence[str],
        ranks: int,
        flags: Sequence[str] = ("-O1", "-fcheck=all", "-Wall"),
    ) -> str:
        """What the program prints, sorted by lines, with what it uses of the runtime."""
        folder.mkdir(parents=True, exist_ok=True)
        sources = []
        for name, text in runtime_texts(*(self.text(name) for name in order)).items():
            if name not in order:
                (folder / name).write_text(text)
                sources.append(folder / name)
        for name in order:
            (folder / name).write_bytes(self.text(name).encode("latin-1"))
            sources.append(folder / name)
        outcome = run(mpi, build(mpi, sources, folder, flags), ranks)
        assert outcome.code == 0, outcome.stderr
        return "\n".join(sorted(outcome.stdout.splitlines()))
