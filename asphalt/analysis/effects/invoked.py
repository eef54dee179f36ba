"""The specific procedure that a reference invokes: generic names and type-bound procedures.

A generic name denotes the one specific procedure whose dummies accept the actual arguments by type,
kind and rank (F2018 15.5.5.2). asphalt resolves it only if all its specific procedures are in the
tree and all but one certainly do not accept them; and a type-bound procedure for an object that is
not polymorphic, or for a binding that cannot be overridden.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.names.constants import type_bytes
from asphalt.analysis.names.derived_types import type_definition
from asphalt.analysis.names.generic_names import all_specifics
from asphalt.analysis.names.intrinsics import is_intrinsic
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import AltReturn, Arg, Component, Keyword, Lit, Ref, Section
from asphalt.ir.program import Located
from asphalt.ir.stmt import Call, Decl, TypeSpec, UnitHead
from asphalt.ir.tree import Leaf


def invoked(call: Call, scope: Scope) -> tuple[Located, Call] | None:
    """The procedure of the tree that a reference invokes, and the call with all its arguments (the
    object of a type-bound procedure included); None: unknown."""
    match call.procedure:
        case Ref(name=name):
            symbol = scope.lookup(name)
            if symbol is not None and "generic" in symbol.attrs:
                found = _specific(call, name, scope)
            else:
                found = procedure_named(call.procedure, scope)
            return None if found is None else (found, call)
        case Component():
            return _bound(call, call.procedure, scope)
    return None


def _specific(call: Call, name: str, scope: Scope) -> Located | None:
    if is_intrinsic(name):
        return None
    candidates = all_specifics(name, scope) or ()
    accepting = [found for found in candidates if _accepts(found, call, scope)]
    return accepting[0] if len(accepting) == 1 else None


def _accepts(found: Located, call: Call, scope: Scope) -> bool:
    """Whether the dummies of a procedure may accept the arguments of a call."""
    inside = scope.scopes.of(found)
    head = found.unit.head.what if found.unit.head is not None else None
    if not isinstance(head, UnitHead):
        return True
    given: dict[str, Arg] = {}
    for position, arg in enumerate(call.args):
        if isinstance(arg, Keyword):
            given[arg.name] = arg.value
        elif position >= len(head.args):
            return False
        else:
            given[head.args[position]] = arg
    if not set(given) <= set(head.args):
        return False
    for name in head.args:
        dummy = inside.lookup(name)
        if dummy is None:
            continue
        if name not in given:
            if "optional" not in dummy.attrs:
                return False
        elif not _may_be(given[name], dummy, scope, elemental="elemental" in head.prefix):
            return False
    return True


def _may_be(actual: Arg, dummy: Symbol, scope: Scope, *, elemental: bool) -> bool:
    """Whether an actual argument may have the type, kind and rank of a dummy."""
    spec, home = _type_of(actual, scope)
    if spec is not None and dummy.type is not None and _differ(spec, home, dummy, scope):
        return False
    rank, own = _rank_of(actual, scope), len(dummy.dims or ())
    if rank is None or rank == own or (elemental and own == 0):
        return True
    # an element may stand for an array, but not where a generic name is resolved (F2018 15.5.2.4)
    return any(dim.kind == "assumed_rank" for dim in dummy.dims or ())


def _differ(spec: TypeSpec, home: Scope, dummy: Symbol, scope: Scope) -> bool:
    other = dummy.type
    assert other is not None
    if other.base == "class" or spec.base == "class":
        return False
    if _family(spec) != _family(other):
        return True
    if spec.base == "type":
        return spec.name is not None and other.name is not None and spec.name != other.name
    if spec.base == "character":
        return False
    other_home = dummy.home if isinstance(dummy.home, Scope) else scope
    sizes = type_bytes(spec, home), type_bytes(other, other_home)
    return None not in sizes and sizes[0] != sizes[1]


def _family(spec: TypeSpec) -> str:
    return {"double_precision": "real", "double_complex": "complex"}.get(spec.base, spec.base)


def _type_of(actual: Arg, scope: Scope) -> tuple[TypeSpec | None, Scope]:
    match actual:
        case Lit(kind="integer", text=text) if "_" not in text:
            return TypeSpec("integer"), scope
        case Lit(kind="real", text=text) if "_" not in text:
            return TypeSpec("double_precision" if "d" in text.lower() else "real"), scope
        case Ref(name=name):
            symbol = scope.lookup(name)
            if symbol is not None and symbol.origin not in (Origin.INTRINSIC, Origin.PROCEDURE):
                return symbol.type, symbol.home if isinstance(symbol.home, Scope) else scope
    return None, scope


def _rank_of(actual: Arg, scope: Scope) -> int | None:
    match actual:
        case Ref(name=name, args=None):
            symbol = scope.lookup(name)
            if symbol is None or symbol.origin is Origin.PROCEDURE:
                return None
            return len(symbol.dims or ())
        case Ref(name=name, args=tuple(args)):
            symbol = scope.lookup(name)
            if symbol is None or symbol.dims is None:
                return None
            scalars = [a for a in args if not isinstance(a, Section | Keyword | AltReturn)]
            if all(is_scalar(a, scope) for a in scalars):
                return sum(isinstance(a, Section) for a in args)
            return None
    return 0 if is_scalar(actual, scope) else None


def _bound(call: Call, procedure: Component, scope: Scope) -> tuple[Located, Call] | None:
    base = procedure.base
    symbol = scope.lookup(base.name) if isinstance(base, Ref) else None
    if symbol is None or symbol.type is None or symbol.type.name is None:
        return None
    home = symbol.home
    if not isinstance(home, Scope) or symbol.type.base not in ("type", "class"):
        return None
    definition = type_definition(symbol.type.name.lower(), home)
    if definition is None:
        return None
    block, inside = definition
    for node in block.body:
        what = node.what if isinstance(node, Leaf) else None
        if not isinstance(what, Decl) or what.kind != "procedure" or what.groups:
            continue
        for entity in what.entities:
            if entity.name != procedure.name:
                continue
            fixed = symbol.type.base == "type" or "non_overridable" in what.attrs
            plain = not set(what.attrs) & {"deferred", "pointer", "final"}
            target = entity.initial if isinstance(entity.initial, Ref) else Ref(entity.name, "")
            if not fixed or not plain or any(a.startswith("interface") for a in what.attrs):
                return None
            found = procedure_named(target, inside)
            return None if found is None else (found, _with_object(call, base, what, found))
    return None


def _with_object(call: Call, base: object, binding: Decl, found: Located) -> Call:
    """The call with the object as an argument."""
    assert isinstance(base, Ref)
    args = call.args
    if "nopass" not in binding.attrs:
        named = [a[5:-1] for a in binding.attrs if a.startswith("pass(")]
        args = (*args, Keyword(named[0], named[0], base)) if named else (base, *args)
    name = found.unit.name
    return replace(call, procedure=Ref(name, name), args=args)
