"""Finds the variables that a call can change without an argument: COMMON and module variables.

MPI handles are left out, since their numbers have no meaning.  Other variables are found by
gfortran's symbols; with another naming scheme they are not compared.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from pathlib import Path

from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.names.scopes import Origin, Scopes
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.running.process import run
from asphalt.verify.procedures.roles import handle_storages

_NOT_PLAIN = frozenset({"allocatable", "pointer", "procedure", "external", "generic", "protected"})


@record
class SharedSymbol:
    """A COMMON block or module variable: its name, its symbol, its size in bytes."""

    title: str
    symbol: str
    size: int

    def content(self, library: ctypes.CDLL) -> bytes:
        """Its bytes in a loaded version."""
        return bytes((ctypes.c_ubyte * self.size).in_dll(library, self.symbol))


def shared_variables(
    tree: Tree, scopes: Scopes, files: Collection[str], library: Path
) -> tuple[SharedSymbol, ...]:
    """The variables of the files in a built library; intrinsic types only, no pointers."""
    titles = dict(_symbols(tree, scopes, files))
    sizes = _sizes(library)
    return tuple(
        SharedSymbol(title, symbol, sizes[symbol])
        for symbol, title in titles.items()
        if symbol in sizes
    )


def _symbols(tree: Tree, scopes: Scopes, files: Collection[str]) -> Iterator[tuple[str, str]]:
    handles = handle_storages(tree, scopes, files)
    for path in sorted(files):
        for located in tree.units_of(path):
            scope = scopes.of(located)
            for block in scope.declared.commons:
                symbol = f"{block}_" if block else "__BLNK__"
                yield symbol, f"COMMON /{block}/"
            for name, variable in scope.declared.symbols.items():
                if (
                    variable.origin is Origin.MODULE
                    and not variable.attrs & _NOT_PLAIN
                    and variable.type is not None
                    and variable.type.base not in ("type", "class")
                    and storage_of(name, scope) not in handles
                ):
                    unit = located.unit.name
                    yield f"__{unit}_MOD_{name}", f"{name} of module {unit}"


def _sizes(library: Path) -> dict[str, int]:
    """The size of each variable in a library's symbol table; empty without binutils' nm."""
    outcome = run(["nm", "-D", "-S", "--defined-only", library.name], library.parent, 60)
    sizes: dict[str, int] = {}
    for line in outcome.stdout.decode("latin-1").splitlines() if outcome.status == 0 else ():
        words = line.split()
        if len(words) == 4 and words[2] in "BDGSRCbdgs":
            sizes[words[3]] = int(words[1], 16)
    return sizes
