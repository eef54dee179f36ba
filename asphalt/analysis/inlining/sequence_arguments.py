"""Dummy arrays of another rank than their actual argument (F2018 15.5.2.11, sequence association).

    call pack(n, m, w)                        do k = 1, m
    subroutine pack(n, m, s)          -->       do i = 1, n
      real :: s(n,m)                              w(i + n*(k - 1)) = ...

The actual argument is a whole array that is contiguous.  Where the procedure only passes the array
on, to MPI or as a dummy that has a sequence of elements itself, only its address counts.  Where it
names elements, these are elements of an actual argument of rank one, whose size is an integer of
the default kind, so that the new subscripts are, too.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.references import actions, bind, expressions_of
from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Expr,
    ImpliedDo,
    Keyword,
    OpaqueExpr,
    Ref,
    Section,
    argument_value,
    children,
    names_in,
)
from asphalt.ir.stmt import Call, What
from asphalt.ir.tree import Node, leaves

SEQUENCES = frozenset({"explicit", "assumed_size"})
_DEFAULT_BYTES = 4


def is_sequence(symbol: Symbol) -> bool:
    """Whether all elements of an array follow each other in memory, whatever is passed for it."""
    kinds = {dim.kind for dim in symbol.dims or ()}
    return kinds <= SEQUENCES or ("allocatable" in symbol.attrs and kinds == {"deferred"})


def has_default_size(extent: Poly | None, scope: Scope) -> bool:
    """Whether the number of elements is computed from integers of the default kind."""
    return extent is not None and all(_is_default(atom, scope) for atom in extent.atoms)


def _is_default(atom: Expr, scope: Scope) -> bool:
    symbol = scope.lookup(atom.name) if isinstance(atom, Ref) and atom.args is None else None
    if symbol is None or symbol.type is None or symbol.type.base != "integer" or symbol.dims:
        return False
    return element_bytes(symbol, scope) == _DEFAULT_BYTES


def only_addressed(name: str, body: tuple[Node, ...], scope: Scope) -> bool:
    """Whether statements use an array only where nothing but its address counts."""
    return all(_is_addressed(what, name, scope) for what in _statements(body))


def only_elements(name: str, body: tuple[Node, ...], scope: Scope) -> bool:
    """Whether statements use an array only by its elements, or by its address."""
    return all(
        _is_addressed(what, name, scope) or _names_elements(expressions_of(what), name, scope)
        for what in _statements(body)
    )


def _statements(body: tuple[Node, ...]) -> list[What]:
    return [what for node in body for leaf in leaves(node) for what in actions(leaf.what)]


def _is_addressed(what: What, name: str, scope: Scope) -> bool:
    """Whether a statement does not use the array, or passes it where its address counts."""
    if not isinstance(what, Call):
        return not any(name in names_in(expr) for expr in expressions_of(what))
    passed = [a for a in what.args if name in names_in(a)]
    if not passed:
        return True
    if any(argument_value(arg) != Ref(name, name) for arg in map(_folded, passed)):
        return False
    mpi = mpi_call(what, scope)
    if mpi is not None:
        buffers = [actual for parameter, actual in mpi.bound() if parameter.kind == "BUFFER"]
        return all(any(argument_value(arg) is b for b in buffers) for arg in passed)
    return all(_takes_sequence(what, arg, scope) for arg in passed)


def _folded(arg: Arg) -> Arg:
    value = argument_value(arg)
    if isinstance(value, Ref) and value.args is None:
        return Ref(value.name, value.name)
    return arg


def _takes_sequence(call: Call, arg: Arg, scope: Scope) -> bool:
    """Whether the dummy for an argument of a procedure of the tree has a sequence of elements."""
    if not isinstance(call.procedure, Ref):
        return False
    symbol = scope.lookup(call.procedure.name)
    found = invoked(call, scope)
    if found is None or (symbol is not None and "generic" in symbol.attrs):
        return False
    callee = scope.scopes.of(found[0])
    bound = bind(call.args, callee.dummies)
    if bound is None:
        return False
    dummies = [d for d, actual in bound.items() if actual is argument_value(arg)]
    return bool(dummies) and all(_is_explicit(callee.lookup(dummy)) for dummy in dummies)


def _is_explicit(symbol: Symbol | None) -> bool:
    dims = None if symbol is None else symbol.dims
    return bool(dims) and {dim.kind for dim in dims or ()} <= SEQUENCES


def _names_elements(exprs: tuple[Arg, ...], name: str, scope: Scope) -> bool:
    """Whether expressions have an array only with the subscripts of elements."""
    for expr in exprs:
        match expr:
            case OpaqueExpr(names=names) | ImpliedDo(names=names) if name in names:
                return False
            case Ref(name=own, args=args) if own == name:
                if args is None or not all(_is_subscript(arg, scope) for arg in args):
                    return False
        if not _names_elements(tuple(children(expr)), name, scope):
            return False
    return True


def _is_subscript(arg: Arg, scope: Scope) -> bool:
    return not isinstance(arg, Section | Keyword | AltReturn) and is_scalar(arg, scope)
