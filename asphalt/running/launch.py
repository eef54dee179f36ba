"""Reads the output of MPI launchers: refusals to start, and the last words of a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

# what the launchers of Open MPI (mpirun, prterun), MPICH (Hydra), SMPI and Slurm print if they
# cannot start a program
_REFUSALS = re.compile(
    r"was unable to (?:launch|find|start) the specified|not enough slots available"
    r"|^\S*(?:mpirun|mpiexec|orterun|prterun)\S*: .*(?:unknown|unrecognized) (?:option|argument)"
    r"|^\[mpiexec.*unrecognized argument|^\[proxy.*execvp error on file|^srun: error: .*execve"
    r"|\[root/CRITICAL\] (?:Cannot read from|dlopen failed)"
)
_PREFIX = re.compile(r"^\[[^\]]*\] .*\[root/CRITICAL\] ")
# of a shell, env, nice and the like, which then end with one of two statuses (POSIX)
_NOT_FOUND = re.compile(r"not found|No such file or directory|Permission denied|[Cc]annot execute")
_STATUSES = (126, 127)
_RULE = re.compile(r"[-=*\s]*$")
_OWN = re.compile(
    r"\[(?:proxy|mpiexec)|={3,}|=\s|Primary job|YOUR APPLICATION TERMINATED"
    r"|\[[^\]]*:\d+\] (?:\d+ more process|Set MCA parameter)"
)
_ERROR = re.compile(
    r"Fortran runtime error|MPI_ERR|Fatal error|\bError\b|\bSTOP\b|[Ss]egmentation fault"
    r"|\bsignal\b|\bSIG[A-Z]+"
)
_MOST = 300
_MOST_PRINTED = 120


def refusal(status: int | None, stderr: str) -> str | None:
    """The message of the launcher, or of a command before the program, that it started nothing.

    None if a program seems to have run.
    """
    if status in (None, 0):
        return None
    for block in _blocks(stderr):
        for number, line in enumerate(block):
            if _REFUSALS.search(line) or (status in _STATUSES and _NOT_FOUND.search(line)):
                words = _PREFIX.sub("", " ".join(block[number:]))
                return words if len(words) <= _MOST else f"{words[:_MOST]}..."
    return None


def last_words(stderr: str) -> str:
    """The most informative line of a failed program; "" without output.

    Messages of the launcher on the end of its ranks count only if there are no others.
    """
    blocks = list(_blocks(stderr))
    alone = [block[0] for block in blocks if len(block) == 1]
    own = [line for line in alone if not _OWN.match(line)]
    lines = own or [line for block in blocks for line in block]
    default = own[-1:] or lines[:1] or [""]
    return next((line for line in lines if _ERROR.search(line)), default[0])


def printed_last(stdout: str) -> str:
    """The last line that a program printed, shortened; "" without output."""
    lines = [line.strip() for line in stdout.splitlines() if line.strip()]
    if not lines:
        return ""
    line = lines[-1]
    return line if len(line) <= _MOST_PRINTED else f"{line[:_MOST_PRINTED]}..."


def _blocks(stderr: str) -> Iterator[list[str]]:
    """The lines between rules such as ``-----`` as blocks; other lines one by one."""
    block: list[str] | None = None
    for line in map(str.strip, stderr.splitlines()):
        if line.startswith("-----"):
            if block:
                yield block
            block = [] if block is None else None
        elif _RULE.fullmatch(line):
            continue
        elif block is None:
            yield [line]
        else:
            block.append(line)
    if block:
        yield block
