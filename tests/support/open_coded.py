"""Programs that exchange blocks between all ranks with messages that are written out."""

from __future__ import annotations

from textwrap import dedent, indent

_PROGRAM = """\
program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: i, z, p, q, turn, pending, many, me, np, ierr
  integer, allocatable :: requests(:), statuses(:,:), counts(:)
  real(8), allocatable :: s(:,:,:), r(:,:,:)
{declare}
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,0:np-1), r(n,nz,0:np-1), requests(2*np), statuses(MPI_STATUS_SIZE,2*np))
  allocate(counts(0:np-1), source=n*nz)
  r = 0
{before}
  do z = 1, nz
    do p = 0, np - 1
      do i = 1, n
        s(i,z,p) = dble(i*z) + p*me
      end do
    end do
  end do
{exchange}{after}
  print *, me, sum(r), r(1,:,0), r(n,nz,:)
  call MPI_Finalize(ierr)
end program exchange
{beside}"""

RECEIVES = """\
pending = 0
do turn = 1, np - 1
  p = modulo(me - turn, np)
  pending = pending + 1
  call MPI_Irecv(r(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, &
                 requests(pending), ierr)
end do
"""
SENDS = """\
do turn = 1, np - 1
  p = modulo(me + turn, np)
  pending = pending + 1
  call MPI_Isend(s(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, &
                 requests(pending), ierr)
end do
"""
OWN = "r(:,:,me) = s(:,:,me)\n"
WAIT = "call MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE, ierr)\n"
RING = RECEIVES + SENDS + OWN + WAIT

OVER_RANKS = """\
do p = 0, np - 1
  if (p == me) cycle
  call MPI_Irecv(r(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, requests(p+1), ierr)
end do
do p = 0, np - 1
  if (p /= me) then
    call MPI_Isend(s(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, &
                   requests(np+p+1), ierr)
  end if
end do
"""
WITH_NULL = (
    "requests = MPI_REQUEST_NULL\n"
    + OVER_RANKS
    + ("call MPI_Waitall(2*np, requests, MPI_STATUSES_IGNORE, ierr)\n")
)
WITH_ITSELF = """\
do p = 0, np - 1
  call MPI_Irecv(r(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, requests(p+1), ierr)
end do
do turn = 1, np
  call MPI_Isend(s(1,1,turn-1), n*nz, MPI_DOUBLE_PRECISION, turn - 1, 5, MPI_COMM_WORLD, &
                 requests(np+turn), ierr)
end do
call MPI_Waitall(2*np, requests(1:2*np), statuses, ierr)
"""
BESIDE = """\
do turn = 0, np - 1
  p = modulo(me + turn, np)
  q = modulo(me - turn, np)
  call MPI_Irecv(r(1,1,q), n*nz, MPI_DOUBLE_PRECISION, q, 5, MPI_COMM_WORLD, &
                 requests(2*turn + 1), ierr)
  call MPI_Isend(s(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, &
                 requests(2*turn + 2), ierr)
end do
call MPI_Waitall(2*np, requests, MPI_STATUSES_IGNORE, ierr)
"""
BY_RANK = BESIDE.replace("2*turn + 1", "q + 1").replace("2*turn + 2", "np + p + 1")
FROM_ZERO = (
    BESIDE.replace("requests", "pairs").replace("2*turn + 1", "np + q").replace("2*turn + 2", "p")
)
BLOCKING = """\
do turn = 0, np - 1
  p = mod(me + turn, np)
  q = mod(me - turn + np, np)
  call MPI_Sendrecv(s(:,:,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, &
                    r(:,:,q), n*nz, MPI_DOUBLE_PRECISION, q, 5, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end do
"""
OWN_LOOP = """\
do z = 1, nz
  do i = 1, n
    r(i,z,me) = s(i,z,me)
  end do
end do
"""
FIRST_SENDS = "pending = 0\n" + SENDS + RECEIVES.partition("\n")[2] + WAIT + OWN_LOOP
GUARDED = (
    (RECEIVES + SENDS + WAIT)
    .replace(
        "  pending = pending + 1\n",
        "  many = counts(p)\n  if (many == 0) cycle\n  pending = pending + 1\n",
    )
    .replace(" n*nz,", " many,")
)


def program(
    exchange: str = RING, *, before: str = "", after: str = "", declare: str = "", beside: str = ""
) -> str:
    """A program that computes planes and exchanges them; parts of it replaced."""
    parts = {"before": before, "exchange": exchange, "after": after, "declare": declare}
    return _PROGRAM.format(
        **{name: indent(dedent(text), "  ") for name, text in parts.items()}, beside=dedent(beside)
    )


GUARDED_COPY = (
    (RECEIVES + SENDS + "r(1:n,1:many,me) = s(1:n,1:many,me)\n" + WAIT)
    .replace("  pending = pending + 1\n", "  if (many == 0) cycle\n  pending = pending + 1\n")
    .replace("n*nz,", "n*many,")
)

FACTOR_COPY = GUARDED_COPY.replace("  if (many == 0) cycle\n", "  if (many > 0) then\n").replace(
    "requests(pending), ierr)\n", "requests(pending), ierr)\n  end if\n"
)


ACCEPTED = {
    "a ring of non-blocking messages": program(),
    "ranks in their order, and requests that are null": program(WITH_NULL + OWN),
    "messages to oneself": program(WITH_ITSELF),
    "blocking exchanges in a ring": program(BLOCKING),
    "sends first, and the own block copied behind the wait": program(FIRST_SENDS),
    "nothing is copied for the rank itself": program(RECEIVES + SENDS + WAIT),
    "messages that may be empty": program(GUARDED),
    "a block that may be empty is copied": program(GUARDED_COPY, before="many = nz - 1\n"),
    "a block with a positive factor is copied": program(FACTOR_COPY, before="many = nz - 1\n"),
    "a wait if there are messages": program(
        RING.replace("call MPI_Wait", "if (pending > 0) call MPI_Wait")
    ),
    "requests of both directions beside each other": program(BESIDE),
    "requests of the ranks": program(BY_RANK),
    "requests that begin with 0": program(
        FROM_ZERO,
        declare="integer, allocatable :: pairs(:)\n",
        before="allocate(pairs(0:2*np-1))\n",
    ),
}

_LATE = """\
do step = 1, 4
  pending = 0
  do turn = 1, np - 1
    p = modulo(me - turn, np)
    if (step == 1) cycle
    pending = pending + 1
    call MPI_Irecv(r(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, &
                   requests(pending), ierr)
  end do
  do turn = 1, np - 1
    p = modulo(me + turn, np)
    if (step == 4) cycle
    pending = pending + 1
    call MPI_Isend(s(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, &
                   requests(pending), ierr)
  end do
  call MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE, ierr)
  print *, me, step, sum(r)
end do
"""
_NEST = """\
  do z = 1, nz
    do p = 0, np - 1
      do i = 1, n
        s(i,z,p) = dble(i*z) + p*me
      end do
    end do
  end do
"""


def _late() -> str:
    text = program(_LATE, declare="integer :: step\n").replace(_NEST, "")
    nest = indent(_NEST.replace("dble(i*z)", "dble(i*z*step)"), "  ")
    return text.replace("  do step = 1, 4\n", "  do step = 1, 4\n" + nest)


# the block of the last rank stays, where all are received in one place
_ONE_PLACE = BLOCKING.replace("r(:,:,q)", "r(:,:,0)")

NOT_AGREED = {
    "blocks that are received in one place": program(_ONE_PLACE),
    "longer receives": program(
        RECEIVES + SENDS.replace("n*nz,", "n*(nz - me),") + OWN.replace(OWN, "") + WAIT
    ),
    "received at the next turn": _late(),
}
"""Programs that are right, but whose ranks find that sends and receives are not alike."""

_AGAIN = """\
do step = 1, 5
  most = min(nz, 2*{most})
  do z = 1, nz
    do p = 0, np - 1
      do i = 1, n
        s(i,z,p) = dble(i*z*step) + p*me
      end do
    end do
  end do
"""


def _again(most: str) -> str:
    exchange = (RECEIVES + SENDS + WAIT).replace("n*nz", "n*most")
    text = indent(_AGAIN.format(most=most) + exchange, "  ").replace("  do step", "do step", 1)
    whole = program(
        text + "  print *, me, step, sum(r)\nend do\n", declare="integer :: step, most\n"
    )
    return whole.replace(_NEST, "")


REPEATED = {"the same lengths": _again("3"), "other lengths": _again("(1 + step/3)")}
"""Exchanges that come again, with blocks that are as long as before, and with others."""
