"""Expressions.

A ``Ref`` is whatever Fortran writes as a name with an optional parenthesised list: a variable, an
array element, an array section or a function reference.  Which of these it is depends on
declarations, so only the analysis decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.ir.records import record


@record
class Lit:
    """A literal constant, as spelled (with the kind), e.g. ``1``, ``3.0_dp``, ``'a'``."""

    kind: str  # integer | real | complex | logical | character | boz
    text: str

    @property
    def integer(self) -> int | None:
        """The value of an integer literal, else None."""
        return int(self.text.split("_")[0]) if self.kind == "integer" else None


@record
class Ref:
    """``spelled`` or ``spelled(args)``; ``name`` is folded; ``args`` None: no list."""

    name: str
    spelled: str
    args: tuple[Arg, ...] | None = None


@record
class Component:
    """``base%name`` or ``base%name(args)``."""

    base: Expr
    name: str
    spelled: str
    args: tuple[Arg, ...] | None = None


@record
class Section:
    """A subscript triplet ``lower:upper:stride``, each part optional."""

    lower: Expr | None
    upper: Expr | None
    stride: Expr | None


@record
class Keyword:
    """A keyword argument ``spelled=value``; ``name`` is folded to lower case."""

    name: str
    spelled: str
    value: Expr


@record
class AltReturn:
    """An alternate return specifier ``*label`` in an actual argument list."""

    label: int


@record
class Op:
    """An operation.

    ``op`` is ``()`` for a parenthesis (kept: it fixes the order of operations); ``+ - * / ** //``;
    ``== /= < <= > >=`` (also for ``.eq.`` and so on); ``.and. .or. .not. .eqv. .neqv.``; or a
    defined operator such as ``.cross.``, folded to lower case.  One operand: a unary operator.
    ``[]`` with any number of operands is an array constructor of ours (those of the source are kept
    as text); ``do`` is an implied loop in one: its value, its variable, and the first and last
    value of that.
    ``spelled`` keeps the operator as the source wrote it.
    """

    op: str
    operands: tuple[Expr, ...]
    spelled: str = ""


@record
class OpaqueExpr:
    """An expression kept as text; ``names`` are all names in it, folded (an over-approximation)."""

    text: str
    names: frozenset[str]


Expr = Lit | Ref | Component | Op | OpaqueExpr
Arg = Expr | Section | Keyword | AltReturn


def argument_value(arg: Arg) -> Expr | Section | AltReturn:
    """The value that an actual argument passes, with or without its keyword."""
    return arg.value if isinstance(arg, Keyword) else arg


def children(expr: Arg) -> tuple[Arg, ...]:
    """The direct parts of an expression or argument, in source order."""
    if isinstance(expr, Ref):
        return expr.args or ()
    if isinstance(expr, Op):
        return expr.operands
    match expr:
        case Component(base=base, args=args):
            return (base, *(args or ()))
        case Section(lower=lower, upper=upper, stride=stride):
            return tuple(part for part in (lower, upper, stride) if part is not None)
        case Keyword(value=value):
            return (value,)
        case _:
            return ()


def walk(expr: Arg) -> Iterator[Arg]:
    """``expr`` and all its parts, outermost first."""
    left = [expr]
    while left:
        part = left.pop()
        yield part
        if not isinstance(part, Lit):
            left += reversed(children(part))


def num(value: int) -> Expr:
    """The expression for an integer value."""
    return Lit("integer", str(value)) if value >= 0 else Op("-", (Lit("integer", str(-value)),))


def names_in(expr: Arg) -> frozenset[str]:
    """All variable, array and function names that occur in an expression (folded)."""
    if isinstance(expr, Ref) and expr.args is None:
        return frozenset((expr.name,))
    found: set[str] = set()
    for part in walk(expr):
        if isinstance(part, Ref):
            found.add(part.name)
        elif isinstance(part, OpaqueExpr):
            found |= part.names
    return frozenset(found)


def root_name(expr: Expr) -> str | None:
    """The variable that a component reference starts from."""
    match expr:
        case Ref(name=name):
            return name
        case Component(base=base):
            return root_name(base)
    return None
