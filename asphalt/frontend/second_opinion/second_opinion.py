"""The meaning that another parser finds in statements that a transformation moves or depends on.

asphalt's own parser of statements is fast and accepts nearly everything; fparser is slow, accepts
less, and others have written it from the rules of the standard.  If both interpret a statement and
differ, one of them is wrong, and asphalt builds nothing on it.

Each statement is read again from its text, by the class of fparser that corresponds to its meaning
in the IR, and the two meanings are compared.  A statement that fparser rejects has no second
opinion: that is no disagreement, since asphalt's parser accepts much more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import lru_cache
from types import FrameType, MappingProxyType
from typing import Any

from asphalt.frontend.second_opinion.fparser_declarations import DECLARATIONS
from asphalt.frontend.second_opinion.fparser_statements import EXECUTABLE
from asphalt.frontend.second_opinion.fparser_tree import Tree
from asphalt.frontend.second_opinion.same_meaning import same_statement
from asphalt.frontend.statements.logical_line import logical_line
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    DoHead,
    Guarded,
    Jump,
    Plain,
    Use,
    What,
)
from asphalt.ir.tree import Leaf

CONVERSIONS: Mapping[str, Callable[[Tree], What]] = MappingProxyType({**EXECUTABLE, **DECLARATIONS})
"""From a tree of each rule that is asked for to the meaning of the statement."""
LONGEST = 4000
"""Characters of the longest statement that fparser is asked about."""
DEEPEST = 40
"""Brackets within brackets of the deepest one."""
_HARMLESS = 1
"""Up to this depth fparser's time is about linear in the length of a statement."""
_STEPS = 250_000
"""Calls and returns that fparser may take for one statement beyond that depth: some 0.1 s."""


@record
class Disagreement:
    """A statement in which the two parsers find different meanings."""

    leaf: Leaf
    code: str
    ours: What
    theirs: What

    @property
    def line(self) -> int:
        """The first line of the statement."""
        assert self.leaf.span is not None
        return self.leaf.span.first


@record
class Opinions:
    """How many statements have the same meaning for both parsers, for how many fparser has no
    opinion, and where they differ."""

    agreed: int
    silent: int
    disagreements: tuple[Disagreement, ...]


def disagreements(
    leaves: Iterable[Leaf], form: Form, width: int | None = None
) -> tuple[Disagreement, ...]:
    """The statements that fparser interprets differently; ``width``: the line limit."""
    return opinions(leaves, form, width).disagreements


def opinions(leaves: Iterable[Leaf], form: Form, width: int | None = None) -> Opinions:
    """The second opinion on every statement that has data flow, control flow or declares."""
    agreed = silent = 0
    found: list[Disagreement] = []
    for leaf in leaves:
        rule = _rule(leaf.what)
        if rule not in CONVERSIONS:
            continue
        code = logical_line(leaf, form, width)
        theirs = None if code is None else meaning(code, rule)
        if code is None or theirs is None:
            silent += 1
        elif same_statement(leaf.what, theirs):
            agreed += 1
        else:
            found.append(Disagreement(leaf, code, leaf.what, theirs))
    return Opinions(agreed, silent, tuple(found))


@lru_cache(maxsize=4096)
def meaning(code: str, rule: str) -> What | None:
    """The meaning of a statement of one rule to fparser; None: no opinion.

    ``rule`` is the name of the rule in the standard with its words in capitals.
    """
    depth = _depth(code)
    if len(code) > LONGEST or depth > DEEPEST:
        return None
    parse = _parser()
    try:
        with nullcontext() if depth <= _HARMLESS else _Steps(_STEPS):
            tree = parse(rule, code)
        return CONVERSIONS[rule](tree)
    except (Exception, SystemExit, _TooLong):  # whatever fparser does, it is no opinion
        return None


@lru_cache(maxsize=1)
def _parser() -> Callable[[str, str], Tree]:
    """fparser's rules as a function of the name of a rule and a statement.

    fparser is imported here: a run that transforms nothing does without it.
    """
    from fparser.two import Fortran2003, Fortran2008
    from fparser.two.parser import ParserFactory

    ParserFactory().create(std="f2008")

    def parse(rule: str, code: str) -> Tree:
        newest = getattr(Fortran2008, rule, None) or getattr(Fortran2003, rule)
        return newest(code)

    return parse


def _depth(code: str) -> int:
    """How deep brackets are nested; those in character constants count as well."""
    depth = deepest = 0
    for character in code:
        if character in "([":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]":
            depth -= 1
    return deepest


class _TooLong(BaseException):
    """fparser takes too long; not an ``Exception``, which fparser would treat as a mismatch."""


class _Steps:
    """Ends what runs inside after so many calls and returns, the same number on every machine.

    fparser tries the rules of the standard one after the other; an error within nested lists costs
    it a factor of eight for each level.  There is no limit if the thread is being profiled.
    """

    def __init__(self, steps: int) -> None:
        self._left = steps
        self._own = False

    def __enter__(self) -> None:
        if sys.getprofile() is None:
            self._own = True
            sys.setprofile(self._count)

    def __exit__(self, *_: object) -> None:
        if self._own:
            sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, arg: Any) -> None:
        self._left -= 1
        if self._left < 0:
            sys.setprofile(None)
            raise _TooLong


def _rule(what: What) -> str:
    """The rule of the standard that a statement of this meaning follows; '' for none of ours."""
    match what:
        case Assign(pointer=pointer):
            return "Pointer_Assignment_Stmt" if pointer else "Assignment_Stmt"
        case Call():
            return "Call_Stmt"
        case DoHead(label=label):
            return "Nonlabel_Do_Stmt" if label is None else "Label_Do_Stmt"
        case ArmHead(kind=kind, exprs=exprs):
            masked = kind == "elsewhere" and exprs
            return "Masked_Elsewhere_Stmt" if masked else _ARMS.get(kind, "")
        case Guarded(kind=kind):
            return f"{kind.capitalize()}_Stmt"
        case Jump(kind=kind):
            return f"{kind.value.title().replace(' ', '_')}_Stmt"
        case IO(kind=kind) | Allocation(kind=kind):
            return f"{kind.capitalize()}_Stmt"
        case Decl(kind="type"):
            return "Type_Declaration_Stmt"
        case Decl(kind=kind):
            return f"{kind.capitalize()}_Stmt"
        case Use():
            return "Use_Stmt"
        case Plain(keyword="continue"):
            return "Continue_Stmt"
    return ""


_ARMS = {
    "if": "If_Then_Stmt",
    "else_if": "Else_If_Stmt",
    "else": "Else_Stmt",
    "select_case": "Select_Case_Stmt",
    "case": "Case_Stmt",
    "case_default": "Case_Stmt",
    "select_type": "Select_Type_Stmt",
    "type_is": "Type_Guard_Stmt",
    "class_is": "Type_Guard_Stmt",
    "class_default": "Type_Guard_Stmt",
    "where": "Where_Construct_Stmt",
    "elsewhere": "Elsewhere_Stmt",
    "forall": "Forall_Construct_Stmt",
    "associate": "Associate_Stmt",
    "block": "Block_Stmt",
    "critical": "Critical_Stmt",
}
