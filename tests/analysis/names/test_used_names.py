"""New names are none that come by USE: they could not be declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.names.scopes import scope_of
from asphalt.analysis.names.used_names import used_names
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, RUNTIME, SMPI, Mpi, build, installed, run

_MODULES = """\
module deepest
  implicit none
  integer :: asphalt_request_1 = 1, asphalt_request_4 = 4, unrelated = 5
end module deepest

module deeper
  use deepest
  implicit none
  private :: asphalt_request_4
  integer, parameter :: asphalt_a_1 = 6, asphalt_lo_7 = 7
end module deeper

module closed
  implicit none
  private
  integer, public :: asphalt_request_2 = 2
  integer :: asphalt_request_9 = 9
end module closed
"""
_KIND = "MPI_DOUBLE_PRECISION"
_HOST = f"""\
module host
  use mpi
  implicit none
  integer :: asphalt_request_1 = 11, asphalt_request_5 = 15
contains
  subroutine exchange(a, b, c, n, left, right, found)
{{uses}}
    integer, intent(in) :: n, left, right
    integer, intent(out) :: found
    real(8), intent(inout) :: a(n), b(n), c(n)
    integer :: i, ierr
    call MPI_Sendrecv(a, n, {_KIND}, right, 1, b, n, {_KIND}, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      c(i) = c(i)*sin(dble(i))
    end do
    found = {{found}}
{{inside}}  end subroutine exchange
end module host
"""
_MAIN = """\
program main
  use mpi
  use host, only: exchange
  implicit none
  integer, parameter :: n = 3000
  integer :: me, np, found, ierr
  real(8) :: a(n), b(n), c(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me; b = 0; c = 1
  call exchange(a, b, c, n, modulo(me - 1, np), modulo(me + 1, np), found)
  print '(i0, 2z17, i8)', me, sum(b), sum(c), found
  call MPI_Finalize(ierr)
end program main
"""
_INSIDE = """\
  contains
    integer function hidden()
      hidden = asphalt_request_5
    end function hidden
"""
CASES = {
    # what is used, what is read of it, what is inside; the number of the first new request
    "all of a module": ("use deepest", "unrelated", "", 5),
    "all of a module that gives names on": ("use deeper", "asphalt_lo_7", "", 2),
    "what is not private": ("use closed", "n", "", 3),
    "of a list": ("use deepest, only: asphalt_request_4", "asphalt_request_4", "", 5),
    "of a list without it": ("use deepest, only: unrelated", "unrelated", "", 1),
    "renamed to it": ("use deepest, only: asphalt_request_3 => unrelated", "n", "", 4),
    "renamed from it": ("use deepest, four => asphalt_request_4", "four", "", 5),
    "of the host": ("", "asphalt_request_5", "", 6),
    "of the host, by a procedure inside": ("", "hidden()", _INSIDE, 6),
    "of the host, not mentioned": ("", "n", "", 1),
}


def _optimised(folder: Path, name: str) -> tuple[list[str], Optimised]:
    uses, found, inside, _ = CASES[name]
    folder.mkdir()
    indented = f"    {uses}" if uses else "    ! nothing is used"
    texts = [_MODULES, _HOST.format(uses=indented, found=found, inside=inside), _MAIN]
    for number, text in enumerate(texts):
        (folder / f"{number}.f90").write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (unit,) = (u for u in tree.units_of(str(folder / "1.f90")) if u.unit.name == "exchange")
    return texts, optimise(tree, unit)


@pytest.mark.parametrize("name", CASES)
def test_the_next_number(name: str, tmp_path: Path) -> None:
    _, found = _optimised(tmp_path / "source", name)
    number = CASES[name][-1]
    declared = f"    integer :: asphalt_request_{number}, asphalt_request_{number + 1}\n"
    assert declared in (found.content or b"").decode()


_BUILT = ("all of a module that gives names on", "of the host, by a procedure inside")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in _BUILT else pytest.mark.wide) for n in CASES]
)
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH, SMPI)[:1], ids=str)
def test_it_compiles_and_gives_the_same(mpi: Mpi, name: str, tmp_path: Path) -> None:
    texts, found = _optimised(tmp_path / "source", name)
    results = []
    for kind, host in (("before", texts[1]), ("after", (found.content or b"").decode())):
        folder = tmp_path / kind
        folder.mkdir()
        sources = [*RUNTIME]
        for number, text in enumerate((texts[0], host, texts[2])):
            sources.append(folder / f"{number}.f90")
            sources[-1].write_text(text)
        outcome = run(mpi, build(mpi, sources, folder, ["-O1", "-w"]), 2)
        assert outcome.code == 0, outcome.stderr
        results.append(sorted(outcome.stdout.splitlines()))
    assert results[0] == results[1]
    assert len(results[0]) == 2


def test_a_module_that_uses_itself_in_a_circle_ends(tmp_path: Path) -> None:
    path = tmp_path / "circle.f90"
    path.write_text(
        "module one\n  use two\n  integer :: first\nend module one\n"
        "module two\n  use one\n  integer :: second\nend module two\n"
        "subroutine three\n  use one\nend subroutine three\n"
    )
    tree = load_tree([path], Settings(cache=False, jobs=1))
    located = tree.units_of(str(path))[-1]
    assert used_names(scope_of(located, tree)) == {"first", "second"}


_TILED = f"""\
subroutine transpose(s, r, n, np, comm)
  use mpi
  {{use}}
  implicit none
  integer, intent(in) :: n, np, comm
  real(8), intent(inout) :: s(n, 8, np), r(n, 8, np)
  integer :: i, z, p, ierr
  do z = 1, 8
    do p = 1, np
      do i = 1, n
        s(i,z,p) = i*z + p
      end do
    end do
  end do
  call MPI_Alltoall(s, 8*n, {_KIND}, r, 8*n, {_KIND}, comm, ierr)
end subroutine transpose
"""


@pytest.mark.parametrize("use", ["use own, only: asphalt_lo", "use own", "use own, only: other"])
def test_an_exchange_stays_where_tiles_could_not_be_declared(use: str, tmp_path: Path) -> None:
    own = "module own\n  integer :: asphalt_lo = 1, other = 2\nend module own\n"
    (tmp_path / "transpose.f90").write_text(_TILED.format(use=use))
    (tmp_path / "own.f90").write_text(own)
    project = Project(tmp_path, settings=Settings(cache=False, jobs=1))
    (site,) = project.sites()
    refused = site.report.code == "ASP004"
    assert refused == (use != "use own, only: other"), site.report
