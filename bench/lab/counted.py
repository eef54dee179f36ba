"""Charges the computation of sources by counting it, as ``asphalt simulate`` does.

This is for kernels whose work is inside the transformed loops: a stand-in could charge it in one
place only, although the transformation divides it.
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

_READING = Lock()  # all threads share the processes that read sources, which serve one at a time


def counted(files: Mapping[str, bytes], free: Collection[str]) -> dict[str, bytes]:
    """The files with charges for their costs, after the modules that the charges need.

    ``free``: files without cost.  Raises LabError for other computation of unknown cost.
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
