"""The outline of one file, from its split statements: its units, what they call, use and include.

``outlines`` runs in worker processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.preprocess import is_preprocessed
from asphalt.frontend.lexical.raw_text import (
    NameOccurrence,
    at_the_end,
    bound_in,
    called_names,
    calls_in,
    code_of,
    compiled_comments,
    included_by,
    included_for_openmp,
    own_leaves,
    subroutines_in,
    used_in,
)
from asphalt.frontend.lexical.source_text import SourceText, has_old_line_ends
from asphalt.frontend.lexical.split import split
from asphalt.frontend.source_tree.cache import pack
from asphalt.frontend.source_tree.file_text import Edit, FileText
from asphalt.frontend.source_tree.file_text import Request as Request
from asphalt.frontend.source_tree.index import live_text
from asphalt.frontend.source_tree.problems import InputProblem, problem_of
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.tree import File, Leaf, Unit, leaves, units_in


@record
class UnitOutline:
    """A unit, in the order of ``units_in``.

    ``host`` is the position of the unit that contains it.  ``calls`` are the procedures that its
    own live statements call, ``uses`` the modules; ``includes`` its INCLUDE lines (names as
    spelled).
    """

    kind: str
    name: str
    host: int | None
    first: int
    last: int
    calls: tuple[NameOccurrence, ...]
    includes: tuple[NameOccurrence, ...]
    uses: tuple[str, ...]


@record
class Outline:
    """The outline of a file.

    ``loose_calls`` stand in statements that belong to no unit; if the file could not be read as a
    tree (``broken``), these are all calls.  ``dead_calls`` stand in lines that the preprocessor
    removes, which begin ``dead_subroutines``; ``openmp_calls`` in those that only OpenMP compilers
    read.  ``loose_includes`` are the
    INCLUDE lines between program units and behind CONTAINS, which may bring in whole procedures;
    ``unread_includes`` those that only OpenMP compilers read, and all of a broken file.
    ``mpi_renames`` are (local name, MPI name) of USE statements.  ``bound_calls`` are the MPI
    procedures that binding labels name: their callers by the Fortran name are not searched for.
    ``expanded`` is the live text, in lower case, if the preprocessor changes words.
    """

    cpp: bool
    units: tuple[UnitOutline, ...] = ()
    loose_calls: tuple[NameOccurrence, ...] = ()
    dead_calls: tuple[NameOccurrence, ...] = ()
    dead_subroutines: frozenset[str] = frozenset()
    openmp_calls: tuple[NameOccurrence, ...] = ()
    loose_includes: tuple[NameOccurrence, ...] = ()
    unread_includes: tuple[NameOccurrence, ...] = ()
    mpi_renames: tuple[tuple[str, str], ...] = ()
    bound_calls: tuple[NameOccurrence, ...] = ()
    expanded: str | None = None
    broken: bool = False
    problems: tuple[InputProblem, ...] = ()

    @property
    def includes(self) -> tuple[NameOccurrence, ...]:
        """All INCLUDE lines of the file."""
        inside = (include for unit in self.units for include in unit.includes)
        return (*inside, *self.loose_includes, *self.unread_includes)


Occurrences = tuple[NameOccurrence, ...]


def outlines(requests: Sequence[Request]) -> bytes:
    """The packed outlines of several files."""
    return pack(tuple(outline(request) for request in requests))


def outline(request: Request) -> Outline:
    """The outline of a file, with its ``problems``."""
    return outline_of(FileText(request))


def outline_of(text: FileText) -> Outline:
    """The outline of a file from its text, with its ``problems``."""
    source = text.source
    cpp = is_preprocessed(source.path, source.text, text.request.defines, source.cpp)
    try:
        facts = text.facts
    except InputError as error:
        raw = split(source)[0]
        return Outline(
            cpp,
            loose_calls=(*calls_in(raw, source.form), *bound_in(raw)),
            unread_includes=tuple(included_by(raw)),
            broken=True,
            problems=(problem_of(error),),
        )
    live, tail = text.statements
    all_lines = (*live, at_the_end(tail))
    dead = _dead(source, facts)
    partial = Outline(
        cpp,
        dead_calls=(*calls_in(dead, source.form), *bound_in(dead)),
        dead_subroutines=frozenset(subroutines_in(dead, source.form)),
        openmp_calls=tuple(_conditional_calls(all_lines, source.form)),
        mpi_renames=tuple(_mpi_renames(live)),
        unread_includes=tuple(included_for_openmp(all_lines)),
        bound_calls=tuple(bound_in(live)),
        expanded=_expanded(source, facts),
        problems=tuple(_notes(source, facts)),
    )
    try:
        file = text.file
    except InputError as error:
        return replace(
            partial,
            loose_calls=tuple(calls_in(_meant(source, live), source.form)),
            unread_includes=(*included_by(live), *partial.unread_includes),
            broken=True,
            problems=(problem_of(error), *partial.problems),
        )
    loose = tuple(calls_in(file.stray, source.form))
    if any("mpi_" in call.name for call in loose):
        message = "statements of no program unit, with MPI calls that are not analysed"
        problem = InputProblem(source.path, loose[0].line, message)
        partial = replace(partial, problems=(problem, *partial.problems))
    units = tuple(_unit_outlines(file))
    inside = {include for unit in units for include in unit.includes}
    between = tuple(include for include in included_by(live) if include not in inside)
    return replace(partial, units=units, loose_calls=loose, loose_includes=between)


def outline_again(before: Outline, edit: Edit, text: FileText) -> Outline | None:
    """The outline of an edited file; None: it has to be read as a whole.

    ``before``: the outline before the edit.
    """
    if before.cpp or before.broken or before.loose_calls:
        return None
    if b"bind" in text.request.content.lower():
        return None  # binding labels concern all literals of the file
    new = outline_of(edit.text)
    if new.broken or new.loose_calls or before.mpi_renames or new.mpi_renames:
        return None
    first, last = edit.numbers(before.units)
    moved = edit.line - 1

    def places(old: Occurrences, now: Occurrences) -> Occurrences:
        """Those before the edit, in its place, behind it, and behind all statements."""
        return (
            *(one for one in old if 0 < one.line < edit.line),
            *_moved(now, moved),
            *_moved((one for one in old if one.line >= edit.end), edit.shift),
            *(one for one in old if one.line == 0),
        )

    more = len(new.units) - (last - first)
    return replace(
        before,
        units=(
            *before.units[:first],
            *(_moved_unit(unit, moved, first) for unit in new.units),
            *(_moved_unit(unit, edit.shift, more) for unit in before.units[last:]),
        ),
        openmp_calls=places(before.openmp_calls, new.openmp_calls),
        loose_includes=places(before.loose_includes, new.loose_includes),
        unread_includes=places(before.unread_includes, new.unread_includes),
        problems=tuple(_notes(text.source, None)),
    )


def _moved_unit(unit: UnitOutline, lines: int, units: int) -> UnitOutline:
    """A unit so many lines further down, behind so many units more."""
    return replace(
        unit,
        host=None if unit.host is None else unit.host + units,
        first=unit.first + lines,
        last=unit.last + lines,
        calls=_moved(unit.calls, lines),
        includes=_moved(unit.includes, lines),
    )


def _moved(places: Iterable[NameOccurrence], lines: int) -> Occurrences:
    return tuple(NameOccurrence(one.name, one.line + lines) for one in places)


def _meant(source: SourceText, live: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
    """The statements of a file that is not a tree, and those that its lines may hold where
    compilers see only one line."""
    if not has_old_line_ends(source.text):
        return live
    lines = source.text.replace("\r\n", "\n").replace("\r", "\n")
    return split(replace(source, text=lines))[0]


_USE = re.compile(r"use\b")
_RENAME = re.compile(r"(\w+)\s*=>\s*(p?mpi_\w+)")


def _unit_outlines(file: File) -> Iterator[UnitOutline]:
    hosts: dict[int, int] = {}
    for position, unit in enumerate(units_in(file)):
        hosts |= {id(inner): position for inner in unit.contained}
        first, last = _lines(unit)
        own = list(own_leaves(unit))
        includes = tuple(included_by(own))
        calls = tuple(calls_in(own, file.form))
        uses = tuple(dict.fromkeys(used_in(own, file.form)))
        host = hosts.get(id(unit))
        yield UnitOutline(unit.kind, unit.name, host, first, last, calls, includes, uses)


def _lines(unit: Unit) -> tuple[int, int]:
    spans = [leaf.span for leaf in leaves(unit) if leaf.span is not None]
    return (spans[0].first, spans[-1].last) if spans else (0, 0)


def _mpi_renames(live: Iterable[Leaf]) -> Iterator[tuple[str, str]]:
    for leaf in live:
        code = code_of(leaf).lower()
        if "mpi_" in code and "=>" in code and _USE.match(code.lstrip()):
            yield from _RENAME.findall(code)


def _dead(source: SourceText, facts: CppFacts | None) -> Sequence[Leaf]:
    """The statements that the preprocessor removes."""
    if facts is None or not facts.dead:
        return ()
    lines = source.text.split("\n")
    kept = [line if n in facts.dead else "" for n, line in enumerate(lines, 1)]
    return split(replace(source, text="\n".join(kept)))[0]


def _conditional_calls(live: Iterable[Leaf], form: Form) -> Iterator[NameOccurrence]:
    for text, line in compiled_comments(live, form):
        for name in called_names(text, Form.FREE):
            yield NameOccurrence(name, line)


def _expanded(source: SourceText, facts: CppFacts | None) -> str | None:
    if facts is None or not (facts.changed or facts.included):
        return None
    return "\n".join([live_text(source, facts), *facts.included.values()]).lower()


_FIXED_IN_FREE = re.compile(r"^[cC*][ \t]+[^=\s(%&].*$", re.M)
_FREE_IN_FIXED = re.compile(
    r"^ {0,4}(?:module|program|subroutine|function|use|implicit|integer|real|if|else)\b[^\n]*",
    re.M | re.I,
)


def _notes(source: SourceText, facts: CppFacts | None) -> Iterator[InputProblem]:
    for line, name in facts.missing if facts else ():
        message = f"{name} is not found and taken as empty: name its directory with -I"
        yield InputProblem(source.path, line, message, note=True)
    other = _FIXED_IN_FREE if source.form is Form.FREE else _FREE_IN_FIXED
    found = list(other.finditer(source.text))
    if len(found) >= (3 if source.form is Form.FREE else 1):
        line = source.text.count("\n", 0, found[0].start()) + 1
        name = "fixed" if source.form is Form.FREE else "free"
        message = f"read as {source.form.value} form, but this looks like {name} form: set the form"
        yield InputProblem(source.path, line, message, note=True)
