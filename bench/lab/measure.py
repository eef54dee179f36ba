"""Times of the versions of a kernel, and what they say about overlap."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from asphalt.running import simgrid
from asphalt.running.mpi import OPENMPI, SMPI, Mpi
from asphalt.running.simgrid import Cluster
from bench.lab.build import BUILD, Recipe, build
from bench.lab.case import Case, Simulated
from bench.lab.link import LinkLab
from bench.lab.run import LabError, Run, run_program

Tiling = tuple[int, int]
SIMULATED = "SMPI 10 Gb/s"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the time of the original is made of, in seconds.

    ``before`` is the computation before the exchange, which prepushing may hide behind
    ``communication``, or the other way round; ``after`` the computation after it, which it may not.
    """

    original: float
    before: float
    communication: float
    after: float

    @property
    def floor(self) -> float:
        """The shortest time that hiding can reach."""
        return max(self.before, self.communication) + self.after

    def efficiency(self, seconds: float) -> float:
        """The part of what could be hidden that is hidden in a run of ``seconds``."""
        return (self.original - seconds) / (self.original - self.floor)


@dataclass(frozen=True, slots=True)
class Measured:
    """One row: the times of the versions of a kernel on one platform, in seconds."""

    kernel: str
    variant: str
    platform: str
    ranks: int
    tiling: Tiling
    parts: Parts | None
    seconds: Mapping[str, float]

    @property
    def title(self) -> str:
        """The kernel and, where it has several, the variant."""
        return f"{self.kernel} ({self.variant})" if self.variant else self.kernel

    def ratio(self, version: str) -> float:
        """How many times faster than the original."""
        return self.seconds["original"] / self.seconds[version]

    def efficiency(self, version: str) -> float | None:
        """Overlap efficiency, where the parts of the original's time are known."""
        return None if self.parts is None else self.parts.efficiency(self.seconds[version])


@dataclass(frozen=True, slots=True)
class Simulator:
    """Runs programs on one simulated cluster."""

    cluster: Cluster = field(default_factory=Cluster)
    timeout: float = 300.0

    def run(self, program: Path, ranks: int) -> Run:
        """One run; its time is the same in every repeat, so that it is kept beside the program."""
        key = hashlib.sha256(repr((self.cluster, ranks)).encode()).hexdigest()[:16]
        kept = program.parent / f"run-{key}.json"
        if kept.exists():
            data = json.loads(kept.read_text(encoding="utf-8"))
            return Run(data["output"].encode("latin-1"), data["seconds"])
        run = self._run(program, ranks)
        data = {"output": run.output.decode("latin-1"), "seconds": run.seconds}
        kept.write_text(json.dumps(data), encoding="utf-8")
        return run

    def _run(self, program: Path, ranks: int) -> Run:
        platform = BUILD / "cluster.xml"
        text = self.cluster.xml()
        if not platform.exists() or platform.read_text(encoding="utf-8") != text:
            platform.parent.mkdir(parents=True, exist_ok=True)
            platform.write_text(text, encoding="utf-8")
        command = simgrid.command(ranks, program, platform, self.cluster.costs)
        return run_program(command, program.parent, self.timeout)

    def recipe(self, case: Case, what: Simulated, version: str, tiling: Tiling | None) -> Recipe:
        """How a version is built for this measurement."""
        return Recipe(case, version, SMPI, what.sizes, what.charge, tiling, ("-O2",))

    def version(self, case: Case, what: Simulated, version: str, tiling: Tiling | None) -> Run:
        """One version of a kernel at one K and D."""
        return self.run(build(self.recipe(case, what, version, tiling)), what.ranks)

    def parts(self, case: Case, what: Simulated) -> tuple[Parts, Run]:
        """The original's time taken apart, by charging less; and its run with all charges."""
        recipe = self.recipe(case, what, "original", None)
        whole = self.run(build(recipe), what.ranks)
        nothing = dict.fromkeys(what.charge, 0)
        bare = self.run(build(replace(recipe, charge=nothing)), what.ranks).seconds
        after = 0.0
        if "charge_after" in what.charge:
            later = nothing | {"charge_after": what.charge["charge_after"]}
            after = self.run(build(replace(recipe, charge=later)), what.ranks).seconds - bare
        return Parts(whole.seconds, whole.seconds - bare - after, bare, after), whole

    def measure(
        self, case: Case, what: Simulated, versions: Iterable[str], tiling: Tiling
    ) -> Measured:
        """All versions at one K and D; raises LabError where their results differ."""
        parts, whole = self.parts(case, what)
        seconds = {"original": whole.seconds}
        for version in versions:
            run = self.version(case, what, version, tiling)
            if run.output != whole.output:
                raise LabError(f"{case.name}: {version} differs from the original (SMPI)")
            seconds[version] = run.seconds
        return Measured(case.name, what.variant, SIMULATED, what.ranks, tiling, parts, seconds)


def run_real(recipe: Recipe, ranks: int, timeout: float = 120.0) -> Run:
    """One run of a recipe on this machine."""
    program = build(recipe)
    return run_program(recipe.mpi.command(ranks, program), program.parent, timeout)


def run_smpi(recipe: Recipe, ranks: int) -> Run:
    """One run of a recipe on the simulated cluster, for its results."""
    return Simulator().run(build(recipe), ranks)


def runner(mpi: Mpi) -> Callable[[Recipe, int], Run]:
    """How a recipe is run for its results under an MPI."""
    return run_smpi if mpi is SMPI else run_real


def measure_link(
    lab: LinkLab, case: Case, versions: Iterable[str], tiling: Tiling, repeats: int
) -> Measured:
    """Medians of interleaved runs on two ranks; raises LabError where results differ.

    What the original computes is measured by running it with shared memory, where its exchange
    is no more than a copy; the rest of its time over the link is communication.
    """
    if case.link is None:
        raise LabError(f"{case.name}: case.toml has no [link]")
    names = ("original", *versions)
    programs = {
        name: build(
            Recipe(
                case,
                name,
                OPENMPI,
                case.link.sizes,
                tiling=None if name == "original" else tiling,
            )
        )
        for name in names
    }
    times: dict[str, list[float]] = {name: [] for name in (*names, "alone")}
    outputs: dict[str, bytes] = {}
    for _ in range(repeats):
        for name in names:
            run = run_program(lab.command(programs[name]), programs[name].parent, 120.0)
            times[name].append(run.seconds)
            if outputs.setdefault("original", run.output) != run.output:
                raise LabError(f"{case.name}: {name} differs from the original (link)")
        alone = programs["original"]
        times["alone"].append(run_program(OPENMPI.command(2, alone), alone.parent, 120.0).seconds)
    medians = {name: median(values) for name, values in times.items()}
    computation = medians.pop("alone")
    whole = medians["original"]
    parts = None
    if lab.agent is not None and 0 < computation < whole:
        parts = Parts(whole, computation, whole - computation, 0.0)
    return Measured(case.name, "", lab.title, 2, tiling, parts, medians)
