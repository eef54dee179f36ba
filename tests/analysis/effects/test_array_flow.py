"""Regions of statements and of calls, against runs in Python that record every access.

Whatever the sizes: what is exposed or written must be in the regions that may be, what is surely
written must have been; and what is called exact must be equal.
"""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from support.array_procedures import (
    ACTUALS,
    MODULE,
    analysed,
    dummies_for,
    members,
    statements,
    text_of,
)
from support.fortran_interpreter import NotConformingError, executed

EXAMPLES = settings(max_examples=30, deadline=None)
SIZES = [{"n": n, "m": m, "k": k} for n, m, k in product((1, 2, 4), (1, 3), (-1, 1, 2))]


def check(text: str) -> int:
    """Compare all sizes; gives how many of them the program could be run with."""
    flow, program = analysed(text)
    units = {found.unit.name: found.unit for found in program.all}
    compared = 0
    for sizes in SIZES:
        try:
            view, record = executed(units, "outer", sizes)
        except (NotConformingError, ZeroDivisionError):
            continue
        compared += 1
        exposed, maybe = (members(e, view, sizes) for e in (flow.exposed, flow.maybe))
        surely = members(flow.surely, view, sizes)
        assert record.exposed <= exposed, (text, sizes)
        assert record.written <= maybe, (text, sizes)
        assert surely <= record.written, (text, sizes)
        if flow.maybe.exact:
            assert maybe == record.written, (text, sizes)
        if flow.exposed.exact and not record.beyond:
            assert exposed == record.exposed, (text, sizes)
    return compared


def test_an_element_with_two_names() -> None:
    body = text_of(
        ["a(i,i) = 0", "a(i,i) = a(i+1,i/2) + 1"]
    )  # where n = m = 1, the second is a(1,1)
    assert check(MODULE.format(dims="n,m", body=body, dummy="n", called="")) > 0


@EXAMPLES
@given(st.data())
def test_statements(data: st.DataObject) -> None:
    dims = data.draw(st.sampled_from(["n", "0:n", "n,m", "n,0:m", "4,m"]))
    body = text_of(data.draw(statements("a", dims.count(",") + 1)))
    check(MODULE.format(dims=dims, body=body, dummy="n", called=""))


@EXAMPLES
@given(st.data())
def test_calls_with_arrays_of_another_shape(data: st.DataObject) -> None:
    dims = data.draw(st.sampled_from(sorted(ACTUALS)))
    actual = data.draw(st.sampled_from(ACTUALS[dims]))
    dummy = data.draw(st.sampled_from(dummies_for(dims, actual)))
    call = f"call inner({actual}, n, m, {data.draw(st.sampled_from(['k', 'i', 'n']))})"
    body = data.draw(statements("a", dims.count(",") + 1, call, 1, True))
    called = text_of(data.draw(statements("x", dummy.count(",") + 1)))
    body = [
        "i = 1",
        f"do i = 1, {data.draw(st.sampled_from(['n', 'm', '2']))}",
        *body,
        call,
        "end do",
    ]
    check(MODULE.format(dims=dims, body=text_of(body), dummy=dummy, called=called))
