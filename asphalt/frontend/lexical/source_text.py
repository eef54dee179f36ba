"""The text of a source file as it stands on disk, and the form it is written in.

Bytes and characters correspond one to one (Latin-1), so that columns are byte columns and what is
written back is what was read.
"""

from __future__ import annotations

import re
from pathlib import Path

from asphalt.config.errors import InputError
from asphalt.ir.records import record
from asphalt.ir.source import Form

FREE_WIDTH = 132
FIXED_WIDTH = 72
ENCODING = "latin-1"

_UTF8_BOM = "\xef\xbb\xbf"
_FIXED_SUFFIXES = frozenset({".f", ".for", ".ftn", ".f77", ".fpp"})


@record
class SourceText:
    """A source file: ``text`` is everything after ``bom``.

    ``width`` is the line limit in columns (0: none); ``eol`` is the line ending that most lines
    have, and that new lines get.  ``cpp``: compilers preprocess it, whatever its suffix.
    ``unread``: the sentinels of directives that are comments to them.
    """

    path: str
    text: str
    form: Form
    width: int
    eol: str = "\n"
    bom: str = ""
    cpp: bool = False
    unread: tuple[str, ...] = ()


def form_of(path: str | Path) -> Form:
    """The form that gfortran assumes for a file of this name."""
    return Form.FIXED if Path(path).suffix.lower() in _FIXED_SUFFIXES else Form.FREE


_NO_LABEL = re.compile(
    r"^(?![cCdD])(?:[ ]{0,3}[A-Za-z]\w*+(?:[ ]*[(=:,]|[ ]+[A-Za-z])|[ ]{0,4}&[ ]*\w)", re.M
)
"""A line of free form whose statement begins where fixed form has labels alone."""
_FIXED_COMMENT = re.compile(r"^(?:\*|[cC](?:[ \t]*\r?$|[ \t]+[^=\s(%&]|[-*=+#!.$]))", re.M)
"""A comment of fixed form that is no statement of free form."""


def form_by_content(path: str | Path, text: str) -> Form:
    """The form that gfortran assumes for a file of this name; free form where the name says fixed
    form, and the text can be free form alone."""
    form = form_of(path)
    if form is Form.FREE or _NO_LABEL.search(text) is None or _FIXED_COMMENT.search(text):
        return form
    return Form.FREE


OTHER_FORM = (
    "read as free form: its suffix says fixed form, in which its lines are no statements (set the "
    "form: --free, or forms in the settings)"
)
"""The note on files for which ``form_by_content`` is not that of the suffix."""
OLD_LINE_ENDS = (
    "its lines end with CR alone, which compilers do not read: give them LF "
    "(tr '\\r' '\\n' < OLD > NEW)"
)
"""The message for files for which ``has_old_line_ends`` holds."""


def has_old_line_ends(text: str) -> bool:
    """Whether lines end with CR alone, as on old Macintosh systems; compilers see one line."""
    return text.count("\r") - text.count("\r\n") > text.count("\n")


def check_line_ends(source: SourceText) -> None:
    """Raise InputError if no compiler would see the lines of a file."""
    if has_old_line_ends(source.text):
        raise InputError(source.path, None, OLD_LINE_ENDS)


def source_text(
    path: str,
    content: bytes,
    form: Form | None = None,
    width: int | None = None,
    cpp: bool = False,
    unread: tuple[str, ...] = (),
) -> SourceText:
    """The source text in ``content``; raises InputError where it is not text."""
    text = content.decode(ENCODING)
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        raise InputError(path, line, "not a text file: it contains a NUL byte")
    bom = _UTF8_BOM if text.startswith(_UTF8_BOM) else ""
    text = text[len(bom) :]
    form = form_of(path) if form is None else form
    if width is None:
        width = FIXED_WIDTH if form is Form.FIXED else FREE_WIDTH
    crlf = text.count("\r\n")
    eol = "\r\n" if 2 * crlf > text.count("\n") else "\n"
    return SourceText(path, text, form, width, eol, bom, cpp, unread)


def read_source(path: str | Path, form: Form | None = None, width: int | None = None) -> SourceText:
    """Reads a file; ``form`` and ``width`` None: as gfortran takes a file of this name.

    Raises InputError for what cannot be read or is not text.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(str(path), None, f"cannot be read: {reason}") from error
    return source_text(str(path), content, form, width)
