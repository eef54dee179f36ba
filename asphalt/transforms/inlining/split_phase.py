"""Split-phase calls: an inlined exchange with work in its window becomes two calls.

Before (``exchange`` was inlined, and code motion has moved work into its window)::

    ! asphalt: exchange of halo.f90 stands here
    do j = 1, ny
      sbuf(j) = u(nx, j)
    end do
    call MPI_Irecv(rbuf, ny, ..., requests(1), ierr)
    call MPI_Isend(sbuf, ny, ..., requests(2), ierr)
    do j = 2, ny - 1
      ...
    end do
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    do j = 1, ny
      u(0, j) = rbuf(j)
    end do

After::

    ! asphalt: exchange in two phases
    call exchange_asphalt_start(u, requests)
    do j = 2, ny - 1
      ...
    end do
    call exchange_asphalt_finish(u, requests)

The two versions stand behind ``exchange``, in the same scope: what stands in front of a wait, and
the wait with the rest (``asphalt.analysis.inlining.split_phase``).  This is done once, when all
steps are: each statement of the caller keeps its place among the others of the caller, and each of
the exchange comes to the one call or to the other.  Where no work stands between the two, the call
is what it was.

The exchange stays inlined where that is not the same: where its statements are not those of the
procedure any more (buffers of their own, messages in tiles), where they do not stand together and
cannot be brought together, or where the compiler may pass a copy of an argument: a copy of a buffer
that is in progress is written back over what arrives (F2018 15.5.2.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.inlining.codes import RefusedError
from asphalt.analysis.inlining.plan import Inlining
from asphalt.analysis.inlining.split_phase import Phases, check_phases, phases_at
from asphalt.analysis.inlining.version_calls import NewNames, access, check_call
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.verdicts.splitting_codes import LONG
from asphalt.ir.expr import Arg, Keyword, Lit, Ref, TypeSpec
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Decl, Entity
from asphalt.ir.tree import Leaf, Node, Unit, leaves
from asphalt.transforms.inlining import version_units
from asphalt.transforms.inlining.call_values import CallValues
from asphalt.transforms.inlining.inlined_statements import (
    InlinedCall,
    Origin,
    Procedure,
    given_call,
    inlined_calls,
)
from asphalt.transforms.inlining.phase_variables import shared, without_memory
from asphalt.transforms.inlining.phase_versions import Version, phase_units, without_places
from asphalt.transforms.inlining.split_phase_arguments import check_passed
from asphalt.transforms.motion.windows import is_work
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.comments import body_comment
from asphalt.transforms.rewriting.edit import rewrite_list
from asphalt.transforms.rewriting.make import maker_at, var
from asphalt.transforms.rewriting.new_names import next_number

SHORT = 12
"""Statements of all calls of a procedure together that are better read there than in two procedures
more."""
START, _FINISH = "_asphalt_start", "_asphalt_finish"
"""How the names of the two versions of a procedure end."""


@record
class SplitPhase:
    """A unit in which calls stand instead of inlined exchanges.

    ``versions``: of the procedures; ``plans``: of the inlining that is undone; ``lines``: the line
    of ``facts`` that each new statement is about, by identity; ``told``: what became of each call,
    with its line in the given unit.
    """

    unit: Unit
    versions: tuple[Version, ...]
    plans: tuple[Inlining, ...]
    lines: Mapping[int, int]
    told: tuple[tuple[int, str], ...]


def in_phases(
    facts: UnitFacts, given: UnitFacts, came: Origin, apart: Callable[[Located], Procedure | None]
) -> SplitPhase | None:
    """The unit with split-phase calls instead of inlined exchanges; None: there are none.

    ``given``: the unit before all steps; ``came``: where statements of the unit came from;
    ``apart``: a procedure with its blocking transfers taken apart, None: it cannot have phases.
    """
    found = {id(leaf): came(leaf) for node in facts.unit.body for leaf in leaves(node)}
    plans = tuple(one.plan for one in found.values() if one and one.plan)
    search = _Search(facts, given, apart, plans, CallValues(facts, given, found))
    procedures: dict[object, list[InlinedCall]] = {}
    for call in inlined_calls(facts, given.unit, came):
        procedures.setdefault((call.plan.callee.path, call.plan.callee.unit.name), []).append(call)
    for calls in procedures.values():
        search.procedure(calls)
    return search.result()


_Lists = dict[tuple[int, ...], tuple[Node, ...]]


@record
class _Placed:
    """An inlined call whose statements stand together: those in front of the work in its window,
    and those behind it; () where no work stands between them.  ``nodes``: of the list at
    ``path``, in the order in which they do so."""

    call: InlinedCall
    leaf: Leaf
    nodes: tuple[Node, ...]
    first: tuple[Node, ...]
    second: tuple[Node, ...]


@dataclass
class _Search:
    """The calls of one unit that become split-phase calls.

    ``plans``: of all statements that came from procedures, as they were inlined; ``lists``: the
    statements of lists, by path, in the order in which those of a call stand
    together; ``calls``: with what stands in their place; ``called``: the versions, and how they can
    be named; ``declared``: new variables; ``fresh``: those that may not be needed; ``dropped``:
    those of the inlined calls, but for those that are ``kept``.
    """

    facts: UnitFacts
    given: UnitFacts
    apart: Callable[[Located], Procedure | None]
    plans: tuple[Inlining, ...]
    values: CallValues
    lists: _Lists = field(default_factory=dict)
    calls: dict[int, tuple[_Placed, tuple[Leaf, ...]]] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)
    called: list[tuple[NewNames, tuple[str, ...]]] = field(default_factory=list)
    fresh: list[Decl] = field(default_factory=list)
    made: int = 0
    declared: list[Decl] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)

    def procedure(self, calls: Sequence[InlinedCall]) -> None:
        """Look for the phases of one procedure that most of its calls can be in."""
        leaf = given_call(self.given.unit, calls[0].line, calls[0].plan)
        target = None if leaf is None or leaf.call is None else invoked(leaf.call, self.given.scope)
        if leaf is None or target is None:
            return
        callee = target[0]
        statements = sum(1 for node in callee.unit.body for _ in leaves(node))
        procedure = self.apart(callee) if len(calls) * statements > SHORT else None
        if procedure is None:
            return
        try:
            version_units.check_head(callee, procedure.facts.scope)
            check_phases(procedure.facts)
        except RefusedError:
            return
        best: tuple[int, Phases, list[_Placed], _Lists] | None = None
        for position in procedure.positions():
            try:
                phases = phases_at(procedure.emitted, position)
            except RefusedError:
                continue
            lists = dict(self.lists)
            placed = [p for one in calls if (p := self._placed(one, procedure, phases, lists))]
            split = sum(1 for one in placed if one.second)
            if split and (best is None or split > best[0]):
                best = split, phases, placed, lists
        if best is not None:
            self._take(callee, procedure.emitted, *best[1:])

    def _placed(
        self,
        call: InlinedCall,
        procedure: Procedure,
        phases: Phases,
        lists: _Lists,
    ) -> _Placed | None:
        """A call whose statements can stand together, in phases; None: they cannot, or they are not
        those of the procedure."""
        leaf = given_call(self.given.unit, call.line, call.plan)
        halves = call.halves(procedure, phases.position)
        if leaf is None or halves is None or not self._has_names(call, procedure, phases):
            return None
        started = call.gathered(lists.get(call.path, call.siblings), halves[0], last=False)
        own = tuple(x for node in (*halves[0], *halves[1]) for x in leaves(node))
        if started is None or not self.values.stay(leaf, own):
            return None
        split = self._split(call, started, halves)
        try:
            check_call(self.given, leaf, procedure.facts)
            if split is not None:
                between = self._between(split, halves)
                check_passed(self.facts, leaf, procedure.emitted, phases, between)
        except RefusedError:
            return None
        if split is not None:
            lists[call.path] = split
            return _Placed(call, leaf, split, *halves)
        whole = call.gathered(started, (*halves[0], *halves[1]), last=False)
        if whole is not None and _is_in_order(whole, halves):
            lists[call.path] = whole
            return _Placed(call, leaf, whole, (*halves[0], *halves[1]), ())
        return None

    def _has_names(self, call: InlinedCall, procedure: Procedure, phases: Phases) -> bool:
        """Whether the caller has, or can declare, all that lives from one phase to the other."""
        symbols = (
            procedure.emitted.scope.lookup(name)
            for name in phases.carried
            if call.name(name) is None
        )
        return all(
            symbol is not None
            and symbol.type == TypeSpec("integer")
            and all(isinstance(d.upper, Lit) and d.lower is None for d in symbol.dims or ())
            for symbol in symbols
        )

    def _split(
        self,
        call: InlinedCall,
        nodes: tuple[Node, ...],
        halves: tuple[tuple[Node, ...], tuple[Node, ...]],
    ) -> tuple[Node, ...] | None:
        """The list with the statements of the second half together, and work between the two."""
        found = call.gathered(nodes, halves[1], last=True)
        if found is None or not _is_in_order(found, halves):
            return None
        messages = self.facts.once(Messages)
        work = any(is_work(node, messages) for node in self._between(found, halves))
        return found if work else None

    def _between(
        self, nodes: tuple[Node, ...], halves: tuple[tuple[Node, ...], tuple[Node, ...]]
    ) -> tuple[Node, ...]:
        places = {id(node): place for place, node in enumerate(nodes)}
        return nodes[places[id(halves[0][-1])] + 1 : places[id(halves[1][0])]]

    def _take(
        self,
        callee: Located,
        inside: UnitFacts,
        phases: Phases,
        placed: list[_Placed],
        lists: _Lists,
    ) -> None:
        """Take these calls, if the versions can be made."""
        program = self.given.effects.scopes.program
        name = version_units.spelled(callee)
        taken = {one.lower() for _, called in self.called for one in called}
        for number in count(1):
            more = "" if number == 1 else f"_{number}"
            start, finish = (f"{name}{one}{more}" for one in (START, _FINISH))
            if name.isupper():
                start, finish = start.upper(), finish.upper()
            units = phase_units(inside, phases, start, finish)
            free = [version_units.is_free(unit, callee, program) for unit in units]
            if None not in free and taken.isdisjoint((start.lower(), finish.lower())):
                break
        try:
            if max(len(start), len(finish)) > version_units.LONGEST_NAME:
                raise RefusedError(LONG, "the names of its versions would be too long")
            names = access(self.given, callee, (start.lower(), finish.lower()))
        except RefusedError:
            return
        made = tuple(unit for unit, new in zip(units, free, strict=True) if new)
        self.versions.append(Version(callee, made, names))
        self.called.append((names, (start, finish)))
        self.lists.update(lists)
        variables = dict(self._variables(placed, phases, inside))
        called = start, finish
        for one in placed:
            own = variables.get(id(one), ())
            self.dropped |= one.call.variables
            self.kept |= {name.lower() for name in own}
            new = self._new(one, phases, called, own)
            self.calls[id(one.call)] = one, tuple(new)

    def _variables(
        self, placed: Sequence[_Placed], phases: Phases, inside: UnitFacts
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The variables that live from one phase to the other, for each call in phases, by
        identity."""
        for path in {one.call.path for one in placed}:
            numbers = {id(node): n for n, node in enumerate(self.lists[path])}
            calls = [
                (numbers[id(one.first[0])], numbers[id(one.second[-1])], one)
                for one in placed
                if one.call.path == path and one.second
            ]
            calls.sort(key=lambda own: own[0])
            own = [
                (begin, end, tuple(self._name(one.call, local, inside) for local in phases.carried))
                for begin, end, one in calls
            ]
            names = tuple(shared(self.facts.unit.body, path, own))
            used = {name.lower() for all_ in names for name in all_}
            self.declared += [d for d in self.fresh if d.entities[0].name in used]
            self.fresh = []
            yield from ((id(one), new) for (_, _, one), new in zip(calls, names, strict=True))

    def _name(self, call: InlinedCall, local: str, inside: UnitFacts) -> str:
        """The caller's name of a variable that lives from one phase to the other."""
        known = call.name(local)
        if known is not None:
            return known
        symbol = inside.scope.lookup(local)
        assert symbol is not None
        prefix = local.rstrip("0123456789")
        number = next_number(self.facts, prefix) + self.made
        self.made += 1
        name = f"{prefix}{number}"
        self.fresh.append(Decl("type", symbol.type, (), None, (Entity(name, name, symbol.dims),)))
        return name

    def _new(
        self, placed: _Placed, phases: Phases, names: tuple[str, str], more: tuple[str, ...]
    ) -> Iterator[Leaf]:
        """The call, or the calls, in place of the inlined statements."""
        leaf, call = placed.leaf, placed.call
        what = leaf.what
        assert isinstance(what, Call)
        make = maker_at(placed.first[0], self.facts.located.form, self.facts.eol)
        head = make.leaf(what).head
        if not placed.second:
            yield replace(leaf, span=None, head=head, shift=0)
            return
        start, finish = names
        args = (*what.args, *_appended(what.args, phases.carried, more))
        comment = make.comment(f"asphalt: {call.plan.callee.unit.name} in two phases")
        begin = replace(make.leaf(Call(var(start), args)), trail=leaf.trail)
        yield replace(begin, lead=(*leaf.lead, comment))
        yield make.leaf(Call(var(finish), args))

    def result(self) -> SplitPhase | None:
        """The unit with all calls that were taken; None: there are none."""
        if not self.calls:
            return None
        body = self.facts.unit.body
        lines: dict[int, int] = {}
        told: list[tuple[int, str]] = []
        for path in sorted(self.lists, key=len, reverse=True):
            own = [one for one in self.calls.values() if one[0].call.path == path]
            if own:
                change = partial(self._with_lists, self._changed(self.lists[path], own, lines), own)
                body = rewrite_list(body, (*path, 0), change)
        for placed, new in self.calls.values():
            name = placed.call.plan.callee.unit.name
            does = f"the call of {name} in {self.given.at(placed.leaf)} "
            does += "becomes two, of its phases" if len(new) > 1 else "is not inlined"
            told.append((line_of(placed.leaf), does))
        body = without_memory(body, self.dropped - self.kept)
        plans = tuple(placed.call.plan for placed, _ in self.calls.values())
        unit = replace(self.facts.unit, body=without_places(body, self._all_gone(plans)))
        form, eol = self.facts.located.form, self.facts.eol
        unit = added(unit, form, eol, (), self.declared)
        for names, called in self.called:
            unit = version_units.with_listed(unit, names, called)
        return SplitPhase(unit, tuple(self.versions), plans, lines, tuple(sorted(told)))

    def _all_gone(self, plans: Sequence[Inlining]) -> frozenset[str]:
        """What comments tell of procedures that no statement comes from any more."""
        texts = {id(plan): _comment(plan) for plan in (*self.plans, *plans)}
        gone = {id(plan) for plan in plans}
        left = {text for plan, text in texts.items() if plan not in gone}
        return frozenset(texts.values()) - left

    @staticmethod
    def _with_lists(
        changed: tuple[Node, ...],
        own: Sequence[tuple[_Placed, tuple[Leaf, ...]]],
        now: tuple[Node, ...],
    ) -> tuple[Node, ...]:
        """A changed list, in which the constructs have what has changed inside of them: ``now`` is
        the list with them, in the order that it had."""
        given = own[0][0].call.siblings
        inside = {id(old): new for old, new in zip(given, now, strict=True)}
        return tuple(inside.get(id(node), node) for node in changed)

    def _changed(
        self,
        nodes: tuple[Node, ...],
        own: Sequence[tuple[_Placed, tuple[Leaf, ...]]],
        lines: dict[int, int],
    ) -> tuple[Node, ...]:
        """A list with calls instead of inlined statements."""
        instead: dict[int, Leaf | None] = {}
        for placed, new in own:
            for half, leaf in zip((placed.first, placed.second), new, strict=False):
                instead |= {id(node): None for node in half}
                instead[id(half[0])] = leaf
                lines[id(leaf)] = line_of(next(leaves(half[0])))
        found: list[Node] = []
        for node in nodes:
            new_leaf = instead.get(id(node), node)
            if new_leaf is not None:
                found.append(new_leaf)
        return tuple(found)


def _comment(plan: Inlining) -> str:
    return body_comment(plan.callee.unit.name, plan.callee.file)


def _is_in_order(
    nodes: tuple[Node, ...], halves: tuple[tuple[Node, ...], tuple[Node, ...]]
) -> bool:
    """Whether all of the first half stand in front of the second one."""
    places = {id(node): place for place, node in enumerate(nodes)}
    first, second = ([places[id(node)] for node in half] for half in halves)
    return max(first) < min(second)


def _appended(args: tuple[Arg, ...], dummies: Sequence[str], names: Sequence[str]) -> Iterator[Arg]:
    """The arguments for the variables that live from one phase to the other."""
    keywords = any(isinstance(arg, Keyword) for arg in args)
    for dummy, name in zip(dummies, names, strict=True):
        ref = Ref(name.lower(), name)
        yield Keyword(dummy, dummy, ref) if keywords else ref
