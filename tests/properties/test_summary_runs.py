"""What procedures do to their arguments, against compiled programs: elements filled with a value
before a call and compared after it, and elements changed that the call is said not to read."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
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

SIZES = {"n": 3, "m": 2, "k": 2}


def program_text(text: str, dims: str, count: int) -> str:
    """A program that prints what a call leaves in the array: unchanged (``e`` = 0), and with the
    element ``e`` of the array changed before the call."""
    return f"""{text}
program main
  use procedures
  implicit none
  integer, parameter :: n = 3, m = 2, k = 2
  real :: a({dims}), values({count})
  integer :: e, i
  do e = 0, {count}
    do i = 1, {count}
      values(i) = 1000 + 16*i
    end do
    if (e > 0) values(e) = 5
    a = reshape(values, shape(a))
    call outer(a, n, m, k)
    print '(*(f0.1,1x))', a
  end do
end program main
"""


def outputs(text: str) -> list[list[str]]:
    compiler = shutil.which("gfortran")
    if compiler is None:
        pytest.skip("gfortran is not installed")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "program.f90")
        source.write_text(text)
        flags = ["-O0", "-w", "-std=legacy", "-fallow-argument-mismatch", "-J", folder]
        made = Path(folder, "program")
        subprocess.run([compiler, *flags, "-o", made, source], check=True, cwd=folder)
        lines = subprocess.run([made], check=True, capture_output=True, text=True).stdout
    return [line.split() for line in lines.splitlines()]


def check(dims: str, text: str) -> None:
    flow, program = analysed(text)
    try:
        view, _ = executed({u.unit.name: u.unit for u in program.all}, "outer", SIZES)
    except (NotConformingError, ZeroDivisionError):
        return
    count = len(view.run)
    exposed, maybe, surely = (
        members(region, view, SIZES) for region in (flow.exposed, flow.maybe, flow.surely)
    )
    plain, *changed = outputs(program_text(text, dims, count))
    initial = [f"{1000 + 16 * (i + 1)}.0" for i in range(count)]
    written = {i for i in range(count) if plain[i] != initial[i]}
    assert written <= maybe, (text, written, maybe)
    assert surely <= written, (text, written, surely)
    for element, values in enumerate(changed):
        if element in exposed:
            continue
        for i in range(count):
            assert values[i] == plain[i] or i == element, (text, element, i)
        assert element not in surely or values[element] == plain[element], (text, element)


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, str]:
    """The dimensions of the array, and two procedures of which one calls the other."""
    dims = draw(st.sampled_from(sorted(ACTUALS)))
    actual = draw(st.sampled_from(ACTUALS[dims]))
    dummy = draw(st.sampled_from(dummies_for(dims, actual)))
    call = f"call inner({actual}, n, m, {draw(st.sampled_from(['k', 'i', 'n']))})"
    body = draw(statements("a", dims.count(",") + 1, call, 1, True))
    called = text_of(draw(statements("x", dummy.count(",") + 1)))
    last = draw(st.sampled_from(["n", "m", "2"]))
    lines = text_of([f"do i = 1, {last}", *body, call, "end do"])
    return dims, MODULE.format(dims=dims, body=lines, dummy=dummy, called=called)


@settings(max_examples=4, deadline=None)
@given(programs())
def test_compiled_procedures(case: tuple[str, str]) -> None:
    check(*case)


@pytest.mark.wide
@settings(max_examples=150, deadline=None)
@given(programs())
def test_many_compiled_procedures(case: tuple[str, str]) -> None:
    check(*case)
