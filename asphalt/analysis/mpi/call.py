"""A CALL statement as an MPI operation, whichever Fortran binding it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from asphalt.analysis.mpi.datatypes import PredefinedType as PredefinedType
from asphalt.analysis.mpi.datatypes import mpi_constant as mpi_constant
from asphalt.analysis.mpi.datatypes import predefined_type as predefined_type
from asphalt.analysis.mpi.procedures import MpiProcedure, Parameter, procedure, procedures_with
from asphalt.analysis.mpi.runtime_module import (
    QUEUE,
    RUNTIME_CALLS,
    RUNTIME_FUNCTIONS,
    RUNTIME_MODULES,
    RuntimeCall,
)
from asphalt.analysis.mpi.standard.row import INITIALIZES
from asphalt.analysis.names.scopes import Absence, Scope
from asphalt.analysis.names.symbol import Origin, Symbol
from asphalt.ir.expr import AltReturn, Arg, Expr, Keyword, Ref, Section
from asphalt.ir.program import Program
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Use
from asphalt.ir.tree import Leaf, leaves


@record
class MpiCall:
    """A call of an MPI procedure.

    ``args`` are the actual arguments by the standard's folded dummy names, with the error code.
    ``error``: the variable for the error code, if there is one.  ``binding``: ``mpif.h`` (also if
    no interface is visible), ``mpi``, ``mpi_f08``, ``runtime`` for a call of asphalt's own module,
    or ``unknown`` if the name comes from a module or an include file that is not in the tree.
    ``profiled``: called by its ``pmpi_`` name.  ``queue``: a variable of the runtime that
    holds messages in progress; the call changes it.
    """

    operation: str
    args: Mapping[str, Expr] = field(hash=False)
    binding: str
    error: Expr | None
    procedure: MpiProcedure = field(repr=False)
    profiled: bool = False
    queue: Expr | None = field(default=None, hash=False)

    def bound(self) -> Iterator[tuple[Parameter, Expr]]:
        """The dummy arguments that have an actual argument, with it, in the standard's order."""
        for parameter in self.procedure.parameters:
            if parameter.name in self.args:
                yield parameter, self.args[parameter.name]

    def defined(self, scope: Scope) -> tuple[Expr, ...]:
        """The actual arguments that the call may modify (named constants of MPI excluded)."""
        given = tuple(
            actual
            for parameter, actual in self.bound()
            if parameter.defined and mpi_constant(actual, scope) is None
        )
        return given if self.queue is None else (*given, self.queue)

    def used(self, scope: Scope) -> tuple[Expr, ...]:
        """The actual arguments that the call may read (named constants of MPI excluded).

        With MPI_IN_PLACE the library reads the buffer that it would only write otherwise.
        """
        in_place = self.in_place(scope)
        given = tuple(
            actual
            for parameter, actual in self.bound()
            if (parameter.used or (in_place and parameter.kind == "BUFFER"))
            and mpi_constant(actual, scope) is None
        )
        return given if self.queue is None else (*given, self.queue)

    def in_place(self, scope: Scope) -> bool:
        """Whether a buffer is MPI_IN_PLACE."""
        return self._has_buffer("mpi_in_place", scope)

    def anywhere(self, scope: Scope) -> bool:
        """Whether a buffer is MPI_BOTTOM: any variable may be read or written."""
        return self._has_buffer("mpi_bottom", scope)

    def _has_buffer(self, constant: str, scope: Scope) -> bool:
        return any(
            parameter.kind == "BUFFER" and mpi_constant(actual, scope) == constant
            for parameter, actual in self.bound()
        )


def mpi_call(call: Call, scope: Scope) -> MpiCall | None:
    """The MPI operation of a CALL statement; None: it has none, or none that is known.

    A procedure of the tree is not an MPI procedure whatever its name, unless the tree holds an MPI
    library.  Nor is a call whose arguments do not fit.
    """
    known = scope.operations.get(id(call))
    if known is None:
        known = scope.operations[id(call)] = call, _mpi_call(call, scope)
    found = known[1]
    assert found is None or isinstance(found, MpiCall)
    return found


def _mpi_call(call: Call, scope: Scope) -> MpiCall | None:
    if not isinstance(call.procedure, Ref):
        return None
    own = RUNTIME_CALLS.get(call.procedure.name)
    if own is not None and _is_of_runtime(call.procedure.name, scope):
        return _runtime_call(call, own)
    found = _resolved(call.procedure.name, scope)
    if found is None:
        return None
    name, binding = found
    target = procedure(name)
    if target is None or target.function:
        return None
    args = _bind(target, call.args)
    if args is None:
        return None
    return MpiCall(target.name, args, binding, args.get("ierror"), target, name.startswith("pmpi_"))


def overfull(call: Call, scope: Scope) -> MpiProcedure | None:
    """The MPI procedure to which a CALL statement passes more arguments than it has, one after the
    other; None: it does not, or its interface is there, so that compilers refuse it."""
    found = _resolved(call.procedure.name, scope) if isinstance(call.procedure, Ref) else None
    if found is None or found[1] == "mpi_f08":
        return None
    target = procedure(found[0])
    if target is None or target.function or len(call.args) <= len(target.parameters):
        return None
    named = any(isinstance(arg, Section | AltReturn | Keyword) for arg in call.args)
    return None if named else target


def mpi_call_in(leaf: Leaf, scope: Scope) -> MpiCall | None:
    """The MPI operation that a statement, or the action of a one-line IF, is (``mpi_call``)."""
    call = leaf.call
    return None if call is None else mpi_call(call, scope)


def runtime_call(call: Call) -> MpiCall | None:
    """The operation of a call that asphalt would write, in a scope without its module."""
    own = RUNTIME_CALLS.get(call.procedure.name) if isinstance(call.procedure, Ref) else None
    return None if own is None else _runtime_call(call, own)


def _is_of_runtime(name: str, scope: Scope) -> bool:
    """Whether a name is that of a procedure of asphalt's run-time modules."""
    if name in scope.shadowed:
        return False
    match scope.resolve(name):
        case Absence.UNKNOWN:  # the module is not in the tree
            return any(
                isinstance(leaf.what, Use) and leaf.what.module in RUNTIME_MODULES
                for node in scope.unit.spec
                for leaf in leaves(node)
            )
        case Symbol(origin=Origin.PROCEDURE, owner=owner):
            return owner in RUNTIME_MODULES
    return False


def _runtime_call(call: Call, own: RuntimeCall) -> MpiCall | None:
    target = procedure(own.operation)
    if target is None or len(call.args) > len(own.dummies):
        return None
    args: dict[str, Expr] = {}
    for name, actual in zip(own.dummies, call.args, strict=False):
        if isinstance(actual, Section | AltReturn | Keyword):
            return None
        if name:
            args[name] = actual
    queue = args.pop(QUEUE, None)
    return MpiCall(target.name, args, "runtime", None, target, queue=queue)


def is_runtime_function(name: str, scope: Scope) -> bool:
    """Whether a name is that of a function of asphalt's run-time module (all are pure)."""
    return name in RUNTIME_FUNCTIONS and _is_of_runtime(name, scope)


def mpi_function(ref: Ref, scope: Scope) -> str | None:
    """The folded name of the MPI function (MPI_Wtime ...) that ``ref`` calls."""
    found = _resolved(ref.name, scope)
    target = procedure(found[0]) if found is not None else None
    return target.name if target is not None and target.function else None


def _resolved(name: str, scope: Scope) -> tuple[str, str] | None:
    """The MPI name and the binding by which a procedure name is called."""
    if name in scope.shadowed:
        return None
    match scope.resolve(name):
        case Symbol(origin=Origin.MPI, name=original, owner="mpi_f08"):
            return original, "mpi_f08"
        case Symbol(origin=Origin.MPI, name=original, owner=owner):
            return _external(original, scope, owner)
        case Symbol(origin=Origin.PROCEDURE, attrs=attrs) if "generic" in attrs:
            return None
        case Symbol(origin=Origin.PROCEDURE, attrs=attrs) if "external" in attrs:
            return _external(name, scope)
        case Symbol(origin=Origin.LOCAL, attrs=attrs, dims=None) if "save" not in attrs:
            return _external(name, scope)  # `double precision mpi_wtime`
        case Absence.ABSENT:
            return _external(name, scope)
        case Absence.UNKNOWN:
            # Names that begin with MPI_ are reserved (MPI-4.0 section 2.6.2): what it comes from
            # gives it on from an MPI module or mpif.h, but which is not known.
            return _external(name, scope, "unknown")
        case _:
            return None


def _external(name: str, scope: Scope, binding: str = "mpif.h") -> tuple[str, str] | None:
    if not name.startswith(("mpi_", "pmpi_")):
        return None
    seen = scope.scopes.own_procedures
    if name not in seen:
        seen[name] = is_users_own(name, scope.program)
    return None if seen[name] else (name, binding)


def is_users_own(name: str, program: Program) -> bool:
    """Whether the tree defines the external procedure between the caller and MPI.

    A tree may hold a replacement of the whole MPI library for one process; its callers are
    otherwise linked with the real one.
    """
    own = program.external(name)
    if own is None:
        return False
    calls = (leaf.what for node in own.unit.body for leaf in leaves(node))
    wraps = any(
        isinstance(what, Call)
        and isinstance(what.procedure, Ref)
        and what.procedure.name.startswith("pmpi_")
        for what in calls
    )
    return wraps or all(program.external(name) is None for name in procedures_with(INITIALIZES))


def _bind(target: MpiProcedure, given: tuple[Arg, ...]) -> dict[str, Expr] | None:
    """The actual arguments by dummy name; None: they do not fit the procedure."""
    args: dict[str, Expr] = {}
    for position, arg in enumerate(given):
        if isinstance(arg, Section | AltReturn):
            return None
        if isinstance(arg, Keyword):
            name, actual = arg.name, arg.value
        elif position < len(target.parameters) and len(args) == position:
            name, actual = target.parameters[position].name, arg
        else:
            return None
        if target.parameter(name) is None or name in args:
            return None
        args[name] = actual
    missing = [p for p in target.parameters if p.name not in args and not p.optional]
    return None if missing else args
