"""Versions of a procedure: its interior beside a message, its edges behind it.

Before::

    call asphalt_wait(asphalt_request_1, u(1, 0))
    call evolve(v, u)

After::

    call asphalt_wait(asphalt_request_1, u(1, 0))
    call evolve_asphalt_inner(v, u)
    call evolve_asphalt_edges(v, u)

The versions stand behind ``evolve``, in the same scope.  The first one has the nests of ``evolve``
without their first and last iterations, the other one has these and what else ``evolve`` does
(procedure cloning, Cooper, Hall, Kennedy 1993, and index-set splitting).  Code motion can then move
the call of the interior into the overlap window.  Where ``evolve`` computes what a message sends,
the edges come first.

A short procedure is inlined instead (``opening``): a few lines at the call are less to read than
two procedures more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.exchange.producer import tilable_loops
from asphalt.analysis.exchange.site import StatementPosition, statements
from asphalt.analysis.inlining.called_facts import CalledFacts
from asphalt.analysis.inlining.codes import RefusedError
from asphalt.analysis.inlining.plan import planned
from asphalt.analysis.inlining.procedure import communicates, movable_body
from asphalt.analysis.inlining.procedure_parts import Part, Where, WholeError, check_parts, repeated
from asphalt.analysis.inlining.version_calls import NewNames, access, check_call
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.tiling.edge_iterations import EdgeCounts
from asphalt.analysis.verdicts.splitting_codes import LONG
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.ir.expr import Ref
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, UnitHead
from asphalt.ir.tree import File, Leaf, Node, Unit, leaves, loops_of, rewrite
from asphalt.transforms.inlining import version_units
from asphalt.transforms.inlining.edge_choices import Ends, choices_of
from asphalt.transforms.loops.index_set_splitting import Choices, DividedNest, Nest, Run
from asphalt.transforms.loops.parts_of_nest import edges, interior
from asphalt.transforms.loops.peeling import to_starts
from asphalt.transforms.loops.splitting import from_waits
from asphalt.transforms.motion.windows import windows_of
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.guarded_nests import around, nest_in
from asphalt.transforms.rewriting.make import maker_at
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, Trial

SHORT = 40
"""Lines that are better read at the call than in procedures, where they can be inlined."""
_LONGEST = 150  # statements of a nest that each version has once
_PAIRED = (EdgeCounts(1, 1), EdgeCounts(1), EdgeCounts(last=1))  # one loop for both ends
_MARK = "_asphalt_"
_INNER, _EDGES = f"{_MARK}inner", f"{_MARK}edges"


@record
class Versions(Trial):
    """A call, at ``position`` of the list that ``path`` leads to, to be replaced by two: of the
    procedures ``called`` in this order.  ``made``: those that ``callee`` does not have beside it
    yet; ``names``: how the caller can name them.  ``short``: the statements that they divide are
    better read at the call, where they can be inlined.  ``ends``: which iterations are edges."""

    path: tuple[int, ...]
    position: int
    callee: Located
    called: tuple[str, str]
    made: tuple[Unit, ...]
    names: NewNames
    short: bool
    ends: Ends

    @property
    def about(self) -> tuple[object, ...]:
        """The call."""
        return self.path, self.position


def deciding(ways: Sequence[Versions]) -> list[Versions]:
    """Those of the ways to divide one call that decide about all of them.

    What cannot pass the smallest interior passes no larger one, and so for the edges, which have
    what the interior has not.  So if code motion finds nothing where the interior, or the edges,
    are as small as in none of the others, it finds nothing in any of them.
    """

    def is_extreme(way: Versions) -> bool:
        others = [other.ends for other in ways if other.ends != way.ends]
        smaller = any(_is_inside(other, way.ends) for other in others)
        return not smaller or not any(_is_inside(way.ends, other) for other in others)

    return [way for way in ways if is_extreme(way)]


def _is_inside(one: Ends, other: Ends) -> bool:
    """Whether the interior with some edges is a part of that with others."""
    return all(
        position in other
        and all(
            mine.first >= theirs.first and mine.last >= theirs.last
            for mine, theirs in zip(own, other[position], strict=True)
        )
        for position, own in one.items()
    )


def behind_waits(facts: UnitFacts) -> tuple[Found, ...]:
    """The calls of which the interior can go before what the messages before them need."""
    return facts.once(_behind_waits)


def before_starts(facts: UnitFacts) -> tuple[Found, ...]:
    """The calls of which the interior can go behind the messages that need their edges."""
    return facts.once(_before_starts)


def _behind_waits(facts: UnitFacts) -> tuple[Found, ...]:
    return tuple(_found(facts, from_waits, interior_first=True))


def _before_starts(facts: UnitFacts) -> tuple[Found, ...]:
    return tuple(_found(facts, to_starts, interior_first=False))


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The caller with one call replaced by calls of two versions; ``with_versions`` adds these to
    the file."""
    assert isinstance(step, Versions)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        leaf = nodes[step.position]
        assert isinstance(leaf, Leaf)
        assert isinstance(leaf.what, Call)
        make = maker_at(leaf, facts.located.form, facts.eol)
        first, second = (replace(leaf.what, procedure=Ref(n.lower(), n)) for n in step.called)
        comment = make.comment(f"asphalt: {step.callee.unit.name} in two parts")
        again = replace(rewrite(leaf, second), lead=(), trail=facts.eol)
        begin = replace(rewrite(leaf, first), lead=(*leaf.lead, comment))
        return (*nodes[: step.position], begin, again, *nodes[step.position + 1 :])

    unit = replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))
    return version_units.with_listed(unit, step.names, step.called)


def divided(facts: UnitFacts) -> frozenset[str]:
    """The procedures whose versions a unit calls."""
    calls = (leaf.call for node in facts.unit.body for leaf in leaves(node))
    names = (c.procedure.name for c in calls if c is not None and isinstance(c.procedure, Ref))
    return frozenset(name.split(_MARK)[0] for name in names if _INNER in name or _EDGES in name)


def with_versions(file: File, step: Versions) -> File:
    """The file with the versions beside their original."""
    return version_units.beside(file, step.callee, step.made, step.names)


def _found(facts: UnitFacts, choices: Choices, *, interior_first: bool) -> Iterator[Found]:
    messages, order = facts.once(Messages), facts.once(Independence.of)
    places = {id(leaf): place for leaf, place in statements(facts.unit.body)}
    for path, siblings in lists_in(facts.unit.body):
        windows = tuple(windows_of(siblings, messages))
        for position, node in enumerate(siblings if windows else ()):
            if not isinstance(node, Leaf) or node.call is None:
                continue
            target = invoked(node.call, facts.scope)
            if target is None or _MARK in target[0].unit.name:
                continue
            runs = choices(siblings, windows, position)
            if not any(_needs_parts(node, run, order) for run in runs):
                continue
            if any(True for _ in loops_of(target[0].unit.body)):
                at = _Call(facts, node, places[id(node)], target, path, position)
                yield from at.versions(interior_first=interior_first)


def _needs_parts(call: Leaf, passed: Run, order: Independence) -> bool:
    """Whether a part of a procedure might pass statements that its call as a whole cannot pass."""
    if any(order.place.bound(node) is not None for node in (call, *passed)):
        return False
    pairs = (sorted((node, call), key=lambda one: line_of(next(leaves(one)))) for node in passed)
    return any(order.why_not(first, second) is not None for first, second in pairs)


@dataclass(frozen=True)
class _Call:
    """A call that stands between messages and what can overlap with them; ``target``: its
    procedure, and the call with all arguments."""

    facts: UnitFacts
    leaf: Leaf
    place: StatementPosition
    target: tuple[Located, Call]
    path: tuple[int, ...]
    position: int

    @property
    def callee(self) -> Located:
        """The procedure."""
        return self.target[0]

    def versions(self, *, interior_first: bool) -> Iterator[Found]:
        """The ways to divide the procedure, or why it cannot be."""
        scopes = self.facts.effects.scopes
        if communicates(self.callee, scopes):
            return
        try:
            movable_body(self.callee, self.facts.located, scopes)
            version_units.check_head(self.callee, scopes.of(self.callee))
            check_call(self.facts, self.leaf, self._inside)
        except RefusedError as refused:
            yield self._refused(refused)
            return
        why: Refused | None = None
        found = False
        for ends in choices_of(self._inside, offsets=interior_first):
            try:
                yield self._step(ends, interior_first=interior_first)
                found = True
            except RefusedError as refused:
                why = why or self._refused(refused)
        if why is not None and not found:
            yield why

    def _is_short(self, ends: Ends) -> bool:
        """Whether the procedure, with all nests that its division makes, has few enough lines
        to be read at the call."""
        number = 0
        for position, node in enumerate(self.callee.unit.body):
            parts = sum(1 if own in _PAIRED else 2 for own in ends.get(position, ()) if own)
            lines = sum(1 + (leaf.body or "").count("\n") for leaf in leaves(node))
            number += (1 + parts) * lines
        return number <= SHORT

    @cached_property
    def _is_inlined(self) -> bool:
        """Whether the procedure may replace its call."""
        sites = CallSites(self.facts.effects.scopes)
        callee, call = self.target
        plan = planned(self.facts, self.leaf, self.place, call, callee, sites)
        return not isinstance(plan, Refused)

    @property
    def _inside(self) -> UnitFacts:
        """The procedure."""
        return self.facts.once(CalledFacts).of(self.callee)

    def _step(self, ends: Ends, *, interior_first: bool) -> Versions:
        inside = self._inside
        ends, divided = self._divided(ends, interior_first=interior_first)
        parts = tuple(part for part, _ in divided)
        head = self.callee.unit.head
        assert head is not None
        assert isinstance(head.what, UnitHead)
        spelled = version_units.spelled(self.callee)
        program = self.facts.effects.scopes.program
        for number in count(1):
            more = "" if number == 1 else f"_{number}"
            inner, outer = (f"{spelled}{one}{more}" for one in (_INNER, _EDGES))
            if spelled.isupper():
                inner, outer = inner.upper(), outer.upper()
            units = _units(inside, parts, inner, outer)
            free = [version_units.is_free(unit, self.callee, program) for unit in units]
            if None not in free:
                break
        if max(len(inner), len(outer)) > version_units.LONGEST_NAME:
            raise RefusedError(LONG, "the names of its versions would be too long")
        made = tuple(unit for unit, new in zip(units, free, strict=True) if new)
        names = access(self.facts, self.callee, (inner.lower(), outer.lower()))
        does = f"the call of {self.callee.unit.name} in {self.facts.at(self.leaf)} becomes two"
        return Versions(
            line_of(self.leaf),
            f"{does}, of its interior and of its edges in {_variables(inside, ends)}",
            (
                "no iteration needs what another one computes",
                "no local variable carries a value from one part to the other",
                "all statements outside of the nests stand in one part, or only set local scalars",
            ),
            (self.leaf.body or "", repr(ends)),
            self.path,
            self.position,
            self.callee,
            (inner, outer) if interior_first else (outer, inner),
            made,
            names,
            self._is_short(ends) and self._is_inlined,
            ends,
            assumed=tuple(dict.fromkeys(a for _, nest in divided if nest for a in nest.assumed)),
        )

    def _divided(
        self, ends: Ends, *, interior_first: bool
    ) -> tuple[Ends, tuple[tuple[Part, DividedNest | None], ...]]:
        """The procedure with as many of these nests divided as may be; the others stand with the
        edges."""
        first: RefusedError | None = None
        while ends:
            try:
                divided = tuple(_parts(self._inside, ends))
                parts = [part for part, _ in divided]
                check_parts(self._inside, parts, interior_first=interior_first)
            except WholeError as refused:
                first = first or refused
                ends = {at: own for at, own in ends.items() if at != refused.position}
            else:
                return ends, divided
        assert first is not None
        raise first

    def _refused(self, refused: RefusedError) -> Refused:
        name = self.callee.unit.name
        message = f"{name} has no version for a part of its iterations: {refused.message}"
        return Refused(refused.code, message, self.leaf.span)


def _parts(facts: UnitFacts, ends: Ends) -> Iterator[tuple[Part, DividedNest | None]]:
    """The statements of a procedure with the versions that have them, and how nests are divided."""
    order, again = facts.once(Independence.of), repeated(facts)
    for position, node in enumerate(facts.unit.body):
        nest = nest_in(node, facts)
        if position in again:
            yield Part(node, Where.BOTH), None
        elif position in ends and nest is not None:
            *_, chain = ((), *tilable_loops(nest))
            own = Nest(facts, order, nest, node, (), position)
            split = own.why_once() or own.with_ends(chain, ends[position], _LONGEST)
            if isinstance(split, Refused):
                raise WholeError(split.code, split.message, position)
            inside = around(node, (interior(nest, split.ends, (), facts),))
            outside = around(node, edges(nest, split.ends, facts))
            yield Part(node, Where.DIVIDED, inside, outside), split
        else:
            yield Part(node, Where.EDGES, edges=(node,)), None


def _variables(facts: UnitFacts, ends: Ends) -> str:
    """The variables of the divided loops."""
    found: dict[str, None] = {}
    for position, own in ends.items():
        nest = nest_in(facts.unit.body[position], facts)
        *_, chain = ((), *tilable_loops(nest)) if nest is not None else ((),)
        pairs = zip(chain, own, strict=False)
        found.update({str(loop_variable(loop)): None for loop, counts in pairs if counts})
    return " and ".join(found)


def _units(facts: UnitFacts, parts: Sequence[Part], inner: str, outer: str) -> tuple[Unit, Unit]:
    """The versions, with these names."""
    name = version_units.spelled(facts.located)
    bodies: tuple[list[Node], list[Node]] = [], []
    for part in parts:
        both = (part.node,) if part.where is Where.BOTH else ()
        bodies[0].extend((*both, *part.interior))
        bodies[1].extend((*both, *part.edges))
    first = f"asphalt: {name} without its first and last iterations"
    second = f"asphalt: what {inner} leaves out of {name}"
    return (
        version_units.version(facts, inner, tuple(bodies[0]), (first,)),
        version_units.version(facts, outer, tuple(bodies[1]), (second,)),
    )


BEHIND_WAITS = Transformation(
    "versions of a procedure behind waits",
    Pass.SPLITTING,
    Phase.DIVISION,
    "A called procedure is divided into its interior and the edges that need a received halo.",
    behind_waits,
    apply,
    in_place=True,
)

BEFORE_STARTS = Transformation(
    "versions of a procedure before starts",
    Pass.PEELING,
    Phase.DIVISION,
    "The iterations of a called procedure that define what is sent are executed first.",
    before_starts,
    apply,
    in_place=True,
)
