"""Runs commands of the user: fills them in, starts them without a shell, stops them on a hang."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.running.mpi import environment, how_to_get

_PLACE = re.compile(r"\{(\w*)\}")
_GRACE = 5.0  # seconds that a launcher has to stop its ranks


@record
class CommandResult:
    """How a command ended; ``status`` None: it hangs, and ``hang`` says in which way."""

    status: int | None
    stdout: bytes
    stderr: bytes
    hang: str = "did not end in time"


def fill(template: str, values: Mapping[str, str | Sequence[str]]) -> list[str]:
    """The words of a command line with each ``{name}`` replaced; a sequence becomes several words.

    Raises ``UsageError`` for a placeholder without a value, and for unmatched quotes.
    """
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise UsageError(f"{template}: {error}") from None
    refuse_other_places(template, values)
    filled: list[str] = []
    for word in words:
        whole = _PLACE.fullmatch(word)
        value = values[whole[1]] if whole else word
        if not isinstance(value, str):
            filled += value
        else:
            filled.append(_PLACE.sub(lambda place: _text(values[place[1]]), word))
    if not filled:
        raise UsageError("the command line is empty; write the command to run")
    return filled


class StoppedError(Exception):
    """All commands were ended, and none may start."""


class Running:
    """The commands that are running, in all threads."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def started(self, process: subprocess.Popen[bytes]) -> None:
        """Register a command; end it at once after ``stop``."""
        self._processes.add(process)
        if self._stopped:
            process.terminate()

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """Remove a command that has ended."""
        self._processes.discard(process)

    def stop(self) -> None:
        """End all commands; from now on ``run`` raises ``StoppedError``."""
        self._stopped = True
        for process in tuple(self._processes):
            process.terminate()

    def allow(self) -> None:
        """Allow commands to start again."""
        self._stopped = False

    def check(self) -> None:
        """Raise ``StoppedError`` after ``stop``."""
        if self._stopped:
            raise StoppedError("all commands were ended")


running = Running()


def refuse_other_places(template: str, known: Collection[str]) -> None:
    """Raise ``UsageError`` for a ``{name}`` in a command line that is not ``known``."""
    for name in _PLACE.findall(template):
        if name not in known:
            places = " ".join(f"{{{one}}}" for one in known)
            raise UsageError(f"{template}: {{{name}}} is not a placeholder here; use {places}")


def run(
    command: Sequence[str],
    directory: Path,
    timeout: float,
    *,
    settings: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    at_timeout: Callable[[int], None] | None = None,
) -> CommandResult:
    """Run a command in ``directory`` for at most ``timeout`` seconds.

    ``settings``: additional environment variables; ``stdin``: its input (none by default).
    ``at_timeout`` is called with the leader of the command's session before the session is stopped.
    Raises ``UsageError`` if the command cannot be started.
    """
    running.check()
    with contextlib.ExitStack() as files:
        stdout = files.enter_context(tempfile.TemporaryFile())
        stderr = files.enter_context(tempfile.TemporaryFile())
        source = files.enter_context(Path(stdin or os.devnull).open("rb"))
        try:
            process = subprocess.Popen(
                command,
                cwd=directory,
                env={**environment(), **(settings or {})},
                stdin=source,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            advice = how_to_get(command[0]) if isinstance(error, FileNotFoundError) else None
            raise UsageError(
                f"{command[0]}: cannot be started: {error.strerror}"
                + (f"; {advice}" if advice else "")
            ) from None
        status: int | None = None
        try:
            running.started(process)
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            if at_timeout is not None:
                at_timeout(process.pid)
        finally:
            _stop(process)
            running.ended(process)
        for stream in (stdout, stderr):
            stream.seek(0)
        return CommandResult(status, stdout.read(), stderr.read())


def _text(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else " ".join(value)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the command and its whole session: launchers put ranks in other process groups."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    deadline = time.monotonic() + _GRACE
    while (members := session(process.pid)) and time.monotonic() < deadline:
        for member in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        time.sleep(0.01)


def session(leader: int) -> list[int]:
    """The processes in the session of ``leader``, including launched ranks."""
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text("latin-1").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            members.append(int(folder.name))
    return members
