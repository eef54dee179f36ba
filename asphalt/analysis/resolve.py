"""Which procedure of the tree a reference means."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.symbols import Origin, Scope
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.program import Located
from asphalt.ir.stmt import Call, Use


def procedure_named(procedure: Expr, scope: Scope) -> Located | None:
    """The specific procedure that ``procedure`` names in ``scope``, if it is in the tree.

    Internal and module procedures of the hosts are found first, then those of used modules, then
    external procedures (F2018 19.5.1).  Generic names, type-bound procedures, procedure pointers
    and dummy procedures are not resolved.
    """
    if not isinstance(procedure, Ref):
        return None
    name = procedure.name
    if name not in scope.procedures:
        scope.procedures[name] = _resolved(name, scope)
    return scope.procedures[name]


def procedure_called(call: Call, scope: Scope) -> Located | None:
    """The procedure of the tree that a call statement or function reference invokes."""
    return procedure_named(call.procedure, scope)


def _resolved(name: str, scope: Scope) -> Located | None:
    symbol = scope.lookup(name)
    if symbol is not None and symbol.origin in (Origin.DUMMY, Origin.INTRINSIC, Origin.MPI):
        return None
    if symbol is not None and "pointer" in symbol.attrs:
        return None
    program = scope.program
    chain = scope.located.chain
    for depth in range(len(chain), 0, -1):
        host = replace(scope.located, chain=chain[:depth])
        for unit in host.unit.contained:
            if unit.name == name:
                return program.contained(host, name)
        used = [u for u in scope.scopes.of(host).declared.uses if not u.intrinsic]
        found = [f for use in used for f in _from_module(use, name, scope, 0)]
        if found:
            same = all(f.chain == found[0].chain for f in found)
            return found[0] if same else None
        if any(scope.scopes.module(u.module) is None and _gives(u, name) for u in used):
            return None  # it may come from a module that cannot be seen
    return program.external(name)


def _gives(use: Use, name: str) -> bool:
    if use.module in ("mpi", "mpi_f08", "iso_fortran_env", "iso_c_binding"):
        return False
    return not use.only or any(item.local == name for item in use.items)


def _original(use: Use, name: str) -> str | None:
    for item in use.items:
        if item.local == name:
            return item.name
    return None if use.only else name


def _from_module(use: Use, name: str, scope: Scope, depth: int) -> list[Located]:
    original = _original(use, name)
    module = scope.scopes.module(use.module)
    if original is None or module is None or depth > 8:
        return []
    for unit in module.unit.contained:
        if unit.name == original:
            found = scope.program.contained(module.located, original)
            return [] if found is None else [found]
    return [
        found
        for inner in module.declared.uses
        for found in _from_module(inner, original, scope, depth + 1)
    ]
