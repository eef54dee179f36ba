"""Changed files in which other configurations are compiled as they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asphalt.analysis_manager.configurations import Configurations
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import ProblemReport
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.configuration import Test
from asphalt.unparse.guards import guarded

_NOT_WRITTEN = "a change of this file would reach configurations for which it is not proved"


def confined_changes(
    tree: Tree, configurations: Configurations, changes: Sequence[Change]
) -> tuple[tuple[Change, ...], tuple[ProblemReport, ...]]:
    """The changes that can be confined to the configurations for which they are proved, confined,
    and a note on each other one."""
    found: list[Change] = []
    notes: list[ProblemReport] = []
    for change in changes:
        try:
            found.append(confined(tree, configurations, change))
        except NotConfinedError as why:
            notes.append(ProblemReport(str(change.path), None, str(why), note=True))
    return tuple(found), tuple(notes)


class NotConfinedError(Exception):
    """A change reaches configurations for which it is not proved."""


def confined(tree: Tree, configurations: Configurations, change: Change) -> Change:
    """The change, with conditions around lines that other configurations compile, too.

    ``tree``: as it was given.
    """
    path = str(change.path)
    own = _Own(tree, configurations, path)
    here = tree.preprocessed.conditionals(path)
    before, after = change.before.decode("latin-1"), change.after.decode("latin-1")
    form = next(entry.form for entry in tree.files if entry.path == path)
    text = guarded(before, after, form, here.path, own.tests)
    if text is None:
        raise NotConfinedError(_NOT_WRITTEN)
    return change if text == after else replace(change, after=text.encode("latin-1"))


class _Own:
    """The tests on which changes of the lines of a file rest."""

    def __init__(self, tree: Tree, configurations: Configurations, path: str) -> None:
        self._configurations = configurations
        self._path = path
        self._units = tree.outline(path).units

    def tests(self, first: int, last: int) -> Sequence[Test]:
        """The tests for a change of some lines: of the procedure in which they stand, or of all
        procedures of the file."""
        inside = [
            number
            for number, unit in enumerate(self._units)
            if unit.first <= first and max(first - 1, last) <= unit.last
        ]
        if inside and self._units[inside[-1]].kind in _PROCEDURES:
            return self._of(inside[-1])
        numbers = (n for n, unit in enumerate(self._units) if unit.kind in _PROCEDURES)
        return tuple(dict.fromkeys(test for number in numbers for test in self._of(number)))

    def _of(self, number: int) -> Sequence[Test]:
        chain: list[str] = []
        at: int | None = number
        while at is not None:
            chain.insert(0, self._units[at].name)
            at = self._units[at].host
        found = self._configurations.of(self._path, tuple(chain))
        if isinstance(found, str):
            raise NotConfinedError(f"{_NOT_WRITTEN}: {found}")
        return found


_PROCEDURES = frozenset({"program", "subroutine", "function", "module_procedure"})
