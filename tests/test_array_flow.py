"""Regions of statements and of calls, against runs in Python that record every access.

Whatever the sizes: what is exposed or written must be in the regions that may be, what is surely
written must have been; and what is called exact must be equal.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from math import prod

from fortran_interpreter import NotConformingError, View, executed
from fortran_program import FortranProgram
from fortran_values import value
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.analysis.effects.array_flow import Flow
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.names.scopes import Scopes
from asphalt.analysis.symbolic.index_sets import Elements

EXAMPLES = settings(max_examples=30, deadline=None)
SIZES = [{"n": n, "m": m, "k": k} for n, m, k in product((1, 2, 4), (1, 3), (-1, 1, 2))]
MODULE = """
module procedures
contains
subroutine outer(a, n, m, k)
  integer, intent(in) :: n, m, k
  real :: a({dims})
  integer :: i, j
  i = 1
  j = 1
{body}
end subroutine outer
subroutine inner(x, n, m, k)
  integer, intent(in) :: n, m, k
  real :: x({dummy})
  integer :: i, j
  i = 1
  j = 1
{called}
end subroutine inner
end module procedures
"""


def analysed(text: str) -> tuple[Flow, FortranProgram]:
    program = FortranProgram(text)
    effects = Effects(Scopes(program))
    return effects.flow(program.at("procedures", "outer"), "a"), program


def members(elements: Elements, view: View, sizes: dict[str, int]) -> set[int]:
    """The addresses of the elements of a region (its indices may lie beyond their bounds)."""
    values = {}
    for _, meaning in elements.parameters:
        factors = [value(atom, sizes) for atom in meaning]
        values[meaning] = prod(factors)
    limits = [
        (low - 2, low + (size or 0) * 6 + 2)
        for low, size in zip(view.lower, view.extent, strict=True)
    ]
    found = set()
    for index in elements.within(limits, values):
        with suppress(NotConformingError):
            found.add(view.address(index))
    return found


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


BOUNDS = st.sampled_from(
    [("1", "n"), ("1", "m"), ("2", "n"), ("0", "n-1"), ("n", "1"), ("k", "n"), ("1", "i")]
)
STEPS = st.sampled_from(["", "", "", ", -1", ", 2"])
INDICES = st.sampled_from(
    ["i", "j", "i+1", "n", "1", "k", "m", "n+1-i", "2*i", "i/2", "mod(i,2)+1", "i*j"]
)
SECTIONS = st.sampled_from([":", "1:n", "i:n", "1:n:2", "2:", ":k", "n:1:-1"])


@st.composite
def statements(
    draw: st.DrawFn,
    array: str,
    rank: int,
    calls: str = "",
    depth: int = 2,
    repeated: bool = False,
) -> list[str]:
    """A list of statements about one array; ``repeated``: inside of a loop."""

    def element() -> str:
        parts = [draw(st.one_of(INDICES, INDICES, SECTIONS)) for _ in range(rank)]
        return f"{array}({','.join(parts)})"

    def scalar() -> str:
        return f"{array}({','.join(draw(INDICES) for _ in range(rank))})"

    found: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.integers(0, 9 if calls else 8)):
            case 0 | 1:
                found.append(f"{element()} = 0")
            case 2:
                found.append(f"{scalar()} = {scalar()} + 1")
            case 3 if depth:
                body = draw(statements(array, rank, calls, depth - 1, repeated))
                found += [
                    "if (k > 1) then",
                    *body,
                    "else",
                    *draw(statements(array, rank, calls, 0, repeated)),
                    "end if",
                ]
            case 4:
                ways = ["return", f"{scalar()} = 0", *(["cycle", "exit"] if repeated else [])]
                leave = draw(st.sampled_from(ways))
                found.append(f"if (mod(i, 2) == 0) {leave}")
            case 9:
                found.append(calls)
            case _ if depth:
                low, high = draw(BOUNDS)
                variable = "i" if depth == 2 else "j"
                if variable == "i" and high == "i":
                    high = "n"
                body = draw(statements(array, rank, calls, depth - 1, True))
                found += [f"do {variable} = {low}, {high}{draw(STEPS)}", *body, "end do"]
            case _:
                found.append(f"{element()} = 0")
    return found


def text_of(lines: list[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


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


ACTUALS = {
    "n,m": ["a", "a(1,1)", "a(1,i)", "a(i,1)", "a(:,i)", "a(2,1)"],
    "n,m,2": ["a", "a(1,1,i)", "a(1,i,1)", "a(:,:,i)", "a(1,1,2)", "a(:,1,:)"],
    "4,3": ["a", "a(1,2)", "a(2,i)", "a(:,i)"],
    "0:n,m": ["a", "a(0,i)", "a(1,1)", "a(:,i)"],
    "n*m": ["a", "a(i)", "a(1)", "a(2:n)"],
}
DUMMIES = ["n", "*", "n,m", "n,*", "n*m", "m,n", "0:n-1", "2,*", "6,2", "n,m,*", ":", ":,:", "0:"]


def dummies_for(dims: str, actual: str) -> list[str]:
    """The shapes of dummies that an actual argument may be passed to."""
    rank = actual.count(":") if ":" in actual else dims.count(",") + 1 if actual == "a" else 0
    return [d for d in DUMMIES if ":" not in d or "-" in d or d.count(":") == rank]


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
