"""The environment in which mpi4py runs with an MPI: its binary interface and library name.

mpi4py's wheels contain a module for each of the two binary interfaces.  Each needs MPI's library
under one name (``libmpi.so.40`` or ``libmpi.so.12``), which may differ from the distribution's.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.running.mpi import Mpi
from asphalt.running.parts import pip_line
from asphalt.running.process import run


@record
class _Interface:
    wanted: str
    found: re.Pattern[str]


_INTERFACES = {
    "openmpi": _Interface("libmpi.so.40", re.compile(r"(/\S*/libmpi\.so\.\d+)")),
    "mpich": _Interface("libmpi.so.12", re.compile(r"(/\S*/libmpi(?:ch)?\.so\.\d+)")),
}


def require_mpi4py() -> None:
    """Raise ``UsageError`` if mpi4py is missing, with how to get it."""
    missing = [name for name in ("numpy", "mpi4py") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"calling procedures needs {' and '.join(missing)}; get what is missing with "
            f"{pip_line('procedures')}"
        )


def environment_for(mpi: Mpi, bindings: Path) -> Mapping[str, str]:
    """The variables for ranks that use mpi4py with ``mpi``.

    It makes links beside ``bindings``, a library that is linked with the MPI.  Raises
    ``UsageError`` if the MPI's library cannot be found.
    """
    interface = _INTERFACES[mpi.name]
    outcome = run(["ldd", bindings.name], bindings.parent, 60)
    found = interface.found.search(outcome.stdout.decode("utf-8", "backslashreplace"))
    if found is None:
        raise UsageError(f"{mpi.free} links no library of {mpi.title}; {mpi.installation()}")
    folder = bindings.parent / "libraries"
    folder.mkdir(exist_ok=True)
    link = folder / interface.wanted
    if not link.is_symlink():
        link.symlink_to(found[1])
    search = [str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {"MPI4PY_MPIABI": mpi.name, "LD_LIBRARY_PATH": ":".join(search)}
