"""Whether the wait can return the status of a receive that the program reads.

A status is an array of the older interfaces, or a variable of type ``MPI_Status`` of ``mpi_f08``.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.names.derived_types import component_declarations, may_be_pointer
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import Arg, Component, Expr, Lit, Ref, Section, TypeSpec, walk
from asphalt.ir.stmt import ArmHead
from asphalt.ir.tree import Leaf

_STATUS_SIZE = 6
"""The most default integers that an MPI library in use has in a status (Open MPI)."""
_TYPE = "mpi_status"


def is_status_array(expr: Expr, facts: UnitFacts) -> bool:
    """Whether an actual argument can be an explicit-shape array of MPI_STATUS_SIZE elements: a
    whole array declared so, or an element of an array with storage of its own (F2018 15.5.2.11)."""
    symbol = facts.scope.lookup(expr.name) if isinstance(expr, Ref) else None
    if not isinstance(expr, Ref) or symbol is None or symbol.dims is None:
        return False
    first = symbol.dims[0]
    if symbol.attrs & {"pointer"} or first.kind not in ("explicit", "assumed_size", "deferred"):
        return False
    if first.kind == "explicit" and first.lower is None and isinstance(first.upper, Lit):
        return int(first.upper.text) >= _STATUS_SIZE or len(symbol.dims) > 1
    return True


def is_typed_status(expr: Expr, facts: UnitFacts) -> bool:
    """Whether an actual argument is one variable of type ``MPI_Status``, an element of an array or
    a component of a structure included, that no pointer leads to."""
    path: list[str] = []
    part = expr
    while isinstance(part, Component):
        if not _are_scalar(part.args):
            return False
        path.insert(0, part.name)
        part = part.base
    symbol = facts.scope.lookup(part.name) if isinstance(part, Ref) else None
    if not isinstance(part, Ref) or symbol is None or not _are_scalar(part.args):
        return False
    if "pointer" in symbol.attrs or (path and may_be_pointer(symbol, tuple(path))):
        return False
    declared, home = _type_of(symbol, tuple(path))
    name = "" if declared is None else (declared.name or "").lower()
    match (home or facts.scope).resolve(name):
        case Symbol(origin=Origin.MPI, name=original):
            return original == _TYPE
    return False


def _are_scalar(subscripts: tuple[Arg, ...] | None) -> bool:
    return not any(isinstance(subscript, Section) for subscript in subscripts or ())


def _type_of(symbol: Symbol, path: tuple[str, ...]) -> tuple[TypeSpec | None, Scope | None]:
    """The declared type of a variable or of a component of one, and where its name is read."""
    declared = component_declarations(symbol, path)
    if declared:
        return declared[-1].decl.type, declared[-1].home
    home = symbol.home if isinstance(symbol.home, Scope) else None
    return (None, None) if path else (symbol.type, home)


def may_be_another(status: Expr, leaf: Leaf, call: MpiCall, order: Independence) -> bool:
    """Whether the message may change which element the status is: the subscripts have their values
    from before the call, and the wait stands where some of the message may have arrived."""
    if not any(isinstance(part, Ref | Component) and part.args for part in walk(status)):
        return False
    given = order.facts.footprint(replace(leaf, what=ArmHead("if", (status,)))).accesses
    buffers = order.messages.touched(leaf, call)
    return buffers is None or any(a.writes and a.meets(b) for a in buffers for b in given)
