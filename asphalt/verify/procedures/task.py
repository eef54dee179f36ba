"""What the ranks are told, and what they write down, draw by draw."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from asphalt.verify.procedures.draws import Fixed
from asphalt.verify.procedures.interface import Interface
from asphalt.verify.procedures.roles import MpiRole
from asphalt.verify.procedures.shared import SharedSymbol

CHECKED = "checked"  # the original with the compiler's checks, which tells bad draws
ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class First:
    """A call that is made before all others: the number of a procedure, and its arguments."""

    number: int
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
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
        """Write it down for the ranks."""
        path.write_bytes(pickle.dumps(self))

    @staticmethod
    def read(path: Path) -> Task:
        """What ``write`` wrote."""
        found = pickle.loads(path.read_bytes())
        assert isinstance(found, Task)
        return found


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a rank's log.

    ``kind``: ``begin`` (a version is called), ``thrown`` (the draw is of no use; ``text`` why),
    ``differs`` (``text`` how), ``unstable`` (so does the original from itself), ``tiled`` (for the
    first time an exchange of the version was, not the original call made), ``done``.
    """

    kind: str
    draw: int
    version: str
    text: str = ""

    def line(self) -> str:
        """The line."""
        return json.dumps(asdict(self)) + "\n"


def log_path(folder: Path, rank: int) -> Path:
    """Where a rank writes."""
    return folder / f"rank-{rank}.log"


def read_log(path: Path) -> Iterator[Event]:
    """The whole lines of a log; a rank that was killed may leave a part of one."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            yield Event(**json.loads(line))
