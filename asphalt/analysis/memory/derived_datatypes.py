"""Derived datatypes: which elements one of them consists of.

MPI-4.0 section 5.1.2: MPI_TYPE_CONTIGUOUS makes consecutive elements, MPI_TYPE_VECTOR blocks of
elements at a constant stride.  The handle is a local variable that one call defines; the arguments
of that call do not change afterwards.  Or it is a variable of a module, which one call in the
program defines: a handle that is used was made, and the arguments keep their values from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from asphalt.analysis.call_graph.datatype_variables import (
    datatype_of,
    handle_definitions,
    is_handle,
)
from asphalt.analysis.call_graph.edited_texts import home_in_first
from asphalt.analysis.call_graph.reaching import is_hidden
from asphalt.analysis.memory.forward_substitution import Values, is_integer
from asphalt.analysis.memory.module_arrays import ModuleAllocation, is_settled, with_numbers
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.datatypes import PredefinedType
from asphalt.analysis.names.scopes import Origin, Scope, Scopes, Symbol
from asphalt.analysis.names.symbol import Identity
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Component, Expr, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Guarded
from asphalt.ir.tree import Leaf

_ONE = Poly.constant(1)
_DEEPEST = 4  # datatypes made of each other


@record
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


@record
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
    if depth == _DEEPEST:
        return None
    made = _made_by(handle, at, scope, values)
    if made is None:
        return _made_in_program(handle, at, scope, scope, values, depth)
    leaf, call = made
    part = type_map(call.args["oldtype"], leaf, scope, values, depth + 1)
    return _of_parts(call, part, lambda argument: values.polynomial(argument, at))


def _of_parts(
    call: MpiCall, part: TypeMap | None, value_of: Callable[[Expr], Poly | None]
) -> TypeMap | None:
    """The elements of the datatype that a call makes of others."""
    arguments = _CONSTRUCTORS[call.procedure.name]
    if part is None or not part.is_dense:
        return None
    named = (arguments.length, arguments.blocks, arguments.stride)
    values = {name: value_of(call.args[name]) for name in named if name is not None}
    if None in values.values():
        return None

    def value(name: str | None) -> Poly:
        found = None if name is None else values[name]
        return _ONE if found is None else found

    each = part.elements
    length = value(arguments.length) * each
    if arguments.stride is None:
        return TypeMap(part.element, _ONE, length, length)
    return TypeMap(part.element, value(arguments.blocks), length, value(arguments.stride) * each)


def _made_in_program(
    handle: Expr, at: Leaf, home: Scope, scope: Scope, values: Values, depth: int
) -> TypeMap | None:
    """The elements of the datatype in a variable of a module, which one call in the program makes.

    ``home``: the unit that names the handle.  ``scope``: that of the statement which uses it.
    """
    known = datatype_of(handle, home)
    if known is not None:
        return TypeMap(known, _ONE, _ONE, _ONE)
    if not isinstance(handle, Ref) or depth == _DEEPEST:
        return None
    symbol = home.lookup(handle.name)
    if symbol is None or symbol.origin is not Origin.MODULE or not is_handle(symbol):
        return None
    made = _makers(home_in_first(symbol, home).scopes).of(symbol)
    if made is None or values.changed_unseen(handle.name):
        return None
    leaf, call, there = made

    def value_of(argument: Expr) -> Poly | None:
        one = ModuleAllocation(there, leaf, ())
        if not is_integer(argument, there):
            return None
        if not is_settled(argument, one, scope, values.changed_unseen):
            return None
        return values.polynomial(with_numbers(argument, there) or argument, at)

    part = _made_in_program(call.args["oldtype"], at, there, scope, values, depth + 1)
    return _of_parts(call, part, value_of)


class _Makers:
    """The calls that make the datatypes in the variables of the modules of a program."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self._known: dict[Identity, tuple[Leaf, MpiCall, Scope] | None] = {}

    def of(self, symbol: Symbol) -> tuple[Leaf, MpiCall, Scope] | None:
        """The only one that makes the datatype in a variable, and its unit; None: unknown."""
        if symbol.identity not in self._known:
            self._known[symbol.identity] = self._found(symbol)
        return self._known[symbol.identity]

    def _found(self, symbol: Symbol) -> tuple[Leaf, MpiCall, Scope] | None:
        found: list[tuple[Leaf, MpiCall, Scope]] = []
        for context, one in handle_definitions(symbol, self.scopes) or ():
            what = one.statement.what
            call = mpi_call(what, context.scope) if isinstance(what, Call) else None
            if call is None or call.binding == "unknown":
                return None
            if is_hidden(one.statement) or one.statement.threaded:
                return None
            if call.procedure.name in _CONSTRUCTORS:
                found.append((one.statement.leaf, call, context.scope))
            elif call.procedure.name not in _KEEPING:
                return None
        return found[0] if len(found) == 1 else None


def _makers(scopes: Scopes) -> _Makers:
    return scopes.once(_Makers)


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
