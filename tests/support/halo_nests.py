"""Random nests behind the receive of a halo, in all kinds of bounds: text, splitting, and runs.

Rank 0 has the nests; rank 1 sends what they need, late, so that an interior that reads a halo gets
what stood there before.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis_manager.analyses import Analyses
from asphalt.transforms.loops import splitting
from asphalt.transforms.motion import code_motion
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.transforms.rewriting.step import Step, Transformation
from asphalt.unparse.unparse import unparse
from support.stepping import Stepped

SPLITTING = splitting.TRANSFORMATION
MOTION = code_motion.TRANSFORMATION
SIZES = ((0, 0), (1, 1), (1, 4), (2, 3), (3, 2), (4, 1), (5, 6), (9, 7))
"""Of a part of the field: some have no interior."""
_DOUBLE = "MPI_DOUBLE_PRECISION"

_MAIN = """\
program halos
  use mpi
  use nests
  implicit none
  integer :: me, ierr, k, at, n, m
  integer, parameter :: sizes(2,{count}) = reshape([{sizes}], [2,{count}])
  integer(8) :: hash
  real(8), allocatable :: u(:,:), after(:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  do at = 1, {count}
    n = sizes(1,at)
    m = sizes(2,at)
    allocate(u(-1:n+2,-1:m+2), after(-1:n+2,-1:m+2))
    do k = 1, {nests}
      call fill(u, 1.0d0)
      call fill(after, 2.0d0)
      if (me == 1) then
        call feed(n, m, k)
      else
        select case (k)
{cases}
        end select
        call mix(u)
        call mix(after)
        print '(3i4,z17)', k, n, m, hash
      end if
    end do
    deallocate(u, after)
  end do
  call MPI_Finalize(ierr)
contains
  subroutine fill(a, factor)
    real(8), intent(out) :: a(-1:,-1:)
    real(8), intent(in) :: factor
    integer :: i, j
    do j = -1, m + 2
      do i = -1, n + 2
        a(i,j) = -factor*mod(7*i + 3*j + 50, 23)/23
      end do
    end do
  end subroutine fill
  subroutine mix(a)
    real(8), intent(in) :: a(-1:,-1:)
    integer :: i, j
    if (k == 1) hash = 1
    do j = -1, m + 2
      do i = -1, n + 2
        hash = ieor(ishftc(hash, 7), transfer(a(i,j), hash))
      end do
    end do
  end subroutine mix
end program halos

!> Sends all halos of a nest when the nest has begun long ago.
subroutine feed(n, m, k)
  use mpi
  implicit none
  integer, intent(in) :: n, m, k
  integer :: tag, i, ierr
  real(8) :: a(n+m+1), began
  began = MPI_Wtime()
  do while (MPI_Wtime() < began + 0.003d0)
  end do
  do tag = 1, 4
    do i = 1, n + m
      a(i) = 100*tag + i + 0.01d0*k
    end do
    call MPI_Send(a, merge(n, m, tag < 3), MPI_DOUBLE_PRECISION, 0, tag, MPI_COMM_WORLD, ierr)
  end do
end subroutine feed
"""

_NEST = """\
  subroutine nest_{number}(u, after, n, m, k)
    integer, intent(in) :: n, m, k
    real(8), intent(inout) :: u(-1:n+2,-1:m+2), after(-1:n+2,-1:m+2)
    real(8) :: west(m), east(m), t
    integer :: i, j, ierr, south, north, left, right

    call MPI_Irecv(u(1,0), n, {double}, 1, 1, MPI_COMM_WORLD, south, ierr)
    call MPI_Irecv(u(1,m+1), n, {double}, 1, 2, MPI_COMM_WORLD, north, ierr)
    call MPI_Irecv(west, m, {double}, 1, 3, MPI_COMM_WORLD, left, ierr)
    call MPI_Irecv(east, m, {double}, 1, 4, MPI_COMM_WORLD, right, ierr)
{between}
{nests}
  end subroutine nest_{number}
"""
_PIECES = (
    "    call MPI_Wait(south, MPI_STATUS_IGNORE, ierr)\n",
    "    call MPI_Wait(north, MPI_STATUS_IGNORE, ierr)\n",
    "    call MPI_Wait(left, MPI_STATUS_IGNORE, ierr)\n"
    "    do j = 1, m\n      u(0,j) = west(j)\n    end do\n",
    "    call MPI_Wait(right, MPI_STATUS_IGNORE, ierr)\n"
    "    do j = 1, m\n      u(n+1,j) = east(j)\n    end do\n",
)
_ROWS = ("1, m", "1, m", "2, m - 1", "1, m - 1", "max(1, k - 2), min(m, k + 2)", "max(1, m - k), m")
_COLUMNS = ("1, n", "1, n", "2, n", "1, n - 1", "max(1, k - 3), n", "1, min(n, k)")


@dataclass(frozen=True, slots=True)
class Program:
    """``nests``: the file that is transformed; ``main``: what calls it."""

    nests: str
    main: str

    def files(self) -> dict[str, str]:
        """The files by name, in the order in which they are compiled."""
        return {"nests.f90": self.nests, "main.f90": self.main}


def program(seed: int, count: int) -> Program:
    """A program with so many nests."""
    chance = random.Random(seed)
    units = "\n".join(_nest(number, chance) for number in range(1, count + 1))
    module = f"module nests\n  use mpi\n  implicit none\ncontains\n\n{units}\nend module nests\n"
    cases = "\n".join(
        f"        case ({k})\n          call nest_{k}(u, after, n, m, {k})"
        for k in range(1, count + 1)
    )
    sizes = ", ".join(str(size) for pair in SIZES for size in pair)
    main = _MAIN.format(count=len(SIZES), nests=count, sizes=sizes, cases=cases)
    return Program(module, main)


def _nest(number: int, chance: random.Random) -> str:
    between = "".join(chance.sample(_PIECES, len(_PIECES)))
    nests = "".join(_loops(chance) for _ in range(chance.choice((1, 1, 2))))
    return _NEST.format(number=number, double=_DOUBLE, between=between, nests=nests)


def _loops(chance: random.Random) -> str:
    reach = chance.choice((1, 1, 1, 2))
    shifts = [(i, j) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1)]
    if chance.random() < 0.5:
        shifts = [(i, j) for i, j in shifts if not i or not j]
    chosen = chance.sample(shifts, chance.randint(1, min(6, len(shifts))))
    terms = (f"{n + 2}*u({_at('i', i)},{_at('j', j)})" for n, (i, j) in enumerate(chosen))
    value = " + ".join(terms)
    body = [f"after(i,j) = {value}"]
    if chance.random() < 0.3:
        body = [f"t = {value}", "after(i,j) = t*t + after(i,j)"]
    if chance.random() < 0.2:
        body.insert(0, "if (u(i,j) > -0.1d0) cycle")
    rows, columns = chance.choice(_ROWS), chance.choice(_COLUMNS)
    inside = "".join(f"        {line}\n" for line in body)
    return f"    do j = {rows}\n      do i = {columns}\n{inside}      end do\n    end do\n"


def _at(name: str, shift: int) -> str:
    return name if not shift else f"{name}{shift:+d}"


def once(tree: Stepped, transformation: Transformation) -> int:
    """Apply the first step in each unit; how many there were."""
    effects, _ = Analyses(tree.tree).of()
    count = 0
    edits: dict[str, bytes] = {}
    for entry in tree.tree.files:
        file = tree.tree.file(entry.path)
        for located in tree.tree.units_of(entry.path):
            facts = UnitFacts(located, effects, file.eol)
            step = next((s for s in transformation.check(facts) if isinstance(s, Step)), None)
            if step is not None:
                file = replace_unit(file, located.unit, transformation.apply(facts, step))
                count += 1
        edits[entry.path] = unparse(file).encode("latin-1")
    tree.tree = tree.tree.edited(edits)
    return count


def split_and_moved(folder: Path, made: Program) -> tuple[Stepped, int, int]:
    """The nests of a program split once each, and then all moves; how many splits and moves."""
    tree = Stepped.of(folder, {"nests.f90": made.nests})
    splits = once(tree, SPLITTING)
    moves = 0
    while more := once(tree, MOTION):
        moves += more
    return tree, splits, moves
