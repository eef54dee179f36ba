"""Statements behind the sentinel ``!$``, which only a compilation with OpenMP executes, and the
effect of OpenMP and OpenACC directives on the statements around them.

Conclusions from the other statements of a unit do not hold if such a statement may change a
variable, or read one that seems dead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asphalt.ir.records import record
from asphalt.ir.sentinel_lines import joined_lines
from asphalt.ir.source import Form, Trivia, TriviaKind
from asphalt.ir.stmt import Opaque, What
from asphalt.ir.tree import Leaf, Unit, leaves

# what declares and does not execute
_DECLARES = re.compile(
    r"[!c*]\$\s*(&|use\b|include\b|external\b|integer\b|real\b|double\s*precision\b|logical\b"
    r"|character\b|complex\b|type\b)",
    re.IGNORECASE,
)


def conditional_statements(unit: Unit) -> Iterator[tuple[Leaf, str]]:
    """Each executable conditional line of a unit (without those that it contains), with the
    statement that follows it."""
    own = [leaf for node in unit.body for leaf in leaves(node)]
    for leaf in (*own, *((unit.contains,) if unit.contains is not None else ()), unit.end):
        for trivia in leaf.lead:
            text = trivia.text.strip()
            if trivia.kind is TriviaKind.CONDITIONAL and not _DECLARES.match(text):
                yield leaf, text


_OMP = re.compile(r"\s*[!c*]\$omp", re.IGNORECASE)
_HIDDEN = "it stands in a line that only some compilations execute"
_NAME = re.compile(r"[a-z_$][\w$]*", re.IGNORECASE)
# An assignment or a call without labels (not DO, which may be glued to its variable): what it is
# executed for is what it changes.  Everything else may go anywhere.
_STAYS = re.compile(
    r"(?!do)[a-z]\w*\s*(?:\([^()]*\)\s*)?=(?!=)|call\b[^*]*$|(?:print|use)\b|&"
    r"|write\s*\((?!.*\b(?:err|end|eor)\s*=)",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r".\$?(?:\$asphalt|dir\$|gcc\$|dec\$|ibm\*|pgi\$)", re.IGNORECASE)


def hidden_statements(leaf: Leaf) -> Iterator[Opaque]:
    """The statements that lines before a statement may execute: conditional lines and directives.

    Each may define every name in it.  A line that is one of several of a statement has the names of
    all of it, in free and in fixed form.
    """
    lines = [
        trivia.text
        for trivia in leaf.lead
        if trivia.kind is TriviaKind.CONDITIONAL or is_threading(trivia)
    ]
    if not lines:
        return
    names = [set[str]() for _ in lines]
    for form in Form:
        for text, positions in joined_lines(lines, form):
            for position in positions:
                names[position].update(_NAME.findall(text))
    for line, found in zip(lines, names, strict=True):
        yield Opaque(line.strip(), _HIDDEN, frozenset(found))


def may_jump(what: What) -> bool:
    """Whether a statement that is not interpreted may transfer control."""
    if not isinstance(what, Opaque):
        return False
    if what.reason != _HIDDEN:
        return True
    text = what.code[1:]
    if text[:1] == "$" and text[1:2].isalpha():
        return False  # a directive
    return not (_DECLARES.match(what.code) or _STAYS.match(text.lstrip("$ \t0123456789")))


def is_threading(trivia: Trivia) -> bool:
    """Whether a line is a directive that may create threads, or divide work among them."""
    return trivia.kind is TriviaKind.DIRECTIVE and not _HARMLESS.match(trivia.text.strip())


def threaded_nodes(unit: Unit) -> range:
    """The positions of the nodes in a unit's body that several threads may execute: from the first
    such directive to the last."""
    found = [
        number
        for number, node in enumerate(unit.body)
        for leaf in leaves(node)
        if any(is_threading(trivia) for trivia in leaf.lead)
    ]
    behind = (leaf for leaf in (unit.contains, unit.end) if leaf is not None)
    if unit.body and any(is_threading(trivia) for leaf in behind for trivia in leaf.lead):
        found.append(len(unit.body) - 1)
    return range(min(found), max(found) + 1) if found else range(0)


def sentinel_of(trivia: Trivia) -> str | None:
    """The text of a directive that changes the meaning of statements; None for asphalt's own."""
    stripped = trivia.text.strip()
    if trivia.kind is not TriviaKind.DIRECTIVE:
        return None
    lowered = stripped.lower()[1:]
    for prefix in ("$omp", "$acc", "$omx", "$ompx"):
        if lowered.startswith(prefix):
            return stripped[1 + len(prefix) :].strip(" &")
    if lowered.startswith(("$asphalt", "dir$", "gcc$", "dec$", "ibm*", "pgi$")):
        return None
    return stripped


@record
class Directive:
    """A directive, in lower case and without sentinels, in one piece.

    ``leaf``: the statement behind it; ``above``: how many lines above that it begins.
    """

    text: str
    leaf: Leaf
    above: int


def directives_before(leaf: Leaf) -> list[Directive]:
    """The directives before a statement."""
    found: list[str] = []
    above: list[int] = []
    goes_on = False
    left = leaf.head.count("\n") + sum(trivia.text.count("\n") for trivia in leaf.lead)
    for trivia in leaf.lead:
        here, left = left, left - trivia.text.count("\n")
        if not is_threading(trivia):
            continue
        text = trivia.text.strip().lower()
        sentinel = _OMP.match(text)
        if sentinel is None:
            found.append(sentinel_of(trivia) or text)
            above.append(here)
            continue
        rest = text[sentinel.end() :].partition("!")[0].rstrip()
        is_rest = goes_on or (rest[:1] not in ("", " ", "\t", "0") and bool(found))
        goes_on = rest.endswith("&")
        rest = rest.rstrip("& \t")
        if is_rest and found:
            found[-1] += " " + (rest[1:] if rest[:1] not in (" ", "\t") else rest.lstrip(" \t&"))
        else:
            found.append(rest.strip())
            above.append(here)
    return [Directive(text, leaf, here) for text, here in zip(found, above, strict=True)]
