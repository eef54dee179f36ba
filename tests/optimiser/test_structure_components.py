"""Messages from and into components of structures."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from support.mpi_run import MPICH, OPENMPI, Mpi, installed, same_lines

_PROGRAM = """\
module fields
  implicit none
  integer, parameter :: n = 40
  type :: part
    integer :: length
    real(8) :: low(n), high(n)
  end type part
  type :: field
    integer :: length
    integer(8) :: long
    type(part) :: inner
    real(8), allocatable :: values(:,:), halo(:), edge(:)
    real(8), pointer :: window(:)
  end type field
contains
  subroutine step(f, g, many, left, right, comm)
    use mpi
    type(field), intent(inout) :: f, g, many(3)
    integer, intent(in) :: left, right, comm
    integer :: i, j, ierr
{body}
  end subroutine step
end module fields

program main
  use mpi
  use fields
  implicit none
  type(field) :: f, g, many(3)
  integer :: me, np, ierr, k
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(f%values(n,0:n), f%halo(n), f%edge(n), g%values(n,0:n), g%halo(n), g%edge(n))
  many%inner%length = n
  f%length = n; g%length = n; f%inner%length = n; g%inner%length = n
  f%values = me + 0.125d0; g%values = 1; f%halo = 0; f%edge = 0; g%halo = 0; g%edge = 0
  f%inner%low = me; f%inner%high = 2*me
  do k = 1, 3
    call step(f, g, many, modulo(me - 1, np), modulo(me + 1, np), MPI_COMM_WORLD)
  end do
  print '(i0, 6z17)', me, sum(f%values), sum(g%values), sum(f%halo), sum(f%edge), &
                      sum(f%inner%low), sum(f%inner%high)
  call MPI_Finalize(ierr)
end program main
"""


def exchange(sent: str, received: str, count: str = "n") -> str:
    return (
        f"    call MPI_Sendrecv({sent}, {count}, MPI_DOUBLE_PRECISION, right, 3, &\n"
        f"                      {received}, {count}, MPI_DOUBLE_PRECISION, left, 3, comm, &\n"
        "                      MPI_STATUS_IGNORE, ierr)\n"
    )


PACK = "    do i = 1, n\n      {0}(i) = f%values(i,n)\n    end do\n"
OTHER = "    do j = 1, n\n      g%values(1,j) = 0.5d0*g%values(1,j)\n    end do\n"
UNPACK = "    do i = 1, n\n      f%values(i,0) = {0}(i)\n    end do\n"


def program(sent: str, received: str, count: str = "n", work: str = OTHER) -> str:
    body = PACK.format(sent) + exchange(sent, received, count) + work + UNPACK.format(received)
    return _PROGRAM.format(body=body.rstrip("\n"))


def optimised(folder: Path, text: str) -> Optimised:
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (unit,) = (one for one in tree.units_of(str(path)) if one.unit.name == "step")
    return optimise(tree, unit, Options(("nonblocking", "motion")))


def behind(found: Optimised, text: str, received: str, work: str) -> bool:
    """Whether work stands behind the call that has received, or its wait."""
    lines = [x.strip() for x in (found.content or text.encode()).decode().splitlines()]
    call = next(n for n, x in enumerate(lines) if f"{received}, " in x)
    waits = [n for n, x in enumerate(lines) if "asphalt_wait" in x and x.endswith(f"{received})")]
    return max((call, *waits)) < next(n for n, x in enumerate(lines) if x.startswith(work))


MOVED = {
    "allocatable": program("f%edge", "f%halo"),
    "with-a-component-as-count": program("f%edge", "f%halo", "f%length"),
    "with-a-component-of-an-element-as-count": program("f%edge", "f%halo", "many(2)%inner%length"),
    "with-a-size-as-count": program("f%edge", "f%halo", "size(f%halo)"),
    "with-the-size-of-a-dimension-as-count": program("f%edge", "f%halo", "size(f%values, 1)"),
    "nested": program("f%inner%low", "f%inner%high"),
}


@pytest.mark.parametrize("name", MOVED)
def test_work_comes_beside_it(name: str, tmp_path: Path) -> None:
    text = MOVED[name]
    received = "f%inner%high" if name == "nested" else "f%halo"
    assert not behind(optimised(tmp_path, text), text, received, "g%values(1,j) =")


def work(statement: str) -> str:
    return f"    do j = 1, n\n      {statement}\n    end do\n"


STAYS = {
    "the-same-component": ("f%halo", "n", "f%halo(j) = f%halo(j) + 1"),
    "the-structure": ("f%halo", "n", "f = g"),
    "behind-the-component": ("f%inner%low", "2*n", "f%inner%high(j) = 1"),
    "a-pointer": ("f%window", "n", "f%window(j) = 1"),
    "of-an-array": ("many(k)%halo", "n", "many(2)%halo(j) = 1"),
    "of-the-whole-array": ("many(2)%halo", "n", "many(2)%halo(j) = 1"),
    "a-component-of-another-kind-as-count": ("f%halo", "f%long", "f%long = j"),
    "a-size-of-another-kind-as-count": ("f%halo", "size(f%halo, kind=8)", "f%halo(j) = 1"),
}


@pytest.mark.parametrize("name", STAYS)
def test_work_stays_behind_the_wait(name: str, tmp_path: Path) -> None:
    received, count, statement = STAYS[name]
    text = program("f%edge", received, count, work(statement)).replace("(k)", "(left)")
    received = received.replace("(k)", "(left)")
    assert behind(optimised(tmp_path, text), text, received, statement.split("=")[0] + "=")


@pytest.mark.parametrize(("count", "moved"), [("1", True), ("2", False)])
def test_a_component_that_is_a_scalar(count: str, moved: bool, tmp_path: Path) -> None:
    """It is no copy; but two elements that are received go into the component behind it, too."""
    call = f"    call MPI_Bcast(f%inner%length, {count}, MPI_INTEGER, 0, comm, ierr)\n"
    text = _PROGRAM.format(body=(call + work("f%inner%low(j) = 1")).rstrip("\n"))
    assert ("asphalt_ibcast" in (optimised(tmp_path, text).content or b"").decode()) is moved


def test_a_start_stays_behind_what_it_may_reach(tmp_path: Path) -> None:
    """Twice as many elements as a component has go into the one behind it, too."""
    text = program("f%edge", "f%inner%low", "2*n").replace(
        "f%edge(i) = f%values(i,n)", "f%edge(i) = f%inner%high(i)"
    )
    lines = (optimised(tmp_path, text).content or text.encode()).decode().splitlines()
    first = next(n for n, line in enumerate(lines) if "f%inner%low, 2*n" in line)
    assert next(n for n, line in enumerate(lines) if "= f%inner%high(i)" in line) < first


def test_a_start_stays_behind_what_changes_a_size(tmp_path: Path) -> None:
    """Another size of what the count is asked of; the sent array itself is not touched by that."""
    shorter = "    g%edge = g%edge(:n/2)\n"
    text = program("f%edge", "f%halo", "size(g%edge)").replace(OTHER, "")
    text = text.replace(exchange("f%edge", "f%halo", "size(g%edge)"),
                        shorter + exchange("f%edge", "f%halo", "size(g%edge)") + OTHER)  # fmt: skip
    lines = (optimised(tmp_path, text).content or b"").decode().splitlines()
    first = next(
        n for n, line in enumerate(lines) if "asphalt_i" in line and "size(g%edge)" in line
    )
    assert lines.index(shorter.rstrip("\n")) < first


def test_work_stays_behind_what_changes_a_size_that_it_asks_for(tmp_path: Path) -> None:
    """What is allocated anew has another size, although nothing of its values is read."""
    shorter = "    g%edge = f%halo(:n/2)\n"
    longer = "    do j = 1, size(g%edge)\n      g%inner%low(j) = g%inner%low(j) + 1\n    end do\n"
    text = _PROGRAM.format(
        body=(PACK.format("f%edge") + exchange("f%edge", "f%halo") + shorter + longer).rstrip("\n")
    )
    lines = (optimised(tmp_path, text).content or text.encode()).decode().splitlines()
    assert lines.index(shorter.rstrip("\n")) < lines.index(longer.split("\n")[0])


@pytest.mark.parametrize(
    "name",
    [
        "with-a-component-as-count",
        "with-a-component-of-an-element-as-count",
        "with-a-size-as-count",
        pytest.param("nested", marks=pytest.mark.wide),
    ],
)
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_the_results_are_the_same(mpi: Mpi, name: str, tmp_path: Path) -> None:
    found = optimised(tmp_path, MOVED[name])
    assert found.content is not None
    printed = same_lines(mpi, tmp_path, MOVED[name], found.content)
    assert len(printed) == 3


def test_a_type_may_stand_in_an_include_file(tmp_path: Path) -> None:
    text = program("f%edge", "f%halo", "f%inner%length")
    begin, end = text.index("  type :: part\n"), text.index("contains\n")
    (tmp_path / "types.inc").write_text(text[begin:end])
    text = text[:begin] + "  include 'types.inc'\n" + text[end:]
    assert not behind(optimised(tmp_path, text), text, "f%halo", "g%values(1,j) =")
