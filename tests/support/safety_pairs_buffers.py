"""Pairs of programs for passes that give messages other buffers, or make several of one operation:
stores, renaming, expansion and decomposition."""

from __future__ import annotations

from asphalt.transforms.buffers import array_expansion, receive_queues, redundant_stores, renaming
from asphalt.transforms.decomposition import decomposition
from support.safety_pair import Pair
from support.safety_programs import branch, flagged, irecv, program, recv, under, wait, work

_ANY = "MPI_ANY_TAG"
_RETURN = "  if (c(1) > 1d9) return\n"
_GO_ON = "  if (c(1) > 1d9) c(1) = 0\n"


def _shorter(*body: str, sends: tuple[int, ...] = (1,)) -> str:
    """The same beside a message with tag 5 that is shorter than the others."""
    sent = "  call MPI_Isend(d, n - 1, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, r2, e2)\n"
    return program(sent, *body, recv("y", 5, count="n - 1"), wait("r2"), sends=sends)


def _stored(between: str = "", received: str = "") -> str:
    """An array is filled, and a receive overwrites it."""
    got = received or recv("x", 1)
    return flagged(program("  x = 0\n", between, got, work("c", "x(i)")), ".true.")


def _stored_beside(tag: object) -> str:
    return _shorter("  x = 0\n", recv("x", tag), work("c", "x(i)"))


def _twice(tag: object) -> str:
    """A buffer of two receives that have nothing to do with each other."""
    both = recv("x", 1), work("c", "x(i)"), recv("x", tag), work("d", "x(i)")
    return _shorter(*both, sends=(1, 2))


def _posted(got: str, use: str = "", *, head: str = "", sends: tuple[int, ...] = (1, 2)) -> str:
    """A loop that receives, and uses what has come."""
    return program(f"{head}  do j = 1, 2\n{got}{work('c', 'x(i)')}{use}  end do\n", sends=sends)


def _two_in_a_loop(tag: int) -> str:
    second = irecv("y", tag) + wait() + work("d", "y(i)")
    return _posted(recv("x", 1), second, sends=(1, tag, 1, tag))


def _filled(use: str = "", kept: str = "") -> str:
    """Iterations that could have a buffer each: nobody needs what comes in the next one."""
    got = recv("x", "k") if not kept else irecv("x", "k", "r1") + kept
    loop = f"  do k = 1, 2\n{use}{got}{work('c', 'x(i)')}{work('d', 'd(i)*k')}  end do\n"
    return program(loop, sends=(1, 2))


_BLOCKS = """\
  integer :: np, p
  real(8) :: s(n,9), g(n,9), u(n,0:9)
"""
_SIZE = "  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)\n  s = me; u = 0\n"
_ALLTOALL = (
    "  call MPI_Alltoall(s, n, MPI_DOUBLE_PRECISION, g, n, MPI_DOUBLE_PRECISION, &\n"
    "                    MPI_COMM_WORLD, ierr)\n"
)


def _blocks(statement: str = "u(i,p) = u(i,p) + sqrt(g(i,p))", first: str = "") -> str:
    inner = f"    do i = 1, n\n      {statement}\n    end do\n"
    return f"  do p = 1, np\n{first}{inner}  end do\n"


def _exchanged(between: str = "", used: str = "", condition: str = "") -> str:
    """A collective operation, and a loop that uses its blocks one by one."""
    body = _ALLTOALL + between + (used or _blocks())
    body = branch(body, condition=condition) if condition else body
    return program(_SIZE, body, "  c(:) = u(:,1) + u(:,2)\n", declared=_BLOCKS, sends=())


PAIRS: dict[str, dict[str, tuple[Pair, ...]]] = {
    "stores": {
        "wildcard": (Pair(redundant_stores, _stored_beside(1), _stored_beside(_ANY)),),
        "buffer": (Pair(redundant_stores, _stored(work("c", "d(i)")), _stored(work("c", "x(i)"))),),
        "path": (Pair(redundant_stores, _stored(), _stored(received=under("flag", recv("x", 1)))),),
        "return": (Pair(redundant_stores, _stored(_GO_ON), _stored(_RETURN)),),
    },
    "renaming": {
        "wildcard": (Pair(renaming, _twice(2), _twice(_ANY)),),
    },
    "expansion": {
        "wildcard": (
            Pair(receive_queues, _posted(recv("x", "j")), _posted(recv("x", _ANY))),
            Pair(
                receive_queues,
                _posted(recv("x", "j")),
                _posted(recv("x", "j", source="MPI_ANY_SOURCE")),
            ),
        ),
        "order": (Pair(receive_queues, _two_in_a_loop(2), _two_in_a_loop(1)),),
        "status": (
            Pair(
                receive_queues,
                _posted(recv("x", "j", "status", source="other(MPI_SOURCE)"),
                        head="  other(MPI_SOURCE) = left\n"),
                _posted(recv("x", "j", "status", source="status(MPI_SOURCE)"),
                        head="  status(MPI_SOURCE) = left\n"),
            ),
        ),
        "buffer": (
            Pair(array_expansion, _filled(), _filled("    if (k > 1) c(1) = c(1) + x(1)\n")),
        ),
        "path": (
            Pair(
                receive_queues,
                _posted(under("d(1) > 0", recv("x", "j")), "    c(1) = x(1)\n", head="  x = 0\n"),
                _posted(under("d(1) > 0", recv("x", "j")), "    d(1) = x(1)\n", head="  x = 0\n"),
            ),
        ),
        "return": (Pair(receive_queues, _posted(recv("x", "j"), _GO_ON),
                        _posted(recv("x", "j"), _RETURN)),),
        "request": (Pair(array_expansion, _filled(), _filled(kept=wait("r1"))),),
    },
    "decomposition": {
        "order": (
            Pair(
                decomposition,
                _exchanged("  c(1) = 1\n"),
                _exchanged("  call MPI_Bcast(c, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, e1)\n"),
            ),
        ),
        "buffer": (
            Pair(
                decomposition,
                _exchanged(_blocks("s(i,p) = i").replace("s(", "u(")),
                _exchanged(_blocks("s(i,p) = i")),
            ),
            Pair(
                decomposition,
                _exchanged(),
                _exchanged(used=_blocks("u(i,p) = g(i,p) + g(i,max(1,p-1))")),
            ),
        ),
        "path": (
            Pair(
                decomposition,
                _exchanged(condition="turn > 0"),
                _exchanged(condition="me >= 0"),
            ),
        ),
        "return": (
            Pair(
                decomposition,
                _exchanged(used=_blocks(first="    if (u(1,p) > 9) u(2,p) = 0\n")),
                _exchanged(used=_blocks(first="    if (u(1,p) > 9) exit\n")),
            ),
        ),
    },
}  # fmt: skip
