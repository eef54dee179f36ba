"""Request arrays: transfers in progress at a time have one array of requests, and several waits in
one place are one.

Before::

    call asphalt_irecv(north, ..., asphalt_request_1)
    call asphalt_irecv(south, ..., asphalt_request_2)
    ...
    call asphalt_wait(asphalt_request_1, north)
    call asphalt_wait(asphalt_request_2, south)

After::

    call asphalt_irecv(north, ..., asphalt_requests_1(1))
    call asphalt_irecv(south, ..., asphalt_requests_1(2))
    ...
    call asphalt_wait_all(2, asphalt_requests_1, north, south)

All operations are complete behind the last wait, as before (MPI-4.0 section 3.7.5).  A wait whose
status the program reads stays one of its own.  Requests have their numbers in the order of their
waits, so that those of one place are neighbours.  Nothing moves: this is done once, when all steps
are, since single waits are what other transformations move.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.mpi.runtime_module import MOST_BUFFERS, RUNTIME_CALLS
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.visibility import words_at
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    Ref,
    TypeSpec,
    Unstructured,
    root_name,
    walk,
)
from asphalt.ir.records import record
from asphalt.ir.source import Trivia
from asphalt.ir.stmt import Call, Decl, Dim, Entity, Guarded
from asphalt.ir.tree import Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.comments import comments_inside, in_front
from asphalt.transforms.rewriting.edit import flat_map, lists_in, map_leaves
from asphalt.transforms.rewriting.make import num, var
from asphalt.transforms.rewriting.new_names import REQUEST, next_number
from asphalt.transforms.rewriting.tidying import without_uncalled

ARRAY = "asphalt_requests_"
_ALL = "asphalt_wait_all"
_BUFFERS = {"asphalt_wait": 1, "asphalt_wait_both": 2}
"""The waits that can be one, with the number of their buffers."""

_Places = Mapping[str, tuple[str, int]]
"""The array of each request, and its element."""


@record
class _Wait:
    """A wait for one request."""

    leaf: Leaf
    request: str
    buffers: tuple[Expr, ...]

    @property
    def condition(self) -> Expr | None:
        """The condition of its one-line IF."""
        return self.leaf.what.condition if isinstance(self.leaf.what, Guarded) else None


_Run = tuple[_Wait, ...]


def gathered(facts: UnitFacts, macros: Iterable[str] = ()) -> Unit:
    """The unit with arrays of requests, and one wait where several stood; the same unit where each
    transfer is in progress alone.  ``macros``: the names that the preprocessor may replace."""
    unit = facts.unit
    requests = _requests(unit, frozenset(name.lower() for name in macros))
    runs = tuple(_runs(facts, requests)) if len(requests) > 1 else ()
    groups = [group for group in _together(unit, requests, runs) if len(group) > 1]
    if not groups:
        return unit
    arrays = dict(zip(_names(facts, len(groups)), groups, strict=True))
    places = {
        request: (array, element)
        for array, group in arrays.items()
        for element, request in enumerate(group, 1)
    }
    body, runtime = unit.body, set[str]()
    for run in runs:
        calls = tuple(_completed(run, places)) if len(run) > 1 else ()
        if calls and len(calls) < len(run):
            runtime.add(_ALL)
            body = flat_map(body, run[0].leaf, lambda _, calls=calls: calls)  # type: ignore[misc]
            for wait in run[1:]:
                body = flat_map(body, wait.leaf, lambda _: ())
    body = tuple(map_leaves(n, lambda leaf: _renamed(leaf, places, facts)) for n in body)
    unit = replace(unit, spec=tuple(_declared(unit.spec, arrays)), body=body)
    unit = added(unit, facts.located.form, facts.eol, runtime, ())
    return without_uncalled(unit, _BUFFERS)


def _names(facts: UnitFacts, count: int) -> Iterator[str]:
    first = next_number(facts, ARRAY)
    return (f"{ARRAY}{number}" for number in range(first, first + count))


def _requests(unit: Unit, macros: frozenset[str]) -> frozenset[str]:
    """The request variables of a unit that calls of the runtime alone have, as plain arguments; a
    statement in which the preprocessor has not replaced a macro stays as it is."""
    declared = {e.name for node in unit.spec for e in _entities(node)}
    others: set[str] = set()
    for leaf in leaves(unit) if declared else ():
        beside = " ".join((leaf.trail, *(entry.text for entry in leaf.lead))).lower()
        if REQUEST in beside:
            others |= {name for name in declared if name in beside}
        named = words_at(leaf) & declared
        if not named or any(e.name in named for e in _entities(leaf)):
            continue
        call = leaf.call
        unknown = macros & words_at(leaf) - {macro.name.lower() for macro in leaf.macros}
        given = call.args if call is not None and _is_runtime(leaf) and not unknown else ()
        own = [arg.name for arg in given if isinstance(arg, Ref) and arg.args is None]
        inside = [part.name for part in _parts(leaf) if isinstance(part, Ref)]
        others |= {n for n in named if own.count(n) != 1 or inside.count(n) != 1}
    return frozenset(declared - others)


def _entities(node: Node) -> tuple[Entity, ...]:
    """The requests of single transfers that a statement declares."""
    what = node.what if isinstance(node, Leaf) and not node.frozen else None
    if not isinstance(what, Decl) or what.kind != "type" or what.attrs or what.dims is not None:
        return ()
    if what.type != TypeSpec("integer"):
        return ()
    own = (e for e in what.entities if e.name.startswith(REQUEST))
    return tuple(e for e in own if e == Entity(e.name, e.spelled))


def _parts(leaf: Leaf) -> Iterator[Arg]:
    """All parts of the arguments of a call and of the condition in front of it."""
    guard = (leaf.what.condition,) if isinstance(leaf.what, Guarded) else ()
    for expr in (*guard, *(leaf.call.args if leaf.call else ())):
        yield from walk(expr)


def _is_runtime(leaf: Leaf) -> bool:
    """Whether a statement calls a procedure of the runtime that has requests."""
    procedure = leaf.call.procedure if leaf.call else None
    return isinstance(procedure, Ref) and procedure.name in RUNTIME_CALLS and not leaf.frozen


def _runs(facts: UnitFacts, requests: Collection[str]) -> Iterator[_Run]:
    """The waits that stand one behind the other."""
    for _, siblings in lists_in(facts.unit.body):
        run: list[_Wait] = []
        for node in siblings:
            wait = _wait(node, requests)
            if wait is not None and run and _may_join(run, wait, facts.scope):
                run.append(wait)
                continue
            if run:
                yield tuple(run)
            run = [] if wait is None else [wait]
        if run:
            yield tuple(run)


def _wait(node: Node, requests: Collection[str]) -> _Wait | None:
    call = node.call if isinstance(node, Leaf) else None
    if call is None or not isinstance(node, Leaf) or not isinstance(call.procedure, Ref):
        return None
    request, *buffers = call.args or (None,)
    found = tuple(b for b in buffers if isinstance(b, Ref | Component))
    count = _BUFFERS.get(call.procedure.name)
    if not isinstance(request, Ref) or request.name not in requests:
        return None
    return _Wait(node, request.name, found) if len(buffers) == len(found) == count else None


def _may_join(run: Sequence[_Wait], wait: _Wait, scope: Scope) -> bool:
    """Whether a wait can be one with those in front of it: nothing stands in between, and what is
    evaluated for it has the same value before they are complete."""
    all_ = (*run, wait)
    alone = any(one.leaf.label is not None or one.leaf.joined or one.leaf.name for one in all_)
    if alone or any(one.leaf.trail.strip() for one in all_) or wait.leaf.lead:
        return False
    if wait.condition != run[0].condition or wait.request in {one.request for one in run}:
        return False
    buffers = [buffer for one in all_ for buffer in one.buffers]
    whole = {b.name for b in buffers if isinstance(b, Ref)}
    if any(isinstance(b, Component) and root_name(b) in whole for b in buffers):
        return False
    evaluated: list[Arg] = [] if wait.condition is None else [wait.condition]
    for buffer in buffers:
        evaluated += _subscripts(buffer)
    read = [part for expr in evaluated for part in walk(expr)]
    if any(isinstance(p, Component | Unstructured) for p in read):
        return False
    if any(isinstance(p, Ref) and p.args is not None for p in read):
        return False  # a function, or an element of an array
    changed = {storage_of(root, scope) for b in buffers if (root := root_name(b)) is not None}
    own = {storage_of(part.name, scope) for part in read if isinstance(part, Ref)}
    return not own & {ALIASED, *changed}


def _subscripts(expr: Expr) -> Iterator[Arg]:
    if isinstance(expr, Component):
        yield from _subscripts(expr.base)
    if isinstance(expr, Ref | Component):
        yield from expr.args or ()


def _together(
    unit: Unit, requests: Collection[str], runs: Iterable[_Run]
) -> Iterator[tuple[str, ...]]:
    """The requests that are in progress at a time, as far as the order of statements tells, each in
    the order of their waits."""
    found: dict[str, list[int]] = {}
    waits: dict[str, int] = {}
    place: dict[int, int] = {}
    for position, leaf in enumerate(leaf for node in unit.body for leaf in leaves(node)):
        place[id(leaf)] = position
        for part in _parts(leaf):
            if isinstance(part, Ref) and part.name in requests:
                found.setdefault(part.name, []).append(position)
    for run in runs:
        for wait in run:
            waits.setdefault(wait.request, place[id(wait.leaf)])
            found[wait.request] += (place[id(run[0].leaf)], place[id(run[-1].leaf)])
    group: list[str] = []
    end = -1
    for name in sorted(found, key=lambda name: min(found[name])):
        if group and min(found[name]) > end:
            yield tuple(sorted(group, key=lambda one: waits.get(one, max(found[one]))))
            group, end = [], -1
        group.append(name)
        end = max(end, *found[name])
    if group:
        yield tuple(sorted(group, key=lambda one: waits.get(one, max(found[one]))))


def _completed(run: _Run, places: _Places) -> Iterator[Leaf]:
    """The statements instead of several waits."""
    lead = run[0].leaf.lead
    ordered = sorted(run, key=lambda wait: places.get(wait.request, ("", 0)))
    for waits in _neighbours(ordered, places):
        leaf = replace(waits[0].leaf, lead=lead)
        lead = ()
        if len(waits) > 1:
            buffers = dict.fromkeys(buffer for wait in waits for buffer in wait.buffers)
            call = Call(var(_ALL), (num(len(waits)), _first(places[waits[0].request]), *buffers))
            what = replace(leaf.what, action=call) if isinstance(leaf.what, Guarded) else call
            macros = tuple(dict.fromkeys(m for wait in waits for m in wait.leaf.macros))
            leaf = replace(rewrite(leaf, what), macros=macros)
        yield leaf


def _neighbours(ordered: Sequence[_Wait], places: _Places) -> Iterator[_Run]:
    """The waits for neighbouring elements of one array, with as many buffers as one call has."""

    def alike(numbered: tuple[int, _Wait]) -> tuple[str, int]:
        number, wait = numbered
        array, element = places.get(wait.request, (wait.request, 0))
        return array, element - number

    for _, found in groupby(enumerate(ordered), alike):
        some: list[_Wait] = []
        for _, wait in found:
            if len({b for one in (*some, wait) for b in one.buffers}) > MOST_BUFFERS:
                yield tuple(some)
                some = []
            some.append(wait)
        yield tuple(some)


def _first(place: tuple[str, int]) -> Ref:
    array, element = place
    return var(array) if element == 1 else replace(var(array), args=(num(element),))


def _renamed(leaf: Leaf, places: _Places, facts: UnitFacts) -> Leaf:
    """A call of the runtime with an element instead of a request of its own."""
    call = leaf.call
    if call is None or not _is_runtime(leaf):
        return leaf

    def element(arg: Arg) -> Arg:
        if not isinstance(arg, Ref) or arg.name not in places:
            return arg
        array, number = places[arg.name]
        return replace(var(array), args=(num(number),))

    args = tuple(map(element, call.args))
    if args == call.args:
        return leaf
    new = replace(call, args=args)
    inside = comments_inside(leaf, facts.free, facts.eol)
    what = replace(leaf.what, action=new) if isinstance(leaf.what, Guarded) else new
    return replace(rewrite(leaf, what), lead=(*leaf.lead, *inside))


def _declared(spec: tuple[Node, ...], arrays: Mapping[str, Sequence[str]]) -> Iterator[Node]:
    """The specification part with the arrays where the first of their requests was declared."""
    gone = {request for group in arrays.values() for request in group}
    new = tuple(
        Entity(array, array, (Dim("explicit", None, num(len(group))),))
        for array, group in arrays.items()
    )
    comments: tuple[Trivia, ...] = ()
    for node in spec:
        node, comments = in_front(node, comments), ()
        own = {e.name for e in _entities(node)} & gone
        if not own or not isinstance(node, Leaf) or not isinstance(node.what, Decl):
            yield node
            continue
        kept = tuple(e for e in node.what.entities if e.name not in own)
        if kept or new:
            yield rewrite(node, replace(node.what, entities=(*kept, *new)))
        else:
            comments = node.lead
        new = ()
