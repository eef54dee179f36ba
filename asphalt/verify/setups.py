"""Setups: an MPI with its settings, under which all versions are built and run.

A ``Setup`` is a value.  An option that changes how programs run, such as a run with checks, derives
another setup from it (``dataclasses.replace``).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.running.mpi import MPIS, OPENMPI, Mpi, how_to_get
from asphalt.running.process import CommandResult
from asphalt.running.simgrid import Cluster, options
from asphalt.verify.findings import Finding

PLATFORM = "asphalt-cluster-{ranks}.xml"
NAMES = (*(mpi.name for mpi in MPIS), "all")
_BLOCKED_RANKS = "--log=ker_engine.thresh:info"  # names them in a deadlock, and prints nothing else
_COMPILERS = ("fc", "f77", "cc", "mpi")

Findings = Callable[[CommandResult, Path], Sequence[Finding]]


class CannotError(UsageError):
    """Something that an MPI does not support."""


@record
class Setup:
    """A way to build and run all versions of a program.

    ``mpi`` None: the one that the commands start.  ``places``: the values of ``{fc}`` and other
    placeholders.  ``environment``: the variables of every run.  ``link``: additions wherever
    ``{fc}`` or ``{cc}`` links.  ``simulation``: additional settings of smpirun.  ``findings``: the
    errors in a run that ended, from its outcome and directory.  ``before_program``: words before
    ``{exe}``.  ``rendezvous``: no send completes before its receive is posted; ``eager``: this
    setup without that.  ``optional``: the user did not name this MPI, so a missing feature of it is
    no error.
    """

    mpi: Mpi | None
    places: Mapping[str, Sequence[str]]
    environment: Mapping[str, str] = field(default_factory=dict)
    link: tuple[str, ...] = ()
    simulation: Mapping[str, str] = field(default_factory=dict)
    findings: Findings | None = None
    before_program: tuple[str, ...] = ()
    rendezvous: bool = False
    eager: Setup | None = None
    optional: bool = False

    @property
    def name(self) -> str | None:
        """The MPI's name, if the user chose one."""
        return None if self.mpi is None else self.mpi.name

    @property
    def simulated(self) -> bool:
        """Whether the ranks are simulated."""
        return self.mpi is not None and self.mpi.simulated


DEFAULT = Setup(
    None, {"fc": ("mpif90",), "f77": ("mpif90",), "cc": ("mpicc",), "launcher": ("mpirun",)}
)


def setups(names: Sequence[str]) -> tuple[tuple[Setup, ...], tuple[str, ...]]:
    """The setups for ``--mpi``, and notes on the missing MPIs of ``all``.

    Raises ``UsageError`` if a named MPI is missing, or all are.
    """
    if not names:
        return (DEFAULT,), ()
    for mpi in MPIS:
        if mpi.name in names:
            mpi.require()
    wanted = [mpi for mpi in MPIS if mpi.name in names or "all" in names]
    missing = [mpi for mpi in wanted if mpi.missing()]
    if len(missing) == len(wanted):
        raise UsageError(f"no MPI is installed: no {OPENMPI.launcher}; {OPENMPI.installation()}")
    notes = tuple(
        f"{mpi.title} is left out, since it is not installed: no {', '.join(mpi.missing())}; "
        f"{mpi.installation()}"
        for mpi in missing
    )
    there = [mpi for mpi in wanted if mpi not in missing]
    return tuple(_setup(mpi, mpi.name not in names) for mpi in there), notes


def _setup(mpi: Mpi, optional: bool) -> Setup:
    # SMPI's compiler for fixed form accepts both forms, by suffix; other MPIs have one for both
    return Setup(
        mpi,
        {
            "fc": (mpi.fixed if mpi.simulated else mpi.free,),
            "f77": (mpi.fixed,),
            "cc": (mpi.c,),
            "launcher": (mpi.launcher,),
            "mpi": (mpi.name,),
        },
        optional=optional,
    )


def require_places(setup: Setup, build: str, run: str) -> None:
    """Raise ``UsageError`` if the commands do not suit this setup, or tools are missing.

    A build without ``{fc}``, or a run without ``{launcher}``, always uses the same MPI.
    """
    if setup.mpi is not None and not _has(build, *_COMPILERS):
        raise UsageError(
            f"--mpi {setup.mpi} has no effect on the build '{build}'; write {{fc}} for the "
            "compiler, as in 'make FC={fc}'"
        )
    if setup.mpi is not None and not _has(run, "launcher", "mpi"):
        raise UsageError(
            f"--mpi {setup.mpi} has no effect on the run '{run}'; write {{launcher}} for the MPI's "
            "launcher, as in '{launcher} -np {ranks} {exe}'"
        )
    if setup.link and not _has(build, "fc", "cc"):
        raise UsageError(f"the build '{build}' must link a library; write {{fc}} for the compiler")
    if "mpi" not in setup.places and (_has(build, "mpi") or _has(run, "mpi")):
        raise UsageError("{mpi} stands for the MPI that --mpi names; give --mpi")
    for name, words in setup.places.items():
        template = run if name == "launcher" else build
        if name != "mpi" and _has(template, name) and shutil.which(words[0]) is None:
            advice = how_to_get(words[0])
            raise UsageError(f"{words[0]} is not installed" + (f"; {advice}" if advice else ""))


def launcher(setup: Setup, work: Path, ranks: int, arguments: bool) -> tuple[str, ...]:
    """The value of ``{launcher}``; for a simulation with the cluster and all settings.

    Simulated ranks share the units of Fortran's run-time library unless each has its own copy of
    it.  GET_COMMAND_ARGUMENT does not work in a copy, so ranks share it if ``arguments`` are given.
    """
    words = tuple(setup.places["launcher"])
    if not setup.simulated:
        return words
    cluster = Cluster(nodes=ranks)
    platform = work.absolute() / PLATFORM.format(ranks=ranks)
    platform.write_text(cluster.xml(), encoding="ascii")
    settings = dict(setup.simulation)
    if not arguments:
        settings["smpi/privatize-libs"] = "libgfortran.so.5"
    return (*words, "-keep-temps", *options(platform, cluster.costs, settings), _BLOCKED_RANKS)


def _has(template: str, *names: str) -> bool:
    return any(f"{{{name}}}" in template for name in names)
