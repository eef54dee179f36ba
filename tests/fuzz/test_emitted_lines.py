"""How many lines an exchange of any shape adds: at most 16 in free form, 24 in fixed form.

Each value of each choice of the fuzzer is drawn some times, the rest at random, and only one
exchange is in each program.  Lines count as ``diff -w`` counts them.

Where a proof holds for some ``-D`` only, conditions of the preprocessor come on top: around the
USE, around the declarations, and around the lines of the exchange.  No line of the program is
repeated for them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from bench.emitted import added_lines
from fuzz.program import (
    CALLS,
    HOMES,
    INNERS,
    ORDERS,
    SHAPES,
    STORAGES,
    TYPES,
    WAYS,
    WORKS,
    Exchange,
    Procedure,
    Program,
)
from fuzz.strategy import UNEVEN, draw_exchange
from fuzz.transformation import Case, transformed

FREE, FIXED = 16, 24
CONDITIONS_FREE, CONDITIONS_FIXED = 16, 20
BINDINGS = ("use mpi", "mpif.h", "use mpi_f08")
CHOICES: dict[str, tuple[object, ...]] = {
    "shape": SHAPES,
    "uneven": UNEVEN,
    "type": TYPES,
    "storage": STORAGES,
    "order": ORDERS,
    "inner": INNERS,
    "work": WORKS,
    "way": tuple(way for way in WAYS if way != "agreed if"),  # two exchanges
    "call": CALLS,
    "late": (1, 2, 3),
    "down": (True,),
    "skipped": ((1, 0), (0, 1), (1, 2)),
    "shift": (1, -1),
    "labelled": (True,),
    "lower": (0, 2),
    "tile": (1, 2),  # one of them with two backends
}
VALUES = [(name, value) for name, values in CHOICES.items() for value in values]


def _transformed(exchange: Exchange, random: Random, fixed: bool, folder: Path) -> Case | None:
    """A program with an exchange; None: it is not transformed."""
    procedure = Procedure(random.choice(HOMES), (exchange,), random.choice((0, 2)))
    binding = random.choice(BINDINGS)
    case = transformed(Program((procedure,), binding, fixed), "c0", folder, bits=True)
    assert case.fault == ""
    return case if case.changed and len(case.sites) == 1 else None


def _added(case: Case) -> tuple[int, int]:
    """The lines that an exchange adds, without and with what the preprocessor leaves out."""
    before, after = case.source.text, case.after
    return added_lines(_seen(before), _seen(after)), added_lines(before, after)


def _repeated(case: Case) -> Counter[str]:
    """The statements of a program that stand in more lines than before, without blanks; those that
    have moved are left out in one place."""
    before, after = (
        Counter("".join(line.split()) for line in text.splitlines())
        for text in (case.source.text, case.after)
    )
    own = {"", "#endif", "#else", "enddo", "endif"}
    moved = Counter[str]()
    lines = case.after.splitlines()
    for at, line in enumerate(lines):
        if line == "#if defined(FZ_OTHER)":
            end = lines.index("#endif", at)
            moved += Counter("".join(one.split()) for one in lines[at + 1 : end])
    found = after - before - moved
    return Counter({line: found[line] for line in found if line in before and line not in own})


def _seen(text: str) -> str:
    """The lines that a preprocessor leaves in without any ``-D``."""
    kept: list[str] = []
    said: list[bool] = []
    for line in text.splitlines():
        match line.split():
            case ["#ifdef", _]:
                said.append(False)
            case [("#if" | "#ifndef"), *_]:
                said.append(True)
            case ["#else"]:
                said[-1] = not said[-1]
            case ["#endif"]:
                said.pop()
            case _ if all(said):
                kept.append(line)
    return "\n".join(kept)


def _hold(values: list[tuple[str, object]], numbers: range, folder: Path, odd: str = "") -> int:
    """Check the limits for so many programs of each value; how many exchanges were transformed."""
    found = 0
    for name, value in values:
        for number in numbers:
            random = Random(f"{name} {value} {number}")
            fixed = number % 3 == 2
            drawn = draw_exchange(random, odd, fixed_form=fixed, plain=True)
            case = _transformed(replace(drawn, **{name: value}), random, fixed, folder)
            if case is None:
                continue
            found += 1
            plain, all_lines = _added(case)
            conditions = (CONDITIONS_FIXED if fixed else CONDITIONS_FREE) if odd else 0
            assert plain <= (FIXED if fixed else FREE), (name, value, number)
            assert all_lines - plain <= conditions, (name, value, number)
            assert not odd or not _repeated(case), (name, value, number)
    return found


def test_every_shape_adds_few_lines(tmp_path: Path) -> None:
    assert _hold(VALUES[::4], range(2, 3), tmp_path) > len(VALUES) // 12
    assert _hold(VALUES[2::4], range(1), tmp_path) > len(VALUES) // 12


def test_conditions_of_the_preprocessor_repeat_nothing(tmp_path: Path) -> None:
    assert _hold(VALUES[1::4], range(2, 3), tmp_path, "preprocessor") > len(VALUES) // 12
    assert _hold(VALUES[3::4], range(1), tmp_path, "preprocessor") > len(VALUES) // 12


@pytest.mark.wide
@pytest.mark.parametrize("odd", ["", "preprocessor"])
def test_every_shape_adds_few_lines_in_many_programs(tmp_path: Path, odd: str) -> None:
    assert _hold(VALUES, range(12), tmp_path, odd) > 4 * len(VALUES)
