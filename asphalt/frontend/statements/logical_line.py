"""The logical line of a statement from its text: the result of splitting, recomputed."""

from __future__ import annotations

import re

from asphalt.frontend.lexical.source_text import FIXED_WIDTH, FREE_WIDTH, SourceText
from asphalt.frontend.lexical.split import split
from asphalt.frontend.statements.cut_tokens import whole_tokens
from asphalt.ir.source import Form
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Leaf

_PART = re.compile(r"""'[^']*'|"[^"]*"|(?<![\w$])[A-Za-z_][\w$]*""", re.ASCII)


def logical_line(leaf: Leaf, form: Form, width: int | None = None) -> str | None:
    """The statement of a leaf with its continuation lines joined and its comments removed.

    ``width`` is the line limit in columns (None: that of the form).  None if the text is not what
    the leaf means (a statement that asphalt made, or that the preprocessor changed in another way
    than token by token), or does not split into this one statement.
    """
    if leaf.body is None or leaf.span is None or leaf.frozen:
        return None
    if width is None:
        width = FIXED_WIDTH if form is Form.FIXED else FREE_WIDTH
    before = " " * (leaf.span.first_col - 1) if leaf.joined else leaf.head
    found, _ = split(SourceText(leaf.span.file, before + leaf.body, form, width))
    if len(found) != 1:
        return None
    whole = found[0]
    if whole.body != leaf.body or not isinstance(whole.what, Raw):
        return None
    code = whole.what.code
    if leaf.macros:
        tokens = {one.name: one.token for one in leaf.macros}
        code = _PART.sub(lambda part: tokens.get(part[0], part[0]), code)
    return whole_tokens(code) if form is Form.FIXED else code
