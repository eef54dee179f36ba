"""Loop unrolling: a loop that only communicates becomes its iterations.

Before::

    do axis = 1, 2
      if (.not. exchanged(axis)) cycle
      call ready(axis, -1)
    end do

After::

    if (exchanged(1)) then
      call ready(1, -1)
    end if
    if (exchanged(2)) then
      call ready(2, -1)
    end if
    axis = 3

Transfers of different iterations can then move apart (Danalis et al., ICS 2009, section 5,
"preliminary transformations").  Conditions:

- All bounds are constants, and there are at most eight iterations.
- The body only calls MPI, procedures that communicate, copy or count, assigns scalars, and branches
  by IF.
- No computation is written twice, not in called procedures either, except copies from and to
  buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.call_graph.call_sites import UnitKey, unit_key
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.constant_conditions import ConstantConditions
from asphalt.analysis.data_flow.short_calls import only_counts
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.exchange.site import statements
from asphalt.analysis.inlining.procedure import calls_of, communicates, is_transfer
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.compile_time_errors import may_fail
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.references import actions
from asphalt.analysis.names.scopes import Origin, Scopes
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr, Lit, Op, Ref, num
from asphalt.ir.mapped import NotMappedError, mapped_what
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import ArmHead, Assign, Call, DoHead, Guarded, Jump, JumpKind, Plain, What
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.comments import comments_inside, in_front
from asphalt.transforms.rewriting.edit import column, map_leaves, rewrite_list, shifted
from asphalt.transforms.rewriting.make import maker_at
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

MOST = 8
"""Iterations that are written one after the other."""


@record
class Unroll(Step):
    """The loop that ``path`` leads to; ``copies``: the statements of each iteration, ``last``: the
    value of the variable after the loop."""

    path: tuple[int, ...]
    loop: Do
    copies: tuple[tuple[Node, ...], ...]
    last: int


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The loops of a unit that can be unrolled, the innermost first."""
    found = [
        step
        for path, loop in _loops(facts.unit.body, ())
        if (step := _step(facts, path, loop)) is not None
    ]
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with a loop replaced by its iterations."""
    assert isinstance(step, Unroll)
    head = step.loop.head
    assert isinstance(head.what, DoHead)
    assert isinstance(head.what.var, Ref)
    make = maker_at(step.loop, facts.located.form, facts.eol)
    nodes = [node for copy in step.copies for node in copy]
    nodes.append(make.assign(head.what.var, num(step.last)))
    mark = make.comment(f"asphalt: the loop over {head.what.var.spelled} is unrolled")
    nodes[0] = in_front(nodes[0], (*head.lead, mark))
    position = step.path[-1]

    def change(siblings: tuple[Node, ...]) -> tuple[Node, ...]:
        return (*siblings[:position], *nodes, *siblings[position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, step.path, change))


def _loops(nodes: tuple[Node, ...], path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Do]]:
    for place, node in enumerate(nodes):
        match node:
            case Do(body=body):
                yield from _loops(body, (*path, place))
                yield (*path, place), node
            case Branch(arms=arms):
                for which, arm in enumerate(arms):
                    yield from _loops(arm.body, (*path, place, which))


def _step(facts: UnitFacts, path: tuple[int, ...], loop: Do) -> Unroll | None:
    head = loop.head.what
    if not isinstance(head, DoHead) or head.kind != "count" or not isinstance(head.var, Ref):
        return None
    if not _only_communicates(facts, loop) or not _is_plain(facts, head.var):
        return None
    values = _values(facts, loop, head)  # dear: most loops compute
    if values is None or not _is_movable(loop) or _changes(facts, loop, head.var.name):
        return None
    *turns, last = values
    body = _without_cycles(loop.body)
    if body is None or any(may_fail(w, head.var.name, facts.scope) for w in _conditional(body)):
        return None
    try:
        copies = tuple(_copy(facts, loop, body, head.var.name, value) for value in turns)
    except NotMappedError:
        return None
    does = f"the loop in {facts.at(loop.head)} becomes its {len(turns)} iterations"
    evidence = (
        f"{head.var.spelled} runs over constants, and nothing in the loop changes it",
        "the loop only communicates",
    )
    return Unroll(line_of(loop.head), does, evidence, path, loop, copies, last)


def _conditional(nodes: tuple[Node, ...]) -> Iterator[What]:
    """The statements that some iterations may not come to."""
    for node in nodes:
        match node:
            case Leaf(what=Guarded(action=action)):
                yield action
            case Branch(arms=arms):
                yield from (leaf.what for arm in arms for n in arm.body for leaf in leaves(n))


def _values(facts: UnitFacts, loop: Do, head: DoHead) -> list[int] | None:
    """The values of the variable, and that after the last iteration (F2018 11.1.7.4)."""
    truth = ConstantConditions(facts.scope, facts.values)
    parts = (head.first, head.last, head.step or Lit("integer", "1"))
    known = [None if part is None else truth.integer(part, loop.head) for part in parts]
    first, last, step = known
    if first is None or last is None or not step:
        return None
    turns = max(0, (last - first + step) // step)
    if not 1 <= turns <= MOST:
        return None
    return [first + step * turn for turn in range(turns + 1)]


def _is_plain(facts: UnitFacts, var: Ref) -> bool:
    """Whether nothing but the unit's own statements sees the variable of a loop, which has none of
    its values any more while its iterations are executed."""
    symbol = facts.scope.lookup(var.name)
    return (
        symbol is not None
        and symbol.origin in (Origin.LOCAL, Origin.DUMMY)
        and symbol.dims is None
        and symbol.type is not None
        and symbol.type.base == "integer"
        and symbol.type.kind is None
        and not symbol.equivalenced
        and not symbol.attrs & {"pointer", "target", "volatile"}
        and not named_inside(var.name, facts.scope)
    )


def _only_communicates(facts: UnitFacts, loop: Do) -> bool:
    scopes = facts.effects.scopes
    transfers = False
    for node in loop.body:
        for leaf in leaves(node):
            for what in actions(leaf.what):
                match what:
                    case Call():
                        if mpi_call(what, facts.scope) is not None:
                            transfers = transfers or is_transfer(what, facts.scope)
                            continue
                        if only_counts(leaf, facts):
                            continue
                        target = invoked(what, facts.scope)
                        if target is None:
                            return False
                        if not communicates(target[0], scopes):
                            if not _only_copies(target[0], scopes):
                                return False
                            continue
                        if _computes(target[0], scopes, frozenset()):
                            return False
                        transfers = True
                    case Assign(target=target, pointer=False):
                        if not _is_scalar(facts, target):
                            return False
                    case ArmHead(kind="if" | "else_if" | "else"):
                        pass
                    case ArmHead(kind="select_case" | "case" | "case_default"):
                        pass
                    case Guarded(kind="if") | Plain(keyword="end if" | "end select" | "continue"):
                        pass
                    case Jump(kind=JumpKind.CYCLE, construct=None):
                        pass
                    case _:
                        return False
    return transfers


def _only_copies(located: Located, scopes: Scopes) -> bool:
    """Whether a procedure only copies to elements of arrays, and sets scalars for that."""
    scope = scopes.of(located)
    for node in located.unit.body:
        for leaf in leaves(node):
            for what in actions(leaf.what):
                match what:
                    case Assign(target=Ref(), value=Lit() | Ref(args=None), pointer=False):
                        pass
                    case Assign(target=Ref(args=tuple()), value=Ref(name=name), pointer=False):
                        symbol = scope.lookup(name)
                        if symbol is None or symbol.dims is None:
                            return False
                    case Assign(target=Ref(name=name, args=None), pointer=False):
                        symbol = scope.lookup(name)
                        if symbol is None or symbol.dims is not None:
                            return False
                    case DoHead() | ArmHead() | Plain() | Guarded() | Jump(kind=JumpKind.RETURN):
                        pass
                    case _:
                        return False
    return True


def _computes(located: Located, scopes: Scopes, seen: frozenset[UnitKey]) -> bool:
    """Whether loops of a procedure, or of one that it calls, do more than copy to arrays."""
    key = unit_key(located)
    if key in seen:
        return False
    loops = (loop for node in located.unit.body for loop in _all_loops(node))
    if any(
        isinstance(what, Assign)
        and isinstance(what.target, Ref)
        and what.target.args is not None
        and isinstance(what.value, Op)
        for loop in loops
        for leaf in leaves(loop)
        for what in actions(leaf.what)
    ):
        return True
    scope = scopes.of(located)
    called = (invoked(call, scope) for call in calls_of(located.unit))
    return any(
        target is not None and _computes(target[0], scopes, seen | {key}) for target in called
    )


def _all_loops(node: Node) -> Iterator[Do]:
    match node:
        case Do():
            yield node
        case Branch(arms=arms):
            yield from (loop for arm in arms for n in arm.body for loop in _all_loops(n))
        case Block(body=body):
            yield from (loop for n in body for loop in _all_loops(n))


def _is_scalar(facts: UnitFacts, target: Expr) -> bool:
    if not isinstance(target, Ref):
        return False
    symbol = facts.scope.lookup(target.name)
    if symbol is None or (symbol.dims is not None) != (target.args is not None):
        return False
    return is_scalar(target, facts.scope)


def _is_movable(loop: Do) -> bool:
    """Whether the loop can be written several times: no labels, names, directives, shared lines."""
    own = tuple(leaves(loop))
    for leaf in own:
        if leaf.frozen or leaf.joined or leaf.span is None or ";" in leaf.trail.split("!")[0]:
            return False
        if leaf.name is not None or (leaf.label is not None and leaf is not loop.end):
            return False
        if any(e.kind not in (TriviaKind.BLANK, TriviaKind.COMMENT) for e in leaf.lead):
            return False
    return loop.end is not None


def _changes(facts: UnitFacts, loop: Do, name: str) -> bool:
    """Whether the body changes the variable, or hands it to MPI as a buffer."""
    storage = storage_of(name, facts.scope)
    for node in loop.body:
        if facts.footprint(node).may_write(storage):
            return True
    for leaf, _ in statements(loop.body):
        for what in actions(leaf.what):
            call = mpi_call(what, facts.scope) if isinstance(what, Call) else None
            for parameter, actual in call.bound() if call is not None else ():
                own = isinstance(actual, Ref) and actual.name == name
                if own and (parameter.kind == "BUFFER" or parameter.defined):
                    return True
    return False


def _without_cycles(nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """The statements without CYCLE: what stands behind ``if (c) cycle`` is done if not c."""
    for place, node in enumerate(nodes):
        if not any(_cycles(what) for leaf in leaves(node) for what in actions(leaf.what)):
            continue
        rest = _without_cycles(nodes[place + 1 :])
        if not isinstance(node, Leaf) or not isinstance(node.what, Guarded) or rest is None:
            return None
        if not rest:
            return nodes[:place]
        condition = _negated(node.what.condition)
        head = replace(node, what=ArmHead("if", (condition,)), body=None)
        end = Leaf(Plain("end if"), head=node.head)
        inner = tuple(shifted(child, 2) for child in rest)
        return (*nodes[:place], Branch("if", (Arm(head, inner),), end))
    return nodes


def _cycles(what: What) -> bool:
    return isinstance(what, Jump) and what.kind is JumpKind.CYCLE


def _negated(condition: Expr) -> Expr:
    match condition:
        case Op(op=".not.", operands=(Ref() | Op(op="()") as inner,)):
            return inner
        case Ref():
            return Op(".not.", (condition,))
    return Op(".not.", (Op("()", (condition,)),))


def _copy(
    facts: UnitFacts, loop: Do, body: tuple[Node, ...], name: str, value: int
) -> tuple[Node, ...]:
    """One iteration."""
    constant = num(value)

    def change(ref: Ref) -> Expr | None:
        return constant if ref.name == name and ref.args is None else None

    def leaf_of(leaf: Leaf) -> Leaf:
        what = mapped_what(leaf.what, change)
        if what == leaf.what:
            return leaf
        inside = comments_inside(leaf, facts.free, facts.eol)
        return replace(leaf, what=what, body=None, lead=(*leaf.lead, *inside))

    columns = column(loop.head) - column(next(iter(leaves(body[0])))) if facts.free else 0
    return tuple(shifted(map_leaves(node, leaf_of), columns) for node in body)


TRANSFORMATION = Transformation(
    "loop unrolling",
    Pass.UNROLLING,
    Phase.PREPARATION,
    "A loop with few iterations that only communicates is unrolled.",
    check,
    apply,
)
