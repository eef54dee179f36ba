"""Programs in pairs for the matrix of safety, by pass and rule.

To the first program of a pair a step of the pass applies.  The second one is nearly the same, but
that step would break the rule, and there is none.
"""

from __future__ import annotations

from asphalt.transforms.buffers import renaming
from asphalt.transforms.inlining import inline
from asphalt.transforms.loops import (
    branch_fission,
    constant_branches,
    peeling,
    splitting,
    unrolling,
)
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import nonblocking
from support import safety_pairs_buffers, safety_pairs_tiles, safety_pairs_waits
from support.safety_pair import Pair
from support.safety_programs import (
    branch,
    flagged,
    grid,
    irecv,
    isend,
    program,
    recv,
    under,
    wait,
    work,
)

_ANY = "MPI_ANY_TAG"
_ANYONE = "MPI_ANY_SOURCE"
_NOBODY = "MPI_PROC_NULL"
_RETURN = "  if (c(1) > 1d9) return\n"
_GO_ON = "  if (c(1) > 1d9) c(1) = 0\n"
_BOTH = (1, 2)
_ASKS = """\
logical function asks(turn)
  implicit none
  integer, intent(inout) :: turn
  turn = turn + 1
  asks = modulo(turn, 2) == 7
end function asks
"""
_POST = """\
subroutine post(x, source)
  use mpi
  implicit none
  real(8), intent(inout) :: x(200)
  integer, intent(in) :: source
  integer{request} :: request
  integer{status} :: status(MPI_STATUS_SIZE)
  integer :: i, ierr
  call MPI_Irecv(x, 200, MPI_DOUBLE_PRECISION, source, 1, MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, status, ierr)
  do i = 1, 200
    if (x(i) > 1d9) {then}
  end do
end subroutine post
"""


# Preliminary transformations


def _each(last: str = "") -> str:
    return program(
        f"  do j = 1, 2\n{recv('x', 'j')}{last}  end do\n", sends=(1,) if last else _BOTH
    )


def _posted(buffer: str = "a", **parts: str) -> str:
    """A call of a procedure that receives."""
    text = _POST.format(**{"request": "", "status": "", "then": "x(i) = 0"} | parts)
    call = f"  w = 0\n  call post({buffer}, left)\n  c(1) = sum(w)\n"
    return program(call, other=text, declared="  real(8) :: w(n,n)\n")


def _decided(between: str = "") -> str:
    return program(f"  j = 1\n{between}", branch(recv("a", 1), condition="j == 1"))


def _live(*second: str) -> str:
    """What the second receive brings has nothing to do with the first one."""
    body = recv("x", 1), work("c", "x(i)"), *second, work("d", "x(i)")
    return flagged(program(*body, sends=_BOTH), ".true.")


# Non-blocking transfers, and fission


def _guarded(condition: str) -> str:
    declared = "  logical, external :: asks\n"
    sends = () if "asks" in condition else (1,)
    return program(under(condition, recv("a", 1)), declared=declared, sends=sends, other=_ASKS)


def _received_in(buffer: str) -> str:
    return program(
        "  w = 0\n", recv(buffer, 1), "  c(1) = sum(w)\n", declared="  real(8) :: w(2*n)\n"
    )


def _in_branch(tag: object, second: int = 2) -> str:
    """A start that could leave the branch, past the receive in front of it."""
    body = branch(recv("a", tag), irecv("b", second), work("c"), wait())
    return flagged(program(body, sends=(1, second)), ".true.")


def _waited(condition: str, between: str = "", **parts: str) -> str:
    """A start and its wait in one branch."""
    asked = branch(irecv("a", 1), between or work("c"), wait(), condition=condition)
    return program(asked, declared=parts.get("declared", ""), other=parts.get("other", ""))


def _status_in_branch(status: str) -> str:
    """A condition that reads a status, and a first half that may define it."""
    first = work("b", "a(i)\n    a(i) = i"), irecv("a", 1, "r2"), isend("b", 2), wait("r1", status)
    rest = work("b"), isend("b", 3), wait(), wait("r2"), "  c(1) = a(1)\n"
    asked = branch(*first, *rest, condition="status(MPI_TAG) /= -7")
    return program("  status = 0\n", asked, takes=(2, 3))


def _request_in_branch(request: str) -> str:
    second = branch(wait("r1"), irecv("b", 2, request), work("c"), wait(request))
    return flagged(program(branch(irecv("a", 1, "r1")), second, sends=_BOTH), ".true.")


# Code motion


def _two_starts(second: int, *, tag: object = 1, source: str = "left") -> str:
    """The second start could come before the work, past the first one, which cannot."""
    first = irecv("a", tag, "r1", source)
    body = work("a"), first, irecv("b", second, "r2"), wait("r2"), wait("r1")
    return program(*body, sends=(1, second))


def _two_sends(tag: int) -> str:
    body = work("a"), isend("a", 1, "r1"), isend("b", tag, "r2"), wait("r2"), wait("r1")
    return program(*body, sends=(), takes=(1, tag))


def _tag_is_read(status: str) -> str:
    asked = f"  k = {status}(MPI_TAG)\n"
    first = "  other(MPI_TAG) = 0\n"
    return program(first, irecv("a", 1), wait("r1", "status"), asked, work("c", "k"))


def _received(*behind: str) -> str:
    return program(irecv("a", 1), wait(), *behind)


def _sent(*behind: str) -> str:
    return program(isend("b", 1), wait(), *behind, sends=(), takes=(1,))


def _now_and_then(value: str) -> str:
    body = under("flag", irecv("a", 1)), under("flag", wait()), work("c", value)
    return flagged(program(*body, sends=()), ".false.")


def _in_front(between: str) -> str:
    return program(work("c"), between, irecv("a", 1), wait())


def _another(request: str) -> str:
    body = wait(), irecv("b", 2, request), work("c"), wait(request)
    return program(irecv("a", 1), *body, sends=_BOTH)


def _element(value: str) -> str:
    return program("  k = 1\n", irecv("a", 1, "r(k)"), wait("r(k)"), work("c", value))


def _column(column: str, before: str = "") -> str:
    """A column is received, and behind ``before`` another one is stored, or the same."""
    stored = f"  do i = 1, n\n    w(i,{column}) = 0.5d0*i\n  end do\n"
    declared = "  real(8) :: w(n,6)\n"
    start = "  w = 0\n", irecv("w(1,k)", 1), wait()
    return program(*start, before, stored, "  c(1) = sum(w(:,k))\n", declared=declared)


# Splitting and peeling


def _last_is_sent(*before: str, value: str = "b(n)", sends: tuple[int, ...] = (1,)) -> str:
    sent = f"  x(1) = {value}\n", isend("x", 2), wait()
    return program(*before, *sent, sends=sends, takes=(2,), declared="  x = 0\n")


_KEPT = "  integer :: keep\n  common /kept/ keep\n"
_EITHER = under("flag", wait()) + under(".not. flag", wait())
_AGAIN = isend("b", 1), work("c", "b(i)"), wait(), work("b"), isend("b", 2), wait()

_PAIRS: dict[str, dict[str, tuple[Pair, ...]]] = {
    "unrolling": {
        "path": (Pair(unrolling, _each(), _each("    if (x(1) > 0) exit\n")),),
        "return": (Pair(unrolling, _each(), _each("    if (x(1) > 0) return\n")),),
    },
    "inline": {
        "status": (Pair(inline, _posted(), _posted(status=", save")),),
        "buffer": (Pair(inline, _posted(), _posted("w(1,:)")),),
        "return": (Pair(inline, _posted(), _posted(then="return")),),
        "request": (Pair(inline, _posted(), _posted(request=", save")),),
    },
    "branches": {
        "path": (Pair(constant_branches, _decided(), _decided("  if (turn < 0) j = 0\n")),),
    },
    "renaming": {
        "path": (Pair(renaming, _live(recv("x", 2)), _live(branch(recv("x", 2)))),),
        "request": (Pair(renaming, _live(recv("x", 2)), _live(irecv("x", 2), wait())),),
    },
    "nonblocking": {
        "buffer": (Pair(nonblocking, _received_in("w(1:n)"), _received_in("w(1:2*n:2)")),),
        "path": (Pair(nonblocking, _guarded("turn > 0"), _guarded("asks(k)")),),
    },
    "fission": {
        "wildcard": (Pair(branch_fission, _in_branch(1), _in_branch(_ANY)),),
        "order": (Pair(branch_fission, _in_branch(1), _in_branch(1, 1)),),
        "status": (Pair(branch_fission, _status_in_branch("other"), _status_in_branch("status")),),
        "buffer": (Pair(branch_fission, _waited("b(1) > 0"), _waited("a(1) > 0")),),
        "path": (
            Pair(
                branch_fission,
                _waited("turn > 0"),
                _waited(".not. asks(k)", declared="  logical, external :: asks\n", other=_ASKS),
            ),
        ),
        "return": (
            Pair(branch_fission, _waited("turn > 0", _GO_ON), _waited("turn > 0", _RETURN)),
        ),
        "request": (Pair(branch_fission, _request_in_branch("r2"), _request_in_branch("r1")),),
    },
    "motion": {
        "wildcard": (
            Pair(code_motion, _two_starts(2), _two_starts(2, tag=_ANY)),
            Pair(code_motion, _two_starts(2), _two_starts(2, source=_ANYONE, tag=_ANY)),
            Pair(code_motion, _two_starts(2), _two_starts(1, source=_ANYONE)),
        ),
        "order": (
            Pair(code_motion, _two_starts(2), _two_starts(1)),
            Pair(code_motion, _two_sends(2), _two_sends(1)),
        ),
        "status": (Pair(code_motion, _tag_is_read("other"), _tag_is_read("status")),),
        "buffer": (
            Pair(code_motion, _received(work("c", "d(i)")), _received(work("c", "a(i)"))),
            Pair(code_motion, _sent(work("c", "b(i)")), _sent(work("b", "c(i)"))),
            Pair(code_motion, _column("k + 1"), _column("k")),
            Pair(code_motion, _column("k + 1"), _column("k - 1", "  k = k + 1\n"), "the wait"),
        ),
        "path": (Pair(code_motion, _now_and_then("1"), _now_and_then("1\n    flag = c(i) < -9")),),
        "return": (
            Pair(code_motion, _received(_GO_ON, work("c")), _received(_RETURN, work("c"))),
            Pair(code_motion, _in_front("  d(1) = 0\n"), _in_front("  if (d(1) > 1d9) return\n")),
        ),
        "request": (
            Pair(code_motion, _another("r2"), _another("r1"), "the wait"),
            Pair(code_motion, _element("k"), _element("k\n    k = 2 - modulo(i, 2)")),
        ),
    },
    "splitting": {
        "wildcard": (Pair(splitting, grid(), grid(inside=recv("d", _ANY, source=_NOBODY))),),
        "order": (Pair(splitting, grid(), grid(inside=recv("d", 1, source=_NOBODY))),),
        "status": (
            Pair(splitting, grid("u(i,j-1) + other(1)"), grid("u(i,j-1) + status(MPI_TAG)")),
        ),
        "buffer": (Pair(splitting, grid(), grid("u(i,j-1) + u(i,0)")),),
        "path": (Pair(splitting, grid(), grid(awaited=_EITHER)),),
        "return": (
            Pair(splitting, grid(awaited=wait() + _GO_ON), grid(awaited=wait() + _RETURN)),
            Pair(splitting, grid(), grid(inside="      if (v(i,j) > 1d9) return\n")),
        ),
        "request": (
            Pair(
                splitting, grid(), grid(awaited="  keep = r1\n" + wait("keep"), declared=_KEPT)
            ),
        ),
    },
    "peeling": {
        "status": (
            Pair(
                peeling,
                _last_is_sent(irecv("a", 1, "r2"), wait("r2", "status"), work("b")),
                _last_is_sent(
                    irecv("a", 1, "r2"), work("b"), wait("r2", "status"),
                    value="b(n) + b(status(MPI_TAG))",
                ),
            ),
        ),
        "request": (
            Pair(
                peeling,
                _last_is_sent(work("b"), sends=()),
                program(*_AGAIN, sends=(), takes=_BOTH),
            ),
        ),
    },
}  # fmt: skip

_ALL = (_PAIRS, safety_pairs_buffers.PAIRS, safety_pairs_waits.PAIRS, safety_pairs_tiles.PAIRS)
PAIRS = {
    name: {
        rule: tuple(pair for group in _ALL for pair in group.get(name, {}).get(rule, ()))
        for rules in (group.get(name, {}) for group in _ALL)
        for rule in rules
    }
    for name in dict.fromkeys(name for group in _ALL for name in group)
}
"""All pairs, by pass and rule."""
