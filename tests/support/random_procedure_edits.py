"""A tree of procedures that call each other in many ways, and random edits of what they do."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

STATE = """\
module state
  implicit none
  integer, parameter :: wp = kind(1d0)
  integer :: counter = 0, level
  integer, allocatable :: table(:)
  real(wp) :: field(10)
  interface area
    module procedure area_of_integer, area_of_real
  end interface area
contains
  subroutine area_of_integer(n)
    integer, intent(inout) :: n
    n = n + 1
  end subroutine area_of_integer
  subroutine area_of_real(x)
    real(wp), intent(inout) :: x
    x = x + 1.0
  end subroutine area_of_real
  subroutine grow(n)
    integer, intent(in) :: n
    allocate (table(n))
    table = 0
  end subroutine grow
end module state
"""
AGAIN = """\
module again
  use state, only: enlarge => area_of_integer, counter
  implicit none
contains
  subroutine counted(n)
    integer, intent(inout) :: n
    n = n + 1
    counter = counter + 1
  end subroutine counted
end module again
"""
LOW = """\
subroutine low(n)
  integer, intent(inout) :: n
  n = n + 1
end subroutine low

subroutine quiet(n)
  integer, intent(inout) :: n
  n = 2
end subroutine quiet

subroutine shared(n)
  integer, intent(inout) :: n
  integer :: a, b
  common /both/ a, b
  a = n
end subroutine shared

subroutine fill(x, n, m)
  integer, intent(in) :: n, m
  real(8), intent(inout) :: x(n)
  integer :: i
  do i = 1, n
    x(i) = m
  end do
end subroutine fill
"""
HIGH = """\
subroutine by_call(n)
  integer, intent(inout) :: n
  call low(n)
end subroutine by_call

subroutine by_generic(n)
  use state
  integer, intent(inout) :: n
  call area(n)
  call grow(n)
end subroutine by_generic

subroutine by_other_name(n)
  use again
  integer, intent(inout) :: n
  call enlarge(n)
  call counted(n)
end subroutine by_other_name

subroutine around(n)
  integer, intent(inout) :: n
  integer :: m
  m = 1
  call inside()
  n = m
contains
  subroutine inside()
    m = 3
  end subroutine inside
end subroutine around

recursive subroutine ping(n)
  integer, intent(inout) :: n
  if (n > 0) call pong(n)
end subroutine ping

recursive subroutine pong(n)
  integer, intent(inout) :: n
  n = n - 1
  call ping(n)
  call quiet(n)
end subroutine pong
"""
SENDS = """\
subroutine exchange(s, r, nz, np, comm)
  use mpi
  use state, only: wp, level
  implicit none
  integer, intent(in) :: nz, np, comm
  real(8), intent(inout) :: s(4, nz, np), r(4, nz, np)
  integer :: p, z, k, ierr
  do z = 1, nz
    do p = 1, np
      k = z
      call by_call(k)
      call ping(k)
      call by_generic(k)
      call around(k)
      call shared(k)
      call fill(s(:, z, p), 4, k)
    end do
  end do
  call MPI_Alltoall(s, 4*nz, MPI_DOUBLE_PRECISION, r, 4*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  if (ierr /= 0) call give_up(ierr)
end subroutine exchange

subroutine give_up(code)
  integer, intent(in) :: code
  if (code /= 0) stop 1
end subroutine give_up

subroutine shift(u, n, left, right, comm)
  use mpi
  use again
  implicit none
  integer, intent(in) :: n, left, right, comm
  real(8), intent(inout) :: u(0:n + 1)
  integer :: k, ierr, status(MPI_STATUS_SIZE)
  k = 1
  call counted(k)
  call MPI_Sendrecv(u(n), k, MPI_REAL8, right, 1, u(0), 1, MPI_REAL8, left, 1, comm, status, ierr)
end subroutine shift
"""
MAIN = """\
program main
  use mpi
  use state
  implicit none
  integer :: np, me, ierr, n
  real(8), allocatable :: s(:, :, :), r(:, :, :), u(:)
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  n = 8
  allocate (s(4, n, np), r(4, n, np), u(0:n + 1))
  u = me
  call exchange(s, r, n, np, MPI_COMM_WORLD)
  call shift(u, n, modulo(me - 1, np), modulo(me + 1, np), MPI_COMM_WORLD)
  call by_other_name(n)
  print *, r, u, n
  call MPI_Finalize(ierr)
end program main
"""
FILES = {
    "state.f90": STATE,
    "again.f90": AGAIN,
    "low.f90": LOW,
    "high.f90": HIGH,
    "sends.f90": SENDS,
    "main.f90": MAIN,
}
_STATEMENTS = (
    "continue",
    "print *, 1",
    "call low({v})",
    "call quiet({v})",
    "call ping({v})",
    "call pong({v})",
    "call by_call({v})",
    "call around({v})",
    "call shared({v})",
    "call unseen({v})",
    "{v} = {v} + 1",
    "{v} = 2",
    "if ({v} > 3) {v} = 0",
    "if ({v} > 3) return",
    "stop",
    "! a comment",
    "",
)
_DECLARATIONS = (
    "integer :: more",
    "integer, save :: kept",
    "integer :: a, b; common /both/ a, b",
    "integer :: table(7)",
    "external low",
    "! a comment",
    "interface low; end interface",
)
_WHOLE = (
    ("intent(inout) :: n", "intent(in) :: n"),
    ("intent(inout) :: n", "intent(inout) :: n(3)"),
    ("kind(1d0)", "kind(1e0)"),
    ("counter = 0", "counter = 1"),
    ("allocate (table(n))", "allocate (table(5))"),
    ("subroutine quiet", "subroutine quite"),
    ("subroutine low(n)", "pure subroutine low(n)"),
    ("module procedure area_of_integer, area_of_real", "module procedure area_of_real"),
    ("use again\n", "use again, only: counted\n"),
    ("a = n", "b = n"),
    ("m = 3", "m = n"),
    ("x(i) = m", "x(i) = x(i) + m"),
    ("do i = 1, n", "do i = 1, n - 1"),
    ("MPI_Alltoall(s", "MPI_Alltoall(r"),
    ("(code /= 0)", "(code == 0)"),
    ("real(wp), intent", "real(4), intent"),
    ("recursive subroutine ping", "subroutine ping"),
)
_HEAD = re.compile(r"^ *(?:recursive |pure )?(?:subroutine|program|module) (\w+)(\(.*\))?$")


def write_files(folder: Path) -> None:
    """Write the tree."""
    for name, text in FILES.items():
        (folder / name).write_text(text)


def random_edit(folder: Path, random: Random) -> str:
    """Do one random edit of the tree, and say which."""
    name = random.choice(list(FILES))
    path = folder / name
    text = path.read_text()
    kind = random.choice(["insert", "insert", "insert", "delete", "declare", "whole", "restore"])
    lines = text.split("\n")
    done = ""
    match kind:
        case "insert":
            places = [n for n, line in enumerate(lines) if "=" in line and "::" not in line]
            if not places:
                return "nothing"
            place = random.choice(places)
            variable = re.match(r"\s*(?:if \(.*\) )?(\w+)", lines[place])
            assert variable is not None
            done = random.choice(_STATEMENTS).format(v=variable[1])
            lines.insert(place + random.randint(0, 1), "    " + done)
        case "delete":
            places = [n for n, line in enumerate(lines) if re.match(r"\s*(call|\w+ =|print)", line)]
            if not places:
                return "nothing"
            done = lines.pop(random.choice(places))
        case "declare":
            places = [n for n, line in enumerate(lines) if "::" in line]
            if not places:
                return "nothing"
            done = random.choice(_DECLARATIONS)
            lines.insert(random.choice(places) + 1, "  " + done)
        case "whole":
            pairs = [pair for one in _WHOLE for pair in (one, one[::-1]) if pair[0] in text]
            if not pairs:
                return "nothing"
            old, new = random.choice(pairs)
            done = f"{old!r} to {new!r}"
            lines = text.replace(old, new, 1).split("\n")
        case _:
            lines = FILES[name].split("\n")
    path.write_text("\n".join(lines))
    return f"{kind} in {name}: {done}"
