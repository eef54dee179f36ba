"""Why the overlap window of a blocking transfer stays empty: what its start and wait cannot pass.

The wait would move down and the start up (``code_motion``), and out of branches
(``branch_fission``), until there is computation between them.  The refusal names the first
statement on either way that they cannot move past, and why, in the lines of the user's source.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.exchange.site import StatementPosition, statements
from asphalt.analysis.inlining.returns import is_return, leaves_early
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.reallocation import moved_at
from asphalt.analysis.memory.rma_windows import may_be_window_memory
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall, runtime_call
from asphalt.analysis.verdicts.splitting_codes import SHAPE
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.ir.expr import Component, Expr, Lit, Ref, walk
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.stmt import ArmHead, Assign, Call, DoHead, Plain, What
from asphalt.ir.tree import Branch, Leaf, Node, leaves
from asphalt.transforms.motion.windows import is_work
from asphalt.transforms.nonblocking.nonblocking import Split, check
from asphalt.transforms.nonblocking.sides import Side
from asphalt.transforms.rewriting.make import var


@record
class Stop:
    """A statement or construct that a start or a wait cannot move past, and why, in a clause.

    ``scalar``: for a variable that is no array.  ``fixed``: whatever it accesses, it keeps its
    place; ``meets``: and it accesses elements of the buffer, too.
    """

    node: Node
    why: str
    scalar: bool = False
    fixed: bool = False
    meets: bool = True

    @property
    def head(self) -> Leaf:
        """Its first line."""
        return _head(self.node)

    @property
    def span(self) -> Span | None:
        """Where it begins."""
        return self.head.span


@record
class EmptyWindow:
    """The obstacles that stop the wait of a transfer (``behind`` it) and its start (``before``
    it); None: nothing does up to the end of the way.  ``free``: computation that nothing keeps from
    overlapping.  ``alone_in``: the procedure, if it is called from elsewhere and has none.
    ``is_open``: one of the ways leads out of the procedure, to what stands around its calls."""

    behind: Stop | None
    before: Stop | None
    free: Node | None
    alone_in: str | None = None
    is_open: bool = False

    @property
    def ways(self) -> Iterator[tuple[str, Stop]]:
        """Both, with the direction; none where something is free."""
        if self.free is None and self.behind is not None:
            yield "below", self.behind
        if self.free is None and self.before is not None:
            yield "above", self.before


class EmptyWindows:
    """The answers for one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.messages = facts.once(Messages)
        self.order = facts.once(Independence.of)
        self.is_called = is_called(facts)
        self.places = {id(leaf): place for leaf, place in statements(facts.unit.body)}
        self.splits = {id(f.leaf): f for f in facts.once(check) if isinstance(f, Split)}

    def of(self, split: Split) -> EmptyWindow:
        """Find what keeps the overlap window of a blocking operation empty."""
        for buffers in self._buffers(split):
            ways = [self._way(split, buffers, forwards) for forwards in (True, False)]
            free = next((way for way in ways if not isinstance(way, Stop | None)), None)
            if free is not None:
                return EmptyWindow(None, None, free)
            behind, before = (way if isinstance(way, Stop) else None for way in ways)
            if behind is not None or before is not None:
                ended = behind is None or before is None
                is_open = ended and self.is_called and not self._is_in_loop(split)
                # of what is received, if it is that
                return EmptyWindow(behind, before, None, is_open=is_open)
        alone_in = self.facts.unit.name if self.is_called else None
        return EmptyWindow(None, None, None, alone_in, not self._is_in_loop(split))

    def _is_in_loop(self, split: Split) -> bool:
        """Whether a loop stands around a transfer, which it does not leave."""
        levels = self.places[id(split.leaf)].levels
        return any(not isinstance(level.nodes[level.position], Leaf | Branch) for level in levels)

    def _buffers(self, split: Split) -> Iterator[tuple[Access, ...]]:
        """The accesses of each operation that is started: what is received comes first."""
        found = self._touched(split)
        received = tuple(access for access in found if access.writes)
        sent = tuple(access for access in found if not access.writes)
        if len(split.sides) == 2:
            yield from (received, sent)
        else:
            yield (*received, *sent)

    def _touched(self, split: Split) -> tuple[Access, ...]:
        """The accesses to the buffers of a transfer."""
        found = self.messages.touched(split.leaf, split.call)
        if found is None:  # the same array twice, of which each side has a part
            found = tuple(access for side in split.sides for access in self._of_side(split, side))
        return found

    def _accesses(self, other: Node) -> tuple[Access, ...] | None:
        """The accesses of a statement to pass; of another transfer, those of its sides."""
        split = self.splits.get(id(other))
        if split is None or self.messages.touched(split.leaf, split.call) is not None:
            return self.order.accesses(other)
        return (*self._touched(split), *self._beside_buffers(split))

    def _beside_buffers(self, split: Split) -> Iterator[Access]:
        """What the line of a transfer reads and defines beside its buffers."""
        found = self.facts.footprint(split.leaf).accesses
        if self.messages.touched(split.leaf, split.call) is not None:
            return iter(found)
        objects = {access.object for access in self._touched(split)}
        return (access for access in found if access.object not in objects)

    def _of_side(self, split: Split, side: Side) -> tuple[Access, ...]:
        """The accesses of one operation to its buffer."""
        started = Call(var(side.start), (*side.arguments, var("asphalt_request")))
        call = runtime_call(started)
        return () if call is None else self.messages.touched(split.leaf, call) or ()

    def _way(self, split: Split, buffers: tuple[Access, ...], forwards: bool) -> Stop | Node | None:
        """What stops the wait on its way down, or the start on its way up; or the first work that
        it may pass; None: the way ends with the unit or a loop.  A statement that stops it beyond
        another transfer takes precedence over that transfer."""
        place = self.places[id(split.leaf)]
        if not self._has_work(place, forwards):
            return None
        moved, own = _Moved(split, split.leaf), self._arguments(split)
        mine = buffers if forwards else (*buffers, *own)
        mine = (*mine, *self.order.by_others(split.leaf))
        stopped: Stop | None = None
        for level in reversed(place.levels):
            siblings, here = level.nodes, level.position
            if isinstance(siblings[here], Branch):
                stop = self._opened(siblings, here, moved)
                if stop is not None:
                    return stopped or stop
                mine = (*mine, *self._rest(siblings[here], split, forwards))
                moved = _Moved(split, siblings[here])
            elif siblings[here] is not split.leaf:
                return stopped
            others = range(here + 1, len(siblings)) if forwards else reversed(range(here))
            for position in others:
                other = siblings[position]
                if isinstance(other, Leaf) and is_return(other):
                    return stopped
                if not forwards and self._may_leave(other):
                    return stopped
                stop = self._stop(moved, mine, siblings, position, forwards)
                if stop is not None and not forwards and self._goes_along(other, stop, buffers):
                    mine = (*mine, *self.facts.footprint(other).accesses)
                    continue
                if stop is not None and id(other) not in self.splits:
                    return stop
                stopped = stopped or stop
                if stop is None and is_work(siblings[position], self.messages):
                    return stopped or siblings[position]
        return stopped

    def _may_leave(self, other: Node) -> bool:
        """Whether a procedure may return here: inlined, what is behind it becomes a branch."""
        return self.is_called and leaves_early(other)

    def _goes_along(self, other: Node, stop: Stop, buffers: tuple[Access, ...]) -> bool:
        """Whether a statement only gives scalars that the start reads their values, and may stand
        in front of it wherever that goes: ``n = size(a)``."""
        if not isinstance(other, Leaf) or not isinstance(other.what, Assign) or stop.fixed:
            return False
        sent = {access.storage for access in buffers}
        written = {a.storage for a in self.facts.footprint(other).accesses if a.writes}
        return stop.scalar and not written & sent

    def _has_work(self, place: StatementPosition, forwards: bool) -> bool:
        """Whether there is work on a way: in the unit, or around its calls."""
        if self.is_called:
            return True
        for level in reversed(place.levels):
            here, siblings = level.position, level.nodes
            others = siblings[here + 1 :] if forwards else siblings[:here]
            if any(is_work(node, self.messages) for node in others):
                return True
            if not isinstance(siblings[here], Leaf | Branch):
                return False
        return False

    def _arguments(self, split: Split) -> tuple[Access, ...]:
        """What a start reads beside its buffers."""
        return tuple(access for access in self._beside_buffers(split) if not access.writes)

    def _opened(self, siblings: tuple[Node, ...], position: int, moved: _Moved) -> Stop | None:
        """Why a branch cannot be split, so that nothing leaves it."""
        branch = siblings[position]
        why = None if self._has_splits(branch) else self.order.place.bound(branch)
        why = why or self.order.place.fixed(branch)
        if why is None:
            return None
        return Stop(branch, f"the branch around it cannot be split: {why}")

    def _rest(self, branch: Node, split: Split, forwards: bool) -> Iterator[Access]:
        """What a branch reads and writes beside the transfer in it."""
        assert isinstance(branch, Branch)
        for leaf in leaves(branch):
            if leaf is split.leaf:
                continue
            call = self.messages.call(leaf) if id(leaf) in self.splits else None
            if call is not None:
                yield from self.messages.touched(leaf, call) or ()
            elif forwards or any(leaf is arm.head for arm in branch.arms):
                yield from self.facts.footprint(leaf).accesses

    def _has_splits(self, node: Node) -> bool:
        return any(id(leaf) in self.splits for leaf in leaves(node))

    def _stop(
        self,
        moved: _Moved,
        mine: tuple[Access, ...],
        siblings: tuple[Node, ...],
        position: int,
        forwards: bool,
    ) -> Stop | None:
        """Why the transfer may not pass a statement, or a parallel region that a loop is in."""
        other = siblings[position]
        region = self.order.place.threads.threads.region_of(other)
        stops = (self._stop_at(moved, mine, one, forwards) for one in region or (other,))
        return next((stop for stop in stops if stop is not None), None)

    def _stop_at(
        self, moved: _Moved, mine: tuple[Access, ...], other: Node, forwards: bool
    ) -> Stop | None:
        """Why the transfer may not pass a statement, whatever else is in its region."""
        place = self.order.place
        why = place.fixed(other) if self._has_splits(other) else place.stays_outside(other)
        why = why or self._calls(moved.split.call, other, forwards)
        theirs = self._accesses(other)
        if theirs is None:
            why = why or f"the buffers of the wait in line {line_of(_head(other))} are not known"
            return Stop(other, why, fixed=True, meets=False)
        pair = (moved.node, other) if forwards else (other, moved.node)
        both = (mine, theirs) if forwards else (theirs, mine)
        found = self.order.conflict(*pair, *both)
        if found is None:
            return None if why is None else Stop(other, why, fixed=True, meets=False)
        own, access = found if forwards else found[::-1]
        symbol = self.facts.scope.lookup(access.storage.split("::")[-1])
        scalar = symbol is not None and symbol.dims is None and not access.path
        fixed = why is not None
        if why is None or scalar or isinstance(other, Leaf):  # no part of it can be passed anyway
            why = conflict(access, own, self.facts)
        return Stop(other, why, scalar, fixed, not scalar)

    def _calls(self, call: MpiCall, other: Node, forwards: bool) -> str | None:
        """Why a transfer has to keep its order with calls of MPI."""
        for leaf, one in self.messages.calls(other):
            passed = self.order.calls.is_passed(one)
            part = Stage.BOTH if passed else stage_of(one)
            where = f"the {one.procedure.spelled} in line {line_of(leaf)}"
            if part is Stage.NOTHING or (part is Stage.COMPLETE and forwards):
                continue
            if part is Stage.OTHER and id(leaf) not in self.splits:
                return where
            late = forwards or part is not Stage.START
            started = one if forwards else call
            why = self.order.calls.why_not_earlier(started) if late else None
            if why is None and not forwards:
                why = self.order.calls.overtaking(one, call)
            if why is not None:
                return f"{where}: {why}"
        return None


def is_called(facts: UnitFacts) -> bool:
    """Whether the unit is a procedure that others call."""
    program, unit = facts.scope.program, facts.unit
    return unit.kind != "program" and any(
        mention.unit.name != unit.name for mention in program.mentions(unit.name)
    )


@record
class _Moved:
    """A transfer with what moves: itself, or the branch around it."""

    split: Split
    node: Node


def conflict(access: Access, own: Access, facts: UnitFacts) -> str:
    """The access of a statement that conflicts with one of a transfer: ``line 65 defines own``."""
    where = facts.at(access.leaf)
    name = _spelled(access, own)
    if own.by_others or access.by_others:
        if not may_be_window_memory(own.storage, facts.scope):
            return f"{where} accesses {name}, which a send whose request is freed may read"
        return f"{where} accesses {name}, which other ranks may access through a window"
    does = "defines" if access.writes else "reads"
    if access.is_open or own.is_open:
        shape = shape_of(access.object, facts.scope, facts.values, access.leaf)
        if shape is not None and not shape.stated:
            moved = moved_at(access.object, facts.values)
            told = f"{where} {does} {name}, the bounds of which are not known"
            why = None if moved is None else f"the MOVE_ALLOC in {facts.at(moved)} may change them"
            return told if why is None else f"{told}, for {why}"
    return f"{where} {does} {name}"


def _spelled(access: Access, own: Access) -> str:
    """What an access is to, in words: how it may be to the object of the other, too."""
    if access.named is None or (access.path and own.path):
        return access.spelled
    return f"{access.named}, to which pointers may point"


def _head(node: Node) -> Leaf:
    return next(iter(leaves(node)))


def is_beside_the_point(whole: Refused, stop: Stop) -> bool:
    """Whether a nest would not compute beside a message even if it were split: it only fills or
    empties a buffer, or all its iterations use one scalar, and ``whole`` is that its edges are not
    known."""
    return whole.code is SHAPE and (stop.scalar or only_copies(stop.node))


def told_of(stop: Stop, whole: Refused) -> tuple[str, ...]:
    """What is said of a nest that a message meets, and that is not split because of ``whole``: what
    fixes the nest is said once."""
    return (whole.message,) if stop.fixed else (stop.why, whole.message)


def only_copies(nest: Node) -> bool:
    """Whether a nest only copies elements, by subscripts or by counters."""
    return all(_is_copy(leaf.action) for leaf in leaves(nest))


def _is_copy(what: What) -> bool:
    match what:
        case DoHead() | ArmHead() | Plain():
            return True
        case Assign(target=target, value=value):
            counts = isinstance(target, Ref) and target.args is None and _has_no_elements(value)
            return counts or isinstance(value, Ref | Component | Lit)
    return False


def _has_no_elements(value: Expr) -> bool:
    return not any(isinstance(p, Component) or (isinstance(p, Ref) and p.args) for p in walk(value))
