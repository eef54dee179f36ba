"""The names that a unit has from modules by its own USE statements (F2018 14.2.2).

Renames, ONLY lists and modules that make the names of others accessible are followed.  The names of
a module that is not among the given files are not known.
"""

from __future__ import annotations

from asphalt.analysis.names.scopes import Absence, Scope, Scopes
from asphalt.ir.stmt import Use


def used_names(scope: Scope) -> frozenset[str]:
    """All names that the USE statements of a unit itself make accessible from modules of the tree
    (folded), with the local names of renamed entities; not those of its host."""
    found: set[str] = set()
    for use in scope.declared.uses:
        found |= {item.local for item in use.items}
        if not use.only:
            found |= _given(use, scope.scopes) - {item.name for item in use.items}
    return frozenset(found)


def _given(use: Use, scopes: Scopes) -> frozenset[str]:
    """What a module makes accessible to a unit that uses all of it; each is asked once."""
    module = None if use.intrinsic else scopes.module(use.module)
    if module is None:
        return frozenset()
    known = scopes.once(_modules)
    if use.module not in known:
        known[use.module] = frozenset()  # no module uses itself, by others either (F2018 14.2.2)
        named = {*module.own, *used_names(module)}
        known[use.module] = frozenset(
            name for name in named if module.exported(name) is not Absence.ABSENT
        )
    return known[use.module]


def _modules(scopes: Scopes) -> dict[str, frozenset[str]]:
    """What the modules of a program that were asked make accessible."""
    return {}
