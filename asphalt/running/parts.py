"""The parts that commands need beside asphalt: which are there, and how to get the others."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec

from asphalt.ir.records import record
from asphalt.running.mpi import MPIS

DISTRIBUTION = "asphalt-mpi"
"""The name under which this package is installed."""
_SECONDS = 20.0


@record
class Part:
    """A program or a library.

    ``found``: its version or place; None: it is missing.  ``needed``: what needs it.  ``get``: how
    to install it.
    """

    name: str
    found: str | None
    needed: str
    get: str


def parts() -> Iterator[Part]:
    """All parts, the most important ones first."""
    get = "apt-get install gfortran"
    yield Part("gfortran", _version(["gfortran", "--version"]), "verify, simulate, calibrate", get)
    cpp = _version(["gfortran", "-E", "-cpp", "-x", "f95-cpp-input", os.devnull])
    found = None if cpp is None else "gfortran -cpp"
    yield Part("CPP", found, "files with #if, #include or macros, by every command", get)
    uses = {"smpi": "simulate, --judge simulation, verify --mpi smpi"}
    for mpi in MPIS:
        missing = mpi.missing()
        needed = uses.get(mpi.name, f"verify --mpi {mpi.name}, or builds with mpif90")
        found = None if missing else _version([mpi.launcher, "--version"]) or mpi.launcher
        if missing and len(missing) < len({mpi.free, mpi.fixed, mpi.c, mpi.launcher}):
            needed += f" (in part: no {', '.join(missing)})"
        yield Part(mpi.title, found, needed, f"apt-get install {' '.join(mpi.packages)}")
    yield _program("mpif90", "verify without --mpi", f"apt-get install {' '.join(_PLAIN)}")
    yield _program("make", "asphalt mk", "apt-get install make")
    yield _program("objcopy", "asphalt fc with a database", "apt-get install binutils")
    yield _program("gdb", "verify: where hanging ranks stand", "apt-get install gdb")
    for module, extra, needed in _LIBRARIES:
        found = None if find_spec(module) is None else version(module)
        yield Part(module, found, needed, pip_line(extra))


_PLAIN = MPIS[0].packages
EXTRAS = {
    "pictures": ("matplotlib>=3.8",),
    "procedures": ("mpi4py>=4", "numpy>=1.26"),
    "calibrate": ("scipy>=1.13",),
}
"""What each extra of pyproject.toml that a command needs stands for."""
_LIBRARIES = (
    ("matplotlib", "pictures", "simulate: timelines and curves as PNG"),
    ("numpy", "procedures", "verify FILE:PROCEDURE"),
    ("mpi4py", "procedures", "verify FILE:PROCEDURE"),
    ("scipy", "calibrate", "calibrate"),
)


def pip_line(extra: str) -> str:
    """The command that installs what an extra of this distribution needs, wherever asphalt itself
    comes from: an index, a wheel, a checkout."""
    return " ".join(("pip install", *(f"'{one}'" for one in EXTRAS[extra])))


def other_distributions(
    installed: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    """The distributions that bring an import package ``asphalt``, too, and so overwrite this one.

    ``installed``: the distributions of each import package; None: those of this environment.
    """
    found = packages_distributions() if installed is None else installed
    return tuple(sorted(set(found.get("asphalt", ())) - {DISTRIBUTION}))


def _program(name: str, needed: str, get: str) -> Part:
    place = shutil.which(name)
    return Part(name, place and (_version([name, "--version"]) or place), needed, get)


def _version(command: Sequence[str]) -> str | None:
    """The first line with a number that a program says about its version; None: it says none."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = [line.strip() for line in done.stdout.splitlines()]
    numbered = (line for line in lines if any(map(str.isdigit, line)))
    return next(numbered, None) if done.returncode == 0 else None
