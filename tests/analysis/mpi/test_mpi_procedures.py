"""The table of MPI procedures against the standard and against table 1 of the ICS 2009 paper."""

from __future__ import annotations

import pytest

from asphalt.analysis.mpi.procedures import Direction, MpiProcedure, Timing, procedure, table

# Danalis et al., ICS 2009, table 1 (without the error code, which is in every DEF).
PRINTED_ROWS = {
    "mpi_send": ((), ("buf", "count", "datatype", "dest", "tag", "comm")),
    "mpi_recv": (("buf", "status"), ("count", "datatype", "source", "tag", "comm")),
    "mpi_isend": (("request",), ("buf", "count", "datatype", "dest", "tag", "comm")),
    "mpi_irecv": (("buf", "request"), ("count", "datatype", "source", "tag", "comm")),
    "mpi_wait": (("request", "status"), ("request",)),
}


def known(name: str) -> MpiProcedure:
    found = procedure(name)
    assert found is not None, name
    return found


@pytest.mark.parametrize("name", sorted(PRINTED_ROWS))
def test_definitions_and_uses_are_those_of_the_paper(name: str) -> None:
    defs, uses = PRINTED_ROWS[name]
    assert known(name).defs == {*defs, "ierror"}
    assert known(name).uses == set(uses)


def test_every_procedure_is_whole() -> None:
    assert len(table()) > 440
    for name, entry in table().items():
        assert name == entry.name == entry.spelled.lower()
        names = [p.name for p in entry.parameters]
        assert len(names) == len(set(names)), name
        assert entry.defs | entry.uses == set(names), name
        if "ierror" in names:
            assert names[-1] == "ierror", name
            assert "ierror" in entry.defs - entry.uses, name
        for parameter in entry.parameters:
            if parameter.direction is Direction.INOUT:
                assert parameter.defined, (name, parameter.name)
                assert parameter.used, (name, parameter.name)


def test_every_exchange_names_its_arguments() -> None:
    exchanges = {name: p.exchange for name, p in table().items() if p.exchange is not None}
    assert len(exchanges) == 20
    for name, exchange in exchanges.items():
        entry = known(name)
        for argument, kind in (
            (exchange.send, "BUFFER"),
            (exchange.receive, "BUFFER"),
            (exchange.send_type, "DATATYPE"),
            (exchange.receive_type, "DATATYPE"),
            (exchange.destination, "RANK"),
            (exchange.source, "RANK"),
        ):
            parameter = entry.parameter(argument) if argument is not None else None
            assert argument is None or (parameter is not None and parameter.kind == kind), name
        for argument in (exchange.send_count, exchange.receive_count):
            counted = entry.parameter(argument) if argument is not None else None
            assert argument is None or (counted is not None and counted.is_count), name


@pytest.mark.parametrize(
    ("name", "timing"),
    [
        ("mpi_alltoall", Timing.BLOCKING),
        ("mpi_send", Timing.BLOCKING),
        ("mpi_ialltoall", Timing.NONBLOCKING),
        ("mpi_irecv", Timing.NONBLOCKING),
        ("mpi_put", Timing.NONBLOCKING),
        ("mpi_file_read_all_begin", Timing.NONBLOCKING),
        ("mpi_send_init", Timing.PERSISTENT),
        ("mpi_alltoall_init", Timing.PERSISTENT),
        ("mpi_start", Timing.STARTING),
        ("mpi_pready", Timing.STARTING),
        ("mpi_waitall", Timing.COMPLETING),
        ("mpi_test", Timing.COMPLETING),
    ],
)
def test_timing(name: str, timing: Timing) -> None:
    assert known(name).timing is timing


def test_whatever_gives_a_request_is_not_blocking() -> None:
    for name, entry in table().items():
        gives = [
            p for p in entry.parameters if p.kind == "REQUEST" and p.direction is Direction.OUT
        ]
        assert not gives or entry.timing in (Timing.NONBLOCKING, Timing.PERSISTENT), name


@pytest.mark.parametrize("name", ["mpi_alltoall", "mpi_barrier", "mpi_comm_split", "mpi_ibcast"])
def test_collective(name: str) -> None:
    assert known(name).collective
    assert not known(name).local


@pytest.mark.parametrize("name", ["mpi_comm_rank", "mpi_type_size", "mpi_isend", "mpi_type_extent"])
def test_local(name: str) -> None:
    assert known(name).local
    assert not known(name).collective


@pytest.mark.parametrize("name", ["mpi_send", "mpi_recv", "mpi_wait", "mpi_probe"])
def test_what_waits_for_others_is_not_local(name: str) -> None:
    assert not known(name).local


def test_no_collective_is_local() -> None:
    assert [n for n, p in table().items() if p.collective and p.local] == []


def test_names_removed_from_the_standard_are_known() -> None:
    entry = known("mpi_address")
    assert entry.removed
    assert entry.defs == {"address", "ierror"}
    assert not known("mpi_get_address").removed


def test_the_profiling_interface_is_the_same_procedure() -> None:
    assert known("pmpi_alltoall") is known("mpi_alltoall")
    assert procedure("mpi_foo") is None
    assert procedure("pmpi_foo") is None


def test_arguments_of_c_alone_are_left_out() -> None:
    assert [p.name for p in known("mpi_init").parameters] == ["ierror"]
    assert "mpi_comm_f2c" not in table()
    assert "mpi_t_init_thread" not in table()


def test_functions() -> None:
    assert known("mpi_wtime").function
    assert not known("mpi_barrier").function


def test_a_buffer_given_for_good_may_be_written() -> None:
    assert "buffer" in known("mpi_buffer_attach").defs
    assert "base" in known("mpi_win_create").defs


def test_broadcast_may_read_and_write_its_buffer() -> None:
    buffer = known("mpi_bcast").parameter("buffer")
    assert buffer is not None
    assert buffer.defined
    assert buffer.used
