"""The table of MPI procedures against the MPI Forum's machine-readable standard."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files

from asphalt.analysis.mpi.procedures import Direction, Timing, table
from asphalt.analysis.mpi.standard import row as columns
from asphalt.analysis.mpi.standard.row import CONNECTS, LOCAL, WAITS, Until, row
from asphalt.analysis.mpi.standard.rows import CHAPTERS, rows

FACTS = {
    name: value
    for name, value in vars(columns).items()
    if name.isupper() and isinstance(value, str)
}


def test_every_row_names_a_procedure_of_the_standard_or_one_that_it_removed() -> None:
    text = files("pympistandard").joinpath("data/apis.json").read_text("utf-8")
    standard = {entry["name"] for entry in json.loads(text).values()}
    for one in rows().values():
        assert (one.name in standard) != bool(one.mpi_1_arguments), one.name


def test_no_procedure_has_two_rows() -> None:
    names = Counter(one.name.lower() for chapter in CHAPTERS for one in chapter)
    assert [name for name, number in names.items() if number > 1] == []


def test_every_procedure_has_a_row_that_something_reads() -> None:
    assert {one.name.lower() for one in rows().values()} == set(table())


def test_every_row_has_a_section() -> None:
    for one in rows().values():
        assert re.fullmatch(r"(MPI-5\.0, )?\d+(\.\d+)*(, \d+(\.\d+)*)?", one.section), one


def test_facts_are_those_that_row_defines_and_each_has_its_own_meaning() -> None:
    assert len(set(FACTS.values())) == len(FACTS) == 25
    assert {fact for one in rows().values() for fact in one.facts} == set(FACTS.values())


def test_a_row_gathers_its_facts() -> None:
    one = row("MPI_Comm_join", "11.10.5", Timing.BLOCKING, LOCAL, CONNECTS)
    assert one.facts == {LOCAL, CONNECTS}
    assert one.timing is Timing.BLOCKING


def test_timing_agrees_with_the_requests() -> None:
    """The standard's names and arguments tell persistent and non-blocking operations."""
    for name, entry in table().items():
        gives = any(p.kind == "REQUEST" and p.direction is Direction.OUT for p in entry.parameters)
        if gives:
            expected = Timing.PERSISTENT if name.endswith("_init") else Timing.NONBLOCKING
            assert entry.timing is expected, name
        else:
            assert entry.timing is not Timing.PERSISTENT, name


def test_without_a_request_the_row_says_until_when_buffers_are_accessed() -> None:
    for name, entry in table().items():
        free = entry.timing is Timing.NONBLOCKING and not any(
            p.kind == "REQUEST" for p in entry.parameters
        )
        assert (entry.row.until is not None) == free, name
        if free:
            assert (entry.row.until is Until.END) == name.endswith("_begin"), name


def test_arguments_that_a_row_names_exist() -> None:
    for name, entry in table().items():
        later = entry.row.written_later
        assert later is None or later in entry.defs, name
        for argument in entry.same_on_all:
            assert argument in entry.defs, name
        for pair in (entry.same_group, entry.part_of_group):
            kinds = [entry.parameter(argument) for argument in pair or ()]
            assert all(p is not None and p.kind == "COMMUNICATOR" for p in kinds), name


def test_what_waits_completes() -> None:
    for name, entry in table().items():
        if WAITS in entry.facts:
            assert entry.row.completes is not None, name
            assert not entry.local, name
        assert entry.row.completes is None or entry.timing is Timing.COMPLETING, name
