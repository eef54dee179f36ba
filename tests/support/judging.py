"""Small complete programs, what is said about their one site, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent, indent

from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.diagnostics.change import Change
from asphalt.driver.sites import Site
from asphalt.project import Project

NEST = """\
do z = 1, nz
  do p = 1, np
    do i = 1, n
      s(i,z,p) = dble(i*z) + p*me
    end do
  end do
end do
"""
CALL = """\
call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                  MPI_COMM_WORLD, ierr)
"""
_PROGRAM = """\
program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: i, z, p, me, np, ierr
{arrays}{declare}
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
{allocate}{before}
{nest}{between}{call}{after}
  print *, sum(r)
  call MPI_Finalize(ierr)
{contained}end program exchange
{beside}"""
_ARRAYS = "real(8), allocatable :: s(:,:,:), r(:,:,:)\n"
_ALLOCATE = "allocate(s(n,nz,np), r(n,nz,np))\n"


def program(
    *,
    arrays: str = _ARRAYS,
    declare: str = "",
    allocate: str = _ALLOCATE,
    before: str = "",
    nest: str = NEST,
    between: str = "",
    call: str = CALL,
    after: str = "",
    contained: str = "",
    beside: str = "",
) -> str:
    """A program that computes planes, exchanges them and prints a sum; parts of it replaced.

    ``contained`` are internal procedures, ``beside`` other units of the file.
    """
    parts = {
        "arrays": arrays,
        "declare": declare,
        "allocate": allocate,
        "before": before,
        "nest": nest,
        "between": between,
        "call": call,
        "after": after,
    }
    inner = f"contains\n{indent(dedent(contained), '  ')}" if contained else ""
    return _PROGRAM.format(
        **{name: _indented(text) for name, text in parts.items()},
        contained=inner,
        beside=dedent(beside),
    )


def _indented(text: str) -> str:
    lines = dedent(text).splitlines(keepends=True)
    return "".join(line if line.startswith("#") else f"  {line}" for line in lines)


@dataclass(frozen=True, slots=True)
class Case:
    """A program that gets ``code``, and one that is almost the same and is transformed."""

    code: str
    name: str
    refused: str
    accepted: str
    suffix: str = ".f90"
    verdict: str = "refused"
    defines: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        """How the programs are read."""
        return replace(SETTINGS, defines=self.defines)

    def __str__(self) -> str:
        return f"{self.code}-{self.name}"


SETTINGS = Settings(cache=False, jobs=1, passes=(Pass.PREPUSH,))
"""Exchanges are judged alone."""


def project(
    folder: Path, text: str, suffix: str = ".f90", settings: Settings = SETTINGS
) -> Project:
    """The project that is one file."""
    path = folder / f"exchange{suffix}"
    path.write_bytes(text.encode("latin-1"))
    return Project(path, settings=settings)


def site(
    folder: Path, text: str, suffix: str = ".f90", settings: Settings = SETTINGS, number: int = 0
) -> Site:
    """One site of a file (its first)."""
    found = project(folder, text, suffix, settings)
    assert [problem for problem in found.problems if not problem.note] == []
    return found.sites()[number]


def transformed(
    folder: Path, text: str, suffix: str = ".f90", settings: Settings = SETTINGS
) -> str:
    """A file after the transformation of everything that is proved."""
    changes = project(folder, text, suffix, settings).transform()
    return changes[0].after.decode("latin-1") if changes else text


def assert_refused(case: Case, folder: Path) -> None:
    """The program gets exactly this code, for one condition of one site, and is left alone."""
    found = project(folder, case.refused, case.suffix, case.settings)
    assert found.problems == ()
    report = found.sites()[0].report
    assert (report.verdict, report.code) == (case.verdict, case.code), report
    assert report.message
    assert found.transform() == ()
    assert case.code in ALL_CODES


def assert_accepted(case: Case, folder: Path) -> tuple[Change, ...]:
    """What differs between the two programs is what mattered."""
    found = project(folder, case.accepted, case.suffix, case.settings)
    assert found.problems == ()
    report = found.sites()[0].report
    assert (report.verdict, report.code) == ("proved", None), report
    changes = found.transform()
    assert len(changes) == 1
    assert changes[0].after != changes[0].before
    return changes
