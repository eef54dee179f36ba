"""External functions that only their types declare, or nothing does, as in ``real :: timer`` with
``start = timer()``.

A name of a unit's own that has no dimensions and is referenced with a list of arguments is that of
an external function (F2018 19.5.1.4), whose name is the same in all units of a program.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from asphalt.analysis.inlining.codes import MEANING, RefusedError
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.scopes import Absence, Origin, Scope
from asphalt.analysis.names.type_equality import symbol_key
from asphalt.ir.expr import Ref, Section, walk
from asphalt.ir.stmt import Decl
from asphalt.ir.tree import Unit, leaves, once


def is_external_function(name: str, scope: Scope) -> bool:
    """Whether a name is that of such a function in a unit."""
    symbol = scope.lookup(name)
    if symbol is None or symbol.origin is not Origin.LOCAL or symbol.dims is not None:
        return False
    text = symbol.type is not None and symbol.type.base == "character"
    return (name, False) in _referenced(scope) or (not text and (name, True) in _referenced(scope))


def has_function(name: str, callee: Scope, caller: Scope, words: Container[str]) -> bool:
    """Whether the caller, which has these ``words``, declares an external function as the called
    procedure does; False: it can declare it.

    Raises:
        RefusedError: the name may be something else in the caller, or have another type there.
    """
    symbol, other = callee.lookup(name), caller.lookup(name)
    key = None if symbol is None else symbol_key(symbol, callee)
    if key is None:
        raise RefusedError(MEANING, f"the type of the function {name} is not known")
    if name not in words and caller.visible(name) is Absence.ABSENT:
        check_undeclared_externals(caller.located.chain)
        return False
    own = other is not None and is_external_function(name, caller)
    if own and other is not None and symbol_key(other, caller) == key:
        return True
    raise RefusedError(MEANING, f"the function {name} may be something else in the caller")


def check_undeclared_externals(chain: Iterable[Unit]) -> None:
    """Check that a unit, the last of its hosts, may reference external procedures without the
    EXTERNAL attribute."""
    for leaf in (leaf for unit in chain for node in unit.spec for leaf in leaves(node)):
        if isinstance(leaf.what, Decl) and "none(external)" in leaf.what.attrs:
            raise RefusedError(MEANING, "the caller declares all external procedures")


def _referenced(scope: Scope) -> frozenset[tuple[str, bool]]:
    """The names with a list of arguments, and whether this is one of a substring, if it is."""
    return once(scope.unit, _references)


def _references(unit: Unit) -> frozenset[tuple[str, bool]]:
    return frozenset(_all(unit))


def _all(unit: Unit) -> Iterator[tuple[str, bool]]:
    for leaf in leaves(replace(unit, contained=())):
        for what in actions(leaf.what):
            for expr in expressions_of(what):
                for part in walk(expr):
                    if isinstance(part, Ref) and part.args is not None:
                        yield part.name, any(isinstance(arg, Section) for arg in part.args)
