"""Finds which integers are MPI handles, numbers of ranks, or ranks, by their uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum

from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.library_effects import HANDLES
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.expr import Component, Expr, Ref, names_in
from asphalt.ir.program import Located
from asphalt.ir.stmt import Allocation, Call, UnitHead
from asphalt.ir.tree import leaves

_HANDLES = HANDLES | {"REQUEST", "MESSAGE"}
_DEEP = 6  # levels of calls that are followed


class MpiRole(Enum):
    """The meaning of a value for MPI."""

    COMMUNICATOR = "communicator"
    RANKS = "ranks"
    RANK = "rank"


_ASKED = {"mpi_comm_size": ("size", MpiRole.RANKS), "mpi_comm_rank": ("rank", MpiRole.RANK)}


def roles(tree: Tree, scopes: Scopes, scope: Scope) -> dict[str, MpiRole]:
    """The roles of a procedure's dummy arguments.

    Communicators by the procedures they are passed to; numbers of ranks and ranks by the actual
    arguments of callers.
    """
    dummies = _dummies(scope)
    found = dict.fromkeys(_communicators(scope, scopes, _DEEP), MpiRole.COMMUNICATOR)
    for role in (MpiRole.RANKS, MpiRole.RANK):
        for name in dummies:
            if name not in found and _is_passed(tree, scopes, scope, name, role, _DEEP):
                found[name] = role
    return found


def handle_storages(tree: Tree, scopes: Scopes, files: Collection[str]) -> frozenset[str]:
    """The variables (``module::name``) that the files pass to MPI as handles.

    The number of a handle does not identify its object: two communicators that are made in the same
    way have different numbers.
    """
    found: set[str] = set()
    for path in sorted(files):
        for located in tree.units_of(path):
            scope = scopes.of(located)
            for call in _calls(scope):
                operation = mpi_call(call, scope)
                for parameter, actual in () if operation is None else operation.bound():
                    name = _variable(actual) if parameter.kind in _HANDLES else None
                    if name is not None:
                        found.add(storage_of(name, scope))
    return frozenset(found - {ALIASED})


def size_names(scope: Scope) -> frozenset[str]:
    """The dummy arguments in array bounds: of dummy arguments, local arrays, in ALLOCATE."""
    found: set[str] = set()
    for symbol in scope.declared.symbols.values():
        for dim in symbol.dims or ():
            for bound in (dim.lower, dim.upper):
                found |= names_in(bound) if bound is not None else set()
    for node in scope.unit.body:
        for leaf in leaves(node):
            if isinstance(leaf.what, Allocation):
                for item in leaf.what.objects:
                    found |= names_in(item)
    return frozenset(found.intersection(_dummies(scope)))


def _dummies(scope: Scope) -> tuple[str, ...]:
    head = scope.unit.head
    return head.what.args if head is not None and isinstance(head.what, UnitHead) else ()


def _calls(scope: Scope) -> Iterator[Call]:
    for node in scope.unit.body:
        for leaf in leaves(node):
            what = leaf.action
            if isinstance(what, Call):
                yield what


def _variable(expr: Expr | None) -> str | None:
    """The name of the variable, if an expression is one."""
    if isinstance(expr, Component) and expr.name == "mpi_val":
        expr = expr.base
    return expr.name if isinstance(expr, Ref) and expr.args is None else None


def _communicators(scope: Scope, scopes: Scopes, depth: int) -> set[str]:
    found: set[str] = set()
    if depth == 0:
        return found
    for call in _calls(scope):
        operation = mpi_call(call, scope)
        if operation is not None:
            passed = {
                _variable(actual)
                for parameter, actual in operation.bound()
                if parameter.kind == "COMMUNICATOR"
            }
            found |= {name for name in passed if name in _dummies(scope)}
            continue
        located = procedure_named(call.procedure, scope)
        actuals = {} if located is None else _actuals(call, located, scopes)
        if located is not None and not set(map(_variable, actuals.values())).isdisjoint(
            _dummies(scope)
        ):
            inner = _communicators(scopes.of(located), scopes, depth - 1)
            found |= {name for dummy in inner if (name := _variable(actuals.get(dummy)))}
    return found & set(_dummies(scope))


def _actuals(call: Call, located: Located, scopes: Scopes) -> dict[str, Expr]:
    head = located.unit.head
    if head is None or not isinstance(head.what, UnitHead):
        return {}
    return dict(bind(call.args, head.what.args) or {})


def _is_passed(
    tree: Tree, scopes: Scopes, scope: Scope, name: str, role: MpiRole, depth: int
) -> bool:
    """Whether there are callers, and all pass a value of this role."""
    if depth == 0 or name not in _dummies(scope):
        return False
    given: list[bool] = []
    for located in tree.mentions(scope.unit.name):
        caller = scopes.of(located)
        for call in _calls(caller):
            meant = procedure_named(call.procedure, caller)
            if meant is None or meant.chain[-1] is not scope.unit:
                continue
            variable = _variable(_actuals(call, meant, scopes).get(name))
            given.append(
                variable is not None
                and (
                    _asked(caller, variable, role)
                    or _is_passed(tree, scopes, caller, variable, role, depth - 1)
                )
            )
    return bool(given) and all(given)


def _asked(scope: Scope, variable: str, role: MpiRole) -> bool:
    """Whether MPI_Comm_size or MPI_Comm_rank defines a variable in a unit."""
    for call in _calls(scope):
        operation = mpi_call(call, scope)
        if operation is None or operation.operation not in _ASKED:
            continue
        parameter, given = _ASKED[operation.operation]
        if given is role and _variable(operation.args.get(parameter)) == variable:
            return True
    return False
