"""Ways of a reading of a clock that no assignment, argument or condition shows: procedures that are
called without their names, functions that only a reading decides to call, and files that are read
back."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.call_graph.defined_operations import (
    may_be_function,
    may_be_subroutine,
    may_finalize,
)
from asphalt.analysis.effects.clocks import reads_by_function
from asphalt.analysis.effects.error_handlers import binding_without_name
from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names import designators
from asphalt.analysis.names.references import actions
from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.ir.expr import (
    Arg,
    Component,
    Keyword,
    Lit,
    Op,
    Ref,
    Unstructured,
    root_name,
    walk,
)
from asphalt.ir.stmt import IO, Assign, What
from asphalt.ir.tree import leaves

_CONSOLE = (0, 6)
_CALLED = (NameKind.PROCEDURE, NameKind.UNKNOWN)


def calls_without_name(exprs: Iterable[Arg], scope: Scope) -> list[Arg]:
    """The parts of expressions that may be calls of other procedures than a reference to a function
    names: defined operations, and type-bound functions."""
    return [part for expr in exprs for part in walk(expr) if _is_unnamed(part, scope)]


def is_plain_assignment(assign: Assign, scope: Scope) -> bool:
    """Whether an assignment certainly calls no procedure."""
    return not may_be_subroutine(assign, scope) and not may_finalize(assign, scope)


def may_call(what: What | None, exprs: Iterable[Arg], scope: Scope) -> bool:
    """Whether a statement may call a procedure in its expressions, or by being an assignment."""
    if isinstance(what, Assign) and not is_plain_assignment(what, scope):
        return True
    return any(
        _is_unnamed(part, scope) or _is_named(part, scope) for expr in exprs for part in walk(expr)
    )


def _is_unnamed(part: Arg, scope: Scope) -> bool:
    match part:
        case Op():
            return may_be_function(part, scope)
        case Component():
            return designators.may_be_function(part, scope)
    return False


def _is_named(part: Arg, scope: Scope) -> bool:
    if isinstance(part, Ref) and part.args is not None:
        known = reads_by_function(part, scope)
        return not known and name_kind(part.name, True, scope) in _CALLED
    return isinstance(part, Unstructured)


def why_called_without_name(symbol: Symbol, scope: Scope) -> str | None:
    """Why a procedure may get a variable of a derived type from a statement that does not name this
    procedure: a final subroutine, or defined output."""
    if symbol.type is not None and symbol.type.base not in ("type", "class"):
        return None
    binding = binding_without_name(scope.program)
    return None if binding is None else f"{binding} defines what is called without its name"


def why_read_back(output: IO, scope: Scope) -> str | None:
    """Why the program may read what a statement writes, as a clause: from the same unit."""
    unit = _unit(output)
    symbol = scope.lookup(unit) if isinstance(unit, str) else None
    internal = symbol is not None and symbol.type is not None and symbol.type.base == "character"
    if unit is None or unit in _CONSOLE or internal:
        return None
    for located in scope.program.mentions("read"):
        for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
            for what in actions(leaf.what):
                if isinstance(what, IO) and what.kind == "read" and _unit(what) == unit:
                    return f"line {leaf.line} of {located.unit.name or 'main'} reads it back"
    return None


def _unit(what: IO) -> int | str | None:
    """The unit of a data transfer: its number, or the name of the variable; None: the console."""
    units = [arg.value for arg in what.writes if isinstance(arg, Keyword) and arg.name == "unit"]
    first = units[0] if units else next(iter(what.reads), None)
    if isinstance(first, Lit):
        return first.integer
    return root_name(first) if isinstance(first, Ref | Component) else None
