"""Pairs of programs for passes by which waits, starts and nests pass each other in parts: copies on
paths, waits, draining, sharing, peeling and rotation."""

from __future__ import annotations

from asphalt.transforms.buffers import waits_behind_loop
from asphalt.transforms.loops import peeling, rotation, sharing
from asphalt.transforms.motion import branch_copies, code_motion
from asphalt.transforms.nonblocking import nonblocking, single_waits
from support.safety_pair import Pair
from support.safety_programs import branch, flagged, irecv, isend, program, recv, under, wait, work

_ANY = "MPI_ANY_TAG"
_RETURN = "  if (c(1) > 1d9) return\n"
_GO_ON = "  if (c(1) > 1d9) c(1) = 0\n"


def _received(arm: str = "", *, condition: str = "flag", sends: tuple[int, ...] = (1,)) -> str:
    """A receive that is waited for in front of a branch; its second arm does not need it."""
    arm = arm or work("c", "d(i)")
    arms = branch(work("c", "a(i)"), "  else\n", arm, condition=condition)
    text = program(irecv("a", 1), isend("b", 9), wait("r1", "status"), arms, sends=sends)
    return flagged(text.replace("r1, e1)\n  call MPI_Wait", "r2, e2)\n  call MPI_Wait"), ".false.")


def _starts(tag: object = 2, source: str = "left", request: str = "r2") -> str:
    """An arm that begins with a start, and has work beside it."""
    return irecv("b", tag, request, source) + work("c", "d(i)") + wait(request)


def _in_an_arm(tag: object) -> str:
    """A receive that is started behind a branch, and one in an arm of it, behind work."""
    arm = work("d", "c(i)"), work("c"), irecv("b", tag, "r2"), wait("r2")
    arms = branch(work("a"), "  else\n", *arm)
    start = irecv("a", 1), work("d", "c(i)"), wait()
    return flagged(program(arms, *start, sends=(tag if isinstance(tag, int) else 2, 1)), ".false.")


def _all(awaited: str, behind: str = "") -> str:
    starts = irecv("a", 1, "r(1)"), irecv("b", 2, "r(2)")
    return program(
        *starts, awaited, work("c", "a(i)"), work("d", "b(i)"), behind,
        declared="  integer :: statuses(MPI_STATUS_SIZE, 2)\n", sends=(1, 2),
    )  # fmt: skip


_WAITALL = "  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)\n"
_WITH_STATUSES = _WAITALL.replace("MPI_STATUSES_IGNORE", "statuses")


def _sums(first: str = "", *, filled: str = "w(1,j)", last: str = "", behind: str = "") -> str:
    """A loop whose iterations start a broadcast each, and have work beside it."""
    loop = (
        f"  w = me; total = 1\n  do j = 1, 6\n{first}    total(j) = {filled}\n"
        "    call MPI_Bcast(total(j), 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)\n"
        f"    do i = 1, n\n      w(i,j) = w(i,j) + 1\n    end do\n{last}  end do\n{behind}"
    )
    summed = "  c(1) = sum(total) + sum(w)\n"
    return program(loop, summed, declared="  real(8) :: w(n,6), total(6)\n", sends=())


def _shared(value: str, between: str = "") -> str:
    """A nest in the window of one receive, and none in that of the next one."""
    nest = (
        f"  do j = 1, 8\n    do i = 1, n\n      u(i,j) = u(i,j) + {value}\n    end do\n  end do\n"
    )
    second = irecv("b", 2, "r2"), wait("r2")
    return program(
        "  u = me\n", irecv("a", 1), nest, wait(), between, *second, "  d(:) = u(:,1) + u(:,8)\n",
        declared="  real(8) :: u(n,9)\n", sends=(1, 2),
    )  # fmt: skip


def _turns(last: str = "", first: str = "") -> str:
    """A loop that begins with work, and ends with a receive."""
    body = first + work("c", "j") + recv("x", "j") + last
    return program(f"  do j = 1, 2\n{body}  end do\n", "  d(1) = x(1)\n", sends=(1, 2))


def _row_is_sent(value: str) -> str:
    """A nest, and a message with one of its rows."""
    nest = (
        "  do j = 1, 9\n    do i = 1, n\n      u(i,j) = v(i,j) + v(i,j-1)\n    end do\n  end do\n"
    )
    packed = f"  do i = 1, n\n    x(i) = {value}\n  end do\n"
    return program(
        "  v = me; k = modulo(turn, 9) + 1\n", nest, packed, isend("x", 1), wait(),
        "  c(:) = u(:,1) + u(:,8)\n",
        declared="  real(8) :: u(n,9), v(n,0:9)\n", sends=(), takes=(1,),
    )  # fmt: skip


_BEFORE = (nonblocking, code_motion)
PAIRS: dict[str, dict[str, tuple[Pair, ...]]] = {
    "motion": {
        "wildcard": (
            Pair(branch_copies, _received(_starts(), sends=(1, 2)),
                 _received(_starts(source="MPI_ANY_SOURCE"), sends=(1, 2))),
            Pair(branch_copies, _in_an_arm(2), _in_an_arm(_ANY)),
        ),
        "order": (Pair(branch_copies, _in_an_arm(2), _in_an_arm(1)),),
        "status": (
            Pair(branch_copies, _received("  c(3) = k\n" + work("c", "d(i)")),
                 _received("  c(3) = status(MPI_TAG)\n" + work("c", "d(i)"))),
            Pair(branch_copies, _received(condition="other(MPI_TAG) == -7"),
                 _received(condition="status(MPI_TAG) == -7")),
        ),
        "buffer": (
            Pair(branch_copies, _received(condition="d(1) < 0"), _received(condition="a(1) < 0")),
        ),
        "return": (
            Pair(branch_copies, _received(work("c", "d(i)") + _GO_ON),
                 _received(work("c", "d(i)") + _RETURN)),
        ),
        "request": (
            Pair(branch_copies, _received(_starts(), sends=(1, 2)),
                 _received(_starts(request="r1"), sends=(1, 2))),
        ),
    },
    "waits": {
        "status": (
            Pair(single_waits, _all(_WITH_STATUSES),
                 _all(_WITH_STATUSES, "  c(1) = statuses(MPI_TAG,1)\n")),
        ),
        "path": (Pair(single_waits, _all(_WAITALL), _all(under("turn > 0", _WAITALL))),),
        "buffer": (
            Pair(waits_behind_loop, _sums(), _sums(filled="sum(total)"), before=_BEFORE),
        ),
        "return": (
            Pair(
                waits_behind_loop,
                _sums(),
                _sums("    if (w(1,j) > 1d9) return\n"),
                before=_BEFORE,
            ),
        ),
    },
    "splitting": {
        "buffer": (
            Pair(sharing, _shared("c(i)"), _shared("b(i)")),
            Pair(sharing, _shared("c(i)"), _shared("c(i)", "  d(:) = u(:,7)\n")),
        ),
    },
    "peeling": {
        "buffer": (Pair(peeling, _row_is_sent("u(i,9)"), _row_is_sent("u(i,k)")),),
        "path": (
            Pair(rotation, _turns("    if (x(1) > 1d9) d(1) = 0\n"),
                 _turns("    if (x(1) > 1d9) exit\n")),
        ),
        "return": (
            Pair(rotation, _turns("    if (x(1) > 1d9) d(1) = 0\n"),
                 _turns("    if (x(1) > 1d9) return\n")),
        ),
    },
}  # fmt: skip
