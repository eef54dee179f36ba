"""What MPI procedures do inside of the library, against table 2 of the ICS 2009 paper."""

from __future__ import annotations

import pytest

from asphalt.analysis.mpi.library_effects import (
    BufferEffect,
    Completion,
    LibraryAccess,
    LibraryRow,
    Quantity,
    Store,
    Until,
    library_row,
)
from asphalt.analysis.mpi.procedures import (
    Direction,
    MpiProcedure,
    Timing,
    procedure,
    procedures_with,
    table,
)
from asphalt.analysis.mpi.standard.row import ADDRESS_ONLY, QUERIES

HANDLED = ("COMMUNICATOR", "REQUEST", "MESSAGE", "WINDOW", "FILE", "DATATYPE", "GROUP", "INFO")


def known(name: str) -> MpiProcedure:
    found = procedure(name)
    assert found is not None, name
    return found


def row(name: str) -> LibraryRow:
    return library_row(known(name))


def beside_objects(entry: LibraryRow) -> set[LibraryAccess]:
    """The accesses that the paper speaks of: it takes handles for plain values."""
    return {a for a in entry.accesses if a.store is not Store.OBJECT}


def put(store: Store, *subscripts: str) -> LibraryAccess:
    return LibraryAccess(store, subscripts, reads=False, writes=True)


def take(store: Store, *subscripts: str) -> LibraryAccess:
    return LibraryAccess(store, subscripts, reads=True, writes=True)


# Danalis et al., ICS 2009, table 2: assignments to outMsg and whichbuf put something there; a
# receive reads inMsg and overwrites what it read; a wait reads and redefines what whichbuf names.
# The buffers: what is read and written, and whether artificialVar keeps them busy.
PRINTED_ROWS: dict[str, tuple[set[LibraryAccess], set[BufferEffect]]] = {
    "mpi_send": (
        {put(Store.OUTGOING, "dest", "tag", "comm")},
        {BufferEffect("buf", reads=True, writes=False, until=Until.RETURN)},
    ),
    "mpi_recv": (
        {take(Store.INCOMING, "source", "tag", "comm")},
        {BufferEffect("buf", reads=False, writes=True, until=Until.RETURN)},
    ),
    "mpi_isend": (
        {put(Store.OUTGOING, "dest", "tag", "comm"), put(Store.REQUEST, "request")},
        {BufferEffect("buf", reads=True, writes=False, until=Until.COMPLETION)},
    ),
    "mpi_irecv": (
        {take(Store.INCOMING, "source", "tag", "comm"), put(Store.REQUEST, "request")},
        {BufferEffect("buf", reads=False, writes=True, until=Until.COMPLETION)},
    ),
    "mpi_wait": ({take(Store.REQUEST, "request")}, set()),
}


@pytest.mark.parametrize("name", sorted(PRINTED_ROWS))
def test_effects_are_those_of_the_paper(name: str) -> None:
    accesses, transfers = PRINTED_ROWS[name]
    assert beside_objects(row(name)) == accesses
    assert set(row(name).transfers) == transfers


def test_every_procedure_is_accounted_for() -> None:
    for name, entry in table().items():
        found = library_row(entry)
        accessed = {s for a in (*found.accesses, *found.prepared) for s in a.subscripts}
        for parameter in entry.parameters:
            if parameter.kind in HANDLED:
                assert parameter.name in accessed, (name, parameter.name)
        assert found.accesses or found.prepared or QUERIES in entry.facts, name


def test_what_only_asks_has_no_effect() -> None:
    for name in procedures_with(QUERIES):
        stores = {a.store for a in row(name).accesses}
        assert stores <= {Store.OBJECT}, name


def test_subscripts_are_arguments_of_the_right_kind() -> None:
    kinds = {
        Store.OUTGOING: ("RANK", "TAG", "COMMUNICATOR"),
        Store.INCOMING: ("RANK", "TAG", "COMMUNICATOR"),
        Store.REQUEST: ("REQUEST",),
        Store.MATCHED: ("MESSAGE",),
        Store.COLLECTIVE: ("COMMUNICATOR",),
        Store.WINDOW: ("WINDOW",),
        Store.FILE: ("FILE",),
        Store.ENVIRONMENT: (),
    }
    for name, entry in table().items():
        found = library_row(entry)
        for access in (*found.accesses, *found.prepared):
            if access.store is Store.OBJECT:
                continue
            for subscript, kind in zip(access.subscripts, kinds[access.store], strict=True):
                parameter = entry.parameter(subscript) if subscript is not None else None
                assert subscript is None or (parameter is not None and parameter.kind == kind), name


def test_what_has_a_rank_and_a_tag_moves_a_message() -> None:
    makers = {name for name, entry in table().items() if entry.collective}
    readers = {"mpi_status_get_tag", "mpi_status_set_tag"}
    for name, entry in table().items():
        if any(p.kind == "TAG" for p in entry.parameters) and name not in makers | readers:
            found = library_row(entry)
            stores = {a.store for a in (*found.accesses, *found.prepared)}
            assert stores & {Store.INCOMING, Store.OUTGOING}, name


def test_every_buffer_is_a_transfer() -> None:
    for name, entry in table().items():
        buffers = {p.name for p in entry.parameters if p.kind == "BUFFER"}
        found = {t.argument for t in library_row(entry).transfers}
        assert found == (set() if ADDRESS_ONLY in entry.facts else buffers), name
        for transfer in library_row(entry).transfers:
            assert transfer.reads or transfer.writes, name


def test_asynchronous_buffers_are_held() -> None:
    """The Fortran interfaces mark the buffers that are accessed after the call (19.1.16)."""
    at_once = {
        # the ends of split operations, and what only knows an address
        *(f"mpi_file_{o}_{e}_end" for o in ("read", "write") for e in ("all", "at_all", "ordered")),
        *("mpi_f_sync_reg", "mpi_free_mem", "mpi_win_detach"),
    }
    for name, entry in table().items():
        for transfer in library_row(entry).transfers:
            parameter = entry.parameter(transfer.argument)
            assert parameter is not None
            if parameter.asynchronous and name not in at_once:
                assert transfer.until is not Until.RETURN, name


def test_collectives_are_in_order() -> None:
    for name, entry in table().items():
        found = library_row(entry)
        accesses = (*found.accesses, *found.prepared)
        ordered = any(a.store is Store.COLLECTIVE and a.writes for a in accesses)
        assert ordered == (entry.collective or name in ("mpi_start", "mpi_startall")), name


def test_requests_of_new_operations_are_put_somewhere() -> None:
    for name, entry in table().items():
        for parameter in entry.parameters:
            if parameter.kind == "REQUEST" and parameter.direction is Direction.OUT:
                assert put(Store.REQUEST, parameter.name) in library_row(entry).accesses, name


@pytest.mark.parametrize(
    ("name", "completion"),
    [
        ("mpi_wait", Completion("request", Quantity.ALL, certain=True)),
        ("mpi_waitall", Completion("array_of_requests", Quantity.ALL, certain=True)),
        ("mpi_waitany", Completion("array_of_requests", Quantity.ANY, certain=True)),
        ("mpi_waitsome", Completion("array_of_requests", Quantity.SOME, certain=True)),
        ("mpi_test", Completion("request", Quantity.ALL, certain=False)),
        ("mpi_testall", Completion("array_of_requests", Quantity.ALL, certain=False)),
        ("mpi_testany", Completion("array_of_requests", Quantity.ANY, certain=False)),
        ("mpi_testsome", Completion("array_of_requests", Quantity.SOME, certain=False)),
        ("mpi_request_free", None),
        ("mpi_cancel", None),
        ("mpi_request_get_status", None),
        ("mpi_start", None),
    ],
)
def test_completion(name: str, completion: Completion | None) -> None:
    assert row(name).completion == completion


def test_only_completing_calls_complete() -> None:
    for entry in table().values():
        if library_row(entry).completion is not None:
            assert entry.timing is Timing.COMPLETING


@pytest.mark.parametrize(
    ("name", "until"),
    [
        ("mpi_ialltoall", Until.COMPLETION),
        ("mpi_rput", Until.COMPLETION),
        ("mpi_put", Until.EPOCH),
        ("mpi_file_write_all_begin", Until.END),
        ("mpi_send_init", Until.FREE),
        ("mpi_precv_init", Until.FREE),
        ("mpi_buffer_attach", Until.DETACH),
        ("mpi_win_create", Until.DETACH),
        ("mpi_allreduce", Until.RETURN),
    ],
)
def test_how_long_buffers_are_held(name: str, until: Until) -> None:
    assert {t.until for t in row(name).transfers} == {until}


def test_prepared_operations_do_nothing_yet() -> None:
    entry = row("mpi_send_init")
    assert put(Store.OUTGOING, "dest", "tag", "comm") in entry.prepared
    assert all(a.store in (Store.OBJECT, Store.REQUEST) for a in entry.accesses)
    assert {a.store for a in row("mpi_start").accesses} >= {Store.OUTGOING, Store.INCOMING}


def test_a_matched_message_is_received_once() -> None:
    assert take(Store.INCOMING, "source", "tag", "comm") in row("mpi_mprobe").accesses
    assert put(Store.MATCHED, "message") in row("mpi_mprobe").accesses
    assert take(Store.MATCHED, "message") in row("mpi_mrecv").accesses
    stays = LibraryAccess(Store.INCOMING, ("source", "tag", "comm"), reads=True, writes=False)
    assert stays in row("mpi_probe").accesses


def test_accesses_to_windows_end() -> None:
    ends = {name for name, entry in table().items() if library_row(entry).ends_access}
    assert {"mpi_win_fence", "mpi_win_unlock", "mpi_win_flush", "mpi_win_complete"} <= ends
    assert not ends & {"mpi_win_start", "mpi_win_lock", "mpi_put", "mpi_win_sync"}


QUIET = ["mpi_comm_rank", "mpi_comm_size", "mpi_type_size", "mpi_get_count", "mpi_cart_coords"]
NOT_QUIET = [
    *("mpi_wtime", "mpi_barrier", "mpi_probe", "mpi_iprobe", "mpi_test", "mpi_comm_dup"),
    *("mpi_type_commit", "mpi_comm_set_attr", "mpi_isend", "mpi_reduce_local", "mpi_get_address"),
    *("mpi_finalize", "mpi_abort", "mpi_send_init", "mpi_file_get_position", "mpi_win_sync"),
]


@pytest.mark.parametrize("name", QUIET)
def test_questions_are_quiet(name: str) -> None:
    assert row(name).quiet


@pytest.mark.parametrize("name", NOT_QUIET)
def test_what_others_can_see_is_not_quiet(name: str) -> None:
    assert not row(name).quiet


def test_nothing_quiet_moves_data_or_waits() -> None:
    for name, entry in table().items():
        if library_row(entry).quiet:
            assert entry.local, name
            assert not entry.collective, name
            assert entry.timing is Timing.BLOCKING, name
            assert not any(p.kind in ("REQUEST", "WINDOW", "FILE") for p in entry.parameters), name
