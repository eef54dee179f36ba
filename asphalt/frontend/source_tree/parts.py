"""The interpreted statements of a file: as a whole, or unit by unit.

Most of these functions run in worker processes; each takes a ``Request`` and gives something that
packs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace

from asphalt.frontend.lexical.raw_text import (
    at_the_end,
    code_of,
    compiled_comments,
    names_in_code,
    own_leaves,
)
from asphalt.frontend.source_tree.cache import pack, unpack
from asphalt.frontend.source_tree.file_text import FileText, Request, edit_of
from asphalt.frontend.source_tree.index import index_file
from asphalt.frontend.source_tree.outline import Outline, outline_again
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.ir.moved_lines import moved_unit
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.stmt import Opaque, Plain
from asphalt.ir.tree import File, Leaf, Unit, leaves


@record
class UnitParts:
    """The units of a file in the order of ``units_in``, each by itself.

    ``units`` may be packed; a contained unit is represented by its head and one opaque statement
    that holds every name in it.  ``words`` are the names in the own statements of each unit,
    ``loose`` those in statements of no unit: one a line, with a line break at both ends.
    """

    units: tuple[KeptUnit, ...]
    words: tuple[str, ...]
    loose: str


@record
class MovedUnit:
    """A unit that stands ``lines`` lines further down than it did."""

    unit: bytes | Unit
    lines: int

    @classmethod
    def of(cls, kept: KeptUnit, lines: int) -> KeptUnit:
        """A unit that stands so many lines further down than a kept one."""
        before = kept.lines if isinstance(kept, MovedUnit) else 0
        unit = kept.unit if isinstance(kept, MovedUnit) else kept
        return unit if before + lines == 0 else cls(unit, before + lines)


KeptUnit = bytes | Unit | MovedUnit


def kept_unit(kept: KeptUnit) -> Unit:
    """A unit of ``UnitParts``."""
    moved = kept.lines if isinstance(kept, MovedUnit) else 0
    unit = kept.unit if isinstance(kept, MovedUnit) else kept
    found = unpack(unit) if isinstance(unit, bytes) else unit
    assert isinstance(found, Unit)
    return moved_unit(found, moved)


@record
class ReadFile:
    """A file that has been read: its content, and what that means."""

    content: bytes
    outline: Outline
    file: File
    parts: UnitParts


def interpreted(request: Request) -> tuple[bytes, bytes]:
    """The packed tree of a file with every statement interpreted, and its packed ``UnitParts``.

    Raises InputError.
    """
    file = FileText(request).file
    units = tuple(interpret_unit(unit, deep=True) for unit in file.units)
    return pack(replace(file, units=units)), pack(_parts(file, units, pack))


def read_in_place(text: FileText) -> tuple[File, UnitParts]:
    """The tree of a file and its ``UnitParts``, not packed; raises InputError.

    This is for text that asphalt has printed from a tree: all of its statements can be read.
    """
    file = text.file
    units = tuple(interpret_unit(unit, deep=True) for unit in file.units)
    return replace(file, units=units), _parts(file, units, _as_it_is)


def read_again(before: ReadFile, text: FileText) -> ReadFile | None:
    """An edited file, of which only the units are read that the edit has changed; None: it has to
    be read as a whole."""
    edit = edit_of(before.file, before.content, text)
    if edit is None:
        return None
    raw = edit.text.file
    outline = outline_again(before.outline, edit, text)
    if outline is None:
        return None
    units = tuple(interpret_unit(unit, deep=True) for unit in raw.units)
    own = _parts(raw, units, _as_it_is)
    file = replace(
        before.file,
        eol=text.source.eol,
        units=(
            *before.file.units[: edit.first],
            *(moved_unit(unit, edit.line - 1) for unit in units),
            *(moved_unit(unit, edit.shift) for unit in before.file.units[edit.last :]),
        ),
    )
    first, last = edit.numbers(before.outline.units)
    kept, words = before.parts.units, before.parts.words
    found = UnitParts(
        (
            *kept[:first],
            *(MovedUnit.of(unit, edit.line - 1) for unit in own.units),
            *(MovedUnit.of(unit, edit.shift) for unit in kept[last:]),
        ),
        (*words[:first], *own.words, *words[last:]),
        before.parts.loose,
    )
    return ReadFile(text.request.content, outline, file, found)


def parts(request: Request) -> tuple[bytes]:
    """The packed ``UnitParts`` of a file alone; raises InputError."""
    file = FileText(request).file
    units = tuple(interpret_unit(unit, deep=True) for unit in file.units)
    return (pack(_parts(file, units, pack)),)


def indexed(request: Request) -> bytes:
    """The packed symbol index of a file; raises InputError."""
    text = FileText(request)
    return pack(index_file(text.source, text.facts))


def unread_file(request: Request, reason: str) -> File:
    """The tree of a file that was split but whose statements could not be interpreted."""
    file = FileText(request).file
    return replace(file, units=tuple(_opaque(unit, reason) for unit in file.units))


def unread_parts(request: Request, reason: str) -> UnitParts:
    """The parts of a file that was split but whose statements could not be interpreted."""
    file = FileText(request).file
    return _parts(file, tuple(_opaque(unit, reason) for unit in file.units), pack)


def _as_it_is(unit: Unit) -> Unit:
    return unit


def _parts(
    file: File, interpreted_units: tuple[Unit, ...], form: Callable[[Unit], bytes | Unit]
) -> UnitParts:
    """The parts of a file, from its uninterpreted tree and its interpreted units; ``form``: in
    which form each unit is kept."""
    found = _Found(file.form, form)
    for raw, unit in zip(file.units, interpreted_units, strict=True):
        found.add(raw, unit)
    loose = {name for leaf in file.stray for name in names_in_code(code_of(leaf), file.form)}
    for text, _ in compiled_comments((*file.stray, at_the_end(file.tail)), file.form):
        loose |= set(names_in_code(text, file.form))
    return UnitParts(tuple(found.kept), tuple(found.words), _lines(loose))


@record
class _Found:
    """The parts of the units of a file, in their order."""

    source: Form
    form: Callable[[Unit], bytes | Unit]
    kept: list[KeptUnit] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def add(self, raw: Unit, unit: Unit) -> tuple[Unit, frozenset[str]]:
        """Add a unit with those in it; return what represents it in its host, and all names in
        it."""
        at = len(self.kept)
        own = frozenset(_own_names(raw, self.source))
        self.kept.append(unit)
        self.words.append(_lines(own))
        inner = [self.add(r, u) for r, u in zip(raw.contained, unit.contained, strict=True)]
        self.kept[at] = self.form(replace(unit, contained=tuple(shell for shell, _ in inner)))
        names = own.union(*(names for _, names in inner))
        text = " ".join(sorted(names))
        statement = Leaf(Opaque(text, "it stands in another unit", names), body=text)
        shell = Unit(unit.kind, unit.name, unit.head, (), (statement,), None, (), unit.end)
        return shell, names


def _own_names(unit: Unit, form: Form) -> Iterator[str]:
    for leaf in own_leaves(unit):
        if leaf is unit.end:
            continue
        names = names_in_code(code_of(leaf), form)
        yield from (n for n in names if n != unit.name) if leaf is unit.head else names
    for text, _ in compiled_comments(own_leaves(unit), form):
        yield from names_in_code(text, form)


def _lines(names: Iterable[str]) -> str:
    return "\n" + "".join(f"{name}\n" for name in sorted(names))


def _opaque(unit: Unit, reason: str) -> Unit:
    """The unit with every statement opaque, flat: its constructs do not count either."""

    def opaque(leaf: Leaf) -> Leaf:
        code = code_of(leaf)
        return replace(leaf, what=Opaque(code, reason, frozenset(names_in_code(code, Form.FREE))))

    return replace(
        unit,
        head=opaque(unit.head) if unit.head else None,
        spec=tuple(opaque(leaf) for node in unit.spec for leaf in leaves(node)),
        body=tuple(opaque(leaf) for node in unit.body for leaf in leaves(node)),
        contains=replace(unit.contains, what=Plain("contains")) if unit.contains else None,
        contained=tuple(_opaque(inner, reason) for inner in unit.contained),
        end=replace(unit.end, what=Plain("end")),
    )
