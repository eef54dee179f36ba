"""One rank: calls the original and the transformed procedures with the same random arguments.

Started by ``compare`` as ``python -m asphalt.verify.procedures.worker TASK FOLDER`` under mpiexec.
It logs each call before it makes it, since an MPI error or a fault ends the process.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import mpi4py
import numpy as np

from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.verify.procedures.arguments import CallArguments
from asphalt.verify.procedures.build import FLUSH
from asphalt.verify.procedures.draws import DiscardedDrawError, Drawn, Draws, Where, evaluate
from asphalt.verify.procedures.library import Array, LoadedProcedure, open_library
from asphalt.verify.procedures.task import CHECKED, ORIGINAL, Event, Task, log_path

_SHOWN = 3


@dataclass(slots=True)
class _Version:
    label: str
    library: ctypes.CDLL
    entry: LoadedProcedure
    open: bool = True


@record
class _After:
    """The state after a call: arguments, output, COMMON blocks and module variables."""

    values: dict[str, Array]
    printed: bytes
    shared: dict[str, bytes] = field(default_factory=dict)


class _Rank:
    def __init__(self, task: Task, folder: Path, log: TextIO) -> None:
        mpi4py.rc.errors = "fatal"  # as in a Fortran program; mpi4py sets MPI_ERRORS_RETURN else
        from mpi4py import MPI

        self.task, self.folder, self.log = task, folder, log
        self.comm = MPI.COMM_WORLD
        self.flush: Any = getattr(ctypes.CDLL(str(task.bindings), ctypes.RTLD_GLOBAL), FLUSH)
        self.where = Where(self.comm.rank, self.comm.size, self.comm.py2f())
        versions = [(label, path) for label, path in task.versions]
        if task.checked is not None:
            versions.insert(0, (CHECKED, task.checked))
        self.versions = [self._version(label, path) for label, path in versions]

    def _version(self, label: str, path: Path) -> _Version:
        library = open_library(path, self.task.bindings)
        names = {"ranks": self.where.ranks, "rank": self.where.rank}
        for first in self.task.first:
            interface = self.task.interfaces[first.number]
            entry = LoadedProcedure(library, interface, first.number)
            given: list[object] = [
                self.comm if text == "comm" else evaluate(text, names) for text in first.args
            ]
            CallArguments(entry, given, {}).call()
        return _Version(label, library, LoadedProcedure(library, self.task.interfaces[0], 0))

    def say(self, kind: str, draw: int, version: str, text: str = "") -> None:
        self.log.write(Event(kind, draw, version, text).line())
        self.log.flush()

    def run(self) -> None:
        task = self.task
        entry = self.versions[0].entry
        draws = Draws(entry, task.roles, task.sizes, task.fixed, task.seed, self.where)
        for number in range(task.start, task.stop):
            try:
                drawn, reason = draws.draw(number), ""
            except DiscardedDrawError as error:
                drawn, reason = Drawn({}, {}, ""), str(error)
            if self._any(reason, number):
                continue
            if not self._compare(number, drawn):
                break

    def _any(self, reason: str, number: int) -> bool:
        """Whether any rank has a reason to discard the draw; it is logged once."""
        reasons = [text for text in self.comm.allgather(reason) if text]
        if reasons:
            self.say("thrown", number, ORIGINAL, reasons[0])
        return bool(reasons)

    def _compare(self, number: int, drawn: Drawn) -> bool:
        """Call all versions with a draw; False: the versions differ, so no more draws."""
        expected: _After | None = None
        apart = False
        for version in self.versions:
            arguments = drawn.copy()
            after = self._called(version, arguments, number, drawn.said)
            if version.label in (CHECKED, ORIGINAL):
                overrun = arguments.overrun()
                reason = f"the original writes outside {overrun} ({drawn.said})" if overrun else ""
                if self._any(reason, number):
                    return True
            if version.label == CHECKED:
                continue
            if expected is None:
                expected = after
                continue
            found = self._difference(expected, after)
            outside = arguments.overrun()
            if outside and not found:
                found = f"it writes outside {outside}"
            if found:
                self.say("differs", number, version.label, f"{found} [{drawn.said}]")
            apart = any(self.comm.allgather(bool(found))) or apart
        if apart:
            assert expected is not None
            original = next(v for v in self.versions if v.label == ORIGINAL)
            again = self._called(original, drawn.copy(), number, drawn.said)
            changed = self._difference(_After(expected.values, expected.printed), again)
            if changed:
                self.say("unstable", number, ORIGINAL, changed)
        self.say("done", number, ORIGINAL)
        return not apart

    def _called(self, version: _Version, drawn: Drawn, number: int, said: str) -> _After:
        self.comm.Barrier()
        self.say("begin", number, version.label, said)
        # the runtime, of which each library has one, makes this file once
        told = self.folder / f"tiled-{self.where.rank}"
        os.environ["ASPHALT_TILED"] = str(told)
        faulthandler.dump_traceback_later(self.task.limit, exit=True)
        with _captured(self.folder / f"printed-{self.where.rank}", self.flush) as printed:
            version.entry.call(drawn.values)
        faulthandler.cancel_dump_traceback_later()
        if told.exists():
            told.unlink()
            self.say("tiled", number, version.label)
        self.comm.Barrier()
        if version.label == CHECKED:
            return _After(drawn.values, printed[0])
        shared = {one.title: one.content(version.library) for one in self.task.shared}
        return _After(drawn.values, printed[0], shared)

    def _difference(self, expected: _After, found: _After) -> str | None:
        where = f"rank {self.where.rank} of {self.where.ranks}: "
        for dummy in self.task.interfaces[0].arguments:
            if dummy.name in expected.values:
                one, other = expected.values[dummy.name], found.values[dummy.name]
                if one.tobytes(order="A") != other.tobytes(order="A"):
                    return where + _elements(dummy.name, one, other)
        if expected.printed != found.printed:
            return where + "the printed output"
        for title, content in expected.shared.items():
            if found.shared.get(title, content) != content:
                return where + title
        return None


def _elements(name: str, one: Array, other: Array) -> str:
    """The differing elements of an array; subscripts start at 1."""
    if not one.ndim:
        return f"{name} is {other.item()!r} instead of {one.item()!r}"
    size = one.dtype.itemsize
    left, right = (
        np.frombuffer(array.tobytes(order="F"), np.uint8).reshape(-1, size)
        for array in (one, other)
    )
    places = np.flatnonzero((left != right).any(axis=1))
    told = []
    for place in places[:_SHOWN]:
        at = np.unravel_index(int(place), one.shape, order="F")
        subscripts = ",".join(str(int(index) + 1) for index in at)
        told.append(f"{name}({subscripts}) is {other[at]!s} instead of {one[at]!s}")
    more = len(places) - len(told)
    return "; ".join(told) + (f"; and {more} more elements" if more else "")


@contextmanager
def _captured(path: Path, flush: Any) -> Iterator[list[bytes]]:
    """The output of the process meanwhile, from any language; filled in at the end."""
    printed: list[bytes] = []
    sys.stdout.flush()
    flush()
    saved = os.dup(1)
    target = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600)
    try:
        os.dup2(target, 1)
        yield printed
    finally:
        flush()
        os.dup2(saved, 1)
        os.close(saved)
        os.close(target)
        printed.append(path.read_bytes())


def main(task: Path, folder: Path) -> int:
    """Run a task on this rank."""
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0"))
    with log_path(folder, int(rank)).open("a", encoding="utf-8") as log:
        try:
            _Rank(Task.read(task), folder, log).run()
        except UsageError as error:
            log.write(Event("refused", 0, ORIGINAL, str(error)).line())
            log.flush()
            os._exit(2)  # other ranks may wait in a collective operation: the launcher ends them
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
