"""Runs a built version in a directory of its own, and collects the result."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from asphalt.running.process import CommandResult, fill, run
from asphalt.verify.builds import Built, Commands
from asphalt.verify.compare import (
    STANDARD_OUTPUT,
    Difference,
    difference,
    end_difference,
    printed_difference,
)
from asphalt.verify.files import (
    Outputs,
    WrittenFile,
    files_difference,
    fresh_copy,
    stamps,
    written,
)
from asphalt.verify.findings import Finding
from asphalt.verify.records import FinishedRun
from asphalt.verify.setups import Setup, launcher
from asphalt.verify.stacks import (
    GDB_IS_MISSING,
    Stacks,
    programs_in,
    rendered,
    simulated_stacks,
    simulation_script,
    stacks_of,
)

_SCRATCH = "asphalt-scratch"
_TILED = "asphalt-tiled"
_DEADLOCK = b"Deadlock detected"
_BLOCKED = re.compile(rb"(Actor \d+ \(.*\): waiting for .*)")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run.

    ``files``: the files to compare; ``written``: the patterns of those that it wrote; ``findings``:
    errors found by the setup; ``stacks``: of the ranks, if it hung; ``tiled``: whether any exchange
    was tiled, as the runtime records.
    """

    outcome: CommandResult
    files: Mapping[str, WrittenFile] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()
    stacks: Stacks = field(default_factory=Stacks)
    tiled: bool = False


def run_directory(work: Path) -> Path:
    """The directory of all runs below ``work``, one after the other."""
    return work / "run"


def run_built(
    built: Built,
    ranks: int,
    commands: Commands,
    setup: Setup,
    outputs: Outputs,
    work: Path,
    record: Path | None = None,
) -> Result:
    """Run on ``ranks`` ranks in a fresh copy of the build, at the same path for all runs.

    ``record``: a directory for a record of the run.  Raises ``UsageError`` if the command cannot be
    started.
    """
    place = run_directory(work)
    fresh_copy(built.directory, place)
    before = stamps(place, outputs)
    stacks: list[Stacks] = []
    tiled_mark = (work / _TILED).absolute()
    tiled_mark.unlink(missing_ok=True)
    command, settings = _command(built, ranks, commands, setup, work), _settings(setup, work)
    try:
        outcome = run(
            command,
            place,
            commands.timeout,
            settings={**settings, "ASPHALT_TILED": str(tiled_mark)},
            stdin=commands.stdin,
            at_timeout=lambda leader: stacks.append(stacks_of(leader, place)),
        )
    finally:
        for process in programs_in(place):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    files, patterns = written(place, outputs, before)
    findings = tuple(setup.findings(outcome, place)) if setup.findings is not None else ()
    if setup.simulated and _DEADLOCK in outcome.stderr:
        outcome = replace(outcome, status=None, hang="ends in a deadlock: ranks wait for ever")
        stacks.append(_deadlock(built, ranks, commands, setup, work, outcome))
    stood = stacks[0] if stacks else Stacks()
    if record is not None:
        lines = (rendered(stood.found), [finding.text for finding in findings])
        contents = {name: file.content for name, file in files.items()}
        FinishedRun(command, settings, commands.stdin, outcome, contents, *lines).write(
            record, built.directory, place
        )
    shutil.rmtree(place)
    shutil.rmtree(work / _SCRATCH, ignore_errors=True)
    return Result(outcome, files, patterns, findings, stood, tiled_mark.exists())


def result_difference(original: Result, transformed: Result, outputs: Outputs) -> Difference | None:
    """The first difference: in exit status, standard output, or files."""
    found = difference(original.outcome, transformed.outcome, outputs.standard)
    return found or files_difference(original.files, transformed.files)


def difference_at(
    place: str | None, original: Result, again: Result, outputs: Outputs
) -> Difference | None:
    """How two runs of one program differ at ``place`` (see ``Difference.place``).

    Runs with different ends differ everywhere.
    """
    ended = end_difference(original.outcome, again.outcome)
    if ended is not None or place is None:
        return ended
    if place == STANDARD_OUTPUT:
        return printed_difference(original.outcome, again.outcome, outputs.standard)
    return files_difference(
        {name: file for name, file in original.files.items() if name == place},
        {name: file for name, file in again.files.items() if name == place},
    )


def _command(
    built: Built, ranks: int, commands: Commands, setup: Setup, work: Path, *more: str
) -> list[str]:
    """The command line; ``more``: additional options of the launcher."""
    arguments = commands.run.rpartition("{exe}")[2].strip() != ""
    starts = launcher(setup, work, ranks, arguments)
    values = {
        **setup.places,
        "launcher": (*starts, *more),
        "ranks": str(ranks),
        "exe": (*setup.before_program, built.executable),
    }
    return fill(commands.run, values)


def _settings(setup: Setup, work: Path) -> Mapping[str, str]:
    """The variables of a run; a simulation keeps copies of the program, for gdb."""
    if not setup.simulated:
        return setup.environment
    scratch = work / _SCRATCH
    scratch.mkdir(exist_ok=True)
    return {**setup.environment, "TMPDIR": str(scratch.absolute())}


def _deadlock(
    built: Built, ranks: int, commands: Commands, setup: Setup, work: Path, outcome: CommandResult
) -> Stacks:
    """The stacks of simulated ranks, from a second run in which gdb sees ranks as threads."""
    if shutil.which("gdb") is None:
        blocked = [line.decode("utf-8", "replace") for line in _BLOCKED.findall(outcome.stderr)]
        return Stacks(remark="; ".join((*blocked[:4], GDB_IS_MISSING)))
    place, script = run_directory(work), work / "asphalt.gdb"
    fresh_copy(built.directory, place)
    script.write_text(simulation_script(), encoding="ascii")
    more = ("--cfg=contexts/factory:thread", "-wrapper", f"gdb -batch -nx -x {script} --args")
    again = run(
        _command(built, ranks, commands, setup, work, *more),
        place,
        commands.timeout,
        settings=_settings(setup, work),
        stdin=commands.stdin,
    )
    script.unlink()
    return simulated_stacks(again.stdout.decode("utf-8", "replace"), place)
