"""Sends first: a branch that also takes messages from a queue is split behind all that it sends.

Before::

    if (me == 0) then
      do p = 2, np
        call asphalt_take(asphalt_queue_1, row)
        total = total + sum(row)
      end do
    else
      call MPI_Send(row, n, MPI_REAL, 0, 1, comm, ierr)
    end if

After::

    if (.not. (me == 0)) then
      call MPI_Send(row, n, MPI_REAL, 0, 1, comm, ierr)
    end if
    if (me == 0) then
      do p = 2, np
        call asphalt_take(asphalt_queue_1, row)
        total = total + sum(row)
      end do
    end if

As for ``branch_fission``, all statements keep their order, and the conditions are evaluated twice.
The messages can then be taken later (``later_receives``), and no rank waits longer for what is
sent.
"""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.config.passes import Pass
from asphalt.ir.tree import Branch, Do, Node
from asphalt.transforms.loops import branch_fission
from asphalt.transforms.loops.rotation import works_first
from asphalt.transforms.motion.later_receives import posts_or_sends, takes
from asphalt.transforms.rewriting.edit import lists_in
from asphalt.transforms.rewriting.step import Found, Phase, Transformation


def loops(facts: UnitFacts) -> tuple[tuple[int, ...], ...]:
    """The loops that take messages from queues and begin with work that could come before that: the
    path of each in the unit, the innermost ones first."""
    return tuple(place for place, _ in facts.once(_loops))


def check(facts: UnitFacts, loop: tuple[int, ...] | None = None) -> tuple[Found, ...]:
    """The branches of a unit that take messages behind what they send, in loops that begin with
    work that could come in between.  ``loop``: only those in this loop, and in no loop inside of
    it."""
    messages, order = facts.once(Messages), facts.once(Independence.of)
    bodies_of = (node.body for place, node in facts.once(_loops) if loop in (None, place))
    inside = {id(branch) for body in bodies_of for branch in _branches(body)}
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            if not isinstance(node, Branch) or id(node) not in inside:
                continue
            cuts = _cuts(node, messages)
            if (
                any(cuts)
                and order.place.bound(node) is None
                and branch_fission.repeatable(node, cuts, order)
            ):
                line, where = line_of(node.arms[0].head), facts.at(node.arms[0].head)
                does = f"the branch of {where} is split behind what it sends"
                evidence = ("its first part changes nothing that the conditions read",)
                bodies = tuple(arm.body for arm in node.arms)
                found.append(
                    branch_fission.SplitBranch(line, does, evidence, path, position, bodies, cuts)
                )
    return tuple(found)


apply = branch_fission.apply


def _cuts(branch: Branch, messages: Messages) -> tuple[int, ...]:
    """How many statements of each arm are needed for all that it sends; (): nothing is taken behind
    these, or nothing is sent."""
    if branch.kind != "if":
        return ()
    cuts = tuple(
        1 + max((n for n, x in enumerate(arm.body) if posts_or_sends(x, messages)), default=-1)
        for arm in branch.arms
    )
    rest = (n for arm, cut in zip(branch.arms, cuts, strict=True) for n in arm.body[cut:])
    return cuts if any(takes(node, messages) for node in rest) else ()


def _loops(facts: UnitFacts) -> tuple[tuple[tuple[int, ...], Do], ...]:
    """The loops that begin with work and take messages from queues, each with its path."""
    messages = facts.once(Messages)
    if not any(call.queue for _, call in messages.own_calls()):
        return ()
    return tuple(
        ((*path, position), node)
        for path, siblings in lists_in(facts.unit.body)
        for position, node in enumerate(siblings)
        if isinstance(node, Do) and takes(node, messages) and works_first(node, facts)
    )


def _branches(nodes: tuple[Node, ...]) -> tuple[Branch, ...]:
    """The branches of a list, and of their arms, that are in no loop of it."""
    own = (node for node in nodes if isinstance(node, Branch))
    return tuple(
        inner
        for branch in own
        for inner in (branch, *(b for arm in branch.arms for b in _branches(arm.body)))
    )


TRANSFORMATION = Transformation(
    "sends first",
    Pass.FISSION,
    Phase.ITERATIONS,
    "A branch that also takes messages from a queue is split behind all that it sends.",
    check,
    branch_fission.apply,
)
