"""Runs a program and reads what it says: results on standard output, time on standard error."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.lab.toolchain import environment

_SECONDS = re.compile(r"^seconds\s+(\S+)", re.MULTILINE)


class LabError(Exception):
    """A program did not build, run or say what it must; the message is for the reader."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run printed, byte for byte, and the time it measured itself, in seconds."""

    output: bytes
    seconds: float


def run_program(command: Sequence[str], cwd: Path, timeout: float) -> Run:
    """Runs ``command`` in ``cwd``; raises LabError when it fails, hangs or prints no time."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment(),
            capture_output=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"no end after {timeout:g} s: {' '.join(command)}") from error
    errors = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        raise LabError(f"exit code {done.returncode}: {' '.join(command)}\n{errors[-2000:]}")
    found = _SECONDS.search(errors)
    if found is None:
        raise LabError(f"no time on standard error: {' '.join(command)}\n{errors[-2000:]}")
    return Run(done.stdout, float(found[1]))
