"""Time levels that MOVE_ALLOC rotates: a halo exchange in a procedure of its own, whose explicit
shape the allocations have at all times, goes beside the interior of the update."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.errors import UsageError
from asphalt.config.settings import Settings
from asphalt.config.sizes import size_of
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, Mpi, build, installed, run, runtime_texts

_RING = """\
module ring
  use mpi
  implicit none
  type strip
    integer :: left, right, rows, columns
  end type strip
contains
  subroutine swap(p, a)
    type(strip), intent(in) :: p
    real(8), intent(inout) :: a(0:p%rows+1, 0:p%columns+1)
    real(8) :: top(p%columns), low(p%columns)
    integer :: r(4), ie
    top = a(p%rows, 1:p%columns)
    call MPI_Irecv(low, p%columns, MPI_REAL8, p%left, 1, MPI_COMM_WORLD, r(1), ie)
    call MPI_Irecv(a(1, 0), p%rows, MPI_REAL8, p%left, 2, MPI_COMM_WORLD, r(2), ie)
    call MPI_Isend(top, p%columns, MPI_REAL8, p%right, 1, MPI_COMM_WORLD, r(3), ie)
    call MPI_Isend(a(1, p%columns), p%rows, MPI_REAL8, p%right, 2, MPI_COMM_WORLD, r(4), ie)
    call MPI_Waitall(4, r, MPI_STATUSES_IGNORE, ie)
    a(0, 1:p%columns) = low
  end subroutine swap
end module ring
"""
_WAVE = """\
program wave
  use mpi
  use ring
  implicit none
  type(strip) :: p
  real(8), allocatable :: old(:,:), now(:,:), new(:,:), spare(:,:)
  integer :: ierr, me, np, i, j, t
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  p = strip(modulo(me - 1, np), modulo(me + 1, np), 7, 9)
  allocate (old(0:p%rows+1, 0:p%columns+1), now(0:p%rows+1, 0:p%columns+1), NEW)
  do j = 0, p%columns + 1
    do i = 0, p%rows + 1
      now(i, j) = sin(i + 3.0d0*j + me)
    end do
  end do
  old = now
  new = 0
  do t = 1, 5
    call swap(p, now)
    do j = 1, p%columns
      do i = 1, p%rows
        new(i, j) = 1.5d0*now(i, j) - old(i, j)/2 + (now(i-1, j) + now(i, j-1))/8
      end do
    end do
    call move_alloc(old, spare)
    call move_alloc(now, old)
    call move_alloc(new, now)
    call move_alloc(spare, new)
  end do
  print '(i0, 2z17)', me, sum(now(1:p%rows, 1:p%columns)), sum(old(1:p%rows, 1:p%columns))
  call MPI_Finalize(ierr)
end program wave
"""
_ALIKE = "new(0:p%rows+1, 0:p%columns+1)"


def _project(folder: Path, new: str, *networks: str) -> Project:
    folder.mkdir(exist_ok=True)
    (folder / "ring.f90").write_text(_RING)
    (folder / "wave.f90").write_text(_WAVE.replace("NEW", new))
    sizes = tuple(map(size_of, ("p%rows=600", "p%columns=600")))
    return Project(folder, settings=Settings(cache=False, jobs=1, sizes=sizes, networks=networks))


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
def test_the_exchange_goes_beside_the_interior(mpi: Mpi, tmp_path: Path) -> None:
    given = tmp_path / "given"
    (change,) = _project(given, _ALIKE, "ethernet-1g").outcome().changes
    text = change.after.decode()
    lines = [line.strip() for line in text.splitlines()]
    interior = lines.index("do i = 2, p%rows")
    assert "call swap(p, now)" not in lines
    assert lines.index("top(:) = now(p%rows,1:p%columns)") < interior
    assert interior < lines.index("now(0,1:p%columns) = low")
    made = tmp_path / "made"
    made.mkdir()
    texts = {**runtime_texts(text), "ring.f90": _RING, "wave.f90": text}
    for name, content in texts.items():
        (made / name).write_text(content)
    outputs = []
    for folder, names in ((given, ("ring.f90", "wave.f90")), (made, tuple(texts))):
        place = tmp_path / f"build_{folder.name}"
        place.mkdir()
        program = build(mpi, [folder / name for name in names], place, ["-O2"])
        outputs.append(sorted(run(mpi, program, 3).stdout.splitlines()))
    assert len(outputs[0]) == 3
    assert outputs[1] == outputs[0]


@pytest.mark.parametrize(
    "new", ["new(0:p%rows+2, 0:p%columns+1)", "new(1:p%rows+2, 0:p%columns+1)"]
)
def test_an_array_with_other_bounds_keeps_the_call(new: str, tmp_path: Path) -> None:
    """After the first step, `now` has the bounds that `new` had."""
    outcome = _project(tmp_path, new, "ethernet-1g").outcome()
    assert "wave.f90" not in {change.path.name for change in outcome.changes}
    alike = _project(tmp_path, _ALIKE, "ethernet-1g").outcome()
    assert "wave.f90" in {change.path.name for change in alike.changes}


def test_a_network_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"network ether: there is none; write one of ethernet-1g"):
        _project(tmp_path, _ALIKE, "ether")


def test_steps_are_judged_on_the_networks_that_are_named(tmp_path: Path) -> None:
    """By default these are a fast and a slow one."""

    def judged(*networks: str) -> set[str]:
        outcome = _project(tmp_path, _ALIKE, *networks).outcome()
        steps = [step for one in outcome.procedures for step in one.steps]
        return {gain.network for step in steps for gain in step.gained}

    assert judged() == {"ib-ddr-2009", "ethernet-1g"}
    assert judged("ethernet-10g") == {"ethernet-10g"}
