"""Constructors of new statements and expressions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Arg, ArrayConstructor, Component, Expr, ImpliedDo, Op, Ref, Section
from asphalt.ir.expr import num as num
from asphalt.ir.source import Form, Trivia, TriviaKind
from asphalt.ir.stmt import ArmHead, Assign, Call, DoHead, Guarded, Plain, What
from asphalt.ir.tree import Arm, Branch, Do, Leaf, Node, leaves

_NONE: Mapping[str, str] = MappingProxyType({})


def var(name: str) -> Ref:
    """A variable with this spelling."""
    return Ref(name.lower(), name)


def fn(name: str, *args: Arg) -> Ref:
    """A function reference or array element."""
    return Ref(name.lower(), name, args)


def add(a: Expr, b: Expr) -> Expr:
    """``a + b``."""
    return Op("+", (a, b))


def sub(a: Expr, b: Expr) -> Expr:
    """``a - b``."""
    return Op("-", (a, b))


def mul(a: Expr, b: Expr) -> Expr:
    """``a*b``, without a factor 1."""
    if a == num(1):
        return b
    return a if b == num(1) else Op("*", (a, b))


def quotient(a: Expr, b: Expr) -> Expr:
    """``a/b``."""
    return Op("/", (a, b))


def simplified(expr: Expr) -> Expr:
    """A sum of asphalt's own variables with its constants added up."""
    return poly(expr).expression()


def array(*elements: Expr) -> Expr:
    """``[a, b, ...]``."""
    return ArrayConstructor(elements)


def implied_do(value: Expr, variable: Ref, first: Expr, last: Expr) -> Expr:
    """``(value, variable = first, last)``, in an array constructor."""
    return ImpliedDo((value,), variable, first, last)


def both(a: Expr, b: Expr) -> Expr:
    """``a .and. b``."""
    return Op(".and.", (a, b))


def compare(a: Expr, op: str, b: Expr) -> Expr:
    """``a op b``."""
    return Op(op, (a, b))


def respelled(expr: Arg, scope: Scope, own: Mapping[str, str] = _NONE) -> Arg:
    """The expression with the user's variables spelled as they are declared, or as ``own`` says."""
    match expr:
        case Ref(name=name, args=args):
            symbol = scope.lookup(name)
            spelled = symbol.spelled if symbol is not None and symbol.name == name else name
            listed = None if args is None else tuple(respelled(a, scope, own) for a in args)
            return Ref(name, own.get(name, spelled), listed)
        case Component(base=base, name=name, spelled=spelled, args=args):
            inner = respelled(base, scope, own)
            listed = None if args is None else tuple(respelled(a, scope, own) for a in args)
            return Component(inner, name, spelled, listed)  # type: ignore[arg-type]
        case Op(op=op, operands=operands, spelled=spelled):
            inside = tuple(respelled(o, scope, own) for o in operands)
            return Op(op, inside, spelled)  # type: ignore[arg-type]
        case Section(lower=lower, upper=upper, stride=stride):
            parts = [
                None if p is None else respelled(p, scope, own) for p in (lower, upper, stride)
            ]
            return Section(*parts)  # type: ignore[arg-type]
    return expr


def size(poly: Poly, scope: Scope, own: Mapping[str, str] = _NONE) -> Expr:
    """A size as an expression in the user's spelling."""
    return respelled(poly.expression(), scope, own)  # type: ignore[return-value]


class Maker:
    """Makes statements at a column.

    ``column``: where statements begin, counted from 0 (free form) or from column 7 (fixed form);
    ``step``: how many columns a nested block is further in.
    """

    def __init__(self, column: int, step: int, free: bool, eol: str) -> None:
        self.column = column
        self.step = step
        self.free = free
        self.eol = eol

    def inner(self) -> Maker:
        """The maker for a block one level further in."""
        return Maker(self.column + self.step, self.step, self.free, self.eol)

    def comment(self, text: str) -> Trivia:
        """A comment line."""
        blanks = " " * self.column if self.free else ""
        return Trivia(TriviaKind.COMMENT, f"{blanks}! {text}{self.eol}")

    def leaf(self, what: What, *comments: str) -> Leaf:
        """A statement, with comment lines before it."""
        blanks = " " * (self.column if self.free else self.column + 6)
        return Leaf(what, lead=tuple(self.comment(c) for c in comments), head=blanks)

    def assign(self, target: Expr, value: Expr, *comments: str) -> Leaf:
        """``target = value``."""
        return self.leaf(Assign(target, value), *comments)

    def call(self, name: str, *args: Arg, comments: tuple[str, ...] = ()) -> Leaf:
        """``call name(args)``."""
        return self.leaf(Call(var(name), args), *comments)

    def do(
        self,
        name: str,
        first: Expr,
        last: Expr,
        body: tuple[Node, ...],
        *comments: str,
        step: Expr | None = None,
    ) -> Do:
        """``do name = first, last[, step]``."""
        head = self.leaf(DoHead("count", var(name), first, last, step), *comments)
        return Do(head, body, self.leaf(Plain("end do")))

    def in_front(self, condition: Expr) -> Leaf:
        """``if (condition) &``, in free form, in front of a statement that stays as it is."""
        return self.leaf(Guarded(condition, Plain("&")))

    def branch(
        self,
        condition: Expr,
        then: tuple[Node, ...],
        otherwise: tuple[Node, ...] = (),
        *comments: str,
    ) -> Branch:
        """``if (condition) then ... [else ...] end if``."""
        arms = [Arm(self.leaf(ArmHead("if", (condition,)), *comments), then)]
        if otherwise:
            arms.append(Arm(self.leaf(ArmHead("else")), otherwise))
        return Branch("if", tuple(arms), self.leaf(Plain("end if")))


def maker_at(node: Node, form: Form, eol: str) -> Maker:
    """A maker for statements beside a node."""
    first = next(iter(leaves(node)))
    head = first.head.rsplit("\n", 1)[-1]
    if first.name is not None and first.name.lower() in head.lower():
        head = head[: head.lower().rindex(first.name.lower())]
    column = len(head.expandtabs(8))
    if first.joined or (first.span is None and not first.head):
        column = 0 if form is Form.FREE else 6
    return Maker(column if form is Form.FREE else max(0, column - 6), 2, form is Form.FREE, eol)
