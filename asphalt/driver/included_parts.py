"""Files that are analysed where others include them: their own lines in reports, and their own
changes.

Everything before works with composed text (``Composition``), and names the including file and its
lines.  ``divided`` gives each file its part of a change; ``Places`` translates what is reported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from asphalt.config.assumptions import has_lines, with_lines
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import (
    FINDING,
    DroppedReport,
    MarkReport,
    ProblemReport,
    ProcedureReport,
    SiteReport,
    StepReport,
)
from asphalt.driver.given_lines import holders
from asphalt.frontend.source_tree.composition import Composition, NotDividedError
from asphalt.frontend.source_tree.inclusions import Inclusions
from asphalt.frontend.source_tree.tree import Tree
from asphalt.unparse.params import HeaderEntry

_NOT_WRITTEN = "a change of this file is not written"
_NUMBERS = r"\d+(?:, \d+)*(?: (?:and|to) \d+)?"
_LINES = re.compile(rf"\blines? ({_NUMBERS})(?! of [\w./-]+\.\w)")
_TOLD = re.compile(rf"\b(lines?) ({_NUMBERS}) of ([\w./-]+\.\w+)")
_PLACE = re.compile(r"(?<![\w./-])([\w./-]+\.\w+):(\d+)\b")


def divided(
    inclusions: Inclusions, changes: Sequence[Change]
) -> tuple[tuple[Change, ...], tuple[ProblemReport, ...]]:
    """The changes of each file by itself, and a note on each that cannot be made in one file."""
    found: dict[Path, Change] = {}
    notes: list[ProblemReport] = []
    edited = _edited(inclusions, changes)
    for change in changes:
        path = str(change.path)
        composition = inclusions.compositions.get(path)
        try:
            if (place := inclusions.included.get(path)) is not None:
                raise NotDividedError(f"{place} includes it, too")
            parts = [change] if composition is None else _parts(composition, change, edited)
            found.update((one.path, one) for one in parts)
        except NotDividedError as why:
            notes.append(ProblemReport(path, None, f"{_NOT_WRITTEN}: {why}", note=True))
    return tuple(sorted(found.values(), key=lambda change: change.path)), tuple(notes)


def _edited(inclusions: Inclusions, changes: Sequence[Change]) -> frozenset[str]:
    """The files with several lines that include them whose text becomes the same in all places."""
    after = {str(change.path): change.after for change in changes}
    found = inclusions.only_in_parts
    while found:
        texts: dict[str, set[bytes | None]] = {}
        for path, one in inclusions.compositions.items():
            try:
                own = one.shared_texts(after.get(path, one.content), found)
            except NotDividedError:
                own = {part.path: {None} for part in one.parts}
            for part, became in own.items():
                texts.setdefault(part, set()).update(became)
        same = frozenset(
            part for part in found if len(texts.get(part, ())) == 1 and None not in texts[part]
        )
        if same == found:
            break
        found = same
    return found


def _parts(composition: Composition, change: Change, edited: frozenset[str]) -> list[Change]:
    """The changes of the files of a composition; one that only it has gets the reports and K and
    D; ``edited`` as for ``Composition.divided``."""
    texts = composition.divided(change.after, edited)
    before = composition.texts
    found = [
        Change(Path(path), before[path], text, (), ())
        for path, text in texts.items()
        if text != before[path]
    ]
    own = (n for n, one in enumerate(found) if one.path.parent == change.path.parent)
    first = next((n for n in own if str(found[n].path) not in edited), None)
    if first is None:  # the header stands beside the including file
        content = before[composition.path]
        found.insert(0, Change(change.path, content, content, (), ()))
        first = 0
    found[first] = replace(found[first], sites=change.sites, parameters=change.parameters)
    return found


class Places:
    """Places in composed text as those in files."""

    def __init__(self, inclusions: Inclusions) -> None:
        self._inclusions = inclusions
        self._compositions = inclusions.compositions
        self._names: dict[str, Composition | None] = {}
        for path, one in self._compositions.items():
            name = os.path.basename(path)
            self._names[name] = None if name in self._names else one

    def site(self, one: SiteReport) -> SiteReport:
        """A report on a site."""
        if not self._compositions:
            return one
        path, line = self.place(one.file, one.line)

        def told(text: str) -> str:
            return self._told(text, one.file, path)

        name, colon, number = one.id.rpartition(":")
        named = f"{name}:{line}" if colon and number == str(one.line) else one.id
        return replace(
            one,
            id=named,
            file=path,
            line=line,
            message=told(one.message),
            witness=None if one.witness is None else told(one.witness),
            cause=None if one.cause is None else replace(one.cause, why=told(one.cause.why)),
            evidence=tuple(map(told, one.evidence)),
            overlaps=tuple(map(told, one.overlaps)),
            ended=None if one.ended is None else told(one.ended),
            marks=tuple(map(self.mark, one.marks)),
            steps=tuple(self._step(step) for step in one.steps),
            dropped=tuple(self._dropped(dropped) for dropped in one.dropped),
        )

    def sites(self, found: Iterable[SiteReport]) -> tuple[SiteReport, ...]:
        """Reports on sites, in the order of their places; none on a line that includes the file in
        which the site is: there are others on what stands in that."""
        refused = self._inclusions.refused
        if not self._compositions and not refused:
            return tuple(found)
        own = (
            one
            for one in map(self.site, found)
            if one.verdict == FINDING or (one.file, one.line) not in refused
        )
        return tuple(sorted(own, key=lambda one: (one.file, one.line)))

    def mark(self, one: MarkReport) -> MarkReport:
        """A mark in the source."""
        path, line = self.place(one.file, one.line)
        last, end = self.place(one.file, one.end_line)
        end = end if last == path else line
        text = self._told(one.text, one.file, path)
        return replace(one, file=path, line=line, end_line=end, text=text)

    def problem(self, one: ProblemReport) -> ProblemReport:
        """A problem of a file."""
        if one.line is None:
            return one
        path, line = self.place(one.file, one.line)
        return replace(one, file=path, line=line, message=self._told(one.message, one.file, path))

    def procedure(self, one: ProcedureReport) -> ProcedureReport:
        """A report on the search for a procedure."""
        path, first = self.place(one.file, one.first)
        last_path, last = self.place(one.file, one.last)
        return replace(
            one,
            file=path,
            first=first,
            last=last if last_path == path else first,
            steps=tuple(map(self._step, one.steps)),
            dropped=tuple(map(self._dropped, one.dropped)),
            ended=self._told(one.ended, one.file, path),
        )

    def change(self, one: Change) -> Change:
        """A change, whose sites and parameters name places."""
        if not self._compositions:
            return one
        entries = tuple(map(self._entry, one.parameters))
        return replace(one, sites=tuple(map(self.site, one.sites)), parameters=entries)

    def file(self, path: str) -> str:
        """The file whose composed text holds that of a file."""
        for including, one in self._compositions.items():
            if path in one.texts:
                return including
        return path

    def composed(self, path: str, line: int) -> tuple[str, int]:
        """File and line of composed text for a place in a file."""
        return self._inclusions.composed(path, line)

    def assumed(self, accepted: frozenset[str], tree: Tree) -> frozenset[str]:
        """Assumptions about lines of files as those about lines of composed text."""
        if not self._compositions or not has_lines(accepted):
            return accepted

        def lines(unit: str, line: int) -> Iterator[tuple[str, int]]:
            composed = self._compositions.values()
            known = (one.line(name, line) for one in composed for name in one.texts)
            found = {
                (held.path, number)
                for number in known
                if number is not None
                for held in holders(tree, unit, number)
                if held.path in self._compositions and _calls(tree, held.path, number)
            }
            found |= {
                (held.path, line)
                for held in holders(tree, unit, line)
                if held.path not in self._compositions
            }
            if len(found) == 1:  # else it is not known which of them is meant
                yield unit, found.pop()[1]

        return with_lines(accepted, lambda unit, line: tuple(lines(unit, line)))

    def _entry(self, one: HeaderEntry) -> HeaderEntry:
        return replace(one, source=self._placed(one.source))

    def _step(self, one: StepReport) -> StepReport:
        path, line = self.place(one.file, one.line)
        because = tuple(self._told(text, one.file, path) for text in one.because)
        does = self._told(one.does, one.file, path)
        return replace(one, file=path, line=line, does=does, because=because)

    def _dropped(self, one: DroppedReport) -> DroppedReport:
        path, line = self.place(one.file, one.line)
        does, why = (self._told(text, one.file, path) for text in (one.does, one.why))
        return replace(one, file=path, line=line, does=does, why=why)

    def place(self, path: str, line: int) -> tuple[str, int]:
        """The place in a file of a line of composed text."""
        composition = self._compositions.get(path)
        return (path, line) if composition is None else composition.place(line)

    def _told(self, text: str, path: str, own: str) -> str:
        """A text about a place of ``path``, of which the reader knows that it is in ``own``."""
        if not self._compositions:
            return text
        composition = self._compositions.get(path)
        if composition is not None:
            text = _LINES.sub(lambda m: _lines(m[0], composition, own), text)
        return self._placed(_TOLD.sub(self._of_file, text))

    def _of_file(self, match: re.Match[str]) -> str:
        one = self._named(match[3])
        if one is None:
            return match[0]
        return _lines(f"{match[1]} {match[2]}", one, "")

    def _placed(self, text: str) -> str:
        return _PLACE.sub(self._of_place, text)

    def _of_place(self, match: re.Match[str]) -> str:
        one = self._named(match[1])
        if one is None:
            return match[0]
        path, line = one.place(int(match[2]))
        name = path if match[1] in self._compositions else os.path.basename(path)
        return f"{name}:{line}"

    def _named(self, name: str) -> Composition | None:
        return self._compositions.get(name) or self._names.get(name)


def _lines(text: str, composition: Composition, own: str) -> str:
    """Line numbers with the name of their file, if it is another one than ``own``."""
    found = [composition.place(int(number)) for number in re.findall(r"\d+", text)]
    files = {path for path, _ in found}
    if len(files) == 1:
        numbers = iter(found)
        text = re.sub(r"\d+", lambda _: str(next(numbers)[1]), text)
        return text if files == {own} else f"{text} of {os.path.basename(files.pop())}"
    places = [f"line {line} of {os.path.basename(path)}" for path, line in found]
    return " and ".join((", ".join(places[:-1]), places[-1])) if len(places) > 1 else places[0]


def _calls(tree: Tree, path: str, line: int) -> bool:
    """Whether a statement in a line calls a procedure."""
    return any(call.line == line for unit in tree.outline(path).units for call in unit.calls)
