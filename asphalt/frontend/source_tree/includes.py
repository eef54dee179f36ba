"""Files that a source file includes: where they are, what makes them, and what they declare."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.preprocess import is_mpi_header as is_mpi_header
from asphalt.frontend.lexical.source_text import SourceText, read_source
from asphalt.frontend.source_tree.cache import pack
from asphalt.frontend.source_tree.scan import expands_to_mpi, words_in
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.stmt import Include
from asphalt.ir.tree import Leaf, Node

_INCLUDE = b"include"  # no pattern is searched in a file without it
_CPP_INCLUDE = re.compile(rb'^#[ \t]*include[ \t]*["<]([^">\n]*)[">]', re.M)
_FORTRAN_INCLUDE = re.compile(rb"include[ \t]*(['\"])([^'\"\n]*)\1")  # in lower case
_BEFORE_INCLUDE = re.compile(rb"(?:[ \t]*[!c*]\$)?[ \t0-9]*")

_SPLIT_INCLUDE = re.compile(
    rb"[\s&]*".join([*map(bytes, zip(b"include")), rb"(['\"])([^'\"\n]*)\1"]), re.I
)

_MADE = re.compile(
    rb"generated (?:by|from|automatically)|automatically generated|do not edit", re.I
)
_TEMPLATES = (".in", ".m4", ".fypp", ".fyp", ".pl", ".erb", ".j2", ".jinja", ".tpl", ".tmpl")
_MAKEFILE = re.compile(r"(?:gnu)?makefile.*|.*\.mk|.*\.make", re.I)


def find_include(including: str, name: str, include_dirs: Sequence[str]) -> str | None:
    """The path of an included file: beside the including one, else in ``include_dirs``."""
    for directory in (os.path.dirname(including), *include_dirs):
        path = os.path.normpath(os.path.join(directory, name))
        if os.path.isfile(path):
            return path
    return None


@dataclass(slots=True)
class Headers:
    """The preprocessor headers of a tree; each is read once."""

    include_dirs: Sequence[str]
    found: set[str] = field(default_factory=set)
    """The files that a file of the tree includes, with absolute paths."""
    _contents: dict[str, bytes] = field(default_factory=dict)
    _words: dict[str, frozenset[str]] = field(default_factory=dict)

    def digest(self, path: str, content: bytes) -> bytes:
        """A digest of every file that ``content`` can include, found or not."""
        digest = hashlib.blake2b(digest_size=16)
        for name, found, text in self._below(path, content, set()):
            digest.update(f"{name}\0{found}\0{len(text)}\0".encode("utf-8", "surrogateescape"))
            digest.update(text)
        return digest.digest()

    def hold(self, path: str, content: bytes, lowered_names: Sequence[bytes]) -> bool:
        """Whether a file that ``content`` can include holds one of the names."""
        return any(
            name in text.lower()
            for _, _, text in self._below(path, content, set())
            for name in lowered_names
        )

    def content(self, path: str) -> bytes:
        """The bytes of an included file; empty where it cannot be read."""
        return self._read(path)

    def bring_mpi(self, path: str, content: bytes, defines: Sequence[str], *, cpp: bool) -> bool:
        """Whether what a file includes, or a macro of the configuration, makes an MPI name."""
        if cpp and self.hold(path, content, [b"mpi_"]):
            return True
        lowered = content.lower()
        if expands_to_mpi(defines, lowered):
            return True
        if _INCLUDE not in lowered:
            return False
        names = (name for name in included_names(content) if not is_mpi_header(name))
        found = (find_include(path, name, self.include_dirs) for name in names)
        return any(b"mpi_" in self._read(one).lower() for one in found if one is not None)

    def words(self, path: str, name: str) -> frozenset[str]:
        """The folded words of a file that ``path`` includes, and of those that this one includes;
        none of the header of an MPI library."""
        return frozenset().union(*self._words_below(path, name, set()))

    def _words_below(self, path: str, name: str, seen: set[str]) -> Iterator[frozenset[str]]:
        found = find_include(path, name, self.include_dirs)
        if found is None or is_mpi_header(name) or found in seen:
            return
        seen.add(found)
        content = self._read(found)
        if found not in self._words:
            self._words[found] = frozenset(words_in(content.lower()))
        yield self._words[found]
        for inner in included_names(content):
            yield from self._words_below(found, inner, seen)

    def _below(
        self, path: str, content: bytes, seen: set[str]
    ) -> Iterator[tuple[str, str | None, bytes]]:
        for match in _cpp_includes(content):
            name = os.fsdecode(match[1])
            found = find_include(path, name, self.include_dirs)
            if found is None:
                yield name, None, b""
            elif found not in seen:
                seen.add(found)
                self.found.add(os.path.abspath(found))
                text = self._read(found)
                yield name, found, text
                yield from self._below(found, text, seen)

    def _read(self, path: str) -> bytes:
        if path not in self._contents:
            try:
                self._contents[path] = Path(path).read_bytes()
            except OSError:
                self._contents[path] = b""
        return self._contents[path]


def included_names(content: bytes) -> Iterator[str]:
    """The names of the INCLUDE lines in a file (an over-approximation)."""
    lowered = content.lower()
    for match in _FORTRAN_INCLUDE.finditer(lowered):
        line = lowered.rfind(b"\n", 0, match.start()) + 1
        if _BEFORE_INCLUDE.fullmatch(lowered, line, match.start()):
            yield os.fsdecode(content[match.start(2) : match.end(2)])


def names_in_includes(content: bytes) -> Iterator[str]:
    """The names in all lines that may include a file, the preprocessor's or Fortran's."""
    yield from included_names(content)
    yield from (os.fsdecode(match[1]) for match in _cpp_includes(content))


def _cpp_includes(content: bytes) -> Iterator[re.Match[bytes]]:
    """The lines of the preprocessor that include a file."""
    if b"#" in content and _INCLUDE in content:
        yield from _CPP_INCLUDE.finditer(content)


def names_in_included(content: bytes) -> Iterator[str]:
    """The names of the INCLUDE lines in a file that is included itself, and may be of either
    form."""
    yield from names_in_includes(content)
    yield from split_included_names(content)


def split_included_names(content: bytes) -> Iterator[str]:
    """The names of INCLUDE lines, however blanks and continuations divide these (an
    over-approximation)."""
    return (os.fsdecode(match[2]) for match in _SPLIT_INCLUDE.finditer(content))


@record
class IncludeRequest:
    """An INCLUDE line of a file, and where to search."""

    including: str
    name: str
    form: Form
    include_dirs: tuple[str, ...]


def declared(request: IncludeRequest) -> bytes:
    """The result of ``IncludeFiles.declarations``, packed: a tuple that holds it, or () for
    None."""
    files = IncludeFiles(request.include_dirs)
    nodes = files.declarations(request.including, request.name, request.form)
    return pack(() if nodes is None else (nodes,))


@dataclass(slots=True)
class IncludeFiles:
    """The Fortran include files of a tree, interpreted; each is read once."""

    include_dirs: Sequence[str]
    _nodes: dict[tuple[str, Form], tuple[Node, ...] | None] = field(default_factory=dict)

    def declarations(self, including: str, name: str, form: Form) -> tuple[Node, ...] | None:
        """The declarations of an include file and of those it includes; () for the MPI header;
        None where it is not found, cannot be read, or holds more than declarations."""
        if is_mpi_header(name):
            return ()
        path = find_include(including, name, self.include_dirs)
        if path is None:
            return None
        key = (path, form)
        if key not in self._nodes:
            self._nodes[key] = None  # for a file that includes itself
            self._nodes[key] = self._read(path, form)
        return self._nodes[key]

    def _read(self, path: str, form: Form) -> tuple[Node, ...] | None:
        try:
            source = read_source(path, form)
            file = parse_file(_as_program(source))
        except InputError:
            return None
        if len(file.units) != 1 or file.stray or file.units[0].contained:
            return None
        unit = interpret_unit(file.units[0])
        if unit.body:
            return None
        nodes: list[Node] = []
        for node in unit.spec:
            if isinstance(node, Leaf) and isinstance(node.what, Include):
                inner = self.declarations(path, node.what.path, form)
                if inner is None:
                    return None
                nodes.extend(inner)
            else:
                nodes.append(node)
        return tuple(nodes)


def _as_program(source: SourceText) -> SourceText:
    """The include file as the specification part of a main program: statements need a unit."""
    gap = "" if source.text.endswith("\n") or not source.text else "\n"
    return replace(source, text=f"{source.text}{gap}      end\n")


def is_in_tree(path: str, roots: Iterable[Path]) -> bool:
    """Whether a file stands in one of the given folders, or beside a given file."""
    own = os.path.realpath(path)
    if os.path.islink(path):
        return False
    folders = (root if root.is_dir() else root.parent for root in roots)
    return any(Path(own).is_relative_to(os.path.realpath(folder)) for folder in folders)


def maker_of(path: str, content: bytes, looked_at: dict[str, None]) -> str | None:
    """What generates a file; ``looked_at`` gets the other files on which that rests."""
    if _MADE.search(content[:2000]):
        return "it says that it is generated"
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    names = sorted(os.listdir(folder or "."))
    for other in names:
        is_template = os.path.splitext(other)[1].lower() in _TEMPLATES
        if is_template and other.startswith((f"{name}.", f"{stem}.")):
            return f"it is generated from {other}"
    rule = re.compile(
        rf"^(?![\t#])[^\n:=#]*(?<![\w.-]){re.escape(name)}(?![\w.-])[^\n:=]*:(?!=)", re.M
    )
    for other in names:
        if _MAKEFILE.fullmatch(other):
            makefile = os.path.join(folder, other)
            looked_at[makefile] = None
            if rule.search(_text_of(makefile)):
                return f"{other} has a rule that makes it"
    return None


def _text_of(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("latin-1")
    except OSError:
        return ""
