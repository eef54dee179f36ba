"""Names that change in array constructors, and in their implied DO loops."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.expressions import parse_expression
from asphalt.ir.expr import Expr, ImpliedDo, Ref, names_in, walk
from asphalt.ir.mapped import Change, NotMappedError, mapped_expr
from asphalt.unparse.expr_text import expr_text


def _changing(**names: str) -> Change:
    """Other names, or expressions, for some names."""

    def change(ref: Ref) -> Expr | None:
        found = parse_expression(names[ref.name]) if ref.name in names else None
        if isinstance(found, Ref) and found.args is None:
            return Ref(found.name, found.spelled, ref.args)
        return found

    return change


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("[a, b(i)]", {"i": "j", "b": "c"}, "[a, c(j)]"),
        ("(/ n, n + 1 /)", {"n": "m"}, "(/ m, m + 1 /)"),
        ("[real(dp) :: 1]", {"dp": "wp"}, "[real(wp) :: 1]"),
        ("[(a(i), i = 1, n)]", {"a": "b", "n": "m + 1"}, "[(b(i), i = 1, m + 1)]"),
        ("[(a(i)*k, i = 1, 3)]", {"k": "m + 1"}, "[(a(i)*(m + 1), i = 1, 3)]"),
        # the variable is declared where its name is
        ("[(a(i), i = 1, 3)]", {"i": "i_2"}, "[(a(i_2), i_2 = 1, 3)]"),
        # outside of the values the name is that of another variable
        ("[i, (i, i = 1, i)]", {"i": "j"}, "[j, (j, j = 1, j)]"),
    ],
)
def test_names_are_replaced(text: str, names: dict[str, str], expected: str) -> None:
    changed = mapped_expr(parse_expression(text), _changing(**names))
    assert expr_text(changed) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[(i, i = 1, 3)]", {"i": "k + 1"}),  # what has its name has no name of its own
        ("[(i*k, i = 1, 3)]", {"k": "i"}),  # the loop would take the name
        ("[(i*k, i = 1, 3)]", {"k": "m(i)"}),
        ("[(i*k, i = 1, 3)]", {"i": "k"}),
        ("[t :: a]", {"a": "b"}),  # of a derived type: kept as text
    ],
)
def test_what_would_mean_something_else_is_refused(text: str, names: dict[str, str]) -> None:
    with pytest.raises(NotMappedError):
        mapped_expr(parse_expression(text), _changing(**names))


def test_the_variable_of_an_implied_do_is_not_read_from_outside() -> None:
    constructor = parse_expression("[(a(i)*b, i = k, n)]")
    loops = [part for part in walk(constructor) if isinstance(part, ImpliedDo)]
    assert [loop.names for loop in loops] == [frozenset("abkn")]
    assert names_in(constructor) == frozenset("abikn")
    # ``a(i)`` is no element with a subscript that anybody outside knows
    assert not any(isinstance(part, Ref) for part in walk(constructor))
