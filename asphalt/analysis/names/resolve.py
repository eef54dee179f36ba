"""Which procedure of the tree a reference means."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from asphalt.analysis.names.declarations import separate_interface
from asphalt.analysis.names.intrinsic_modules import (
    KINDS,
    MPI_MODULES,
    intrinsic_module_name,
    is_intrinsic_module,
)
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.program import Located
from asphalt.ir.stmt import UnitHead, Use
from asphalt.ir.tree import Block, Unit

T = TypeVar("T")


def procedure_named(procedure: Expr, scope: Scope) -> Located | None:
    """The specific procedure that ``procedure`` names in ``scope``, if it is in the tree.

    The search goes through internal and module procedures of the hosts, then those of used modules,
    then external procedures (F2018 19.5.1).  ``call_graph.invoked`` resolves generic names and
    type-bound procedures; nothing resolves procedure pointers and dummy procedures.
    """
    if not isinstance(procedure, Ref):
        return None
    name = procedure.name
    symbol = scope.lookup(name)
    if symbol is not None and "generic" in symbol.attrs:
        return None
    return specific_named(name, scope)


def specific_named(name: str, scope: Scope) -> Located | None:
    """The procedure that a name means in ``scope`` if it is the name of a specific procedure."""
    if name not in scope.procedures:
        scope.procedures[name] = _resolved(name, scope)
    return scope.procedures[name]


def _resolved(name: str, scope: Scope) -> Located | None:
    symbol = scope.lookup(name)
    if symbol is not None and symbol.origin in (Origin.DUMMY, Origin.INTRINSIC, Origin.MPI):
        return None
    if symbol is not None and "pointer" in symbol.attrs:
        return None
    if symbol is None and _may_be_generic(name, scope):
        return None
    program = scope.program
    here: Scope | None = scope
    while here is not None:
        for unit in here.unit.contained:
            if unit.name == name:
                return program.contained(here.located, name)
        if _declares_separate(name, here):
            return separate_body(name, here)
        if name in here.declared.included:
            return None
        used = [u for u in here.declared.uses if not u.intrinsic]
        found = [f for use in used for f in _from_module(use, name, scope)]
        if found:
            same = all(f.chain == found[0].chain for f in found)
            return found[0] if same else None
        if may_be_unseen(name, here):
            return None
        if any(_may_be_included(use, name, scope) for use in used):
            return None
        here = here.host
    home = None if symbol is None else symbol.home
    if symbol is not None and isinstance(home, Scope) and _declares_separate(symbol.name, home):
        return None  # its body is not in the tree
    outside = program.external(name)
    if outside is None or not _has_label_of(outside, name, scope):
        return None
    return outside


def _declares_separate(name: str, scope: Scope) -> bool:
    """Whether a module or submodule declares a separate module procedure."""
    return separate_interface(name, scope.unit) is not None


def separate_body(name: str, scope: Scope) -> Located | None:
    """The body of a separate module procedure that a module or submodule declares, in one of the
    submodules below it; None: the tree has not one body that is understood."""
    found: list[Located] = []
    root = scope
    while root.host is not None:
        root = root.host
    for submodule in scope.program.submodules(root.unit.name):
        inside = [unit for unit in submodule.unit.contained if unit.name == name]
        above: Scope | None = scope.scopes.of(submodule)
        while above is not None and _key(above.located) != _key(scope.located):
            above = above.host
        if inside and above is not None and _key(submodule) != _key(scope.located):
            body = scope.program.contained(submodule, name)
            if body is None or scope.scopes.of(body).kind == "module_procedure":
                return None
            found.append(body)
    if len(found) != 1:
        return None
    (one,) = found
    return one if one.unit.kind == "module_procedure" or "module" in _prefix(one.unit) else None


def is_separate_body(scope: Scope) -> bool:
    """Whether a procedure is the one body of a separate module procedure that an ancestor of its
    submodule declares."""
    host = None if scope.host is None else scope.host.host
    while host is not None and not _declares_separate(scope.unit.name, host):
        host = host.host
    body = None if host is None else separate_body(scope.unit.name, host)
    return body is not None and _key(body) == _key(scope.located)


def _key(located: Located) -> tuple[str, str, str]:
    """What tells a program unit from others, whenever it is read."""
    return located.path, located.unit.kind, located.unit.name


def _prefix(unit: Unit) -> tuple[str, ...]:
    what = None if unit.head is None else unit.head.what
    return what.prefix if isinstance(what, UnitHead) else ()


def _has_label_of(found: Located, name: str, scope: Scope) -> bool:
    """Whether the interface bodies of a name, of which there may be none, have the binding label of
    an external procedure: otherwise another procedure is meant (F2018 18.10.2)."""
    symbol = scope.lookup(name)
    homes = [symbol.home] if symbol is not None and isinstance(symbol.home, Scope) else []
    here: Scope | None = scope
    while here is not None:
        homes.append(here)
        here = here.host
    labels = {
        _label(body)
        for home in homes
        for node in home.unit.spec
        if isinstance(node, Block)
        for body in node.body
        if isinstance(body, Unit) and body.name == name
    }
    return (labels or {""}) == {_label(found.unit)}


def _label(unit: Unit) -> str:
    """What a procedure has for a binding label, as its statement has it; empty: none."""
    what = None if unit.head is None else unit.head.what
    for one in what.prefix if isinstance(what, UnitHead) else ():
        if one.startswith("bind("):
            named = one.replace("'", '"')
            return named if "name=" in one else f'bind(c,name="{unit.name}")'
    return ""


def _may_be_generic(name: str, scope: Scope) -> bool:
    """Whether a name that several modules give may be a generic one in some of them."""
    return _once(_is_generic_somewhere, scope, name, False)


def _is_generic_somewhere(scope: Scope, name: str) -> bool:
    here: Scope | None = scope
    while here is not None:
        for use in here.declared.uses:
            original = use.original_name(name)
            module = scope.scopes.module(use.module)
            if original is None or module is None or module.hides(original):
                continue
            symbol = module.lookup(original)
            if symbol is not None and "generic" in symbol.attrs:
                return True
            if symbol is None and _may_be_generic(original, module):
                return True
        if here.lacks_host:
            return True
        here = here.host
    return False


def gives(use: Use, name: str) -> bool:
    """Whether a module that is not in the tree may make a name accessible by a USE statement."""
    original = use.original_name(name)
    if original is None or use.module in MPI_MODULES or use.module in KINDS:
        return False
    if is_intrinsic_module(use.module):
        return intrinsic_module_name(use.module, original) is not None
    return True


def may_be_unseen(name: str, scope: Scope) -> bool:
    """Whether a module that is not in the tree may give a name to a unit by its own USE
    statements, or because the unit is a submodule of it."""
    return scope.lacks_host or any(
        not use.intrinsic and scope.scopes.module(use.module) is None and gives(use, name)
        for use in scope.declared.uses
    )


def _may_be_included(use: Use, name: str, scope: Scope) -> bool:
    """Whether a name may be that of a procedure in a file that a used module includes."""
    original = use.original_name(name)
    module = scope.scopes.module(use.module)
    if original is None or module is None:
        return False
    return _once(_may_include, module, original, False)


def _may_include(module: Scope, name: str) -> bool:
    return name in module.declared.included or any(
        _may_be_included(inner, name, module) for inner in module.declared.uses
    )


def _from_module(use: Use, name: str, scope: Scope) -> tuple[Located, ...]:
    original = use.original_name(name)
    module = scope.scopes.module(use.module)
    if original is None or module is None:
        return ()
    return _once(_procedures, module, original, ())


def _procedures(module: Scope, name: str) -> tuple[Located, ...]:
    """The procedures that a module makes accessible by a name."""
    if module.hides(name):
        return ()
    for unit in module.unit.contained:
        if unit.name == name:
            found = module.program.contained(module.located, name)
            return () if found is None else (found,)
    if _declares_separate(name, module):
        body = separate_body(name, module)
        return () if body is None else (body,)
    used = (f for use in module.declared.uses for f in _from_module(use, name, module))
    return tuple({tuple(map(id, one.chain)): one for one in used}.values())


def _once(find: Callable[[Scope, str], T], scope: Scope, name: str, meanwhile: T) -> T:
    """What is found for a name in a scope, once; ``meanwhile``: the answer where modules use each
    other in a circle, which no program does (F2018 14.2.2)."""
    key = find, name
    if key not in scope.through_modules:
        scope.through_modules[key] = meanwhile
        scope.through_modules[key] = find(scope, name)
    return cast(T, scope.through_modules[key])
