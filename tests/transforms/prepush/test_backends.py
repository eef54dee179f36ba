"""What may carry the pieces of an exchange: the argument, the header, and runs of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.errors import UsageError
from asphalt.config.limits import HEADER
from asphalt.config.settings import Settings
from asphalt.output.write import write_tree
from asphalt.project import Project
from support.judging import site, transformed
from support.mpi_run import MPICH, OPENMPI, Mpi, build, compile_source, installed, run

BOTH = Settings(backend=("persistent",), tile=3, depth=2, cache=False)

SITE = """\
    integer :: i, z, p
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          {send}(i,z,p) = dble(i*z)*step + p*me
        end do
      end do
    end do
    call MPI_Alltoall({send}, n*nz, MPI_DOUBLE_PRECISION, {receive}, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
"""


def source(declarations: str, *, of_main: str = "", send: str = "s", receive: str = "r") -> str:
    """A program with a module and an internal procedure, which makes the exchange five times."""
    return f"""\
module buffers
  implicit none
  integer, parameter :: n = 20, nz = 10
  real(8) :: r(n, nz, 4)
  real(8), allocatable :: passing(:,:,:)
  real(8), pointer :: elsewhere(:,:,:)
end module buffers
program main
  use mpi
  use buffers
  implicit none
  integer :: np, me, ierr, step
  real(8) :: total
  real(8) :: own(n, nz, 4)
  {of_main}
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(passing(n, nz, 4), elsewhere(n, nz, 4))
  total = 0
  do step = 1, 5
    own = step
    call transpose(own)
    total = total + sum(r(:,:,:np))
  end do
  print '(i0,es24.16)', me, total
  call MPI_Finalize(ierr)
contains
  subroutine transpose(given)
    real(8), intent(inout) :: given(n, nz, 4)
    {declarations}
{SITE.format(send=send, receive=receive)}
  end subroutine transpose
end program main
"""


@pytest.mark.parametrize(
    ("given", "lasting"),
    [
        (source("real(8), save :: s(n, nz, 4)"), True),
        (source("real(8) :: s(n, nz, 4)\n    common /area/ s"), True),
        (source("", of_main="real(8) :: s(n, nz, 4)"), True),
        (source("real(8) :: s(n, nz, 4)"), False),  # it may stand elsewhere the next time
        (source("", send="given"), False),  # whatever it is
        (source("", send="passing"), False),  # it may be deallocated
        (source("", of_main="real(8) :: s(n, nz, 4)", receive="given"), False),  # both must last
    ],
)
def test_buffers_that_last_are_told(given: str, lasting: bool, tmp_path: Path) -> None:
    text = " ".join(transformed(tmp_path, given, settings=BOTH).replace("&", "").split())
    assert "site='transpose', backend=asphalt_backend_transpose" in text
    assert ("lasting=.true." in text) == lasting
    assert "persistent" not in text  # the header alone says so


def test_without_a_choice_nothing_is_said(tmp_path: Path) -> None:
    given = source("real(8), save :: s(n, nz, 4)")
    text = transformed(tmp_path, given, settings=Settings(tile=3, cache=False))
    assert "call asphalt_x%begin(" in text
    assert "backend" not in text


def test_reports_name_the_backend(tmp_path: Path) -> None:
    text = source("real(8), save :: s(n, nz, 4)")
    assert site(tmp_path, text).report.backend == "isend"
    assert site(tmp_path, text, settings=BOTH).report.backend == "persistent"


@pytest.mark.parametrize("names", [(), ("persistent", "shmem")])
def test_backends_that_do_not_exist(names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"backend"):
        Settings(backend=names)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_the_header_chooses(mpi: Mpi, tmp_path: Path) -> None:
    """One text, both backends, and what the original prints; another name is told of."""
    given, out = tmp_path / "src", tmp_path / "out"
    given.mkdir()
    main = given / "main.f90"
    main.write_text(source("real(8), save :: s(n, nz, 4)"))
    written = write_tree([given], Project(given, settings=BOTH).transform(), out)
    flags = ["-O3", "-flto", "-Wall"]
    expected = run(mpi, build(mpi, [main], given, ["-w"]), 3)
    header = (out / HEADER).read_text()
    for name in ("persistent", "isend"):
        (out / HEADER).write_text(
            header.replace("=> asphalt_by_persistent", f"=> asphalt_by_{name}")
        )
        program = build(mpi, [*written.runtime, out / "main.f90"], out, flags)
        outcome = run(mpi, program, 3)
        assert outcome.code == expected.code == 0
        assert sorted(outcome.stdout.splitlines()) == sorted(expected.stdout.splitlines())
    (out / HEADER).write_text(header.replace("=> asphalt_by_persistent", "=> asphalt_by_shmem"))
    outcome = compile_source(mpi, out / "main.f90", out)
    assert outcome.code != 0
    assert HEADER in outcome.stderr
    assert "asphalt_by_shmem" in outcome.stderr


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_a_backend_that_asphalt_does_not_have(mpi: Mpi, tmp_path: Path) -> None:
    """A file beside the runtime and two lines of the header put it in; no other text changes."""
    given, out = tmp_path / "src", tmp_path / "out"
    given.mkdir()
    main = given / "main.f90"
    main.write_text(source("real(8), save :: s(n, nz, 4)"))
    written = write_tree([given], Project(given, settings=BOTH).transform(), out)
    expected = run(mpi, build(mpi, [main], given, ["-w"]), 3)
    header = (out / HEADER).read_text()
    (out / HEADER).write_text(
        "      external :: asphalt_by_synchronous\n"
        + header.replace("=> asphalt_by_persistent", "=> asphalt_by_synchronous")
    )
    another = Path(__file__).with_name("asphalt_backend_synchronous.f90")
    program = build(mpi, [*written.runtime, another, out / "main.f90"], out, ["-O2", "-Wall"])
    outcome = run(mpi, program, 3)
    assert outcome.code == expected.code == 0
    assert sorted(outcome.stdout.splitlines()) == sorted(expected.stdout.splitlines())
    assert outcome.stderr.count("synchronous pieces: 12\n") == 15  # 3 ranks, 5 exchanges
