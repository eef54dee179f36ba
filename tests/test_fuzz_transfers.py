"""A fixed sample of random procedures with messages between two ranks."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from fuzz.exchanges import procedure
from fuzz.transfers import batch
from fuzz.typed_handles import typed

from asphalt.running.mpi import MPICH, SMPI


def test_a_procedure_is_the_same_each_time() -> None:
    assert procedure(5, 3) == procedure(5, 3)
    assert procedure(5, 3) != procedure(5, 4)


_PLAIN = """\
      use mpi
      integer :: me, status(MPI_STATUS_SIZE), req(4), ierr
      integer, allocatable :: requests(:), statuses(:,:)
      call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
      allocate(requests(2*np), statuses(MPI_STATUS_SIZE,
     &2*np))
      statuses = 0
      call MPI_Recv(a, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, status,
     &ierr)
      t = t + statuses(MPI_SOURCE,1)
"""
_TYPED = """\
      use mpi_f08
      integer :: me, ierr
      type(MPI_Status) :: status
      type(MPI_Request) :: req(4)
      type(MPI_Request), allocatable :: requests(:)
      type(MPI_Status), allocatable :: statuses(:)
      call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
      allocate(requests(2*np), statuses(2*np))
      statuses%MPI_SOURCE = 0
      call MPI_Recv(a, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, status)
      t = t + statuses(1)%MPI_SOURCE
"""


def test_handles_and_statuses_of_derived_types() -> None:
    texts = {typed(_PLAIN, Random(number)) for number in range(20)}
    assert texts == {_TYPED, _TYPED.replace("status)", "status,\n     &ierr)")}
    assert typed(_PLAIN.replace("use mpi", "include 'mpif.h'"), Random(1)) is None


@pytest.mark.wide
@pytest.mark.skipif(bool(MPICH.missing()), reason="MPICH is not installed")
def test_a_sample_with_them_gives_the_same_results(tmp_path: Path) -> None:
    found = batch(101, 0, 6, MPICH, "-O0", tmp_path, (3,), "halos")
    assert found.failures == []
    assert found.transformed >= 5
    assert found.typed >= 2


@pytest.mark.skipif(bool(SMPI.missing()), reason="SMPI is not installed")
@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (0, "exchanges"),
        (8, "alltoalls"),
        pytest.param(4, "exchanges", marks=pytest.mark.wide),
        pytest.param(0, "arrays", marks=pytest.mark.wide),
        pytest.param(0, "halos", marks=pytest.mark.wide),
        pytest.param(0, "shifts", marks=pytest.mark.wide),
        pytest.param(15, "waves", marks=pytest.mark.wide),
    ],
)
def test_a_sample_gives_the_same_results(first: int, kind: str, tmp_path: Path) -> None:
    found = batch(101, first, 4, SMPI, "-O0", tmp_path, (3,), kind)
    assert found.failures == []
    assert found.transformed >= 2
    assert found.transfers >= 4
