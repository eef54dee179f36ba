"""How fast asphalt itself is: scanning files without MPI, and transforming one file, cold."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.lab.case import KERNELS, ROOT
from bench.lab.run import LabError
from bench.lab.transform import command

PLACE = ROOT / "build" / "speed"
FILES = 800
FILE_BYTES = 250_000
LINES = 1000

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


@dataclass(frozen=True, slots=True)
class Speed:
    """``scan_mb_s``: megabytes a second of the whole command, and ``scan_net_mb_s`` without the
    time that it takes on a nearly empty tree.  ``apply_seconds``: one file of 1,000 lines, cold."""

    scan_bytes: int
    scan_seconds: float
    start_seconds: float
    apply_seconds: float

    @property
    def scan_mb_s(self) -> float:
        return self.scan_bytes / 1e6 / self.scan_seconds

    @property
    def scan_net_mb_s(self) -> float:
        return self.scan_bytes / 1e6 / max(1e-9, self.scan_seconds - self.start_seconds)


def measure_speed(repeats: int = 5) -> Speed:
    """Medians of `repeats` runs; raises LabError where asphalt fails."""
    plain, small = PLACE / "plain", PLACE / "small"
    size = write_plain_tree(plain, FILES)
    write_plain_tree(small, 1, 2000)
    long_file = write_long_file(PLACE / "long")
    scan = median(_time([*command(), "scan", "--no-cache", str(plain)]) for _ in range(repeats))
    start = median(_time([*command(), "scan", "--no-cache", str(small)]) for _ in range(repeats))
    out = PLACE / "out"
    apply_times = []
    for _ in range(repeats):
        shutil.rmtree(out, ignore_errors=True)
        options = ["--no-cache", "--output", str(out)]
        apply_times.append(_time([*command(), "apply", str(long_file), *options]))
    return Speed(size, scan, start, median(apply_times))


def write_plain_tree(directory: Path, files: int, size: int = FILE_BYTES) -> int:
    """Files of about ``size`` bytes without MPI; the bytes in all."""
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
    """A file of 1,000 lines with one exchange, and the files that it uses beside it."""
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
    """Cuts the file after its last whole procedure, and fills it up with blank lines."""
    text = path.read_text(encoding="utf-8")
    end = text.rfind("end subroutine")
    kept = text[: text.index("\n", end) + 1]
    path.write_text(kept + "\n" * (LINES - kept.count("\n")), encoding="utf-8")


def _time(arguments: list[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise LabError(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return seconds
