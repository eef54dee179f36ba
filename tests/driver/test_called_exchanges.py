"""An exchange whose buffers other procedures fill is transformed where its procedure is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.driver.sites import Site
from asphalt.project import Project
from asphalt.running.mpi import MPICH, OPENMPI
from support.mpi_run import RUNTIME, Mpi, build, installed, run

_GRID = """\
module grid
  implicit none
  integer, parameter :: n = 24
  integer :: np, me, planes, block, watched
  real(8) :: spent(2)
contains
  subroutine start(i)
    use mpi, only: MPI_Wtime
    integer, intent(in) :: i
    spent(i) = spent(i) - MPI_Wtime()
  end subroutine start
  subroutine finish(i)
    use mpi, only: MPI_Wtime
    integer, intent(in) :: i
    spent(i) = spent(i) + MPI_Wtime()
  end subroutine finish
end module grid
"""
_WORK = """\
subroutine smooth(x, line)
  use grid
  implicit none
  real(8), intent(inout) :: x(n,n,planes)
  real(8) :: line(n)
  integer :: i, j, k
  if (watched > 0) call start(1)
  do k = 1, planes
    do j = 1, n
      do i = 1, n
        line(i) = x(i,j,k)
      end do
      call filter(n, line)
      do i = 1, n
        x(i,j,k) = line(i)
      end do
    end do
  end do
  if (watched > 0) call finish(1)
end subroutine smooth
subroutine filter(m, line)
  implicit none
  integer, intent(in) :: m
  real(8), intent(inout) :: line(m)
  integer :: i, pass
  if (m < 2) then
    write (*, *) 'too short: ', m
    stop 1
  end if
  do pass = 1, 8
    do i = 2, m
      line(i) = 0.5d0*(line(i-1) + line(i))
    end do
  end do
end subroutine filter
"""
_TURN = """\
subroutine turn(x, y, s, r)
  use grid
  implicit none
  real(8), intent(in) :: x(n,n,planes)
  real(8), intent(out) :: y(n,n,planes)
  real(8), intent(inout) :: s(planes,n,planes,np), r(planes,n,planes,np)
{before}  if (watched > 0) call start(2)
  call fill(x, s)
  if (watched > 0) call finish(2)
  call swap(s, r)
  call empty(r, y)
end subroutine turn
subroutine fill(x, s)
  use grid
  implicit none
  real(8), intent(in) :: x(n,n,planes)
  real(8), intent(out) :: s(planes,n,planes,np)
  integer :: i, j, k, p
  do k = 1, planes
    do p = 1, np
      do j = 1, n
        do i = 1, planes
          s(i,j,k,p) = x(i + (p-1)*planes, j, k)
        end do
      end do
    end do
  end do
end subroutine fill
subroutine swap(s, r)
  use grid
  use mpi
  implicit none
  real(8), intent(in) :: s(block*np)
  real(8), intent(out) :: r(block*np)
  integer :: ierr
{more}  call MPI_Alltoall(s, block, MPI_DOUBLE_PRECISION, r, block, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
end subroutine swap
subroutine empty(r, y)
  use grid
  implicit none
  real(8), intent(in) :: r(planes,n,planes,np)
  real(8), intent(out) :: y(n,n,planes)
  integer :: i, j, k, p
  do i = 1, planes
    do p = 1, np
      do k = 1, planes
        do j = 1, n
          y(k + (p-1)*planes, j, i) = r(i,j,k,p)
        end do
      end do
    end do
  end do
end subroutine empty
"""
_MAIN = """\
program cubes
  use mpi
  use grid
  implicit none
  real(8), allocatable :: a(:,:,:), b(:,:,:), s(:), r(:)
  real(8) :: line(n)
  integer :: ierr, i, j, k, step
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  planes = n/np
  block = planes*n*planes
  watched = command_argument_count()
  spent = 0
  allocate(a(n,n,planes), b(n,n,planes), s(block*np), r(block*np))
  do k = 1, planes
    do j = 1, n
      do i = 1, n
        a(i,j,k) = mod(i + 3*j + 5*(k + me*planes), 31)
      end do
    end do
  end do
  do step = 1, 3
{calls}    a = 1.25d0*b
  end do
  print '(i3,3(1x,es23.16))', me, sum(a), maxval(a), a(2,3,1)
  call MPI_Finalize(ierr)
end program cubes
"""
_CALLS = """\
    call smooth(a, line)
    call turn(a, b, s, r)
"""


def text(
    calls: str = _CALLS,
    work: str = _WORK,
    before: str = "",
    more: str = "",
    after: str = "",
) -> str:
    """The program, with what stands in front of the packing and of the exchange."""
    turn = _TURN.format(before=before, more=more)
    return _GRID + work + turn + after + _MAIN.format(calls=calls)


def sites(folder: Path, source: str, *assumed: str) -> tuple[Site, ...]:
    (folder / "cubes.f90").write_text(source)
    settings = Settings(
        cache=False, jobs=1, passes=("prepush", "inline"), assume=frozenset(assumed)
    )
    return Project(folder, settings=settings).sites()


def is_opened(folder: Path, source: str, *assumed: str) -> bool:
    """Whether the exchange is transformed at a call of its procedure."""
    found = [site.report for site in sites(folder, source, *assumed)]
    return any(one.unit == "cubes" and one.verdict in ("proved", "assumed") for one in found)


def applied(folder: Path, source: str, *options: str) -> Path:
    """The folder with the program as it is transformed."""
    given, made = folder / "given", folder / "made"
    given.mkdir()
    (given / "cubes.f90").write_text(source)
    passes = ("--passes", "prepush,inline", "--assume", "timers", "--no-cache")
    assert main(["apply", str(given), "-o", str(made), *passes, *options]) == 0
    return made


def printed(mpi: Mpi, place: Path, source: Path) -> list[list[str]]:
    """What a program prints on 1 to 4 ranks."""
    place.mkdir()
    program = build(mpi, [*RUNTIME, source], place, ["-O2", f"-I{source.parent}"])
    outcomes = [run(mpi, program, ranks) for ranks in (1, 2, 3, 4)]
    assert [outcome.code for outcome in outcomes] == [0, 0, 0, 0]
    return [sorted(outcome.stdout.splitlines()) for outcome in outcomes]


def test_the_call_is_the_site(tmp_path: Path) -> None:
    source = text()
    (site,) = sites(tmp_path, source, "timers")
    line = 1 + source[: source.index("call turn(")].count("\n")
    assert (site.report.unit, site.report.line) == ("cubes", line)
    assert site.report.operation == "turn (MPI_Alltoall)"
    assert site.report.assumptions == ("timers",)
    assert "turn, swap, fill, smooth" in site.report.evidence[0]


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
@pytest.mark.parametrize("tile", ["0", "5"])
def test_the_same_is_printed(tile: str, mpi: Mpi, tmp_path: Path) -> None:
    made = applied(tmp_path, text(), "--tile", tile)
    content = (made / "cubes.f90").read_text()
    assert "%next_tile(" in content
    assert "call turn(a" not in content
    given = printed(mpi, tmp_path / "one", tmp_path / "given/cubes.f90")
    assert printed(mpi, tmp_path / "other", made / "cubes.f90") == given


def test_new_variables_are_named_after_their_procedures(tmp_path: Path) -> None:
    content = (applied(tmp_path, text()) / "cubes.f90").read_text()
    assert "do k_fill = asphalt_x%lo, asphalt_x%hi" in content
    assert "do k_smooth = asphalt_x%lo, asphalt_x%hi" in content


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    made = applied(tmp_path, text())
    passes = ("--passes", "prepush,inline", "--assume", "timers", "--no-cache")
    before = (made / "cubes.f90").read_bytes()
    assert main(["apply", str(made), "-o", str(tmp_path / "again"), *passes]) == 0
    assert (tmp_path / "again/cubes.f90").read_bytes() == before


def test_without_inlining_it_stays_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "cubes.f90").write_text(text())
    settings = Settings(cache=False, jobs=1, assume=frozenset({"timers"}), passes=(Pass.PREPUSH,))
    found = Project(tmp_path, settings=settings).sites()
    assert {site.verdict for site in found} == {"refused"}


def test_readings_of_a_clock_have_to_be_assumed(tmp_path: Path) -> None:
    assert not is_opened(tmp_path, text())


_READ = "    line(1) = line(1) + a(n,n,planes)\n"
_GOTO = "    if (step > 2) cycle\n"
_HALF = """\
    if (mod(me, 2) == 0) then
      call smooth(a, line)
      call turn(a, b, s, r)
    else
      a = 1
      call smooth(a, line)
      call turn(a, b, s, r)
    end if
"""
_LATER = """\
    call smooth(a, line)
    a(1,1,1) = a(n,n,planes)
    call turn(a, b, s, r)
"""
_BARRIER = "  call MPI_Barrier(MPI_COMM_WORLD, ierr)\n"
_SHOWN = "  if (me == 0) print *, 'turning'\n"
_BACKWARDS = _WORK.replace("x(i,j,k) = line(i)", "x(i,j,planes+1-k) = line(i)")
_WARNS = _WORK.replace("    stop 1\n", "    return\n")
_CARRIES = _WORK.replace("line(i) = x(i,j,k)", "line(i) = line(i) + x(i,j,k)")


@pytest.mark.parametrize(
    "source",
    [
        text(calls=_HALF),  # ranks would enter different exchanges
        text(calls=_LATER),  # what is packed changes after the loop
        text(more=_BARRIER),  # ranks may rely on what others did before
        text(before=_SHOWN),  # what is printed
        text(work=_BACKWARDS),  # a plane changes again in a later iteration
        text(work=_WARNS),  # output of a program that goes on
    ],
    ids=["branches", "changed", "barrier", "printed", "backwards", "warning"],
)
def test_what_stays(source: str, tmp_path: Path) -> None:
    assert not is_opened(tmp_path, source, "timers")
    settings = Settings(
        cache=False, jobs=1, passes=("prepush", "inline"), assume=frozenset({"timers"})
    )
    assert Project(tmp_path, settings=settings).transform() == ()


def test_what_a_line_carries_on_is_carried_on(tmp_path: Path) -> None:
    assert is_opened(tmp_path, text(work=_CARRIES), "timers")


_TWICE = """\
    call smooth(a, line)
    call turn(a, b, s, r)
    a = b
    call turn(a, b, s, r)
"""


def test_only_the_call_behind_computation_is_opened(tmp_path: Path) -> None:
    found = sites(tmp_path, text(calls=_TWICE), "timers")
    verdicts = [(site.report.unit, site.report.verdict) for site in found]
    assert ("cubes", "assumed") in verdicts
    assert ("swap", "refused") in verdicts
    content = applied(tmp_path, text(calls=_TWICE)).joinpath("cubes.f90").read_text()
    assert content.count("call turn(a, b, s, r)") == 1


def test_names_that_may_come_from_a_missing_module_are_not_declared(tmp_path: Path) -> None:
    source = text().replace(
        "  use grid\n  implicit none\n  real(8), allo",
        "  use grid\n  use missing\n  implicit none\n  real(8), allo",
    )
    assert "use missing" in source
    assert not is_opened(tmp_path, source, "timers")


_TYPES = """\
  integer :: counts(np), places(np), types(np)
  counts = block
  places = [(8*block*ierr, ierr = 0, np - 1)]
  types = MPI_DOUBLE_PRECISION
  if (me > 99) return
  call MPI_Alltoallw(s, counts, places, types, r, counts, places, types, &
"""


def test_an_operation_that_is_not_tiled_in_a_procedure_that_does_more(tmp_path: Path) -> None:
    source = text()
    start = source.index("  call MPI_Alltoall(")
    source = source[:start] + _TYPES + source[source.index("  ", source.index("&\n", start)) :]
    found = sites(tmp_path, source, "timers")
    assert [(site.report.unit, site.report.code) for site in found][:1] == [("turn", "ASP008")]


_BOTH = """\
    call smooth(a, line)
    call turn(a, b, s, r)
    a = 0.5d0*b
    call smooth(a, line)
    call turn(a, b, s, r)
"""


@pytest.mark.parametrize("mpi", installed(OPENMPI))
def test_two_calls_in_one_procedure_are_opened(mpi: Mpi, tmp_path: Path) -> None:
    made = applied(tmp_path, text(calls=_BOTH), "--tile", "2")
    content = (made / "cubes.f90").read_text()
    assert content.count("prepushed along") == 2
    assert "call turn(a" not in content
    given = printed(mpi, tmp_path / "one", tmp_path / "given/cubes.f90")
    assert printed(mpi, tmp_path / "other", made / "cubes.f90") == given


def test_a_procedure_with_two_exchanges_stays(tmp_path: Path) -> None:
    source = text().replace("  call swap(s, r)\n", "  call swap(s, r)\n  call swap(r, s)\n")
    source = source.replace("  call empty(r, y)\n", "  call empty(s, y)\n")
    assert not is_opened(tmp_path, source, "timers")


def test_a_procedure_that_reads_the_clock_itself_is_inlined(tmp_path: Path) -> None:
    source = text(before="  spent(2) = spent(2) - MPI_Wtime()\n")
    head = "subroutine turn(x, y, s, r)\n  use grid\n"
    assert is_opened(tmp_path, source.replace(head, f"{head}  use mpi\n"), "timers")
