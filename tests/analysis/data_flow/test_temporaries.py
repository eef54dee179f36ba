"""Which statements may change places although both give one variable a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from support.mpi_run import MPICH, OPENMPI, SMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_UNIT = """\
subroutine exchange(a, b, c, n, left, right, comm{dummy})
  use mpi
  implicit none
  integer, intent(in) :: n, left, right, comm
  real(8), intent(inout) :: a(n), b(n), c(n)
  integer :: i, first, second, status(MPI_STATUS_SIZE), k
{declared}
{before}
  call MPI_Wait(first, status, ierr)
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, right, 2, comm, second, ierr)
{behind}
{inside}end subroutine exchange
"""
_START = "  call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, left, 1, comm, first, ierr)"
_END = "  call MPI_Wait(second, MPI_STATUS_IGNORE, {})"


def why_not(
    folder: Path,
    declared: str = "integer :: ierr",
    behind: str = "",
    end: str = "k",
    dummy: str = "",
    inside: str = "",
    before: str = "",
    module: str = "",
) -> str | None:
    """Why the start may not come before the wait."""
    text = _UNIT.format(
        declared=f"  {declared}",
        before=before + _START,
        behind=behind + _END.format(end),
        dummy=dummy,
        inside=inside,
    )
    if module:
        text = text.replace("  use mpi\n", f"  use mpi\n  use {module}\n")
    errors = "module errors\n  integer :: ierr\nend module errors\n"
    (facts,) = Stepped.of(folder, {"exchange.f90": text, "zz_errors.f90": errors}).facts()[:1]
    assert facts.unit.name == "exchange"
    order = Independence(facts, Messages(facts))
    first, second = facts.unit.body[1:3] if not before else facts.unit.body[2:4]
    return order.why_not(first, second)


def test_values_that_both_write_are_never_read(tmp_path: Path) -> None:
    assert why_not(tmp_path) is None


NOT_READ = {
    "what stands behind writes it": {"end": "ierr"},
    "it is defined before": {"before": "  ierr = 0\n"},
    "it is given a value before it is read": {"behind": "  ierr = 3\n  if (ierr /= 0) a(1) = 2\n"},
    "behind another that defines it": {"end": "ierr)\n  if (ierr /= 0) stop 1\n  call two(k"},
    "it is defined again before the caller reads it": {
        "declared": "integer, intent(out) :: ierr",
        "dummy": ", ierr",
        "end": "ierr",
    },
    "what is inside has one of its own": {
        "behind": "  call other\n",
        "inside": "contains\n  subroutine other\n    integer :: ierr\n    ierr = 1\n"
        "  end subroutine other\n",
    },
}


@pytest.mark.parametrize("name", NOT_READ)
def test_they_change_places(name: str, tmp_path: Path) -> None:
    assert why_not(tmp_path, **NOT_READ[name]) is None


READ = {
    "behind": {"behind": "  if (ierr /= 0) stop 1\n"},
    "behind another that may define it": {
        "behind": "  if (n > 3) call MPI_Barrier(comm, ierr)\n",
        "end": "k)\n  if (ierr /= 0) stop 1\n  call two(k",
    },
    "under a condition": {"behind": "  if (n > 3) then\n    k = ierr\n  end if\n"},
    "in an argument": {"behind": "  call other(ierr)\n"},
    "by a procedure inside": {
        "behind": "  call other\n",
        "inside": "contains\n  subroutine other\n    print *, ierr\n  end subroutine other\n",
    },
    "by a procedure inside that is passed on": {
        "behind": "  call elsewhere(other)\n",
        "inside": "contains\n  subroutine other\n    print *, ierr\n  end subroutine other\n",
    },
    "by the caller": {"declared": "integer, intent(out) :: ierr", "dummy": ", ierr"},
    "later, as it is kept": {"declared": "integer, save :: ierr"},
    "in a common block": {"declared": "integer :: ierr\n  common /error/ ierr"},
    "by another name": {"declared": "integer :: ierr, same\n  equivalence (ierr, same)"},
    "through a pointer": {"declared": "integer, target :: ierr"},
    "of a module": {"declared": "integer :: unused", "module": "errors"},
    "it is volatile": {"declared": "integer, volatile :: ierr"},
    "MPI has it": {
        "before": "  call MPI_Isend(ierr, 1, MPI_INTEGER, left, 7, comm, k, i)\n",
        "end": "k)\n  call MPI_Wait(k, MPI_STATUS_IGNORE, i",
    },
}


@pytest.mark.parametrize("name", READ)
def test_they_keep_their_order(name: str, tmp_path: Path) -> None:
    assert why_not(tmp_path, **READ[name]) is not None


def test_statuses_that_are_never_read(tmp_path: Path) -> None:
    """An array as well: the wait for the second operation has the same status."""
    text = _UNIT.format(
        declared="  integer :: ierr",
        before=_START + "\n  call MPI_Irecv(c, n, MPI_DOUBLE_PRECISION, left, 3, comm, second, i)",
        behind="",
        dummy="",
        inside="",
    )
    text = text.replace(
        "  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, right, 2, comm, second, ierr)",
        "  call MPI_Wait(second, status, ierr)\n{}",
    )
    for name, read, free in (("no", "", True), ("yes", "  k = status(MPI_TAG)", False)):
        files = {"exchange.f90": text.format(read)}
        (facts,) = Stepped.of(tmp_path / name, files).facts()[:1]
        order = Independence(facts, Messages(facts))
        assert (order.why_not(*facts.unit.body[2:4]) is None) == free


_PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 3000
  integer :: me, np, left, right, i, first, second, third, ierr
  real(8) :: a(n), b(n), c(n), s(n)
  call MPI_Init(ierr){handler}
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np); right = modulo(me + 1, np)
  s = me; a = 0; b = 0; c = 1
  call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, first, ierr)
  call MPI_Isend(s, n, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, second, ierr)
  call MPI_Wait(first, MPI_STATUS_IGNORE, ierr){read}
  call MPI_Wait(second, MPI_STATUS_IGNORE, ierr)
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, third, ierr)
  do i = 1, n
    c(i) = c(i)*sin(dble(i))
  end do
  call MPI_Send(s, n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, ierr)
  call MPI_Wait(third, MPI_STATUS_IGNORE, ierr)
  print '(i0, 3z17)', me, sum(a), sum(b), sum(c)
  call MPI_Finalize(ierr)
end program main
"""


_RETURN = "\n  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)"


def _optimised(folder: Path, read: str = "", handler: str = "") -> tuple[str, Optimised]:
    folder.mkdir()
    path = folder / "main.f90"
    path.write_text(_PROGRAM.format(read=read, handler=handler))
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    return path.read_text(), optimise(tree, tree.units_of(str(path))[0])


def _behind_the_work(found: Optimised, text: str) -> bool:
    lines = (found.content or text.encode()).decode().splitlines()
    (wait,) = (n for n, line in enumerate(lines) if "MPI_Wait(first" in line)
    (work,) = (n for n, line in enumerate(lines) if "sin(" in line)
    return wait > work


def test_a_wait_passes_the_next_start(tmp_path: Path) -> None:
    """Unless somebody looks at its error code, which may be another one than MPI_SUCCESS."""
    looked_at = "\n  if (ierr /= MPI_SUCCESS) stop 1"
    for name, read, handler, behind in (
        ("free", "", "", True),
        ("returning", "", _RETURN, True),
        ("success", looked_at, "", True),
        ("both", looked_at, _RETURN, False),
    ):
        text, found = _optimised(tmp_path / name, read, handler)
        assert _behind_the_work(found, text) == behind


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH, SMPI), ids=str)
def test_the_results_are_the_same(mpi: Mpi, tmp_path: Path) -> None:
    text, found = _optimised(tmp_path / "source")
    printed = same_lines(mpi, tmp_path, text, found.content)
    assert len(printed) == 3


def test_work_stays_behind_what_gives_a_text_the_length_that_it_asks_for(tmp_path: Path) -> None:
    """The text is no temporary of both statements, although nothing of its value is read."""
    (tmp_path / "source").mkdir()
    path = tmp_path / "source" / "main.f90"
    longer, asks = "  word = repeat('x', 1 + mod(int(abs(a(1))), 5))\n", "  do i = 1, len(word)\n"
    text = _PROGRAM.format(read=f"\n{longer}{asks}    c(i) = 2\n  end do\n", handler="")
    text = text.replace("  call MPI_Init", "  character(:), allocatable :: word\n  call MPI_Init")
    path.write_text(text)
    tree = load_tree([path.parent], Settings(cache=False, jobs=1))
    found = optimise(tree, tree.units_of(str(path))[0])
    lines = (found.content or text.encode()).decode().splitlines(keepends=True)
    assert lines.index(longer) < lines.index(asks)
