"""Measures whether the default loses: exchanges of all sizes, computation of all lengths.

Small programs, one for each shape of exchange (``bench/exchanges``), are simulated in original
and transformed versions (K = 0: chosen at run time).  One run goes through many cases, each on a
communicator of its own.  The computation of an iteration is charged to the simulated clock, as a
multiple of the time of the exchange on the same platform.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asphalt.running import simgrid
from asphalt.running.mpi import SMPI
from asphalt.running.process import run
from asphalt.running.simgrid import Cluster, MessageCosts
from bench.lab.build import BUILD, compile_program
from bench.lab.case import ROOT
from bench.lab.places import place_for
from bench.lab.platforms import SOLVED_WHOLE
from bench.lab.rows import Row
from bench.lab.run import LabError
from bench.lab.transform import set_tiling, transform

EXCHANGES = ROOT / "bench" / "exchanges"
WORD = 8  # bytes of an element
_END = b"\nend module exchange\n"  # of exchange.f90, behind the procedure of a shape
_LINE = re.compile(r"case\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S+)")

KIB, MIB = 1024, 1024**2
# What the runtime does: the entry at which ranks ask for the first time where they know nothing of
# each other; bytes of a block that may be tiled, of the first one, and of all blocks before that.
ASKED_FIRST = 48
LEAST = 64 * KIB, 512 * KIB, 2 * MIB
LEAST_BLIND = MIB, 4 * MIB, 4 * MIB
# What 16 ranks exchange at once is 16 times as much as what one sends to another.
SIZES = {
    4: (8, 64, 512, 4 * KIB, 32 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, MIB, 8 * MIB),
    16: (8, 512, 4 * KIB, 32 * KIB, 128 * KIB, 512 * KIB),
}
LONGER = {4: (), 16: (MIB, 8 * MIB)}  # only where all ratios are asked for
PLANES = {4: (1, 8, 64, 256), 16: (1, 16)}
LONGEST_PLANES = (16, 64)
RATIOS = {4: (0.1, 0.3, 1, 3, 10), 16: (0.1, 0.3, 1, 3, 10)}
QUICK = (0.1, 10)

PLATFORMS: Mapping[str, Cluster] = {
    "SMPI 10 Gb/s": Cluster(),
    "SMPI 1 Gb/s": Cluster(bandwidth="125MBps", latency="25us", costs=MessageCosts(2e-6, 2e-7)),
    "SMPI 200 Gb/s": Cluster(
        bandwidth="25GBps",
        latency="0.5us",
        copy_bandwidth="20GBps",
        copy_latency="0.2us",
        costs=MessageCosts(2e-7, 5e-8),
    ),
    "SMPI 2 Gb/s (2007)": Cluster(
        bandwidth="250MBps",
        latency="3.5us",
        copy_bandwidth="1.5GBps",
        copy_latency="1us",
        costs=MessageCosts(1.5e-6, 3e-7),
    ),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A program; ``blind``: asphalt does not know the callers, so ranks must agree at run time."""

    name: str
    source: str
    blind: bool = False

    def iterations(self, planes: int, ranks: int) -> int:
        """The iterations of the producer on one rank."""
        if self.source == "slab":
            return planes * ranks
        if self.source == "uneven_slab":
            return max(ranks, planes * ranks - 1)
        return planes

    def early(self, size: int) -> int:
        """The number of exchanges after which all one-time costs have just been paid.

        A program with so many exchanges of ``size`` bytes for each rank loses most.
        """
        if self.source.startswith("uneven"):
            return ASKED_FIRST
        least, first, together = LEAST_BLIND if self.blind else LEAST
        return -(-together // size) if least <= size < first else 1


SHAPES = (
    Shape("every-block", "every_block"),
    Shape("every-block-agreed", "every_block", blind=True),
    Shape("slab", "slab"),
    Shape("in-place", "in_place"),
    Shape("strided", "strided"),
    Shape("uneven-slab", "uneven_slab"),
    Shape("uneven-blocks", "uneven_blocks"),
)


@dataclass(frozen=True, slots=True)
class Example:
    """One exchange: bytes for each rank, iterations, and computation over communication.

    The first ``early`` of the ``steps`` are timed separately.
    """

    bytes: int
    planes: int
    ratio: float
    early: int
    steps: int

    @property
    def elements(self) -> int:
        """The elements that an iteration adds to the message for each rank."""
        return self.bytes // (WORD * self.planes)

    @property
    def title(self) -> str:
        """The size and the ratio of computation to communication."""
        size, unit = self.bytes, "B"
        for larger in ("KiB", "MiB"):
            if size >= 1024:
                size, unit = size // 1024, larger
        ratio = f"{self.ratio:g}:1" if self.ratio >= 1 else f"1:{1 / self.ratio:g}"
        return f"{size}{unit}/{self.planes}/{ratio}"


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of the early steps and of all others, and a fingerprint of what was received.

    The early steps include the one-time costs.
    """

    first: float
    rest: float
    hash: str

    @property
    def total(self) -> float:
        """Seconds of all steps."""
        return self.first + self.rest


@dataclass(frozen=True, slots=True)
class Compared:
    """One example on one platform, original and transformed.

    ``communication``: seconds of the exchange alone, in all steps but the early ones.
    """

    shape: str
    platform: str
    ranks: int
    example: Example
    communication: float
    original: Timed
    transformed: Timed

    @property
    def ratio(self) -> float:
        """The time of a later step divided by the original's; above 1 it loses."""
        return self.transformed.rest / self.original.rest

    @property
    def first_ratio(self) -> float:
        """The time ratio of a program that ends after its early steps."""
        return self.transformed.first / self.original.first

    @property
    def efficiency(self) -> float:
        """The part hidden of what can be hidden."""
        whole = self.original.rest
        floor = max(self.communication, whole - self.communication)
        return (whole - self.transformed.rest) / (whole - floor)

    def rows(self) -> Iterator[Row]:
        """The rows of a results file: of a step, and of the early ones."""
        for name, old, new, efficiency in (
            ("ratios", self.original.rest, self.transformed.rest, self.efficiency),
            ("ratios, early", self.original.first, self.transformed.first, None),
        ):
            kernel = f"{name}/{self.shape}/{self.example.title}"
            place = (self.platform, self.ranks)
            yield Row(kernel, "original", *place, None, None, old, 1.0, None)
            yield Row(kernel, "transformed", *place, 0, None, new, new / old, efficiency)


def include_text(examples: Sequence[Example]) -> str:
    """The include file with the sizes of all examples."""
    lists = {
        "elements": [example.elements for example in examples],
        "planes": [example.planes for example in examples],
        "early": [example.early for example in examples],
        "steps": [example.steps for example in examples],
    }
    text = f"      integer, parameter :: cases = {len(examples)}\n"
    for name, values in lists.items():
        text += _array("integer", name, [str(value) for value in values])
    return text


def charges_text(charges: Sequence[float]) -> str:
    """The include file with the operations of an iteration of each example."""
    return _array("real(real64)", "charges", [f"{value:.6e}_real64" for value in charges])


def _array(type_name: str, name: str, values: Sequence[str]) -> str:
    text = f"      {type_name}, parameter :: {name}(cases) = [ &\n"
    for start in range(0, len(values), 4):
        part = ", ".join(values[start : start + 4])
        text += f"        {part}{' &' if start + 4 >= len(values) else ', &'}\n"
    return text + "      ]\n"


def build(
    shape: Shape,
    examples: Sequence[Example],
    charges: Sequence[float],
    new: bool,
    tiling: tuple[int, int] | None = None,
) -> Path:
    """The program of a shape, built if it is missing; ``new``: transformed.

    ``tiling``: K and D; None: the default.  Raises ``LabError`` with the compiler's messages.
    """
    names = ("work.f90", "fingerprint.f90", "exchange.f90", "main.f90")
    files = {name: (EXCHANGES / name).read_bytes() for name in names}
    files["exchange.f90"] += (EXCHANGES / f"{shape.source}.f90").read_bytes() + _END
    files["cases.inc"] = include_text(examples).encode()
    if new:
        seen = {n: t for n, t in files.items() if not (shape.blind and n == "main.f90")}
        files = transform(seen) | {n: t for n, t in files.items() if n not in seen}
        if tiling is not None:
            files = set_tiling(files, *tiling)
    files["work.f90"] = (EXCHANGES / "charged_work.f90").read_bytes()
    files["charges.inc"] = charges_text(charges).encode()
    key = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
    directory = BUILD / "ratios" / f"{shape.source}-{key}"
    program = directory / "program"
    if not program.exists():
        with place_for(directory) as unfinished:
            for name, content in files.items():
                (unfinished / name).write_bytes(content)
            compile_program(SMPI, tuple(files), ("-O2",), unfinished, unfinished / "program")
    return program


def simulate(program: Path, cluster: Cluster, ranks: int, timeout: float = 3600.0) -> list[Timed]:
    """The output of a program on a cluster, cached beside it; raises ``LabError``."""
    key = hashlib.sha256(repr((cluster, ranks, SOLVED_WHOLE)).encode()).hexdigest()[:16]
    kept = program.parent / f"run-{key}.txt"
    if not kept.exists():
        platform = program.parent / f"cluster-{key}.xml"
        platform.write_text(cluster.xml(), encoding="utf-8")
        command = simgrid.command(ranks, program, platform, cluster.costs, SOLVED_WHOLE)
        outcome = run(command, program.parent, timeout)
        if outcome.status != 0:
            how = "no end" if outcome.status is None else f"exit code {outcome.status}"
            raise LabError(f"{how}: {' '.join(command)}\n{outcome.stderr[-2000:].decode()}")
        kept.write_bytes(outcome.stdout)
    found = _LINE.findall(kept.read_text(encoding="utf-8"))
    return [Timed(float(first), float(rest), hash_) for _, first, rest, hash_ in found]


def compare(
    shape: Shape,
    name: str,
    cluster: Cluster,
    ranks: int,
    examples: Sequence[Example],
    tiling: tuple[int, int] | None = None,
) -> list[Compared]:
    """All examples of a shape on one platform; raises ``LabError`` if results differ."""
    bare = simulate(build(shape, examples, [0.0] * len(examples), False), cluster, ranks)
    charges = [
        example.ratio
        * (alone.total / example.steps)
        / shape.iterations(example.planes, ranks)
        * _operations(cluster)
        for example, alone in zip(examples, bare, strict=True)
    ]
    before = simulate(build(shape, examples, charges, False), cluster, ranks)
    after = simulate(build(shape, examples, charges, True, tiling), cluster, ranks)
    compared = []
    for example, alone, old, new in zip(examples, bare, before, after, strict=True):
        if old.hash != new.hash or old.hash != alone.hash:
            raise LabError(f"{shape.name} {example.title}, {name}, {ranks} ranks: results differ")
        compared.append(Compared(shape.name, name, ranks, example, alone.rest, old, new))
    return compared


def _operations(cluster: Cluster) -> float:
    """Operations a second of a node."""
    assert cluster.speed.endswith("Gf")
    return 1e9 * float(cluster.speed[:-2])


def examples_of(
    shape: Shape, sizes: Sequence[int], planes: Sequence[int], ratios: Sequence[float]
) -> list[Example]:
    """All combinations in which an iteration computes an element for each rank.

    With strided tiles, a plane has four runs.
    """
    least = 4 if shape.source == "strided" else 1
    return [
        Example(size, count, ratio, shape.early(size), shape.early(size) + later_steps(size))
        for size in sizes
        for count in planes
        if size // (WORD * count) >= least and size % (WORD * count * least) == 0
        for ratio in ratios
    ]


def later_steps(size: int) -> int:
    """The number of later steps; for short exchanges the ranks agree once in 64 steps."""
    return 64 if size <= 4096 else 2


def examples(shape: Shape, ranks: int, quick: bool) -> list[Example]:
    """The examples of a shape."""
    ratios = QUICK if quick else RATIOS[ranks]
    sizes = SIZES[ranks] if quick else (*SIZES[ranks], *LONGER[ranks])
    found = examples_of(shape, sizes, PLANES[ranks], ratios)
    # the longest ones are slow to simulate
    slow = [e for e in found if e.bytes >= 8 * MIB]
    kept = [e for e in slow if e.planes in LONGEST_PLANES and (not quick or e.ratio in QUICK)]
    return [e for e in found if e.bytes < 8 * MIB or e in kept]


def compare_all(shape: Shape, platform: str, ranks: int, quick: bool) -> list[Compared]:
    """Compare all examples of a shape; ``quick``: the two extreme ratios.  Raises LabError."""
    tried = examples(shape, ranks, quick)
    return compare(shape, platform, PLATFORMS[platform], ranks, tried)
