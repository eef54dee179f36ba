"""Runs a program on a simulated cluster: whole, or its computation or communication alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory

from asphalt.analysis.mpi.procedures import table
from asphalt.config.errors import AsphaltError
from asphalt.ir.records import record
from asphalt.machine.platforms import Platform
from asphalt.running.mpi import SMPI
from asphalt.running.process import CommandResult, run
from asphalt.simulation.deadlock import NAME_BLOCKED, deadlock_text, is_deadlock, ranks_text
from asphalt.simulation.paje import read_trace
from asphalt.simulation.timeline import Timeline
from asphalt.verify.compare import Difference, text_difference
from asphalt.verify.files import (
    Outputs,
    WrittenFile,
    files_difference,
    fresh_copy,
    stamps,
    written,
)

_MARK = "asphalt-simulated"
_TIME = re.compile(rf"^{_MARK}=([0-9.]+)=Simulated time", re.MULTILINE)
# The clock at the end, to 12 digits after the point; all other messages are off.
_CLOCK = (
    "--cfg=smpi/display-timing:yes",
    "--log=root.thresh:error",
    "--log=smpi_utils.thresh:info",
    f"--log=smpi_utils.fmt:{_MARK}=%.12r=%m%n",
)
_TRACING = {
    "tracing/smpi/computing": "yes",
    "tracing/smpi/internals": "yes",  # the messages of collective operations, too
    "tracing/smpi/display-sizes": "yes",
    "tracing/platform/topology": "no",  # which SimGrid 3.32 cannot draw of a <cluster>
    "tracing/precision": "12",
}
# ranks share the units of Fortran's run-time library unless each has its own copy of it
_OWN_UNITS = {"smpi/privatize-libs": "libgfortran.so.5"}
_TILED_MARK = "tiled"


_STANDARD_OUTPUT = Outputs()


class SimulationError(AsphaltError):
    """A run that failed."""


class TimedPart(Enum):
    """Which part of a program takes simulated time."""

    WHOLE = "whole"
    COMPUTATION = "computation alone"
    COMMUNICATION = "communication alone"


@record
class BuiltProgram:
    """A built program; it runs in its directory, with these arguments.

    ``whole_buffers``: what its transformation made non-blocking that takes SMPI longer than MPI
    libraries (``simulation.whole_buffers``).
    """

    directory: Path
    executable: str
    arguments: tuple[str, ...] = ()
    whole_buffers: tuple[str, ...] = ()


@record
class Simulation:
    """The simulated seconds of a run, what it printed, and the files to compare.

    ``written``: the patterns of the files that it wrote; ``tiled``: whether any exchange was tiled,
    as the runtime records.
    """

    seconds: float
    stdout: bytes
    files: Mapping[str, WrittenFile]
    written: frozenset[str]
    timeline: Timeline | None = None
    tiled: bool = False


def output_difference(
    original: Simulation, transformed: Simulation, compared: Outputs
) -> Difference | None:
    """The first difference in standard output, or in the files to compare."""
    found = text_difference(original.stdout, transformed.stdout, compared.standard)
    return found or files_difference(original.files, transformed.files)


@record
class Simulator:
    """Runs programs on one platform.

    ``speed``: of its hosts, in flop/s; ``timeout``: in seconds of this machine; ``compared``: the
    outputs of a run that are kept.
    """

    platform: Platform
    speed: float
    timeout: float
    compared: Outputs = _STANDARD_OUTPUT

    def run(
        self, program: BuiltProgram, ranks: int, part: TimedPart, trace: bool = False
    ) -> Simulation:
        """Run a program once; ``trace``: with its timeline.  Raises ``SimulationError`` if it
        fails."""
        platform = self.platform.free() if part is TimedPart.COMPUTATION else self.platform
        text = platform.xml(ranks, self.speed, at_once=part is TimedPart.COMMUNICATION)
        settings = platform.settings()
        if not program.arguments:  # which a copy of the library cannot read
            settings |= _OWN_UNITS
        with TemporaryDirectory(prefix="asphalt-run-") as scratch:
            place, cluster = Path(scratch) / "run", Path(scratch) / "cluster.xml"
            paje = Path(scratch) / "trace"
            fresh_copy(program.directory, place)  # runs are not to see each other's files
            cluster.write_text(text, encoding="utf-8")
            launcher = [SMPI.launcher, "-np", str(ranks), "-platform", str(cluster)]
            launcher += [*_cfg(settings), *_CLOCK, NAME_BLOCKED]
            tracing = ["-trace", "-trace-file", str(paje), *_cfg(_TRACING)] if trace else []
            words = [program.executable, *program.arguments]
            # smpirun copies libraries to the temporary directory, under names of all runs
            tiled_mark = Path(scratch) / _TILED_MARK
            variables = {"TMPDIR": scratch, "ASPHALT_TILED": str(tiled_mark)}
            before = stamps(place, self.compared)
            outcome = run([*launcher, *tracing, *words], place, self.timeout, settings=variables)
            stderr = outcome.stderr.decode("utf-8", "backslashreplace")
            if is_deadlock(stderr):
                fresh_copy(program.directory, place)
                blocked = ranks_text(stderr)
                if part is TimedPart.WHOLE:  # the parts stand where the whole stands
                    blocked = deadlock_text(stderr, launcher, words, place, self.timeout, variables)
                raise SimulationError(f"it ends in a deadlock: {blocked}")
            seconds = self._seconds(outcome)
            files, patterns = written(place, self.compared, before)
            timeline = _timeline(paje, seconds, platform) if trace else None
            tiled = tiled_mark.exists()
        return Simulation(seconds, outcome.stdout, files, patterns, timeline, tiled)

    def _seconds(self, outcome: CommandResult) -> float:
        stderr = outcome.stderr.decode("utf-8", "backslashreplace")
        if outcome.status is None:
            raise SimulationError(
                f"it did not end within {self.timeout:g} s of this machine's time: it hangs, or "
                "needs a longer --timeout"
            )
        found = _TIME.search(stderr)
        if outcome.status != 0 or found is None:
            raise SimulationError(_reason(stderr) or f"it ended with status {outcome.status}")
        return float(found[1])


def _cfg(settings: Mapping[str, str]) -> list[str]:
    return [f"--cfg={key}:{value}" for key, value in settings.items()]


def _timeline(file: Path, seconds: float, platform: Platform) -> Timeline:
    local = {name for name, procedure in table().items() if procedure.local}
    with file.open(encoding="utf-8") as lines:
        return read_trace(lines, seconds, local, platform)


_CRITICAL = re.compile(r"\[\w+/CRITICAL\] (.*)")
_UNKNOWN = re.compile(r"Not yet implemented: P?(MPI_\w+)")
_NOISE = ("Execution failed with code", "smpirun", "./", "Backtrace", "->")


def _reason(stderr: str) -> str:
    """Why a run failed, in one line."""
    if found := _UNKNOWN.search(stderr):
        return f"SMPI does not have {found[1]}, which the program calls"
    if found := _CRITICAL.search(stderr):
        return found[1].strip()
    if "Segmentation fault" in stderr or "SIGSEGV" in stderr:
        return "it ended with a segmentation fault"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    own = [line for line in lines if not line.startswith(_NOISE) and _MARK not in line]
    return own[0] if own else ""
