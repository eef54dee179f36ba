"""The task of the ranks, and their logs of events, draw by draw."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from asphalt.ir.records import record
from asphalt.verify.procedures.draws import Fixed
from asphalt.verify.procedures.interface import Interface
from asphalt.verify.procedures.roles import MpiRole
from asphalt.verify.procedures.shared import SharedSymbol

CHECKED = "checked"  # the original with the compiler's checks, which reveals bad draws
ORIGINAL = "original"


@record
class First:
    """A call before all others: the number of a procedure, and its arguments."""

    number: int
    args: tuple[str, ...]


@record
class Task:
    """Draws ``start`` to ``stop`` for the first procedure of the libraries.

    ``versions``: label and library, the original first.  ``limit``: seconds for one call.
    """

    interfaces: tuple[Interface, ...]
    bindings: Path
    checked: Path | None
    versions: tuple[tuple[str, Path], ...]
    roles: Mapping[str, MpiRole]
    sizes: frozenset[str]
    fixed: tuple[Fixed, ...]
    first: tuple[First, ...]
    shared: tuple[SharedSymbol, ...]
    seed: int
    start: int
    stop: int
    limit: float

    def write(self, path: Path) -> None:
        """Write the task to a file for the ranks."""
        path.write_bytes(pickle.dumps(self))

    @staticmethod
    def read(path: Path) -> Task:
        """Read a task that ``write`` wrote."""
        found = pickle.loads(path.read_bytes())
        assert isinstance(found, Task)
        return found


@record
class Event:
    """A line of a rank's log.

    ``kind``: ``begin`` (a call of a version begins), ``thrown`` (the draw is discarded; ``text``:
    why), ``differs`` (``text``: how), ``unstable`` (two calls of the original differ), ``tiled``
    (an exchange of the version was tiled for the first time), ``done``.
    """

    kind: str
    draw: int
    version: str
    text: str = ""

    def line(self) -> str:
        """The line of the log."""
        return json.dumps(asdict(self)) + "\n"


def log_path(folder: Path, rank: int) -> Path:
    """The log of a rank."""
    return folder / f"rank-{rank}.log"


def read_log(path: Path) -> Iterator[Event]:
    """The complete lines of a log; a killed rank may leave an incomplete one."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            yield Event(**json.loads(line))
