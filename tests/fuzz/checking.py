"""Whether programs fail, all together or each alone, and the smallest program that still does."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from asphalt.running.mpi import SMPI, Mpi
from asphalt.verify.findings import new_in
from fuzz.batch import RANKS, BuildError, Edits, Result, build, execute, flags_for
from fuzz.program import Program, simpler
from fuzz.strategy import lawful
from fuzz.transformation import Case, transformed

Transform = Callable[[Program, str, Path, bool], Case]


@dataclass(frozen=True)
class Setting:
    """How programs are built and run; ``bits``: last digits may change by assumption.

    ``runtime``: what is replaced in the text of the run-time library.
    """

    level: str = "-O0"
    mpi: Mpi = SMPI
    ranks: tuple[int, ...] = RANKS
    runtime: Edits = ()

    @property
    def bits(self) -> bool:
        """Whether nothing is vectorised, so that the assumption is true."""
        return self.level == "-O0"


@dataclass(frozen=True)
class Failure:
    """A program that fails: ``kind`` is what must not change when it is made smaller."""

    kind: str
    detail: str
    case: Case

    @property
    def ours(self) -> bool:
        """Whether the transformation is to blame, and not the program."""
        return self.kind != "original"


def failures(cases: Sequence[Case], setting: Setting, folder: Path) -> list[Failure]:
    """Those of ``cases`` that fail; the changed ones are built and run together first."""
    found = [Failure(_kind(case.fault), case.fault, case) for case in cases if case.fault]
    changed = [case for case in cases if case.changed and not case.fault]
    return found + _running(changed, setting, folder)


def _kind(fault: str) -> str:
    return fault if len(fault) < 60 else "traceback"


def _running(cases: Sequence[Case], setting: Setting, folder: Path) -> list[Failure]:
    """Build and run; halves of what fails as a whole are tried by themselves."""
    if not cases:
        return []
    found = _together(cases, setting, folder)
    if found is None:
        return []
    kind, detail, suspects = found
    if len(cases) == 1:
        return [Failure(kind, detail, cases[0])]
    if suspects:
        rest = [case for case in cases if case.tag not in suspects]
        alone = [case for case in cases if case.tag in suspects]
        results = [_running([case], setting, folder) for case in alone]
        return [one for result in results for one in result] + _running(rest, setting, folder)
    middle = len(cases) // 2
    return _running(cases[:middle], setting, folder) + _running(cases[middle:], setting, folder)


def _together(
    cases: Sequence[Case], setting: Setting, folder: Path
) -> tuple[str, str, frozenset[str]] | None:
    """What goes wrong, and the tags of the cases that it is known to happen in."""
    nobody: frozenset[str] = frozenset()
    flags = flags_for(cases, setting.level)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        before = build(cases, False, folder / "original", setting.mpi, flags)
    except BuildError as failure:
        return "original", f"does not compile:\n{str(failure)[:3000]}", nobody
    try:
        after = build(cases, True, folder / "transformed", setting.mpi, flags, setting.runtime)
    except BuildError as failure:
        return "does not compile", str(failure)[:3000], nobody
    for ranks in setting.ranks:
        expected = execute(before, ranks, setting.mpi)
        if expected.failure or expected.leaks:
            words = f"{ranks} ranks: {expected.failure}{expected.leaks}"
            return "original", words, expected.last
        result = execute(after, ranks, setting.mpi)
        if result.failure:
            kind = "no end" if result.failure.startswith("no end") else "crash"
            return kind, f"{ranks} ranks: {result.failure}", result.last
        if result.leaks:
            return "leak", f"{ranks} ranks: {result.leaks}", nobody
        if races := new_in(result.races, expected.races):
            return "race", f"{ranks} ranks: {races[0].text}", nobody
        if different := _different(cases, expected, result):
            first = next(case.tag for case in cases if case.tag in different)
            was, now = expected.lines.get(first, []), result.lines.get(first, [])
            words = "\n".join(f"- {a}\n+ {b}" for a, b in zip(was, now, strict=False) if a != b)
            return "different", f"{ranks} ranks:\n{words}", different
    return None


def _different(cases: Sequence[Case], expected: Result, result: Result) -> frozenset[str]:
    return frozenset(
        case.tag for case in cases if expected.lines.get(case.tag) != result.lines.get(case.tag)
    )


def smallest(
    failure: Failure,
    setting: Setting,
    folder: Path,
    transform: Transform = transformed,
    seconds: float = 60.0,
) -> Failure:
    """The simplest program found within ``seconds`` that fails in the same way."""
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for program in filter(lawful, simpler(failure.case.program)):
            if time.monotonic() > deadline:
                return failure
            case = transform(program, failure.case.tag, folder / "texts", setting.bits)
            found = failures([case], setting, folder / "alone")
            if found and found[0].kind == failure.kind:
                failure, progress = found[0], True
                break
    return failure
