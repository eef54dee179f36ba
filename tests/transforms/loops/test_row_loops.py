"""Nests whose innermost loop is behind loops for rows of temporaries are divided in it, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.verdicts.verdict import Refused
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.transforms.loops import peeling, splitting
from asphalt.transforms.loops.index_set_splitting import DividedNest
from support.mpi_run import MPICH, OPENMPI, build, installed, run
from support.stepping import Stepped

_SENT = """\
subroutine sent(u, after, n, m, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, comm
  real(8), intent(in) :: u(0:n+1,0:m+1)
  real(8), intent(inout) :: after(0:n+1,0:m+1)
  real(8) :: row(0:n+1), more(-1:n+3), column(m,2), got(m,2), factor
  integer :: i, j, l, ierr, requests(4)
{before}  do j = 1, m
{rows}    do i = 1, n
      after(i,j) = {value}
    end do
  end do
{behind}  do j = 1, m
    column(j,1) = after(1,j)
    column(j,2) = after(n,j)
  end do
  call MPI_Irecv(got(1,1), m, MPI_DOUBLE_PRECISION, 0, 1, comm, requests(1), ierr)
  call MPI_Irecv(got(1,2), m, MPI_DOUBLE_PRECISION, 0, 2, comm, requests(2), ierr)
  call MPI_Isend(column(1,1), m, MPI_DOUBLE_PRECISION, 0, 2, comm, requests(3), ierr)
  call MPI_Isend(column(1,2), m, MPI_DOUBLE_PRECISION, 0, 1, comm, requests(4), ierr)
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
  after(0,1:m) = got(:,1)
  after(n+1,1:m) = got(:,2)
end subroutine sent
"""
_ROW = "    do i = 0, n + 1\n      row(i) = u(i,j-1) + u(i,j+1)\n    end do\n"
_VALUE = "u(i,j) - 2*row(i-1) + row(i+1)"


def sent(rows: str = _ROW, value: str = _VALUE, before: str = "", behind: str = "") -> str:
    """A nest, of which the first and the last columns are sent."""
    return _SENT.format(rows=rows, value=value, before=before, behind=behind)


def heads(text: bytes | None) -> list[str]:
    lines = (line.strip() for line in (text or b"").decode().splitlines())
    return [line for line in lines if line.startswith("do ")]


def changed(folder: Path, text: str) -> bytes | None:
    """What the optimiser makes of a unit."""
    folder.mkdir(exist_ok=True)
    path = folder / "unit.f90"
    path.write_text(text)
    tree = load_tree([path])
    return optimise(tree, tree.units_of(str(path))[0]).content


def test_each_part_has_the_rows_that_it_needs(tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"unit.f90": sent()})
    ((facts, step),) = (one for one in stepped.found(peeling) if isinstance(one[1], DividedNest))
    assert isinstance(step, DividedNest)
    stepped.apply(peeling, facts, step)
    assert heads(stepped.tree.content(facts.located.path))[:9] == [
        *("do j = 1, m", "do i = 0, min(2, n + 1)", "do i = 1, min(1, n)"),
        *("do j = 1, m", "do i = max(n - 1, 1), n + 1", "do i = max(n, 2), n"),
        *("do j = 1, m", "do i = 1, n", "do i = 2, n - 1"),
    ]


_OWN = "after(i,j) + row(i-1)"
TWO = (
    _ROW + "    do i = 1, n + 2\n      more(i-2) = 2*u(i-1,j) - u(0,j)\n    end do\n",
    "after(i,j) + row(i+1) - more(i) + more(i-1)",
)
TOO_MUCH: dict[str, tuple[str, str, str, str]] = {
    "reads_what_changes": (
        _ROW.replace("u(i,j-1)", "after(i,j)"), _VALUE, "", "",
    ),
    "needs_the_row_before": (
        "    row(0) = u(0,j)\n" + _ROW.replace("= 0", "= 1").replace("u(i,j-1)", "row(i-1)"),
        _VALUE, "", "",
    ),
    "adds_up": (
        _ROW.replace("u(i,j-1)", "row(i)"), _VALUE, "  row = 0\n", "",
    ),
    "from_before": (
        _ROW.replace("= 0", "= 1"), _VALUE, "  row(0) = 7\n", "",
    ),
    "is_used_behind": (
        _ROW, _VALUE, "", "  after(0,0) = row(1)\n",
    ),
    "sometimes": (
        _ROW.replace("row(i)", "if (u(i,j) > 0.5d0) row(i)"), _VALUE, "  row = 0\n", "",
    ),
    "backwards": (
        _ROW.replace("row(i)", "row(n+1-i)"), _VALUE, "", "",
    ),
    "changes_more": (
        _ROW.replace("    end do", "      after(i,0) = j\n    end do"), _VALUE, "", "",
    ),
    "reads_what_a_loop_before_left": (
        _ROW.replace("i = 0", "l = 0").replace("row(i)", "row(l)").replace("u(i,", "i + u(l,"),
        _VALUE, "", "",
    ),
    "rounds_otherwise_in_vectors": (
        _ROW.replace("u(i,j-1)", "exp(u(i,j-1))"), _VALUE, "", "",
    ),
    "product_that_a_sum_takes_in": (
        _ROW.replace("u(i,j-1) + u(i,j+1)", "-(u(i,j-1)*u(i,j+1))"), _VALUE, "", "",
    ),
    "power_that_a_sum_takes_in": (
        _ROW.replace("u(i,j-1) + u(i,j+1)", "u(i,j-1)**2"), _VALUE, "", "",
    ),
    "products_that_a_sum_takes_in": (
        _ROW.replace("u(i,j-1) + u(i,j+1)", "1 + u(0,j)*(2*u(i,j-1) - u(i,j)*u(i,j+1))/3"),
        _VALUE, "", "",
    ),
    "last_loop_adds_two_products": (
        _ROW, "0.7d0*row(i+1) + 0.7d0*row(i-1)", "", "",
    ),
    "scalar_that_may_be_a_product": (
        _ROW.replace("u(i,j-1) + u(i,j+1)", "factor"), _VALUE, "  factor = u(0,0)*u(1,1)\n", "",
    ),
    "last_loop_changes_the_row": (
        _ROW, "u(i,j) + row(i+1)\n      row(i+1) = after(i,j)", "", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_loop_that_does_more_is_no_row_loop(name: str, tmp_path: Path) -> None:
    rows, value, before, behind = TOO_MUCH[name]
    found = Stepped.of(tmp_path, {"unit.f90": sent(rows, value, before, behind)}).found(peeling)
    assert [one for _, one in found if isinstance(one, Refused)]
    assert not [one for _, one in found if isinstance(one, DividedNest)]


_RECEIVED = """\
subroutine received(u, after, n, m, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, comm
  real(8), intent(inout) :: u(0:n+1,0:m+1)
  real(8), intent(inout) :: after(0:n+1,0:m+1)
  real(8) :: row(0:n+1), line(n+2)
  integer :: i, j, ierr, requests(2)
  line = u(:,m)
  call MPI_Irecv(u(0,0), n + 2, MPI_DOUBLE_PRECISION, 0, 1, comm, requests(1), ierr)
  call MPI_Isend(line, n + 2, MPI_DOUBLE_PRECISION, 0, 1, comm, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  do j = 1, m
    do i = 0, n + 1
      row(i) = u(i,j-1) + u(i,j+1)
    end do
    do i = 1, n
      after(i,j) = u(i,j) - 0.3d0*row(i-1) - 0.7d0*(row(i) + row(i+1)) + 1.1d0*u(i,j)
    end do
  end do
end subroutine received
"""
_COLUMN = (
    _RECEIVED.replace("line = u(:,m)", "line(1:m) = u(n,1:m)")
    .replace("subroutine received", "subroutine column")
    .replace("line(n+2)", "line(m), got(m)")
    .replace("u(0,0), n + 2", "got, m")
    .replace("line, n + 2", "line, m")
    .replace("  do j = 1, m\n", "  do j = 1, m\n    u(0,j) = got(j)\n  end do\n  do j = 1, m\n", 1)
)


def test_what_a_row_loop_reads_of_a_message_is_at_the_edges(tmp_path: Path) -> None:
    """The halo is a column that only the row loop reads, for the first iteration behind it."""
    found = Stepped.of(tmp_path, {"unit.f90": _COLUMN}).found(splitting)
    (step,) = (one for _, one in found if isinstance(one, DividedNest))
    assert [(own.first, own.last) for own in step.ends] == [(0, 0), (1, 0)]


_MAIN = """\
program main
  use mpi
  implicit none
  integer :: ierr, n, m, i, j, which
  integer(8) :: hash
  real(8), allocatable :: u(:,:), after(:,:)
  call MPI_Init(ierr)
  do which = 1, 4
    do m = 1, 4
      do n = 1, 12
        allocate(u(0:n+1,0:m+1), after(0:n+1,0:m+1))
        do j = 0, m + 1
          do i = 0, n + 1
            u(i,j) = mod(7*i + 3*j, 11)/11.0d0
            after(i,j) = mod(5*i + 2*j, 7)/7.0d0
          end do
        end do
        if (which == 1) call sent(u, after, n, m, MPI_COMM_SELF)
        if (which == 2) call two(u, after, n, m, MPI_COMM_SELF)
        if (which == 3) call received(u, after, n, m, MPI_COMM_SELF)
        if (which == 4) call column(u, after, n, m, MPI_COMM_SELF)
        hash = 1
        do j = 0, m + 1
          do i = 0, n + 1
            hash = ieor(ishftc(hash, 7), transfer(after(i,j), hash))
          end do
        end do
        print '(3i4,z17)', which, n, m, hash
        deallocate(u, after)
      end do
    end do
  end do
  call MPI_Finalize(ierr)
end program main
"""


FUSED = ("-O3", "-mfma")
_FUSES = Path("/proc/cpuinfo").exists() and " fma " in Path("/proc/cpuinfo").read_text()


@pytest.mark.parametrize(
    "flags",
    [
        ("-O1", "-fcheck=all"),
        pytest.param(FUSED, marks=pytest.mark.skipif(not _FUSES, reason="a processor with FMA")),
    ],
)
def test_the_parts_compute_the_same(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Also where a loop has fewer iterations than its edges, and where a compiler rounds a product
    with the sum that it is added to."""
    units = {
        "sent": sent(value=_OWN),
        "two": sent(*TWO).replace("subroutine sent", "subroutine two"),
        "received": _RECEIVED,
        "column": _COLUMN,
    }
    mpi = installed(OPENMPI, MPICH)[0]
    results = []
    contents = {name: changed(tmp_path / name, text) for name, text in units.items()}
    assert None not in contents.values()
    for kind in ("before", "after"):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_text(_MAIN)
        for name, text in units.items():
            content = contents[name] if kind == "after" else text.encode()
            (folder / f"{name}.f90").write_bytes(content or b"")
        files = [*(folder / f"{name}.f90" for name in units), folder / "main.f90"]
        outcome = run(mpi, build(mpi, files, folder, flags), 1)
        assert outcome.code == 0, outcome.stderr
        results.append(outcome.stdout.splitlines())
    assert results[0] == results[1]
    assert len(results[0]) == 4 * 4 * 12
