"""Receives with any source or any tag.

The constants of MPI for wildcards are negative in every library in use (MPI-4.0 section 3.2.4
leaves the values open), and no rank or tag is: a program may also write the number.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.messages.named_anywhere import is_named
from asphalt.analysis.mpi.call import MpiCall, mpi_call_in, mpi_constant
from asphalt.analysis.mpi.library_effects import Store, library_row, receives
from asphalt.analysis.mpi.procedures import table
from asphalt.analysis.mpi.runtime_module import RUNTIME_CALLS
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.ir.expr import Expr
from asphalt.ir.program import Program
from asphalt.ir.tree import leaves

_NONE = frozenset({"mpi_proc_null"})
_SOURCE, _TAG = 0, 1


def is_wildcard(expr: Expr, scope: Scope) -> bool:
    """Whether a source or tag is a constant that no rank and no tag has; ``scope``: with the values
    of named constants."""
    named = mpi_constant(expr, scope)
    if named is not None:
        return named not in _NONE
    value = constant(expr, scope)
    return value is not None and value < 0


def takes_any_source(program: Program) -> bool:
    """Whether a receive of the program may take a message from any source."""
    return is_named(program, "mpi_any_source") or _by_number(program, _SOURCE)


def takes_any_tag(program: Program) -> bool:
    """Whether a receive of the program may take a message with any tag."""
    return is_named(program, "mpi_any_tag") or _by_number(program, _TAG)


def takes_any_source_by_number(scope: Scope) -> bool:
    """Whether a receive of a unit has a number as its source that stands for any; ``scope``: with
    the values of named constants."""
    return any(is_wildcard(given[_SOURCE], scope) for given in _received_in(scope))


def takes_any_tag_by_number(scope: Scope) -> bool:
    """The same for tags."""
    return any(is_wildcard(given[_TAG], scope) for given in _received_in(scope))


def _by_number(program: Program, which: int) -> bool:
    return any(
        given is None or is_wildcard(given[which], scope) for given, scope in _received(program)
    )


def _received(program: Program) -> Iterator[tuple[tuple[Expr, Expr] | None, Scope]]:
    """Source and tag of all receives and probes, with their scopes; None: text that is not
    analysed may receive."""
    called = {mention.operation for mention in program.mpi_calls()}
    names = {name: operation for operation in called for name in (operation, f"p{operation}")}
    names |= {name: own.operation for name, own in RUNTIME_CALLS.items()}
    scopes = Scopes(program)
    for name, operation in sorted(names.items()):
        procedure = table().get(operation)
        if procedure is None or not receives(procedure):
            continue
        for located in program.mentions(name):
            scope = scopes.of(located)
            if located.is_unread:
                yield None, scope
            for given in _received_in(scope):
                yield given, scope


def _received_in(scope: Scope) -> Iterator[tuple[Expr, Expr]]:
    """Source and tag of the receives and probes of a unit."""
    for leaf in (leaf for node in scope.unit.body for leaf in leaves(node)):
        call = mpi_call_in(leaf, scope)
        yield from () if call is None else _given(call)


def _given(call: MpiCall) -> Iterator[tuple[Expr, Expr]]:
    for access in library_row(call.procedure).accesses:
        if access.store is Store.INCOMING:
            source, tag, _ = (call.args.get(name or "") for name in access.subscripts)
            if source is not None and tag is not None:
                yield source, tag
