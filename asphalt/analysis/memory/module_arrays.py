"""Statements that may change the shape of an allocatable, and module arrays with one ALLOCATE.

Any unit with access to such an array may change its shape: by ALLOCATE and DEALLOCATE, by an
assignment to all of it (F2018 10.2.1.3), or by passing it to an allocatable dummy.  If the main
program allocates it and nothing else does any of this, then that ALLOCATE defines its shape for all
procedures that the main program calls.  If one ALLOCATE in the program has constant bounds, and
nothing but DEALLOCATE does any of this, then the array has these bounds wherever it is allocated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.call_graph.edited_texts import home_in_first
from asphalt.analysis.call_graph.reaching import is_hidden
from asphalt.analysis.call_graph.settled_bounds import stays_from
from asphalt.analysis.call_graph.values_left import has_one_place
from asphalt.analysis.memory.called_shapes import (
    Allocated,
    Change,
    changes_in,
    dims_of,
    shape_change,
)
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.reallocation import NO_SHAPE, may_allocate
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.constants import is_size
from asphalt.analysis.names.designators import designator_name, symbol_named
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.references import actions, expressions_of, use_renames
from asphalt.analysis.names.scopes import Origin, Scope, Scopes, Symbol, constant
from asphalt.analysis.names.symbol import NameLookup
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    Lit,
    Op,
    Ref,
    Section,
    argument_value,
    names_in,
    walk,
)
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation, Assign, Call, Dim, Opaque, Raw, What
from asphalt.ir.tree import Leaf, leaves

_NUMBERS = ("integer", "real", "double_precision", "complex")
_WORD = re.compile(r"[a-z]\w*")


@record
class ModuleAllocation:
    """An ALLOCATE of a module array: its unit, its statement, and the bounds.

    A call may allocate, too: ``passed`` are the designators in the bounds that it may define
    itself, None for a statement that is no such call.  ``once``: where it is executed again, it
    gives the bounds that hold then.  ``other``: the same ALLOCATE with other names in the bounds.
    """

    scope: Scope
    leaf: Leaf
    bounds: tuple[Arg, ...]
    passed: frozenset[str] | None = None
    once: bool = True
    other: ModuleAllocation | None = None


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
    """Each ALLOCATE of a module array in the program; None: something else than these and
    DEALLOCATE may change the shape."""
    scope = home_in_first(symbol, scope)
    kept = scope.scopes.once(_known)
    if symbol.identity not in kept:
        kept[symbol.identity] = _allocations(symbol, scope)
    return kept[symbol.identity]


def _known(scopes: Scopes) -> dict[tuple[str, ...], tuple[ModuleAllocation, ...] | None]:
    """The answers for arrays of modules, and for components of their structures."""
    return {}


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
            made = _made_by_call(what, symbol.name, leaf, own)
            if made is not None:
                found += made
                continue
            given = _shape_givers(what, symbol.name, own)
            if given is not None:
                others += given
                from_one = from_one or _gives_bounds_from_one(what, symbol, given)
            elif not _deallocates(what) and _shapes(what, symbol.name, own):
                return None
    return tuple(found), others, from_one


def _made_by_call(what: What, name: str, leaf: Leaf, scope: Scope) -> list[ModuleAllocation] | None:
    """The allocations of a CALL that is passed the array; None: it is none, or what it does to the
    shape is not known."""
    if not isinstance(what, Call) or not any(_is_named(arg, name) for arg in what.args):
        return None
    change = shape_change(what, name, scope)
    if isinstance(change, Allocated):
        return [_made(change, leaf, scope)]
    return None if change is Change.UNKNOWN else []


def _made(change: Allocated, leaf: Leaf, scope: Scope) -> ModuleAllocation:
    direct = isinstance(leaf.action, Allocation)
    one, other = (
        None
        if left is None
        else ModuleAllocation(
            scope,
            leaf,
            tuple(Section(d.lower, d.upper, None) for d in dims_of(left)),
            None if direct else left.passed,
            not change.may_fail,
        )
        for left in (change.bounds, change.own)
    )
    assert one is not None
    return one if other is None else replace(other, other=one)


def component_allocations(name: str, scope: Scope) -> tuple[ModuleAllocation, ...] | None:
    """Each ALLOCATE in the program of a component of a structure of a module.

    None: something else than these and DEALLOCATE may change the shape.  ``name``: its designator.
    """
    root, part = scope.lookup(name.split("%")[0]), symbol_named(name, scope)
    if root is None or part is None or root.origin is not Origin.MODULE:
        return None
    if "allocatable" not in part.attrs or "allocatable" in root.attrs:
        return None
    scope = home_in_first(root, scope)
    kept, key = scope.scopes.once(_known), (*root.identity, *name.split("%")[1:])
    if key not in kept:
        kept[key] = _component_allocations("%".join((root.name, *key[3:])), root, scope)
    return kept[key]


def _component_allocations(
    name: str, root: Symbol, scope: Scope
) -> tuple[ModuleAllocation, ...] | None:
    if not _has_one_name(root, scope) or root.equivalenced:
        return None
    found: list[ModuleAllocation] = []
    for located in scope.program.mentions(root.name):
        if located.is_unread or any(use_renames(located, root.name)):
            return None
        own = scope.scopes.of(located)
        seen = own.lookup(root.name)
        if seen is not None and seen.identity != root.identity:
            continue
        if root.name in own.shadowed:
            return None
        for statement, change in changes_in(scope.scopes.once(CallSites).of(located), name):
            if change is Change.UNKNOWN or (is_hidden(statement) or statement.threaded):
                return None
            if isinstance(change, Allocated):
                found.append(_made(change, statement.leaf, own))
    return tuple(found)


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
            if part.args is not None or not _keeps_value(part, one):
                return False
    first = found[0][0]
    return all(
        one.bounds == first.bounds and one.scope.unit is first.scope.unit for (one,) in found
    )


def is_settled(
    bound: Expr, one: ModuleAllocation, scope: Scope, changed_unseen: Callable[[str], bool]
) -> bool:
    """Whether a bound of an ALLOCATE is made of constants and of variables of modules, and
    components of such, that keep their values from there on, and ``scope`` has them under the same
    names.

    ``changed_unseen``: whether something may change a variable that is not analysed there.
    """
    match bound:
        case Lit():
            return True
        case Op(op="+" | "-" | "*" | "/" | "()", operands=operands):
            return all(is_settled(part, one, scope, changed_unseen) for part in operands)
        case Ref(args=None) | Component(args=None):
            if constant(bound, one.scope) is not None:
                return True
            root = (designator_name(bound) or "").split("%")[0]
            there, here = one.scope.lookup(root), scope.lookup(root)
            if there is None or here is None or there.identity != here.identity:
                return False
            if there.origin is here.origin is Origin.PARAMETER and isinstance(bound, Ref):
                return True
            return not changed_unseen(root) and _keeps_value(bound, one)
    return False


def _keeps_value(part: Ref | Component, one: ModuleAllocation) -> bool:
    """Whether an integer variable of a module, or such a component, keeps its value from an
    ALLOCATE on."""
    name = designator_name(part)
    symbol = None if name is None else symbol_named(name, one.scope)
    if name is None or symbol is None or symbol.dims is not None:
        return False
    root, *path = name.split("%")
    variable = one.scope.lookup(root)
    if variable is None or symbol.type is None or symbol.type.base != "integer":
        return False
    if path and not has_one_place(name, one.scope):
        return False
    passed = None if one.passed is None else name in one.passed and one.once
    return stays_from(variable, one.leaf, one.scope, tuple(path), passed)


def with_numbers(bound: Expr | None, home: Scope) -> Expr | None:
    """A bound with numbers for the named constants."""

    def change(part: Expr) -> Expr:
        match part:
            case Op(operands=operands):
                return replace(part, operands=tuple(map(change, operands)))
            case Ref(args=None) if (value := constant(part, home)) is not None:
                return Lit("integer", str(value))
        return part

    return None if bound is None else change(bound)


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


def constant_dims(
    dims: tuple[Dim, ...], home: NameLookup | None, scope: Scope
) -> tuple[Dim, ...] | None:
    """Dimensions with constant bounds of ``home``, in terms of ``scope``; None: it has none."""
    bounds = [b for dim in dims for b in (dim.lower, dim.upper) if b is not None]
    if home is scope or all(means_the_same(b, home, scope) for b in bounds):
        return dims
    return _evaluated(dims, home)


def is_constant(bound: Expr, home: NameLookup | None) -> bool:
    """Whether a bound has the same value in all executions, or in all with the same sizes."""
    if not isinstance(home, Scope):
        return False
    parts = [part for part in walk(bound) if isinstance(part, Ref)]
    return constant(bound, home) is not None or all(is_size(part, home) for part in parts)


def means_the_same(expr: Expr, home: NameLookup | None, scope: Scope) -> bool:
    """Whether the named constants of an expression of ``home`` have the same names in ``scope``.
    Asked where values of sizes do not matter; otherwise they are evaluated."""
    if home is None or not scope.any_sizes:
        return False
    pairs = [(home.lookup(name), scope.lookup(name)) for name in names_in(expr)]
    return all(
        there is not None
        and here is not None
        and (there.name, there.owner, there.origin) == (here.name, here.owner, Origin.PARAMETER)
        for there, here in pairs
    )


def _evaluated(dims: tuple[Dim, ...], home: NameLookup | None) -> tuple[Dim, ...] | None:
    """Dimensions with numbers for constant bounds; None: some are unknown."""
    assert isinstance(home, Scope)
    if any(b is not None and constant(b, home) is None for d in dims for b in (d.lower, d.upper)):
        return None

    def literal(bound: Expr | None) -> Expr | None:
        return None if bound is None else Lit("integer", str(constant(bound, home)))

    return tuple(Dim(dim.kind, literal(dim.lower), literal(dim.upper)) for dim in dims)
