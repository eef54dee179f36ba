"""Which statements may change the shape of an allocatable.

An assignment to a whole allocatable gives it the shape of the value, unless it has that shape
(F2018 10.2.1.3).  An elementwise expression of arrays has their common shape.  A procedure may
change the shape of an allocatable dummy, and of an allocatable component.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from asphalt.analysis.call_graph.operators import is_intrinsic_assignment
from asphalt.analysis.memory.accesses import EffectKind, NameKind
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.designators import designator_name, own_designator, symbol_named
from asphalt.analysis.names.expression_ranks import ELEMENTAL
from asphalt.analysis.names.generic_names import all_specifics
from asphalt.analysis.names.intrinsics import is_intrinsic
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Arg, Component, Expr, Op, Ref, argument_value, names_in, walk
from asphalt.ir.program import Located
from asphalt.ir.stmt import IO, Assign, Call, Guarded
from asphalt.ir.tree import Leaf

if TYPE_CHECKING:
    from asphalt.analysis.memory.forward_substitution import Values

MOVE = "move_alloc"
"""What the effect of its calls names."""
_INTRINSIC_TYPES = ("integer", "real", "double_precision", "complex", "double_complex", "logical")
NO_SHAPE = (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.INQUIRY, NameKind.PURE_FUNCTION)
"""What is no call of a procedure of the program."""
_ELEMENTWISE = frozenset(
    {"()", "+", "-", "*", "/", "**", "==", "/=", "<", "<=", ">", ">=", ".and.", ".or.", ".not.",
     ".eqv.", ".neqv."}
)  # fmt: skip


def arrays_of_value(name: str, leaf: Leaf, scope: Scope) -> tuple[str, ...] | None:
    """The designators of the arrays whose shape a statement gives to the whole allocatable of this
    designator.

    (): it keeps its shape, for the value is a scalar.  None: not such an assignment.  All are of
    intrinsic types, so that no defined operation or assignment is meant where they have one shape.
    """
    what = leaf.what
    if isinstance(what, Guarded):
        what = what.action
    if not isinstance(what, Assign) or what.pointer or not isinstance(what.target, Ref | Component):
        return None
    if what.target.args is not None or designator_name(what.target) != name:
        return None
    if not _is_of_intrinsic_type(name, scope) or not is_intrinsic_assignment(what, scope):
        return None
    found = list(_whole_arrays(what.value, scope))
    return None if None in found else tuple(dict.fromkeys(n for n in found if n is not None))


def _whole_arrays(expr: Arg, scope: Scope) -> Iterator[str | None]:
    """The designators of the whole arrays of an elementwise expression; None: it has other
    parts."""
    if is_scalar(expr, scope):
        return
    match expr:
        case Op(op=op, operands=operands) if op in _ELEMENTWISE:
            for operand in operands:
                yield from _whole_arrays(operand, scope)
        case Ref(name=function, args=tuple() as args) if function in ELEMENTAL:
            symbol = scope.lookup(function)
            if symbol is None or symbol.origin is not Origin.INTRINSIC:
                yield None
            for arg in args:
                yield from _whole_arrays(arg, scope)
        case Ref(args=None) | Component(args=None):
            name = designator_name(expr)
            yield name if name is not None and _is_of_intrinsic_type(name, scope) else None
        case _:
            yield None


def _is_of_intrinsic_type(name: str, scope: Scope) -> bool:
    """Whether a designator is an array of an intrinsic type."""
    symbol = symbol_named(name, scope)
    if symbol is None or not symbol.dims or symbol.type is None:
        return False
    return symbol.type.base in _INTRINSIC_TYPES


def is_never_before(later: Leaf, earlier: Leaf, values: Values) -> bool:
    """Whether no execution of ``later`` comes before one of ``earlier`` in the same unit."""
    loops = {id(loop) for loop in values.loops_around(earlier)}
    if values.backward_jumps or any(id(loop) in loops for loop in values.loops_around(later)):
        return False
    return values.position(later) > values.position(earlier)


def may_reallocate(array: str, leaf: Leaf, scope: Scope) -> bool:
    """Whether a statement that defines a whole allocatable may change its bounds.

    ``array``: its designator.
    """
    what = leaf.what
    if isinstance(what, Guarded):
        what = what.action
    match what:
        case Assign(target=target, value=value) if designator_name(target) == array:
            return not (is_scalar(value, scope) and is_intrinsic_assignment(what, scope))
        case Call(procedure=procedure, args=args):
            # an element or a section is not allocatable; a structure may have it as a component
            if isinstance(procedure, Component) and _is_bound_to(procedure, array):
                return True
            passed = {_part_passed(arg, array, scope) for arg in args}
            return _Part.MORE in passed or (
                _Part.ARRAY in passed and may_allocate(procedure, scope)
            )
        case IO():
            return "%" in array  # by defined input (F2018 12.6.4.8)
    return True


def may_allocate(procedure: Expr, scope: Scope) -> bool:
    """Whether a called procedure may have an allocatable dummy; those of MPI have none."""
    if not isinstance(procedure, Ref):
        return True
    symbol = scope.lookup(procedure.name)
    if symbol is not None and symbol.origin is Origin.MPI:
        return False
    if symbol is not None and "generic" in symbol.attrs:
        named = () if is_intrinsic(procedure.name) else all_specifics(procedure.name, scope)
    else:
        one = procedure_named(procedure, scope)
        named = () if one is None else (one,)
    return not named or any(_has_allocatable_dummy(located, scope) for located in named)


def _has_allocatable_dummy(located: Located, scope: Scope) -> bool:
    """Whether a procedure may have an allocatable dummy."""
    callee = scope.scopes.of(located)
    if callee.head is None or callee.kind == "module_procedure":
        return True
    dummies = [callee.lookup(dummy) for dummy in callee.dummies]
    return any(d is None or "allocatable" in d.attrs for d in dummies)


class _Part(Enum):
    """What an argument has of an array."""

    ELEMENTS = "nothing, elements, a section or a value"
    ARRAY = "the array"
    MORE = "a structure with the array as a component, or a function of it"


def _part_passed(arg: Arg, array: str, scope: Scope) -> _Part:
    value = argument_value(arg)
    if any(_passes_on(part, array, scope) for part in walk(value)):
        return _Part.MORE
    name = own_designator(value, scope) if isinstance(value, Ref | Component) else None
    if name is None or not isinstance(value, Ref | Component):
        return _Part.ELEMENTS
    if name == array:
        return _Part.ARRAY if value.args is None else _Part.ELEMENTS
    return _Part.MORE if array.startswith(f"{name}%") else _Part.ELEMENTS


def _passes_on(part: Arg, array: str, scope: Scope) -> bool:
    """Whether a part of an expression calls a function with the array, or what it is part of."""
    match part:
        case Component(args=tuple() as args):
            if _is_array(part, scope):
                return False
            if _is_bound_to(part, array):
                return True
        case Ref(name=name, args=tuple() as args):
            if name_kind(name, True, scope) in NO_SHAPE:
                return False
        case _:
            return False
    named = (argument_value(arg) for arg in args)
    names = {
        own_designator(v, scope) for v in named if isinstance(v, Ref | Component) and v.args is None
    }
    return any(n is not None and (n == array or array.startswith(f"{n}%")) for n in names)


def _is_bound_to(procedure: Component, array: str) -> bool:
    """Whether a procedure component, or a type-bound procedure, may belong to what the array is a
    component of."""
    return array.split("%")[0] in names_in(procedure.base)


def _is_array(part: Component, scope: Scope) -> bool:
    """Whether a component with a list behind it is an array with subscripts."""
    symbol = symbol_named(designator_name(part) or "", scope)
    return symbol is not None and symbol.dims is not None


def moved_arrays(leaf: Leaf, scope: Scope) -> tuple[str, str] | None:
    """The names of two arrays, of which a statement gives the allocation of the first, with its
    bounds, to the second (F2018 16.9.137); None: it is no such call, or may fail."""
    call = leaf.action
    if not isinstance(call, Call) or not isinstance(call.procedure, Ref):
        return None
    symbol = scope.lookup(call.procedure.name)
    if call.procedure.name != MOVE or symbol is None or symbol.origin is not Origin.INTRINSIC:
        return None
    bound = bind(call.args, ("from", "to")) or {}
    given = (bound["from"], bound["to"]) if set(bound) == {"from", "to"} else ()
    names = [one.name for one in given if isinstance(one, Ref) and one.args is None]
    return (names[0], names[1]) if len(names) == 2 and names[0] != names[1] else None


def moved_at(name: str, values: Values) -> Leaf | None:
    """The first statement that calls MOVE_ALLOC for the array with a designator, whose bounds may
    be those of another array behind it (F2018 16.9.137)."""
    for effect in values.footprint.effects:
        if effect.kind is EffectKind.ALLOCATION and effect.detail == MOVE:
            call = effect.leaf.action
            args = map(argument_value, call.args) if isinstance(call, Call) else ()
            if any(designator_name(arg) == name for arg in args):
                return effect.leaf
    return None
