"""External functions that only their types declare, or nothing does, as in ``real :: timer`` with
``start = timer()``.

A name of a unit's own that has no dimensions and is referenced with a list of arguments is that of
an external function (F2018 19.5.1.4), whose name is the same in all units of a program.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from enum import Enum, auto

from asphalt.analysis.inlining.codes import MEANING, RefusedError
from asphalt.analysis.names.intrinsics import may_be_intrinsic
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.scopes import Absence, Origin, Scope
from asphalt.analysis.names.type_equality import symbol_key
from asphalt.analysis.names.visibility import has_interface
from asphalt.ir.expr import Ref, Section, walk
from asphalt.ir.stmt import Decl
from asphalt.ir.tree import Unit, leaves, once


def is_external_function(name: str, scope: Scope) -> bool:
    """Whether a name is that of such a function in a unit, or of one with the EXTERNAL attribute
    and a type."""
    symbol = scope.lookup(name)
    if symbol is None or symbol.dims is not None or symbol.type is None:
        return False
    uses = _uses(name, scope)
    if symbol.origin is Origin.PROCEDURE:
        plain = not symbol.attrs & {"generic", "pointer"} and not has_interface(name, scope)
        return plain and "external" in symbol.attrs and _Use.FUNCTION in uses
    text = symbol.type.base == "character"
    found = _Use.FUNCTION in uses or (not text and _Use.SUBSTRING in uses)
    return found and symbol.origin is Origin.LOCAL


def has_function(name: str, callee: Scope, caller: Scope, words: Container[str]) -> bool:
    """Whether the caller, which has these ``words``, declares an external function as the called
    procedure does; False: it can declare it.

    Raises:
        RefusedError: the name may be something else in the caller, or have another type there.
    """
    symbol, other = callee.lookup(name), caller.lookup(name)
    key = None if symbol is None else symbol_key(symbol, callee)
    if symbol is None or key is None:
        raise RefusedError(MEANING, f"the type of the function {name} is not known")
    passed = _Use.NAME in _uses(name, callee)  # as an argument, which takes EXTERNAL
    if name not in words and caller.visible(name) is Absence.ABSENT:
        check_undeclared_externals(caller.located.chain)
        if not passed and not may_be_intrinsic(name):
            return False
    elif other is not None and is_external_function(name, caller):
        alike = ("external" in symbol.attrs) is ("external" in other.attrs)
        same = alike or not (passed or may_be_intrinsic(name))
        if same and symbol_key(other, caller) == key:
            return True
    raise RefusedError(MEANING, f"the function {name} may be something else in the caller")


def check_undeclared_externals(chain: Iterable[Unit]) -> None:
    """Check that a unit, the last of its hosts, may reference external procedures without the
    EXTERNAL attribute."""
    for leaf in (leaf for unit in chain for node in unit.spec for leaf in leaves(node)):
        if isinstance(leaf.what, Decl) and "none(external)" in leaf.what.attrs:
            raise RefusedError(MEANING, "the caller declares all external procedures")


class _Use(Enum):
    """How a name is used: with a list of arguments, with one of a substring, or alone."""

    FUNCTION = auto()
    SUBSTRING = auto()
    NAME = auto()


def _uses(name: str, scope: Scope) -> frozenset[_Use]:
    return once(scope.unit, _all_uses).get(name, frozenset())


def _all_uses(unit: Unit) -> Mapping[str, frozenset[_Use]]:
    found: dict[str, set[_Use]] = {}
    for leaf in leaves(replace(unit, contained=())):
        for what in actions(leaf.what):
            for expr in expressions_of(what):
                for part in walk(expr):
                    if isinstance(part, Ref):
                        found.setdefault(part.name, set()).add(_use(part))
    return {name: frozenset(uses) for name, uses in found.items()}


def _use(ref: Ref) -> _Use:
    if ref.args is None:
        return _Use.NAME
    parts = any(isinstance(arg, Section) for arg in ref.args)
    return _Use.SUBSTRING if parts else _Use.FUNCTION
