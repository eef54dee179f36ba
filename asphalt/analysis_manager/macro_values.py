"""What macros stand for: in declarations, and by the options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asphalt.ir.expr import Arg, Lit, OpaqueExpr, Ref, walk
from asphalt.ir.stmt import Decl, What


def gives_real_value(what: What) -> bool:
    """Whether a declaration is that of one real scalar with its value."""
    if not isinstance(what, Decl) or what.kind != "type" or what.type is None or what.groups:
        return False
    if what.type.base not in ("real", "double_precision") or what.dims or len(what.entities) != 1:
        return False
    return not what.entities[0].dims and what.entities[0].initial is not None


def declares_plainly(what: What) -> bool:
    """Whether a declaration has no expressions but integer ones: bounds, kinds and lengths, and the
    values of integer constants."""
    if not isinstance(what, Decl) or what.type is None or what.kind != "type" or what.groups:
        return False
    dims = (*(what.dims or ()), *(dim for one in what.entities for dim in one.dims or ()))
    found: tuple[Arg | None, ...] = (
        what.type.kind,
        what.type.length,
        *(one.length for one in what.entities),
        *(bound for dim in dims for bound in (dim.lower, dim.upper)),
        *(one.initial for one in what.entities),
    )
    constants = what.type.base == "integer" and "parameter" in what.attrs
    if not constants and any(one.initial is not None for one in what.entities):
        return False
    return not any(
        isinstance(part, OpaqueExpr)
        or (isinstance(part, Ref) and part.args is not None)
        or (isinstance(part, Lit) and part.kind == "real")
        for expr in found
        if expr is not None
        for part in walk(expr)
    )


def given_macros(defines: Iterable[str]) -> Mapping[str, str]:
    """What the options define, by name."""
    found: dict[str, str] = {}
    for define in defines:
        name, equals, value = define.partition("=")
        found[name.partition("(")[0]] = value if equals else "1"
    return found
