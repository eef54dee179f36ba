"""Programs in which each rank fills a message, sends it to one neighbour, and uses what it gets
from the other one."""

from __future__ import annotations

PROGRAM = """\
module grid
  implicit none
  integer, parameter :: n = 12, m = {rows}
end module grid
subroutine shift(u, left, right, comm, k)
  use mpi
  use grid
  implicit none
  real(8), intent(inout) :: u(m, n)
  integer, intent(in) :: comm, k
  integer :: left, right
  real(8) :: west(m, n), east(m, n)
  integer :: i, j, me, np, ierr, status(MPI_STATUS_SIZE)
  real(8) :: t
  call MPI_Comm_rank(comm, me, ierr)
  call MPI_Comm_size(comm, np, ierr)
  west = k
  t = 0
{body}
  u(1,1) = u(1,1) + t
end subroutine shift
program main
  use mpi
  use grid
  implicit none
  real(8) :: u(m, n)
  integer :: me, np, left, right, step, i, j, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
{neighbours}
  do j = 1, n
    do i = 1, m
      u(i,j) = modulo(7*i + 3*j + me, 11)
    end do
  end do
  do step = 1, 3
    call shift(u, left, right, MPI_COMM_WORLD, step)
  end do
{more}
  print '(i3, 3es25.17)', me, u(m,n), u(1,1), sum(u)
  call MPI_Finalize(ierr)
end program main
{other}
"""
RING = """\
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
"""
CHAIN = """\
  left = MPI_PROC_NULL
  right = MPI_PROC_NULL
  if (me > 0) left = me - 1
  if (me < np - 1) right = me + 1
"""
SENDRECV = """\
  call MPI_Sendrecv(east, m*n, MPI_DOUBLE_PRECISION, right, 1, west, m*n, &
                    MPI_DOUBLE_PRECISION, left, 1, comm, status, ierr)
"""
SEND = "  call MPI_Send(east, m*n, MPI_DOUBLE_PRECISION, right, 1, comm, ierr)\n"
RECV = "  call MPI_Recv(west, m*n, MPI_DOUBLE_PRECISION, left, 1, comm, status, ierr)\n"


def nest(*statements: str, along: str = "1, n") -> str:
    """Two loops, one iteration of the outer one for each segment."""
    inside = "".join(f"      {statement}\n" for statement in statements)
    return f"  do j = {along}\n    do i = 1, m\n{inside}    end do\n  end do\n"


FILL = nest("east(i,j) = 0.5d0*u(i,j) + k")
USE = nest("u(i,j) = u(i,j) + 0.25d0*west(i,j)")


def program(
    body: str = FILL + SENDRECV + USE,
    neighbours: str = RING,
    rows: int = 20000,
    more: str = "",
    other: str = "",
) -> str:
    """The text; ``body``: what the procedure does."""
    return PROGRAM.format(body=body, neighbours=neighbours, rows=rows, more=more, other=other)


def branch(condition: str, body: str) -> str:
    """Statements under a condition."""
    return f"  if ({condition}) then\n{body}  end if\n"


ALLOWED = {
    "sendrecv": program(),
    "send_receive": program(FILL + SEND + RECV + USE, CHAIN),
    "receive_first": program(
        FILL + branch("mod(me, 2) == 0", "    t = 1\n") + SEND + RECV + USE, CHAIN
    ),
    "conditions": program(branch("me < np - 1", FILL + SEND) + branch("me > 0", RECV + USE), CHAIN),
    "packed_under_a_condition": program(
        nest("u(i,j) = 0.5d0*u(i,j)")
        + branch("right /= MPI_PROC_NULL", FILL + SEND)
        + branch("left /= MPI_PROC_NULL", RECV + USE)
        + nest("u(i,j) = u(i,j) + 1"),
        CHAIN,
    ),
    "arms": program(
        f"  if (mod(me, 2) == 0) then\n{FILL}{SEND}  else\n{RECV}{USE}  end if\n", CHAIN
    ),
    "other_arms": program(
        f"  if (mod(me, 2) == 1) then\n{RECV}{USE}  else\n{FILL}{SEND}  end if\n", CHAIN
    ),
    "fills_alone": program(FILL + SENDRECV + "  t = sum(west)\n"),
    "uses_alone": program("  east = u + k\n" + SENDRECV + USE),
    "one_line_conditions": program(
        FILL
        + SEND.replace("  call", "  if (right >= 0) call")
        + RECV.replace("  call", "  if (left >= 0) call")
        + USE,
        CHAIN,
    ),
    "two_nests": program(
        nest("u(i,j) = 0.5d0*u(i,j)") + FILL + SENDRECV + USE + nest("u(i,j) = u(i,j) + west(i,j)")
    ),
    "something_between": program(FILL + "  t = k\n" + SENDRECV + "  t = t + 1\n" + USE),
    "both_ways": program(
        FILL
        + SENDRECV
        + USE
        + FILL
        + SENDRECV.replace("left, 1", "there, 2")
        .replace("right, 1", "left, 2")
        .replace("there", "right")
        + USE
    ),
}
"""Programs whose messages are cut."""

FIXED = {
    "sizes.inc": "      integer, parameter :: n = 10, m = 9000\n",
    "ring.f": """\
      PROGRAM RING
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'sizes.inc'
      DOUBLE PRECISION U(3,M,N)
      INTEGER ME, NP, STEP, IERR, I, J, L
      COMMON /RANKS/ ME, NP
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      DO 5 J = 1, N
      DO 5 I = 1, M
      DO 5 L = 1, 3
    5 U(L,I,J) = MOD(5*I + 3*J + L + ME, 13)
      DO STEP = 1, 3
         CALL SHIFT(N, U)
      END DO
      PRINT '(I3, 2ES25.17)', ME, U(2,M,N), SUM(U)
      CALL MPI_FINALIZE(IERR)
      END

C     TO THE NEXT RANK
      SUBROUTINE SHIFT(LN, U)
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'sizes.inc'
      INTEGER LN, I, J, L, IERR, ISTAT(MPI_STATUS_SIZE)
      DOUBLE PRECISION U(3,M,N), BOUT(3*M,N), BIN(3*M,N)
      INTEGER ME, NP
      COMMON /RANKS/ ME, NP
      DO 10 J = 1, LN
      DO 10 I = 1, M
      DO 10 L = 1, 3
   10 BOUT(3*(I-1)+L,J) = 0.5D0*U(L,I,J) + ME
C     AROUND THE RING
      CALL MPI_SENDRECV(BOUT, 3*M*N, MPI_DOUBLE_PRECISION,
     &     MOD(ME+1,NP), 7, BIN, 3*M*N, MPI_DOUBLE_PRECISION,
     &     MOD(ME-1+NP,NP), 7, MPI_COMM_WORLD, ISTAT, IERR)
      DO 20 J = 1, N
      DO 20 I = 1, M
      DO 20 L = 1, 3
   20 U(L,I,J) = U(L,I,J) + 0.25D0*BIN(3*(I-1)+L,J)
      END
""",
}
"""A ring in fixed form, with loops that end together."""
