"""How many lines an exchange of any shape adds: at most 16 in free form, 24 in fixed form.

Each value of each choice of the fuzzer is drawn some times, the rest at random, and only one
exchange is in each program.  Lines count as ``diff -w`` counts them.  What a preprocessor leaves
out does not: where a proof holds for some ``-D`` only, the text stands there twice.
"""

from __future__ import annotations

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
from fuzz.transformation import transformed

FREE, FIXED = 16, 24
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


def _added(exchange: Exchange, random: Random, fixed: bool, folder: Path) -> int | None:
    """The lines that an exchange adds; None: it is not transformed."""
    procedure = Procedure(random.choice(HOMES), (exchange,), random.choice((0, 2)))
    binding = random.choice(BINDINGS)
    case = transformed(Program((procedure,), binding, fixed), "c0", folder, bits=True)
    assert case.fault == ""
    if not case.changed or len(case.sites) != 1:
        return None
    return added_lines(_seen(case.source.text), _seen(case.after))


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


def _hold(values: list[tuple[str, object]], numbers: range, folder: Path) -> int:
    """Check the limits for so many programs of each value; how many exchanges were transformed."""
    found = 0
    for name, value in values:
        for number in numbers:
            random = Random(f"{name} {value} {number}")
            fixed = number % 3 == 2
            exchange = replace(draw_exchange(random, fixed_form=fixed, plain=True), **{name: value})
            added = _added(exchange, random, fixed, folder)
            assert added is None or added <= (FIXED if fixed else FREE), (name, value, number)
            found += added is not None
    return found


def test_every_shape_adds_few_lines(tmp_path: Path) -> None:
    assert _hold(VALUES[::4], range(2, 3), tmp_path) > len(VALUES) // 12
    assert _hold(VALUES[2::4], range(1), tmp_path) > len(VALUES) // 12


@pytest.mark.wide
def test_every_shape_adds_few_lines_in_many_programs(tmp_path: Path) -> None:
    assert _hold(VALUES, range(12), tmp_path) > 4 * len(VALUES)
