"""``make fuzz-teeth``: which mutants the fuzzer finds, and after how many programs."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from fuzz.checking import Setting, failures
from fuzz.mutation import MUTANTS, Mutant
from fuzz.program import Program
from fuzz.strategy import numbered_program
from fuzz.transformation import Case, must_stay, transformed

_RANKS = (2, 3)
_MOST_RUNS = 25  # of a mutant


@dataclass
class Found:
    """What is known about a mutant: the number of the first program that fails, and how.

    ``stayed``: a program that must not change did; ``failed``: a run differed, hung or crashed.
    """

    mutant: Mutant
    stayed: str = ""
    failed: str = ""
    asked: int = 0
    crashes: int = 0
    runs: int = 0

    @property
    def done(self) -> bool:
        """Whether it is found, and by a run."""
        return bool(self.failed)


def hunt(
    found: Sequence[Found], seed: int, numbers: Iterable[int], seconds: float, level: str = "-O0"
) -> int:
    """Ask the mutants about programs of a stream; gives the number of programs looked at."""
    deadline, looked_at = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        folder = Path(place)
        for number in numbers:
            if time.monotonic() > deadline or all(one.done for one in found):
                break
            program = numbered_program(seed, number)
            case = transformed(program, f"c{number}", folder / "texts", level == "-O0")
            looked_at += 1
            codes = {code or verdict for verdict, code in case.verdicts}
            for one in found:
                if not one.done and codes & set(one.mutant.codes):
                    _ask(one, program, case, number, folder, level)
                    if one.done:
                        print(f"{one.mutant.name}: {one.failed}", flush=True)
    return looked_at


def _ask(one: Found, program: Program, case: Case, number: int, folder: Path, level: str) -> None:
    with one.mutant.active():
        mutated = transformed(program, case.tag, folder / "texts", level == "-O0")
    one.asked += 1
    if mutated.fault.startswith("Traceback"):
        one.crashes += 1
        return
    if mutated.after == case.after:
        return
    if must_stay(program):
        one.stayed = one.stayed or f"{number} {program.exchanges[0].odd}"
    if one.runs >= _MOST_RUNS:
        return
    one.runs += 1
    runs = Case(**{name: getattr(mutated, name) for name in _FIELDS} | {"fault": ""})
    for failure in failures([runs], Setting(level, ranks=_RANKS), folder / "mutant"):
        if failure.ours:
            odd = ", ".join(e.odd or "plain" for e in program.exchanges)
            one.failed = f"{number} {failure.kind} ({odd})"


_FIELDS = ("tag", "program", "source", "after", "verdicts", "layouts", "header")


@click.command()
@click.option("--count", default=500, show_default=True, help="Programs to look at.")
@click.option("--seed", default=7, show_default=True)
@click.option("--first", default=0, show_default=True)
@click.option("--seconds", default=3600.0, show_default=True)
@click.option("--level", default="-O0", show_default=True)
@click.option("--only", default="", help="Mutants whose names contain this.")
@click.option("--output", default="build/fuzz", type=click.Path(path_type=Path))
def main(
    count: int, seed: int, first: int, seconds: float, level: str, only: str, output: Path
) -> None:
    """Switch conditions off one by one; exit code 1 if a mutant is not found."""
    found = [Found(mutant) for mutant in MUTANTS if only in mutant.name]
    looked_at = hunt(found, seed, range(first, first + count), seconds, level)
    table = Table(title=f"{looked_at} programs")
    for heading in ("condition", "must stay, but changed", "run fails", "asked", "crashes"):
        table.add_column(heading)
    for one in found:
        table.add_row(one.mutant.name, one.stayed, one.failed, str(one.asked), str(one.crashes))
    Console(width=160).print(table)
    rows = [
        {"condition": o.mutant.name, "stayed": o.stayed, "failed": o.failed, "asked": o.asked,
         "crashes": o.crashes}
        for o in found
    ]  # fmt: skip
    output.mkdir(parents=True, exist_ok=True)
    (output / f"teeth_{seed}_{first}.json").write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(any(not (one.failed or one.stayed) for one in found))


if __name__ == "__main__":
    main()
