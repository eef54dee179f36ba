"""COMMON blocks and module variables as units declare and use them."""

from __future__ import annotations

from asphalt.analysis.names.references import use_renames
from asphalt.analysis.names.scopes import Origin, Scope, Symbol


def layout(scope: Scope, block: str) -> tuple[object, ...]:
    """The variables of a COMMON block with what decides about their places in it."""
    symbols = [scope.lookup(name) for name in scope.declared.commons.get(block, ())]
    return tuple((s.name, s.type, s.dims) if s is not None else None for s in symbols)


def host_has_common(scope: Scope, block: str) -> bool:
    """Whether a unit around the scope declares the COMMON block."""
    host = scope.host
    return host is not None and (block in host.declared.commons or host_has_common(host, block))


def is_same_variable(symbol: Symbol, scope: Scope, defined: bool) -> bool | str:
    """Whether a name is the shared variable in a unit; a text: that is not clear.

    ``defined``: whether statements of the unit define a variable of that name.
    """
    unit, seen = scope.unit.name, scope.lookup(symbol.name)
    if symbol.origin is not Origin.COMMON:
        if any(use_renames(scope.located, symbol.name)):
            return f"{symbol.name} has another name in {unit}"
        if seen is None and not defined:
            return False  # part of an operator, or a keyword: nothing here defines such a variable
        if seen is None:
            return f"what {symbol.name} is in {unit} is not known"
        return seen.identity == symbol.identity
    block = symbol.common_block or ""
    own = layout(symbol.home, block) if isinstance(symbol.home, Scope) else ()
    here = layout(scope, block)
    if block in scope.declared.unclear or here not in ((), own):
        return f"COMMON /{block}/ is not the same in {unit}"
    if here != ():
        return True
    if any(use_renames(scope.located, symbol.name)):
        return f"{symbol.name} has another name in {unit}"
    if symbol.name in scope.own:  # a variable of an internal procedure
        return False
    if seen is None and defined:
        return f"what {symbol.name} is in {unit} is not known"
    used = seen is not None and seen.common_block == block  # from a module
    return used or host_has_common(scope, block)
