"""Results that other processes compute before their turn.

Processes that are forked from this one know all that it knows, and what they return is pickled.
They and this one take the numbers of pieces of work from one pipe, in order, so that each is worked
on once; what they find is handed out by number.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import struct
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType, TracebackType
from typing import Generic, TypeVar

from asphalt.ir.records import record

R = TypeVar("R")
_NUMBER = struct.Struct("=i")
_PATIENCE = 2.0  # seconds that a process has to clean up
_MOST = 8000  # numbers that the smallest pipe holds


class LostError(Exception):
    """The result of a piece of work did not arrive from the process that worked on it."""


@record
class _Result(Generic[R]):
    """What a piece of work returns; or what it raises, which is raised at its turn."""

    value: R | None = None
    error: Exception | None = None


class ResultsAhead(Generic[R]):
    """The results of ``task`` for ``numbers``, which are asked for in this order.

    ``helpers``: the number of other processes, which end when this is closed.  All that the task
    reads remains as it is until then.
    """

    def __init__(self, task: Callable[[int], R], numbers: Sequence[int], helpers: int) -> None:
        self._task = task
        self._results: dict[int, _Result[R]] = {}
        self._claims, write = os.pipe()
        os.write(write, b"".join(map(_NUMBER.pack, numbers[:_MOST])))
        os.close(write)
        self._helpers: dict[Connection, BaseProcess] = {}
        self._begun: dict[Connection, int] = {}
        context = multiprocessing.get_context("fork")
        for _ in range(helpers):
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=_help, args=(task, self._claims, theirs), daemon=True, name="asphalt helper"
            )
            process.start()
            theirs.close()
            self._helpers[mine] = process

    def __enter__(self) -> ResultsAhead[R]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def result(self, number: int) -> R:
        """The result of a piece of work; raises what that has raised.  Until it is there, this
        process works on what nobody else works on."""
        while number not in self._results:
            self._receive(0)
            if number in self._results:
                break
            claimed = _claimed(self._claims)
            if claimed is None and number in self._begun.values():
                self._receive(None)
            else:  # nobody has begun: perhaps a process ended before it could say that it had
                claimed = number if claimed is None else claimed
                self._results[claimed] = _done(self._task, claimed)
        found = self._results.pop(number)
        if found.error is not None:
            raise found.error
        return found.value  # type: ignore[return-value]

    def close(self) -> None:
        """End the other processes."""
        for connection, process in self._helpers.items():
            process.terminate()
            connection.close()
        for process in self._helpers.values():
            process.join(_PATIENCE)
            process.kill()
            process.join()
        self._helpers.clear()
        if self._claims >= 0:
            os.close(self._claims)
            self._claims = -1

    def _receive(self, seconds: float | None) -> None:
        """Take what the other processes have sent; wait as long for the first of it."""
        for connection in wait(list(self._helpers), seconds):
            assert isinstance(connection, Connection)
            try:
                number, found = connection.recv()
            except (EOFError, OSError):
                self._lost(connection)
                continue
            if found is None:
                self._begun[connection] = number
            else:
                self._begun.pop(connection, None)
                self._results[number] = found

    def _lost(self, connection: Connection) -> None:
        """Note that a process has ended."""
        process = self._helpers.pop(connection)
        connection.close()
        process.join()
        number = self._begun.pop(connection, None)
        if number is not None:
            why = f"the process that worked on it ended ({process.exitcode})"
            self._results[number] = _Result(error=LostError(why))


def _help(task: Callable[[int], R], claims: int, connection: Connection) -> None:
    """What another process does."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what began this process ends it
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    gc.freeze()
    try:
        while (claimed := _claimed(claims)) is not None:
            connection.send((claimed, None))
            found = _done(task, claimed)
            if found.error is not None and not _is_passed_on(found.error):
                found = _Result(error=LostError(f"{type(found.error).__name__} {found.error}"))
            connection.send((claimed, found))
    except BrokenPipeError:
        pass  # nobody waits any more


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit  # so that no temporary file stays


def _is_passed_on(error: Exception) -> bool:
    """Whether an error arrives in another process as what it is."""
    try:
        return isinstance(pickle.loads(pickle.dumps(error)), type(error))
    except Exception:
        return False


def _claimed(claims: int) -> int | None:
    """The next piece of work that nobody has taken; None: there is no more."""
    found = os.read(claims, _NUMBER.size)
    return int(_NUMBER.unpack(found)[0]) if found else None


def _done(task: Callable[[int], R], number: int) -> _Result[R]:
    try:
        return _Result(task(number))
    except Exception as error:
        return _Result(error=error)
