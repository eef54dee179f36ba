"""Measures the speed of asphalt itself, over the size of a tree and the number of sites."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.lab.case import KERNELS, ROOT
from bench.lab.run import LabError
from bench.lab.stages import STAGES
from bench.lab.transform import command

PLACE = ROOT / "build" / "speed"
SCHEMA = Path(__file__).with_name("speed.schema.json")
_EXCHANGES = ("--passes", "prepush")
FILE_BYTES = 8_000
LINES = 1000
FEW_SITES = 5
SOME_FILES = 100
FILES = (10, 100, 1000, 3000)
SITES = (1, 10, 40, 80)
MUCH = 1_000_000  # bytes of a tree that is measured only once
MANY_SITES = 10  # sites of a tree that is measured only once

_PLAIN = """!> Relaxes a field; no messages here.
subroutine relax_{number}(n, u, f, omega)
  implicit none
  integer, intent(in) :: n
  double precision, intent(inout) :: u(n, n)
  double precision, intent(in) :: f(n, n), omega
  integer :: i, j

  do j = 2, n - 1
    do i = 2, n - 1
      ! the new value leans on its four neighbours, two of them new
      u(i, j) = (1 - omega)*u(i, j) + 0.25d0*omega*(u(i - 1, j) + u(i + 1, j) + &
                u(i, j - 1) + u(i, j + 1) - f(i, j))
    end do
  end do
end subroutine relax_{number}

"""

_SITE = """!> Exchanges planes as soon as all of them are computed.
module planes_{number}
  implicit none
contains

  subroutine exchange_{number}(n, nz, np, me, comm, s, r)
    use mpi
    integer, intent(in) :: n, nz, np, me, comm
    double precision, intent(out) :: s(n, nz, np), r(n, nz, np)
    integer :: i, p, z, ierr

    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i, z, p) = sin(dble(i*z)) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  end subroutine exchange_{number}

end module planes_{number}

"""


_DRIVER = """program driver
  use mpi
{uses}  implicit none
  double precision, allocatable :: s(:,:,:), r(:,:,:)
  integer :: np, me, ierr

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(s(100, 8, np), r(100, 8, np))
{calls}  call MPI_Finalize(ierr)
end program driver
"""


@dataclass(frozen=True, slots=True)
class Speed:
    """One measured time of asphalt itself.

    ``what``: a command on a whole tree (wall time) or a stage of it (processor time of one
    process); ``size``: in bytes; ``peak_mb``: the peak memory of its largest process, None for a
    stage.
    """

    what: str
    series: str
    files: int
    sites: int
    size: int
    seconds: float
    peak_mb: float | None

    @property
    def mb_s(self) -> float:
        """Megabytes of source per second."""
        return self.size / 1e6 / self.seconds if self.seconds > 0 else 0.0


def as_json(rows: Sequence[Speed]) -> str:
    """The text of a file of speeds: a line for each row."""
    lines = [json.dumps(asdict(row) | {"mb_per_s": row.mb_s}) for row in rows]
    return "[\n" + ",\n".join(f" {line}" for line in lines) + "\n]\n"


def from_json(text: str) -> list[Speed]:
    """The rows of a file of speeds; raises ValueError for any other text."""
    fields = set(Speed.__slots__)
    try:
        return [Speed(**{k: v for k, v in row.items() if k in fields}) for row in json.loads(text)]
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not a file of speeds: {error}") from None


def schema() -> dict[str, Any]:
    """The JSON schema of a file of speeds."""
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return loaded


def measure_speed(quick: bool = False) -> Iterator[Speed]:
    """All speeds, one after the other; raises LabError if asphalt fails."""
    repeats = 1 if quick else 3
    place = PLACE / "long"
    shutil.rmtree(place, ignore_errors=True)
    size = len(write_long_file(place).read_bytes())
    with compiled(place) as environment:
        trees = [("one file of 1,000 lines", place, (1, 1, size), repeats)]
        for files in (10, 100) if quick else FILES:
            sites = min(FEW_SITES, files)
            tree, size = write_tree(files, sites)
            often = 1 if files * FILE_BYTES > MUCH else repeats
            trees.append(("files", tree, (files, sites, size), often))
        for sites in (1, 10) if quick else SITES:
            tree, size = write_tree(SOME_FILES, sites)
            often = 1 if sites > MANY_SITES else repeats
            trees.append(("sites", tree, (SOME_FILES, sites, size), often))
        for series, tree, what, often in trees:
            yield from _whole_tree(series, tree, what, often, environment)
            yield from _stages(series, tree, what, often, environment)


@contextmanager
def compiled(tree: Path) -> Iterator[Mapping[str, str]]:
    """An environment with a cache of Python's compiled files, after a first run on ``tree``.

    A user's asphalt is compiled once, when it is installed or first used.
    """
    with tempfile.TemporaryDirectory(prefix="asphalt-compiled-") as folder:
        environment = dict(os.environ) | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        first = environment | {"XDG_CACHE_HOME": f"{folder}/cache"}
        for name in ("scan", "apply"):
            out = ["--output", f"{folder}/out"] if name == "apply" else []
            _timed([*command(), name, str(tree), *_EXCHANGES, *out], first)
        _called([sys.executable, "-m", "bench.lab.stages", str(tree)], first)
        yield environment


def _whole_tree(
    series: str,
    tree: Path,
    what: tuple[int, int, int],
    repeats: int,
    surroundings: Mapping[str, str],
) -> Iterator[Speed]:
    """Scan and apply, with an empty cache and again with a filled one."""
    files, sites, size = what
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="asphalt-speed-") as folder:
        for number in range(repeats):
            for name in ("scan", "apply"):
                environment = {**surroundings, "XDG_CACHE_HOME": f"{folder}/{name}{number}"}
                for state in ("cold", "warm"):
                    out = Path(folder) / "out"
                    shutil.rmtree(out, ignore_errors=True)
                    report = Path(folder) / "report.json"
                    options = ["--output", str(out), "--root", str(tree), "--report", str(report)]
                    arguments = [
                        name,
                        str(tree),
                        *_EXCHANGES,
                        *(options if name == "apply" else []),
                    ]
                    measured = _timed([*command(), *arguments], environment)
                    found.setdefault(f"{name}, {state}", []).append(measured)
                    if name == "apply":
                        _all_applied(report, sites)
    for name, times in found.items():
        seconds = median(wall for wall, _ in times)
        yield Speed(name, series, files, sites, size, seconds, max(peak for _, peak in times))


def _all_applied(report: Path, sites: int) -> None:
    verdicts = [site["verdict"] for site in json.loads(report.read_text("utf-8"))["sites"]]
    if verdicts != ["applied"] * sites:
        said = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
        raise LabError(f"asphalt apply: {sites} sites to transform, but {said}")


def _stages(
    series: str,
    tree: Path,
    what: tuple[int, int, int],
    repeats: int,
    environment: Mapping[str, str],
) -> Iterator[Speed]:
    files, sites, size = what
    found: list[Mapping[str, float]] = []
    for _ in range(repeats):
        done = _called([sys.executable, "-m", "bench.lab.stages", str(tree)], environment)
        found.append(json.loads(done))
    for stage in STAGES:
        seconds = median(times[stage] for times in found)
        yield Speed(stage, series, files, sites, size, seconds, None)


def write_tree(files: int, sites: int) -> tuple[Path, int]:
    """A new tree of ``files`` files, ``sites`` of them with an exchange; and its bytes."""
    tree = PLACE / f"{files}-{sites}"
    shutil.rmtree(tree, ignore_errors=True)
    size = write_plain_tree(tree, files - sites - 1, FILE_BYTES)
    filling = "".join(_PLAIN.format(number=f"s_{i:06d}") for i in range(FILE_BYTES // len(_PLAIN)))
    for number in range(sites):
        text = _SITE.format(number=f"{number:04d}") + filling.replace("relax_s", f"rest_{number}")
        (tree / f"planes_{number:04d}.f90").write_text(text, encoding="utf-8")
        size += len(text)
    driver = _driver(sites)
    (tree / "driver.f90").write_text(driver, encoding="utf-8")
    return tree, size + len(driver)


def _driver(sites: int) -> str:
    """A program that calls every exchange on all ranks, so that each is proved."""
    numbers = [f"{number:04d}" for number in range(sites)]
    uses = "".join(f"  use planes_{n}, only: exchange_{n}\n" for n in numbers)
    calls = "".join(f"  call exchange_{n}(100, 8, np, me, MPI_COMM_WORLD, s, r)\n" for n in numbers)
    return _DRIVER.format(uses=uses, calls=calls)


def write_plain_tree(directory: Path, files: int, size: int = FILE_BYTES) -> int:
    """Write files of about ``size`` bytes without MPI; returns their total size."""
    directory.mkdir(parents=True, exist_ok=True)
    total = 0
    for number in range(files):
        routine = _PLAIN.format(number=f"{number:04d}_000000")
        copies = max(1, size // len(routine))
        text = "".join(_PLAIN.format(number=f"{number:04d}_{i:06d}") for i in range(copies))
        (directory / f"relax_{number:04d}.f90").write_text(text, encoding="utf-8")
        total += len(text)
    return total


def write_long_file(directory: Path) -> Path:
    """A file of 1,000 lines with one exchange, with the files that it uses."""
    directory.mkdir(parents=True, exist_ok=True)
    kernel = KERNELS / "synthetic_fig3"
    program = (kernel / "original.f90").read_text(encoding="utf-8")
    sizes = (kernel / "sizes.inc").read_text(encoding="utf-8")
    (directory / "sizes.inc").write_text(sizes, encoding="utf-8")
    work = (kernel / "work.f90").read_text(encoding="utf-8")
    text = work + "\n" + program
    number = 0
    while text.count("\n") < LINES:
        text += "\n" + _PLAIN.format(number=f"0_{number:06d}")
        number += 1
    path = directory / "long.f90"
    path.write_text("".join(text.splitlines(keepends=True)[:LINES]), encoding="utf-8")
    _complete(path)
    return path


def _complete(path: Path) -> None:
    """Cut the file after its last complete procedure, and pad it with blank lines."""
    text = path.read_text(encoding="utf-8")
    end = text.rfind("end subroutine")
    kept = text[: text.index("\n", end) + 1]
    path.write_text(kept + "\n" * (LINES - kept.count("\n")), encoding="utf-8")


def _timed(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Wall time in seconds and peak memory in MB of a command."""
    with tempfile.TemporaryFile() as messages:
        began = time.perf_counter()
        process = subprocess.Popen(
            arguments, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=messages
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            messages.seek(0)
            said = messages.read()[-2000:].decode(errors="replace")
            raise LabError(f"{' '.join(arguments)}: exit code {process.returncode}\n{said}")
    return seconds, usage.ru_maxrss / 1024


def _called(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        arguments, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LabError(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout
