"""Whether a file that another one includes may also be compiled by itself.

It may if it has a suffix of Fortran and is a whole program unit, if nothing includes it in this
configuration, or if what it has is called where no module makes it known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from asphalt.config.errors import InputError
from asphalt.config.settings import Settings
from asphalt.frontend.lexical.conditionals import conditionals
from asphalt.frontend.lexical.preprocess import has_cpp_lines
from asphalt.frontend.lexical.source_text import SourceText, form_by_content, source_text
from asphalt.frontend.lexical.split import split
from asphalt.frontend.source_tree.include_lines import IncludeLine, IncludeLines
from asphalt.frontend.source_tree.scan import FOREIGN, SUFFIXES, words_in
from asphalt.frontend.structure.nesting import build
from asphalt.ir.tree import Unit, leaves

_MODULE = re.compile(rb"^[ \t]*module[ \t]+(?!procedure\b)(\w+)", re.I | re.M)
_PROCEDURE = re.compile(rb"^(?!.*!)[^'\"\n]*?\b(?:subroutine|function)[ \t]+(\w+)", re.I | re.M)
_END = re.compile(rb"^[ \t]*\d*[ \t]*end", re.I)
_USE = re.compile(rb"^[ \t]*use\b(?:[^\n:!]*::)?[ \t]*(\w+)", re.I | re.M)
# names that mean no procedure of their own: components, and those that types bind to procedures
_COMPONENT = re.compile(rb"%[ \t]*\w+")
_BINDINGS = re.compile(rb"^[ \t]*procedure\b[^\n:]*::[^\n]*", re.M)
_BINDING_NAME = re.compile(rb"\w+[ \t]*=>")
_WHOLE = frozenset({"program", "module", "submodule", "block_data"})


@dataclass
class CompiledAlone:
    """The files that a tree includes; ``given``: the Fortran files of the tree by path."""

    given: Mapping[str, bytes]
    settings: Settings
    lines: IncludeLines
    _words: dict[str, frozenset[bytes]] = field(default_factory=dict)

    def why(self, line: IncludeLine, path: str, content: bytes) -> str | None:
        """Why a file that a line includes may be compiled by itself, too."""
        if os.path.splitext(path)[1].lower() not in SUFFIXES:
            return None
        if self._is_left_out(line):
            return "the preprocessor leaves it out here, so that it may be compiled by itself"
        source = self._source(path)
        try:
            units = build(source, *split(source)).units
        except InputError:
            return None
        if any(unit.kind in _WHOLE and unit.head is not None for unit in units):
            return "it is a whole program unit, which may also be compiled by itself"
        names = {unit.name.encode() for unit in units if unit.head is not None}
        where = self._called_without_module(line, path, names)
        if where is None:
            return None
        return f"it may also be compiled by itself: {os.path.basename(where)} may call what it has"

    def _is_left_out(self, line: IncludeLine) -> bool:
        """Whether the preprocessor may remove a line that includes a file."""
        source = self._source(line.including)
        own = self.settings
        if not has_cpp_lines(source.text):
            return False
        found = conditionals(source, own.defines, own.include_dirs)
        return not found.clear or found.path(line.line) is None

    def _source(self, path: str) -> SourceText:
        content, own = self.lines.contents[path], self.settings
        form = own.form_of(path) or form_by_content(path, content.decode("latin-1"))
        return source_text(path, content, form, own.width, own.cpp)

    def _called_without_module(self, line: IncludeLine, path: str, names: set[bytes]) -> str | None:
        """A file that names a procedure and uses no module that has it."""
        own = {line.including, path}
        modules = {name.lower() for name in _MODULE.findall(self.lines.contents[line.including])}
        used = {
            other: {name.lower() for name in _USE.findall(content)}
            for other, content in self.given.items()
        }
        more = True
        while more:
            seen = {other for other, uses in used.items() if uses & modules}
            of_these = {m.lower() for other in seen for m in _MODULE.findall(self.given[other])}
            more = not of_these <= modules
            modules |= of_these
        for other, content in self.given.items():
            if other in own or used[other] & modules or self._is_below(other, own):
                continue
            called = names & self._words_of(other, content)
            if called - self._procedures_of(other) or self._called_elsewhere(other, called):
                return other
        for other, content in self.lines.contents.items():
            if os.path.splitext(other)[1].lower() in FOREIGN and other not in self.given:
                lowered = content.lower()
                if any(re.search(rb"(?<!\w)" + name + rb"__?(?!\w)", lowered) for name in names):
                    return other
        return None

    def _procedures_of(self, path: str) -> frozenset[bytes]:
        """The procedures that a file has itself, with what it includes, or what includes it: what
        it calls by their names may be these.  None, if it may declare external ones by these
        names."""
        around = {path, *(one.including for one in self.lines.meaning(path))}
        below = [self.lines.lines.get(other, ()) for other in around]
        around.update(one.found for lines in below for one in lines if one.found is not None)
        texts = [self.lines.contents.get(other, b"").lower() for other in around]
        if any(word in text for text in texts for word in (b"interface", b"external")):
            return frozenset()
        return frozenset(
            found[1]
            for text in texts
            for found in _PROCEDURE.finditer(text)
            if not _END.match(found[0])
        )

    def _called_elsewhere(self, path: str, names: set[bytes]) -> bool:
        """Whether a file has procedures with some names, and names them where these are not known:
        a unit that contains a procedure, and what it contains, know it."""
        source = self._source(path)
        found = {one[1] for one in _PROCEDURE.finditer(source.text.lower().encode("latin-1"))}
        if not names & found:
            return False
        try:
            units = build(source, *split(source)).units
        except InputError:
            return True
        known = {unit.name.encode("latin-1") for unit in units}
        return any(_names_unknown(unit, names & found, known) for unit in units)

    def _is_below(self, path: str, own: set[str]) -> bool:
        """Whether a file is included by one of some."""
        return any(one.including in own for one in self.lines.meaning(path))

    def _words_of(self, path: str, content: bytes) -> frozenset[bytes]:
        if path not in self._words:
            self._words[path] = _names_of_procedures(re.sub(rb"![^\n]*", b"", content.lower()))
        return self._words[path]


def _names_of_procedures(code: bytes) -> frozenset[bytes]:
    """The words in a text that may be names of procedures."""
    code = _COMPONENT.sub(b"%", code)
    code = _BINDINGS.sub(lambda found: _BINDING_NAME.sub(b"", found[0]), code)
    return frozenset(word.encode("latin-1") for word in words_in(code))


def _names_unknown(unit: Unit, names: set[bytes], known: set[bytes]) -> bool:
    """Whether a unit names, or one that it contains, what is neither ``known`` nor contained."""
    known = known | {one.name.encode("latin-1") for one in unit.contained}
    own = (leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node))
    for leaf in own:
        text = (leaf.body or "").lower().encode("latin-1", "replace")
        words = _names_of_procedures(text) | {name.encode("latin-1") for name in leaf.cut}
        if (words & names) - known:
            return True
    return any(_names_unknown(one, names, known) for one in unit.contained)
