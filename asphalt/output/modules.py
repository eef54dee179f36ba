"""The order in which to compile sources: a module before its users.

Uses are found in the text, line by line, in every preprocessor branch.  That suffices for an order,
and works for files that asphalt cannot parse.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from asphalt.output.included import included_files

_SUFFIX = re.compile(r"\.(f|for|ftn|f77|f90|f95|f03|f08|fpp)", re.IGNORECASE)
_FLAGS = re.IGNORECASE | re.MULTILINE
_MODULE = re.compile(
    r"^[ \t\d]*module[ \t]+(?!procedure\b|subroutine\b|function\b)(\w+)[ \t\r]*(?:[!;]|$)", _FLAGS
)
_USE = re.compile(
    r"(?:^[ \t\d]*|;[ \t]*)use\b[ \t]*(?:,[ \t]*(?:non_)?intrinsic[ \t]*)?(?:::)?[ \t]*(\w+)",
    _FLAGS,
)
_SUBMODULE = re.compile(
    r"^[ \t]*submodule[ \t]*\([ \t]*(\w+)[ \t]*(?::[ \t]*(\w+)[ \t]*)?\)[ \t]*(\w+)", _FLAGS
)


def is_fortran(path: Path) -> bool:
    """Whether the file has a suffix of Fortran."""
    return _SUFFIX.fullmatch(path.suffix) is not None


def used_modules(source: Path) -> frozenset[str]:
    """The modules that a file uses, in lower case."""
    return modules_used_in(source.read_bytes())


def modules_used_in(content: bytes) -> frozenset[str]:
    """The same for the content of a file."""
    return frozenset(map(str.lower, _USE.findall(_decoded(content))))


def _text(source: Path) -> str:
    return _decoded(source.read_bytes())


def _decoded(content: bytes) -> str:
    """The text of a file in any encoding, without a byte order mark."""
    return content.removeprefix(codecs.BOM_UTF8).decode("latin-1")


def prerequisites(
    sources: Sequence[Path], include_dirs: Sequence[str] = ()
) -> Mapping[Path, tuple[Path, ...]]:
    """For each source, the other ones that define a module it uses or a module or submodule that
    it extends, itself or in what it includes."""
    texts = {
        source: "\n".join(map(_text, (source, *included_files(source, include_dirs))))
        for source in sources
    }
    home = {
        name.lower(): source for source, text in texts.items() for name in _MODULE.findall(text)
    }
    for source, text in texts.items():
        for module, _, name in _SUBMODULE.findall(text):
            home[f"{module}:{name}".lower()] = source
    needs = {}
    for source, text in texts.items():
        names = {name.lower() for name in _USE.findall(text)}
        for module, parent, _ in _SUBMODULE.findall(text):
            names |= {module.lower(), *({f"{module}:{parent}".lower()} if parent else ())}
        found = {home[name] for name in names if name in home}
        needs[source] = tuple(other for other in sources if other in found and other != source)
    return needs


def compile_order(sources: Sequence[Path], include_dirs: Sequence[str] = ()) -> tuple[Path, ...]:
    """The sources, each after those it needs; as given if the uses are circular."""
    try:
        return tuple(TopologicalSorter(prerequisites(sources, include_dirs)).static_order())
    except CycleError:
        return tuple(sources)
