"""Pairs of programs for what cuts messages into parts: pipelines over tiles of a nest, segments."""

from __future__ import annotations

from asphalt.transforms.loops import branch_fission
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.tiling import pipelining, segmentation
from support import shift_programs as shifts
from support import sweep_programs as sweeps
from support.safety_pair import Pair

_CALL = "  call other(u, 1)\n"


def _wave(text: str, free: str = "") -> Pair:
    """A receive, a nest and a send that are executed in tiles, or stay whole."""
    return Pair(pipelining, free or sweeps.program(), text)


def _beside(call: str) -> str:
    """A message that leaves in segments, beside what another procedure does."""
    other = sweeps.OTHERS.format(what=call)
    return shifts.program(shifts.FILL + _USED, more=_CALL, other=other)


_USED = shifts.SENDRECV + "  t = sum(west)\n"
_PREPARED = (nonblocking, branch_fission, code_motion)
_OTHER_SEND = sweeps.SEND.format(tag=2)


def _cut(bound: str, free: str = "") -> Pair:
    """A message that leaves in segments while a nest fills it, or as a whole."""
    free = free or shifts.program(shifts.FILL + _USED)
    return Pair(segmentation, free, bound, before=_PREPARED)


def _segments(filled: str = shifts.FILL, between: str = "", behind: str = "") -> Pair:
    return _cut(shifts.program(filled + between + _USED + behind))


PAIRS: dict[str, dict[str, tuple[Pair, ...]]] = {
    "pipelining": {
        "wildcard": (
            _wave(sweeps.changed("left, 1, comm, s", "MPI_ANY_SOURCE, 1, comm, s")),
            _wave(sweeps.changed("left, 1, comm, s", "left, MPI_ANY_TAG, comm, s")),
            _wave(
                sweeps.with_other(sweeps.RECV.format(source=0, tag="MPI_ANY_TAG")),
                sweeps.with_other(sweeps.RECV.format(source=0, tag=2)),
            ),
            _cut(
                _beside(sweeps.RECV.format(source=0, tag="MPI_ANY_TAG")),
                _beside(sweeps.RECV.format(source=0, tag=2)),
            ),
        ),
        "order": (
            _wave(sweeps.with_other(sweeps.SEND.format(tag=1)), sweeps.with_other(_OTHER_SEND)),
            _wave(
                sweeps.with_other(sweeps.RECV.format(source=0, tag=1)),
                sweeps.with_other(sweeps.RECV.format(source=0, tag=2)),
            ),
            _cut(_beside(sweeps.SEND.format(tag=1)), _beside(_OTHER_SEND)),
            _cut(
                _beside(sweeps.RECV.format(source=0, tag=1)),
                _beside(sweeps.RECV.format(source=0, tag=2)),
            ),
        ),
        "status": (
            _wave(sweeps.program(behind="  u(0,0) = status(MPI_TAG)\n")),
            _segments(behind="  t = t + status(MPI_TAG)\n"),
        ),
        "buffer": (
            _wave(
                sweeps.program(sweeps.nest("u(i,j) = u(i,j) + u(0,n)")),
                sweeps.program(sweeps.nest("u(i,j) = u(i,j) + u(0,j)")),
            ),
            _wave(sweeps.program(sweeps.nest(sweeps.POINT, "east(1) = u(i,j)"))),
            _segments(shifts.nest("east(i,j) = u(i,j)", "east(i,1) = u(i,j)")),
            _cut(
                shifts.program(
                    "  east = u\n" + shifts.SENDRECV + shifts.nest("u(i,j) = west(i,n)")
                ),
                shifts.program(
                    "  east = u\n" + shifts.SENDRECV + shifts.nest("u(i,j) = west(i,j)")
                ),
            ),
        ),
        "path": (
            _wave(
                sweeps.changed(
                    "  if (right /= MPI_PROC_NULL) then", "  if (k == 1) then\n    u = 0\n  else"
                )
            ),
            _wave(
                sweeps.program(sweeps.nest(sweeps.POINT, "if (u(i,j) < -9) left = -1")),
                sweeps.program(sweeps.nest(sweeps.POINT, "if (u(i,j) < -9) u(i,j) = -1")),
            ),
            _segments(shifts.branch("me > 0", shifts.FILL)),
        ),
        "return": (
            _wave(
                sweeps.program(sweeps.nest() + "  if (k < 0) return\n"),
                sweeps.program(sweeps.nest() + "  if (k < 0) t = 0\n"),
            ),
            _segments(between="  if (u(1,1) < -1d9) return\n"),
        ),
    },
}
