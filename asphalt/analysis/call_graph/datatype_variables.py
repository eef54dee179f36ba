"""Variables that hold a predefined datatype of MPI.

    dp_type = MPI_DOUBLE_PRECISION     ! the only value that the program gives it
    ...
    call MPI_Send(a, n, dp_type, ...)

A variable that is used is defined.  So it has that datatype wherever it is used, if each of its
definitions in the program gives it the same one; else it has one of those that they give it.  What
the program gives a variable of a module, all of its edited texts do: no step gives it another one.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import CallSites, SharedDefinitions
from asphalt.analysis.call_graph.definitions import Source
from asphalt.analysis.call_graph.edited_texts import first_scopes
from asphalt.analysis.mpi.call import predefined_type
from asphalt.analysis.mpi.datatypes import PredefinedType
from asphalt.analysis.names.scopes import Origin, Scope, Scopes, Symbol
from asphalt.analysis.names.symbol import Identity
from asphalt.ir.expr import Component, Expr, Ref

_OTHER_NAMES = frozenset({"pointer", "target", "volatile", "bind", "data"})


def datatype_of(handle: Expr, scope: Scope) -> PredefinedType | None:
    """The predefined datatype that a handle denotes where it is used; None: unknown."""
    found = datatypes_of(handle, scope)
    return next(iter(found)) if len(found) == 1 else None


def datatypes_of(handle: Expr, scope: Scope) -> frozenset[PredefinedType]:
    """The predefined datatypes of which a handle denotes one where it is used; none: unknown."""
    known = predefined_type(handle, scope)
    if known is not None:
        return frozenset({known})
    if isinstance(handle, Component) and handle.name == "mpi_val":
        handle = handle.base
    if not isinstance(handle, Ref) or handle.args is not None:
        return frozenset()
    symbol = scope.lookup(handle.name)
    if symbol is None or not is_handle(symbol):
        return frozenset()
    kept = scope.scopes.once(_known)
    key = symbol.identity, symbol.origin, id(symbol.home)
    if key not in kept:
        found = _in_all_texts(symbol, scope) or _given(symbol, scope.scopes)
        kept[key] = symbol, found
    return kept[key][1]


def _in_all_texts(symbol: Symbol, scope: Scope) -> frozenset[PredefinedType]:
    """The datatypes of a variable of a module in the program of which this one is an edited text;
    none: unknown, or it is no such text."""
    given = first_scopes(scope.scopes)
    if given is scope.scopes or symbol.origin is not Origin.MODULE:
        return frozenset()
    kept = given.once(_of_modules)
    if symbol.identity not in kept:
        kept[symbol.identity] = _given(symbol, given)
    return kept[symbol.identity]


def _of_modules(scopes: Scopes) -> dict[Identity, frozenset[PredefinedType]]:
    """The answers for variables of modules that edited texts have asked for."""
    return {}


def _known(scopes: Scopes) -> dict[tuple[object, ...], tuple[Symbol, frozenset[PredefinedType]]]:
    """The answers for variables, which are kept so that no others get their identity."""
    return {}


def is_handle(symbol: Symbol) -> bool:
    """Whether a variable can hold a datatype, and has no other name."""
    if symbol.dims is not None or symbol.equivalenced or symbol.attrs & _OTHER_NAMES:
        return False
    if symbol.type is None or symbol.initial is not None:
        return False
    if symbol.type.base == "type":
        return symbol.type.name == "mpi_datatype"
    return symbol.type.base == "integer" and symbol.type.kind is None


def _given(symbol: Symbol, scopes: Scopes) -> frozenset[PredefinedType]:
    """The datatypes that the definitions of a variable in the program give it; none: unknown."""
    types = set[PredefinedType]()
    for context, one in handle_definitions(symbol, scopes) or ():
        plain = one.source is Source.EXPRESSIONS and not one.path and len(one.exprs) == 1
        value = one.exprs[0] if plain else None
        known = predefined_type(value, context.scope) if isinstance(value, Expr) else None
        if known is None:
            return frozenset()
        types.add(known)
    return frozenset(types)


def handle_definitions(symbol: Symbol, scopes: Scopes) -> SharedDefinitions | None:
    """All definitions of a variable in the program; None: they are not known."""
    sites = scopes.once(CallSites)
    if symbol.origin is Origin.LOCAL and isinstance(symbol.home, Scope):
        return sites.own_definitions(symbol.name, sites.context(symbol.home))
    if symbol.origin is Origin.COMMON:
        named = sites.mentions(symbol.common_block or "")
        if named is None or any(located.unit.kind == "block_data" for located in named):
            return None
    elif symbol.origin is not Origin.MODULE:
        return None
    found = sites.shared_definitions(symbol)
    return None if isinstance(found, str) else found
