"""Persistent requests for messages of loops, and the programs in which a request is not kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.transforms.nonblocking.persistent_starts import with_persistent
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse
from support.mpi_run import MPICH, OPENMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_FIELD = """\
module field
  implicit none
  integer, parameter :: n = 100
  real(8) :: u(0:n+1){attributes}
  integer :: comm
end module field
"""
_STEP = """\
subroutine step({dummies})
  use mpi
  use field
  use asphalt_core, only: asphalt_irecv, asphalt_isend
  use asphalt_transfers, only: asphalt_wait
  implicit none
  integer :: asphalt_request_1, asphalt_request_2, k, me, done{more}
  call MPI_Comm_rank(comm, me, k)
  {head}
    call asphalt_irecv({buffer}, 1, MPI_REAL8, me, 1, {comm}, asphalt_request_1)
    call asphalt_isend(u(n), 1, MPI_REAL8, me, 1, {comm}, asphalt_request_2)
    call asphalt_wait(asphalt_request_1, {buffer})
    {between}
    call asphalt_wait(asphalt_request_2, u(n))
  {end}
end subroutine step
"""
_MAIN = """\
program main
  use mpi
  use field
  implicit none
  integer :: ierr, i
  call MPI_Init(ierr)
  comm = MPI_COMM_WORLD
  {calls}
  call MPI_Finalize(ierr)
end program main
"""
RECEIVES, SENDS = "call asphalt_persistent_irecv(", "call asphalt_persistent_isend("


def made(folder: Path, calls: str = "call step()", **parts: str) -> str:
    """What becomes of the procedure."""
    usual = {
        "attributes": "", "dummies": "", "head": "do k = 1, 10", "end": "end do", "buffer": "u(0)",
        "between": "", "comm": "comm", "more": "",
    }  # fmt: skip
    parts = usual | parts
    sources = {
        "field.f90": _FIELD.format(**parts),
        "step.f90": _STEP.format(**parts),
        "main.f90": _MAIN.format(calls=calls),
    }
    stepped = Stepped.of(folder, sources)
    path = str(folder / "step.f90")
    (facts,) = (one for one in stepped.facts() if one.unit.name == "step")
    file = stepped.tree.file(path)
    return unparse(replace_unit(file, facts.unit, with_persistent(facts)))


def test_messages_of_a_loop_are_kept(tmp_path: Path) -> None:
    after = made(tmp_path)
    assert RECEIVES in after
    assert SENDS in after
    assert "call asphalt_wait(asphalt_request_1, u(0))" in after
    assert "use asphalt_core" not in after
    names = "asphalt_persistent_irecv, asphalt_persistent_isend"
    assert f"use asphalt_persistent_transfers, only: {names}\n" in after


ONCE = {"head": "", "end": ""}


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param("do i = 1, 3; call step(); end do", id="in a loop"),
        pytest.param("call step(); call step()", id="called twice"),
    ],
)
def test_procedures_that_are_called_again_and_again(calls: str, tmp_path: Path) -> None:
    assert SENDS in made(tmp_path, calls.replace("; ", "\n  "), **ONCE)


def test_what_is_sent_once_is_not_kept(tmp_path: Path) -> None:
    assert "persistent" not in made(tmp_path, **ONCE)


def test_world_is_never_freed(tmp_path: Path) -> None:
    freed = "call step()\n  call MPI_Comm_free(comm, ierr)"
    assert SENDS in made(tmp_path, freed, comm="MPI_COMM_WORLD")


@pytest.mark.parametrize(
    ("calls", "parts"),
    [
        # MPICH keeps a communicator with requests, and does not call the program's own callbacks
        pytest.param("call step()\n  call MPI_Comm_free(comm, ierr)", {}, id="freed"),
        pytest.param("call step()\n  call MPI_Comm_disconnect(comm, ierr)", {}, id="disconnected"),
    ],
)
def test_communicators_that_are_freed(calls: str, parts: dict[str, str], tmp_path: Path) -> None:
    assert "persistent" not in made(tmp_path, calls, **parts)


@pytest.mark.parametrize(
    "parts",
    [
        # memory at the address of one that is deallocated
        pytest.param(
            {"buffer": "w(1)", "more": "\n  real(8), allocatable :: w(:)"}, id="allocated"
        ),
        pytest.param({"buffer": "w(1)", "more": "\n  real(8), pointer :: w(:)"}, id="pointer"),
        pytest.param({"buffer": "w(1)", "more": "\n  real(8) :: w(3)"}, id="local"),
        pytest.param({"buffer": "w(1)", "more": "\n  real(8) :: w(3)", "dummies": "w"}, id="dummy"),
        # the handle of a kept request is not null behind MPI_WAIT
        pytest.param(
            {"between": "call MPI_Wait(asphalt_request_1, MPI_STATUS_IGNORE, k)"}, id="of MPI"
        ),
        pytest.param({"between": "done = asphalt_request_1"}, id="named elsewhere"),
    ],
)
def test_receives_that_are_not_kept(parts: dict[str, str], tmp_path: Path) -> None:
    calls = "call step(spread(0d0, 1, 3))" if "dummies" in parts else "call step()"
    after = made(tmp_path, calls, **parts)
    assert RECEIVES not in after
    assert SENDS in after


def test_a_local_array_with_save_is_kept(tmp_path: Path) -> None:
    assert RECEIVES in made(tmp_path, buffer="w(1)", more="\n  real(8), save :: w(3)")


_HEAT = """\
module field
  implicit none
  integer, parameter :: n = 200, m = 60
  real(8) :: u(0:n+1, 0:m+1) = 0, v(n, m)
end module field
program heat
  use mpi
  use field
  implicit none
  integer :: me, np, up, down, ierr, step, length, i, j
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  up = merge(me + 1, MPI_PROC_NULL, me + 1 < np)
  down = merge(me - 1, MPI_PROC_NULL, me > 0)
  u(1:n, 1:m) = me + 1
  u(n/2, 1) = 77
  do step = 1, 20
    length = n - mod(step, 7)
    call exchange(length)
    do j = 1, m
      do i = 1, n
        v(i, j) = 0.25d0*(u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1))
      end do
    end do
    u(1:n, 1:m) = v
  end do
  print '(i0, 1x, z17)', me, sum(u)
  call MPI_Finalize(ierr)
contains
  subroutine exchange(long)
    integer, intent(in) :: long
    call MPI_Sendrecv(u(1, m), long, MPI_DOUBLE_PRECISION, up, 1, &
                      u(1, 0), long, MPI_DOUBLE_PRECISION, down, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(u(1, 1), long, MPI_DOUBLE_PRECISION, down, 2, &
                      u(1, m + 1), long, MPI_DOUBLE_PRECISION, up, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine exchange
end program heat
"""


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize(
    ("backends", "kept"), [(("persistent",), True), (("isend", "persistent"), False)]
)
def test_lengths_that_change(
    backends: tuple[str, ...], kept: bool, mpi: Mpi, tmp_path: Path
) -> None:
    """A halo whose messages have other lengths from time to time."""
    path = tmp_path / "heat.f90"
    path.write_text(_HEAT)
    project = Project(path, settings=Settings(backend=backends, cache=False, jobs=1))
    (change,) = project.transform()
    assert (b"call asphalt_persistent_i" in change.after) is kept
    same_lines(mpi, tmp_path, _HEAT, change.after, 1, 3)
