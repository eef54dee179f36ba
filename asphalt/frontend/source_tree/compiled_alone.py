"""Whether a file that another one includes may also be compiled by itself.

It may if it has a suffix of Fortran and is a whole program unit, if nothing includes it in this
configuration, or if what it has is called where no module makes it known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from asphalt.config.errors import InputError
from asphalt.config.library_headers import LIBRARY_HEADERS
from asphalt.config.settings import Settings
from asphalt.frontend.lexical.conditionals import conditionals
from asphalt.frontend.lexical.preprocess import has_cpp_lines, preprocess
from asphalt.frontend.lexical.source_text import SourceText, form_by_content, source_text
from asphalt.frontend.lexical.split import split
from asphalt.frontend.source_tree.include_lines import IncludeLine, IncludeLines
from asphalt.frontend.source_tree.includes import is_mpi_header
from asphalt.frontend.source_tree.scan import FOREIGN, SUFFIXES, words_in
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.frontend.structure.nesting import build
from asphalt.ir.expr import Expr, Ref, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import Decl, Entity, Include, Opaque, Plain, Raw, UnitHead, Use
from asphalt.ir.tree import Leaf, Unit, leaves

_MODULE = re.compile(rb"^[ \t]*module[ \t]+(?!procedure\b)(\w+)", re.I | re.M)
_PROCEDURE = re.compile(rb"^(?!.*!)[^'\"\n]*?\b(?:subroutine|function)[ \t]+(\w+)", re.I | re.M)
_NAME = re.compile(r"[a-z_]\w*")
_END = re.compile(rb"^[ \t]*\d*[ \t]*end", re.I)
_USE = re.compile(rb"^[ \t]*use\b(?:[^\n:!]*::)?[ \t]*(\w+)", re.I | re.M)
# names that mean no procedure of their own: components, and those that types bind to procedures
_COMPONENT = re.compile(rb"%[ \t]*\w+")
_BINDINGS = re.compile(rb"^[ \t]*procedure\b[^\n:]*::[^\n]*", re.M)
_BINDING_NAME = re.compile(rb"\w+[ \t]*=>")
_OF_MPI = ("mpi_", "pmpi_")
_MPI_MODULES = frozenset({"mpi", "mpi_f08"})
_WHOLE = frozenset({"program", "module", "submodule", "block_data"})


@record
class _Words:
    """Names that some modules may declare: ``words``, and what starts with ``beginnings``."""

    words: frozenset[str]
    beginnings: tuple[str, ...]


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

    def is_impossible(self, path: str) -> bool:
        """Whether a compiler certainly refuses a file by itself, in this configuration: kinds of
        a procedure in it, or bounds under IMPLICIT NONE, have names that are declared nowhere."""
        if any(not _is_library_header(one) for one in self.lines.lines[path]):
            return False
        source, own = self._source(path), self.settings
        try:
            facts = preprocess(source, own.defines, own.include_dirs)
            units = build(source, *split(source, facts)).units
        except InputError:
            return False
        if facts is not None and facts.missing:
            return False
        return any(self._lacks_names(interpret_unit(unit)) for unit in units)

    def _lacks_names(self, unit: Unit) -> bool:
        """Whether a procedure names something in its declarations that is declared nowhere."""
        head = None if unit.head is None else unit.head.what
        own = [leaf for node in unit.spec for leaf in leaves(node)]
        whats = [leaf.what for leaf in own]
        brought = [what.path.lower() for what in whats if isinstance(what, Include)]
        unclear = any(isinstance(what, Opaque | Raw) for what in whats)
        unclear |= any(not is_mpi_header(one) and one not in LIBRARY_HEADERS for one in brought)
        if not isinstance(head, UnitHead) or unit.kind not in ("subroutine", "function"):
            return False
        behind = (leaf.what for node in unit.body for leaf in leaves(node))
        if unclear or any(what == Plain("entry") for what in (*whats, *behind)):
            return False
        declared = {unit.name, head.result or "", *head.args}
        needed: set[str] = set()
        plain = [node.what for node in unit.spec if isinstance(node, Leaf)]  # in no interface body
        explicit = any(
            isinstance(w, Decl) and w.kind == "implicit" and "none" in w.attrs for w in plain
        )
        for what in whats:
            if isinstance(what, Decl):
                entities = (*what.entities, *(one for _, group in what.groups for one in group))
                declared.update(entity.name for entity in entities)
                if what in plain:
                    needed.update(_plain_names(what, entities if explicit else None))
            elif isinstance(what, Use):
                declared.update(item.local for item in what.items)
        used = {what.module for what in whats if isinstance(what, Use) and not what.only}
        given = self._words_of_modules(used - _MPI_MODULES)
        if given is None:
            return False
        known = [one for path in brought for one in LIBRARY_HEADERS.get(path, ())]
        beginnings = (*_OF_MPI, *given.beginnings, *known)
        macros = {
            word for define in self.settings.defines for word in _NAME.findall(define.lower())
        }
        lacking = needed - declared - given.words - macros
        return any(not name.startswith(beginnings) for name in lacking)

    def _words_of_modules(self, modules: set[str]) -> _Words | None:
        """The words in the files that have some modules, and those that these use; None: one is not
        in the tree, or includes what is not."""
        homes: dict[str, list[str]] = {}
        for path, content in self.given.items():
            for name in _MODULE.findall(content):
                homes.setdefault(name.lower().decode("latin-1"), []).append(path)
        found, beginnings = set[str](), set[str]()
        seen, waiting = set[str](), [path for name in modules for path in homes.get(name, [""])]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            if path not in self.lines.contents:
                return None
            lowered = self.lines.contents[path].lower()
            if b"##" in lowered or b"/**/" in lowered:  # names may be put together
                return None
            found.update(words_in(lowered))
            used = {name.decode("latin-1") for name in _USE.findall(lowered)} - _MPI_MODULES
            waiting += [home for name in used for home in homes.get(name, [""])]
            for one in self.lines.lines[path]:
                if one.found is None and not _is_library_header(one):
                    return None
                beginnings.update(LIBRARY_HEADERS.get((one.name or "").lower(), ()))
                waiting += [] if one.found is None else [one.found]
        return _Words(frozenset(found), tuple(beginnings))

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


def _is_library_header(line: IncludeLine) -> bool:
    """Whether a line includes a file of a library that is not found."""
    return line.found is None and (line.name or "").lower() in LIBRARY_HEADERS


def _plain_names(decl: Decl, entities: Iterable[Entity] | None) -> Iterator[str]:
    """The names without arguments in the kinds and bounds of a declaration; None: in kinds alone,
    which are named constants, and so never have implicit types."""
    spec = decl.type
    exprs: list[Expr | None] = [] if spec is None else [spec.kind]
    bounds = () if entities is None else (decl.dims, *(entity.dims for entity in entities))
    for dims in bounds:
        exprs += [bound for dim in dims or () for bound in (dim.lower, dim.upper)]
    for expr in exprs:
        for part in () if expr is None else walk(expr):
            if isinstance(part, Ref) and part.args is None:
                yield part.name


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
