"""Calls one procedure, original and transformed, on all ranks of MPI with random arrays.

Sizes are random, too.  Prints what was compared; ends with a message on the first difference.  A
program of its own: it is started by mpiexec.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from mpi4py import MPI

import asphalt.verify
from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.verify import Pair

CHOICES = ((1, 1), (3, 2))  # K and D; neither divides most of the sizes
DRAWS_SEED = 4
WORLD = MPI.COMM_WORLD


def pairs(source: Path, procedure: str, changed: str | None) -> Iterator[Pair]:
    """The procedure, transformed with each K and D; ``changed`` stands for the last of them."""
    for tile, depth in CHOICES:
        pair = asphalt.verify.load(
            source,
            procedure,
            tile=tile,
            depth=depth,
            settings=Settings(
                assume=frozenset({"control"}), cache=False, jobs=1, passes=(Pass.PREPUSH,)
            ),
            flags=["-O0"],
            comm=WORLD,
            changed=changed if (tile, depth) == CHOICES[-1] else None,
        )
        assert pair.changed
        yield pair


def compare(pair: Pair, comm: MPI.Intracomm, n: int, nz: int, seed: int) -> bool:
    """Whether both versions leave the same bits in all arguments, on all ranks."""
    random = np.random.default_rng([seed, comm.Get_rank()])
    shape = (n, nz, comm.Get_size())
    sent, received = (np.asfortranarray(random.standard_normal(shape)) for _ in range(2))
    found = []
    for procedure in pair:
        s, r = sent.copy(order="F"), received.copy(order="F")
        procedure(comm, s, r)
        found.append((s.tobytes("A"), r.tobytes("A")))
    changed = found[0] != (sent.tobytes("A"), received.tobytes("A"))
    return bool(comm.allreduce(found[0] == found[1] and changed, MPI.LAND))


def main(source: Path, procedure: str, draws: int, changed: str | None = None) -> None:
    """Raises AssertionError at the first draw that is not equal for all K and D.

    All ranks draw the same and agree on each answer, so that they stay together.
    """
    loaded = tuple(pairs(source, procedure, changed))
    some = WORLD.Split(int(WORLD.Get_rank() == WORLD.Get_size() - 1))
    random = np.random.default_rng(DRAWS_SEED)
    for draw in range(draws):
        n, nz = int(random.integers(1, 6)), int(random.integers(1, 10))
        comm = some if random.random() < 0.5 else WORLD
        for pair, choice in zip(loaded, CHOICES, strict=True):
            same = WORLD.allreduce(compare(pair, comm, n, nz, draw), MPI.LAND)
            assert same, f"n={n} nz={nz} {comm.Get_size()} ranks, K and D {choice}"


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:5])
    except AssertionError as error:
        sys.exit(f"different: {error}")
    if WORLD.Get_rank() == 0:
        print(f"{sys.argv[3]} draws equal")
