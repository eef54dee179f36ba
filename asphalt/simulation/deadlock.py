"""Finds where the ranks of a simulated program are blocked in a deadlock.

SimGrid detects a deadlock and names the blocked ranks, but smpirun still ends with status 0.  A
second run under the debugger gdb shows where they are blocked.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from asphalt.running.process import run
from asphalt.verify.stacks import (
    GDB_IS_MISSING,
    Stack,
    simulated_stacks,
    simulation_script,
)

NAME_BLOCKED = "--log=ker_engine.thresh:info"
"""Makes SimGrid name the ranks that are blocked in a deadlock, and print nothing else."""
_SIGN = "Deadlock detected"
_BLOCKED = re.compile(r"Actor \d+ \((\d+)@.*?\): waiting for")
_THREADS = "--cfg=contexts/factory:thread"  # gdb cannot see the usual contexts of ranks
_MAIN = "user_main"  # what smpif90 makes of a main program
_LINE = re.compile(r":\d+\)$")


def is_deadlock(stderr: str) -> bool:
    """Whether a run with this ``stderr`` ended in a deadlock."""
    return _SIGN in stderr


def ranks_text(stderr: str) -> str:
    """Which ranks SimGrid calls blocked (with ``NAME_BLOCKED``), as a clause."""
    ranks = {int(rank) for rank in _BLOCKED.findall(stderr)}
    return f"{_ranks(ranks)} for ever" if ranks else "ranks wait for ever"


def deadlock_text(
    stderr: str,
    launcher: Sequence[str],
    program: Sequence[str],
    place: Path,
    timeout: float,
    settings: Mapping[str, str],
) -> str:
    """Which ranks wait, and where, as a clause.

    ``stderr``: that of the run; ``launcher`` and ``program``: the command that started it;
    ``place``: a fresh copy of the directory that it ran in.
    """
    stacks: tuple[Stack, ...] = ()
    if shutil.which("gdb") is not None:
        script = Path(settings["TMPDIR"]) / "asphalt.gdb"
        script.write_text(simulation_script(), encoding="ascii")
        wrapper = f"gdb -batch -nx -x {script} --args"
        command = [*launcher, _THREADS, "-wrapper", wrapper, *program]
        again = run(command, place, timeout, settings=settings)
        stacks = simulated_stacks(again.stdout.decode("utf-8", "replace"), place).found
    if stacks:
        return "; ".join(_stack_text(stack) for stack in stacks)
    missing = shutil.which("gdb") is None
    return f"{ranks_text(stderr)} ({GDB_IS_MISSING})" if missing else ranks_text(stderr)


def _stack_text(stack: Stack) -> str:
    ranks = tuple(rank for rank in stack.ranks if rank is not None)
    innermost, *callers = (_procedure(frame) for frame in stack.frames)
    called = f", called by {' < '.join(callers)}" if callers else ""
    return f"{_ranks(ranks)} in {innermost}{called}"


def _procedure(frame: str) -> str:
    """A frame without its line number, which counts lines of the charged source."""
    name = _LINE.sub(")", frame)
    if name.partition(" ")[0] == _MAIN:
        return f"the main program{name.removeprefix(_MAIN)}"
    return name.upper() if name.startswith("mpi_") else name


def _ranks(ranks: Iterable[int]) -> str:
    """``rank 3 waits``, ``ranks 0, 4-7 wait``."""
    spans = []
    known = sorted(ranks)
    for _, run_of in groupby(enumerate(known), lambda pair: pair[1] - pair[0]):
        members = [rank for _, rank in run_of]
        spans += (
            [f"{members[0]}-{members[-1]}"] if len(members) > 2 else [str(rank) for rank in members]
        )
    return f"ranks {', '.join(spans)} wait" if len(known) > 1 else f"rank {', '.join(spans)} waits"
