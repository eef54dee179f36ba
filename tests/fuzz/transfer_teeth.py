"""After how many random procedures each mutant of the passes for transfers is found."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from asphalt.unparse.params import merge_header
from fuzz.batch import BuildError
from fuzz.close import MAKERS
from fuzz.closeness import drawn
from fuzz.transfer_mutant import TransferMutant
from fuzz.transfers import TILINGS, Made, compared, made_of

_RANKS = (2, 3)
_MOST_RUNS = 12  # of a mutant


@dataclass
class Hunted:
    """What is known about a mutant: ``asked`` of the ``programs`` come out otherwise with it."""

    mutant: TransferMutant
    programs: int = 0
    asked: int = 0
    symptom: str = ""
    crashes: int = 0
    failures: list[str] = field(default_factory=list)


def hunt(mutant: TransferMutant, seed: int, numbers: Iterable[int], seconds: float) -> Hunted:
    """Ask a mutant about random procedures close to its condition until one fails."""
    found, deadline = Hunted(mutant), time.monotonic() + seconds
    for number in numbers:
        if found.symptom or time.monotonic() > deadline or found.asked >= _MOST_RUNS:
            break
        found.programs += 1
        _ask(found, seed, number)
    return found


def _usual(mutant: TransferMutant, seed: int, number: int) -> tuple[str, str, bool, Made]:
    """A procedure, and what asphalt itself makes of it."""
    file, text, drew = drawn(MAKERS, mutant.near, seed, number)
    with mutant.active(off=False):
        return file, text, drew.stays, _made(mutant, file, text, number)


def _made(mutant: TransferMutant, file: str, text: str, number: int) -> Made:
    return made_of(file, text, TILINGS[number % len(TILINGS)], mutant.passes)


def _ask(found: Hunted, seed: int, number: int) -> None:
    file, text, stays, usual = _usual(found.mutant, seed, number)
    try:
        with found.mutant.active():
            mutated = _made(found.mutant, file, text, number)
    except Exception:
        found.asked += 1
        found.crashes += 1
        return
    if mutated.text == usual.text:
        return
    found.asked += 1
    if stays:
        found.symptom = "changed"
        return
    for mpi, level in found.mutant.runs:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
            folder = Path(name)
            header = merge_header(None, list(mutated.parameters))
            after = {file: mutated.text}
            try:
                said = compared([(file, text)], after, header, folder, mpi, level, folder, _RANKS)
            except BuildError as failure:
                if not (folder / "after").exists():
                    raise
                found.failures, found.symptom = [str(failure)], "does not compile"
                return
        assert not any("the generator" in one for one in said), (file, said)
        if said:
            found.failures, found.symptom = said, _symptom(said)
            return


def _symptom(said: list[str]) -> str:
    words = " ".join(said)
    known = (
        (": different", "differs"), ("no end", "no end"), ("exit code", "crashes"),
        ("leaks", "leaks"), ("race", "race"),
    )  # fmt: skip
    return ", ".join(short for long, short in known if long in words) or "race"
