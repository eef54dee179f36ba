"""Branch fission: what starts transfers is separated from what waits for them.

Before::

    if (above /= MPI_PROC_NULL) then
      call asphalt_irecv(north, ..., asphalt_request_1)
      call asphalt_wait(asphalt_request_1, north)
      g(:, 0) = north
    end if

After::

    if (above /= MPI_PROC_NULL) call asphalt_irecv(north, ..., asphalt_request_1)
    if (above /= MPI_PROC_NULL) then
      call asphalt_wait(asphalt_request_1, north)
      g(:, 0) = north
    end if

Statements before the start, such as a loop that fills the buffer of a send, stay in front of it.
A branch whose arm has branches that start transfers is split behind the last one before any wait.
All statements keep their order.  The conditions are evaluated twice, so the first part may write
nothing that they read, and they may call nothing.  By itself this gains nothing; both halves can
now move (Danalis et al., ICS 2009, section 5, "loop fission"; section 4, footnote 2, for calls on
some paths only).
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.messages.messages import Messages, Stage, Way, envelopes_of, stage_of
from asphalt.config.passes import Pass
from asphalt.ir.expr import AltReturn, Expr, Keyword, Op, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Call, Guarded
from asphalt.ir.tree import Arm, Branch, Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.comments import outwards
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, together


@record
class SplitBranch(Step):
    """The branch at ``position`` of a list is split; ``bodies``: the statements of its arms, those
    that start transfers first; ``cuts``: how many of each arm are in the first half."""

    path: tuple[int, ...]
    position: int
    bodies: tuple[tuple[Node, ...], ...]
    cuts: tuple[int, ...]

    @property
    def place(self) -> tuple[int, ...]:
        """The positions that lead to the branch."""
        return (*self.path, self.position)


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The branches of a unit in which a transfer is started and waited for."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            if isinstance(node, Branch) and node.kind == "if":
                bodies = tuple(_starts_first(arm.body, messages, order) for arm in node.arms)
                cuts = tuple(_cut(body, messages) for body in bodies)
                changed = replace(
                    node,
                    arms=tuple(replace(a, body=b) for a, b in zip(node.arms, bodies, strict=True)),
                )
                if (
                    any(cuts)
                    and order.place.bound(node) is None
                    and repeatable(changed, cuts, order)
                ):
                    line, where = line_of(node.arms[0].head), facts.at(node.arms[0].head)
                    does = f"the branch of {where} is split behind the start of a transfer"
                    evidence = ("its first part changes nothing that the conditions read",)
                    step = SplitBranch(line, does, evidence, path, position, bodies, cuts)
                    found.append(step)
    return tuple(found)


def check_innermost(facts: UnitFacts) -> tuple[Found, ...]:
    """Those in which no other branch starts a transfer: what starts and what waits stay beside what
    the branches around them compute."""
    messages = facts.once(Messages)
    return tuple(one for one in check(facts) if not _has_inner_starts(one, messages))


def _has_inner_starts(found: Found, messages: Messages) -> bool:
    return isinstance(found, SplitBranch) and any(
        stage_of(call) is Stage.START
        for body in found.bodies
        for node in body
        if isinstance(node, Branch)
        for _, call in messages.calls(node)
    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one branch split."""
    assert isinstance(step, SplitBranch)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        branch = nodes[step.position]
        assert isinstance(branch, Branch)
        halves = _halves(branch, step.bodies, step.cuts)
        return (*nodes[: step.position], *halves, *nodes[step.position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def _starts_first(
    body: tuple[Node, ...], messages: Messages, order: Independence
) -> tuple[Node, ...]:
    """The statements of an arm with the calls that start transfers as far up as they may be."""
    if not _begins_transfers(body, messages):
        return body  # nothing of it comes into the first half
    found = list(body)
    for number in range(len(found)):
        here = number
        while (
            here > 0
            and messages.only_starts(found[here])
            and not messages.only_starts(found[here - 1])
            and order.why_not(found[here - 1], found[here]) is None
        ):
            found[here - 1 : here + 1] = [found[here], found[here - 1]]
            here -= 1
    return _sends_last(tuple(found), messages, order)


def _sends_last(
    body: tuple[Node, ...], messages: Messages, order: Independence
) -> tuple[Node, ...]:
    """The statements with the waits for sends behind further starts, where no other wait stands
    between, so that these come into the first half, and the sends may go on behind it."""
    found = list(body)
    for number in reversed(range(len(found))):
        if not _only_ends_sends(found[number], messages):
            continue
        ahead: list[int] = []
        for here in range(number + 1, len(found)):
            if any(stage_of(call) is Stage.COMPLETE for _, call in messages.calls(found[here])):
                break
            if messages.only_starts(found[here]):
                ahead.append(here)
        reached = number
        for here in range(number + 1, 1 + max(ahead, default=number)):
            if order.why_not(found[number], found[here]) is not None:
                break
            reached = here if here in ahead else reached
        found.insert(reached, found.pop(number))
    return tuple(found)


def _begins_transfers(body: tuple[Node, ...], messages: Messages) -> bool:
    """Whether a call in an arm starts a transfer, or sends."""
    return any(
        stage_of(call) is Stage.START or any(one.way is Way.OUT for one in envelopes_of(call) or ())
        for node in body
        for _, call in messages.calls(node)
    )


def _cut(body: tuple[Node, ...], messages: Messages) -> int:
    """How many statements of an arm come into the first half: the calls that start transfers with
    which it begins, or else all up to the last start or send in front of the first wait.

    While a receive is under way, that is the first wait for a receive.
    """
    if not _begins_transfers(body, messages):
        return 0
    parts = [{stage_of(call) for _, call in messages.calls(node)} for node in body]
    leading = next((n for n, node in enumerate(body) if not messages.only_starts(node)), 0)
    if leading:
        return leading
    begins = [n for n, node in enumerate(body) if messages.only_starts(node)]
    sends = {n for n, node in enumerate(body) if _only_sends(node, messages)}
    begun = _awaits_another(body, messages)
    first = -1 if begun else next((n for n in begins if n not in sends), len(body))
    ends = {n for n, node in enumerate(body) if n > first and _only_ends_sends(node, messages)}
    waits = [n for n, part in enumerate(parts) if Stage.COMPLETE in part]
    wait = next((n for n in waits if n not in ends), next(iter(waits), 0))
    passed = sends | ends
    if any(parts[n] - {Stage.START, Stage.NOTHING} for n in range(wait) if n not in passed):
        return 0
    last = max((n for n in begins if n < wait), default=-1)
    found = 1 + max((last, *(n for n in sends if n < wait))) if begun or last >= 0 else 0
    return found or _nested_cut(body, parts)


def _nested_cut(body: tuple[Node, ...], parts: list[set[Stage]]) -> int:
    """How many statements come into the first half of an arm whose transfers are started in
    branches: those up to the last one that starts some, in front of all that wait for any."""
    cut = 0
    for number, (node, part) in enumerate(zip(body, parts, strict=True), 1):
        if part - {Stage.START, Stage.NOTHING}:
            return cut
        if Stage.START in part and isinstance(node, Branch):
            cut = number
    return 0


def _awaits_another(body: tuple[Node, ...], messages: Messages) -> bool:
    """Whether a list completes a receive that is started elsewhere."""
    own = {id(leaf) for node in body for leaf in leaves(node)}
    return any(
        id(started.leaf) not in own
        and any(one.way is Way.IN for one in envelopes_of(started.call) or ())
        for node in body
        for leaf, call in messages.calls(node)
        if stage_of(call) is Stage.COMPLETE
        for started in messages.completed_by(leaf) or ()
    )


def _only_sends(node: Node, messages: Messages) -> bool:
    """Whether a statement calls MPI to send, and does nothing else."""
    found = [envelopes_of(call) for _, call in messages.calls(node)]
    return bool(found) and all(
        envelopes and all(one.way is Way.OUT for one in envelopes) for envelopes in found
    )


def _only_ends_sends(node: Node, messages: Messages) -> bool:
    """Whether a statement waits for sends, and does nothing else."""
    call = messages.call(node) if isinstance(node, Leaf) else None
    if not isinstance(node, Leaf) or call is None or stage_of(call) is not Stage.COMPLETE:
        return False
    started = messages.completed_by(node) or ()
    found = [envelope for one in started for envelope in envelopes_of(one.call) or ()]
    return bool(found) and all(one.way is Way.OUT for one in found)


def repeatable(branch: Branch, cuts: tuple[int, ...], order: Independence) -> bool:
    """Whether the conditions have the same values behind the first part, and no side effects."""
    read: list[Access] = []
    for arm in branch.arms:
        footprint = order.facts.footprint(arm.head)
        if footprint.effects or any(access.writes for access in footprint.accesses):
            return False
        if arm.head.name is not None:
            return False
        read += footprint.accesses
    for arm, cut in zip(branch.arms, cuts, strict=True):
        for node in arm.body[:cut]:
            done = order.accesses(node)
            if done is None or any(a.writes and a.meets(b) for a in done for b in read):
                return False
    return True


def _halves(
    branch: Branch, bodies: tuple[tuple[Node, ...], ...], cuts: tuple[int, ...]
) -> tuple[Node, ...]:
    parts = list(zip(branch.arms, bodies, cuts, strict=True))
    first = [Arm(arm.head, body[:cut]) for arm, body, cut in parts]
    second = [Arm(arm.head, body[cut:]) for arm, body, cut in parts]
    second[0] = replace(second[0], head=replace(second[0].head, lead=()))
    for half in (first, second):
        while len(half) > 1 and not half[-1].body:
            half.pop()
    if len(first) == 2 and not first[0].body and _is_else(first[1]):
        first = [_negated(first[0], first[1].body)]
    halves = ((first, replace(branch.end, lead=())), (second, branch.end))
    return tuple(_shortest(replace(branch, arms=tuple(arms), end=end)) for arms, end in halves)


def _is_else(arm: Arm) -> bool:
    return isinstance(arm.head.what, ArmHead) and arm.head.what.kind == "else"


def _condition(arm: Arm) -> Expr:
    assert isinstance(arm.head.what, ArmHead)
    condition = arm.head.what.exprs[0]
    assert not isinstance(condition, Section | Keyword | AltReturn)
    return condition


def _negated(arm: Arm, body: tuple[Node, ...]) -> Arm:
    """The ELSE arm alone, under the opposite condition."""
    opposite = Op(".not.", (Op("()", (_condition(arm),)),))
    head = replace(arm.head, what=ArmHead("if", (opposite,)), body=None, span=None)
    return Arm(head, body)


def _shortest(branch: Branch) -> Node:
    """A branch around one call as ``if (condition) call ...``."""
    arm = branch.arms[0]
    action = arm.body[0] if len(arm.body) == 1 else None
    if len(branch.arms) > 1 or not isinstance(action, Leaf) or not isinstance(action.what, Call):
        return branch
    if branch.end.lead or "!" in arm.head.trail:
        return branch
    guarded = Guarded(_condition(arm), action.what)
    deeper = len(action.head) + action.shift - len(arm.head.head) - arm.head.shift
    lead = (*arm.head.lead, *outwards(action.lead, max(0, deeper)))
    return replace(
        arm.head, what=guarded, body=None, span=action.span, lead=lead, trail=action.trail
    )


TRANSFORMATION = Transformation(
    "branch fission",
    Pass.FISSION,
    Phase.WINDOWS,
    "A branch is split between what starts transfers and what waits for them.",
    together(check),
    apply,
    in_place=True,
)

INNERMOST = replace(TRANSFORMATION, check=together(check_innermost))
"""The same, for branches in which no other one starts a transfer."""
