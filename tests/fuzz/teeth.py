"""``make fuzz-teeth``: after how many random programs each mutant is found, and by what."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from fuzz import transfer_mutation, transfer_teeth
from fuzz.checking import Setting, failures
from fuzz.hazards import HAZARDS
from fuzz.mutation import MUTANTS, Mutant
from fuzz.strategy import numbered_program
from fuzz.transformation import Case, must_stay, transformed

_RANKS = (2, 3)
_MOST_RUNS = 25  # of a mutant


@dataclass
class Found:
    """What is known about a mutant: how many programs it took, and how the last one failed.

    ``stayed``: a program that must not change did; ``failed``: a run differed, hung or crashed.
    ``asked``: programs that asphalt judges by the condition; ``crashes``: of the mutant.
    """

    mutant: Mutant
    programs: int = 0
    stayed: bool = False
    failed: str = ""
    odd: str = ""
    asked: int = 0
    crashes: int = 0
    runs: int = 0

    @property
    def done(self) -> bool:
        """Whether it is found."""
        return self.stayed or bool(self.failed)

    @property
    def symptom(self) -> str:
        """In words."""
        return ", ".join(filter(None, ("changed" if self.stayed else "", self.failed)))


def hazard_of(mutant: Mutant) -> str:
    """The name of the hazard whose programs the mutant is hunted with."""
    return next(name for name in HAZARDS if mutant.name.startswith(name))


def hunt(mutant: Mutant, seed: int, numbers: Iterable[int], seconds: float = 600.0) -> Found:
    """Ask a mutant about random programs of its hazard until one fails."""
    found, deadline = Found(mutant), time.monotonic() + seconds
    near = hazard_of(mutant)
    hazard = HAZARDS[near]
    setting = Setting(hazard.level, hazard.mpi, _RANKS, mutant.runtime)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for number in numbers:
            if found.done or time.monotonic() > deadline:
                break
            program = numbered_program(seed, number, near=near)
            case = transformed(program, f"c{number}", Path(folder) / "texts", setting.bits)
            assert not case.fault, case.fault
            found.programs += 1
            codes = {code or verdict for verdict, code in case.verdicts}
            if codes & set(mutant.codes):
                _ask(found, case, setting, Path(folder))
    return found


def _ask(found: Found, case: Case, setting: Setting, folder: Path) -> None:
    program = case.program
    with found.mutant.active():
        mutated = transformed(program, case.tag, folder / "texts", setting.bits)
    found.asked += 1
    if mutated.fault.startswith("Traceback"):
        found.crashes += 1
        return
    if mutated.after == case.after or found.runs >= _MOST_RUNS:
        return
    found.stayed = must_stay(program)
    found.odd = program.exchanges[0].odd
    found.runs += 1
    runs = Case(**{name: getattr(mutated, name) for name in _FIELDS} | {"fault": ""})
    for failure in failures([runs], setting, folder / "mutant"):
        if failure.ours:
            found.failed = failure.kind


_FIELDS = ("tag", "program", "source", "after", "verdicts", "layouts", "header")


@click.command()
@click.option("--count", default=400, show_default=True, help="Programs for each mutant.")
@click.option("--seed", default=7, show_default=True)
@click.option("--seconds", default=600.0, show_default=True, help="For each mutant.")
@click.option("--only", default="", help="Mutants whose names begin with this.")
@click.option("--output", default="build/fuzz", type=click.Path(path_type=Path))
def main(count: int, seed: int, seconds: float, only: str, output: Path) -> None:
    """Switch conditions off one by one; exit code 1 if a mutant is not found."""
    table = Table(title=f"up to {count} programs for each condition that is switched off")
    for heading in ("condition", "programs", "judged by it", "symptom", "oddity", "crashes"):
        table.add_column(heading)
    rows = []
    output.mkdir(parents=True, exist_ok=True)
    for mutant in MUTANTS:
        if not mutant.name.startswith(only):
            continue
        one = hunt(mutant, seed, range(count), seconds)
        row = (str(one.programs), str(one.asked), one.symptom, one.odd, str(one.crashes))
        table.add_row(mutant.name, *row)
        print(mutant.name, *row, sep="; ", flush=True)
        rows.append({"condition": mutant.name, "programs": one.programs, "asked": one.asked,
                     "symptom": one.symptom, "odd": one.odd, "crashes": one.crashes})  # fmt: skip
        (output / f"teeth_{seed}.json").write_text(json.dumps(rows, indent=1) + "\n")
    missed = not all(row["symptom"] for row in rows)
    for between in (m for m in transfer_mutation.MUTANTS if m.name.startswith(only)):
        other = transfer_teeth.hunt(between, seed, range(count), seconds)
        row = (str(other.programs), str(other.asked), other.symptom, "", str(other.crashes))
        table.add_row(between.name, *row)
        print(between.name, *row, sep="; ", flush=True)
        rows.append({"condition": between.name, "programs": other.programs, "asked": other.asked,
                     "symptom": other.symptom, "odd": between.near,
                     "crashes": other.crashes})  # fmt: skip
        (output / f"teeth_{seed}.json").write_text(json.dumps(rows, indent=1) + "\n")
        missed |= not other.symptom and not between.also
    Console(width=120).print(table)
    sys.exit(missed)


if __name__ == "__main__":
    main()
