"""Compile and run Fortran MPI programs in tests, with Open MPI, MPICH or SimGrid's SMPI.

Compilers and MPI are never mocked: an MPI that is not installed makes the test skip
(``pytest.mark.parametrize("mpi", installed())`` gives the ones that are there).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from asphalt.config.runtime import (
    RuntimeModule,
    is_runtime_source,
    needed,
    runtime_modules,
)
from asphalt.output.write import used_runtime
from asphalt.running import process, simgrid
from asphalt.running.mpi import MPICH, MPIS, OPENMPI, SMPI, Mpi
from asphalt.running.simgrid import Cluster
from support import build_store

__all__ = ["MPICH", "OPENMPI", "SMPI", "Mpi"]
QUICK = "ASPHALT_TESTS_QUICK"
"""The environment variable that the quick suite sets."""
RUNTIME_F08 = tuple(
    module.source for module in runtime_modules().values() if module.name.endswith("_f08")
)
"""The sources of the runtime that need the module ``mpi_f08``, which SMPI has not."""
RUNTIME = tuple(
    module.source for module in runtime_modules().values() if module.source not in RUNTIME_F08
)
"""The others, in the order to compile them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compiler or a program did: exit code and what it printed."""

    code: int
    stdout: str
    stderr: str

    @property
    def warnings(self) -> tuple[str, ...]:
        """The diagnostics of a compilation: lines that start with ``Warning:`` or ``Error:``."""
        lines = self.stderr.splitlines()
        return tuple(line for line in lines if line.startswith(("Warning:", "Error:", "Fatal")))


class BuildError(AssertionError):
    """A program that a test needs did not compile."""


def installed(*wanted: Mpi) -> list[Mpi]:
    """Which of ``wanted`` (default: all three) can compile and run here."""
    return [mpi for mpi in wanted or MPIS if not mpi.missing()]


def compile_source(mpi: Mpi, source: Path, folder: Path, flags: Sequence[str] = ()) -> Outcome:
    """Compile one file to ``folder/STEM.o``, modules included; the caller looks at the outcome.

    The source is copied to ``folder`` first: SMPI's wrappers write beside it.  Modules of the
    runtime are compiled once with the same flags, and copied.
    """
    module = runtime_modules().get(source.stem)
    if module is None or source.read_bytes() != module.source.read_bytes():
        return _compiled(mpi, source, folder, flags)
    made, outcome = _runtime(mpi, _without_places(flags), module)
    for file in made.glob(f"{source.stem}.*"):
        shutil.copyfile(file, folder / file.name)
    return outcome


def _without_places(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags but for folders of modules: those of the runtime stand in the folder itself."""
    return tuple(flag for flag in flags if not flag.startswith(("-I", "-J")))


def compile_runtime(mpi: Mpi, folder: Path, flags: Sequence[str] | None = None) -> Outcome:
    """Compile the runtime into a folder; the outcome is that of all its sources.

    ``flags``: None: see ``runtime_flags``.
    """
    chosen = runtime_flags(()) if flags is None else flags
    outcomes = [compile_source(mpi, source, folder, chosen) for source in RUNTIME]
    code = max(outcome.code for outcome in outcomes)
    return Outcome(code, "", "".join(outcome.stderr for outcome in outcomes))


def runtime_texts(*users: str | bytes) -> dict[str, str]:
    """The sources of the runtime that some texts use, by their names, in the order to compile."""
    contents = (text.encode() if isinstance(text, str) else text for text in users)
    modules = needed(frozenset[str]().union(*map(used_runtime, contents)))
    return {module.file: module.source.read_text() for module in modules}


@cache
def _runtime(mpi: Mpi, flags: tuple[str, ...], module: RuntimeModule) -> tuple[Path, Outcome]:
    """A folder with a compiled module of the runtime, and what the compiler said about it."""

    def make(folder: Path) -> None:
        for used in needed([module.name])[:-1]:
            shutil.copy(_runtime(mpi, flags, used)[0] / f"{used.name}.mod", folder)
        outcome = _compiled(mpi, module.source, folder, flags)
        (folder / "outcome.json").write_text(json.dumps(asdict(outcome)))

    place = build_store.made(make, "runtime", mpi.name, module.name, *flags)
    return place, Outcome(**json.loads((place / "outcome.json").read_text()))


def _compiled(mpi: Mpi, source: Path, folder: Path, flags: Sequence[str]) -> Outcome:
    copy = folder / source.name
    if copy.resolve() != source.resolve():
        shutil.copyfile(source, copy)
    # wrappers place their own -I last, so that ours comes first
    command = [mpi.compiler(source), "-c", *flags, copy.name, "-o", copy.stem + ".o"]
    return _finished(command, folder, 120)


def build(
    mpi: Mpi,
    sources: Sequence[Path],
    folder: Path,
    flags: Sequence[str] = (),
    name: str = "prog",
    runtime: Sequence[str] | None = None,
) -> Path:
    """Compile ``sources`` in order, link them, and return the program.

    ``runtime``: flags for modules of the runtime; None: see ``runtime_flags``.

    Raises:
        BuildError: with the compiler's words.
    """
    of_runtime = runtime_flags(flags) if runtime is None else runtime
    for source in sources:
        outcome = compile_source(
            mpi, source, folder, of_runtime if is_runtime_source(source) else flags
        )
        if outcome.code != 0:
            raise BuildError(f"{mpi} {source.name}:\n{outcome.stderr}")
    program = link(mpi, [source.stem + ".o" for source in sources], folder, flags, name)
    _sources[program] = tuple(source for source in sources if not is_runtime_source(source))
    return program


def runtime_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """How to compile the runtime of a program that is compiled with ``flags``.

    The quick suite compiles it once for each MPI, with all checks, unless the flags are of a kind
    that all parts of a program must have; the wide one as the program.  The tests of the runtime
    itself say which flags they mean.
    """
    if QUICK not in os.environ:
        return tuple(flags)
    if "-flto" in flags:
        return tuple(flag for flag in flags if flag[:2] in ("-f", "-O"))
    return ("-O1", "-fcheck=all", *(flag for flag in flags if flag == "-fopenmp"))


def link(
    mpi: Mpi, objects: Sequence[str], folder: Path, flags: Sequence[str] = (), name: str = "prog"
) -> Path:
    """Link what was compiled, and return the program.

    Raises:
        BuildError: with the linker's words.
    """
    outcome = _finished([mpi.free, *flags, *objects, "-o", name], folder, 120)
    if outcome.code != 0:
        raise BuildError(f"{mpi} link:\n{outcome.stderr}")
    return folder / name


def run(
    mpi: Mpi,
    program: Path,
    ranks: int,
    arguments: Sequence[str] = (),
    timeout: float = 60.0,
    threads: int = 1,
) -> Outcome:
    """Run a program on ``ranks`` ranks in its own folder, with so many threads of OpenMP each.

    A run that takes longer than ``timeout`` seconds is killed: exit code 124.
    """
    command = mpi.command(ranks, program.resolve())
    if mpi.simulated:
        cluster = Cluster()
        platform = program.parent / "cluster.xml"
        platform.write_text(cluster.xml())
        command = simgrid.command(ranks, program.resolve(), platform, cluster.costs)
    outcome = _finished([*command, *arguments], program.parent, timeout, threads)
    if outcome.code != 0:
        failed_runs.append(_told(mpi, program, ranks, outcome))
    return outcome


failed_runs: list[str] = []
"""The runs of a test that ended with an error, for the report if the test fails: which program it
was, of which sources, its exit code, and the last lines that it wrote on standard error."""
_sources: dict[Path, tuple[Path, ...]] = {}
_LAST = 20  # lines


def _told(mpi: Mpi, program: Path, ranks: int, outcome: Outcome) -> str:
    sources = _sources.get(program, ())
    which = "transformed" if any(map(_is_transformed, sources)) else "not transformed"
    made = f", {which}, of {', '.join(map(str, sources))}" if sources else ""
    last = "\n".join(outcome.stderr.splitlines()[-_LAST:])
    return f"{program}{made}: exit code {outcome.code} on {ranks} ranks, {mpi}\n{last}".rstrip()


def _is_transformed(source: Path) -> bool:
    """Whether a source that is still there calls the runtime."""
    return source.is_file() and bool(used_runtime(source.read_bytes()))


def same_lines(mpi: Mpi, folder: Path, before: str, after: bytes | None, *ranks: int) -> list[str]:
    """The sorted lines that a program in free form prints, original and transformed, with the
    runtime, on each number of ranks (default: 3); they must be the same."""
    printed: list[list[list[str]]] = []
    for kind, content in (("before", before.encode()), ("after", after or b"")):
        place = folder / kind
        place.mkdir()
        (place / "main.f90").write_bytes(content)
        program = build(mpi, [*RUNTIME, place / "main.f90"], place, ["-O2", "-w"])
        outcomes = [run(mpi, program, number) for number in ranks or (3,)]
        for outcome in outcomes:
            assert outcome.code == 0, outcome.stderr
        printed.append([sorted(outcome.stdout.splitlines()) for outcome in outcomes])
    assert printed[0] == printed[1]
    return printed[0][-1]


def _finished(command: Sequence[str], folder: Path, timeout: float, threads: int = 1) -> Outcome:
    environment = {"OMP_NUM_THREADS": str(threads)}
    done = process.run(command, folder, timeout, settings=environment)
    stdout, stderr = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    if done.status is None:
        return Outcome(124, stdout, stderr + f"\nno end after {timeout:g} s")
    return Outcome(done.status, stdout, stderr)
