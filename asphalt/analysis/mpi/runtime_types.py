"""The objects of asphalt's runtime that transformed code has."""

from __future__ import annotations

from asphalt.analysis.names.derived_types import type_definition
from asphalt.analysis.names.resolve import gives
from asphalt.analysis.names.scopes import Scope
from asphalt.config.runtime import runtime_modules
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.stmt import Use


def runtime_type(base: Expr, scope: Scope) -> str | None:
    """The type of a variable of a type that a module of asphalt's runtime offers, in the tree or
    not; None: it is none, or it may be of another type that extends it.

    A nearer declaration of the name hides that of a module (F2018 19.5.1.4), and so may a module
    that is not in the tree.
    """
    symbol = scope.lookup(base.name) if isinstance(base, Ref) and base.args is None else None
    if symbol is None or symbol.type is None or symbol.type.name is None:
        return None
    home = symbol.home
    if symbol.type.base != "type" or not isinstance(home, Scope):
        return None
    name = symbol.type.name.lower()
    definition = type_definition(name, home)
    if definition is not None:
        module = definition[1].located.chain[0].name
        return name if module in runtime_modules() else None
    here: Scope | None = home
    while here is not None:
        uses = [use for use in here.declared.uses if gives(use, name)]
        if any(_offers(use, name) for use in uses):
            return name
        if any(scope.scopes.module(use.module) is None for use in uses):
            return None
        here = here.host
    return None


def _offers(use: Use, name: str) -> bool:
    """Whether a USE statement makes a name of the runtime accessible as itself."""
    module = runtime_modules().get(use.module)
    return module is not None and use.original_name(name) == name and name in module.names
