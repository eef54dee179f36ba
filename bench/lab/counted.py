"""Sources whose computation takes the time that is counted from them, as in ``asphalt simulate``.

For kernels whose work stands in the loops that are transformed: a stand-in could charge it in one
place only, and what the transformation takes apart would cost where it does not stand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from asphalt.machine.machine import load_machine
from asphalt.simulation.charged import charge_tree
from bench.lab.run import LabError

_READING = Lock()  # the processes that read sources are shared by all threads, and serve one


def counted(files: Mapping[str, bytes], free: Collection[str]) -> dict[str, bytes]:
    """The files with their costs charged, and what they call for that in front of them.

    ``free``: those that cost nothing.  Raises LabError where other computation has no known cost.
    """
    with _READING:
        return dict(_counted(tuple(files.items()), frozenset(free)))


@cache
def _counted(files: tuple[tuple[str, bytes], ...], free: frozenset[str]) -> dict[str, bytes]:
    with TemporaryDirectory() as name:
        source, out = Path(name, "source"), Path(name, "charged")
        source.mkdir()
        for file, content in files:
            (source / file).write_bytes(content)
        charged = charge_tree(source, out, load_machine())
        for one in charged.not_charged:
            file = Path(one.file).name
            if file not in free:
                raise LabError(f"{file}:{one.line}: not charged: {one.message}")
        changed = {file: (out / file).read_bytes() for file, _ in files if file not in free}
        return {charged.runtime.name: charged.runtime.read_bytes()} | dict(files) | changed
