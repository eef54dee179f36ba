"""A file's text: untouched statements verbatim, new ones as source lines in the form, letter case
and line limit of their file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.stmt import ArmHead, Include, Plain, What
from asphalt.ir.tree import File, Leaf, NamedToken, Node, leaves, once
from asphalt.unparse.macro_names import with_macros
from asphalt.unparse.reprint import text_of
from asphalt.unparse.statement_text import statement_text
from asphalt.unparse.wrap import wrap_fixed, wrap_free

_NARROW = 3  # the part of a line that macros may take beyond their names
_STATEMENT_FIELD = 6  # columns before it in fixed form
# arms that repeat the name of their construct at their end, as END statements do
_LATER_ARMS = frozenset(
    (
        *("else", "else_if", "elsewhere", "case", "case_default", "rank", "rank_default"),
        *("type_is", "class_is", "class_default"),
    )
)
# words that are hardly ever names; in fixed form they are often written together
_KEYWORDS = frozenset(
    (
        *("allocatable", "allocate", "call", "character", "common", "complex", "contains"),
        *("continue", "cycle", "data", "deallocate", "dimension", "do", "double", "else"),
        *("elseif", "end", "enddo", "endif", "exit", "external", "function", "go", "goto", "if"),
        *("implicit", "integer", "intent", "interface", "intrinsic", "logical", "module", "none"),
        *("only", "parameter", "pointer", "precision", "private", "program", "public", "real"),
        *("return", "save", "select", "stop", "subroutine", "then", "type", "use", "while"),
    )
)
_WORD = re.compile(r"(?<![\w.])[a-z]\w*", re.IGNORECASE)
_NO_CODE = re.compile(r"""'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*"|!.*""")


def unparse(file: File) -> str:
    """The text of a file (latin-1: one character a byte)."""
    return text_of(file, printer(style_of(file)))


@record
class Style:
    """How a file writes its statements; ``width``: the line limit in columns, 0 for none.

    ``upper``, ``upper_names``: keywords and names are in upper case.  ``macros``: the words that
    the preprocessor may replace.
    """

    form: Form
    width: int
    upper: bool
    eol: str
    upper_names: bool = False
    macros: frozenset[str] = frozenset()


def style_of(file: File) -> Style:
    """The style of a file: keywords, and names, are in upper case if most of the file's are.

    The names of MPI do not count: files of either letter case write them alike.
    """
    words, names = _Cases(), _Cases()
    nodes: tuple[Node, ...] = (*file.units, *file.stray)
    for node in nodes:
        own = once(node, _cases)
        words, names = words.with_more(own[0]), names.with_more(own[1])
    form, width, eol = file.form, file.width, file.eol
    return Style(form, width, words.upper, eol, names.upper, file.macros)


class _Cases(NamedTuple):
    """How many words there are, and how many of them are in upper case."""

    number: int = 0
    in_upper: int = 0

    @property
    def upper(self) -> bool:
        """Whether most are in upper case."""
        return 2 * self.in_upper > self.number

    def with_more(self, other: _Cases) -> _Cases:
        """These and others."""
        return _Cases(self.number + other.number, self.in_upper + other.in_upper)


def _cases(node: Node) -> tuple[_Cases, _Cases]:
    """The keywords of a unit or statement, and its names."""
    upper: list[bool] = []
    upper_names: list[bool] = []
    for leaf in leaves(node):
        for word in _WORD.findall(_NO_CODE.sub(" ", leaf.body or "")):
            if word.lower() in _KEYWORDS:
                upper.append(word.isupper())
            elif not word.lower().startswith("mpi_"):
                upper_names.append(word.isupper())
    return _Cases(len(upper), sum(upper)), _Cases(len(upper_names), sum(upper_names))


def printer(style: Style) -> Callable[[Leaf, int], str]:
    """A function that prints a leaf anew: ``(leaf, columns before the statement) -> lines``."""

    def lines_of_leaf(leaf: Leaf, indent: int) -> str:
        return lines_of(leaf.what, style, indent, leaf.label, leaf.name, leaf.macros)

    return lines_of_leaf


def lines_of(
    what: What,
    style: Style,
    indent: int,
    label: int | None = None,
    name: str | None = None,
    macros: Sequence[NamedToken] = (),
) -> str:
    """A statement as whole lines, line endings included.

    ``indent``: columns before the statement; in fixed form at least 6.  ``name``: that of the
    construct.  ``macros``: those that stand in the user's statement for one token each.

    Raises:
        ValueError: the statement cannot be printed from its meaning (see ``statement_text``).
    """
    code = statement_text(what, style.upper, style.upper_names)
    if name is not None:
        later = isinstance(what, Plain) or (isinstance(what, ArmHead) and what.kind in _LATER_ARMS)
        code = f"{code} {name}" if later else f"{name}: {code}"
    plain, _ = with_macros(code, (), style.macros)
    code, longer = with_macros(code, macros, style.macros)
    if _NARROW * longer > style.width > 0:
        code, longer = plain, 0
    fixed = style.form is Form.FIXED
    numbered = "" if label is None else f"{label} "
    start = max(indent, len(numbered), _STATEMENT_FIELD if fixed else 0)
    if isinstance(what, Include):  # an INCLUDE line cannot be continued
        lines = [code]
    elif fixed:
        lines = wrap_fixed(code, start, style.width and style.width - longer)
    else:
        lines = wrap_free(code, start, style.width and style.width - longer)
    lines[0] = numbered.ljust(start) + lines[0]
    return "".join(line + style.eol for line in lines)
