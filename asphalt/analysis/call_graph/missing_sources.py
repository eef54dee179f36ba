"""Why a procedure or a module is unknown, so that the user can supply its source."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.declarations import parent_of
from asphalt.analysis.names.intrinsic_modules import MPI_MODULES, is_intrinsic_module
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.resolve import gives
from asphalt.analysis.names.scopes import Origin, Scope, Scopes
from asphalt.analysis.verdicts.verdict import Cause
from asphalt.ir.expr import Op, names_in, walk
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf

_KNOWN = (Origin.DUMMY, Origin.INTRINSIC, Origin.MPI)
_NAMED = 2  # files that a message names


@record
class MissingSource:
    """Why something is unknown, as a clause.

    ``cause``: what it says about a module, by its folded name, or a procedure whose source is
    missing; None: no source is.
    """

    why: str
    cause: Cause | None = None


def why_unknown(name: str, scope: Scope) -> MissingSource | None:
    """Why a procedure, by its name in a unit, is unknown; None: there is no single reason."""
    module = unknown_module(name, scope)
    if module is not None:
        return module
    symbol = scope.lookup(name)
    if symbol is not None and (symbol.origin in _KNOWN or symbol.attrs & {"pointer", "generic"}):
        return None
    files = scope.program.defined_in("external", name)
    if len(files) == 1:
        return None
    cause = Cause(_missing(f"the source of {name}" if not files else name, files))
    return MissingSource(_missing("its source" if not files else name, files), cause)


def why_type_unknown(leaf: Leaf, scope: Scope) -> MissingSource | None:
    """Why an operand of a statement has an unknown type, so that a procedure may define an
    operation with it; None: there is no single reason."""
    for expr in (expr for what in actions(leaf.what) for expr in expressions_of(what)):
        for op in (part for part in walk(expr) if isinstance(part, Op)):
            for name in (name for operand in op.operands for name in names_in(operand)):
                found = unknown_module(name, scope) if scope.lookup(name) is None else None
                if found is not None:
                    why = f"the type of {name} is not known: {found.why}"
                    return MissingSource(why, found.cause)
    return None


def unknown_module(name: str, scope: Scope) -> MissingSource | None:
    """The first unknown module that may provide a name."""
    here: Scope | None = scope
    while here is not None:
        for use in here.declared.uses:
            if use.intrinsic or scope.scopes.module(use.module) is not None:
                continue
            files = scope.program.defined_in("module", use.module)
            if gives(use, name) and not _is_built_in(use.module):
                why = why_missing(use.module, files, scope)
                return MissingSource(why, Cause(why, None if files else use.module))
        if here.lacks_host:
            return _missing_parent(here)
        here = here.host
    return None


def _missing_parent(submodule: Scope) -> MissingSource | None:
    """Why the parent of a submodule is not known."""
    parent = parent_of(submodule.unit)
    assert parent is not None
    files = submodule.program.defined_in("module", parent[0])
    if len(files) != 1:
        why = why_missing(parent[0], files, submodule)
        return MissingSource(why, Cause(why, None if files else parent[0]))
    why = (
        f"of the ancestors of submodule {submodule.unit.name}, not each is once in the given files"
    )
    return MissingSource(why, Cause(why))


def ambiguous_modules(scope: Scope) -> Iterator[tuple[str, str]]:
    """The modules that a unit or its hosts use and that have more than one definition, each with
    why.

    asphalt treats such a module as unknown.
    """
    here: Scope | None = scope
    while here is not None:
        for use in here.declared.uses:
            files = () if use.intrinsic else scope.program.defined_in("module", use.module)
            if len(files) > 1:
                yield use.module, _missing(f"module {use.module}", files)
        here = here.host


def _is_built_in(module: str) -> bool:
    return module in MPI_MODULES | RUNTIME_MODULES or is_intrinsic_module(module)


def why_missing(module: str, files: tuple[str, ...], scope: Scope) -> str:
    """Why a module is not known, as a clause; ``files``: those that define it."""
    known = scope.scopes.once(_unread_modules)
    if not files and module not in known:
        known[module] = scope.program.unread_module(module)
    unread = None if files else known[module]
    if unread is not None:
        return f"the file of module {module} cannot be read: {unread}"
    return _missing(f"module {module}", files)


def _unread_modules(scopes: Scopes) -> dict[str, str | None]:
    return {}  # as they are asked for


def _missing(what: str, files: tuple[str, ...]) -> str:
    if not files:
        return f"{what} is not among the given files"
    more = len(files) - _NAMED
    listed = ", ".join(files[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{what} is defined {len(files)} times, in {listed}"
