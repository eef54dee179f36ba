"""Whether the sizes that a user gives are those of variables of the program."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.names.designators import object_named
from asphalt.analysis.names.scopes import Scopes
from asphalt.analysis.names.symbol import Origin
from asphalt.config.errors import UsageError
from asphalt.config.sizes import Size
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.sizes import is_integer_scalar


def refuse_unknown(sizes: Iterable[Size], tree: Tree, scopes: Scopes) -> None:
    """Raise UsageError for the first size that is of no integer variable of the tree."""
    for size in sizes:
        why = _why_not(size, tree, scopes)
        if why is not None:
            raise UsageError(f"size {size}: {why}")


def _why_not(size: Size, tree: Tree, scopes: Scopes) -> str | None:
    """Why a size cannot be used, and what to do; None: it can."""
    root = size.name.split("%")[0]
    elsewhere: set[str] = set()
    found: str | None = None
    places = sorted(tree.positions(root))
    for place in places:
        scope = scopes.of(tree.unit_at(place))
        symbol = scope.lookup(root)
        if symbol is None or not (symbol.origin.is_variable or symbol.is_parameter):
            continue
        if size.owner not in (None, symbol.owner):
            elsewhere.add(symbol.owner)
            continue
        if symbol.origin is Origin.PARAMETER:
            found = f"{root} is a named constant, whose value is known; leave the size out"
            continue
        one = object_named(size.name, scope)
        if one is not None and is_integer_scalar(one.symbol):
            return None
        found = f"{size.name} is no integer scalar in {symbol.owner or 'the main program'}; "
        found += "name the variable that holds the extent or the count"
    if found is None and elsewhere:
        owners = " and ".join(sorted(owner or "the main program" for owner in elsewhere))
        return f"{size.owner} declares no variable {root}; it is declared in {owners}"
    if found is None and tree.mention_count(root) > len(places):
        return None  # it may be declared in text that is not analysed
    return found or f"no variable of the program has the name {root}; check the spelling"
