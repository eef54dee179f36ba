"""Every MPI call of a tree: in live and dead lines, behind renames and in included text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.frontend.lexical.raw_text import NameOccurrence
from asphalt.frontend.source_tree.includes import find_include, is_mpi_header
from asphalt.frontend.source_tree.outline import Outline, UnitOutline
from asphalt.frontend.source_tree.problems import InputProblem
from asphalt.frontend.source_tree.reading import Reader
from asphalt.ir.program import MpiMention
from asphalt.ir.records import record


@record
class IncludedCall:
    """An MPI call in a file that ``including`` includes in ``line``; ``why`` it is not analysed
    there, as far as that is known."""

    including: str
    line: int
    call: MpiMention
    why: str | None = None


class MpiCalls:
    """The MPI calls of the files that a reader holds."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._renamed: dict[str, frozenset[tuple[str, str]]] | None = None

    def paths(self) -> list[str]:
        """The files that may hold MPI calls, including calls by another name."""
        renames = self._renames()
        entries = self._reader.entries
        found = [path for path in entries if entries[path].has_mpi or path in renames]
        self._reader.read_outlines(found)
        return found

    def operations(self, path: str, unit: UnitOutline) -> frozenset[str]:
        """The MPI procedures that the live statements of a unit call."""
        called = (self._operation(path, call.name) for call in unit.calls)
        return frozenset(operation for operation in called if operation)

    def of_file(self, path: str) -> Iterator[MpiMention]:
        """The MPI calls of a file, in all configurations that count."""
        outline = self._reader.outline(path)
        for unit in outline.units:
            for call in unit.calls:
                if operation := self._operation(path, call.name):
                    yield MpiMention(path, call.line, unit.name, operation)
            for include in unit.includes:
                for operation in self._in_include(path, include.name):
                    yield MpiMention(path, include.line, unit.name, operation)
        for includes, live in ((outline.loose_includes, True), (outline.unread_includes, False)):
            for include in includes:
                for operation in self._in_include(path, include.name):
                    yield MpiMention(path, include.line, "", operation, live)
        alone = self._reader.settings.one_configuration
        for call, live in _outside_units(outline):
            if alone and call in outline.dead_calls:
                continue
            if operation := self._operation(path, call.name):
                around = [u.name for u in outline.units if u.first <= call.line <= u.last]
                name = around[-1] if around else ""
                removed = call in outline.dead_calls
                own = removed and call.name in outline.dead_subroutines
                yield MpiMention(path, call.line, name, operation, live, removed, own)

    def problems(self) -> Iterator[InputProblem]:
        """A note on each INCLUDE line whose file is not found, or whose file holds MPI calls: these
        are found, but not analysed."""
        for path in self.paths():
            outline = self._reader.outline(path)
            unread = set(outline.unread_includes)
            for include in outline.includes:
                if include not in unread and not self._reader.finds(path, include.name):
                    message = f"{include.name} is not found: name its directory with -I"
                    yield InputProblem(path, include.line, message, note=True)
                for operation in dict.fromkeys(self._in_include(path, include.name)):
                    message = f"{operation} in {include.name} is included and not analysed"
                    yield InputProblem(path, include.line, message, note=True)

    def included(self) -> Iterator[IncludedCall]:
        """The MPI calls in included files that are not analysed where they are included."""
        refused = self._reader.inclusions.refused
        for (path, line), one in refused.items():
            if one.given not in self._reader.entries:  # a part of another program
                continue
            content = self._reader.headers.content(one.path)
            for unit, call in self._calls_in_text(one.given, content):
                if operation := self._operation(one.given, call.name):
                    mention = MpiMention(one.path, call.line, unit, operation)
                    yield IncludedCall(path, line, mention, one.why)
        for path in self.paths():
            outline = self._reader.outline(path)
            composition = self._reader.inclusions.compositions.get(path)
            for include in dict.fromkeys((*outline.includes, *outline.loose_includes)):
                place = composition.place(include.line) if composition else (path, include.line)
                found = find_include(place[0], include.name, self._reader.settings.include_dirs)
                if found is None or place in refused:
                    continue
                for unit, call in self._calls_in_include(path, include.name):
                    if operation := self._operation(path, call.name):
                        mention = MpiMention(found, call.line, unit, operation)
                        yield IncludedCall(*place, mention)

    def _operation(self, path: str, called: str) -> str | None:
        """The MPI procedure of a call in a file, or None."""
        if called.startswith(("mpi_", "pmpi_")):
            return called.removeprefix("p")
        for local, operation in self._renames().get(path, ()):
            if local == called:
                return operation.removeprefix("p")
        return None

    def _renames(self) -> dict[str, frozenset[tuple[str, str]]]:
        """For each file the (local name, MPI name) that a use statement of its own, or of a module
        that it can use, makes."""
        if self._renamed is None:
            reader = self._reader
            reader.read_outlines([path for path, entry in reader.entries.items() if entry.has_mpi])
            made = {p: frozenset(o.mpi_renames) for p, o in reader.outlines.items()}
            self._renamed = {path: renames for path, renames in made.items() if renames}
            if self._renamed:
                reader.read_outlines(list(reader.entries))
            for source, renames in list(self._renamed.items()):
                units = reader.outline(source).units
                modules = [unit.name for unit in units if unit.kind == "module"]
                for path in reader.entries if modules else ():
                    text = reader.search_text(path)
                    if any(module in text for module in modules) and any(
                        local in text for local, _ in renames
                    ):
                        known = self._renamed.get(path, frozenset())
                        self._renamed[path] = known | renames
        return self._renamed

    def _in_include(self, path: str, name: str) -> Iterator[str]:
        for _, call in self._calls_in_include(path, name):
            if operation := self._operation(path, call.name):
                yield operation

    def _calls_in_include(self, path: str, name: str) -> Iterator[tuple[str, NameOccurrence]]:
        """The calls in a file that another one includes, each with the name of its procedure."""
        if is_mpi_header(name):
            return
        yield from self._calls_in_text(path, self._reader.included_bytes(path, name))

    def _calls_in_text(self, path: str, content: bytes) -> Iterator[tuple[str, NameOccurrence]]:
        if b"mpi_" not in content.lower():
            return
        outline = self._reader.outline_of_include(path, content)
        yield from (("", call) for call in (*outline.loose_calls, *outline.bound_calls))
        yield from ((unit.name, call) for unit in outline.units for call in unit.calls)


def with_removed(
    found: Iterable[MpiMention], before: Iterable[MpiMention]
) -> tuple[MpiMention, ...]:
    """The calls in a tree of which some files are read without what the preprocessor removes, where
    it stays; ``before``: those in the tree as it was."""
    return (*(m for m in found if not m.removed), *(m for m in before if m.removed))


def _outside_units(outline: Outline) -> Iterator[tuple[NameOccurrence, bool]]:
    """The calls that no unit of the outline contains, and whether they are live.  A binding label
    counts as one: its callers are not known."""
    yield from ((call, True) for call in (*outline.loose_calls, *outline.bound_calls))
    yield from ((call, False) for call in (*outline.dead_calls, *outline.openmp_calls))
