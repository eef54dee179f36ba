"""Where questions are asked whose answers no edit of a program changes: in the program as it was.

Steps of the optimiser leave what a program does as it is.  So what holds of all of its executions
is asked once, for all texts that steps make of it.
"""

from __future__ import annotations

from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.names.symbol import Symbol


def first_scopes(scopes: Scopes) -> Scopes:
    """The scopes of the program of which this one is an edited text, if it is one; else these."""
    while scopes.given is not None:
        scopes = scopes.given
    return scopes


def home_in_first(symbol: Symbol, scope: Scope) -> Scope:
    """The module of a variable in that program; ``scope``: this is no edited text, or the module
    does not declare the variable there."""
    first = first_scopes(scope.scopes)
    module = None if first is scope.scopes else first.module(symbol.owner)
    there = None if module is None else module.lookup(symbol.name)
    same = there is not None and there.identity == symbol.identity
    return module if module is not None and same else scope
