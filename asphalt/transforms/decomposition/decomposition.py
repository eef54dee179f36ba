"""Collective decomposition: a collective operation becomes messages, one for each block.

Before::

    call MPI_Alltoall(s, n, MPI_REAL, r, n, MPI_REAL, comm, ierr)
    do p = 1, np
      ...                              ! uses r(:, p) and no other column
    end do

After::

    call asphalt_alltoall_blocks(s, n, MPI_REAL, r, n, MPI_REAL, comm, asphalt_blocks_1)
    do asphalt_turn_1 = 1, np
      p = asphalt_to_take(asphalt_blocks_1, asphalt_turn_1, 1, np, 1)
      call asphalt_await_block(asphalt_blocks_1, p - 1, r)
      ...
    end do
    call asphalt_finish_blocks(asphalt_blocks_1, s, r)

When all steps are done, the runtime counts the turns (``block_iterators``)::

    do while (asphalt_next_to_take(asphalt_blocks_1, p, 1, np, 1))
      call asphalt_await_block(asphalt_blocks_1, p - 1, r)
      ...
    end do

The work on one block then overlaps with the messages of the others (Danalis et al., ICS 2009,
section 5, "collective decomposition").  The non-blocking form of the operation overlaps only with
work that uses no block at all.  A loop before the call that fills one block in each iteration sends
the block there.  Where all ranks work on blocks, each begins with another block, so that not all
wait for the same rank; that requires independent iterations.  A loop that fills blocks from others,
as one with a running position, and the loop of a root keep their order.  Where the loop that fills
the blocks reads what the operation will overwrite, the receives start where the call stood.

The blocks of a broadcast are the planes of its buffer.  Each rank sends on what it has received, to
the next rank or along a binomial tree, whichever the runtime finds faster; the work on the
first planes overlaps with the messages of the others.

The blocks of ``MPI_Alltoallw`` have displacements in bytes and datatypes that only the run knows.
So its loops fill and use planes, too: the runtime sends a block when all planes that it
touches are filled, and waits for all blocks that touch a plane.  Where the operation cannot become
one non-blocking operation, it becomes messages to overlap with work that uses no block, too.

All ranks come to the call together, which ``nonblocking`` has proved, and nothing between start and
end waits for another message; so all messages are received, however late.
``schedule.check_blocks`` checks their protocol first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.conditions.pairing import PROTOCOL
from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.permutable_loops import region_of
from asphalt.analysis.dependence.vector_rounding import why_other_digits
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import mpi_constant
from asphalt.analysis.schedule.blocks import Pattern
from asphalt.analysis.schedule.check import ProtocolError
from asphalt.analysis.schedule.check_blocks import check_blocks, check_spread
from asphalt.analysis.tiling.block_loops import Worker
from asphalt.analysis.verdicts.block_codes import Obstacle, refused_at
from asphalt.analysis.verdicts.splitting_codes import DIGITS
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.assumptions import BITS
from asphalt.config.passes import Pass
from asphalt.ir.expr import Arg, Expr, Keyword, Lit, Ref, TypeSpec
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, Call, Decl, DoHead, Entity
from asphalt.ir.tree import Branch, Do, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.decomposition.divided_call import OPERATIONS, Divided, DividedCall
from asphalt.transforms.motion.windows import takes_time
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.make import add, fn, maker_at, num, sub, var
from asphalt.transforms.rewriting.new_names import next_number
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

VARIABLE = "asphalt_blocks_"
TURN = "asphalt_turn_"
_TYPE = "asphalt_blocks"
_FINISH = "asphalt_finish_blocks"
_OWN = "asphalt_"


@record
class DecompositionStep:
    """The call at ``position`` of the list that ``path`` leads to becomes messages.  ``split``: how
    it would start as one operation.  ``divided``: the loops over its blocks."""

    path: tuple[int, ...]
    position: int
    split: nonblocking.Split
    divided: Divided

    @property
    def overlaps(self) -> tuple[str, ...]:
        """The loops whose work overlaps with the messages, by their first lines."""
        return tuple(
            " ".join((worker.loop.head.body or "").replace("&", " ").split())
            for worker in self.divided.workers
        )

    @property
    def begin(self) -> int:
        """The position of the first statement that changes."""
        return self.position if self.divided.producer is None else self.divided.producer[0]


@record
class Decompose(Step):
    """Some calls become messages; none of them stands between start and end of another."""

    parts: tuple[DecompositionStep, ...]


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The step for all collective operations of a unit that can become messages and overlap with
    the work on their blocks; (): there are none."""
    parts = parts_of(facts)
    if not parts:
        return ()
    if len(parts) > 1:
        parts = tuple(replace(p, split=nonblocking.storing_alone(p.split)) for p in parts)
    names = ", ".join(f"{part.split.operation} of {facts.at(part.split.leaf)}" for part in parts)
    evidence = dict.fromkeys(text for part in parts for text in _evidence(part, facts))
    does = f"one message for each block: {names}"
    return (Decompose(parts[0].split.line, does, tuple(evidence), parts),)


def parts_of(facts: UnitFacts) -> tuple[DecompositionStep, ...]:
    """The calls of that step."""
    return _apart(one for one in facts.once(_judged) if isinstance(one, DecompositionStep))


def hidden_work(facts: UnitFacts) -> int:
    """How many loops, calls and array statements stand between starts and ends of decomposed
    operations."""
    messages = facts.once(Messages)
    found = 0
    for _, siblings in lists_in(facts.unit.body):
        begins: dict[str, int] = {}
        for place, node in enumerate(siblings):
            call = node.call if isinstance(node, Leaf) else None
            if call is None or not isinstance(call.procedure, Ref):
                continue
            names = [a.name for a in call.args if isinstance(a, Ref)]
            own = [name for name in names if name.startswith(VARIABLE)]
            if own and call.procedure.name == _FINISH:
                inside = siblings[begins.get(own[0], place) : place]
                found += sum(_is_work(leaf, messages) for n in inside for leaf in leaves(n))
            elif own:
                begins.setdefault(own[0], place)
    return found


def _is_work(leaf: Leaf, messages: Messages) -> bool:
    call = leaf.call
    callee = None if call is None else call.procedure
    own = isinstance(callee, Ref) and callee.name.startswith(_OWN)
    return takes_time(leaf, messages) and not own


def refusals(facts: UnitFacts) -> tuple[Refused, ...]:
    """Why other collective operations are not decomposed; one of a scalar has no blocks."""
    scalars = {
        leaf.span
        for leaf, call in facts.once(Messages).own_calls()
        for parameter, argument in call.bound()
        if parameter.kind == "BUFFER" and isinstance(argument, Ref) and argument.args is None
        if mpi_constant(argument, facts.scope) is None and is_scalar(argument, facts.scope)
    }
    found = (one for one in facts.once(_judged) if isinstance(one, Refused))
    return tuple(one for one in found if one.span not in scalars)


def _judged(facts: UnitFacts) -> tuple[DecompositionStep | Refused, ...]:
    order = facts.once(Independence.of)
    splits = {
        id(one.leaf): one
        for one in facts.once(nonblocking.splits)
        if isinstance(one, nonblocking.Split)
        and one.call.procedure.collective
        and not any(side.in_place for side in one.sides)
    }
    found: list[DecompositionStep | Refused] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            split = splits.get(id(node))
            if split is None:
                continue
            call = DividedCall(facts, order, siblings, position, split.call)
            divided = call.found(beside=split.not_whole is not None)
            if isinstance(divided, Divided):
                fault = _fault(call, divided)
                if fault is not None:
                    divided = Obstacle(PROTOCOL, str(fault), split.leaf)
            if isinstance(divided, Divided):
                digits = _other_digits(divided, facts)
                if digits is not None and _is_accepted(digits, split, facts):
                    split = replace(split, assumed=tuple({*split.assumed, BITS.word}))
                elif digits is not None:
                    divided = digits
            if isinstance(divided, Divided):
                found.append(DecompositionStep(path, position, split, divided))
            elif divided is not None:
                found.append(_refused(split, divided))
    return tuple(found)


def _other_digits(divided: Divided, facts: UnitFacts) -> Obstacle | None:
    """Why a loop may compute other last digits when its iterations send or receive: compilers do
    not vectorise it any more."""
    for loop in (worker.loop for worker in divided.workers):
        digits = why_other_digits((loop,), loop.body, facts, region_of(loop, facts))
        if digits is not None:
            inside = any(
                isinstance(leaf.what, DoHead | Call) for n in loop.body for leaf in leaves(n)
            )
            is_so = (
                "may be vectorised, once what is in it is inlined and unrolled,"
                if inside
                else "is innermost"
            )
            message = f"the loop of {facts.at(loop.head)} {is_so} and evaluates {digits}"
            return Obstacle(DIGITS, message, loop.head, BITS.word)
    return None


def _is_accepted(digits: Obstacle, split: nonblocking.Split, facts: UnitFacts) -> bool:
    leading = (split.leaf, digits.leaf or split.leaf)
    return any(is_accepted_at(BITS, leaf, facts) for leaf in leading)


def _fault(call: DividedCall, divided: Divided) -> ProtocolError | None:
    """What is wrong with the messages of a call beside these loops."""
    fills, uses = divided.producer is not None, divided.consumer is not None
    out, into = OPERATIONS[call.call.procedure.name]
    if out is not None and out is into:
        return check_spread(fills=fills, uses=uses)
    pattern = Pattern.ALL
    if call.rooted:
        pattern = Pattern.GATHER if out is None else Pattern.SCATTER
    planes = any(cut is not None and cut.planes for cut in (out, into))
    return check_blocks(pattern, fills=fills, uses=uses, planes=planes, late=divided.late)


def _refused(split: nonblocking.Split, obstacle: Obstacle) -> Refused:
    message = f"it is not decomposed: {obstacle.message}"
    return refused_at(obstacle, message, split.leaf)


def _apart(parts: Iterable[DecompositionStep]) -> tuple[DecompositionStep, ...]:
    """Those of which none begins before the end of another in its list: a loop that uses the blocks
    of one operation and fills those of the next belongs to the first."""
    found: list[DecompositionStep] = []
    for part in parts:
        ends = [other.divided.end for other in found if other.path == part.path]
        last = max(ends, default=-1)
        if part.begin <= last and part.divided.consumer is not None:
            part = replace(part, divided=replace(part.divided, producer=None))
        if part.begin > last:
            found.append(part)
    return tuple(found)


def _evidence(part: DecompositionStep, facts: UnitFacts) -> tuple[str, ...]:
    workers = part.divided.workers
    own = tuple(f"each iteration of {facts.at(w.line)} is about one block alone" for w in workers)
    return (*part.split.evidence, *own)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with these collective operations decomposed."""
    assert isinstance(step, Decompose)
    first, turn = next_number(facts, VARIABLE), f"{TURN}{next_number(facts, TURN)}"
    body, names = facts.unit.body, set[str]()
    numbered = tuple(enumerate(step.parts, first))
    # inner lists first, and of each the last call first, so that positions stay
    for number, part in sorted(numbered, key=lambda n: (-len(n[1].path), -n[1].position)):
        made = _Made(facts, part, var(f"{VARIABLE}{number}"), turn)
        body = rewrite_list(body, (*part.path, 0), made.siblings)
        names |= made.names
    variables = [f"{VARIABLE}{number}" for number, _ in numbered]
    entities = tuple(Entity(name, name, None) for name in variables)
    declared = [Decl("type", TypeSpec("type", name=_TYPE), (), None, entities)]
    if turn in names:
        declared.append(Decl("type", TypeSpec("integer"), (), None, (Entity(turn, turn, None),)))
    unit, form = replace(facts.unit, body=body), facts.located.form
    return added(unit, form, facts.eol, {_TYPE, *names} - {turn}, declared)


class _Made:
    """The statements of one call; ``names``: those that they use."""

    def __init__(self, facts: UnitFacts, part: DecompositionStep, blocks: Expr, turn: str) -> None:
        self.facts = facts
        self.part = part
        self.blocks = blocks
        self.turn = turn
        self.names: set[str] = set()
        (side,) = part.split.sides
        self.arguments = (*side.arguments, *part.divided.planes)
        self.buffers = side.buffers
        self.name = side.start.replace("asphalt_i", "asphalt_", 1) + "_blocks"
        self.mark = f"asphalt: {part.split.operation} in messages, one for each block"

    def siblings(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The list with the call in it."""
        divided, position = self.part.divided, self.part.position
        new: list[Node] = []
        for number, node in enumerate(nodes):
            if divided.producer is not None and number == divided.producer[0]:
                make = maker_at(node, self.facts.located.form, self.facts.eol)
                true = Lit("logical", ".true.")
                later = [Keyword("later", "later", true)]
                if divided.late:
                    later.append(Keyword("receives_later", "receives_later", true))
                what = self._call(self.name, *self.arguments, self.blocks, *later)
                new += (make.leaf(what, self.mark), self._with(node, divided.producer[1], True))
            elif number == position:
                assert isinstance(node, Leaf)
                new += self._instead(node)
            elif divided.consumer is not None and number == divided.consumer[0]:
                new.append(self._with(node, divided.consumer[1], False))
            else:
                new.append(node)
            if number == divided.end:
                make = maker_at(nodes[position], self.facts.located.form, self.facts.eol)
                finish = self._call(_FINISH, self.blocks, *self.buffers)
                new.append(make.leaf(finish))
        return tuple(new)

    def _call(self, name: str, *arguments: Arg) -> Call:
        self.names.add(name)
        return Call(var(name), arguments)

    def _instead(self, leaf: Leaf) -> tuple[Node, ...]:
        if self.part.divided.producer is None:
            mark, what = self.mark, self._call(self.name, *self.arguments, self.blocks)
        else:
            mark = f"asphalt: blocks of {self.part.split.operation} that are not sent yet"
            what = self._call("asphalt_send_blocks", self.blocks, *self.buffers)
        return nonblocking.instead(self.part.split, (what,), mark, self.facts)(leaf)

    def _with(self, node: Node, worker: Worker, sends: bool) -> Node:
        """A node with the loop in it changed."""
        match node:
            case Do() if node is worker.loop:
                return self._loop(node, worker, sends)
            case Branch(arms=arms):
                return replace(
                    node,
                    arms=tuple(
                        replace(a, body=tuple(self._with(n, worker, sends) for n in a.body))
                        for a in arms
                    ),
                )
        return node

    def _loop(self, loop: Do, worker: Worker, sends: bool) -> Do:
        head = loop.head.what
        assert isinstance(head, DoHead)
        assert head.var is not None
        make = maker_at(loop.body[0], self.facts.located.form, self.facts.eol)
        rank = _plus(head.var, worker.offset)
        if sends:
            send = self._call("asphalt_send_block", self.blocks, rank, self.buffers[0])
            body: tuple[Node, ...] = (*loop.body, make.leaf(send))
        else:
            take = self._call("asphalt_await_block", self.blocks, rank, self.buffers[-1])
            body = (make.leaf(take), *loop.body)
        if not worker.rotated:
            return replace(loop, body=body)
        assert head.first is not None
        assert head.last is not None
        function = "asphalt_to_send" if sends else "asphalt_to_take"
        self.names |= {function, self.turn}
        zero = num(-worker.offset)
        value = fn(function, self.blocks, var(self.turn), head.first, head.last, zero)
        turned = rewrite(loop.head, replace(head, var=var(self.turn)))
        return Do(turned, (make.leaf(Assign(head.var, value)), *body), loop.end)


def _plus(variable: Expr, offset: int) -> Expr:
    if offset == 0:
        return variable
    return add(variable, num(offset)) if offset > 0 else sub(variable, num(-offset))


TRANSFORMATION = Transformation(
    "collective decomposition",
    Pass.DECOMPOSITION,
    Phase.STARTS,
    "A collective operation becomes messages, one for each block.",
    check,
    apply,
)
