"""Runs with checks: a library between program and MPI checks buffers, requests and order.

The library is built with the MPI's own C compiler and loaded before the MPI library (LD_PRELOAD),
so that the program needs no other build.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.config.resources import RACE, shipped
from asphalt.running.diagnostics import essence
from asphalt.running.mpi import how_to_get
from asphalt.running.process import CommandResult, run
from asphalt.verify.findings import Finding
from asphalt.verify.race_log import findings_in, refusal_in
from asphalt.verify.runs import run_directory
from asphalt.verify.setups import CannotError, Setup

NEEDS_REAL_MPI = "--race needs a real MPI: SMPI runs all ranks in one process"
_LIBRARY = "libasphalt_race.so"
_LOG = "asphalt-race"
_FLAGS = ("-std=gnu11", "-O1", "-g", "-shared", "-fPIC")
_MOST_SECONDS = 300.0


def watched(setup: Setup, run_line: str, work: Path) -> Setup:
    """The setup with checks; the library is built in ``work``.

    Raises ``CannotError`` for a simulated MPI, ``UsageError`` if the library cannot be built or the
    run command does not name the program.  If the program cannot be checked, its run raises
    ``UsageError``.
    """
    if setup.simulated:
        raise CannotError(NEEDS_REAL_MPI)
    if "{exe}" not in run_line:
        raise UsageError(f"--race cannot reach the run '{run_line}'; write {{exe}} for the program")
    library = build_library(setup.places["cc"][0], work)
    preload = ":".join(filter(None, (str(library), os.environ.get("LD_PRELOAD"))))
    log = run_directory(work).absolute() / _LOG
    words = ("env", f"LD_PRELOAD={preload}", f"ASPHALT_RACE_LOG={log}")

    def findings(outcome: CommandResult, directory: Path) -> Sequence[Finding]:
        if outcome.status == 0 and not any(log.glob("rank.*")):
            raise UsageError(
                "--race saw no call of MPI; the program must be linked with the MPI's shared "
                f"library, and {setup.places['cc'][0]} must be of the same MPI"
            )
        refusal = refusal_in(log)
        if refusal is not None:
            raise UsageError(f"--race cannot check this program: {refusal}")
        return findings_in(log)

    return replace(setup, before_program=words, findings=findings)


def build_library(compiler: str, work: Path) -> Path:
    """The library for the MPI that ``compiler`` (its ``mpicc``) belongs to, built in ``work``.

    Raises ``UsageError`` if the compiler is missing or fails, with its message.
    """
    if shutil.which(compiler) is None:
        advice = how_to_get(compiler)
        raise UsageError(
            f"--race builds a library with {compiler}, which is not installed"
            + (f"; {advice}" if advice else "")
        )
    library = work.absolute() / _LIBRARY
    sources = [str(path) for path in sorted(shipped(RACE).glob("*.c"))]
    command = [compiler, *_FLAGS, *sources, "-o", str(library), "-ldl"]
    outcome = run(command, work, _MOST_SECONDS)
    if outcome.status != 0:
        error = essence(outcome.stderr.decode("utf-8", "backslashreplace"))
        raise UsageError(f"the library of --race cannot be built with {compiler}: {error}")
    return library
