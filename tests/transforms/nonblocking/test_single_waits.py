"""A wait for several operations becomes waits for one each, where their windows differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from asphalt.transforms.nonblocking import single_waits
from support.mpi_run import SMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_PROGRAM = """\
program main
  use {mpi}
  implicit none
  integer, parameter :: n = 50
  real(8) :: a(n), b(n), c(n), s(n)
  integer :: me, np, left, right, i, ierr, statuses(MPI_STATUS_SIZE, 3), last
  {handle} :: r(3)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  s = me; a = 0; b = 0; c = me; last = 3
  call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, r(1), ierr)
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, r(2), ierr)
  call MPI_Isend(s, n, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, r(3), ierr)
  call MPI_Send(s, n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, ierr)
{wait}
  do i = 1, n
    c(i) = c(i) + a(i)
  end do
  do i = 1, n
    c(i) = c(i) + b(i)
  end do
{behind}  print '(i0, z17)', me, sum(c)
  call MPI_Finalize(ierr)
end program main
"""
WAIT = "  call MPI_Waitall(3, r, MPI_STATUSES_IGNORE, ierr)"
CHECK = "  if (ierr /= MPI_SUCCESS) stop 1\n"
RETURNED = "call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)\n"


def program(wait: str = WAIT, behind: str = "", binding: str = "mpi") -> str:
    handle = "type(MPI_Request)" if binding == "mpi_f08" else "integer"
    return _PROGRAM.format(wait=wait, behind=behind, mpi=binding, handle=handle)


def optimised(folder: Path, text: str) -> Optimised:
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    return optimise(tree, tree.units_of(str(path))[0], Options(("waits", "motion")))


def order(found: Optimised) -> list[str]:
    """The waits, and the arrays that loops add to c."""
    assert found.content is not None
    lines = [line.strip() for line in found.content.decode().splitlines()]
    begin = next(n for n, line in enumerate(lines) if "MPI_Send" in line)
    short = [line.split("c(i) + ")[-1].removeprefix("call ").split(", M")[0] for line in lines]
    return [line for line in short[begin:] if line.startswith(("MPI_Wait", "a(", "b("))]


def test_each_operation_has_a_window_of_its_own(tmp_path: Path) -> None:
    found = optimised(tmp_path, program())
    one, two, three = (f"MPI_Wait(r({n})" for n in (1, 2, 3))
    assert order(found) == [one, "a(i)", two, "b(i)", three]
    assert "  ! asphalt: MPI_Waitall in parts\n" in (found.content or b"").decode()


STAYS = {
    "a-status-that-is-read": program(
        "  call MPI_Waitall(3, r, statuses, ierr)", "  print *, statuses(MPI_SOURCE, 1)\n"
    ),
    "an-error-code-that-is-read": program(behind=f"{CHECK}  {RETURNED}"),
    "as-many-as-a-variable-says": program(
        "  last = last + me\n  call MPI_Waitall(min(3, last), r, MPI_STATUSES_IGNORE, ierr)"
    ),
    "any-of-them": program("  call MPI_Waitany(3, r, last, MPI_STATUS_IGNORE, ierr)"),
    "under-a-condition": program(f"  if (np > 0) {WAIT.strip()}"),
    "with-a-label": program(f"10 {WAIT.strip()}"),
    "no-wait-by-that-name": program().replace(
        "use mpi\n", "use mpi, only: MPI_Waitall, MPI_Irecv, MPI_Isend, MPI_STATUSES_IGNORE, "
        "MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, MPI_STATUS_SIZE, MPI_STATUS_IGNORE\n"
    ).replace("implicit none\n", "implicit none\n  external :: MPI_Send\n")
    + "subroutine MPI_Wait()\nend subroutine\n",
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_it_stays(name: str, tmp_path: Path) -> None:
    assert Stepped.of(tmp_path, {"main.f90": STAYS[name]}).steps(single_waits) == []


def test_an_error_code_that_can_only_be_success(tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"main.f90": program(behind=CHECK)})
    assert stepped.applied(single_waits) == 1
    text = stepped.tree.content(str(tmp_path / "main.f90")).decode()
    assert "  call MPI_Wait(r(3), MPI_STATUS_IGNORE, ierr)\n" in text


def test_statuses_that_are_never_read_are_left_out(tmp_path: Path) -> None:
    stepped = Stepped.of(
        tmp_path, {"main.f90": program("  call mpi_waitall(3, r, statuses, ierr)")}
    )
    assert stepped.applied(single_waits) == 1
    text = stepped.tree.content(str(tmp_path / "main.f90")).decode()
    assert "  call mpi_wait(r(2), mpi_status_ignore, ierr)\n" in text


@pytest.mark.wide
def test_a_wait_stays_where_no_window_gains(tmp_path: Path) -> None:
    text = program().replace("c(i) = c(i) + a(i)", "s(i) = b(i) + a(i)")
    assert optimised(tmp_path, text.replace("c(i) = c(i) + b(i)", "c(i) = s(i)")).content is None


RUNS = [(mpi, name) for mpi in installed() for name in ("mpi", "mpi_f08")]


@pytest.mark.wide
@pytest.mark.parametrize(
    ("mpi", "binding"), [one for one in RUNS if one != (SMPI, "mpi_f08")], ids=str
)
def test_the_results_are_the_same(mpi: Mpi, binding: str, tmp_path: Path) -> None:
    text = program(binding=binding)
    found = optimised(tmp_path, text)
    assert found.content is not None
    printed = same_lines(mpi, tmp_path, text, found.content)
    assert len(printed) == 3
