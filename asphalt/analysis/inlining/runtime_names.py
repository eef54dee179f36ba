"""Whether a unit uses names of asphalt's run-time modules for other entities.

Emitted statements use the names of these modules unchanged.  A unit that has such a name would no
longer compile, or would call something else.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.analysis.names.used_names import used_names
from asphalt.analysis.names.visibility import words_at
from asphalt.config.runtime import offering
from asphalt.ir.stmt import Use
from asphalt.ir.tree import leaves

PUBLIC = frozenset(offering()) | RUNTIME_MODULES
"""The public names of the modules, and those of the modules themselves."""


def clashing_name(scope: Scope) -> str | None:
    """Why a unit cannot use the run-time modules: the entity with one of their names, and its line.

    An internal procedure that mentions such a name would get it by host association.  A host may
    have the name if neither the unit nor its internal procedures mention it.
    """
    given = _given(scope)
    for leaf in leaves(replace(scope.unit, contained=())):
        for name in sorted(PUBLIC & words_at(leaf)):
            if name not in given and not _is_runtime(name, scope):
                return f"line {line_of(leaf)} has the name {name}, which asphalt needs"
    for name in sorted(PUBLIC & used_names(scope)):
        if isinstance(scope.resolve(name), Symbol) and not _is_runtime(name, scope):
            return f"a module that it uses has the name {name}, which asphalt needs"
    for inner in scope.unit.contained:
        located = scope.program.contained(scope.located, inner.name)
        found = None if located is None else clashing_name(scope.scopes.of(located))
        if found is not None:
            return found
    return None


def _given(scope: Scope) -> frozenset[str]:
    """The run-time modules that a unit or a host of it uses, and the names that they get there."""
    uses = [
        leaf.what
        for unit in scope.located.chain
        for node in unit.spec
        for leaf in leaves(node)
        if isinstance(leaf.what, Use) and leaf.what.module in RUNTIME_MODULES
    ]
    names = {item.name for use in uses for item in use.items if item.local == item.name}
    return frozenset({*names, *(use.module for use in uses)})


def _is_runtime(name: str, scope: Scope) -> bool:
    found = scope.resolve(name)
    return isinstance(found, Symbol) and found.owner in RUNTIME_MODULES
