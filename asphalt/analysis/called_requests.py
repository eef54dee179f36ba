"""Requests that a procedure gives to its callers, or expects of them, and that these leave alone.

A procedure may start an operation with a request that is its dummy argument: its caller has to
complete it (MPI-4.0 section 3.7.3).  Or it waits for such a request: its caller has to give it a
value.  Only what every call of the procedure does counts, and only variables of the caller that
nothing else can see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asphalt.analysis.access import EffectKind
from asphalt.analysis.call_sites import CallSite, CallSites
from asphalt.analysis.conditional_lines import conditional_statements
from asphalt.analysis.control_flow import ENTRY, EXIT
from asphalt.analysis.directives import matches
from asphalt.analysis.independence import is_unseen
from asphalt.analysis.mpi_library import Quantity
from asphalt.analysis.mpi_library_rows import ABORTING
from asphalt.analysis.paths import Path, path_witness
from asphalt.analysis.request_operations import Does, Operation, operations
from asphalt.analysis.symbols import Origin
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.expr import Expr, Ref, names_in
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A call (``leaf``, in the unit of ``facts``) of a procedure that always starts, or waits for,
    ``operation`` with the request that it is given: ``request``, with which nothing else is done
    on ``path``."""

    facts: UnitFacts
    leaf: Leaf
    procedure: str
    operation: Operation
    request: str
    path: Path


def forgotten(facts: UnitFacts, sites: CallSites) -> Iterator[Forgotten]:
    """The calls of a procedure whose callers do not do their part."""
    expected = tuple(_expected(facts))
    if not expected:
        return
    callers = sites.callers(sites.of(facts.located))
    for site in () if isinstance(callers, str) else callers:
        caller = UnitFacts(site.context.scope.located, facts.effects)
        for dummy, operation in expected:
            found = _forgotten(caller, site, dummy, facts.unit.name, operation)
            if found is not None:
                yield found


def _expected(facts: UnitFacts) -> Iterator[tuple[str, Operation]]:
    """What every call of a procedure does with a request that is a scalar dummy, and nothing
    else."""
    if any(conditional_statements(facts.unit)):
        return
    named = _named(facts)
    graph, accesses = facts.reaching.graph, facts.reaching.accesses
    for one in operations(facts.reaching, facts.scope, facts.values):
        waits = one.does is Does.COMPLETE and one.certain and one.quantity is Quantity.ALL
        if not (waits or one.does is Does.START) or not one.scalar or one.count is not None:
            continue
        symbol = None if one.storage is None else facts.scope.lookup(one.storage)
        if symbol is None or symbol.origin is not Origin.DUMMY or symbol.dims is not None:
            continue
        if symbol.attrs & {"optional", "value"} or accesses.is_exposed(symbol.name):
            continue
        alone = not any(_touches(facts, p.number, symbol.name) for p in graph.points
                        if p.number != one.point)  # fmt: skip
        always = path_witness(graph, [ENTRY], {EXIT}, {one.point}) is None
        if alone and always and id(one.leaf) not in named:
            yield symbol.name, one


def _forgotten(
    caller: UnitFacts, site: CallSite, dummy: str, procedure: str, operation: Operation
) -> Forgotten | None:
    leaf, what = site.statement.leaf, site.statement.what
    point = caller.reaching.graph.action(leaf)
    actual = site.args.get(dummy)
    if point is None or not isinstance(what, Call) or not isinstance(actual, Ref):
        return None
    if not is_unseen(actual.name, caller) or _given_twice(actual, site):
        return None
    if any(conditional_statements(caller.unit)) or id(leaf) in _named(caller):
        return None
    starts = operation.does is Does.START
    way = _left(caller, point, actual.name) if starts else _not_given(caller, point, actual.name)
    if way is None:
        return None
    return Forgotten(caller, leaf, procedure, operation, actual.spelled, way)


def _left(caller: UnitFacts, point: int, request: str) -> Path | None:
    """The way from a call to the return, where nothing behind it names the request."""
    graph, accesses = caller.reaching.graph, caller.reaching.accesses
    others = {p.number for p in graph.points if _touches(caller, p.number, request)} - {point}
    if path_witness(graph, [point], others) is not None:
        return None
    stopping = {
        p.number
        for p in graph.points
        if any(
            effect.kind in (EffectKind.STOP, EffectKind.UNKNOWN_CALL)
            or (effect.kind is EffectKind.MPI and effect.detail == ABORTING)
            for effect in accesses.footprint(p.number).effects
        )
    }
    return None if point in stopping else path_witness(graph, [point], {EXIT}, stopping)


def _not_given(caller: UnitFacts, point: int, request: str) -> Path | None:
    """The way from the entry to a call, where nothing before it gives the request a value."""
    symbol = caller.scope.lookup(request)
    if symbol is None or symbol.initial is not None or symbol.attrs & {"data", "save"}:
        return None
    if any(definition.point != ENTRY for definition in caller.reaching.at(point, request)):
        return None
    return path_witness(caller.reaching.graph, [ENTRY], {point})


def _touches(facts: UnitFacts, point: int, storage: str) -> bool:
    """Whether a statement may read or define a variable that nothing else can see."""
    done = facts.reaching.accesses.at(point)
    return done.everything or storage in done.used or storage in done.defined


def _given_twice(actual: Ref, site: CallSite) -> bool:
    """Whether a variable is in several arguments of a call."""
    given: list[Expr] = list(site.args.values())
    return sum(actual.name in names_in(one) for one in given) > 1


def _named(facts: UnitFacts) -> frozenset[int]:
    """The statements of which directives say what belongs together."""
    return frozenset(id(leaf) for group in matches(facts.unit).values() for leaf in group)
