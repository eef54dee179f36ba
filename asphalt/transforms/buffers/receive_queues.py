"""Receive queues: the receives of a loop are posted before it, each into a copy of the buffer.

Before::

    do p = 2, np
      call MPI_Recv(strip, n(p), MPI_REAL, p - 1, 1, comm, status, ierr)
      total(:) = total(:) + strip(:)
    end do

After::

    do p = 2, np
      call asphalt_post(asphalt_queue_1, n(p), MPI_REAL, p - 1, 1, comm)
    end do
    do p = 2, np
      call asphalt_take(asphalt_queue_1, strip)
      total(:) = total(:) + strip(:)
    end do

This is variable cloning, array expansion and loop fission in one (Danalis et al., ICS 2009, section
5): the queue has a copy of the buffer for each message.  ``asphalt_take`` copies what has arrived,
and nothing else, to where the receive would have put it: a message may be shorter than the count,
and then the program reads behind its end what an earlier one has left there (MPI-4.0 section
3.2.4).  So the text of the loop remains as it is, and sums keep their order.  The memory for copies
is limited; a message without a copy is received where it is taken, as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.receive_schedule import (
    EarlyReceives,
    Receive,
    direct_statements,
    early_receives,
)
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.verdicts.block_codes import COPIES, Obstacle, refused_at
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.ir.expr import TypeSpec
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, Call, Decl, DoHead, Entity, Guarded, Jump, Plain, What
from asphalt.ir.tree import Arm, Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.buffers.clones import too_long
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.nonblocking.sides import Side
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.declare import column_of
from asphalt.transforms.rewriting.edit import flat_map, lists_in, rewrite_list
from asphalt.transforms.rewriting.make import Maker, num, var
from asphalt.transforms.rewriting.new_names import next_number
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

QUEUE = "asphalt_queue_"
_TYPE = "asphalt_queue"


@record
class Expand(Step):
    """The receives of the loop at ``position`` of a list are posted before it; ``splits``: each as
    a start and a wait, in their order."""

    path: tuple[int, ...]
    position: int
    ahead: EarlyReceives
    splits: tuple[nonblocking.Split, ...]
    limit: int | None

    @property
    def sides(self) -> tuple[Side, ...]:
        """The operation that each starts, and the status with which it is taken."""
        return tuple(split.sides[0] for split in self.splits)

    @property
    def operations(self) -> tuple[tuple[int, str], ...]:
        """Line and MPI procedure of each receive."""
        return tuple((split.line, split.operation) for split in self.splits)


def check(facts: UnitFacts, limit: int | None = None) -> tuple[Found, ...]:
    """The loops of a unit whose receives can be posted before them.  ``limit``: MiB that copies may
    have; None: what the runtime says."""
    found = _judged(facts, limit)
    return tuple(one for one in found if isinstance(one, Expand))


def refusals(facts: UnitFacts, limit: int | None = None) -> tuple[Refused, ...]:
    """Why the receives of other loops cannot be posted before them, one for each receive."""
    return tuple(one for one in _judged(facts, limit) if isinstance(one, Refused))


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with the receives of one loop posted before it."""
    assert isinstance(step, Expand)
    name = f"{QUEUE}{next_number(facts, QUEUE)}"

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        loop = nodes[step.position]
        assert isinstance(loop, Do)
        posts = _posts(loop, step, name, facts)
        for split, side in zip(step.splits, step.sides, strict=True):
            status = () if side.status is None else (side.status,)
            take = Call(var(side.take), (var(name), side.arguments[0], *status))
            mark = f"asphalt: {split.operation} posted before the loop"
            instead = nonblocking.instead(split, (take,), mark, facts)
            (loop,) = flat_map((loop,), split.leaf, instead)
        return (*nodes[: step.position], posts, loop, *nodes[step.position + 1 :])

    body = rewrite_list(facts.unit.body, (*step.path, 0), change)
    unit = replace(facts.unit, body=body)
    declared = Decl("type", TypeSpec("type", name=_TYPE), (), None, (Entity(name, name, None),))
    names = {_TYPE, "asphalt_post", *(side.take for side in step.sides)}
    return added(unit, facts.located.form, facts.eol, names, (declared,))


def _judged(facts: UnitFacts, limit: int | None) -> tuple[Expand | Refused, ...]:
    """A step for each loop with receives, or a refusal for each of its receives."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    splits = {
        id(step.leaf): step
        for step in facts.once(nonblocking.message_splits)
        if len(step.sides) == 1 and step.sides[0].start == "asphalt_irecv"
    }
    receives = {
        key: Receive(split.leaf, split.call, split.sides[0].arguments[1:])
        for key, split in splits.items()
    }
    found: list[Expand | Refused] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            if not isinstance(node, Do):
                continue
            ahead = early_receives(node, receives, facts, messages, order)
            if isinstance(ahead, EarlyReceives):
                given = tuple(splits[id(one.leaf)] for one in ahead.receives)
                if len(given) > 1:
                    given = tuple(nonblocking.storing_alone(split) for split in given)
                reason = _gainless(node, messages, facts) or _beyond(ahead, facts, limit)
                if reason is None:
                    found.append(_step(node, path, position, ahead, given, limit, facts))
                else:
                    found += _refused(node, Obstacle(COPIES, reason, node.head), receives)
            elif ahead is not None:
                found += _refused(node, ahead, receives)
    return tuple(found)


def _refused(loop: Do, obstacle: Obstacle, receives: Mapping[int, Receive]) -> Iterator[Refused]:
    for leaf in direct_statements(loop.body):
        if id(leaf) in receives:
            yield refused_at(obstacle, obstacle.message, leaf)


def _step(
    loop: Do,
    path: tuple[int, ...],
    position: int,
    ahead: EarlyReceives,
    splits: tuple[nonblocking.Split, ...],
    limit: int | None,
    facts: UnitFacts,
) -> Expand:
    return Expand(
        line_of(loop.head),
        f"the receives of the loop of {facts.at(loop.head)} are posted before it",
        ("neither the loop nor what it receives changes what decides about its receives",),
        path,
        position,
        ahead,
        splits,
        limit,
    )


def _gainless(loop: Do, messages: Messages, facts: UnitFacts) -> str | None:
    """Why nothing could overlap with the messages: the loop only receives them."""
    for node in loop.body:
        for leaf in leaves(node):
            what = leaf.action
            if isinstance(what, DoHead):
                return None
            if leaf.call is not None and messages.call(leaf) is None:
                return None
            if isinstance(what, Assign) and not is_scalar(what.target, facts.scope):
                return None
    return f"{facts.at(loop.head)}: no work in the loop"


def _beyond(ahead: EarlyReceives, facts: UnitFacts, limit: int | None) -> str | None:
    """Why no copy would be made of some message."""
    reasons = (too_long(r.arguments[:2], r.leaf, facts, limit) for r in ahead.receives)
    return next((reason for reason in reasons if reason is not None), None)


def _posts(loop: Do, step: Expand, name: str, facts: UnitFacts) -> Node:
    """The loop that posts the receives, at the column of the other one."""
    last = loop.head.head.rsplit("\n", 1)[-1]
    column = len(last.expandtabs(8)) - (0 if facts.free else 6)
    if last.strip() or column < 0:
        column = column_of(facts.unit, facts.located.form)
    make = Maker(column, step_of(loop, column, facts.free), facts.free, facts.eol)
    bound = () if step.limit is None else (num(step.limit),)
    calls = {
        id(one.leaf): Call(var("asphalt_post"), (var(name), *side.arguments[1:], *bound))
        for one, side in zip(step.ahead.receives, step.sides, strict=True)
    }
    head = loop.head.what
    assert isinstance(head, DoHead)
    what = replace(head, label=None)
    text = "asphalt: all receives of the next loop, each into a buffer of its own"
    body = _only(step.ahead.kept, calls, make.inner())
    return Do(make.leaf(what, text), body, make.leaf(Plain("end do")))


def step_of(loop: Do, column: int, free: bool) -> int:
    """How many columns the body of a loop is indented."""
    inner = next((leaf for node in loop.body for leaf in leaves(node)), None)
    if inner is None or inner.label is not None:
        return 2
    deeper = len(inner.head.rsplit("\n", 1)[-1].expandtabs(8)) - (0 if free else 6) - column
    return deeper if 0 < deeper <= 8 else 2


def _only(nodes: tuple[Node, ...], calls: Mapping[int, Call], make: Maker) -> tuple[Node, ...]:
    """Statements made anew, with other calls for some of them."""
    found: list[Node] = []
    for node in nodes:
        match node:
            case Leaf(what=Guarded() as what) if id(node) in calls:
                found.append(make.leaf(replace(what, action=calls[id(node)])))
            case Leaf() if id(node) in calls:
                found.append(make.leaf(calls[id(node)]))
            case Leaf(what=what):
                found.append(make.leaf(_unnamed(what)))
            case Branch(arms=arms):
                made = tuple(
                    Arm(make.leaf(arm.head.what), _only(arm.body, calls, make.inner()))
                    for arm in arms
                    if isinstance(arm.head.what, ArmHead)
                )
                found.append(Branch("if", made, make.leaf(Plain("end if"))))
    return tuple(found)


def _unnamed(what: What) -> What:
    """A CYCLE or EXIT of the loop around it, which has no name."""
    if isinstance(what, Guarded):
        return replace(what, action=_unnamed(what.action))
    return replace(what, construct=None) if isinstance(what, Jump) else what


TRANSFORMATION = Transformation(
    "receive queues",
    Pass.EXPANSION,
    Phase.STARTS,
    "The receives of a loop are posted before it, each into a copy of the buffer.",
    check,
    apply,
)
