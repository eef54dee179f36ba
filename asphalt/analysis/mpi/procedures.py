"""Every MPI procedure that Fortran can call: its arguments and what kind of operation it is.

The table joins the MPI Forum's machine-readable standard (apis.json of pympistandard) with the rows
of ``mpi.standard``.  DEF and USE of an argument are those of Danalis et al., ICS 2009, table 1:
DEF, what the call may modify; USE, what it may read.
"""

from __future__ import annotations

import json
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from asphalt.analysis.mpi.standard.row import (
    BROADCASTS,
    COLLECTIVE,
    FUNCTIONAL,
    LOCAL,
    RANK_DEPENDENT,
    DataMovement,
    Fact,
    Row,
)
from asphalt.analysis.mpi.standard.row import Timing as Timing
from asphalt.analysis.mpi.standard.rows import rows
from asphalt.ir.records import record


class Direction(Enum):
    """Whether a call reads an argument, defines it, or both."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


@record
class Parameter:
    """A dummy argument in Fortran.

    ``kind`` is that of apis.json: ``BUFFER``, ``DATATYPE``, ``COMMUNICATOR``, ``RANK``, ``TAG``,
    ``REQUEST``, ``STATUS``, ``ERROR_CODE``, ``POLYXFER_NUM_ELEM_NNI`` (a count) ...
    ``written_later``: the library may write through it after the call has returned.
    """

    name: str
    kind: str
    direction: Direction
    optional: bool = False
    array: bool = False
    asynchronous: bool = False
    written_later: bool = False

    @property
    def defined(self) -> bool:
        """Whether the call may modify it (DEF)."""
        return self.direction is not Direction.IN or self.written_later

    @property
    def used(self) -> bool:
        """Whether the call may read it (USE)."""
        return self.direction is not Direction.OUT

    @property
    def is_count(self) -> bool:
        """Whether it counts elements to be transferred."""
        return "XFER_NUM_ELEM" in self.kind


@record
class MpiProcedure:
    """An MPI procedure; ``name`` is folded.

    ``function``: Fortran calls it as a function, not by CALL.  ``row``: what ``mpi.standard`` says
    of it.
    """

    name: str
    parameters: tuple[Parameter, ...]
    function: bool
    row: Row

    def __hash__(self) -> int:
        return hash(self.name)  # hashing all fields would take longer than what is looked up

    @property
    def spelled(self) -> str:
        """The name as in the standard."""
        return self.row.name

    @property
    def timing(self) -> Timing:
        """When its operation is complete."""
        return self.row.timing

    @property
    def facts(self) -> frozenset[Fact]:
        """The facts of its row."""
        return self.row.facts

    @property
    def collective(self) -> bool:
        """Whether all processes of the group of the communicator, window or file call it."""
        return COLLECTIVE in self.row.facts

    @property
    def local(self) -> bool:
        """Whether it certainly returns whatever other processes do."""
        return LOCAL in self.row.facts

    @property
    def varying(self) -> bool:
        """Whether it gives different values to different ranks."""
        return RANK_DEPENDENT in self.row.facts

    @property
    def functional(self) -> bool:
        """Whether its results follow from its arguments alone."""
        return FUNCTIONAL in self.row.facts

    @property
    def broadcast(self) -> bool:
        """Whether all ranks get what one rank has."""
        return BROADCASTS in self.row.facts

    @property
    def removed(self) -> bool:
        """Whether it is a procedure of MPI-1 that MPI-3.0 removed."""
        return bool(self.row.mpi_1_arguments)

    @property
    def exchange(self) -> DataMovement | None:
        """The user buffers that it moves between processes."""
        return self.row.moves

    @property
    def same_on_all(self) -> tuple[str, ...]:
        """The arguments that get the same value on all ranks of the communicator."""
        return self.row.same_on_all

    @property
    def same_group(self) -> tuple[str, str] | None:
        """The arguments of an old and a new communicator of the same group."""
        return self.row.same_group

    @property
    def part_of_group(self) -> tuple[str, str] | None:
        """The arguments of an old communicator and a new one of some or all of its ranks."""
        return self.row.part_of_group

    def parameter(self, name: str) -> Parameter | None:
        """The dummy argument ``name`` (folded)."""
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def defs(self) -> frozenset[str]:
        """The names of the arguments that the call may modify."""
        return frozenset(p.name for p in self.parameters if p.defined)

    @property
    def uses(self) -> frozenset[str]:
        """The names of the arguments that the call may read."""
        return frozenset(p.name for p in self.parameters if p.used)


# Kinds of arguments that exist in C alone.
_ONLY_IN_C = frozenset({"ARGUMENT_COUNT", "ARGUMENT_LIST", "VARARGS"})


@cache
def table() -> dict[str, MpiProcedure]:
    """All procedures by folded name (``mpi_alltoall``); do not change it."""
    text = files("pympistandard").joinpath("data/apis.json").read_text("utf-8")
    procedures: list[MpiProcedure] = []
    for entry in json.loads(text).values():
        attributes = entry["attributes"]
        callable_in_fortran = attributes["f90_expressible"] or attributes["f08_expressible"]
        called_back = attributes["callback"] or attributes["predefined_function"] is not None
        if callable_in_fortran and not called_back:
            procedures.append(_from_json(entry, rows()[entry["name"]]))
    procedures += [_from_mpi_1(row) for row in rows().values() if row.mpi_1_arguments]
    return {found.name: found for found in procedures}


def procedure(name: str) -> MpiProcedure | None:
    """The MPI procedure of that folded name; ``pmpi_`` names are the same procedures."""
    return table().get(name.removeprefix("p") if name.startswith("pmpi_") else name)


@cache
def procedures_with(fact: Fact) -> frozenset[str]:
    """The folded names of the procedures that have a fact (``mpi.standard.row``)."""
    return frozenset(name for name, found in table().items() if fact in found.facts)


def _from_json(entry: dict[str, Any], row: Row) -> MpiProcedure:
    parameters = tuple(
        _parameter(given, row)
        for given in entry["parameters"]
        if not given["large_only"]
        and given["kind"] not in _ONLY_IN_C
        and "f90_parameter" not in given["suppress"]
    )
    function = entry["return_kind"] != "ERROR_CODE"
    return MpiProcedure(row.name.lower(), parameters, function, row)


def _parameter(given: dict[str, Any], row: Row) -> Parameter:
    name = given["name"].lower()
    return Parameter(
        name,
        given["kind"],
        Direction(given["param_direction"]),
        optional=given["optional"],
        array=given["length"] is not None,
        asynchronous=given["asynchronous"],
        written_later=row.written_later == name,
    )


def _from_mpi_1(row: Row) -> MpiProcedure:
    parameters = tuple(
        Parameter(name, kind, Direction(direction), array=name.startswith("array_of"))
        for name, kind, direction in row.mpi_1_arguments
    )
    return MpiProcedure(row.name.lower(), parameters, False, row)
