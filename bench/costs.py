"""Checks the cost model: the processor time of each kernel on one rank, and its simulated time.

The charged version runs on a host whose communication is free:

    python -m bench.costs [--calibrate [--name NAME]] [--repeats N]

writes costs.md and costs.json in ``bench/results/costs``.  With --calibrate, it first measures this
machine and writes machine.toml; otherwise it uses asphalt's own machine file.  Both programs do the
same work and must print the same.
"""

from __future__ import annotations

import json
import shlex
import shutil
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from asphalt.config.settings import Settings
from asphalt.machine.machine import Machine, load_machine
from asphalt.machine.machine_file import machine_text
from asphalt.running.mpi import OPENMPI, SMPI
from asphalt.simulation.calibration import calibrate
from asphalt.simulation.charged import charge_tree
from bench.lab.build import ROOT, Recipe, compile_program, sources_of
from bench.lab.case import KERNELS, load_case
from bench.lab.platforms import FREE
from bench.lab.run import LabError, run_program

BUILD = ROOT / "build" / "costs"
RESULTS = ROOT / "bench" / "results" / "costs"
WITHIN = 0.25
_TIMEOUT = 120.0
_CALIBRATIONS = 200  # a quiet moment is needed as much as for the kernels
SIZES: Mapping[str, Mapping[str, int]] = {
    "fft_inplace": {"nx": 128, "ny": 128, "nzl": 96, "after": 1, "steps": 1},
    "fixed_legacy": {"n": 5000, "nz": 200, "maxnp": 1, "rounds": 30, "nsteps": 1},
    "halo_2d": {"nx": 500, "ny": 500, "steps": 60},
    "lu_precondition": {"nx": 60, "ny": 60, "nz": 40, "nsteps": 20},
    "lu_wavefront": {"nx": 60, "ny": 60, "nz": 20, "nsteps": 10},
    "multigrid_smooth": {"n1": 64, "n2": 64, "n3": 64, "steps": 40},
    "ocean_gather": {"itdm": 300, "jtdm": 200, "nfld": 3, "nsteps": 40},
    "ocean_sum": {"itdm": 300, "jtdm": 200, "nfld": 3, "nsteps": 40},
    "plane_slab": {"nx": 100, "ny": 100, "nz": 100, "modes": 200, "steps": 1},
    "pme_exchange": {"nx": 64, "ny": 64, "nz": 64, "steps": 6},
    "sample_sort": {"n": 300000, "steps": 4},
    "spectral_transpose": {"nx": 128, "ny": 128, "nzl": 96, "after": 1, "steps": 1},
    "synthetic_fig3": {"n": 8000, "na": 2000, "nz": 300, "rounds": 2, "steps": 1},
    "uneven_slabs": {"nx": 128, "ny": 128, "nz": 200, "steps": 2},
}
"""Sizes at which a kernel computes for 50 to 500 ms."""
_CLOCK = """\
! Processor time instead of the time of day: other work on the machine does not count.
double precision function mpi_wtime()
  implicit none
  call cpu_time(mpi_wtime)
end function mpi_wtime
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel: median and minimum of its processor time, and its simulated time, in seconds.

    The simulated time is compared with the minimum.  Calibration takes the minimum, too, since
    other work on a machine makes processor time longer, never shorter.
    """

    kernel: str
    measured: float
    least: float
    simulated: float

    @property
    def ratio(self) -> float:
        """Simulated to least measured time."""
        return self.simulated / self.least


class Pair:
    """A kernel built twice: for this machine, and charged for the simulated one.

    ``clock``: a source with the function that returns the time of this machine.
    """

    def __init__(self, name: str, machine: Machine, clock: str = _CLOCK) -> None:
        self.name = name
        case = load_case(KERNELS / name)
        recipe = Recipe(case, "original", OPENMPI, SIZES[name], flags=machine.flags)
        folder = BUILD / name
        shutil.rmtree(folder, ignore_errors=True)
        self.source, self.charged = folder / "source", folder / "charged"
        self.source.mkdir(parents=True)
        files = sources_of(recipe)
        for file, content in files.items():
            (self.source / file).write_bytes(content)
        made = charge_tree(
            self.source,
            self.charged,
            machine,
            Settings(cache=False, jobs=1, include_dirs=(str(self.source),)),
        )
        (self.source / "clock.f90").write_text(clock, encoding="ascii")
        flags = (*machine.flags, *case.flags)
        self.real = self.source / "program"
        compile_program(OPENMPI, (*files, "clock.f90"), flags, self.source, self.real)
        self.simulated = self.charged / "program"
        compile_program(SMPI, (*files, made.runtime.name), flags, self.charged, self.simulated)
        self.times: list[float] = []
        self.output = b""

    def measure(self) -> None:
        """Run once more on this machine."""
        done = run_program(OPENMPI.command(1, self.real), self.source, _TIMEOUT)
        self.times.append(done.seconds)
        self.output = done.output

    def row(self) -> Row:
        """The measured and the simulated time."""
        done = run_program(FREE.command(1, self.simulated, {}), self.charged, _TIMEOUT)
        if done.output != self.output:
            raise LabError(f"{self.name}: the charged program prints something else")
        return Row(self.name, statistics.median(self.times), min(self.times), done.seconds)


def rows(machine: Machine, repeats: int) -> list[Row]:
    """All kernels; their runs are interleaved, so that a busy minute spoils none."""
    pairs = [Pair(name, machine) for name in SIZES]
    for _ in range(repeats):
        for pair in pairs:
            pair.measure()
    return [pair.row() for pair in pairs]


def table(machine: Machine, found: list[Row], repeats: int) -> str:
    """The page with the results."""
    inside = sum(abs(row.ratio - 1) <= WITHIN for row in found)
    lines = [
        "# Simulated and measured time of one rank",
        "",
        f"Machine file: {machine.name} ({machine.compiler} {shlex.join(machine.flags)}).",
        f"Measured: processor time, the median of {repeats} runs that took turns, and the least.",
        f"{inside} of {len(found)} kernels are within {WITHIN:.0%} of the least.",
        "Written by `python -m bench.costs`.",
        "",
        "| kernel | median s | least s | simulated s | simulated/least | simulated/median |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.kernel} | {r.measured:.3f} | {r.least:.3f} | {r.simulated:.3f} | {r.ratio:.2f} "
        f"| {r.simulated / r.measured:.2f} |"
        for r in found
    ]
    return "\n".join(lines) + "\n"


@click.command()
@click.option("--calibrate", "measured", is_flag=True, help="Measure this machine first.")
@click.option("--flags", default="-O2", show_default=True, help="Compiler flags, with --calibrate.")
@click.option("--name", default="this machine", show_default=True, help="Its name, likewise.")
@click.option("--repeats", type=click.IntRange(min=1), default=11, show_default=True)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(measured: bool, flags: str, name: str, repeats: int, output: Path) -> None:
    """Compare simulated and measured times, print them and write them."""
    for mpi in (OPENMPI, SMPI):
        mpi.require()
    machine = load_machine()
    if measured:
        machine = calibrate("gfortran", shlex.split(flags), name, _CALIBRATIONS).machine
    found = rows(machine, repeats)
    text = table(machine, found, repeats)
    print(text)
    output.mkdir(parents=True, exist_ok=True)
    (output / "costs.md").write_text(text, encoding="utf-8")
    if measured:
        (output / "machine.toml").write_text(machine_text(machine), encoding="utf-8")
    data = [asdict(row) | {"ratio": round(row.ratio, 4)} for row in found]
    (output / "costs.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
