"""Loads procedures and calls them in this process, on one rank; prints what came out as JSON.

A program of its own, since MPI can be started once in a process, and leaves its marks there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import asphalt.verify
from asphalt.config.errors import AsphaltError
from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.verify import Pair


def refusals(pair: Pair) -> list[str]:
    from mpi4py import MPI

    s = np.zeros((2, 3, 1), order="F")
    comm = MPI.COMM_SELF
    attempts: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((), {"nothing": 1}),
        ((1.5, s, s), {"scale": 1}),
        ((comm, s[:, :, 0], s), {"scale": 1}),
        ((comm, s.astype("f4"), s), {"scale": 1}),
        ((comm, np.zeros((2, 3, 2)), s), {"scale": 1}),
    ]
    told = []
    for args, named in attempts:
        try:
            pair.original(*args, **named)
            told.append("no error")
        except AsphaltError as error:
            told.append(str(error))
    return told


def main(source: Path, changed: str | None) -> dict[str, Any]:
    from mpi4py import MPI

    names = (
        "setup", "explicit_shape", "doubled", "letters", "modern.typed", "total", "planes"
    )  # fmt: skip
    settings = Settings(assume=frozenset({"control"}), cache=False, jobs=1, passes=(Pass.PREPUSH,))
    pair = asphalt.verify.load(
        source,
        "shapes::assumed_shape",
        also=names,
        tile=2,
        settings=settings,
        flags=["-O0"],
        changed=changed,
    )
    comm = MPI.COMM_SELF
    told: dict[str, Any] = {"changed": {"assumed_shape": pair.changed}, "versions": []}
    told["changed"] |= {name: pair.also[name].changed for name in names}
    told["sites"] = [site.id for site in pair.sites]
    for number, procedure in enumerate(pair):
        also = {name: tuple(pair.also[name])[number] for name in names}
        found: dict[str, Any] = {}
        s = np.asfortranarray(np.arange(24.0).reshape(4, 6, 1))
        r = np.zeros_like(s, order="F")
        found["first"] = procedure(comm, s, r, True, scale=2 + 1j)
        found["again"] = procedure(comm, s, r, scale=2)
        found["r"] = r.ravel(order="F").tolist()
        also["setup"](3)
        c = np.asfortranarray(np.arange(6).reshape(2, 3, 1) * (1 + 2j))
        received, mask = np.zeros_like(c, order="F"), np.array([True, False])
        status = np.zeros(MPI_STATUS_SIZE(), np.int64)
        also["explicit_shape"](2, 1, comm, c, received, mask, status)
        found["explicit"] = bool((received == c).all())
        found["mask"] = mask.tolist()
        found["status"] = int(status[0])
        found["doubled"] = also["doubled"](3, [1.0, 2.0, 3.0])["doubled"].tolist()
        words = np.array([b"ab", b"cd", b"ef"])
        found["name"] = also["letters"]("hello", words, 2)["name"]
        found["words"] = [word.decode() for word in words]
        one, two = (np.zeros((2, 4, 3), np.int32, order="F") for _ in range(2))
        also["modern.typed"](comm, 2, one, two)
        found["typed"] = two[:, :, 0].ravel(order="F").tolist()
        found["total"] = also["total"](2, np.array([1, 2.5], np.float32))["total"]
        x = np.ones((3, 7), order="F")
        ierr = np.array(7, np.int32)
        found["planes"] = also["planes"](1, 0, x, ierr)
        found["ierr"] = int(ierr)
        told["versions"].append(found)
    told["refusals"] = refusals(pair)
    return told


def MPI_STATUS_SIZE() -> int:  # noqa: N802
    from mpi4py import MPI

    return MPI.F_STATUS_SIZE


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)))
