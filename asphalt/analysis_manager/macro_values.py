"""What macros stand for: in declarations, and by the options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.names.references import actions, expressions_of
from asphalt.ir.expr import (
    Arg,
    ArrayConstructor,
    ImpliedDo,
    Keyword,
    Lit,
    OpaqueExpr,
    Ref,
    names_in,
    walk,
)
from asphalt.ir.stmt import Decl, What
from asphalt.ir.tree import Node, Unit, leaves

_CONVERSIONS = frozenset(
    {
        "aint",
        "achar",
        "anint",
        "ceiling",
        "char",
        "cmplx",
        "floor",
        "int",
        "logical",
        "nint",
        "real",
    }
)


def gives_real_value(what: What) -> bool:
    """Whether a declaration is that of one real scalar with its value."""
    if not isinstance(what, Decl) or what.kind != "type" or what.type is None or what.groups:
        return False
    if what.type.base not in ("real", "double_precision") or what.dims or len(what.entities) != 1:
        return False
    return not what.entities[0].dims and what.entities[0].initial is not None


def gives_free_value(what: What, spec: Iterable[Node]) -> bool:
    """Whether a declaration of a specification part is that of one integer named constant, whose
    value names nothing but constants there with plain numbers: no datatype of MPI, say."""
    if not _gives_integer(what):
        return False
    assert isinstance(what, Decl)
    names = names_in(what.entities[0].initial or Lit("integer", "0"))
    plain = {
        one.name
        for other in (leaf.what for node in spec for leaf in leaves(node))
        if isinstance(other, Decl) and "parameter" in other.attrs
        for one in other.entities
        if one.initial is not None and not names_in(one.initial)
    }
    return names <= plain


def _gives_integer(what: What) -> bool:
    if not isinstance(what, Decl) or what.kind != "type" or what.type is None or what.groups:
        return False
    if what.type.base != "integer" or what.dims or len(what.entities) != 1:
        return False
    one = what.entities[0]
    return "parameter" in what.attrs and not one.dims and one.initial is not None


def kind_names(units: Iterable[Unit]) -> frozenset[str]:
    """The names of constants on which kinds and lengths of types depend in some units."""
    found: set[str] = set()
    values: dict[str, frozenset[str]] = {}
    for leaf in (leaf for unit in units for leaf in leaves(replace(unit, contained=()))):
        for what in actions(leaf.what):
            if isinstance(what, Decl):
                found.update(_in_types(what))
                values.update(_values_in(what))
            for expr in expressions_of(what):
                found.update(_in_kinds(expr))
    waiting = list(found)
    while waiting:
        more = values.get(waiting.pop(), frozenset()) - found
        found |= more
        waiting += more
    return frozenset(found)


def _in_types(what: Decl) -> Iterator[str]:
    spec = what.type
    parts = () if spec is None else (spec.kind, spec.length)
    for part in (*parts, *(one.length for one in what.entities)):
        yield from () if part is None else names_in(part)
    for one in what.entities:
        yield from () if one.initial is None else _in_kinds(one.initial)


def _values_in(what: Decl) -> Iterator[tuple[str, frozenset[str]]]:
    for one in what.entities:
        if one.initial is not None:
            yield one.name, names_in(one.initial)


def _in_kinds(expr: Arg) -> Iterator[str]:
    """The names behind literals, and those of further arguments: ``1.0_rp``, ``real(i, rp)``."""
    for part in walk(expr):
        match part:
            case Lit(text=text) if "_" in text:
                yield text.rpartition("_")[2].lower()
                yield text.partition("_")[0].lower()
            case Keyword(name="kind", value=value):
                yield from names_in(value)
            case Ref(name=name, args=(_, *others)) if name in _CONVERSIONS:
                for other in others:
                    yield from names_in(other)


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
        isinstance(part, OpaqueExpr | ArrayConstructor | ImpliedDo)
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
