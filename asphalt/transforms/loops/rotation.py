"""Loop rotation: the work that begins an iteration is done at the end of the one before.

Before::

    do step = 1, steps
      call smooth(step, r, u)
      call exchange(u)
      call smooth(step, u, r)
      call exchange(r)
    end do

After::

    if (1 <= steps) call smooth(1, r, u)
    do step = 1, steps
      call exchange(u)
      call smooth(step, u, r)
      call exchange(r)
      if (step < steps) call smooth(step + 1, r, u)
    end do

All statements are executed in the same order; only the border between iterations moves.  The
transfers at the end of an iteration then have the work of the next one below them, which can move
into their windows (Danalis et al., ICS 2009, section 5, "loop peeling"; software pipelining with
one stage, Lam, PLDI 1988).  By itself this gains nothing.

An iteration that ends with messages taken from a queue is rotated in the same way, although the
next iteration posts receives before its work: the work is independent of these.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.control_flow.loop_continuation import continuation_condition, if_condition
from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.permutable_loops import region_of
from asphalt.analysis.dependence.vector_rounding import inexact
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.messages.messages import Messages, Way, envelopes_of
from asphalt.analysis.names.compile_time_errors import is_constant, may_fail
from asphalt.analysis.symbolic.polynomials import poly
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr, Lit, Op, Ref, names_in, walk
from asphalt.ir.mapped import NotMappedError, mapped_what
from asphalt.ir.records import record
from asphalt.ir.source import Trivia
from asphalt.ir.stmt import Call, DoHead, Guarded
from asphalt.ir.tree import Do, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.buffers.allocation_hoisting import leaves_early
from asphalt.transforms.buffers.loop_invariants import UNSEEN
from asphalt.transforms.loops.index_set_splitting import MOST_STATEMENTS, has_plain_bounds
from asphalt.transforms.motion.later_receives import takes_at
from asphalt.transforms.motion.windows import NEXT, is_work
from asphalt.transforms.rewriting.comments import comments_inside, in_front
from asphalt.transforms.rewriting.edit import column, lists_in, map_leaves, rewrite_list
from asphalt.transforms.rewriting.indentation import further_in
from asphalt.transforms.rewriting.make import add, compare, maker_at, num, size
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_FIRST = "asphalt: what begins the first iteration; later ones have it at the end of the one before"


@record
class Rotate(Step):
    """The statements at ``places`` move to the end of the loop at ``position`` of a list; they
    begin its body, except for statements that they may pass."""

    path: tuple[int, ...]
    position: int
    places: tuple[int, ...]


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The loops of a unit that begin with work, and end with receives without work behind them."""
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            places = tuple(range(_work_first(node, facts))) if isinstance(node, Do) else ()
            if isinstance(node, Do) and places and _can_be_rotated(node, places, facts):
                evidence = ("all statements are executed in the same order",)
                found.append(_step(node, path, position, places, facts, evidence))
    return tuple(found)


def before_takes(facts: UnitFacts) -> tuple[Found, ...]:
    """The loops of a unit that begin with work, or with receives that are posted and work, and end
    with statements that take messages from queues; for each, with as much of that work as possible
    first, then with less."""
    messages = facts.once(Messages)
    evidence = (
        "all statements are executed in the same order",
        "but for receives that are posted in front of the work, which is independent of them",
    )
    return tuple(
        _step(node, path, position, places, facts, evidence)
        for path, siblings in lists_in(facts.unit.body)
        for position, node in enumerate(siblings)
        if isinstance(node, Do) and takes_at(node.body, messages) is not None
        for places in works_first(node, facts)
    )


def works_first(loop: Do, facts: UnitFacts) -> tuple[tuple[int, ...], ...]:
    """The places of the work at the beginning of a loop that can move to its end past posted
    receives: all of it, then less and less."""
    messages, order = facts.once(Messages), facts.once(Independence.of)
    goes_on = continuation_condition(loop)
    posts: list[Node] = []
    places: list[int] = []
    for place, node in enumerate(loop.body):
        if goes_on is not None and if_condition(node) == goes_on:
            break
        if messages.only_starts(node) and _only_receives(node, messages):
            posts.append(node)
        elif any(messages.calls(node)) or any(order.why_not(post, node) for post in posts):
            break
        else:
            places.append(place)
    prefixes = (tuple(places[:number]) for number in range(len(places), 0, -1))
    return tuple(
        some
        for some in prefixes
        if is_work(loop.body[some[-1]], messages) and _can_be_rotated(loop, some, facts)
    )


def _step(
    loop: Do,
    path: tuple[int, ...],
    position: int,
    places: tuple[int, ...],
    facts: UnitFacts,
    evidence: tuple[str, ...],
) -> Rotate:
    does = f"the loop of {facts.at(loop.head)} begins behind its first work"
    return Rotate(line_of(loop.head), does, evidence, path, position, places)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with the first work of a loop in front of the loop, and at the end of its body."""
    assert isinstance(step, Rotate)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        loop = nodes[step.position]
        assert isinstance(loop, Do)
        head = loop.head.what
        assert isinstance(head, DoHead)
        variable, first, last = head.var, head.first, head.last
        assert isinstance(variable, Ref)
        assert first is not None
        assert last is not None
        work = tuple(loop.body[place] for place in step.places)
        rest = tuple(node for n, node in enumerate(loop.body) if n not in step.places)
        lead = loop.head.lead
        begins = _placed(work, variable, first, loop, facts)
        if not _is_never_above(first, last):
            begins = (_guarded(begins, compare(first, "<=", last), loop, facts),)
        begins = (in_front(begins[0], (*lead, _comment(_FIRST, loop, facts))), *begins[1:])
        following = size(poly(add(variable, num(1))), facts.scope)
        goes_on = _placed(work, variable, following, work[0], facts)
        behind = _guarded(
            _without_comments(goes_on, facts), compare(variable, "<", last), work[0], facts
        )
        behind = in_front(behind, (_comment(NEXT, work[0], facts),))
        plain = replace(loop, head=replace(loop.head, lead=()), body=(*rest, behind))
        return (*nodes[: step.position], *begins, plain, *nodes[step.position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def is_used(facts: UnitFacts) -> bool:
    """Whether the work of the next iteration of some loop has moved on from its end."""
    for _, siblings in lists_in(facts.unit.body):
        for loop in siblings:
            goes_on = continuation_condition(loop) if isinstance(loop, Do) else None
            inside = loop.body[:-1] if isinstance(loop, Do) and goes_on is not None else ()
            if any(if_condition(node) == goes_on for node in inside):
                return True
    return False


def _work_first(loop: Do, facts: UnitFacts) -> int:
    """How many statements in front of the first call of MPI there are, with work among them, if
    there is no work behind the last receive of the loop; else 0."""
    messages = facts.once(Messages)
    talks = [n for n, node in enumerate(loop.body) if any(messages.calls(node))]
    receiving = [n for n in talks if messages.receives(loop.body[n])]
    if not receiving or not any(is_work(node, messages) for node in loop.body[: talks[0]]):
        return 0
    behind = loop.body[receiving[-1] + 1 :]
    return 0 if any(is_work(node, messages) for node in behind) else talks[0]


def _only_receives(node: Node, messages: Messages) -> bool:
    """Whether all messages of a statement come in."""
    found = [envelopes_of(call) for _, call in messages.calls(node)]
    return all(e and all(one.way is Way.IN for one in e) for e in found)


def _can_be_rotated(loop: Do, places: tuple[int, ...], facts: UnitFacts) -> bool:
    """Whether the statements can be written twice, with another value of the loop's variable, and
    all ways through an iteration lead to its end."""
    head, variable = loop.head.what, loop_variable(loop)
    assert isinstance(head, DoHead)
    if variable is None or head.step is not None or head.label is not None or loop.end is None:
        return False
    if loop.head.name is not None or loop.head.label is not None:
        return False
    if not is_local(variable, facts) or not has_plain_bounds(loop, facts):
        return False
    region = region_of(loop, facts)
    for bound in (head.first, head.last):
        if bound is None or region.value(bound, ()) is None or not _is_repeatable(bound):
            return False
        if any(_may_change(name, loop, facts) for name in names_in(bound)):
            return False
    if leaves_early(loop.body, 0):
        return False
    order, work = facts.once(Independence.of), [loop.body[place] for place in places]
    inside = [leaf for node in work for leaf in leaves(node)]
    if len(inside) > MOST_STATEMENTS or any(order.place.bound(node) is not None for node in work):
        return False
    assert head.first is not None
    if is_constant(head.first, facts.scope) and any(
        may_fail(leaf.what, variable, facts.scope) for leaf in inside
    ):
        return False
    bounds = [leaf.what for leaf in inside if isinstance(leaf.what, DoHead)]
    parts = (part for what in bounds for part in (what.first, what.last, what.step))
    if any(part is not None and variable in names_in(part) for part in parts) and inexact(
        work, facts.scope, facts.effects
    ):
        return False  # a loop with other bounds may be vectorised otherwise
    return all(_can_have(leaf, variable, facts) for leaf in inside)


def _is_repeatable(bound: Expr) -> bool:
    """Whether an expression is made of numbers and variables alone."""
    return all(
        isinstance(part, Lit | Op) or (isinstance(part, Ref) and part.args is None)
        for part in walk(bound)
    )


def _may_change(name: str, loop: Do, facts: UnitFacts) -> bool:
    """Whether a variable may change in a loop where nothing that is seen changes it."""
    symbol = facts.scope.lookup(name)
    if symbol is None or symbol.attrs & {"volatile", "asynchronous"}:
        return True
    unseen = any(effect.kind in UNSEEN for effect in facts.footprint(loop).effects)
    return unseen and facts.values.changed_unseen(name)


def _can_have(leaf: Leaf, variable: str, facts: UnitFacts) -> bool:
    """Whether a statement can be written with an expression for a variable."""
    if leaf.label is not None or leaf.name is not None:
        return False
    storage = facts.names.storage(variable)
    if any(a.writes and a.storage == storage for a in facts.footprint(leaf).accesses):
        return False
    try:
        mapped_what(leaf.what, lambda ref: num(1) if ref.name == variable else None)
    except NotMappedError:
        return False
    return True


def _placed(
    work: tuple[Node, ...], variable: Ref, value: Expr, beside: Node, facts: UnitFacts
) -> tuple[Node, ...]:
    """The statements with a value in place of a variable, as far in as another one."""

    def change(leaf: Leaf) -> Leaf:
        def other(ref: Ref) -> Expr | None:
            return value if ref.name == variable.name and ref.args is None else None

        what = mapped_what(leaf.what, other)
        if what == leaf.what:
            return leaf
        inside = comments_inside(leaf, facts.free, facts.eol)
        return replace(rewrite(leaf, what), lead=(*leaf.lead, *inside))

    columns = column(next(leaves(beside))) - column(next(leaves(work[0])))
    made = (map_leaves(node, change) for node in work)
    return tuple(further_in(node, columns, facts.free) for node in made)


def _without_comments(work: tuple[Node, ...], facts: UnitFacts) -> tuple[Node, ...]:
    """The statements as they are repeated: what comments say stands where they are first."""

    def change(leaf: Leaf) -> Leaf:
        return replace(leaf, lead=(), trail=facts.eol)

    return tuple(map_leaves(node, change) for node in work)


def _guarded(nodes: tuple[Node, ...], condition: Expr, beside: Node, facts: UnitFacts) -> Node:
    """The statements under a condition."""
    make = maker_at(beside, facts.located.form, facts.eol)
    only = nodes[0]
    if len(nodes) == 1 and isinstance(only, Leaf) and isinstance(only.what, Call):
        return replace(make.leaf(Guarded(condition, only.what)), lead=only.lead)
    inner = tuple(further_in(node, make.step, facts.free) for node in nodes)
    return make.branch(condition, inner)


def _is_never_above(first: Expr, last: Expr) -> bool:
    distance = (poly(last) - poly(first)).value
    return distance is not None and distance >= 0


def _comment(text: str, beside: Node, facts: UnitFacts) -> Trivia:
    return maker_at(beside, facts.located.form, facts.eol).comment(text)


TRANSFORMATION = Transformation(
    "loop rotation",
    Pass.PEELING,
    Phase.ITERATIONS,
    "The work that begins an iteration is done at the end of the one before.",
    check,
    apply,
)
BEFORE_TAKES = replace(
    TRANSFORMATION,
    title="loop rotation before a queue",
    summary="The work that begins an iteration comes before messages are taken from a queue.",
    check=before_takes,
)
"""Where messages that were posted ahead are taken at the end of an iteration."""
