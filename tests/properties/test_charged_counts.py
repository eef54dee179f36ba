"""The charged number of operations is the number of operations that a program does.

Random nests are executed in Python, which counts every operation, and by gfortran, charged with
weights that keep the classes apart.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asphalt.analysis.cost import classes as costs
from asphalt.analysis.cost.classes import CLASSES
from asphalt.config.settings import Settings
from asphalt.machine.machine import Machine
from asphalt.simulation.charged import charge_tree
from support.fortran_values import iterations

WEIGHTS = {"add": 1.0, "multiply": 1e3, "divide": 1e6}
WEIGHTS |= dict.fromkeys(("store", "store_far", "store_indexed"), 1e9)
MACHINE = Machine("counting", "gfortran", (), {name: WEIGHTS.get(name, 0.0) for name in CLASSES})
OPERATIONS = {"+": "add", "-": "add", "*": "multiply", "/": "divide"}
VARIABLES = ("i", "j", "k")

MAIN = """\
subroutine asphalt_charge(seconds)
  implicit none
  real(8) :: seconds, total
  common /counted/ total
  total = total + seconds
end subroutine asphalt_charge
subroutine asphalt_charge_now()
end subroutine asphalt_charge_now
program counting
  implicit none
  real(8) :: total, a(-99:99), b(-99:99)
  common /counted/ total
{calls}
end program counting
"""


@dataclass(frozen=True)
class Assignment:
    """``a(v) = b(v) op b(v) ...``; the innermost variable is in every subscript."""

    operators: tuple[str, ...]


@dataclass(frozen=True)
class Loop:
    """Bounds are an integer or the name of a variable around; ``kind``: do or while."""

    first: int | str
    last: int | str
    step: int
    body: tuple[object, ...]
    kind: str = "do"


@dataclass(frozen=True)
class If:
    """``mod(v, divisor) == 0``; ``short``: on one line."""

    divisor: int
    then: tuple[object, ...]
    otherwise: tuple[object, ...]
    short: bool = False


@dataclass(frozen=True)
class Leave:
    """``if (v > limit) exit`` or cycle."""

    word: str
    limit: int


bounds = st.integers(-2, 6)
assignments = st.builds(Assignment, st.lists(st.sampled_from("+-*/"), max_size=4).map(tuple))


def bodies(depth: int) -> st.SearchStrategy[tuple[object, ...]]:
    """Statement lists below ``depth`` loops."""
    around = st.sampled_from(VARIABLES[:depth]) if depth else bounds
    simple: st.SearchStrategy[object] = assignments
    if depth:
        leaves = st.builds(Leave, st.sampled_from(("exit", "cycle")), bounds)
        one = st.builds(If, st.integers(1, 3), assignments.map(lambda a: (a,)), st.just(()),
                        st.just(True))  # fmt: skip
        both = st.builds(If, st.integers(1, 3), st.tuples(assignments), st.tuples(assignments))
        simple = st.one_of(assignments, assignments, assignments, one, both, leaves)
    if depth == len(VARIABLES):
        return st.lists(simple, min_size=1, max_size=3).map(tuple)
    loops = st.builds(
        Loop,
        st.one_of(bounds, around),
        st.one_of(bounds, around),
        st.sampled_from((1, 1, 1, 2, -1, -3)),
        bodies(depth + 1),
        st.sampled_from(("do", "do", "do", "while")),
    )
    return st.lists(st.one_of(simple, loops, loops), min_size=1, max_size=3).map(tuple)


class _LeaveError(Exception):
    pass


def count(body: tuple[object, ...], values: dict[str, int], counted: Counter[str]) -> None:
    """Executes statements and counts their operations."""
    depth = len(values)
    for node in body:
        match node:
            case Assignment(operators):
                counted.update(OPERATIONS[op] for op in operators)
                counted["store"] += 1
            case If(divisor, then, otherwise):
                taken = values[VARIABLES[depth - 1]] % divisor == 0
                count(then if taken else otherwise, values, counted)
            case Leave(word, limit):
                if values[VARIABLES[depth - 1]] > limit:
                    raise _LeaveError(word)
            case Loop(first, last, step, inner):
                begin = values[first] if isinstance(first, str) else first
                end = values[last] if isinstance(last, str) else last
                for value in iterations(begin, end, step):
                    try:
                        count(inner, {**values, VARIABLES[depth]: value}, counted)
                    except _LeaveError as leave:
                        if str(leave) == "exit":
                            break


def text(body: tuple[object, ...], depth: int) -> list[str]:
    """The statements in Fortran."""
    lines: list[str] = []
    own = VARIABLES[depth - 1] if depth else "2"
    pad = "  " * (depth + 1)
    for node in body:
        match node:
            case Assignment():
                lines.append(pad + _assignment(node, own))
            case If(divisor, (Assignment() as then,), _, True):
                lines.append(f"{pad}if (mod({own}, {divisor}) == 0) {_assignment(then, own)}")
            case If(divisor, then, otherwise):
                lines.append(f"{pad}if (mod({own}, {divisor}) == 0) then")
                lines += text(then, depth)
                lines += [f"{pad}else", *text(otherwise, depth)] if otherwise else []
                lines.append(f"{pad}end if")
            case Leave(word, limit):
                lines.append(f"{pad}if ({own} > {limit}) {word}")
            case Loop(first, last, step, inner, "do"):
                lines.append(f"{pad}do {VARIABLES[depth]} = {first}, {last}, {step}")
                lines += [*text(inner, depth + 1), f"{pad}end do"]
            case Loop(first, last, step, inner):
                v, relation = VARIABLES[depth], "<=" if step > 0 else ">="
                lines += [f"{pad}{v} = {first} - ({step})", f"{pad}do"]
                lines += [f"{pad}  {v} = {v} + ({step})"]
                lines += [f"{pad}  if (.not. {v} {relation} {last}) exit"]
                lines += [*text(inner, depth + 1), f"{pad}end do"]
    return lines


def _assignment(node: Assignment, own: str) -> str:
    terms = "".join(f" {op} b({own} + {n})" for n, op in enumerate(node.operators))
    return f"a({own}) = b({own} - 1){terms}"


@settings(
    max_examples=3,
    deadline=None,
    database=None,
    phases=(Phase.generate,),  # an example is twelve nests: the one that fails is told
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(bodies(0), min_size=6, max_size=6))
def test_what_is_charged_is_what_is_done(programs: list[tuple[object, ...]]) -> None:
    expected = []
    procedures = []
    for number, body in enumerate(programs):
        counted: Counter[str] = Counter()
        count(body, {}, counted)
        expected.append(sum(WEIGHTS[name] * n for name, n in counted.items()))
        lines = text(body, 0)
        procedures += [
            f"subroutine nest{number}(a, b)",
            "  implicit none",
            "  real(8) :: a(-99:99), b(-99:99)",
            "  integer :: i, j, k",
            *lines,
            f"end subroutine nest{number}",
        ]
    calls = [
        f"  total = 0\n  a = 1\n  b = 1\n  total = 0\n  call nest{n}(a, b)\n  print '(f0.1)', total"
        for n in range(len(programs))
    ]
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "source").mkdir()
        (place / "source" / "nests.f90").write_text("\n".join(procedures) + "\n")
        with patch.object(costs, "UNITS", ()):  # all of them count, whatever overlaps
            out = place / "out"
            made = charge_tree(place / "source", out, MACHINE, Settings(cache=False, jobs=1))
        assert made.not_charged == ()
        (place / "main.f90").write_text(MAIN.format(calls="\n".join(calls)))
        program = place / "counting"
        command = ["gfortran", "-O0", "-o", str(program), str(place / "main.f90")]
        subprocess.run([*command, str(place / "out" / "nests.f90")], check=True)
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    charged = [float(line) for line in printed.split()]
    for body, wanted, found in zip(programs, expected, charged, strict=True):
        assert found == wanted, "\n".join(text(body, 0))
