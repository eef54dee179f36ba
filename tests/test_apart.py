"""Messages stay on the program's communicator only where it receives no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import program, transformed
from mpi_run import RUNTIME, SMPI, Mpi, build, installed, run

ALONE = "apart=.false."
_LISTEN = """\
subroutine listen(ierr)
  use mpi
  implicit none
  integer, intent(out) :: ierr
  integer :: got, status(MPI_STATUS_SIZE)
  logical :: there
  {call}
end subroutine listen
"""
_RECEIVING = {
    "a receive": "call MPI_Recv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, status, ierr)",
    "a receive that is never executed": (
        "if (.false.) call MPI_Recv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, status, ierr)"
    ),
    "a receive with a send": (
        "call MPI_Sendrecv_replace(got, 1, MPI_INTEGER, 0, 7, 0, 7, MPI_COMM_SELF, status, ierr)"
    ),
    "a persistent receive": (
        "call MPI_Recv_init(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, got, ierr)"
    ),
    "a receive by its profiling name": (
        "call PMPI_Irecv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, got, ierr)"
    ),
    "a probe": "call MPI_Iprobe(0, 7, MPI_COMM_SELF, there, status, ierr)",
    "a matched probe": "call MPI_Mprobe(0, 7, MPI_COMM_SELF, got, status, ierr)",
    "another program": "call MPI_Comm_get_parent(got, ierr)",
    "a hint": "call MPI_Comm_set_info(MPI_COMM_WORLD, got, ierr)",
    "a procedure that nobody knows": "call unknown(ierr)",
    "an operation that nobody knows": "call MPI_Unheard_of(ierr)",
}


def test_a_program_that_receives_nothing(tmp_path: Path) -> None:
    assert ALONE in transformed(tmp_path, program())


def test_what_is_sent_to_nobody_is_no_receive(tmp_path: Path) -> None:
    sends = "if (.false.) call MPI_Send(n, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, ierr)\n"
    assert ALONE in transformed(tmp_path, program(before=sends))


@pytest.mark.parametrize("call", list(_RECEIVING.values()), ids=list(_RECEIVING))
def test_a_program_that_may_receive_more(tmp_path: Path, call: str) -> None:
    text = program(after="call listen(ierr)\n", beside=_LISTEN.format(call=call))
    after = transformed(tmp_path, text)
    assert "prepushed" in after
    assert ALONE not in after


def test_a_procedure_without_its_program(tmp_path: Path) -> None:
    """Who calls it may have a receive pending."""
    text = program().replace("program exchange", "subroutine exchange")
    after = transformed(tmp_path, text)
    assert "prepushed" in after
    assert ALONE not in after


def test_a_receive_that_is_never_called(tmp_path: Path) -> None:
    call = "call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, status, ierr)"
    after = transformed(tmp_path, program(beside=_LISTEN.format(call=call)))
    assert "prepushed" in after
    assert ALONE not in after


_UNEVEN = {
    "declare": "integer, allocatable :: counts(:), displs(:)\n",
    "before": "allocate(counts(0:np-1), displs(0:np-1))\ncounts = n*nz\n"
    "do p = 0, np - 1\n  displs(p) = n*nz*p\nend do\n",
    "call": "call MPI_Alltoallv(s, counts, displs, MPI_DOUBLE_PRECISION, r, counts, displs, &\n"
    "                   MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)\n",
}
_TILED = "integer, parameter :: asphalt_k_exchange = 2, asphalt_d_exchange = 2\n"
_UNDER = [pytest.param(m, marks=() if m is SMPI else pytest.mark.wide) for m in installed()]


@pytest.mark.parametrize("parts", [{}, _UNEVEN], ids=["alltoall", "alltoallv"])
@pytest.mark.parametrize("mpi", _UNDER, ids=str)
def test_results_are_those_of_the_original(mpi: Mpi, parts: dict[str, str], tmp_path: Path) -> None:
    text = program(after="print '(i2,*(f8.2))', me, r\n", **parts)
    after = transformed(tmp_path, text)
    assert ALONE in after
    printed: list[list[list[str]]] = []
    for name, source in (("before", text), ("after", after)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "asphalt_params.inc").write_text(_TILED)
        main = folder / "main.f90"
        main.write_text(source)
        made = build(mpi, [RUNTIME, main], folder, ["-O1", "-fcheck=all", "-I."])
        outcomes = [run(mpi, made, ranks) for ranks in (1, 2, 3)]
        assert [outcome.code for outcome in outcomes] == [0, 0, 0], outcomes
        printed.append([sorted(outcome.stdout.splitlines()) for outcome in outcomes])
    assert printed[0] == printed[1]
    assert all(printed[0])
