"""The calls of a program that may be of MPI.

Names that begin with MPI_ are MPI's (MPI-4.0 section 2.6.2).  Programs have procedures of their own
with such names all the same: a call of ``mpi_setup``, which the standard does not have, is that of
the procedure which the program defines.
"""

from __future__ import annotations

from asphalt.analysis.mpi.call import is_users_own
from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis.names.resolve import may_be_unseen, procedure_named
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.names.symbol import Origin
from asphalt.ir.expr import Ref
from asphalt.ir.program import MpiMention


def mpi_mentions(scopes: Scopes) -> tuple[MpiMention, ...]:
    """The calls of MPI procedures in a program, live or not, and of what may be one."""
    return scopes.once(_mentions)


def unknown_operation(scopes: Scopes) -> str | None:
    """The name of a procedure of MPI that the program may call and that is not known; None: there
    is none."""
    names = (mention.operation for mention in mpi_mentions(scopes))
    return next((name for name in names if procedure(name) is None), None)


def _mentions(scopes: Scopes) -> tuple[MpiMention, ...]:
    calls = scopes.program.mpi_calls()
    others = dict.fromkeys(one.operation for one in calls if procedure(one.operation) is None)
    own = {
        name for name in others if _is_own(name, [c for c in calls if c.operation == name], scopes)
    }
    return tuple(one for one in calls if one.operation not in own)


def _is_own(name: str, calls: list[MpiMention], scopes: Scopes) -> bool:
    """Whether all that a program calls by a name is a procedure of its own."""
    program = scopes.program
    if program.mentions(f"p{name}"):
        return False
    units = program.mentions(name)
    if not units:
        return all(call.defined for call in calls)
    return all(not unit.is_unread and _means_own(name, scopes.of(unit)) for unit in units)


def _means_own(name: str, scope: Scope) -> bool:
    """Whether a name means a procedure of the program in a unit."""
    symbol = scope.lookup(name)
    if symbol is not None and symbol.origin is Origin.MPI:
        return is_users_own(name, scope.program) and not _may_be_of_unseen_module(name, scope)
    return procedure_named(Ref(name, name), scope) is not None


def _may_be_of_unseen_module(name: str, scope: Scope | None) -> bool:
    """Whether a module that is not in the tree may give a unit, or a host of it, a name."""
    return scope is not None and (
        may_be_unseen(name, scope) or _may_be_of_unseen_module(name, scope.host)
    )
