"""Checks of the directives of a unit: known names, no contradictions, ids that match something.

Each violation is an InputError with file and line.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from asphalt.analysis.directives.directives import (
    Assume,
    Directive,
    Match,
    directives,
    refuse_in_front_of,
    statements,
)
from asphalt.analysis.exchange.site_directives import refuse_contradictions
from asphalt.analysis.mpi.call import MpiCall, mpi_call_in
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.references import expressions_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Ref, Unstructured, names_in, walk
from asphalt.ir.stmt import Call, Guarded, What
from asphalt.ir.tree import File, Unit, leaves

_STARTS = frozenset({Timing.NONBLOCKING, Timing.STARTING})


def check_directives(scope: Scope) -> None:
    """Check the directives of one unit, without those of the units that it contains.

    Raises InputError for the first violation.
    """
    found = directives(scope.unit)
    for _, group in groupby(found, key=lambda d: None if d.leaf is None else id(d.leaf)):
        refuse_contradictions(tuple(group))
    refuse_contradictions(tuple(d for d in found if d.leaf is None))
    for directive in found:
        match directive.clause:
            case Assume(kind="uniform", name=name):
                _check_variable(directive, name, scope)
            case Assume(kind="pure", name=name):
                _check_procedure(directive, name, scope)
            case Match() if directive.leaf is None:
                raise directive.error("match(...) belongs in front of an MPI call")
    _check_matches(found, scope)


def _check_variable(directive: Directive, name: str, scope: Scope) -> None:
    symbol = scope.lookup(name)
    if symbol is None or not symbol.origin.is_variable or symbol.attrs & {"external"}:
        raise directive.error(f"no variable {name} is known here; check the name")
    if "implicit" in symbol.attrs and name not in set(_names(scope.unit)):
        raise directive.error(f"nothing here has the name {name}; check it")


def _check_procedure(directive: Directive, name: str, scope: Scope) -> None:
    symbol = scope.lookup(name)
    if symbol is not None and symbol.origin in (Origin.INTRINSIC, Origin.MPI):
        raise directive.error(f"{name} is known to asphalt; nothing can be assumed about it")
    units = (scope.unit, *_inside(scope.unit))
    if not any(name in set(_called(unit)) for unit in units):
        raise directive.error(f"no procedure {name} is called here; check the name")


def _inside(unit: Unit) -> Iterator[Unit]:
    for inner in unit.contained:
        yield inner
        yield from _inside(inner)


def _whats(unit: Unit) -> Iterator[What]:
    for node in (*unit.spec, *unit.body):
        for leaf in leaves(node):
            yield leaf.what
            if isinstance(leaf.what, Guarded):
                yield leaf.what.action


def _names(unit: Unit) -> Iterator[str]:
    for what in _whats(unit):
        for expr in expressions_of(what):
            yield from names_in(expr)


def _called(unit: Unit) -> Iterator[str]:
    """Every name that may be called in a unit; of an unread statement, all its names."""
    for what in _whats(unit):
        if isinstance(what, Call) and isinstance(what.procedure, Ref):
            yield what.procedure.name
        yield from getattr(what, "names", ())
        for expr in expressions_of(what):
            for part in walk(expr):
                if isinstance(part, Ref) and part.args is not None:
                    yield part.name
                elif isinstance(part, Unstructured):
                    yield from part.names


def _check_matches(found: tuple[Directive, ...], scope: Scope) -> None:
    """Check that each id names one start and at least one other statement."""
    ids: dict[str, list[tuple[Directive, MpiCall]]] = {}
    for directive in found:
        if not isinstance(directive.clause, Match) or directive.leaf is None:
            continue
        call = mpi_call_in(directive.leaf, scope)
        if call is None:
            raise directive.error("match(...) belongs in front of an MPI call")
        ids.setdefault(directive.clause.id, []).append((directive, call))
    for name, members in ids.items():
        if len(members) == 1:
            raise members[0][0].error(
                f"match({name}) occurs only here in its procedure; give what it matches the same "
                "id, in the same procedure: match is not for a wait in another one"
            )
        starts = [d for d, call in members if call.procedure.timing in _STARTS]
        if len(starts) > 1:
            first = starts[0]
            raise starts[1].error(
                f"match({name}): {first.file}:{first.line} already starts an operation with "
                "this id; give each its own"
            )


def check_file(file: File) -> None:
    """Raise InputError for a directive that stands behind the last unit of a file."""
    last = max((leaf.span.last for leaf in leaves(file) if leaf.span is not None), default=0)
    for lines in statements(file.tail, file.path, last + 1):
        raise lines[0].error("no statement follows this directive; put it in front of one")
    for leaf in file.stray:
        refuse_in_front_of(leaf)
