"""Iterations that define what is sent come first, and the others beside the transfer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from asphalt.analysis.verdicts.splitting_codes import ORDER, SHAPE, STATEMENT
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.transforms.loops import peeling
from asphalt.transforms.loops.index_set_splitting import DividedNest
from asphalt.transforms.motion import code_motion
from support.mpi_run import MPICH, OPENMPI, Mpi, build, installed, run
from support.stepping import Stepped

_UNIT = """\
subroutine step(u, after, n, m, k, above, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, k, above, comm
  real(8), intent(in) :: u(0:n+1,0:m+1)
  real(8), intent(inout) :: after(n,m)
  real(8) :: row(n), column(m), s
  integer :: i, j, ierr, request
{body}  call MPI_Isend({sent}, MPI_DOUBLE_PRECISION, above, 1, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
end subroutine step
"""
_FIVE = "after(i,j) = u(i,j) + u(i-1,j) + u(i+1,j) + u(i,j-1) + u(i,j+1)"
_ROW = "  do i = 1, n\n    row(i) = after(i,{0})\n  end do\n"
_COLUMN = "  do j = 1, m\n    column(j) = after({0},j)\n  end do\n"


def nest(statement: str = _FIVE, rows: str = "1, m", columns: str = "1, n") -> str:
    return f"  do j = {rows}\n    do i = {columns}\n      {statement}\n    end do\n  end do\n"


def unit(body: str, sent: str = "row, n") -> str:
    return _UNIT.format(body=body, sent=sent)


def heads(text: str) -> list[str]:
    """The heads of the loops, and where the start stands."""
    lines = (line.strip() for line in text.splitlines())
    return [x.split("(")[0] for x in lines if x.startswith(("do ", "call MPI_Isend"))]


FIRST = {
    "last_row": (nest() + _ROW.format("m"), "row, n", ["do j = max", "do j = 1, m - 1"]),
    "first_row": (nest() + _ROW.format("1"), "row, n", ["do j = 1, min", "do j = 2, m"]),
    "last_row_in_place": (nest(), "after(1,m), n", ["do j = max", "do j = 1, m - 1"]),
    "first_column": (
        nest() + _COLUMN.format("1"), "column, m",
        ["do i = 1, min", "do i = 2, n"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIRST)
def test_what_is_sent_is_computed_first(name: str, tmp_path: Path) -> None:
    body, sent, wanted = FIRST[name]
    path = tmp_path / "unit.f90"
    path.write_text(unit(body, sent))
    tree = load_tree([tmp_path])
    found = optimise(tree, tree.units_of(str(path))[0])
    assert found.content is not None
    assert [done.transformation for done in found.steps] == ["peeling", "motion"]
    loops = heads(found.content.decode())
    edge, rest = (next(n for n, loop in enumerate(loops) if loop == want) for want in wanted)
    assert edge < loops.index("call MPI_Isend") < rest


REFUSED: dict[str, tuple[Code, str]] = {
    "carried": (ORDER, nest("after(i,j) = u(i,j) + after(i,max(1,j-1))")),
    "sum": (ORDER, nest("s = s + u(i,j)\n      after(i,j) = s")),
    "print": (STATEMENT, nest("after(i,j) = 1\n      print *, j")),
    "middle": (SHAPE, nest() + _ROW.format("k")),
    "everywhere": (SHAPE, nest() + nest("column(j) = after(i,j)")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_nest_stays_whole(name: str, tmp_path: Path) -> None:
    code, body = REFUSED[name]
    body += "" if "row(" in body else _ROW.format("m")
    found = Stepped.of(tmp_path, {"unit.f90": unit(body)}).found(peeling)
    (_, first), *_ = found  # behind it stand loops that pack
    assert isinstance(first, Refused)
    assert first.code == code
    assert not [one for _, one in found if isinstance(one, DividedNest)]


def test_work_leaves_no_window_for_another_one(tmp_path: Path) -> None:
    """The nest stands in the window of a receive; behind the wait the row is sent."""
    text = unit(
        "  call MPI_Irecv(column, m, MPI_DOUBLE_PRECISION, above, 2, comm, request, ierr)\n"
        + nest()
        + "  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"
        + "  do i = 1, n\n    row(i) = u(i,1) + column(1)\n  end do\n"
    )
    assert Stepped.of(tmp_path, {"unit.f90": text}).steps(code_motion) == []
    free = unit(nest() + "  do i = 1, n\n    row(i) = u(i,1)\n  end do\n")
    (move,) = Stepped.of(tmp_path / "free", {"unit.f90": free}).steps(code_motion)
    assert "the work of line 9 goes into the window" in move.does


_MAIN = """\
program main
  use mpi
  implicit none
  integer :: me, ierr, n, m, i, j
  integer(8) :: hash
  real(8), allocatable :: u(:,:), after(:,:), got(:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  do m = 0, 5
    do n = 1, 4
      allocate(u(0:n+1,0:m+1), after(n,m), got(n+m))
      do j = 0, m + 1
        do i = 0, n + 1
          u(i,j) = mod(7*i + 3*j, 11)/11.0d0
        end do
      end do
      after = -1
      got = -1
      if (me == 0) then
        call step(u, after, n, m, 2, 1, MPI_COMM_WORLD)
      else
        call MPI_Recv(got, n + m, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
      end if
      hash = 1
      do i = 1, n + m
        hash = ieor(ishftc(hash, 7), transfer(got(i), hash))
      end do
      do j = 1, m
        do i = 1, n
          hash = ieor(ishftc(hash, 7), transfer(after(i,j), hash))
        end do
      end do
      print '(3i4,z17)', me, n, m, hash
      deallocate(u, after, got)
    end do
  end do
  call MPI_Finalize(ierr)
end program main
"""


def random_unit(seed: int) -> str:
    """A nest, and what is sent of it; all subscripts are inside for any size."""
    chance = random.Random(seed)
    body = nest(
        chance.choice((_FIVE, "after(i,j) = u(i,j) - 2*u(i,j+1)")),
        chance.choice(("1, m", "1, m - 1", "2, m", "1, min(m, 4)")),
        chance.choice(("1, n", "2, n", "1, n - 1")),
    )
    if chance.random() < 0.5:
        body += f"  do i = 1, n*min(m, 1)\n    row(i) = after(i,{chance.choice('1m')})\n  end do\n"
        body += "  do i = n*min(m, 1) + 1, n\n    row(i) = 0\n  end do\n"
        return unit(body, "row, n")
    body += f"  do j = 1, m\n    column(j) = after({chance.choice('1n')},j)\n  end do\n"
    return unit(body, "column, m")


def _same(seed: int, mpi: Mpi, tmp_path: Path) -> bool:
    """Whether a program is changed; what it computes then is compared."""
    text = random_unit(seed)
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "unit.f90"
    path.write_text(text)
    tree = load_tree([path])
    found = optimise(tree, tree.units_of(str(path))[0])
    if found.content is None:
        return False
    results = []
    for kind, content in (("before", text.encode()), ("after", found.content)):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_text(_MAIN)
        (folder / "unit.f90").write_bytes(content)
        files = [folder / "unit.f90", folder / "main.f90"]
        outcome = run(mpi, build(mpi, files, folder, ["-O1", "-fcheck=all"]), 2)
        assert outcome.code == 0, outcome.stderr
        results.append(sorted(outcome.stdout.splitlines()))
    assert results[0] == results[1]
    assert len(results[0]) == 48
    return True


def test_a_random_nest_gives_the_same(tmp_path: Path) -> None:
    assert _same(1, installed(OPENMPI, MPICH)[0], tmp_path)


@pytest.mark.wide
def test_random_nests_give_the_same(tmp_path: Path) -> None:
    mpis = installed(OPENMPI, MPICH)
    changed = [_same(seed, mpis[seed % len(mpis)], tmp_path / str(seed)) for seed in range(2, 26)]
    assert sum(changed) > 15
