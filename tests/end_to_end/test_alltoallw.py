"""Exchanges with a datatype for each rank: as messages, and as one operation beside other work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, RUNTIME, SMPI, Mpi, build, installed, run
from support.places import RUNTIME_PROGRAMS

# columns of which all ranks have some become rows, and rows columns again: a block of columns is in
# planes of its own, one of rows in all planes
_PROGRAM = """\
module redistributed
  use mpi_f08
  implicit none
contains
  subroutine there_and_back(n1, m2, m1, n2, a, b, c, comm, many, some, begins, rows, columns)
    integer, intent(in) :: n1, m2, m1, n2, many(:), some(:), begins(:)
    real(8), intent(inout) :: a(n1,m2), b(m1,n2), c(m1,n2)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Datatype), intent(in) :: rows(:), columns(:)
    integer :: i, j
    call MPI_Alltoallw(a, many, begins, columns, b, some, begins, rows, comm)
{work}    do j = 1, n2
      do i = 1, m1
        c(i,j) = c(i,j) + cos(b(i,j))
      end do
    end do
    do j = 1, n2
      do i = 1, m1
        b(i,j) = sin(c(i,j) + j)
      end do
    end do
    call MPI_Alltoallw(b, some, begins, rows, a, many, begins, columns, comm)
  end subroutine there_and_back
end module redistributed

program main
  use redistributed
  implicit none
  integer, parameter :: n1 = 90, n2 = 50
  integer :: me, np, p, q, m1, m2, first1, first2
  integer, allocatable :: many(:), some(:), none(:)
  type(MPI_Datatype), allocatable :: rows(:), columns(:)
  real(8), allocatable :: a(:,:), b(:,:), c(:,:)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, np)
  call share(n1, me, first1, m1)
  call share(n2, me, first2, m2)
  allocate(a(n1,m2), b(m1,n2), c(m1,n2), many(np), some(np), none(np), rows(np), columns(np))
  do p = 1, np
    call make(p)
  end do
  none = 0
  do q = 1, m2
    a(:,q) = [(p*0.5d0 + q + first2, p = 1, n1)]
  end do
  b = 0
  c = 0
  do q = 1, 3
    call there_and_back(n1, m2, m1, n2, a, b, c, MPI_COMM_WORLD, many, some, none, rows, columns)
  end do
  print '(i0, 3z17)', me, told(a), told(b), told(c)
  call MPI_Finalize()
contains
  ! the elements and where they are
  integer(8) function told(x)
    real(8), intent(in) :: x(:,:)
    integer :: i, j
    told = 0
    do j = 1, size(x, 2)
      do i = 1, size(x, 1)
        told = ieor(ishftc(told, 7), transfer(x(i,j), told))
        told = ieor(told, ishft(told, -9))
      end do
    end do
  end function told

  ! the first ranks have little, or nothing
  subroutine share(n, rank, first, number)
    integer, intent(in) :: n, rank
    integer, intent(out) :: first, number
    first = n*rank**4/np**4
    number = n*(rank + 1)**4/np**4 - first
  end subroutine share

  subroutine make(p)
    integer, intent(in) :: p
    integer :: from1, number1, from2, number2
    call share(n1, p - 1, from1, number1)
    call share(n2, p - 1, from2, number2)
    many(p) = merge(1, 0, number1*m2 > 0)
    some(p) = merge(1, 0, m1*number2 > 0)
    columns(p) = MPI_DOUBLE_PRECISION
    rows(p) = MPI_DOUBLE_PRECISION
    if (many(p) > 0) then
      call MPI_Type_create_subarray(2, [n1, m2], [number1, m2], [from1, 0], MPI_ORDER_FORTRAN, &
                                    MPI_DOUBLE_PRECISION, columns(p))
      call MPI_Type_commit(columns(p))
    end if
    if (some(p) > 0) then
      call MPI_Type_create_subarray(2, [m1, n2], [m1, number2], [0, from2], MPI_ORDER_FORTRAN, &
                                    MPI_DOUBLE_PRECISION, rows(p))
      call MPI_Type_commit(rows(p))
    end if
  end subroutine make
end program main
"""
TYPED = _PROGRAM.format(work="")
# work that uses nothing of it, and then all of it at once
_BESIDE = """\
    do i = 1, m1
      c(i,1) = c(i,1) + sin(dble(i))
    end do
    if (m1 > 0) c(1,1) = c(1,1) + sum(b)
"""
ONE = _PROGRAM.format(work=_BESIDE)


def _without_types(text: str) -> str:
    """The same program with handles that are integers."""
    text = text.replace("use mpi_f08", "use mpi")
    text = re.sub(r"type\(MPI_\w+\)(, [a-z()]+)? ::", r"integer\1 ::", text)
    text = text.replace("integer :: i, j\n", "integer :: i, j, ierr\n")
    text = text.replace("integer :: me,", "integer :: ierr, me,")
    text = re.sub(r"(call MPI_(?:\w+)\((?:[^()&]|&\n|\([^()]*\))*)\)", r"\1, ierr)", text)
    return text.replace("(, ierr)", "(ierr)")


PLAIN = _without_types(TYPED)


def optimised(folder: Path, text: str, unit: str) -> Optimised:
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (located,) = (u for u in tree.units_of(str(path)) if u.chain[-1].name == unit)
    return optimise(tree, located)


@pytest.mark.parametrize("text", [TYPED, PLAIN], ids=["f08", "mpi"])
def test_planes_of_blocks_come_and_go_one_by_one(text: str, tmp_path: Path) -> None:
    found = optimised(tmp_path, text, "there_and_back")
    assert [t.operation for t in found.transfers] == ["MPI_Alltoallw"] * 2
    content = " ".join((found.content or b"").decode().replace("&", "").split())
    comm = "comm%MPI_VAL" if text is TYPED else "comm"
    given = "a, many, begins, columns, b, some, begins, rows"
    assert f"({given}, {comm}, [0], 0, [m1], storage_size(b), asphalt_blocks_1)" in content
    back = "b, some, begins, rows, a, many, begins, columns"
    assert f"({back}, {comm}, [m1], storage_size(b), [0], 0, asphalt_blocks_2, later=" in content
    assert "call asphalt_await_block(asphalt_blocks_1, j - 1, b)" in content
    assert "call asphalt_send_block(asphalt_blocks_2, j - 1, b)" in content


def test_messages_beside_work_that_uses_no_plane(tmp_path: Path) -> None:
    """Not one operation: the types may be derived ones."""
    content = (optimised(tmp_path, ONE, "there_and_back").content or b"").decode()
    start, finish = content.index("(a, many, begins, col"), content.index("_finish_blocks(")
    assert start < content.index("c(i,1) = ") < finish < content.index("sum(b)")
    assert "ialltoallw" not in content


_KNOWN = """\
program main
  use mpi_f08
  implicit none
  integer, parameter :: n = 90
  integer :: me, np, i, p
  integer, allocatable :: many(:), begins(:)
  type(MPI_Datatype), allocatable :: types(:)
  real(8), allocatable :: a(:,:), b(:,:), c(:)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, np)
  allocate(a(n,np), b(n,np), c(n), many(np), begins(np), types(np))
  many = n
  begins = [(8*n*p, p = 0, np - 1)]
{types}  a = me
  c = 0
  call MPI_Alltoallw(a, many, begins, types, b, many, begins, types, MPI_COMM_WORLD)
  do i = 1, n
    c(i) = c(i) + sin(dble(i))
  end do
  print '(i0, 2z17)', me, sum(b), sum(c)
  call MPI_Finalize()
end program main
"""
_ASSIGNED = """\
  do p = 1, np
    types(p) = MPI_DOUBLE_PRECISION
  end do
"""
KNOWN = _KNOWN.format(types=_ASSIGNED)
DERIVED = _KNOWN.format(
    types=_ASSIGNED
    + "  call MPI_Type_contiguous(n, MPI_DOUBLE_PRECISION, types(1))\n"
    + "  call MPI_Type_commit(types(1))\n  many(1) = 1\n"
)


@pytest.mark.parametrize("text", [KNOWN, _without_types(KNOWN)], ids=["f08", "mpi"])
def test_one_operation_where_all_types_are_predefined(text: str, tmp_path: Path) -> None:
    content = (optimised(tmp_path, text, "main").content or b"").decode()
    start, wait = content.index("call asphalt_ialltoallw("), content.index("asphalt_wait_both(")
    assert start < content.index("c(i) = ") < wait < content.index("sum(b)")


def test_derived_types_keep_it_from_being_one(tmp_path: Path) -> None:
    content = (optimised(tmp_path, DERIVED, "main").content or b"").decode()
    assert "asphalt_alltoallw_blocks" in content
    assert "ialltoallw" not in content
    path = tmp_path / "main.f90"
    settings = Settings(cache=False, jobs=1, passes=("nonblocking", "motion"))
    (report,) = Project(path, settings=settings).not_overlapped(())
    assert report.operation == "MPI_Alltoallw"
    assert "derived types in types would not outlive its start" in report.message


PROGRAMS = {
    "planes": (TYPED, "there_and_back"),
    "beside": (ONE, "there_and_back"),
    "known": (KNOWN, "main"),
    "derived": (DERIVED, "main"),
}


FORMS = [f"{name}-{how}" for name in PROGRAMS for how in ("f08", "mpi")]
QUICK = {("planes-mpi", MPICH), ("planes-mpi", SMPI)}


@pytest.mark.parametrize(
    ("form", "mpi"),
    [
        pytest.param(form, mpi, marks=() if (form, mpi) in QUICK else pytest.mark.wide)
        for form in FORMS
        for mpi in installed()
    ],
    ids=str,
)
def test_they_compute_the_same(mpi: Mpi, form: str, tmp_path: Path) -> None:
    """With ranks that send or get nothing, whose types are not used."""
    if form.endswith("f08") and mpi is SMPI:
        pytest.skip("SMPI 3.32 has no mpi_f08")
    text, unit = PROGRAMS[form.partition("-")[0]]
    text = text if form.endswith("f08") else _without_types(text)
    found = optimised(tmp_path, text, unit)
    assert found.content is not None
    _assert_equal(mpi, text, found.content, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
def test_random_types(mpi: Mpi, tmp_path: Path) -> None:
    text = (RUNTIME_PROGRAMS / "random_types.f90").read_text()
    found = optimised(tmp_path, text, "exchange")
    assert found.content is not None
    assert b"asphalt_await_block(" in found.content
    assert b"asphalt_send_block(" in found.content
    # coll/self of Open MPI 4.1 takes displacements for numbers of elements
    ranks = (2, 3, 4) if mpi is OPENMPI else (1, 2, 3, 4)
    _assert_equal(mpi, text, found.content, tmp_path, ranks, lines=40)


def _assert_equal(
    mpi: Mpi,
    text: str,
    after: bytes,
    tmp_path: Path,
    numbers: tuple[int, ...] = (1, 2, 3, 4),
    lines: int = 1,
) -> None:
    """On these numbers of ranks, each of which prints so many lines."""
    results: dict[str, list[list[str]]] = {}
    for kind, content in (("before", text.encode()), ("after", after)):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_bytes(content)
        runtime = [] if kind == "before" else [*RUNTIME]
        flags = ["-O1", "-w", "-fallow-argument-mismatch", "-fcheck=all"]
        built = build(mpi, [*runtime, folder / "main.f90"], folder, flags)
        for ranks in numbers:
            outcome = run(mpi, built, ranks)
            assert outcome.code == 0, outcome.stderr
            results.setdefault(kind, []).append(sorted(outcome.stdout.splitlines()))
    assert results["before"] == results["after"]
    assert [len(found) for found in results["after"]] == [lines * n for n in numbers]
