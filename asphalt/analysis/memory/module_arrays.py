"""Statements that may change the shape of an allocatable, and module arrays with one ALLOCATE.

Any unit with access to such an array may change its shape: by ALLOCATE and DEALLOCATE, by an
assignment to all of it (F2018 10.2.1.3), or by passing it to an allocatable dummy.  If the main
program allocates it and nothing else does any of this, then that ALLOCATE defines its shape for all
procedures that the main program calls.  If one ALLOCATE in the program has constant bounds, and
nothing but DEALLOCATE does any of this, then the array has these bounds wherever it is allocated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from asphalt.analysis.call_graph.settled_bounds import stays_from
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.reallocation import NO_SHAPE, may_allocate
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.references import actions, expressions_of, use_renames
from asphalt.analysis.names.scopes import Origin, Scope, Symbol, constant
from asphalt.ir.expr import (
    Arg,
    Lit,
    Op,
    Ref,
    Section,
    argument_value,
    walk,
)
from asphalt.ir.program import Located
from asphalt.ir.stmt import Allocation, Assign, Call, Opaque, Raw, What
from asphalt.ir.tree import Leaf, leaves

_NUMBERS = ("integer", "real", "double_precision", "complex")
_WORD = re.compile(r"[a-z]\w*")


@dataclass(frozen=True, slots=True)
class ModuleAllocation:
    """An ALLOCATE of a module array: its unit, its statement, and the bounds."""

    scope: Scope
    leaf: Leaf
    bounds: tuple[Arg, ...]


def shaped_here_alone(symbol: Symbol, scope: Scope) -> bool:
    """Whether only the main program ``scope`` can change the shape of an allocatable module
    array."""
    if scope.unit.kind != "program" or not _has_one_name(symbol, scope):
        return False
    return not any(
        _may_shape(located, symbol, scope)
        for located in scope.program.mentions(symbol.name)
        if located.unit is not scope.unit
    )


def allocations(symbol: Symbol, scope: Scope) -> tuple[ModuleAllocation, ...] | None:
    """Each ALLOCATE of a module array in the program.

    None: something else than these and DEALLOCATE may change the shape.
    """
    kept = scope.scopes.allocations
    if symbol.identity not in kept:
        kept[symbol.identity] = _allocations(symbol, scope)
    found = kept[symbol.identity]
    return None if found is None else tuple(a for a in found if isinstance(a, ModuleAllocation))


def _allocations(symbol: Symbol, scope: Scope) -> tuple[ModuleAllocation, ...] | None:
    """The same.  Arrays that are assigned to each other keep their shapes together, if each has one
    ALLOCATE, and all of these have the same bounds: from 1 where one is assigned an expression,
    whose lower bounds are 1 (F2018 10.2.1.3, 16.9.109)."""
    group = [symbol]
    found: list[tuple[ModuleAllocation, ...]] = []
    for member in group:  # it grows
        own = _found(member, scope)
        if own is None:
            return None
        found.append(own[0])
        group += [one for one in own[1] if all(one.identity != g.identity for g in group)]
        if own[2] and not all(map(_begins_at_one, (b for one in own[0] for b in one.bounds))):
            return None
    if len(group) > 1 and not _are_alike(found):
        return None
    return found[0]


def _begins_at_one(bound: Arg) -> bool:
    lower = bound.lower if isinstance(bound, Section) else None
    return lower is None or (isinstance(lower, Lit) and lower.integer == 1)


def _found(
    symbol: Symbol, scope: Scope
) -> tuple[tuple[ModuleAllocation, ...], list[Symbol], bool] | None:
    """Each ALLOCATE of a module array, and the module arrays whose shapes assignments give to it,
    with whether one of these gives it lower bounds of 1; None: something else than these and
    DEALLOCATE may change its shape."""
    if symbol.origin is not Origin.MODULE or not _has_one_name(symbol, scope):
        return None
    found: list[ModuleAllocation] = []
    others: list[Symbol] = []
    from_one = False
    for located in scope.program.mentions(symbol.name):
        if any(use_renames(located, symbol.name)) or _is_hidden(symbol.name, located):
            return None
        own = scope.scopes.of(located)
        seen = own.lookup(symbol.name)
        if seen is not None and seen.identity != symbol.identity:
            continue
        for leaf, what in _actions(located):
            allocated = _allocated(what, symbol.name)
            if allocated is not None:
                found.append(ModuleAllocation(own, leaf, allocated))
                continue
            given = _shape_givers(what, symbol.name, own)
            if given is not None:
                others += given
                from_one = from_one or _gives_bounds_from_one(what, symbol, given)
            elif not _deallocates(what) and _shapes(what, symbol.name, own):
                return None
    return tuple(found), others, from_one


def _gives_bounds_from_one(what: What, symbol: Symbol, given: list[Symbol]) -> bool:
    """Whether an assignment from some arrays may allocate an array, with lower bounds of 1.

    An array that is an operand itself is allocated, and keeps its bounds.
    """
    names_itself = any(one.identity == symbol.identity for one in given)
    whole = isinstance(what, Assign) and isinstance(what.value, Ref)
    return bool(given) and not names_itself and not whole


def _shape_givers(what: What, name: str, scope: Scope) -> list[Symbol] | None:
    """The arrays in an expression that is assigned to all of an array; None: it is none, or there
    are other things in it than arrays, scalars and operations of numbers."""
    if not isinstance(what, Assign) or what.pointer or not _is_named(what.target, name):
        return None
    arrays: list[Symbol] = []
    for part in walk(what.value):
        match part:
            case Lit() | Op(op="+" | "-" | "*" | "/" | "**" | "()"):
                continue
            case Ref(args=None):
                symbol = scope.lookup(part.name)
                if symbol is None or symbol.type is None or symbol.type.base not in _NUMBERS:
                    return None
                if symbol.origin not in (Origin.PARAMETER, Origin.LOCAL, Origin.MODULE):
                    return None
                arrays += [symbol] if symbol.dims is not None else []
            case _:
                return None
    return arrays


def _are_alike(found: list[tuple[ModuleAllocation, ...]]) -> bool:
    """Whether arrays have one ALLOCATE each, and all the same bounds, of constants and of variables
    that keep their values."""
    if any(len(own) != 1 for own in found):
        return False
    for (one,) in found:
        for part in (part for bound in one.bounds for part in walk(bound)):
            if not isinstance(part, Ref) or constant(part, one.scope) is not None:
                continue
            variable = one.scope.lookup(part.name) if part.args is None else None
            if variable is None or not stays_from(variable, one.leaf, one.scope):
                return False
    first = found[0][0]
    return all(
        one.bounds == first.bounds and one.scope.unit is first.scope.unit for (one,) in found
    )


def _has_one_name(symbol: Symbol, scope: Scope) -> bool:
    one = len(scope.program.main_programs()) == 1
    return one and not symbol.attrs & {"pointer", "target", "volatile"}


def _is_hidden(name: str, located: Located) -> bool:
    """Whether a line that only some compilations execute names the array."""
    return any(
        name in _WORD.findall(text.lower()) for _, text in conditional_statements(located.unit)
    )


def _allocated(what: What, name: str) -> tuple[Arg, ...] | None:
    """The bounds that an ALLOCATE gives to the array of this name; (): those of another object."""
    if not isinstance(what, Allocation) or what.kind != "allocate":
        return None
    for item in what.objects:
        if isinstance(item, Ref) and item.name == name:
            return item.args or ()
    return None


def _deallocates(what: What) -> bool:
    return isinstance(what, Allocation) and what.kind == "deallocate"


def _actions(located: Located) -> list[tuple[Leaf, What]]:
    every = (leaf for node in located.unit.body for leaf in leaves(node))
    return [(leaf, what) for leaf in every for what in actions(leaf.what)]


def _may_shape(located: Located, symbol: Symbol, scope: Scope) -> bool:
    if any(use_renames(located, symbol.name)):
        return True
    own = scope.scopes.of(located)
    seen = own.lookup(symbol.name)
    if seen is not None and seen.identity != symbol.identity:
        return False
    return any(_shapes(what, symbol.name, own) for _, what in _actions(located))


def _shapes(what: What, name: str, scope: Scope) -> bool:
    """Whether a statement may change the shape of the array of this name."""
    match what:
        case Opaque() | Raw():
            return True
        case Allocation(objects=objects):
            if any(isinstance(item, Ref) and item.name == name for item in objects):
                return True
        case Assign(target=target, value=value):
            if _is_named(target, name) and not is_scalar(value, scope):
                return True
        case Call(procedure=procedure, args=args):
            if any(_is_named(arg, name) for arg in args) and may_allocate(procedure, scope):
                return True
    return any(
        isinstance(part, Ref)
        and part.args is not None
        and any(_is_named(arg, name) for arg in part.args)
        and name_kind(part.name, True, scope) not in NO_SHAPE
        and may_allocate(part, scope)
        for expr in expressions_of(what)
        for part in walk(expr)
    )


def _is_named(arg: Arg, name: str) -> bool:
    value = argument_value(arg)
    return isinstance(value, Ref) and value.name == name and value.args is None
