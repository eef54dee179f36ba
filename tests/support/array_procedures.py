"""Random procedures about one array, and what the analysis says of them."""

from __future__ import annotations

from contextlib import suppress
from math import prod

from hypothesis import strategies as st

from asphalt.analysis.effects.array_flow import Flow
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.names.scopes import Scopes
from asphalt.analysis.symbolic.index_sets import Elements
from support.fortran_interpreter import NotConformingError, View
from support.fortran_program import FortranProgram
from support.fortran_values import value

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
