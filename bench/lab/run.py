"""Runs a program and reads what it says: results on standard output, time on standard error."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from asphalt.running.mpi import environment

GRACE = 5.0
_SECONDS = re.compile(r"^seconds\s+(\S+)", re.MULTILINE)


class LabError(Exception):
    """A program did not build, run or say what it must; the message is for the reader."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run printed, byte for byte, and the time it measured itself, in seconds; ``ended``:
    it also came to its end."""

    output: bytes
    seconds: float
    ended: bool = True


def same_output(expected: Run, run: Run, what: str) -> None:
    """Raises LabError with the first line that differs where two runs printed different results;
    ``what``: which run that is, and where."""
    if run.output == expected.output:
        return
    lines = zip_longest(
        expected.output.decode(errors="replace").splitlines(keepends=True),
        run.output.decode(errors="replace").splitlines(keepends=True),
        fillvalue="",
    )
    number, (wanted, found) = next(
        (number, pair) for number, pair in enumerate(lines, 1) if pair[0] != pair[1]
    )
    ended = "" if run.ended and expected.ended else " (of the two one did not come to its end)"
    raise LabError(
        f"{what} differs from the original in line {number} of its output{ended}:\n"
        f"  original: {wanted!r}\n  here:     {found!r}"
    )


def run_program(
    command: Sequence[str], cwd: Path, timeout: float, time_is_enough: bool = False
) -> Run:
    """Runs ``command`` in ``cwd``; raises LabError when it fails, hangs or prints no time.

    ``time_is_enough``: a run that has told its time and does not end within ``GRACE`` seconds
    counts.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    began = time.monotonic()
    while True:
        left = timeout - (time.monotonic() - began)
        try:
            output, messages = process.communicate(timeout=min(left, GRACE))
            break
        except subprocess.TimeoutExpired as error:
            # what launchers say when they are asked to end is none of the program's
            told = _SECONDS.search((error.stderr or b"").decode(errors="replace"))
            if time_is_enough and told is not None:
                _stop(process)
                return Run(error.output or b"", float(told[1]), ended=False)
            if left <= GRACE:
                _stop(process)
                raise LabError(f"no end after {timeout:g} s: {' '.join(command)}") from error
        except BaseException:
            _stop(process)
            raise
    errors = messages.decode(errors="replace")
    if process.returncode != 0:
        raise LabError(f"exit code {process.returncode}: {' '.join(command)}\n{errors[-2000:]}")
    found = _SECONDS.search(errors)
    if found is None:
        raise LabError(f"no time on standard error: {' '.join(command)}\n{errors[-2000:]}")
    return Run(output, float(found[1]))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a program: a launcher that is asked to end takes its ranks with it."""
    process.terminate()
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
