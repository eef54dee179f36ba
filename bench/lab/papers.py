"""The measurements of two papers, on clusters like theirs.

Danalis et al., Automatic MPI application transformation with ASPHALT (2007), figures 4 to 7: the
slowdown by communication against the tile size, on 16, 24 and 48 ranks.  Evaluation of the overlap
transformation, figures 4.1 to 4.3: times against K at several D, and the best of each version.

The papers give the shape of the data and the number of ranks.  An array of x times y times z points
is divided into x/ranks planes for each rank, and each plane is distributed over all ranks.
Computation takes as long as the exchange alone at the bandwidth of the link; for the comparison of
all D, four fifths of it, since with enough computation even one tile in flight is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median

from asphalt.machine.platforms import MYRINET_2007, RDMA_ETHERNET_2007, Network
from asphalt.running.mpi import SMPI, Mpi
from bench.lab.build import Recipe, build
from bench.lab.case import KERNELS, WIDELY_SHARED, Case, Tiling, load_case
from bench.lab.jobs import AT_ONCE, advancing
from bench.lab.link import LinkLab
from bench.lab.measure import Simulator
from bench.lab.platforms import of_network
from bench.lab.rows import NOT_TILED, Row
from bench.lab.run import LabError, run_program, same_output

PAPERS = "papers/"
"""The prefix of the kernel in rows of the papers' figures."""
NOISE = 50  # thousandths by which a plane may take longer
REPEATS = 3
MANY_MESSAGES = 12_000  # from here on a run is not repeated
LINK_REPEATS = 5
LINK_TILES = (1, 2, 4, 8, 16, 32, 64)
LINK_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure: a kernel on a network, the transformed version with each K and D.

    ``noisy``: computation is randomly longer, and runs are repeated.  ``message``: the bytes that a
    tile of one iteration sends to each rank.
    """

    name: str
    title: str
    case: Case
    network: Network
    ranks: int
    sizes: Mapping[str, int]
    planes: int
    message: int
    tilings: tuple[Tiling, ...]
    versions: tuple[str, ...] = ("transformed",)
    noisy: bool = False
    share: float = 1.0

    @property
    def charge(self) -> int:
        """Thousands of operations of a plane: ``share`` of the time of its messages."""
        exchange = self.message * (self.ranks - 1) / self.network.bandwidth
        return round(1e6 * self.share * exchange)

    @property
    def computation(self) -> float:
        """The seconds of all planes without communication and without noise."""
        return 1e-6 * self.charge * self.planes

    def recipe(self, version: str, tiling: Tiling | None, seed: int = 0) -> Recipe:
        """The recipe of a version; ``seed``: of the noise."""
        charge = {"charge": self.charge}
        if self.noisy:
            charge |= {"noise": NOISE, "seed": seed}
        shared = self.ranks > WIDELY_SHARED
        return Recipe(self.case, version, SMPI, self.sizes, charge, tiling, ("-O2",), shared)

    def messages(self, tiling: Tiling | None) -> int:
        """The number of messages of all ranks in a run."""
        tiles = 1 if tiling is None else -(-self.planes // max(1, tiling[0]))
        return tiles * self.ranks * (self.ranks - 1)


@dataclass(frozen=True, slots=True)
class Timed:
    """All times in seconds of each version with each K and D; None: without K and D."""

    panel: Panel
    seconds: Mapping[tuple[str, Tiling | None], tuple[float, ...]]

    def of(self, version: str, tiling: Tiling | None = None) -> tuple[float, ...]:
        """The times of one version."""
        return self.seconds[version, tiling]

    def curve(self, version: str, depth: int) -> dict[int, tuple[float, ...]]:
        """The times over K."""
        return {
            tiling[0]: times
            for (name, tiling), times in self.seconds.items()
            if name == version and tiling is not None and tiling[1] == depth
        }

    def best(self, version: str) -> tuple[Tiling | None, float]:
        """The K and D with which a version is fastest, and its median time."""
        times = {t: median(values) for (name, t), values in self.seconds.items() if name == version}
        return min(times.items(), key=lambda item: item[1])

    def rows(self) -> Iterator[Row]:
        """One row for each version, K and D: the median of its times."""
        original = median(self.of("original"))
        for (version, tiling), times in self.seconds.items():
            value = median(times)
            tile, depth = (None, None) if tiling is None else tiling
            place = (f"{PAPERS}{self.panel.name}", version, f"SMPI {self.panel.network.name}")
            yield Row(*place, self.panel.ranks, tile, depth, value, value / original, None)


def _divisors(count: int, most: int) -> tuple[int, ...]:
    return tuple(k for k in range(1, min(count, most) + 1) if count % k == 0)


def slowdown_panels() -> tuple[Panel, ...]:
    """Figures 4 to 7 of the paper of 2007."""
    fig3 = load_case(KERNELS / "synthetic_fig3")
    found = []
    for number, ranks, network, (x, y, z) in (
        (4, 16, RDMA_ETHERNET_2007, (1440, 1440, 48)),
        (5, 24, RDMA_ETHERNET_2007, (1440, 1440, 48)),
        (6, 24, RDMA_ETHERNET_2007, (2880, 1440, 96)),
        (7, 48, MYRINET_2007, (1440, 1440, 48)),
    ):
        planes, points = x // ranks, y * z // ranks
        sizes = {"n": points, "na": 2, "nz": planes, "rounds": 1, "steps": 1}
        tilings = tuple((k, 2) for k in _divisors(planes, planes))
        title = f"{ranks} ranks, {network.title}, {x}x{y}x{z}"
        found.append(
            Panel(
                f"001-figure-{number}",
                title,
                fig3,
                network,
                ranks,
                sizes,
                planes,
                8 * points,
                tilings,
                noisy=True,
            )
        )
    return tuple(found)


def sweep_panels() -> tuple[Panel, ...]:
    """Figures 4.1 and 4.2 of the thesis, and all D on 4 ranks."""
    spectral = load_case(KERNELS / "spectral_transpose")
    versions = ("hand", "ialltoall", "transformed")
    found = []
    for name, ranks, edge, depths in (
        ("003-figure-4.1", 4, 512, (1,)),
        ("003-figure-4.2", 2, 1024, (2,)),
        ("003-depths", 4, 512, (1, 2, 4, 8)),
        ("003-depths-16", 16, 512, (1, 2, 4)),
    ):
        planes = edge // ranks
        sizes = {"nx": edge, "ny": 4, "nzl": planes, "after": 0, "steps": 1}
        tiles = [k for k in (1, 2, 4, 8, 16, 32, 64, 128) if k <= planes]
        found.append(
            Panel(
                name,
                f"{ranks} ranks, {MYRINET_2007.title}, 4x{edge}x{edge} complex",
                spectral,
                MYRINET_2007,
                ranks,
                sizes,
                planes,
                16 * 4 * edge // ranks,
                tuple((k, d) for d in depths for k in tiles),
                versions,
                noisy=True,
                share=0.8 if len(depths) > 1 else 1.0,
            )
        )
    return tuple(found)


def measure_panels(panels: Sequence[Panel], advance: Callable[[], None]) -> tuple[Timed, ...]:
    """Measure all runs of all figures, two at once; raises LabError."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pending = {
            (panel.name, version, tiling, seed): pool.submit(
                advancing(partial(_seconds, panel, version, tiling, seed), advance)
            )
            for panel in sorted(panels, key=lambda p: -p.ranks)
            for version, tiling, seed in runs_of(panel)
        }
        try:
            found = []
            for panel in panels:
                times: dict[tuple[str, Tiling | None], tuple[float, ...]] = {}
                for version, tiling, seed in runs_of(panel):
                    seconds = pending[panel.name, version, tiling, seed].result()
                    times[version, tiling] = (*times.get((version, tiling), ()), seconds)
                found.append(Timed(panel, times))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return tuple(found)


def runs_of(panel: Panel) -> tuple[tuple[str, Tiling | None, int], ...]:
    """Version, K and D, and number of the repeat of every run of a figure."""
    wanted: list[tuple[str, Tiling | None]] = [("original", None)]
    for version in panel.versions:
        if version in NOT_TILED:
            wanted.append((version, None))
        else:
            wanted += [(version, tiling) for tiling in panel.tilings]
    return tuple(
        (version, tiling, seed)
        for version, tiling in wanted
        for seed in range(REPEATS if panel.noisy and panel.messages(tiling) < MANY_MESSAGES else 1)
    )


def _seconds(panel: Panel, version: str, tiling: Tiling | None, seed: int) -> float:
    simulator = Simulator(of_network(panel.network))
    return simulator.time(panel.recipe(version, tiling, seed), panel.ranks).seconds


@dataclass(frozen=True, slots=True)
class LinkSweep:
    """Times in seconds over K on two real ranks; ``alone``: the original with shared memory."""

    title: str
    original: tuple[float, ...]
    alone: tuple[float, ...]
    transformed: Mapping[int, tuple[float, ...]]
    depth: int = LINK_DEPTH

    def rows(self, kernel: str) -> Iterator[Row]:
        """The medians."""
        whole = median(self.original)
        name = f"{PAPERS}003-link/{kernel}"
        yield Row(name, "original", self.title, 2, None, None, whole, 1.0, None)
        for tile, times in self.transformed.items():
            value = median(times)
            place = (name, "transformed", self.title, 2, tile, self.depth)
            yield Row(*place, value, value / whole, None)


def measure_link_sweep(
    lab: LinkLab, case: Case, mpi: Mpi, advance: Callable[[], None]
) -> LinkSweep:
    """Interleaved runs at every K; raises LabError where results differ."""
    if case.link is None:
        raise LabError(f"{case.name}: case.toml has no [link]")
    sizes = case.link.sizes
    original = build(Recipe(case, "original", mpi, sizes))
    programs = {
        tile: build(Recipe(case, "transformed", mpi, sizes, tiling=(tile, LINK_DEPTH)))
        for tile in LINK_TILES
    }
    whole, alone = [], []
    times: dict[int, list[float]] = {tile: [] for tile in LINK_TILES}
    for _ in range(LINK_REPEATS):
        reference = run_program(lab.command(original, mpi), original.parent, 60.0, True)
        whole.append(reference.seconds)
        alone.append(run_program(mpi.command(2, original), original.parent, 120.0).seconds)
        for tile, program in programs.items():
            run = run_program(lab.command(program, mpi), program.parent, 60.0, True)
            where = f"transformed at K = {tile} ({mpi.title})"
            same_output(reference, run, f"{case.name}: {where}")
            times[tile].append(run.seconds)
            advance()
    kept = {tile: tuple(values) for tile, values in times.items()}
    return LinkSweep(lab.title(mpi), tuple(whole), tuple(alone), kept)
