"""``load``: a procedure of the original and of the transformed program, as Python callables."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from asphalt.config.errors import AsphaltError, UsageError
from asphalt.config.limits import DEPTH, TILE
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import SiteReport
from asphalt.ir.records import record
from asphalt.project import Project
from asphalt.running.mpi import MPICH, MPIS, OPENMPI, Mpi
from asphalt.verify.procedures.arguments import CallArguments
from asphalt.verify.procedures.build import Compiler, bindings
from asphalt.verify.procedures.interface import Interface
from asphalt.verify.procedures.library import LoadedProcedure, open_library
from asphalt.verify.procedures.versions import Versions

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

DEFAULT_FLAGS = ("-O2", "-g")
_NAP = 0.02  # seconds


class Procedure:
    """A Fortran procedure that Python can call.

    Pass arguments by position or by the names of dummy arguments: NumPy arrays of the right type
    and shape in Fortran's order, which the call changes in place; numbers, bools and strings;
    communicators of mpi4py.  You may omit optional arguments and INTENT(OUT) scalars.
    """

    def __init__(self, entry: LoadedProcedure, version: str) -> None:
        self._entry = entry
        self.version = version

    @property
    def interface(self) -> Interface:
        """The interface, from the symbol index."""
        return self._entry.interface

    def __call__(self, *args: object, **named: object) -> dict[str, object]:
        """Call the procedure; returns the scalars that it may change, and a function's result.

        The result has the name of the function.  Raises ``UsageError`` for arguments that do not
        fit.
        """
        return CallArguments(self._entry, args, named).call()

    def __repr__(self) -> str:
        dummies = ", ".join(map(str, self.interface.dummies))
        return f"<{self.version} {self.interface}({dummies})>"


@record
class Pair:
    """A procedure of the original and of the transformed program; unpacks to the two.

    ``changed``: whether it, or one that it may call, is transformed; ``sites``: the transformed
    exchanges.  ``also``: other procedures of the same two libraries, by name, such as set-up
    procedures.  Each library has its own module variables and COMMON blocks.
    """

    original: Procedure
    transformed: Procedure
    changed: bool
    sites: tuple[SiteReport, ...]
    also: Mapping[str, Pair] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Procedure]:
        return iter((self.original, self.transformed))


def load(
    source: str | Path | Iterable[str | Path],
    procedure: str,
    *,
    also: Sequence[str] = (),
    tile: int | None = None,
    depth: int | None = None,
    settings: Settings | None = None,
    flags: Sequence[str] = DEFAULT_FLAGS,
    mpi: str | None = None,
    changed: str | Path | None = None,
    comm: Intracomm | None = None,
) -> Pair:
    """Build a procedure of the original and of the transformed program, and load both.

    ``source``: a file, a tree, or several, which together are the whole program; only the files
    that the procedure needs are compiled.  ``procedure``: ``name``, ``module::name`` or
    ``module.name``; ``also``: further ones.  ``tile`` and ``depth``: K and D in the header.
    ``flags``: for the compiler, e.g. ``("-O3", "-lfftw3")``.  ``mpi``: ``openmpi`` or ``mpich``;
    None: the one that mpi4py uses.  ``changed``: a tree to use as the transformed one, with the
    layout of ``source`` (to see whether the comparison finds a change of your own).  ``comm``: all
    its ranks load the same; the first of them builds, in a directory that the others must see.

    >>> from mpi4py import MPI
    >>> pair = asphalt.verify.load("src", "transposes::exchange", tile=2)
    >>> s = numpy.asfortranarray(numpy.random.rand(4, 6, 1))
    >>> received = [numpy.zeros_like(s) for procedure in pair]
    >>> for procedure, r in zip(pair, received):
    ...     procedure(MPI.COMM_SELF, s, r)
    >>> numpy.array_equal(*received)
    True

    Raises ``UsageError`` and ``InputError``, with advice, for sources, procedures and compilers
    that cannot be used.
    """
    _check(tile, depth, flags)
    chosen = _mpi(mpi)

    def build() -> _Built:
        return _build(source, (procedure, *also), tile, depth, settings, flags, chosen, changed)

    built = build() if comm is None else _by_the_first(comm, build)
    libraries = tuple(open_library(library, built.common) for library in built.libraries)
    if comm is not None:
        comm.Barrier()  # else the first may end, and remove the files, too early
    main, *others = (
        Pair(
            Procedure(LoadedProcedure(libraries[0], interface, number), "original"),
            Procedure(LoadedProcedure(libraries[1], interface, number), "transformed"),
            changed is not None or bool(sites),
            sites,
        )
        for number, (interface, sites) in enumerate(built.procedures)
    )
    return replace(main, also=MappingProxyType(dict(zip(also, others, strict=True))))


@record
class _Built:
    """The libraries of both versions, and their procedures with the transformed sites.

    ``common``: the library that is loaded before them.
    """

    libraries: tuple[Path, Path]
    common: Path
    procedures: tuple[tuple[Interface, tuple[SiteReport, ...]], ...]


def _build(
    source: str | Path | Iterable[str | Path],
    procedures: Sequence[str],
    tile: int | None,
    depth: int | None,
    settings: Settings | None,
    flags: Sequence[str],
    mpi: Mpi,
    changed: str | Path | None,
) -> _Built:
    paths = [source] if isinstance(source, str | Path) else list(source)
    for path in map(Path, paths):
        if not path.exists():
            raise UsageError(f"{path}: no such file or directory; check the path")
    project = Project(*paths, settings=settings)
    versions = Versions.of(project, procedures)
    directory = Path(tempfile.mkdtemp(prefix="asphalt-load-"))
    # the files of a loaded library must exist as long as it may be called
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    compiler = Compiler(mpi, tuple(flags))
    first = versions.original(directory / "original", compiler)
    if changed is None:
        second = versions.transformed(directory / "transformed", compiler, tile, depth)
    else:
        second = versions.instead(Path(changed), directory / "transformed", compiler)
    found = tuple(
        (callable_.interface, versions.sites_of(number))
        for number, callable_ in enumerate(versions.callables)
    )
    return _Built((first, second), bindings(directory, mpi), found)


def _by_the_first(comm: Intracomm, build: Callable[[], _Built]) -> _Built:
    """The build of the first rank, for all ranks; all raise its exceptions."""
    built: _Built | None = None
    error: AsphaltError | None = None
    if comm.Get_rank() == 0:
        try:
            built = build()
        except AsphaltError as found:
            error = found
    message = None if error is None else str(error)
    done = comm.Ibarrier()
    while not done.Test():  # a broadcast would keep processors busy that the compiler needs
        time.sleep(_NAP)
    built, message = comm.bcast((built, message))
    if error is not None:
        raise error
    if built is None:
        raise UsageError(str(message))
    return built


def _check(tile: int | None, depth: int | None, flags: Sequence[str]) -> None:
    """Raise ``UsageError`` for an invalid argument of ``load``."""
    for name, value, limits in (("tile", tile, TILE), ("depth", depth, DEPTH)):
        if value is None:
            continue
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value not in limits:
            raise UsageError(f"{name}={value!r}: {name} is an integer from {limits}")
    if isinstance(flags, str):
        raise UsageError(f"flags={flags!r}: flags is a list of words, e.g. {flags.split()!r}")


def _mpi(name: str | None) -> Mpi:
    """The MPI to compile with: that of mpi4py in this process."""
    found = mpi_of_mpi4py()
    if name is not None and name != found.name:
        known = {mpi.name: mpi for mpi in MPIS}
        if name not in known or known[name].simulated:
            raise UsageError(f"mpi={name!r}: must be openmpi or mpich")
        raise UsageError(
            f"mpi={name!r}: mpi4py uses {found.title} in this process; set "
            f"MPI4PY_MPIABI={name} before it is imported"
        )
    found.require()
    return found


def mpi_of_mpi4py() -> Mpi:
    """The MPI that mpi4py uses in this process; it is initialised.

    Raises ``UsageError`` if there is no mpi4py, or no MPI for it.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"calling procedures needs mpi4py and an MPI that it finds ({reason}); get them with "
            "'pip install mpi4py' and 'apt-get install openmpi-bin libopenmpi-dev gfortran'"
        ) from None
    version = MPI.Get_library_version()
    return OPENMPI if "Open MPI" in version else MPICH
