"""The cost of an operator or an intrinsic function without that of its operands."""

from __future__ import annotations

from asphalt.analysis.cost.classes import FAMILY, Counts
from asphalt.analysis.cost.types import Surroundings, base_of
from asphalt.analysis.names.constants import constant
from asphalt.ir.expr import Expr, Lit, Op, Ref

RELATIONS = frozenset({"==", "/=", "<", "<=", ">", ">="})
_BITS = 4  # of an integer exponent that is not known
_CHEAP = frozenset({"abs", "iabs", "dabs", "conjg", "aimag", "dimag", "transfer", "present"})


def operator(expr: Op, base: str, bases: list[str], around: Surroundings) -> Counts:
    """The cost of an operator; ``base``: its type, ``bases``: those of its operands."""
    op = expr.op
    if base in ("integer", "logical"):
        return _integer_operator(expr, around)
    double = base == "complex"
    both = double and all(b == "complex" for b in bases)
    if op in RELATIONS:
        return Counts.of(add=2 if double else 1)
    if op in ("+", "-"):
        return Counts.of(add=2 if both or (double and len(bases) == 1) else 1)
    if op == "*":
        return Counts.of(multiply=4, add=2) if both else Counts.of(multiply=2 if double else 1)
    if op == "/":
        if is_constant(expr.operands[-1], around) and _is_power_of_two(expr.operands[-1], around):
            return Counts.of(multiply=2 if double else 1)
        if bases[-1] == "complex":
            return Counts.of(divide=3, multiply=3, add=3)
        return Counts.of(divide=2 if double else 1)
    return Counts.of(call=1)  # a defined operator


def _integer_operator(expr: Op, around: Surroundings) -> Counts:
    if expr.op != "/":
        return Counts.of(integer=1)
    known = constant(expr.operands[-1], around.scope)
    if known is None:
        return Counts.of(integer_divide=1)
    return Counts.of(integer=2 if _is_power_of_two(expr.operands[-1], around) else 4)


def is_constant(expr: Expr, around: Surroundings) -> bool:
    """Whether compilers know the value of an expression."""
    if isinstance(expr, Lit):
        return True
    if isinstance(expr, Op):
        return all(is_constant(operand, around) for operand in expr.operands)
    symbol = around.symbol(expr.name) if isinstance(expr, Ref) and not expr.args else None
    return symbol is not None and symbol.is_parameter


def _is_power_of_two(expr: Expr, around: Surroundings) -> bool:
    number = constant(expr, around.scope)
    if number is None and isinstance(expr, Lit) and expr.kind == "real":
        text = expr.text.lower().split("_")[0].replace("d", "e")
        try:
            value = float(text)
        except ValueError:
            return False
        number = int(value) if value == int(value) else None
    return number is not None and number > 0 and number & (number - 1) == 0


def function(name: str, base: str, given: str, constant_divisor: bool, number: int) -> Counts:
    """The cost of an intrinsic function."""
    double = given == "complex" or base == "complex"
    if name in FAMILY:
        return Counts.from_mapping({FAMILY[name]: 2 if double else 1})
    if name in ("sqrt", "dsqrt", "csqrt", "cdsqrt", "zsqrt"):
        return Counts.of(sqrt=3, add=3) if double else Counts.of(sqrt=1)
    if name in ("abs", "cabs", "cdabs", "zabs") and given == "complex":
        return Counts.of(sqrt=1, multiply=2, add=1)
    if name in ("mod", "modulo", "amod", "dmod"):
        if base == "integer":
            return Counts.of(integer=5) if constant_divisor else Counts.of(integer_divide=1)
        return Counts.of(divide=1, multiply=1, add=2)
    if name in ("max", "min", "merge", "dim", "sign", "amax1", "amin1", "dmax1", "dmin1"):
        each = max(1, number - 1)
        return Counts.of(integer=each) if base == "integer" else Counts.of(add=each)
    if name in ("real", "dble", "float", "cmplx", "dcmplx", "dfloat", "sngl"):
        return Counts.of(convert=1) if given == "integer" else Counts()
    if name in ("int", "nint", "floor", "ceiling", "idint", "ifix", "aint", "anint", "idnint"):
        return Counts.of(convert=1) if given == "real" else Counts()
    if name in _CHEAP:
        return Counts()
    return Counts.of(integer=1) if base in ("integer", "logical") else Counts.of(add=1)


def power(a: Expr, b: Expr, around: Surroundings) -> Counts:
    """The cost of ``a**b``."""
    base, exponent = base_of(a, around), base_of(b, around)
    times = 4 if base == "complex" else 1
    if exponent != "integer":
        return Counts.of(power=times)
    known = constant(b, around.scope)
    if known is None:
        if constant(a, around.scope) == -1:
            return Counts.of(integer=3)
        return (
            Counts.of(integer=2 * products(b, around))
            if base == "integer"
            else Counts.of(multiply=products(b, around) * times, integer=8)
        )
    if base == "integer":
        return Counts.of(integer=products(b, around))
    return Counts.of(multiply=products(b, around) * times, divide=1 if known < 0 else 0)


def products(exponent: Expr, around: Surroundings) -> int:
    """The number of multiplications in an integer power, one after the other."""
    known = constant(exponent, around.scope)
    size = 2**_BITS - 1 if known is None else abs(known)
    return max(0, size.bit_length() - 1 + size.bit_count() - 1)
