"""Whether a private name of a module may become public.

Inlined statements of a module procedure need the names of their module.  A name that is private
only by default (a PRIVATE statement without a list) may become public.  That changes nothing for
units that use the module with ONLY.  It changes nothing for others where none contains the name: a
name that is accessible and not referenced clashes with no other one (F2018 14.2.2).  All units are
known where there is a main program.
"""

from __future__ import annotations

from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.visibility import is_included
from asphalt.ir.insertion import takes_declarations
from asphalt.ir.stmt import Opaque, Raw, Use
from asphalt.ir.tree import leaves

_KEPT = frozenset({"private", "protected", "public", "bind"})


def may_become_public(name: str, module: Scope | None) -> bool:
    """Whether a module can make one of its own names public."""
    if module is None or module.unit.kind != "module" or len(module.located.chain) != 1:
        return False
    if not takes_declarations(module.unit):
        return False
    declared = module.declared
    if not declared.private_default or name in declared.private | declared.public:
        return False
    symbol = declared.symbols.get(name)
    if symbol is not None:
        structure = symbol.type is not None and symbol.type.base in ("type", "class")
        if structure or symbol.attrs & _KEPT or is_included(symbol, module):
            return False
    elif all(unit.name != name for unit in module.unit.contained):
        return False
    if not _used_as_a_whole(module):
        return True
    return bool(module.program.main_programs()) and not _is_named_elsewhere(name, module)


def _is_named_elsewhere(name: str, module: Scope) -> bool:
    """Whether a unit outside of a module, or a file that is not analysed, contains a name."""
    own = module.located
    return any(
        place.is_unread or place.path != own.path or place.chain[0].name != own.unit.name
        for place in module.program.mentions(name)
    )


def _used_as_a_whole(module: Scope) -> bool:
    """Whether a unit may use all names of a module, whatever they are."""
    for located in module.program.mentions(module.unit.name):
        unit = located.unit
        for node in (*unit.spec, *unit.body):
            for leaf in leaves(node):
                what = leaf.what
                if isinstance(what, Opaque | Raw):
                    return True
                if isinstance(what, Use) and what.module == module.unit.name and not what.only:
                    return True
    return False
