"""A program given as Fortran text: what the analysis asks for, read by the real frontend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import dedent

from asphalt.frontend.lexical.source_text import source_text
from asphalt.frontend.lexical.split import split
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.frontend.structure.nesting import build
from asphalt.ir.program import Located, MpiMention
from asphalt.ir.stmt import UnitHead
from asphalt.ir.tree import Node, Unit, leaves


class FortranProgram:
    """An ``asphalt.ir.program.Program`` of files given as texts."""

    def __init__(
        self, *texts: str, suffix: str = ".f90", includes: Mapping[str, str] | None = None
    ) -> None:
        self.includes = includes or {}
        self.all = tuple(
            found
            for number, text in enumerate(texts)
            for found in _located(text, f"file{number}{suffix}")
        )

    def at(self, *chain: str) -> Located:
        """The unit reached by these names, from the outermost one."""
        return next(
            found for found in self.all if tuple(unit.name for unit in found.chain) == chain
        )

    def _outermost(self, name: str, *kinds: str) -> Located | None:
        for found in self.all:
            if len(found.chain) == 1 and found.unit.kind in kinds and found.unit.name == name:
                return found
        return None

    def module(self, name: str) -> Located | None:
        return self._outermost(name, "module")

    def submodules(self, module: str) -> tuple[Located, ...]:
        heads = ((one, one.unit.head) for one in self.all if one.unit.kind == "submodule")
        whats = ((one, head.what) for one, head in heads if head is not None)
        return tuple(
            one
            for one, what in whats
            if isinstance(what, UnitHead) and (what.parent or ("", None))[0] == module
        )

    def external(self, name: str) -> Located | None:
        return self._outermost(name, "subroutine", "function")

    def foreign_files_with(self, name: str) -> tuple[str, ...]:
        return ()

    def foreign_files_naming(self, name: str) -> tuple[str, ...]:
        return ()

    def has_foreign_main(self) -> bool:
        return False

    def text(self, path: str) -> str:
        return ""

    def defines(self, name: str) -> bool:
        kinds = ("subroutine", "function")
        return any(
            len(f.chain) == 1 and f.unit.kind in kinds and f.unit.name == name for f in self.all
        )

    def unread_module(self, name: str) -> str | None:
        return None

    def macros(self, path: str) -> frozenset[str]:
        return frozenset()

    def defined_in(self, kind: str, name: str) -> tuple[str, ...]:
        return tuple(
            f.path
            for f in self.all
            if len(f.chain) == 1
            and f.unit.name == name
            and (f.unit.kind == "module") == (kind == "module")
        )

    def contained(self, host: Located, name: str) -> Located | None:
        for found in self.all:
            if found.chain[:-1] == host.chain and found.unit.name == name:
                return found
        return None

    def mentions(self, name: str) -> tuple[Located, ...]:
        return tuple(found for found in self.all if name in _words(found.unit))

    def mpi_calls(self) -> tuple[MpiMention, ...]:
        return ()

    def extent(self) -> int:
        return 0

    def main_programs(self) -> tuple[Located, ...]:
        return tuple(found for found in self.all if found.unit.kind == "program")

    def included_words(self, path: str, name: str) -> frozenset[str]:
        return frozenset(re.findall(r"[a-z_]\w*", self.includes.get(name, "").lower()))

    def include(self, located: Located, name: str) -> tuple[Node, ...] | None:
        text = self.includes.get(name)
        if text is None:
            return None
        unit = _located(f"subroutine x\n{dedent(text)}end\n", "include.f90")[0].unit
        return unit.spec


def _located(text: str, path: str) -> list[Located]:
    text = dedent(text) if path.endswith(".f90") else text
    source = source_text(path, text.encode("latin-1"))
    parsed = build(source, *split(source))
    found: list[Located] = []

    def visit(unit: Unit, hosts: tuple[Unit, ...]) -> None:
        chain = (*hosts, unit)
        found.append(Located(path, source.form, chain))
        for inner in unit.contained:
            visit(inner, chain)

    for unit in parsed.units:
        visit(interpret_unit(unit, deep=True), ())
    return found


def _words(unit: Unit) -> frozenset[str]:
    """The identifiers in a unit's own statements, without its head and end."""
    text = " ".join(leaf.body or "" for node in (*unit.spec, *unit.body) for leaf in leaves(node))
    text = re.sub(r"!.*|'[^'\n]*'|\"[^\"\n]*\"", " ", text)
    return frozenset(re.findall(r"[a-z_]\w*", text.lower()))
