"""COMMON blocks that one scoping unit sees under two lists of names.

A module or a host may declare a block, and a unit that uses the module, or is inside of the host,
may declare it again or rename its variables.  Two names that look like two variables are then one
(F2018 8.10.2.4).
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.names.intrinsic_modules import MPI_MODULES, is_intrinsic_module
from asphalt.analysis.names.scopes import Scope


def is_seen_twice(block: str, scope: Scope) -> bool:
    """Whether a unit, or one that it contains, sees two declarations of a block."""
    found = scope.common_views.get(block)
    if found is None:
        found = scope.common_views[block] = _is_seen_twice(block, scope)
    return found


def visible_scopes(scope: Scope) -> Iterator[Scope | None]:
    """A unit, its hosts and the modules that they use; None for those that are not in the tree."""
    yield from _visible(scope, set())


def blocks_seen_twice(scope: Scope) -> bool:
    """Whether a unit sees two declarations of any block, or a variable of one under another name,
    which EQUIVALENCE gives it: to units that declare the block only, it has one name."""
    found = scope.common_views.get(_ANY)
    if found is None:
        found = scope.common_views[_ANY] = _any_seen_twice(scope)
    return found


_ANY = "*"  # no name of a block


def _any_seen_twice(scope: Scope) -> bool:
    seen = [s for s in visible_scopes(scope) if s is not None and s.declared.commons]
    blocks = [block for one in seen for block in one.declared.commons]
    if len(blocks) != len(set(blocks)):
        return True
    members = (
        (one, name) for one in seen for each in one.declared.commons.values() for name in each
    )
    symbols = (one.lookup(name) for one, name in members)
    return any(symbol is None or symbol.equivalenced for symbol in symbols)


def _is_seen_twice(block: str, scope: Scope) -> bool:
    seen = [s for s in visible_scopes(scope) if s is not None and block in s.declared.commons]
    members = {name for one in seen for name in one.declared.commons[block]}
    if len(seen) > 1 or any(_renames(one, members) for one in visible_scopes(scope)):
        return True
    return any(
        block in inner.declared.commons
        for one in {id(s): s for s in (scope, *seen)}.values()
        for inner in _contained(one)
    )


def _renames(scope: Scope | None, names: set[str]) -> bool:
    """Whether a USE statement of a unit renames one of some names."""
    uses = () if scope is None else scope.declared.uses
    return any(i.local != i.name and i.name in names for use in uses for i in use.items)


def _contained(scope: Scope) -> Iterator[Scope]:
    """The units inside of one."""
    for unit in scope.unit.contained:
        located = scope.program.contained(scope.located, unit.name)
        if located is not None:
            inner = scope.scopes.of(located)
            yield inner
            yield from _contained(inner)


def _visible(scope: Scope, seen: set[int]) -> Iterator[Scope | None]:
    if id(scope) in seen:
        return
    seen.add(id(scope))
    yield scope
    if scope.host is not None:
        yield from _visible(scope.host, seen)
    for use in scope.declared.uses:
        if use.intrinsic or use.module in MPI_MODULES or is_intrinsic_module(use.module):
            continue
        module = scope.scopes.module(use.module)
        if module is None:
            yield None
        else:
            yield from _visible(module, seen)
