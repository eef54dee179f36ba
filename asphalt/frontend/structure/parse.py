"""A source file to its tree; every statement is still ``Raw``."""

from __future__ import annotations

from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.lexical.split import split
from asphalt.frontend.structure.nesting import build
from asphalt.ir.tree import File


def parse_file(source: SourceText, cpp: CppFacts | None = None) -> File:
    """The tree of a source; raises InputError where units and constructs do not nest."""
    leaves, tail = split(source, cpp)
    return build(source, leaves, tail)
