"""Variables and components that hold the handles of communicators, and what they hold at first."""

from __future__ import annotations

from asphalt.analysis.mpi.datatypes import mpi_constant
from asphalt.analysis.names.derived_types import component_declarations
from asphalt.analysis.names.scopes import Symbol
from asphalt.analysis.names.symbol import NameLookup
from asphalt.ir.expr import Expr, Lit, Op

_OTHER_NAMES = frozenset({"pointer", "target", "volatile"})


def is_followed(symbol: Symbol, path: tuple[str, ...]) -> bool:
    """Whether a scalar variable or component has no other names, and no initial value that is
    usable as a communicator."""
    if symbol.equivalenced or symbol.attrs & (_OTHER_NAMES | {"data"}) or symbol.dims is not None:
        return False
    if symbol.initial is not None and not _is_no_communicator(symbol.initial, symbol.home):
        return False
    declared = component_declarations(symbol, path)
    if declared is None or any(c.dims is not None for c in declared):
        return False
    if any(attribute in c.decl.attrs for c in declared for attribute in ("pointer", "allocatable")):
        return False
    return all(
        c.entity.initial is None or _is_no_communicator(c.entity.initial, c.home) for c in declared
    )


def _is_no_communicator(initial: Expr, home: NameLookup | None) -> bool:
    """Whether an initial value is MPI_COMM_NULL, or a number."""
    if _is_number(initial):
        return True
    return home is not None and mpi_constant(initial, home) == "mpi_comm_null"


def begins_with_number(symbol: Symbol, path: tuple[str, ...]) -> bool:
    """Whether a variable or component has a number before MPI gives it a communicator, which is a
    communicator, too, for some libraries."""
    declared = component_declarations(symbol, path) or ()
    values = (symbol.initial, *(one.entity.initial for one in declared))
    return any(value is not None and _is_number(value) for value in values)


def _is_number(initial: Expr) -> bool:
    value = initial.operands[0] if isinstance(initial, Op) and initial.op == "-" else initial
    return isinstance(value, Lit) and value.kind == "integer"
