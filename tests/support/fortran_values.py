"""Integer expressions of Fortran: random ones, and what they are worth."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from asphalt.ir.expr import Arg, Expr, Lit, Op, Ref

NAMES = ("a", "b", "c", "d")


def truncated(a: int, b: int) -> int:
    """The quotient of Fortran's integer division, which is truncated (F2018 10.1.5.2.2)."""
    magnitude = abs(a) // abs(b)
    return magnitude if (a < 0) == (b < 0) else -magnitude


def value(expr: Arg, variables: Mapping[str, int]) -> int:
    """The value of an integer expression; raises ZeroDivisionError."""
    match expr:
        case Lit() if expr.integer is not None:
            return expr.integer
        case Ref(name=name, args=None):
            return variables[name]
        case Ref(name="mod", args=(a, b)):
            left, right = value(a, variables), value(b, variables)
            return left - truncated(left, right) * right
        case Ref(name="min" | "max" as name, args=tuple(args)):
            return (min if name == "min" else max)(value(arg, variables) for arg in args)
        case Op(op="()" | "+", operands=(inner,)):
            return value(inner, variables)
        case Op(op="-", operands=(inner,)):
            return -value(inner, variables)
        case Op(op=op, operands=(a, b)):
            left, right = value(a, variables), value(b, variables)
            match op:
                case "+":
                    return left + right
                case "-":
                    return left - right
                case "*":
                    return left * right
                case "/":
                    return truncated(left, right)
                case "**":
                    return int(left**right)
    raise AssertionError(expr)


def _binary(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        st.builds(Op, st.sampled_from(["+", "-", "*", "/"]), pairs),
        st.builds(lambda e: Op("-", (e,)), inner),
        st.builds(lambda e: Op("()", (e,)), inner),
        st.builds(lambda e, p: Op("**", (e, Lit("integer", str(p)))), inner, st.integers(0, 2)),
        st.builds(lambda es: Ref("mod", "mod", es), pairs),
        st.builds(lambda es: Ref("max", "MAX", es), pairs),
    )


LITERALS: st.SearchStrategy[Expr] = st.builds(lambda n: Lit("integer", str(n)), st.integers(0, 7))


def expressions(*names: str, leaves: int = 8) -> st.SearchStrategy[Expr]:
    """Random expressions of these variables."""
    variables = st.sampled_from(names).flatmap(
        lambda n: st.sampled_from([Ref(n, n), Ref(n, n.upper())])
    )
    return st.recursive(st.one_of(LITERALS, variables), _binary, max_leaves=leaves)


EXPRESSIONS: st.SearchStrategy[Expr] = expressions(*NAMES)
ENVIRONMENTS = st.fixed_dictionaries({name: st.integers(-9, 9) for name in NAMES})


def iterations(first: int, last: int, step: int) -> range:
    """The values of a DO variable in its iterations (F2018 11.1.7.4.1)."""
    return range(first, last + (1 if step > 0 else -1), step)
