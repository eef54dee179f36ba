"""Which files are analysed and changed where another file includes them.

The text of a file that is executed, or holds procedures, stands in the including file's
(``Composition``).  Where exactly one line of the whole program includes it, whatever the branches
of the preprocessor, its text has one meaning, and the file is changed.  Else its text means
something else in each place, and a change that is right in one of them may be wrong in another one:
there it is changed in place of the line that includes it (``Part.shared``).  ``refused`` says why a
file is not read where it is included.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asphalt.config.errors import InputError
from asphalt.config.settings import Settings
from asphalt.frontend.lexical.include_guards import directives
from asphalt.frontend.lexical.preprocess import PREPROCESSED, has_cpp_lines, preprocess
from asphalt.frontend.lexical.source_text import (
    form_by_content,
    has_old_line_ends,
    source_text,
)
from asphalt.frontend.lexical.split import split
from asphalt.frontend.source_tree.compiled_alone import CompiledAlone
from asphalt.frontend.source_tree.composition import Composition, Part, border
from asphalt.frontend.source_tree.include_lines import IncludeLine, IncludeLines, RemovedIncludes
from asphalt.frontend.source_tree.includes import IncludeFiles, is_in_tree, maker_of
from asphalt.frontend.source_tree.scan import FOREIGN, SUFFIXES
from asphalt.frontend.structure.nesting import build
from asphalt.ir.configuration import BORDER
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.tree import Unit, leaves

_KEPT = 16
"""Contents of files of which the file of each line is kept."""
_MORE = re.compile(rb"\b(?:call|do|end|if|include|while|where|subroutine|function)\b|=", re.I)
_PLAIN_CPP = re.compile(rb'#[ \t]*include[ \t]*"[^"\n]*"[ \t\r]*\n?\Z')
_PLAIN_FORTRAN = re.compile(rb"[ \t]*include[ \t]*(['\"])[^'\"\n]*\1[ \t]*(?:!.*)?\r?\n?\Z", re.I)
_FIXED_START = re.compile(rb"[ ]{6}|[ ]{0,5}\t")
_DEFINES = re.compile(rb"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.M)
_PREDEFINED = frozenset({b"unix", b"linux", b"i386"})


@record
class Refusal:
    """An included file that is not analysed in place of the line that includes it, and why.

    ``given``: the file of the tree that has the line, or that includes the file which has it.
    """

    path: str
    why: str
    given: str


@dataclass
class Inclusions:
    """The compositions of a tree, by path, and the lines, by file and number, whose files are not
    composed.  ``included``: other given files that some line may include, with its place.
    ``looked_at``: more files on which that rests.  ``left_out``: the absolute paths of the given
    files that only lines include which the preprocessor removes, and that are no program units by
    themselves: no compiler sees their text.  ``only_in_parts``: the files with several lines that
    include them, all of which are composed."""

    compositions: dict[str, Composition] = field(default_factory=dict)
    refused: dict[tuple[str, int], Refusal] = field(default_factory=dict)
    included: dict[str, str] = field(default_factory=dict)
    looked_at: dict[str, None] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    only_in_parts: frozenset[str] = frozenset()
    _owners: OrderedDict[tuple[str, bytes], list[str]] = field(default_factory=OrderedDict)

    def part_of(self, path: str, content: bytes, unit: Unit) -> str | None:
        """The included file that a unit of a file with some content stands in; None: it is the
        file's own."""
        composition = self.compositions.get(path)
        if composition is None:
            return None
        owners = self._owners_of(composition, content)
        owner = owners[next(leaves(unit)).line - 1]
        return None if owner == path else owner

    def _owners_of(self, composition: Composition, content: bytes) -> list[str]:
        """The file of each line, known for a few contents: trees that an edit apart share this."""
        key = composition.path, content
        found = self._owners.get(key)
        if found is None:
            found = self._owners[key] = composition.owners(content)
        self._owners.move_to_end(key)
        if len(self._owners) > _KEPT:
            self._owners.popitem(last=False)
        return found

    def composed(self, path: str, line: int) -> tuple[str, int]:
        """File and line of composed text for a place in a file."""
        for including, one in self.compositions.items():
            if path in one.texts:
                found = one.line(path, line)
                return including, line if found is None else found
        return path, line

    @property
    def texts(self) -> Mapping[str, bytes]:
        """The files that stand in others, by path."""
        return {
            part.path: one.texts[part.path]
            for one in self.compositions.values()
            for part in one.parts
        }


def inclusions(roots: Sequence[Path], given: Mapping[str, bytes], settings: Settings) -> Inclusions:
    """What becomes of the included files of a tree; ``given``: its Fortran files by path."""
    found = Inclusions()
    if not any(b"include" in content.lower() for content in given.values()):
        return found
    lines = IncludeLines(settings.include_dirs)
    lines.read(given, _others(roots))
    files = IncludeFiles(settings.include_dirs)
    alone = CompiledAlone(given, settings, lines)
    removed = RemovedIncludes(given, settings, lines)
    composing = _Composing(roots, given, settings, lines, found, files, alone, removed)
    for path, content in given.items():
        including = [one for one in lines.meaning(path) if one.including != path and one.name]
        if including and all(map(removed.has, lines.meaning(path))) and alone.is_impossible(path):
            found.left_out |= {os.path.abspath(path)}
        elif including:
            found.included[path] = including[0].place
        elif any(one.found for one in lines.lines[path]):
            composing.compose(path, content)
    for path in found.texts:
        found.included.pop(path, None)
    found.only_in_parts = frozenset(composing.only_in_parts())
    for path in found.included:
        composing.leave(path, path)
    for one in list(found.refused.values()):
        if one.path not in given:
            composing.leave(one.path, one.given)
    return found


def _others(roots: Iterable[Path]) -> Iterator[str]:
    """Files that may include some, beside the Fortran files of a tree: those of other languages in
    it, and those that stand beside files that are given by name."""
    for root in roots:
        if root.is_dir():
            for folder, names, files in os.walk(root):
                names[:] = [name for name in names if not name.startswith(".")]
                yield from (
                    os.path.join(folder, name)
                    for name in sorted(files)
                    if os.path.splitext(name)[1].lower() in FOREIGN
                )
            continue
        beside = str(root.parent)
        for name in sorted(os.listdir(beside)) if os.path.isdir(beside) else ():
            if os.path.splitext(name)[1].lower() in SUFFIXES | FOREIGN:
                yield os.path.normpath(os.path.join(beside, name))


@dataclass
class _Composing:
    roots: Sequence[Path]
    given: Mapping[str, bytes]
    settings: Settings
    lines: IncludeLines
    found: Inclusions
    files: IncludeFiles
    alone: CompiledAlone
    removed: RemovedIncludes
    _why: dict[IncludeLine, str | None] = field(default_factory=dict)
    _taken: set[tuple[str, int]] = field(default_factory=set)

    def compose(self, path: str, content: bytes) -> None:
        """Compose a file, if what comes out can be read."""
        text = _Text(self, path, content)
        try:
            lines, places = text.of(path, content)
        except _UnclearError as why:
            text.refuse(str(why))
            return
        if not text.parts:
            return
        whole = b"".join(lines)
        texts = {path: content} | {p.path: self.lines.contents[p.path] for p in text.parts}
        composition = Composition(path, whole, tuple(places), tuple(text.parts), texts)
        unclear = self._unreadable(composition, text.form)
        if unclear is not None or composition.divided(whole) != texts:
            text.refuse(unclear or "its lines end in different ways")
            return
        self.found.compositions[path] = composition
        self._taken |= text.lines
        for part in text.parts:
            self.found.looked_at[part.path] = None

    def only_in_parts(self) -> Iterator[str]:
        """The files that several lines include, all of them composed."""
        shared = {
            part.path
            for one in self.found.compositions.values()
            for part in one.parts
            if part.shared
        }
        return filter(self._is_only_in_parts, sorted(shared))

    def _is_only_in_parts(self, path: str) -> bool:
        lines = [one for one in self.lines.meaning(path) if not self.removed.has(one)]
        return all(
            (one.including, one.line) in self._taken
            and (one.including in self.found.compositions or self._is_only_in_parts(one.including))
            for one in lines
        )

    def leave(self, path: str, given: str) -> None:
        """Note why what a file includes stays where it is: it is only a part of others itself.
        ``given``: a file of the tree of which it is a part, or which it is."""
        text = _Text(self, given, self.lines.contents[path])
        for one in self.lines.lines[path]:
            place = path, one.line
            if one.found and place not in self.found.refused and text.is_executed(one.found):
                why = self._composable(one) or f"{self._includes(path)} is not edited either"
                self.found.refused[place] = Refusal(one.found, why, given)
                if one.found not in self.given:
                    self.leave(one.found, given)

    def _includes(self, path: str) -> str:
        """A file that others include, in words."""
        places = [one.place for one in self.lines.meaning(path)]
        name = os.path.basename(path)
        return f"{name}, which {places[0]} includes," if places else name

    def _unreadable(self, one: Composition, form: Form) -> str | None:
        """Why composed text cannot be read as compilers read it."""
        source = source_text(one.path, one.content, form, self.settings.width, self.settings.cpp)
        try:
            facts = preprocess(source, self.settings.defines, self.settings.include_dirs)
            leaves, tail = split(source, facts)
            build(source, leaves, tail)
        except InputError as error:
            return f"the text of both together cannot be read: {error.message}"
        if any(BORDER in (leaf.body or "") for leaf in leaves):
            return "a statement goes on in another file"
        return None

    def _composable(self, line: IncludeLine) -> str | None:
        """Why the text of an included file does not stand in place of the line."""
        assert line.found is not None
        if line not in self._why:
            self._why[line] = self._why_not(line, line.found)
        return self._why[line]

    def _why_not(self, line: IncludeLine, path: str) -> str | None:
        for one in self.lines.meaning(path):
            if os.path.splitext(one.including)[1].lower() in FOREIGN:
                return f"{one.place} also includes it"
        if not is_in_tree(path, self.roots):
            return "it is not in the given tree"
        if any(os.path.abspath(root) == os.path.abspath(path) for root in self.roots):
            return "it is also given by itself"
        content = self.lines.contents[path]
        if (maker := maker_of(path, content, self.found.looked_at)) is not None:
            return maker
        text = content.decode("latin-1")
        if not content.strip() or b"\0" in content or content.startswith(b"\xef\xbb\xbf"):
            return "it is no plain text"
        if has_old_line_ends(text) or BORDER.encode() in content:
            return "its lines are unclear"
        inside = any(one.found for one in self.lines.lines[path])
        if inside and os.path.dirname(path) != os.path.dirname(line.including):
            return "it includes files, and is in another directory"
        alone = self.alone.why(line, path, content)
        return alone or self._directives(line, path, content)

    def is_shared(self, line: IncludeLine, path: str) -> bool:
        """Whether other lines than one may include a file."""
        others = (one for one in self.lines.meaning(path) if one != line)
        return not all(map(self.removed.has, others))

    def _directives(self, line: IncludeLine, path: str, content: bytes) -> str | None:
        """Why the preprocessor would make something else of the text in another file."""
        depth = 0
        for one in directives(content.decode("latin-1").split("\n")):
            if one.word in ("if", "ifdef", "ifndef"):
                depth += 1
            elif one.word == "endif" or (one.word.startswith("el") and depth == 0):
                depth -= 1
            if depth < 0:
                break
        if depth:
            return "its conditionals do not end in it"
        if line.preprocessed:
            return None
        if has_cpp_lines(content.decode("latin-1")) or b"/*" in content:
            return "an INCLUDE line names it, and it has lines of the preprocessor"
        if not self._is_preprocessed(line.including):
            return None
        words = set(re.findall(rb"[A-Za-z_]\w*", content))
        macros = {one.partition("=")[0].partition("(")[0].encode() for one in self.settings.defines}
        macros |= _PREDEFINED
        for other in self.lines.contents.values():
            macros.update(_DEFINES.findall(other))
        if words & macros:
            name = sorted(words & macros)[0].decode()
            return f"an INCLUDE line names it, and it has {name}, which is a macro elsewhere"
        return None

    def _is_preprocessed(self, path: str) -> bool:
        text = self.lines.contents[path].decode("latin-1")
        return self.settings.cpp or path.endswith(PREPROCESSED) or has_cpp_lines(text)


class _UnclearError(Exception):
    """Files that cannot be composed; the text says why."""


@dataclass
class _Text:
    """The composed text of one file under construction."""

    composing: _Composing
    path: str
    content: bytes
    parts: list[Part] = field(default_factory=list)
    _at: dict[tuple[str, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text = self.content.decode("latin-1")
        own = self.composing.settings
        self.form = own.form_of(self.path) or form_by_content(self.path, text)
        self.eol = _eol(self.content)

    def refuse(self, why: str) -> None:
        """Note why no line of the file gets the text that it includes."""
        for place, path in self._at.items():
            self.composing.found.refused[place] = Refusal(path, why, self.path)

    def of(
        self, path: str, content: bytes, shared: bool = False
    ) -> tuple[list[bytes], list[tuple[str, int]]]:
        """The lines of a file with what it includes, and their places; ``shared``: the file is one
        that several lines include."""
        wanted = {one.line: one for one in self.composing.lines.lines[path] if one.found}
        lines: list[bytes] = []
        places: list[tuple[str, int]] = []
        for number, line in enumerate(_lines(content), 1):
            one = wanted.get(number)
            if one is None or not self._takes(one, line):
                lines.append(line)
                places.append((path, number))
                continue
            self._at[path, number] = one.found or ""
            is_shared = shared or self.composing.is_shared(one, one.found or "")
            inner, inner_places = self._part(one, line, len(self.parts) + 1, is_shared)
            lines += inner
            places += [(path, number), *inner_places, (path, number)]
        return lines, places

    def _takes(self, one: IncludeLine, line: bytes) -> bool:
        """Whether the text of the included file stands in place of a line."""
        assert one.found is not None
        found, place = self.composing.found, (one.including, one.line)
        if not self.is_executed(one.found) or self.composing.removed.has(one):
            return False
        pattern = _PLAIN_CPP if one.preprocessed else _PLAIN_FORTRAN
        fixed = self.form is Form.FIXED and not one.preprocessed
        if not pattern.fullmatch(line) or (fixed and not _FIXED_START.match(line)):
            found.refused[place] = Refusal(
                one.found, "the line that includes it holds more", self.path
            )
            return False
        why = self.composing._composable(one)
        if why is None and self.eol is None:
            why = "its lines end in different ways"
        if why is not None:
            found.refused[place] = Refusal(one.found, why, self.path)
        return why is None

    @property
    def lines(self) -> frozenset[tuple[str, int]]:
        """File and number of the lines that have become the text that they include."""
        return frozenset(self._at)

    def is_executed(self, path: str) -> bool:
        """Whether a file holds more than declarations."""
        own = self.composing
        if not _MORE.search(own.lines.contents[path]):
            return False
        return own.files.declarations(self.path, os.path.abspath(path), self.form) is None

    def _part(
        self, one: IncludeLine, line: bytes, number: int, shared: bool
    ) -> tuple[list[bytes], list[tuple[str, int]]]:
        assert one.found is not None
        assert self.eol is not None
        content = self.composing.lines.contents[one.found]
        eol = _eol(content)
        if eol is None:
            raise _UnclearError("its lines end in different ways")
        ended = content.endswith(b"\n")
        own = None if eol == self.eol else eol
        self.parts.append(
            Part(one.found, one.including, line, one.preprocessed, ended, own, shared)
        )
        lines, places = self.of(one.found, content if ended else content + eol, shared)
        if own is not None:
            lines = [text.rstrip(b"\r\n") + self.eol for text in lines]
        begin, end = (border(number, word, self.eol) for word in ("begin", "end"))
        return [begin, *lines, end], places


def _eol(content: bytes) -> bytes | None:
    """What all lines of a text end with; None: with different things."""
    crlf = content.count(b"\r\n")
    if content.count(b"\r") != crlf:
        return None
    if crlf == 0:
        return b"\n"
    return b"\r\n" if crlf == content.count(b"\n") else None


def _lines(content: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", content)
