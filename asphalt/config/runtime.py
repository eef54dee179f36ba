"""The modules of the Fortran runtime: which names each offers, and which others it uses.

The sources say so themselves, in their PUBLIC and USE statements, and nothing else does.  A source
has one module, with the name of the file.  Names that begin with ``asphalt_`` are for transformed
code; the others are for the modules of the runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import MappingProxyType

from asphalt.config.resources import FORTRAN, shipped
from asphalt.ir.records import record

_PREFIX = "asphalt_"
_HEAD = re.compile(rf"^module ({_PREFIX}\w+)\n(.*?)^contains$", re.MULTILINE | re.DOTALL)
_STATEMENT = re.compile(r"^  (use|public)(?: ::)? ((?:[^!\n]*&\n)*[^!\n]*)$", re.MULTILINE)
_NAME = re.compile(rf"\b{_PREFIX}\w+")


@record
class RuntimeModule:
    """A module: its source, the names it offers to transformed code, the modules it uses."""

    name: str
    source: Path
    names: frozenset[str]
    uses: frozenset[str]

    @property
    def file(self) -> str:
        return self.source.name


@cache
def runtime_modules() -> Mapping[str, RuntimeModule]:
    """The modules by their names, each behind those that it uses: the order to compile them."""
    found = {}
    for source in sorted(shipped(FORTRAN).glob(f"{_PREFIX}*.f90")):
        head = _HEAD.search(source.read_text(encoding="utf-8"))
        if head is not None and head[1] == source.stem:
            found[head[1]] = _module(source, head[1], head[2])
    order = TopologicalSorter({name: sorted(found[name].uses) for name in found}).static_order()
    return MappingProxyType({name: found[name] for name in order})


def _module(source: Path, name: str, declarations: str) -> RuntimeModule:
    names: set[str] = set()
    uses: set[str] = set()
    for keyword, rest in _STATEMENT.findall(declarations):
        if keyword == "public":
            names.update(_NAME.findall(rest))
        else:
            uses.update(_NAME.findall(rest.partition(",")[0]))
    return RuntimeModule(name, source, frozenset(names), frozenset(uses))


def is_runtime_source(path: Path) -> bool:
    """Whether a file has the name of a source of the runtime."""
    return path.suffix == ".f90" and path.stem in runtime_modules()


@cache
def offering() -> Mapping[str, tuple[str, ...]]:
    """The modules that offer each name, each behind those that it uses."""
    found: dict[str, tuple[str, ...]] = {}
    for module in runtime_modules().values():
        for name in module.names:
            found[name] = (*found.get(name, ()), module.name)
    return MappingProxyType(found)


def needed(modules: Iterable[str]) -> tuple[RuntimeModule, ...]:
    """The modules and what they use, in the order to compile them."""
    table = runtime_modules()
    wanted: set[str] = set()
    left = list(modules)
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += table[name].uses
    return tuple(module for name, module in table.items() if name in wanted)
