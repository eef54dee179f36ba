"""Nests are split where sizes are variables that have their values before: what counts is that they
keep them from the exchange to the nest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.analysis.verdicts.verdict import Refused
from asphalt.transforms.loops import splitting
from asphalt.transforms.loops.index_set_splitting import DividedNest
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import single_waits
from support.mpi_run import MPICH, OPENMPI, Mpi, installed
from support.stepping import Stepped

MAIN = """\
program heat
  use mpi
{used}  implicit none
  integer, parameter :: long = 12
  integer :: n, m, it, i, j, k, ierr, rank, nprocs, north, south, req(4)
{declared}
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
  north = rank + 1
  if (north == nprocs) north = MPI_PROC_NULL
  south = rank - 1
  if (south < 0) south = MPI_PROC_NULL
  n = 5
  k = 1
{sizes}
  u = 0
  v = 0
  do j = 0, m + 1
    do i = 0, n + 1
      u(i,j) = i*j + 10*rank + i
      v(i,j) = -j
    end do
  end do
  do it = 1, 3
{first}
    call MPI_Irecv(u(1,0), n, MPI_DOUBLE_PRECISION, south, 1, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Irecv(u(1,m+1), n, MPI_DOUBLE_PRECISION, north, 2, MPI_COMM_WORLD, req(2), ierr)
    call MPI_Isend(u(1,m), n, MPI_DOUBLE_PRECISION, north, 1, MPI_COMM_WORLD, req(3), ierr)
    call MPI_Isend(u(1,1), n, MPI_DOUBLE_PRECISION, south, 2, MPI_COMM_WORLD, req(4), ierr)
{between}
{wait}
{behind}
    do j = 1, m
      do i = 1, n
        v(i,j) = u(i,j) + 0.1d0*(u(i-1,j) + u(i+1,j) + u(i,j-1) + u(i,j+1) - 4*u(i,j))
      end do
    end do
    do j = 1, m
      do i = 1, n
        u(i,j) = v(i,j)
      end do
    end do
{last}
  end do
  print '(i3,2z18)', rank, sum(u(0:n+1,:)), sum(v(0:n+1,:))
  call MPI_Finalize(ierr)
{contained}
end program heat
{others}
"""
FIXED = "  real(8) :: u(0:7,0:long), v(0:7,0:long)"
SHAPED = "  real(8), allocatable :: u(:,:), v(:,:)"
ALLOCATED = "  allocate(u(0:n+1,0:m+1), v(0:n+1,0:m+1))"
SHARED = "module shared\n  implicit none\n  integer :: held = 5\nend module shared\n"
INTERIOR = "do j = 2, m - 1"
WAIT = "    call MPI_Waitall(4, req, MPI_STATUSES_IGNORE, ierr)"
Parts = dict[str, str]

SPLIT: dict[str, Parts] = {
    "computed": {"sizes": "  m = 10/nprocs"},
    "at_least": {"sizes": "  m = max(2, 10/nprocs)"},
    "guarded": {"sizes": "  m = 10/nprocs\n  if (m < 2) stop 1"},
    "read": {"sizes": "  m = 4\n  if (command_argument_count() > 5) read *, m"},
    "broadcast": {"sizes": "  m = 4 + rank\n"
                  "  call MPI_Bcast(m, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)"},
    "allocated": {"declared": SHAPED, "sizes": f"  m = 10/nprocs\n{ALLOCATED}"},
    "allocated_alike": {
        "declared": SHAPED,
        "sizes": "  m = 10/nprocs\n  allocate(u(0:n+1,0:m+1), source=0d0)\n  allocate(v, mold=u)",
    },
    "smaller_each_time": {"sizes": "  m = 4", "last": "    m = m - 1"},
    "changed_before_the_exchange": {"sizes": "  m = 4", "first": "    m = m - 1"},
    "named_in_a_procedure": {
        "sizes": "  call choose",
        "last": "    call look",
        "contained": "contains\n  subroutine choose\n    m = 10/nprocs\n  end subroutine choose\n"
        "  subroutine look\n    if (m < 0) print *, m\n  end subroutine look",
    },
    "changed_by_a_procedure_before": {
        "sizes": "  m = 5",
        "first": "    call less",
        "contained": "contains\n  subroutine less\n    m = m - 1\n  end subroutine less",
    },
    "of_a_module": {"sizes": "  held = 10/nprocs\n  m = held", "used": "  use shared\n"},
    "procedure_that_nothing_calls": {
        "sizes": "  m = 4",
        "contained": "contains\n  subroutine never\n    call elsewhere(m)\n  end subroutine never",
    },
    "other_shape_before": {
        "declared": SHAPED,
        "sizes": f"  m = 10/nprocs\n  allocate(v(3,3))\n  deallocate(v)\n{ALLOCATED}",
    },
}  # fmt: skip

REFUSED: dict[str, Parts] = {
    "changed_between": {"sizes": "  m = 4", "between": "    m = 3"},
    "changed_behind": {"sizes": "  m = 4", "behind": "    m = 3"},
    "changed_sometimes": {"sizes": "  m = 4", "between": "    if (it == 2) m = m - 1"},
    "read_between": {"sizes": "  m = 4", "between": "    read *, m"},
    "broadcast_between": {
        "sizes": "  m = 4",
        "between": "    call MPI_Bcast(m, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)",
    },
    "changed_by_a_procedure": {
        "sizes": "  m = 4",
        "between": "    call less",
        "contained": "contains\n  subroutine less\n    m = m - 1\n  end subroutine less",
    },
    "changed_by_a_procedure_of_a_procedure": {
        "sizes": "  m = 4",
        "between": "    call less",
        "contained": "contains\n  subroutine less\n    call one(m)\n  end subroutine less\n"
        "  subroutine one(k)\n    integer, intent(inout) :: k\n    k = k - 1\n"
        "  end subroutine one",
    },
    "passed_on": {
        "sizes": "  m = 4",
        "between": "    call elsewhere(less)",
        "contained": "contains\n  subroutine less\n    m = m - 1\n  end subroutine less",
    },
    "changed_by_a_pointer": {
        "declared": FIXED + "\n  target :: m\n  integer, pointer :: p",
        "sizes": "  m = 4\n  p => m",
        "between": "    p = 3",
    },
    "changed_by_another_name": {
        "sizes": "  m = 4",
        "between": "    associate (a => m)\n      a = 3\n    end associate",
    },
    "overlaid": {
        "declared": FIXED + "\n  integer :: p\n  equivalence (p, m)",
        "sizes": "  m = 4",
        "between": "    p = 3",
    },
    "of_a_module_changed_elsewhere": {
        "used": "  use shared, m_of_module => held\n",
        "sizes": "  m = 4",
        "between": "    call change\n    m = m_of_module",
        "others": "subroutine change\n  use shared\n  held = held - 1\nend subroutine change\n",
    },
    "changed_between_waits": {
        "sizes": "  m = 5",
        "wait": "    do j = 1, 4\n      call MPI_Wait(req(j), MPI_STATUS_IGNORE, ierr)\n"
        "      if (j == 1) m = m - 1\n    end do",
    },
    "received": {
        "declared": FIXED + "\n  integer :: asked",
        "sizes": "  m = 4",
        "first": "    call MPI_Ibcast(m, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, asked, ierr)",
        "between": "    call MPI_Wait(asked, MPI_STATUS_IGNORE, ierr)",
    },
    "jump": {
        "sizes": "  m = 4",
        "between": "10  continue",
        "behind": "    m = m - 1\n    if (m > 3) go to 10",
    },
}

OTHER_SHAPE: dict[str, Parts] = {
    "reallocated": {
        "declared": SHAPED,
        "sizes": f"  m = 4\n{ALLOCATED}",
        "first": "    if (it == 2) then\n      deallocate(u)\n      allocate(u(1:n,0:m+1))\n"
        "      u = 1\n    end if",
    },
    "assigned_whole": {
        "declared": SHAPED,
        "sizes": f"  m = 4\n{ALLOCATED}",
        "first": "    if (it == 2) u = u(1:n,:)",
    },
}


def text_of(name: str, parts: Parts) -> str:
    """The program of a case."""
    empty = dict.fromkeys(("used", "first", "between", "behind", "last", "contained", "others"), "")
    return SHARED + MAIN.format(**{**empty, "declared": FIXED, "wait": WAIT, **parts})


def stepped(folder: Path, parts: Parts) -> Stepped:
    """The tree of a case, with its waits one by one."""
    tree = Stepped.of(folder, {"heat.f90": text_of(folder.name, parts)})
    tree.applied(single_waits)
    return tree


@pytest.mark.parametrize("name", SPLIT)
def test_sizes_that_stay_are_as_good_as_constants(name: str, tmp_path: Path) -> None:
    tree = stepped(tmp_path, SPLIT[name])
    found = [one for facts, one in tree.found(splitting) if facts.unit.name == "heat"]
    assert isinstance(found[0], DividedNest), found
    tree.applied(splitting, unit="heat")
    assert INTERIOR in tree.text("heat.f90")


@pytest.mark.parametrize("name", REFUSED)
def test_sizes_that_change_between_keep_the_nest_whole(name: str, tmp_path: Path) -> None:
    tree = stepped(tmp_path, REFUSED[name])
    found = [one for facts, one in tree.found(splitting) if facts.unit.name == "heat"]
    assert all(isinstance(one, Refused) for one in found[:1]), found
    tree.applied(splitting, unit="heat")
    assert INTERIOR not in tree.text("heat.f90")


@pytest.mark.parametrize("name", OTHER_SHAPE)
def test_the_first_plane_is_not_distinguished_where_arrays_get_other_shapes(
    name: str, tmp_path: Path
) -> None:
    tree = stepped(tmp_path, OTHER_SHAPE[name])
    tree.applied(splitting, unit="heat")
    assert INTERIOR not in tree.text("heat.f90")
    assert "do j = 1, m - 1" in tree.text("heat.f90")  # the last one is


_GRID = """\
module grids
  implicit none
  type grid
    integer :: m
  end type grid
contains
  subroutine shrink(g)
    type(grid), intent(inout) :: g
    g%m = g%m - 1
  end subroutine shrink
end module grids
"""
OF_STRUCTURES: dict[str, Parts] = {
    "changed_by_another_name_of_the_structure": {
        "sizes": "  m = 4",
        "between": "    associate (a => g)\n      call shrink(a)\n    end associate",
    },
    "read_with_the_structure": {"sizes": "  m = 4", "between": "    read *, g"},
    "changed_by_a_pointer_to_the_structure": {
        "declared": FIXED + "\n  target :: g\n  type(grid), pointer :: p",
        "sizes": "  m = 4\n  p => g",
        "between": "    call shrink(p)",
    },
    "received_with_the_structure": {
        "sizes": "  m = 4",
        "between": "    call MPI_Bcast(g, 4, MPI_BYTE, 0, MPI_COMM_WORLD, ierr)",
    },
    "changed_as_a_whole": {"sizes": "  m = 4\n  other%m = 3", "between": "    g = other"},
    "changed_with_the_structure": {"sizes": "  m = 4", "between": "    call shrink(g)"},
    "changed_by_a_pointer": {
        "declared": FIXED + "\n  target :: g\n  integer, pointer :: p",
        "sizes": "  m = 4\n  p => m",
        "between": "    p = 3",
    },
}


def of_structure(name: str, parts: Parts) -> str:
    """The program of a case, its size being a component of a structure."""
    text = text_of(name, parts).replace("integer :: n, m, it", "integer :: n, it", 1)
    text = re.sub(r"\bm\b", "g%m", text).replace("  use mpi\n", "  use mpi\n  use grids\n", 1)
    return _GRID + text.replace(
        "  integer :: n, it", "  type(grid) :: g, other\n  integer :: n, it"
    )


AS_COMPONENTS = [name for name in SPLIT if name not in ("of_a_module", "allocated_alike")]
CHANGED = {
    name: parts
    for name, parts in {**REFUSED, **OF_STRUCTURES}.items()
    if name not in ("overlaid", "of_a_module_changed_elsewhere")
}


@pytest.mark.parametrize("name", AS_COMPONENTS)
def test_components_that_stay_are_as_good_as_constants(name: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"heat.f90": of_structure(name, SPLIT[name])})
    tree.applied(single_waits)
    tree.applied(splitting, unit="heat")
    assert "do j = 2, g%m - 1" in tree.text("heat.f90")


@pytest.mark.parametrize("name", CHANGED)
def test_components_that_change_between_keep_the_nest_whole(name: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"heat.f90": of_structure(name, CHANGED[name])})
    tree.applied(single_waits)
    tree.applied(splitting, unit="heat")
    assert "do j = 2, g%m - 1" not in tree.text("heat.f90")


ROWS = ("1", "2", "10/nprocs")


@pytest.mark.parametrize("rows", ROWS)
def test_the_results_are_the_same_with_components(rows: str, tmp_path: Path) -> None:
    (mpi, *_) = installed(OPENMPI, MPICH)
    parts = {part: text.replace("10/nprocs", rows) for part, text in SPLIT["allocated"].items()}
    text = of_structure("allocated", parts)
    given = Stepped.of(tmp_path / "given", {"heat.f90": text})
    tree = Stepped.of(tmp_path / "split", {"heat.f90": text})
    tree.applied(single_waits)
    assert tree.applied(splitting, code_motion, unit="heat") > 1
    results = [
        one.result(mpi, tmp_path / folder, ["heat.f90"], 3)
        for folder, one in (("one", given), ("two", tree))
    ]
    assert results[0] == results[1]


RUN = ("computed", "broadcast", "allocated_alike", "smaller_each_time", "named_in_a_procedure",
       "changed_by_a_procedure_before")  # fmt: skip


# each name and each number of rows; all of them with the first name
NAMED_ROWS = [
    pytest.param(name, rows, marks=() if number == 0 or number % 3 == place else pytest.mark.wide)
    for number, name in enumerate(RUN)
    for place, rows in enumerate(ROWS)
]


@pytest.mark.parametrize(("name", "rows"), NAMED_ROWS)
@pytest.mark.parametrize("mpi", installed(MPICH, OPENMPI), ids=lambda mpi: mpi.name)
def test_the_results_are_the_same(name: str, rows: str, mpi: Mpi, tmp_path: Path) -> None:
    parts = {part: text.replace("10/nprocs", rows) for part, text in SPLIT[name].items()}
    if "- 1" in "".join(parts.values()):  # it becomes smaller three times
        parts["sizes"] = f"  m = 3 + {rows}"
    if name == "broadcast":
        parts["sizes"] = parts["sizes"].replace("4 + rank", f"{rows} + rank")
    given = Stepped.of(tmp_path / "given", {"heat.f90": text_of(name, parts)})
    tree = stepped(tmp_path / "split", parts)
    assert tree.applied(splitting, code_motion, unit="heat") > 1
    results = [
        one.result(mpi, tmp_path / folder, ["heat.f90"], 3)
        for folder, one in (("one", given), ("two", tree))
    ]
    assert results[0] == results[1]
