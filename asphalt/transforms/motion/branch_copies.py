"""Copies in arms: a wait or start that a branch stops moves on in each of its arms.

Before::

    call asphalt_wait(asphalt_request_1, north)
    if (first) then
      g(:, 0) = north                                 ! needs what has come
    else
      do k = 1, nz                                    ! does not
        ...
      end do
    end if

After::

    if (first) then
      call asphalt_wait(asphalt_request_1, north)
      g(:, 0) = north
    else
      do k = 1, nz
        ...
      end do
      call asphalt_wait(asphalt_request_1, north)
    end if

The arms are paths that together post-dominate the statement in front of the branch and dominate the
one behind it, so that one call on each path is executed as often as the call that they replace
(Danalis et al., ICS 2009, section 4, footnote 2).  A wait moves down into the arms of the branch
behind it, a start moves up into those of the branch in front of it; an IF without ELSE gets one for
the path that has no arm.  Each copy passes only what the call itself could pass (``commutation``).
The conditions are then evaluated before the wait, so they may not access what it releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.config.passes import Pass
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Call
from asphalt.ir.tree import Arm, Branch, Leaf, Node, Unit
from asphalt.transforms.motion.windows import is_work
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list, shifted
from asphalt.transforms.rewriting.make import maker_at
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, Trial

_ELSE = {"if": "else", "select": "case_default"}


@record
class CopyOnPaths(Trial):
    """The call at ``origin`` of a list moves into the arms of the branch at ``target``; ``places``:
    of each arm, the statement in front of which its copy stands."""

    path: tuple[int, ...]
    origin: int
    target: int
    places: tuple[int, ...]


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The waits and starts of a unit that a branch stops, and that can pass work in an arm."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    return tuple(
        step
        for path, siblings in lists_in(facts.unit.body)
        for origin, leaf in enumerate(siblings)
        if isinstance(leaf, Leaf)
        for direction in _directions(leaf, messages)
        for step in _Paths(siblings, path, messages, order).copied(origin, leaf, direction)
    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one call copied."""
    assert isinstance(step, CopyOnPaths)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        call, branch = nodes[step.origin], nodes[step.target]
        assert isinstance(call, Leaf)
        assert isinstance(branch, Branch)
        changed = list(nodes)
        changed[step.target] = _with_copies(branch, call, step.places, facts)
        del changed[step.origin]
        return tuple(changed)

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def _directions(leaf: Leaf, messages: Messages) -> Iterator[int]:
    """Which way a call may go: +1 for one that only completes, -1 for one that only starts."""
    call = messages.call(leaf)
    if call is None or not isinstance(leaf.what, Call) or call.queue is not None:
        return
    part = stage_of(call)
    if part is Stage.COMPLETE and len(messages.completed_by(leaf) or ()) > 0:
        yield +1
    if part is Stage.START and messages.completion(leaf):
        yield -1


@record
class _Paths:
    """One list of statements."""

    siblings: tuple[Node, ...]
    path: tuple[int, ...]
    messages: Messages
    order: Independence

    def copied(self, origin: int, call: Leaf, direction: int) -> Iterator[CopyOnPaths]:
        """The step for a call, if the branch that keeps it back has an arm with work to pass."""
        here = origin + direction
        while 0 <= here < len(self.siblings):
            branch = self.siblings[here]
            if not self._passes(call, branch, direction):
                break
            here += direction
        else:
            return
        if not isinstance(branch, Branch) or branch.kind not in _ELSE:
            return
        if self.order.place.bound(branch) is not None:
            return
        if direction > 0 and not self._meets_no_condition(call, branch):
            return
        arms = _arms(branch)
        if arms is None:
            return
        reached = [self._reach(call, arm.body, direction) for arm in arms]
        if not any(has_work for _, has_work in reached):
            return
        places = [self.order.facts.at(leaf) for leaf in (call, branch.arms[0].head)]
        what = "the wait" if direction > 0 else "the start"
        yield CopyOnPaths(
            line_of(call),
            f"{what} of {places[0]} goes into the arms of the branch of {places[1]}",
            ("each path through the branch has one copy, which passes what is independent of it",),
            (call.body or "", branch.arms[0].head.body or ""),
            self.path,
            origin,
            here,
            tuple(place for place, _ in reached),
        )

    def _passes(self, call: Leaf, other: Node, direction: int) -> bool:
        pair = (call, other)
        return self.order.why_not(*pair[::direction]) is None

    def _meets_no_condition(self, call: Leaf, branch: Branch) -> bool:
        """Whether the conditions of a branch do nothing, and read nothing that the call changes."""
        mine = self.order.accesses(call)
        if mine is None:
            return False
        for arm in branch.arms:
            footprint = self.order.facts.footprint(arm.head)
            if footprint.effects:
                return False
            if any(a.conflicts(b) for a in mine for b in footprint.accesses):
                return False
        return True

    def _reach(self, call: Leaf, body: tuple[Node, ...], direction: int) -> tuple[int, bool]:
        """In front of which statement of an arm the call goes, and whether it passes work."""
        place, passed = (0 if direction > 0 else len(body)), False
        numbers = range(len(body)) if direction > 0 else reversed(range(len(body)))
        for number in numbers:
            if not self._passes(call, body[number], direction):
                break
            if is_work(body[number], self.messages):
                place, passed = (number + 1 if direction > 0 else number), True
        return place, passed


def _arms(branch: Branch) -> tuple[Arm, ...] | None:
    """The arms that have statements, all paths among them; None: there is one more, and no way to
    write it."""
    arms = branch.arms if branch.kind == "if" else branch.arms[1:]
    kinds = [arm.head.what.kind for arm in arms if isinstance(arm.head.what, ArmHead)]
    if _ELSE[branch.kind] in kinds:
        return arms
    if branch.kind != "if":
        return None
    return (*arms, Arm(branch.end, ()))


def _with_copies(branch: Branch, call: Leaf, places: tuple[int, ...], facts: UnitFacts) -> Branch:
    """The branch with the call in each arm."""
    own = maker_at(branch, facts.located.form, facts.eol)
    first = len(branch.arms) - len(places) if branch.kind != "if" else 0
    filled = [arm.body for arm in branch.arms if arm.body]
    deeper = maker_at(filled[0][0], facts.located.form, facts.eol) if filled else own.inner()
    column = maker_at(call, facts.located.form, facts.eol).column
    another = replace(call, lead=(), trail=facts.eol)
    arms, end = list(branch.arms), branch.end
    for number, place in enumerate(places, first):
        if number == len(arms):  # what stood in front of END IF stays in the arm before
            arms.append(Arm(replace(own.leaf(ArmHead("else")), lead=end.lead), ()))
            end = replace(end, lead=())
        body = arms[number].body
        inside = maker_at(body[0], facts.located.form, facts.eol) if body else deeper
        copy = shifted(another if number > first else call, inside.column - column)
        arms[number] = replace(arms[number], body=(*body[:place], copy, *body[place:]))
    return replace(branch, arms=tuple(arms), end=end)


TRANSFORMATION = Transformation(
    "copies in arms",
    Pass.MOTION,
    Phase.DIVISION,
    "A wait or start that a branch stops goes on in each arm, one copy for each path.",
    check,
    apply,
    in_place=True,
)
