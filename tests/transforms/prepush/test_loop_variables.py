"""What the loop variables are behind an exchange in tiles, on both MPIs' terms: as without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.project import Project
from support.judging import SETTINGS
from support.mpi_run import MPICH, OPENMPI, RUNTIME, build, installed, run

PROGRAM = """\
program main
  use mpi
  implicit none
  integer :: ierr, np, sizes(2), which
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do which = 1, 4
    sizes = [mod(which, 2)*3, which/3*4]
    call one(sizes(1), sizes(2), np)
  end do
  call MPI_Finalize(ierr)
contains
  subroutine one(n, nz, np)
    integer, intent(in) :: n, nz, np
    real(8) :: s({shape}), r({shape})
    integer :: i, p, z
    i = -5
    p = -6
    z = -7
    {nest}
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    print *, n, nz, i, p, z, sum(r)
  end subroutine one
end program main
"""
SHAPES = {
    "outermost": ("n,nz,np", "do z = 1, nz\ndo p = 1, np\ndo i = 1, n\ns(i,z,p) = i + z + p"),
    "inside": ("n,nz,np", "do p = 1, np\ndo z = 1, nz\ndo i = 1, n\ns(i,z,p) = i + z + p"),
    "strided": ("nz,n,np", "do p = 1, np\ndo i = 1, n\ndo z = 1, nz\ns(z,i,p) = i + z + p"),
    "slab": ("n,nz*np", "do z = 1, nz*np\ndo i = 1, n\ns(i,z) = i + z"),
    "slab inside": ("n,nz*np", "do i = 1, n\ndo z = 1, nz*np\ns(i,z) = i + z"),
    "rows": ("n,nz*np", "do z = 1, nz*np\ndo i = 1, n\ns(i,z) = 10*z + i"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_loop_variables_are_left_as_without_tiles(name: str, tmp_path: Path) -> None:
    """Loops inside of others without iterations leave their variables as they were."""
    shape, loops = SHAPES[name]
    nest = f"{loops}\n" + "end do\n" * loops.count("do ")
    texts = {"before": PROGRAM.format(shape=shape, nest=nest)}
    (tmp_path / "given").mkdir()
    given = tmp_path / "given" / "main.f90"
    given.write_text(texts["before"])
    (change,) = Project(given, settings=SETTINGS).transform(tile=2, depth=2)
    texts["after"] = change.after.decode()
    assert "%begin" in texts["after"]
    mpi = installed(OPENMPI, MPICH)[0]
    printed = []
    for which, text in texts.items():
        folder = tmp_path / which
        folder.mkdir()
        (folder / "main.f90").write_text(text)
        (folder / "asphalt_params.inc").write_text(
            "".join(
                f"      integer, parameter :: asphalt_{what}_{entry.site} = 2\n"
                for entry in change.parameters
                for what in "kd"
            )
        )
        runtime = RUNTIME if which == "after" else ()
        program = build(mpi, [*runtime, folder / "main.f90"], folder, ["-O1"])
        outcomes = [run(mpi, program, ranks) for ranks in (1, 2)]
        assert [outcome.code for outcome in outcomes] == [0, 0]
        printed.append([sorted(outcome.stdout.splitlines()) for outcome in outcomes])
    assert printed[0] == printed[1]
