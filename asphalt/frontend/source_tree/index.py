"""The symbol index of one file, by fortls's parser.

fortls never preprocesses here: its own preprocessor evaluates ``#if`` as Python.  Its input is
line-preserving text in which dead and preprocessor lines are blank, with its preprocessor off and
the form set by asphalt.

What fortls does not know comes from elsewhere: executable statements (the called names are read
from the text here), COMMON and EQUIVALENCE (from the statements), and whether a unit exists
(``source_tree.tree`` answers from asphalt's own tree, which sees what the compiler sees).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.ir.records import record
from asphalt.ir.source import Form

_KINDS = {
    "Program": "program",
    "Module": "module",
    "Submodule": "submodule",
    "Subroutine": "subroutine",
    "Function": "function",
    "Interface": "interface",
}
_CALL = re.compile(r"(?:^|[\s;)])call[ \t]+([a-z_]\w*)", re.I | re.M)


@record
class UseEntry:
    """A use statement: ``only`` None means everything; ``renames`` are (local, name)."""

    module: str
    only: frozenset[str] | None
    renames: tuple[tuple[str, str], ...]


@record
class UnitEntry:
    """A program unit, procedure or interface block; all names are folded.

    ``parents`` are its hosts, outermost first.  ``members``: the specifics of a generic interface.
    A procedure whose parent is an interface is only declared here.
    """

    kind: str
    name: str
    first: int
    last: int
    parents: tuple[str, ...]
    args: tuple[str, ...]
    uses: tuple[UseEntry, ...]
    members: tuple[str, ...]
    declared_only: bool


@record
class FileIndex:
    """The names that one file defines and calls (``called`` may hold more names than are
    called)."""

    units: tuple[UnitEntry, ...]
    called: frozenset[str]


def live_text(source: SourceText, facts: CppFacts | None) -> str:
    """The text of the analysed configuration: each line at its own number, others blank."""
    facts = facts or CppFacts()
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or number in facts.dead:
            lines[number - 1] = ""
        elif number in facts.changed:
            lines[number - 1] = facts.changed[number]
    return "\n".join(lines)


def index_file(source: SourceText, facts: CppFacts | None = None) -> FileIndex:
    """The index of a file; empty where fortls raises an error on odd input."""
    from fortls.parsers.internal.parser import FortranFile

    lines = [line.rstrip("\r") for line in live_text(source, facts).split("\n")]
    if source.form is Form.FIXED and source.width:
        lines = [line[: source.width] for line in lines]
    file = FortranFile(source.path)
    file.preproc = False
    file.set_contents(lines, detect_format=False)
    file.fixed = source.form is Form.FIXED
    called = frozenset(name.lower() for name in _CALL.findall("\n".join(lines)))
    try:
        scopes = file.parse().scope_list
    except Exception:  # fortls is a parser for editors: it may raise anything on broken text
        return FileIndex((), called)
    return FileIndex(tuple(_units(scopes)), called)


def _units(scopes: list[object]) -> Iterator[UnitEntry]:
    for scope in scopes:
        kind = _KINDS.get(type(scope).__name__)
        if kind is None:
            continue
        parents = _parents(scope)
        arguments = getattr(scope, "args", "").strip("()")
        yield UnitEntry(
            kind=kind,
            name=_name(scope),
            first=getattr(scope, "sline", 0),
            last=getattr(scope, "eline", 0),
            parents=tuple(_name(parent) for parent in parents),
            args=tuple(a.strip().lower() for a in arguments.split(",") if a.strip()),
            uses=tuple(_uses(scope)),
            members=tuple(str(member).lower() for member in getattr(scope, "members", [])),
            declared_only=any(_KINDS.get(type(p).__name__) == "interface" for p in parents),
        )


def _name(scope: object) -> str:
    name = str(getattr(scope, "name", "")).lower()
    return "" if name.startswith("#") else name


def _parents(scope: object) -> list[object]:
    parents: list[object] = []
    parent = getattr(scope, "parent", None)
    while parent is not None:
        parents.append(parent)
        parent = getattr(parent, "parent", None)
    return parents[::-1]


def _uses(scope: object) -> Iterator[UseEntry]:
    for use in getattr(scope, "use", []):
        if type(use).__name__ != "Use":
            continue
        only: frozenset[str] | None = frozenset(use.only_list) or None
        yield UseEntry(use.mod_name, only, tuple(sorted(use.rename_map.items())))
