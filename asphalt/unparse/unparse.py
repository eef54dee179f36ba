"""A file's text: untouched statements verbatim, new ones in the file's own style."""

from __future__ import annotations

from asphalt.ir.tree import File
from asphalt.unparse.reprint import text_of
from asphalt.unparse.writer import printer, style_of


def unparse(file: File) -> str:
    """The text of a file (latin-1: one character a byte)."""
    return text_of(file, printer(style_of(file)))
