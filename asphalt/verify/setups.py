"""What original and transformed are built and run with: an MPI, and what it is told.

A ``Setup`` is a value: an option that wants every run watched, or done under other conditions,
makes another setup from it (``dataclasses.replace``) and nothing else has to know.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.running.mpi import MPIS, OPENMPI, Mpi, how_to_get
from asphalt.running.process import CommandResult
from asphalt.running.simgrid import Cluster, options
from asphalt.verify.findings import Finding

PLATFORM = "asphalt-cluster-{ranks}.xml"
NAMES = (*(mpi.name for mpi in MPIS), "all")
_BLOCKED_RANKS = "--log=ker_engine.thresh:info"  # tells them in a deadlock, else nothing
_COMPILERS = ("fc", "f77", "cc", "mpi")

Findings = Callable[[CommandResult, Path], Sequence[Finding]]


class CannotError(UsageError):
    """Something that an MPI cannot do."""


@dataclass(frozen=True, slots=True)
class Setup:
    """One way to build and run all versions of a program.

    ``mpi`` None: whatever the commands start.  ``places`` are the words that ``{fc}`` and the
    like stand for, ``environment`` the variables of every run, ``link`` what is added wherever
    ``{fc}`` or ``{cc}`` links.  ``simulation`` are more settings of smpirun.  ``findings`` tells
    what is wrong with a run although it ended, from its outcome and its directory.
    ``before_program`` are words that stand before ``{exe}``.  ``rendezvous``: no send is to end
    before its receive is there, ``eager`` the same setup without that.  ``optional``: the user did
    not name this MPI, so that what it cannot do is no mistake.
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
        """The MPI's name, if one was asked for."""
        return None if self.mpi is None else self.mpi.name

    @property
    def simulated(self) -> bool:
        """Whether the ranks are simulated."""
        return self.mpi is not None and self.mpi.simulated


DEFAULT = Setup(
    None, {"fc": ("mpif90",), "f77": ("mpif90",), "cc": ("mpicc",), "launcher": ("mpirun",)}
)


def setups(names: Sequence[str]) -> tuple[tuple[Setup, ...], tuple[str, ...]]:
    """The setups for ``--mpi``, and what is to be said about MPIs of ``all`` that are missing.

    Raises ``UsageError`` if an MPI that is named is missing, or all are.
    """
    if not names:
        return (DEFAULT,), ()
    for mpi in MPIS:
        if mpi.name in names:
            mpi.require()
    wanted = [mpi for mpi in MPIS if mpi.name in names or "all" in names]
    missing = [mpi for mpi in wanted if mpi.missing()]
    if len(missing) == len(wanted):
        raise UsageError(f"there is no MPI at all: no {OPENMPI.launcher}; {OPENMPI.installation()}")
    notes = tuple(
        f"{mpi.title} is left out, it is not there: no {', '.join(mpi.missing())}; "
        f"{mpi.installation()}"
        for mpi in missing
    )
    there = [mpi for mpi in wanted if mpi not in missing]
    return tuple(_setup(mpi, mpi.name not in names) for mpi in there), notes


def _setup(mpi: Mpi, optional: bool) -> Setup:
    # SMPI's compiler for fixed form takes both forms, by suffix; the others have one for both
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
    """Raises ``UsageError`` if the commands cannot be meant for this setup, or tools are missing.

    A build without ``{fc}`` always uses the same MPI, a run without ``{launcher}`` too.
    """
    if setup.mpi is not None and not _has(build, *_COMPILERS):
        raise UsageError(
            f"--mpi {setup.mpi} cannot reach the build '{build}'; write {{fc}} where it names the "
            "compiler, as in 'make FC={fc}'"
        )
    if setup.mpi is not None and not _has(run, "launcher", "mpi"):
        raise UsageError(
            f"--mpi {setup.mpi} cannot reach the run '{run}'; write {{launcher}} for the MPI's "
            "launcher, as in '{launcher} -np {ranks} {exe}'"
        )
    if setup.link and not _has(build, "fc", "cc"):
        raise UsageError(f"nothing can be linked by the build '{build}'; write {{fc}} in it")
    if "mpi" not in setup.places and (_has(build, "mpi") or _has(run, "mpi")):
        raise UsageError("{mpi} stands for what --mpi names; give --mpi")
    for name, words in setup.places.items():
        template = run if name == "launcher" else build
        if name != "mpi" and _has(template, name) and shutil.which(words[0]) is None:
            advice = how_to_get(words[0])
            raise UsageError(f"no {words[0]} here" + (f"; {advice}" if advice else ""))


def launcher(setup: Setup, work: Path, ranks: int, arguments: bool) -> tuple[str, ...]:
    """What ``{launcher}`` stands for; for a simulation with the cluster and all settings.

    Simulated ranks share the units of Fortran's run-time library unless each gets its own copy of
    it; in a copy GET_COMMAND_ARGUMENT finds nothing, so there is none if ``arguments`` are given.
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
