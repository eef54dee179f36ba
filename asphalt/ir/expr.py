"""Expressions.

A ``Ref`` is whatever Fortran writes as a name with an optional parenthesised list: a variable, an
array element, an array section or a function reference.  Which of these it is depends on
declarations, so only the analysis decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

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


@record
class TypeSpec:
    """A declared type; ``base``: integer real double_precision complex double_complex logical
    character type class; ``kind`` is the kind expression, ``name`` that of a derived type.
    The old ``real*8`` is ``kind=Lit('integer', '8')`` with ``star`` set (for complex*16 the star
    counts bytes of the whole number).  ``spelled``: that name as it is written; None: as other new
    names are."""

    base: str
    kind: Expr | None = None
    name: str | None = None
    length: Arg | None = None
    star: bool = False
    spelled: str | None = field(default=None, compare=False)


@record
class ImpliedDo:
    """``(values, variable = first, last, step)`` in an array constructor (F2018 7.8).

    The variable is one of this loop alone, with the type of what has its name outside (19.4): a
    name in ``values`` may be the variable, whatever it is elsewhere.  So ``children`` has no parts
    of it: who asks for references gets ``names``, all that it reads from outside, each as a whole.
    """

    values: tuple[Expr, ...]
    variable: Ref
    first: Expr
    last: Expr
    step: Expr | None = None

    @property
    def bounds(self) -> tuple[Expr, ...]:
        """The first and last value of the variable, and the step."""
        return (self.first, self.last, *(() if self.step is None else (self.step,)))

    @property
    def text(self) -> str:
        """What messages call it."""
        return f"the implied DO of {self.variable.spelled}"

    @property
    def names(self) -> frozenset[str]:
        """The names of what it may read or call."""
        inside = {name for value in self.values for name in names_in(value)}
        return frozenset().union(inside - {self.variable.name}, *map(names_in, self.bounds))


@record
class ArrayConstructor:
    """``[values]`` or ``(/ values /)``, with the intrinsic type in front of ``::`` if there is one.

    ``bracket`` is ``[`` or ``(/``.  One of a derived or character type is an ``OpaqueExpr``.
    """

    values: tuple[Expr, ...]
    type: TypeSpec | None = None
    bracket: str = field(default="[", compare=False)


Unstructured = OpaqueExpr | ImpliedDo
"""What ``walk`` does not look into: all of its ``names`` may be read, and called."""
Expr = Lit | Ref | Component | Op | OpaqueExpr | ArrayConstructor | ImpliedDo
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
        case ArrayConstructor(values=values, type=spec):
            kind = None if spec is None else spec.kind
            return values if kind is None else (kind, *values)
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
        elif isinstance(part, ImpliedDo):
            found |= {part.variable.name, *part.names}
    return frozenset(found)


_LISTED = re.compile(r"([A-Za-z_$][\w$]*)\s*\(", re.ASCII)


def listed_names(expr: OpaqueExpr | ImpliedDo) -> frozenset[str]:
    """The folded names that stand in front of a list in it: of arrays and functions."""
    if isinstance(expr, OpaqueExpr):
        return expr.names & {name.lower() for name in _LISTED.findall(expr.text)}
    found: set[str] = set()
    for part in (part for value in (*expr.values, *expr.bounds) for part in walk(value)):
        if isinstance(part, Ref) and part.args is not None:
            found.add(part.name)
        elif isinstance(part, OpaqueExpr | ImpliedDo):
            found |= listed_names(part)
    return frozenset(found)


def root_name(expr: Expr) -> str | None:
    """The variable that a component reference starts from."""
    match expr:
        case Ref(name=name):
            return name
        case Component(base=base):
            return root_name(base)
    return None
