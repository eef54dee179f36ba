"""The text of one file, as far as it is read: each step is done once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from asphalt.frontend.lexical.conditionals import macro_lines
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.preprocess import given_names, preprocess
from asphalt.frontend.lexical.source_text import SourceText, check_line_ends, source_text
from asphalt.frontend.lexical.split import split
from asphalt.frontend.structure.nesting import build
from asphalt.ir.source import Form, Trivia
from asphalt.ir.tree import File, Leaf


@dataclass(frozen=True, slots=True)
class Request:
    """A file as it was read, and the configuration to read it in."""

    path: str
    content: bytes
    form: Form
    width: int | None
    defines: tuple[str, ...]
    include_dirs: tuple[str, ...]
    cpp: bool = False


@dataclass(frozen=True)
class FileText:
    """A file from its characters to a tree of statements that are not interpreted."""

    request: Request

    @cached_property
    def source(self) -> SourceText:
        """Its characters."""
        own = self.request
        return source_text(own.path, own.content, own.form, own.width, own.cpp)

    @cached_property
    def facts(self) -> CppFacts | None:
        """What the preprocessor makes of it; raises InputError."""
        return preprocess(self.source, self.request.defines, self.request.include_dirs)

    @cached_property
    def statements(self) -> tuple[tuple[Leaf, ...], tuple[Trivia, ...]]:
        """Its statements, and the lines behind them."""
        return split(self.source, self.facts)

    @cached_property
    def file(self) -> File:
        """Its tree; raises InputError."""
        check_line_ends(self.source)
        own = self.request
        macros = given_names(own.path, own.defines, own.cpp)
        if self.facts is not None:
            lines = macro_lines(self.source.text.split("\n"))
            macros |= self.facts.macros.names.union(line.name for line in lines)
        return replace(build(self.source, *self.statements), macros=macros)
