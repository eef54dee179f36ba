"""Fuzzing of the passes for transfers between two ranks: ``python -m fuzz.transfers``."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random

import click

from asphalt.config.limits import HEADER
from asphalt.config.passes import PASSES, TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.workers import shared_workers
from asphalt.project import Project
from asphalt.running.mpi import MPICH, MPIS, OPENMPI, SMPI, Mpi
from asphalt.running.process import run
from asphalt.unparse.params import HeaderEntry, merge_header
from fuzz import (
    alltoalls,
    arrays,
    close,
    exchanges,
    fissions,
    gathers,
    halos,
    kernels,
    shifts,
    waves,
)
from fuzz.batch import _MAIN, SUPPORT, _checked, _common, _compiled, execute
from fuzz.codes import is_code_seen
from fuzz.typed_handles import typed

BATCH = 40
RANKS = (1, 2, 3, 4)
SEVERAL = RANKS[1:]
"""Where collective operations are started: SMPI's MPI_Ibcast does not survive one rank, nor does
MPI_WAITANY for a receive from nobody."""
KINDS = {
    "alltoalls": alltoalls.procedure,
    "arrays": arrays.procedure,
    "close": close.procedure,
    "exchanges": exchanges.procedure,
    "fields": gathers.fields,
    "fissions": fissions.procedure,
    "gathers": gathers.procedure,
    "halos": halos.procedure,
    "kernels": kernels.procedure,
    "shifts": shifts.procedure,
    "waves": waves.procedure,
}
TILINGS = ((0, 4), (1, 1), (1, 3), (2, 1), (3, 2), (100, 1))
"""K and D of nests in tiles, one pair for each procedure in turn."""


@dataclass
class Count:
    """What a number of procedures came to; ``typed``: those transformed that use ``mpi_f08``."""

    programs: int = 0
    transformed: int = 0
    typed: int = 0
    transfers: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def __iadd__(self, other: Count) -> Count:
        self.programs += other.programs
        self.transformed += other.transformed
        self.typed += other.typed
        self.transfers += other.transfers
        self.steps += other.steps
        self.failures += other.failures
        return self


@dataclass(frozen=True)
class Made:
    """What came of one procedure: its text, how many transfers changed, by which steps."""

    text: str
    changed: bool
    transfers: int
    parameters: tuple[HeaderEntry, ...]
    steps: frozenset[str]


def batch(
    seed: int,
    first: int,
    count: int,
    mpi: Mpi,
    level: str,
    keep: Path,
    ranks: Sequence[int] = RANKS,
    kind: str = "exchanges",
) -> Count:
    """Transform, build and run some procedures, original and transformed, and compare.

    ``kind``: which generator makes them.
    """
    made = [_procedure(kind, seed, number, mpi) for number in range(first, first + count)]
    total = Count(programs=count)
    after: dict[str, str] = {}
    parameters: list[HeaderEntry] = []
    for number, (file, text) in enumerate(made, first):
        passes = PASSES if kind == "alltoalls" else TRANSFERS
        # messages are cut, and codes of errors known, only where all of the program is seen
        whole = kind in ("alltoalls", "close", "kernels", "shifts", "waves") or is_code_seen(text)
        one = made_of(file, text, TILINGS[number % len(TILINGS)], passes, whole=whole)
        after[file] = one.text
        total.transformed += one.changed
        total.typed += one.changed and "use mpi_f08" in text
        total.transfers += one.transfers
        parameters += one.parameters
        total.steps.update(" ".join(step.split()[:2]) for step in one.steps)
    header = merge_header(None, parameters)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        total.failures += compared(made, after, header, folder, mpi, level, keep / str(seed), ranks)
    return total


def made_of(
    file: str,
    text: str,
    tiling: tuple[int, int],
    passes: Sequence[str] = TRANSFERS,
    *,
    whole: bool = True,
) -> Made:
    """What comes of a procedure; ``whole``: all of the program is seen."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        path = Path(name) / file
        path.write_text(text)
        caller = path.parent / f"calls_{path.stem}.f90"  # so that it is seen who comes there
        # two statements on a line: it is not inlined there, where nothing would be run
        caller.write_text(_MAIN.format(calls=f"  ierr = 0; call {path.stem}\n"))
        settings = Settings(passes=tuple(passes), jobs=1, cache=False)
        seen = (path, caller, SUPPORT) if whole else (path, caller)
        everywhere = Project(*seen, settings=settings).transform(*tiling)
        changes = [change for change in everywhere if change.path == path]
        return Made(
            changes[0].after.decode() if changes else text,
            bool(changes),
            sum(len(change.sites) for change in changes),
            tuple(parameter for change in changes for parameter in change.parameters),
            frozenset(s for c in changes for site in c.sites for s in site.evidence),
        )


def _procedure(kind: str, seed: int, number: int, mpi: Mpi) -> tuple[str, str]:
    """The file and the text of a procedure; half of those for MPIs that have it use ``mpi_f08``."""
    file, text = KINDS[kind](seed, number)
    random = Random(f"{seed}/{number}/handles")
    if not mpi.simulated and random.random() < 0.5:
        text = typed(text, random) or text
    return file, text


def compared(
    made: list[tuple[str, str]],
    after: dict[str, str],
    header: str,
    folder: Path,
    mpi: Mpi,
    level: str,
    keep: Path,
    numbers: Sequence[int],
) -> list[str]:
    """What differs between procedures, by file, and what was made of them.

    What SMPI takes for a request that is never completed is one if another MPI fails, or if the
    watch of ``verify --race`` finds it there.

    Raises:
        BuildError: with the compiler's words; the folder has an ``after`` if that is to blame.
    """
    flags = (level, "-w", "-fcheck=bounds")
    programs: list[Path] = []
    for name, texts in (("before", dict(made)), ("after", after)):
        place = folder / name
        place.mkdir()
        (place / HEADER).write_text(header)
        tags = [Path(file).stem for file in texts]
        calls = "".join(f"  call fz_mark('{tag}')\n  call {tag}\n" for tag in tags)
        sources = {
            f"cases_{form}.{form}": "".join(t for f, t in texts.items() if f.endswith(f".{form}"))
            for form in ("f90", "f")
        }
        sources["main.f90"] = _MAIN.format(calls=calls)
        common = _common(mpi, flags, ())
        objects = _compiled(sources, place, mpi, [*flags, f"-I{common}"])
        objects += [str(path) for path in sorted(common.glob("*.o"))]
        _checked(run([mpi.free, *flags, *objects, "-o", "cases"], place, 300.0))
        programs.append(place / "cases")
    found: list[str] = []
    for ranks in numbers if mpi.simulated else [n for n in numbers if n > 1]:
        expected, result = (execute(program, ranks, mpi) for program in programs)
        if expected.failure:
            found.append(f"the generator: {expected.failure} after {set(expected.last)}")
            break
        tags = {Path(file).stem: file for file in after}
        bad = {tag for tag in tags if result.lines.get(tag) != expected.lines.get(tag)}
        if result.failure:
            bad |= set(result.last)
        if _leaked(result.leaks) > _leaked(expected.leaks):
            others = [] if MPICH.missing() else [ranks]
            apart = folder / f"watched_{ranks}"
            apart.mkdir()
            # behind blocking transfers with MPI_PROC_NULL, SMPI 3.32 counts a request too many
            if not others or compared(made, after, header, apart, MPICH, level, keep, others):
                found.append(f"{ranks} ranks, {mpi.name}: leaks {result.leaks}")
        races = [str(race) for race in result.races]
        if races and not expected.races:
            found.append(f"{ranks} ranks, {mpi.name}: {races[:2]}")
        for tag in sorted(bad):
            found.append(f"{ranks} ranks, {mpi.name}, {tag}: {result.failure or 'different'}")
            keep.mkdir(parents=True, exist_ok=True)
            (keep / tags[tag]).write_text(dict(made)[tags[tag]])
            (keep / f"after_{tags[tag]}").write_text(after[tags[tag]])
        if result.failure:
            break
    return found


def _leaked(said: str) -> int:
    """How many handles are left; SMPI itself leaves some of receives from MPI_PROC_NULL."""
    return sum(int(number) for number in re.findall(r"(\d+) leaked", said))


def _task(task: tuple[int, int, int, str, str, Path, str]) -> Count:
    seed, first, count, name, level, keep, kind = task
    mpi = next(m for m in MPIS if m.name == name)
    ranks = SEVERAL if kind in ("arrays", "close", "halos", "kernels", "shifts", "waves") else RANKS
    return batch(seed, first, count, mpi, level, keep, ranks, kind)


@click.command()
@click.option("--count", default=1000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--jobs", default=2, show_default=True)
@click.option("--real/--no-real", default=True, help="Every fifth batch on a real MPI.")
@click.option(
    "--mpi", "mpi_name", type=click.Choice([mpi.name for mpi in MPIS]), help="All on this one."
)
@click.option("--kind", type=click.Choice(list(KINDS)), default="exchanges", show_default=True)
@click.option("--output", default="build/fuzz/transfers", type=click.Path(path_type=Path))
def main(
    count: int, seed: int, jobs: int, real: bool, mpi_name: str | None, kind: str, output: Path
) -> None:
    """Try random procedures; exit code 1 if one fails, with its texts in the output folder."""
    shutil.rmtree(output / str(seed), ignore_errors=True)
    alone = [mpi for mpi in MPIS if mpi.name == mpi_name]
    for mpi in alone or (SMPI, *((MPICH, OPENMPI) if real else ())):
        mpi.require()
    tasks = []
    for number, first in enumerate(range(0, count, BATCH)):
        chosen = (MPICH, OPENMPI)[number // 5 % 2] if real and number % 5 == 4 else SMPI
        chosen = alone[0] if alone else chosen
        level = "-O2" if number % 3 == 2 else "-O0"
        tasks.append((seed, first, min(BATCH, count - first), chosen.name, level, output, kind))
    shared_workers(1).close()
    total = Count()
    with get_context("fork").Pool(jobs) as pool:
        for done in pool.imap_unordered(_task, tasks):
            total += done
            for failure in done.failures:
                print(failure, flush=True)
            print(f"{total.programs} of {count}, {total.transformed} transformed", flush=True)
    print(f"transformed with mpi_f08: {total.typed}")
    print(f"transfers: {total.transfers}, steps: {dict(total.steps.most_common(8))}")
    print(f"{total.programs} procedures, failures: {len(total.failures)}")
    sys.exit(1 if total.failures else 0)


if __name__ == "__main__":
    main()
