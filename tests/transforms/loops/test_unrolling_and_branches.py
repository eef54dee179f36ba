"""Unrolling of loops that only communicate, and branches that are decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.inlining import inline
from asphalt.transforms.loops import constant_branches, unrolling
from support.mpi_run import MPICH, OPENMPI, installed
from support.stepping import Stepped

UNIT = """\
subroutine step(v, n, flag)
  use mpi
  implicit none
  integer, parameter :: sides = 2
  integer :: n, v(n), k, d, ierr, one
  logical :: flag
  logical, external :: asks
  one = 1
  {body}
end subroutine step
"""
SEND = "call MPI_Send(v(d), 1, MPI_INTEGER, d, 1, MPI_COMM_WORLD, ierr)"


def found(body: str, folder: Path) -> Stepped:
    return Stepped.of(folder / "src", {"a.f90": UNIT.format(body=body)})


def after(tree: Stepped) -> str:
    return tree.text("a.f90").split("one = 1\n")[1].split("end subroutine")[0]


STAYS = {
    "bounds-are-not-known": f"do d = 1, n\n{SEND}\nend do",
    "too-many": f"do d = 1, 9\n{SEND}\nend do",
    "no-turns": f"do d = 2, 1\n{SEND}\nend do",
    "computation": f"do d = 1, 2\n{SEND}\nv = v + d\nend do",
    "divides-by-nothing": f"do d = 1, 2\n{SEND}\nif (flag) k = 6/(d - 1)\nend do",
    "no-logarithm": f"do d = 1, 2\n{SEND}\nif (flag) then\nk = int(log(d - 1.0))\nend if\nend do",
    "inner-loop": f"do d = 1, 2\n{SEND}\ndo k = 1, n\nv(k) = d\nend do\nend do",
    "no-communication": "do d = 1, 2\nv(d) = 1\nend do",
    "only-a-barrier": "do d = 1, 2\ncall MPI_Barrier(MPI_COMM_WORLD, ierr)\nend do",
    "variable-is-changed": f"do d = 1, 2\n{SEND}\nif (flag) d = d + 1\nend do",
    "variable-is-received": "do d = 1, 2\ncall MPI_Recv(d, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, "
    "MPI_STATUS_IGNORE, ierr)\nend do",
    "variable-is-sent": "do d = 1, 2\ncall MPI_Send(d, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, "
    "ierr)\nend do",
    "exit": f"do d = 1, 2\n{SEND}\nif (flag) exit\nend do",
    "cycle-inside": f"do d = 1, 2\nif (flag) then\nif (d == n) cycle\nend if\n{SEND}\nend do",
    "label": f"do d = 1, 2\n10 {SEND}\nend do",
    "shared-line": f"do d = 1, 2; {SEND}; end do",
    "name": f"sides_: do d = 1, 2\n{SEND}\nend do sides_",
    "directive": f"!dir$ unroll\ndo d = 1, 2\n{SEND}\nend do",
    "output": f"do d = 1, 2\n{SEND}\nprint *, d\nend do",
    "unknown-procedure": f"do d = 1, 2\n{SEND}\ncall other(d)\nend do",
    "named-bound-that-may-be-edited": f"do d = 1, sides\n{SEND}\nend do",
}


@pytest.mark.parametrize("name", sorted(STAYS))
def test_loops_that_stay(name: str, tmp_path: Path) -> None:
    tree = found(STAYS[name], tmp_path)
    tree.any_sizes = True
    assert tree.found(unrolling) == []


@pytest.mark.parametrize(
    ("statement", "steps"), [("v(k) = w(k)", 1), ("v(k) = 2*w(k)", 0)], ids=["copies", "computes"]
)
def test_a_procedure_that_computes_is_not_called_in_more_places(
    statement: str, steps: int, tmp_path: Path
) -> None:
    called = f"""\
subroutine give(v, n)
  use mpi
  implicit none
  integer :: n, v(n), w(n), k, ierr
  w = v
  do k = 1, n
    {statement}
  end do
  call MPI_Send(v, n, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierr)
end subroutine give
"""
    body = "do d = 1, 2\ncall give(v, n)\nend do"
    tree = Stepped.of(tmp_path, {"a.f90": UNIT.format(body=body), "b.f90": called})
    assert len(tree.steps(unrolling)) == steps
    # nor is one that does not communicate, beside what does
    alone = called.replace("  call MPI_Send", "  ! call MPI_Send")
    body = f"do d = 1, 2\nif (n > 1) then\n{SEND}\nelse\ncall give(v, n)\nend if\nend do"
    tree = Stepped.of(tmp_path / "alone", {"a.f90": UNIT.format(body=body), "b.f90": alone})
    assert len(tree.steps(unrolling)) == steps


_COUNTS = """\
module tally
  implicit none
  integer :: calls(9) = 0, total = 0
  real(8) :: since = 0
contains
  subroutine note(k)
    use mpi
    integer, intent(in) :: k
    {0}
  end subroutine note
end module tally
"""


@pytest.mark.parametrize(
    ("statement", "steps"),
    [
        ("calls(k) = calls(k) + 1", 1),
        ("if (k > 1) total = total + 1", 1),
        ("since = MPI_Wtime()", 1),
        ("calls = calls + 1", 0),  # computes
        ("print *, k", 0),
        ("call elsewhere(k)", 0),
        ("if (calls(k) > 3) stop", 0),
        ("do while (calls(k) < 3); calls(k) = calls(k) + 1; end do", 0),
    ],
)
def test_calls_that_only_count_stand_in_no_way(statement: str, steps: int, tmp_path: Path) -> None:
    body = f"do d = 1, 2\n{SEND}\ncall note(d)\nend do"
    unit = UNIT.replace("  use mpi\n", "  use mpi\n  use tally, only: note\n", 1)
    files = {"a.f90": _COUNTS.format(statement), "b.f90": unit.format(body=body)}
    assert len(Stepped.of(tmp_path, files).steps(unrolling)) == steps


def test_the_variable_of_a_loop_that_a_procedure_inside_uses_stays(tmp_path: Path) -> None:
    # ready would send with a number that nobody has given
    loop = "do d = 1, 2\ncall ready(v)\nend do\ncontains\nsubroutine ready({0})\ninteger :: {0}\n"
    loop += f"{SEND}\nend subroutine ready"
    assert found(loop.format("v(*)"), tmp_path / "host").found(unrolling) == []
    own = found(loop.format("v(*), d"), tmp_path / "own")
    assert len(own.steps(unrolling)) == 1


def test_a_loop_becomes_its_iterations(tmp_path: Path) -> None:
    body = f"! both sides\n  do d = 3, 1, -2\n    if (v(d) < 0) cycle\n    {SEND}\n  end do"
    tree = found(body, tmp_path)
    assert tree.applied(unrolling) == 1
    assert (
        after(tree)
        == """\
  ! both sides
  ! asphalt: the loop over d is unrolled
  if (.not. (v(3) < 0)) then
    call MPI_Send(v(3), 1, MPI_INTEGER, 3, 1, MPI_COMM_WORLD, ierr)
  end if
  if (.not. (v(1) < 0)) then
    call MPI_Send(v(1), 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierr)
  end if
  d = -1
"""
    )


UNDECIDED = {
    "a-variable": "if (n == 1) k = 1",
    "a-function-with-effects": "if (1 == 0 .and. asks(n)) k = 1",
    "changed-before": "one = 2\n  if (one == 1) k = 1",
    "changed-on-a-way": "if (flag) one = 2\n  if (one == 1) k = 1",
    "a-named-constant-that-may-be-edited": "if (sides == 2) k = 1",
    "part-of-a-range": "select case (1)\n  case (0:sides)\n    k = 1\n  end select",
    "label": "10 if (1 == 0) k = 1",
    "shared-line": "if (1 == 0) k = 1; k = 2",
    "output": "if (1 == 1) print *, n",
    "directive": "!dir$ novector\n  if (1 == 0) k = 1",
    "a-format-that-others-use": "if (1 == 0) then\n10  format (i3)\n  end if\n  write (*, 10) n",
}


@pytest.mark.parametrize("name", sorted(UNDECIDED))
def test_branches_that_stay(name: str, tmp_path: Path) -> None:
    tree = found(UNDECIDED[name], tmp_path)
    tree.any_sizes = True
    assert tree.found(constant_branches) == []


DECIDED = {
    "if (1 == 0) k = 1\n  k = 2": "  k = 2\n",
    "if (one == 1) k = 1": "  k = 1\n",
    "! why\n  if (.not. (1 > 0 .and. .true.)) then\n    k = 1\n"
    "  else\n    ! so\n    k = 2\n  end if": ("  ! why\n  ! so\n  k = 2\n"),
    "if (flag) then\n    k = 1\n  else if (1 == 1) then\n    k = 2\n  else\n    k = 3\n  end if": (
        "  if (flag) then\n    k = 1\n  else\n    k = 2\n  end if\n"
    ),
    "if (1 == 2) then\n    k = 1\n  else if (flag) then\n    k = 2\n  end if": (
        "  if (flag) then\n    k = 2\n  end if\n"
    ),
    "select case (-1)\n  case (:-2, 4)\n    k = 1\n  case (-1:)\n    k = 2\n  case default\n"
    "    k = 3\n  end select": "  k = 2\n",
    "select case (one + 6)\n  case (1)\n    k = 1\n"
    "  case default\n    k = 3  ! else\n  end select": ("  k = 3  ! else\n"),
}


@pytest.mark.parametrize("body", sorted(DECIDED))
def test_what_is_left(body: str, tmp_path: Path) -> None:
    tree = found(body, tmp_path)
    tree.any_sizes = True
    assert tree.applied(constant_branches) >= 1
    assert after(tree) == DECIDED[body]


PROGRAM = """\
module faces
  use mpi
  implicit none
  integer :: peer(-1:1, 2) = MPI_PROC_NULL, turns = 0
contains
  subroutine all_faces(u, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(0:n+1, 0:n+1)
    integer :: axis, dir
    do axis = 1, 2
      if (peer(1, axis) == MPI_PROC_NULL .and. peer(-1, axis) == MPI_PROC_NULL) cycle
      do dir = -1, 1, 2
        call face(u, n, axis, dir)
      end do
    end do
    turns = turns + axis*10 + dir
  end subroutine all_faces

  subroutine face(u, n, axis, dir)
    integer, intent(in) :: n, axis, dir
    real(8), intent(inout) :: u(0:n+1, 0:n+1)
    real(8) :: out(n), in(n)
    integer :: i, ierr
    select case (axis)
    case (1)
      out = u(merge(1, n, dir < 0), 1:n)
    case default
      do i = 1, n
        out(i) = u(i, merge(1, n, dir < 0))
      end do
    end select
    call MPI_Sendrecv(out, n, MPI_DOUBLE_PRECISION, peer(dir, axis), 10*axis + dir, &
                      in, n, MPI_DOUBLE_PRECISION, peer(-dir, axis), 10*axis + dir, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    if (peer(-dir, axis) == MPI_PROC_NULL) return
    if (axis == 1) then
      u(merge(n + 1, 0, dir < 0), 1:n) = in
    else
      u(1:n, merge(n + 1, 0, dir < 0)) = in
    end if
  end subroutine face
end module faces

program smooth
  use mpi
  use faces
  implicit none
  integer, parameter :: n = 5
  real(8) :: u(0:n+1, 0:n+1)
  integer :: me, np, i, j, step, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  if (me > 0) peer(-1, 1) = me - 1
  if (me < np - 1) peer(1, 1) = me + 1
  peer(:, 2) = me
  u = reshape([(sin(i + 7d0*me), i = 1, size(u))], shape(u))
  do step = 1, 3
    call all_faces(u, n)
    do j = 1, n
      do i = 1, n
        u(i, j) = 0.25d0*(u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1))
      end do
    end do
  end do
  print '(2i5, 2z17)', me, turns, transfer(sum(u), 0_8), transfer(u(2, 3), 0_8)
  call MPI_Finalize(ierr)
end program smooth
"""


def test_the_program_prints_the_same(tmp_path: Path) -> None:
    (mpi, *_) = installed(OPENMPI, MPICH)
    tree = Stepped.of(tmp_path / "src", {"smooth.f90": PROGRAM})
    tree.any_sizes = True
    before = tree.result(mpi, tmp_path / "before", ["smooth.f90"], 2)
    assert tree.applied(unrolling, constant_branches, inline, unit="all_faces") == 2 + 4 + 4 * 2
    text = tree.text("smooth.f90").split("subroutine face")[0]
    assert text.count("MPI_Sendrecv(") == 4
    assert "select" not in text
    assert " do axis" not in text
    after_steps = tree.result(mpi, tmp_path / "after", ["smooth.f90"], 2)
    assert before == after_steps
