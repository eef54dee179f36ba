"""What each statement means: a logical line of Fortran to a ``What``.

Fortran has no reserved words, so the order of the attempts matters.  What has the form of an
assignment is one (``do = 3``, ``if(i) = 2``, ``end = 1``), unless something is left over (``do10i =
1, 5``); only then does the leading word determine the parser.  A statement that none of them
accepts whole is ``Opaque``; nothing here raises for bad Fortran.
"""

from __future__ import annotations

import re
from functools import lru_cache

from asphalt.frontend.lexical.tokens import Cursor, FortranSyntaxError, Token, names_in_text
from asphalt.frontend.statements.attributes import SPECIFICATION
from asphalt.frontend.statements.constructs import (
    CONSTRUCTS,
    do_head,
    forall_head,
    if_head,
    type_guard,
    where_head,
)
from asphalt.frontend.statements.declarations import TYPE_WORDS, type_declaration
from asphalt.frontend.statements.executable import EXECUTABLE, assignment
from asphalt.frontend.statements.io_statements import file_statement, print_statement
from asphalt.frontend.statements.unit_heads import (
    PREFIX_WORDS,
    end_statement,
    enum_head,
    interface_head,
    procedure_head,
    program_head,
    submodule_head,
    type_head,
)
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import (
    IO,
    Allocation,
    Assign,
    Call,
    Guarded,
    Include,
    Jump,
    Opaque,
    Plain,
    StatementFunction,
    What,
)

_FORMAT = re.compile(r"format\s*\(.*\)", re.IGNORECASE | re.DOTALL)
_WORDS = frozenset(("contains", "sequence"))


@lru_cache(maxsize=8192)
def statement(code: str, in_spec: bool, block: str = "") -> What:
    """The meaning of one logical line without label, construct name and comment.

    ``in_spec``: it stands in a specification part, where ``f(x) = y`` is a StatementFunction (the
    caller knows the declarations and may overrule).  ``block``: the kind of the Block that it
    stands in (``type``, ``interface``, ``enum``), else ''.
    """
    code = code.strip()
    try:
        return _whole(code, in_spec, block)
    except Exception as problem:  # whatever the text is, the caller gets an answer
        reason = str(problem) if isinstance(problem, FortranSyntaxError) else repr(problem)
        return Opaque(code, reason, names_in_text(code))


def _whole(code: str, in_spec: bool, block: str) -> What:
    try:
        cursor = Cursor(code)
        assigned = _assignment(cursor) if _may_be_assignment(cursor.tokens) else None
    except FortranSyntaxError:
        if _FORMAT.fullmatch(code):
            return Plain("format")
        raise
    if assigned is not None:
        return _function_or(assigned) if in_spec and not block else assigned
    if cursor.low == "module" and cursor.after().low == "procedure" and block == "interface":
        return SPECIFICATION["procedure"](cursor)
    return _by_keyword(cursor)


def _may_be_assignment(tokens: list[Token]) -> bool:
    """A name, perhaps with lists and components, and then ``=`` or ``=>``."""
    if tokens[0].kind != "name":
        return False
    at = 1
    while True:
        low = tokens[at].low
        if low in ("=", "=>"):
            return True
        if low == "%":
            at += 2
        elif low in ("(", "["):
            depth = 0
            while tokens[at].kind != "end":
                low = tokens[at].low
                depth += (low in ("(", "[")) - (low in (")", "]"))
                at += 1
                if depth == 0:
                    break
        else:
            return False
        if at >= len(tokens):
            return False


def _assignment(cursor: Cursor) -> Assign | None:
    """The assignment, or None (cursor unmoved) where something is left over: ``do10i = 1, 5``."""
    try:
        return assignment(cursor)
    except FortranSyntaxError:
        if not cursor.tokens[0].low.startswith("do"):
            raise
        cursor.at = 0
        return None


def _function_or(assigned: Assign) -> Assign | StatementFunction:
    match assigned:
        case Assign(target=Ref(name=name, args=args), value=value, pointer=False) if (
            args is not None
        ):
            dummies = [a.name for a in args if isinstance(a, Ref) and a.args is None]
            if len(dummies) == len(args):
                return StatementFunction(name, tuple(dummies), value)
    return assigned


def _by_keyword(cursor: Cursor) -> What:
    first = cursor.here
    word = first.low
    if first.kind != "name":
        raise cursor.error("expected a statement")
    if word.startswith("end"):
        return _end(cursor)
    if word == "format" and _FORMAT.fullmatch(cursor.code[first.start :]):
        return Plain("format")
    if word in PREFIX_WORDS and _mentions_procedure(cursor):
        return procedure_head(cursor)
    if word in ("type", "class"):
        return _type_or_class(cursor)
    if word in TYPE_WORDS:
        return type_declaration(cursor)
    if word == "if":
        return if_head(cursor, _action)
    if word == "where":
        return where_head(cursor, _action)
    if word == "forall":
        return forall_head(cursor, _action)
    if word == "block" and cursor.after().low == "data":
        return program_head(cursor)
    if word in CONSTRUCTS:
        return CONSTRUCTS[word](cursor)
    if word in EXECUTABLE:
        return EXECUTABLE[word](cursor)
    if word in SPECIFICATION:
        return SPECIFICATION[word](cursor)
    return _rare(cursor, word)


def _rare(cursor: Cursor, word: str) -> What:
    """Unit heads, and what fixed form writes without blanks."""
    if word in ("program", "module", "blockdata"):
        return program_head(cursor)
    if word in ("interface", "abstract"):
        return interface_head(cursor)
    if word == "submodule":
        return submodule_head(cursor)
    if word == "enum":
        return enum_head(cursor)
    if word == "include" and cursor.after().kind == "string":
        path = cursor.after().text[1:-1]
        cursor.at += 2
        cursor.finish()
        return Include(path)
    if word == "entry":
        cursor.take()
        cursor.name()
        return Plain("entry")
    if word in _WORDS:
        cursor.take()
        cursor.finish()
        return Plain(word)
    if word.startswith("do"):
        return do_head(cursor)
    if word.startswith("goto"):
        return EXECUTABLE["goto"](cursor)
    if word.startswith("call"):
        return EXECUTABLE["call"](Cursor(f"call {cursor.code[cursor.here.start + 4 :]}"))
    raise FortranSyntaxError(f"no statement begins with {word!r}")


def _end(cursor: Cursor) -> What:
    code = cursor.code[cursor.here.start :]
    plain = end_statement(code)
    if plain is not None:
        return plain
    if cursor.accept("end"):
        if cursor.low != "file":
            raise cursor.error("expected what ends here")
    elif cursor.low != "endfile":
        raise cursor.error("expected what ends here")
    return file_statement("endfile")(cursor)


def _mentions_procedure(cursor: Cursor) -> bool:
    """``function name (`` or ``subroutine name`` stands in the statement, before any ``::``."""
    for index, token in enumerate(cursor.tokens[:-1]):
        if token.low == "::":
            return False
        if token.low in ("function", "subroutine") and cursor.tokens[index + 1].kind == "name":
            after = cursor.tokens[index + 2].low
            if after in ("(", "*") or (token.low == "subroutine" and after in ("", "bind")):
                return True
    return False


def _type_or_class(cursor: Cursor) -> What:
    after = cursor.after()
    if after.low == "(":
        return type_declaration(cursor)
    if (after.low == "is" and cursor.after(2).low == "(") or cursor.low == "class":
        return type_guard(cursor)
    if after.low == "*" or after.kind in ("int", "string"):
        return print_statement(cursor)  # the old `type *, x`
    return type_head(cursor)


def _action(cursor: Cursor) -> What:
    """The action of a one-line IF, WHERE or FORALL: what is left of the statement."""
    rest = Cursor(cursor.code, cursor.tokens[cursor.at :])
    if _may_be_assignment(rest.tokens):
        return assignment(rest)
    what = _by_keyword(rest)
    match what:
        case Assign() | Call() | Jump() | IO() | Allocation() | Plain(keyword="continue"):
            return what
        case Guarded(kind="where" | "forall"):
            return what
    raise cursor.error("expected an action")
