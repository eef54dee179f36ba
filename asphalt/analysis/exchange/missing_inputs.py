"""Missing inputs of a unit: declarations of MPI constants, and modules that are not given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.call_graph.missing_sources import unknown_module, why_missing
from asphalt.analysis.data_flow.default_integers import is_default_integer
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.designators import spelled_designator
from asphalt.analysis.names.intrinsic_modules import MPI_MODULES, is_intrinsic_module
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.type_equality import expression_key
from asphalt.analysis.verdicts.verdict import Cause, Mark
from asphalt.ir.expr import Component, Expr, Ref, names_in, root_name, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import Include, Use
from asphalt.ir.tree import Leaf, Unit, leaves


@record
class NotGiven:
    """A missing input, in a clause; ``mark``: the line that needs it."""

    why: str
    mark: Mark | None


@record
class MissingModule:
    """A module that a unit uses and that is not given; ``names``: those that it takes from it,
    folded; None: all that there are."""

    name: str
    names: frozenset[str] | None
    mark: Mark

    @property
    def why(self) -> str:
        """The report, in a clause."""
        return f"module {self.name} (line {self.mark.span.first}) is not among the given files"

    @property
    def cause(self) -> Cause:
        """The report without the line."""
        return Cause(self.mark.text, self.name)


def undeclared_constant(call: MpiCall, scope: Scope) -> NotGiven | None:
    """The first MPI constant among the arguments of a call that nothing declares."""
    for _, actual in call.bound():
        for part in walk(actual):
            if not isinstance(part, Ref) or not part.name.startswith("mpi_"):
                continue
            symbol = scope.lookup(part.name)
            if symbol is None and unknown_module(part.name, scope) is not None:
                continue
            if symbol is None or "implicit" in symbol.attrs:
                return _undeclared(part.spelled, scope)
    return None


def _undeclared(spelled: str, scope: Scope) -> NotGiven | None:
    """The report on a constant that nothing declares; None: an include file may declare it."""
    for unit in reversed(scope.located.chain):
        for leaf in _specification(unit):
            if isinstance(leaf.what, Include) and not _is_known(leaf.what, scope):
                return None
            if isinstance(leaf.what, Use) and leaf.what.module in MPI_MODULES and leaf.span:
                if not leaf.what.only:
                    return None
                why = f"the list of line {leaf.span.first} ({leaf.what.module}) lacks {spelled}"
                return NotGiven(why, Mark(leaf.span, "offending", why))
    head = scope.unit.head
    why = f"nothing declares {spelled}; write `use mpi`, `use mpi_f08` or include 'mpif.h'"
    if head is None or head.span is None:
        return NotGiven(why, None)
    why += f" behind line {head.span.first}"
    return NotGiven(why, Mark(head.span, "offending", why))


def _is_known(include: Include, scope: Scope) -> bool:
    return scope.program.include(scope.located, include.path) is not None


def missing_modules(scope: Scope) -> Iterator[MissingModule]:
    """The modules that a unit or its hosts use and that are not given."""
    for unit in reversed(scope.located.chain):
        for leaf in _specification(unit):
            use = leaf.what
            if not isinstance(use, Use) or use.intrinsic or leaf.span is None:
                continue
            if use.module in MPI_MODULES | RUNTIME_MODULES or is_intrinsic_module(use.module):
                continue
            if scope.program.defined_in("module", use.module):
                continue
            names = frozenset(item.local for item in use.items) if use.only else None
            why = why_missing(use.module, (), scope)
            yield MissingModule(use.module, names, Mark(leaf.span, "offending", why))


def first_missing(scope: Scope, names: Iterable[str] | None = None) -> MissingModule | None:
    """The first missing module from which a unit takes all names, or one of ``some``."""
    for missing in missing_modules(scope):
        if missing.names is None or (names is not None and missing.names & frozenset(names)):
            return missing
    return None


def why_no_default_integer(argument: Expr, scope: Scope) -> tuple[str, MissingModule | None]:
    """Why an argument is not known to be a default integer, in a clause, and the missing module
    that may tell."""
    parts = [part for part in walk(argument) if isinstance(part, Ref | Component)]
    part = next((part for part in parts if not is_default_integer(part, scope)), None)
    name = "an argument" if part is None else spelled_designator(part)
    if part is None or expression_key(part, scope) is not None:
        return f"{name} is not a default integer", None
    root = root_name(part) or ""
    symbol = scope.lookup(root)
    kind = None if symbol is None or symbol.type is None else symbol.type.kind
    missing = first_missing(scope, (root, *(() if kind is None else names_in(kind))))
    why = f"whether {name} is a default integer is not known"
    return (why if missing is None else f"{missing.why}: {why}"), missing


def _specification(unit: Unit) -> Iterator[Leaf]:
    for node in unit.spec:
        yield from leaves(node)
