"""Every MPI procedure that Fortran can call: its arguments and what kind of operation it is.

Built from the MPI Forum's machine-readable standard (apis.json of pympistandard) and
``mpi_supplement``.  DEF and USE of an argument are those of Danalis et al., ICS 2009, table 1:
DEF, what the call may modify; USE, what it may read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from asphalt.analysis.mpi import standard_facts as supplement


class Direction(Enum):
    """What a call does to an argument."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


class Timing(Enum):
    """When the operation that a call stands for is complete (MPI-4.0 section 2.4)."""

    BLOCKING = "blocking"  # on return
    NONBLOCKING = "nonblocking"  # after a later call
    PERSISTENT = "persistent"  # it only prepares an operation
    STARTING = "starting"  # it starts a prepared operation
    COMPLETING = "completing"  # it may complete operations started before


@dataclass(frozen=True, slots=True)
class Parameter:
    """One dummy argument in Fortran.

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


@dataclass(frozen=True, slots=True)
class MpiProcedure:
    """One MPI procedure; ``name`` is folded, ``spelled`` as in the standard.

    ``local``: proved to return whatever other processes do.  ``exchange``: it moves user buffers.
    ``varying``: it gives different values to different ranks.  ``removed``: from MPI-1, gone since
    MPI-3.0.  ``function``: called as a function, not by CALL.  ``same_on_all``: arguments that get
    the same value on all ranks of the communicator.  ``same_group``: the arguments of an old and a
    new communicator of the same group; ``part_of_group``: of a part of it.  ``functional``: its
    results follow from its arguments.  ``broadcast``: all ranks get what one rank has.
    """

    name: str
    spelled: str
    parameters: tuple[Parameter, ...]
    timing: Timing
    collective: bool
    local: bool
    varying: bool
    removed: bool
    function: bool
    exchange: supplement.DataMovement | None
    same_on_all: tuple[str, ...] = ()
    same_group: tuple[str, str] | None = None
    part_of_group: tuple[str, str] | None = None
    functional: bool = False
    broadcast: bool = False

    def __hash__(self) -> int:
        return hash(self.name)  # all of it, again and again, takes longer than what is looked up

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
    found: dict[str, MpiProcedure] = {}
    for entry in json.loads(text).values():
        attributes = entry["attributes"]
        callable_in_fortran = attributes["f90_expressible"] or attributes["f08_expressible"]
        called_back = attributes["callback"] or attributes["predefined_function"] is not None
        if callable_in_fortran and not called_back:
            procedure = _from_json(entry)
            found[procedure.name] = procedure
    for spelled, rows in supplement.REMOVED.items():
        parameters = tuple(
            Parameter(name, kind, Direction(direction), array=name.startswith("array_of"))
            for name, kind, direction in rows
        )
        found[spelled.lower()] = _procedure(spelled, parameters, removed=True)
    return found


def procedure(name: str) -> MpiProcedure | None:
    """The MPI procedure of that folded name; ``pmpi_`` names are the same procedures."""
    return table().get(name.removeprefix("p") if name.startswith("pmpi_") else name)


def _from_json(entry: dict[str, Any]) -> MpiProcedure:
    parameters = tuple(
        _parameter(entry["name"], given)
        for given in entry["parameters"]
        if not given["large_only"]
        and given["kind"] not in _ONLY_IN_C
        and "f90_parameter" not in given["suppress"]
    )
    return _procedure(entry["name"], parameters, function=entry["return_kind"] != "ERROR_CODE")


def _parameter(procedure_name: str, given: dict[str, Any]) -> Parameter:
    name = given["name"].lower()
    short = procedure_name.lower().removeprefix("mpi_")
    return Parameter(
        name,
        given["kind"],
        Direction(given["param_direction"]),
        optional=given["optional"],
        array=given["length"] is not None,
        asynchronous=given["asynchronous"],
        written_later=supplement.WRITTEN_LATER.get(short) == name,
    )


def _procedure(
    spelled: str,
    parameters: tuple[Parameter, ...],
    *,
    removed: bool = False,
    function: bool = False,
) -> MpiProcedure:
    name = spelled.lower()
    short = name.removeprefix("mpi_")
    return MpiProcedure(
        name,
        spelled,
        parameters,
        _timing(short, parameters),
        collective=_in(supplement.COLLECTIVE, short),
        local=_in(supplement.LOCAL, short),
        varying=_in(supplement.RANK_DEPENDENT, short),
        removed=removed,
        function=function,
        exchange=supplement.EXCHANGES.get(short),
        same_on_all=supplement.SAME_ON_ALL.get(short, ()),
        same_group=supplement.SAME_GROUP.get(short),
        part_of_group=supplement.PART_OF_GROUP.get(short),
        broadcast=_in(supplement.BROADCAST, short),
        functional=short in supplement.FUNCTIONS_OF_ARGUMENTS.names,
    )


def _timing(short: str, parameters: tuple[Parameter, ...]) -> Timing:
    if _in(supplement.STARTING, short):
        return Timing.STARTING
    if _in(supplement.COMPLETING, short):
        return Timing.COMPLETING
    if any(p.kind == "REQUEST" and p.direction is Direction.OUT for p in parameters):
        return Timing.PERSISTENT if short.endswith("_init") else Timing.NONBLOCKING
    if _in(supplement.NONBLOCKING_WITHOUT_REQUEST, short):
        return Timing.NONBLOCKING
    return Timing.BLOCKING


def _in(rows: tuple[supplement.FactRow, ...], short: str) -> bool:
    return any(short in row.names for row in rows)
