"""Requests that a procedure passes to its callers, or needs from them, and that they ignore.

If a procedure starts an operation with a request that is its dummy argument, its caller has to
complete it (MPI-4.0 section 3.7.3).  If it waits for such a request, its caller has to define it.
Only what every call of the procedure does counts, and only local variables of the caller.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.call_sites import CallSite, CallSites
from asphalt.analysis.control_flow.graph import ENTRY, EXIT
from asphalt.analysis.control_flow.paths import Path, path_witness
from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.directives.directives import matches
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.library_effects import Quantity
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.requests.lost import leaving, stopping
from asphalt.analysis.requests.operations import Does, Operation, operations
from asphalt.ir.expr import Expr, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, leaves

_DEEPEST = 5
"""The number of procedures through which a request is followed."""


@record
class IgnoredRequest:
    """A call whose request the caller ignores.

    ``leaf``, in the unit of ``facts``, calls a procedure that always starts, or waits for,
    ``operation`` with ``request``; nothing else on ``path`` accesses the request.
    """

    facts: UnitFacts
    leaf: Leaf
    procedure: str
    operation: Operation
    request: str
    path: Path


def ignored_requests(facts: UnitFacts, sites: CallSites) -> Iterator[IgnoredRequest]:
    """The calls of a procedure, or of one that passes requests on to it, whose callers ignore
    them."""
    return _in_callers(facts, sites, tuple(_expected(facts)), _DEEPEST)


def _in_callers(
    facts: UnitFacts, sites: CallSites, expected: tuple[tuple[str, Operation], ...], depth: int
) -> Iterator[IgnoredRequest]:
    if not expected or depth == 0:
        return
    callers = sites.callers(sites.of(facts.located))
    for site in () if isinstance(callers, str) else callers:
        caller = UnitFacts(site.context.scope.located, facts.effects)
        point = caller.reaching.graph.action(site.statement.leaf)
        for dummy, operation in expected:
            actual = site.args.get(dummy)
            if point is None or not isinstance(actual, Ref) or not _is_plain(caller, site, actual):
                continue
            if actual.args is None and _only_there(caller, point, actual.name):
                passed = ((actual.name, operation),)
                yield from _in_callers(caller, sites, passed, depth - 1)
            found = _forgotten(caller, site, point, actual, facts.unit.name, operation)
            if found is not None:
                yield found


def _expected(facts: UnitFacts) -> Iterator[tuple[str, Operation]]:
    """The only operation of every call of a procedure on a request that is a scalar dummy."""
    if not _names_a_dummy_request(facts) or any(conditional_statements(facts.unit)):
        return
    named = _named(facts)
    for one in operations(facts.reaching, facts.scope, facts.values):
        waits = one.does is Does.COMPLETE and one.certain and one.quantity is Quantity.ALL
        if not (waits or one.does is Does.START) or not one.scalar or one.count is not None:
            continue
        if one.storage is None or id(one.leaf) in named:
            continue
        if _only_there(facts, one.point, one.storage):
            yield one.storage, one


def _names_a_dummy_request(facts: UnitFacts) -> bool:
    """Whether an MPI call of a procedure has a dummy argument for its request: quickly found."""
    calls = (leaf.call for leaf in leaves(facts.unit))
    made = (mpi_call(call, facts.scope) for call in calls if call is not None)
    for call in (one for one in made if one is not None):
        for parameter in call.procedure.parameters:
            actual = call.args.get(parameter.name) if parameter.kind == "REQUEST" else None
            symbol = facts.scope.lookup(actual.name) if isinstance(actual, Ref) else None
            if symbol is not None and symbol.origin is Origin.DUMMY:
                return True
    return False


def _only_there(facts: UnitFacts, point: int, name: str) -> bool:
    """Whether a variable is a scalar dummy that each execution of a procedure uses at one point
    only."""
    symbol = facts.scope.lookup(name)
    if symbol is None or symbol.origin is not Origin.DUMMY or symbol.dims is not None:
        return False
    graph, accesses = facts.reaching.graph, facts.reaching.accesses
    if symbol.attrs & {"optional", "value"} or accesses.is_exposed(name):
        return False
    if any(_touches(facts, p.number, name) for p in graph.points if p.number != point):
        return False
    return path_witness(graph, [ENTRY], {EXIT}, {point}) is None


def _is_plain(caller: UnitFacts, site: CallSite, actual: Ref) -> bool:
    """Whether a call passes a variable to one dummy of a subroutine, and no directive names it."""
    plain = isinstance(site.statement.what, Call) and not _given_twice(actual, site)
    unseen = any(conditional_statements(caller.unit))
    return plain and not unseen and id(site.statement.leaf) not in _named(caller)


def _forgotten(
    caller: UnitFacts,
    site: CallSite,
    point: int,
    actual: Ref,
    procedure: str,
    operation: Operation,
) -> IgnoredRequest | None:
    if not is_local(actual.name, caller):
        return None
    starts = operation.does is Does.START
    way = _left(caller, point, actual.name) if starts else _not_given(caller, point, actual.name)
    if way is None:
        return None
    return IgnoredRequest(caller, site.statement.leaf, procedure, operation, actual.spelled, way)


def _left(caller: UnitFacts, point: int, request: str) -> Path | None:
    """The path from a call to the return, if nothing after the call names the request."""
    graph = caller.reaching.graph
    others = {p.number for p in graph.points if _touches(caller, p.number, request)} - {point}
    if path_witness(graph, [point], others) is not None:
        return None
    stops = stopping(caller.reaching)
    return None if point in stops else path_witness(graph, [point], leaving(caller.reaching), stops)


def _not_given(caller: UnitFacts, point: int, request: str) -> Path | None:
    """The path from the entry to a call, if nothing before the call defines the request."""
    symbol = caller.scope.lookup(request)
    if symbol is None or symbol.initial is not None or symbol.attrs & {"data", "save"}:
        return None
    if any(definition.point != ENTRY for definition in caller.reaching.at(point, request)):
        return None
    return path_witness(caller.reaching.graph, [ENTRY], {point})


def _touches(facts: UnitFacts, point: int, storage: str) -> bool:
    """Whether a statement may read or define a local variable."""
    done = facts.reaching.accesses.at(point)
    return done.everything or storage in done.used or storage in done.defined


def _given_twice(actual: Ref, site: CallSite) -> bool:
    """Whether several arguments of a call contain a variable."""
    given: list[Expr] = list(site.args.values())
    return sum(actual.name in names_in(one) for one in given) > 1


def _named(facts: UnitFacts) -> frozenset[int]:
    """The statements that match directives name."""
    return frozenset(id(leaf) for group in matches(facts.unit).values() for leaf in group)
