"""The specific procedure that a reference invokes: generic names and type-bound procedures.

A generic name denotes the one specific procedure whose dummies accept the actual arguments by type,
kind and rank (F2018 15.5.5.2). asphalt resolves it only if all its specific procedures are in the
tree and all but one certainly do not accept them; and a type-bound procedure for an object that is
not polymorphic, or for a binding that cannot be overridden.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.names.derived_types import type_definition
from asphalt.analysis.names.generic_names import specific_of
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Component, Keyword, Ref
from asphalt.ir.program import Located
from asphalt.ir.stmt import Call, Decl
from asphalt.ir.tree import Leaf


def invoked(call: Call, scope: Scope) -> tuple[Located, Call] | None:
    """The procedure of the tree that a reference invokes, and the call with all its arguments (the
    object of a type-bound procedure included); None: unknown."""
    match call.procedure:
        case Ref(name=name):
            symbol = scope.lookup(name)
            if symbol is not None and "generic" in symbol.attrs:
                found = specific_of(call, name, scope)
            else:
                found = procedure_named(call.procedure, scope)
            return None if found is None else (found, call)
        case Component():
            return _bound(call, call.procedure, scope)
    return None


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
