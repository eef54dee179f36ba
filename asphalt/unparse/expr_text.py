"""Expressions to Fortran text.

Names, literals and operators are spelled as the IR spells them.  Parentheses of the IR are printed;
others are added only where the text would otherwise be parsed as another tree, so that nothing is
re-associated: ``a - (b - c)`` keeps its parentheses.
"""

from __future__ import annotations

import re

from asphalt.ir.expr import (
    AltReturn,
    Arg,
    ArrayConstructor,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
    TypeSpec,
    root_name,
)

# F2018 table 10.1: how tightly an operator binds
_DEFINED, _EQUIVALENCE, _OR, _AND, _NOT, _RELATION, _CONCAT, _SUM, _PRODUCT, _POWER = range(1, 11)
_DEFINED_UNARY, _PRIMARY = 11, 12
_BINARY = {
    ".eqv.": _EQUIVALENCE,
    ".neqv.": _EQUIVALENCE,
    ".or.": _OR,
    ".and.": _AND,
    **dict.fromkeys(("==", "/=", "<", "<=", ">", ">="), _RELATION),
    "//": _CONCAT,
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "**": _POWER,
}
_UNARY = {".not.": _NOT, "+": _SUM, "-": _SUM}
# what a unary operator may stand before without parentheses (10.1.2.2)
_UNARY_OPERAND = {".not.": _RELATION, "+": _PRODUCT, "-": _PRODUCT}

# functions whose argument lists are printed like those of a CALL; a matter of looks alone
_FUNCTIONS = frozenset(("abs", "int", "max", "merge", "min", "mod", "modulo", "present"))
_GENERATED = _FUNCTIONS | {"is_contiguous", "kind", "lbound", "size", "storage_size", "ubound"}
_STRING = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")


def expr_text(expr: Arg, upper: bool = False, upper_names: bool = False) -> str:
    """The text of an expression or argument, e.g. ``a + b*s(1,lo,p+1)``.

    ``upper``: operators that asphalt makes are in upper case; ``upper_names``: the names.
    """
    return ExprPrinter(upper, upper_names).text(expr)


class ExprPrinter:
    """Prints expressions, with keywords and names each in one letter case."""

    def __init__(self, upper: bool = False, upper_names: bool = False) -> None:
        self.upper = upper
        self.upper_names = upper_names

    def keyword(self, word: str) -> str:
        """A keyword, in the case of the file."""
        return word.upper() if self.upper else word

    def name(self, spelled: str, of: str | None = None) -> str:
        """A name as spelled; one that asphalt makes, or of something ``of`` asphalt's, in the case
        of the file."""
        low = spelled.lower()
        own = low.startswith(("asphalt_", "mpi_")) or low in _GENERATED
        if self.upper_names and (own or (of is not None and of.startswith("asphalt_"))):
            return spelled.upper()
        return spelled

    def text(self, expr: Arg, tight: bool = False) -> str:
        """The text of an expression; ``tight``: in a subscript list, without blanks."""
        match expr:
            case Lit(kind="logical", text=text) if text in (".true.", ".false."):
                return self.keyword(text)
            case Lit(text=text) | OpaqueExpr(text=text):
                return text
            case Ref(spelled=spelled, name=name, args=args):
                tight = tight or name not in _FUNCTIONS
                return self.name(spelled) + self.arguments(args, tight, name)
            case Component(base=base, spelled=spelled, args=args):
                of = root_name(base)
                bound = of is not None and of.startswith("asphalt_")
                values = self.arguments(args, not bound, of if bound else None)
                return f"{self.text(base, tight)}%{self.name(spelled, of)}{values}"
            case Section():
                return self._section(expr, tight)
            case Keyword(spelled=spelled, value=value):
                return f"{spelled}={self.text(value, tight)}"
            case AltReturn(label=label):
                return f"*{label}"
            case Op(op="()", operands=(inner,)):
                return f"({self.text(inner, tight)})"
            case ArrayConstructor():
                return self._constructor(expr, tight)
            case ImpliedDo(values=values, variable=variable, bounds=bounds):
                listed = ", ".join(self.text(value, tight) for value in values)
                limits = ", ".join(self.text(bound, tight) for bound in bounds)
                return f"({listed}, {self.text(variable)} = {limits})"
            case Op(operands=(_,)):
                return self._unary(expr, tight)
            case Op(operands=(_, _)):
                return self._binary(expr, tight)
        raise ValueError(f"no Fortran text for {expr!r}")

    def arguments(self, args: tuple[Arg, ...] | None, tight: bool, of: str | None = None) -> str:
        """An argument list ``of`` a procedure, or a subscript list, with its parentheses; '' for
        None."""
        if args is None:
            return ""
        comma = "," if tight else ", "
        return f"({comma.join(self._argument(arg, tight, of) for arg in args)})"

    def _argument(self, arg: Arg, tight: bool, of: str | None) -> str:
        if isinstance(arg, Keyword):
            return f"{self.name(arg.spelled, of)}={self.text(arg.value, tight)}"
        return self.text(arg, tight)

    def _section(self, section: Section, tight: bool) -> str:
        bounds = [section.lower, section.upper]
        if section.stride is not None:
            bounds.append(section.stride)
        return ":".join("" if part is None else self.text(part, tight) for part in bounds)

    def _constructor(self, constructor: ArrayConstructor, tight: bool) -> str:
        text = ", ".join(self.text(value, tight) for value in constructor.values)
        if constructor.type is not None:
            text = f"{self.type_text(constructor.type)} :: {text}".rstrip()
        return f"[{text}]" if constructor.bracket == "[" else f"(/ {text} /)"

    def type_text(self, spec: TypeSpec) -> str:
        """The text of a type, as declarations have it."""
        base = self.keyword(spec.base.replace("_", " "))
        if spec.name is not None:
            return f"{base}({spec.spelled or self.name(spec.name)})"
        if spec.star:
            size = spec.length if spec.base == "character" else spec.kind
            if isinstance(size, Lit):
                return f"{base}*{self.text(size)}"
            return base if size is None else f"{base}*({self.text(size)})"
        parameters = []
        if spec.length is not None:
            parameters.append(f"{self.keyword('len')}={self.length(spec.length)}")
        if spec.kind is not None:
            plain = isinstance(spec.kind, Lit | Ref) and not parameters
            named = plain and not (isinstance(spec.kind, Ref) and spec.kind.args)
            prefix = "" if named else f"{self.keyword('kind')}="
            parameters.append(prefix + self.text(spec.kind))
        return f"{base}({', '.join(parameters)})" if parameters else base

    def length(self, length: Arg) -> str:
        """The text of the length of a character variable."""
        return ":" if isinstance(length, Section) else self.text(length)

    def _operator(self, op: Op) -> str:
        return op.spelled or self.keyword(op.op)

    def _unary(self, op: Op, tight: bool) -> str:
        operand = self._at_least(op.operands[0], _UNARY_OPERAND.get(op.op, _PRIMARY), tight)
        blank = "" if op.op in ("+", "-") else " "
        return f"{self._operator(op)}{blank}{operand}"

    def _binary(self, op: Op, tight: bool) -> str:
        level = _BINARY.get(op.op, _DEFINED)
        # all associate to the left, but ** to the right, and comparisons not at all
        left = self._at_least(op.operands[0], level + (level in (_POWER, _RELATION)), tight)
        right = self._at_least(op.operands[1], level + (level != _POWER), tight)
        operator = self._operator(op)
        close = level in (_POWER, _PRODUCT) or (tight and level == _SUM)
        return f"{left}{operator}{right}" if close else f"{left} {operator} {right}"

    def _at_least(self, operand: Expr, level: int, tight: bool) -> str:
        """An operand, in parentheses unless it binds at least as tightly as ``level``."""
        text = self.text(operand, tight)
        return text if _binds(operand) >= level else f"({text})"


def _binds(expr: Expr) -> int:
    match expr:
        case Op(op="()"):
            return _PRIMARY
        case Op(op=op, operands=(_,)):
            return _UNARY.get(op, _DEFINED_UNARY)
        case Op(op=op):
            return _BINARY.get(op, _DEFINED)
        case Lit(kind=kind, text=text) if text.startswith(("-", "+")) and kind != "character":
            return _SUM
        case OpaqueExpr(text=text):
            return _PRIMARY if _is_closed(text) else 0
    return _PRIMARY


def _is_closed(text: str) -> bool:
    """Whether no operator stands outside of all brackets of an expression kept as text."""
    depth = 0
    text = _STRING.sub("x", text)
    for index, character in enumerate(text):
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif depth == 0 and character in "+-*/<>=." and not text.startswith(("(/", "/)"), index):
            return False
    return True
