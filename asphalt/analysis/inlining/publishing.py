"""Whether a module may show a name that it keeps to itself.

Statements of a module's procedure that are to stand elsewhere need what they name.  A name that is
private only because all are, unless others are listed, may be listed, too: that changes nothing for
anybody who says which names of the module it uses.
"""

from __future__ import annotations

from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.visibility import is_included
from asphalt.ir.insertion import takes_declarations
from asphalt.ir.stmt import Opaque, Raw, Use
from asphalt.ir.tree import leaves

_KEPT = frozenset({"private", "protected", "public", "bind"})


def may_show(name: str, module: Scope | None, caller: Scope) -> bool:
    """Whether a module of the caller's file can list one of its own names as public."""
    if module is None or module.unit.kind != "module" or len(module.located.chain) != 1:
        return False
    if module.located.path != caller.located.path or not takes_declarations(module.unit):
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
    return not _used_as_a_whole(module)


def _used_as_a_whole(module: Scope) -> bool:
    """Whether anybody may use all names of a module, whatever they are."""
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
