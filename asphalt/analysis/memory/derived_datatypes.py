"""Derived datatypes that a unit constructs itself: which elements one of them consists of.

MPI-4.0 section 5.1.2: MPI_TYPE_CONTIGUOUS makes consecutive elements, MPI_TYPE_VECTOR blocks of
elements at a constant stride.  The handle is a local variable that one call defines; the arguments
of that call do not change afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.memory.forward_substitution import Values, is_integer
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.datatypes import PredefinedType
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Component, Expr, Ref, names_in
from asphalt.ir.stmt import Call, Guarded
from asphalt.ir.tree import Leaf

_ONE = Poly.constant(1)
_DEEPEST = 4  # datatypes made of each other


@dataclass(frozen=True, slots=True)
class TypeMap:
    """``blocks`` blocks of ``length`` elements of a predefined datatype.

    The blocks begin ``stride`` elements apart, the first one at the start of the buffer.
    """

    element: PredefinedType
    blocks: Poly
    length: Poly
    stride: Poly

    @property
    def is_dense(self) -> bool:
        """Whether its elements are contiguous."""
        return self.blocks == _ONE or self.length == self.stride

    @property
    def elements(self) -> Poly:
        """The number of elements in one datatype."""
        return self.blocks * self.length


@dataclass(frozen=True, slots=True)
class _Constructor:
    """The arguments of a call that constructs a datatype; None: there is one block."""

    length: str
    blocks: str | None = None
    stride: str | None = None


_CONSTRUCTORS: Mapping[str, _Constructor] = {
    "mpi_type_contiguous": _Constructor("count"),
    "mpi_type_vector": _Constructor("blocklength", "count", "stride"),
}
_KEEPING = ("mpi_type_commit", "mpi_type_free")
"""What a handle is given to, and means the same behind it, or nothing any more."""


def type_map(
    handle: Expr, at: Leaf, scope: Scope, values: Values, depth: int = 0
) -> TypeMap | None:
    """The elements of the datatype that a handle denotes at a statement; None: unknown."""
    known = datatype_of(handle, scope)
    if known is not None:
        return TypeMap(known, _ONE, _ONE, _ONE)
    found = _made_by(handle, at, scope, values)
    if found is None or depth == _DEEPEST:
        return None
    leaf, call = found
    arguments = _CONSTRUCTORS[call.procedure.name]
    part = type_map(call.args["oldtype"], leaf, scope, values, depth + 1)
    if part is None or not part.is_dense:
        return None

    def value(name: str | None) -> Poly:
        return _ONE if name is None else values.polynomial(call.args[name], at)

    each = part.elements
    length = value(arguments.length) * each
    if arguments.stride is None:
        return TypeMap(part.element, _ONE, length, length)
    return TypeMap(part.element, value(arguments.blocks), length, value(arguments.stride) * each)


def _made_by(handle: Expr, at: Leaf, scope: Scope, values: Values) -> tuple[Leaf, MpiCall] | None:
    """The call that constructs the datatype of a handle.

    None: unknown, or its arguments may have other values at the statement.
    """
    if isinstance(handle, Component) and handle.name == "mpi_val":
        handle = handle.base  # as the runtime takes a handle of mpi_f08
    if not isinstance(handle, Ref) or handle.args is not None:
        return None
    symbol = scope.lookup(handle.name)
    if symbol is None or symbol.origin is not Origin.LOCAL or symbol.dims is not None:
        return None
    if symbol.initial is not None or symbol.attrs & {"save", "data"}:
        return None
    if values.changed_unseen(handle.name):
        return None
    makers: dict[int, tuple[Leaf, MpiCall]] = {}
    for access in values.writes_of(handle.name):
        statement = access.leaf.what
        what = statement.action if isinstance(statement, Guarded) else statement
        call = mpi_call(what, scope) if isinstance(what, Call) else None
        if call is None or call.binding == "unknown":
            return None
        if call.procedure.name in _CONSTRUCTORS:
            makers[id(access.leaf)] = access.leaf, call
        elif call.procedure.name not in _KEEPING:
            return None
    if len(makers) != 1:
        return None
    ((leaf, call),) = makers.values()
    arguments = _CONSTRUCTORS[call.procedure.name]
    names = (arguments.length, arguments.blocks, arguments.stride)
    given = [call.args[name] for name in names if name is not None]
    if not all(is_integer(one, scope) for one in given) or not values.executed_before(leaf, at):
        return None
    used = {name for one in given for name in names_in(one)}
    return (leaf, call) if values.unchanged_until(used, leaf) else None
