"""The rows of all chapters."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from asphalt.analysis.mpi.standard import (
    collectives,
    communicators,
    datatypes,
    deprecated,
    environment,
    io,
    one_sided,
    point_to_point,
    tools_and_languages,
    topologies,
)
from asphalt.analysis.mpi.standard.row import Row

CHAPTERS = (
    point_to_point.ROWS,
    datatypes.ROWS,
    collectives.ROWS,
    communicators.ROWS,
    topologies.ROWS,
    environment.ROWS,
    one_sided.ROWS,
    io.ROWS,
    tools_and_languages.ROWS,
    deprecated.ROWS,
)


@cache
def rows() -> MappingProxyType[str, Row]:
    """All rows by the name that the standard spells (``MPI_Comm_split``)."""
    return MappingProxyType({row.name: row for chapter in CHAPTERS for row in chapter})
