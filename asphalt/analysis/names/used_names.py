"""The names that a unit has from modules by its own USE statements (F2018 14.2.2).

Renames, ONLY lists and modules that make the names of others accessible are followed.  The names of
a module that is not among the given files are not known.
"""

from __future__ import annotations

from asphalt.analysis.names.scopes import Absence, Scope
from asphalt.ir.stmt import Use


def used_names(scope: Scope) -> frozenset[str]:
    """All names that the USE statements of a unit itself make accessible from modules of the tree
    (folded), with the local names of renamed entities; not those of its host."""
    return _used(scope, frozenset())


def _used(scope: Scope, visiting: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for use in scope.declared.uses:
        found |= {item.local for item in use.items}
        if not use.only:
            found |= _given(use, scope, visiting) - {item.name for item in use.items}
    return frozenset(found)


def _given(use: Use, scope: Scope, visiting: frozenset[str]) -> frozenset[str]:
    """What a module makes accessible to a unit that uses all of it."""
    module = None if use.intrinsic else scope.scopes.module(use.module)
    if module is None or use.module in visiting:
        return frozenset()
    named = {*module.own, *_used(module, visiting | {use.module})}
    return frozenset(n for n in named if module.exported(n) is not Absence.ABSENT)
