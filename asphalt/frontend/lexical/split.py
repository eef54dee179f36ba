"""Every character of a file to a leaf or to trivia.

``"".join(text_of(leaf))`` over all leaves, with the trailing trivia, is the text of the source,
byte for byte, whatever the text is: splitting never fails and never loses a character.  It does not
look at the meaning of a statement: ``Leaf.what`` is ``Raw`` with the logical line.
"""

from __future__ import annotations

from asphalt.frontend.lexical.assembly import Assembly
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.lexical.split_fixed import split_fixed
from asphalt.frontend.lexical.split_free import split_free
from asphalt.ir.source import Form, Trivia
from asphalt.ir.tree import Leaf


def split(
    source: SourceText, cpp: CppFacts | None = None
) -> tuple[tuple[Leaf, ...], tuple[Trivia, ...]]:
    """The leaves of a source in order, and the lines after the last one.

    Without ``cpp``, every branch of the preprocessor counts as active.
    """
    assembly = Assembly.of_text(source.path, source.text, source.unread)
    if source.form is Form.FIXED:
        split_fixed(assembly, cpp, source.width)
    else:
        split_free(assembly, cpp)
    return assembly.finish()
