"""Runs a program and reads its results (standard output) and time (standard error)."""

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
    """A program failed to build or run, or gave wrong results; the message is for people."""


@dataclass(frozen=True, slots=True)
class Run:
    """The output of a run, byte for byte, and its own time in seconds; ``ended``: it also ended."""

    output: bytes
    seconds: float
    ended: bool = True


def same_output(expected: Run, run: Run, what: str) -> None:
    """Raise LabError with the first differing line if the results of two runs differ.

    ``what``: a title of the run for the message.
    """
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
    ended = "" if run.ended and expected.ended else " (one of the two did not end)"
    raise LabError(
        f"{what} differs from the original in line {number} of its output{ended}:\n"
        f"  original: {wanted!r}\n  here:     {found!r}"
    )


def run_program(
    command: Sequence[str], cwd: Path, timeout: float, time_is_enough: bool = False
) -> Run:
    """Run ``command`` in ``cwd``; raises LabError if it fails, hangs or prints no time.

    ``time_is_enough``: a run that has printed its time counts even if it does not end within
    ``GRACE`` seconds.
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
            # output of the launcher after the signal does not belong to the program
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
    """End a program; a launcher that gets the signal ends its ranks."""
    process.terminate()
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
