"""Waits leave a loop: what its iterations start is complete behind it.

Before::

    do l = 1, fields
      ...
      call asphalt_ibcast(total(l), 1, MPI_REAL, 0, comm, asphalt_request_1)
      call work(l)
      call asphalt_wait(asphalt_request_1, total(l))
    end do

After::

    do l = 1, fields
      ...
      call asphalt_ibcast(total(l), 1, MPI_REAL, 0, comm, asphalt_request_1(l))
      call work(l)
    end do
    do l = 1, fields
      call asphalt_wait(asphalt_request_1(l), total(l))
    end do

Fission of the loop with a request for each iteration (Danalis et al., ICS 2009, section 5, variable
cloning and loop fission): the work of all later iterations comes beside the transfer.  It needs
that each iteration touches no other part of the buffer than the one that it sends or receives
itself, which is seen from a subscript with the loop variable.  Loops have bounds that are constant,
and at most ``MOST`` iterations, for so many operations are under way at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from asphalt.analysis.access import ALIASED, Access
from asphalt.analysis.algebra import folded
from asphalt.analysis.constants import constant
from asphalt.analysis.independence import Independence, is_unseen
from asphalt.analysis.messages import Messages, Part, part_of
from asphalt.analysis.mpi_call import MpiCall
from asphalt.analysis.references import actions, expressions_of
from asphalt.analysis.regions import loop_variable
from asphalt.analysis.symbols import Scopes
from asphalt.analysis.unit_facts import UnitFacts, line_of
from asphalt.ir.expr import Expr, Ref, names_in
from asphalt.ir.stmt import Call, Decl, Dim, DoHead, Guarded, Plain
from asphalt.ir.tree import Do, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.declare import column_of
from asphalt.transforms.edit import lists_in, map_leaves, rewrite_list
from asphalt.transforms.expansion import step_of
from asphalt.transforms.make import Maker, num
from asphalt.transforms.step import Found, Step, Trial
from asphalt.transforms.waits import NAME as NAME

MOST = 64
"""Operations of one loop that are under way at the same time."""


@dataclass(frozen=True, slots=True)
class Drain(Trial):
    """The wait ``wait`` for what ``start`` starts leaves the loop at ``position`` of a list."""

    path: tuple[int, ...]
    position: int
    start: Leaf
    wait: Leaf
    request: str


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The waits of a unit that can leave their loop."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            if not isinstance(node, Do) or not _has_few_iterations(node, facts):
                continue
            for start, wait, call in _pairs(node, messages):
                request = call.args["request"]
                if isinstance(request, Ref) and _may_leave(node, start, wait, call, order):
                    line = line_of(wait)
                    does = f"the wait of line {line} leaves the loop of line {line_of(node.head)}"
                    evidence = ("no iteration touches what the transfers of others do",)
                    text = (start.body or "", wait.body or "")
                    found.append(
                        Drain(line, does, evidence, text, path, position, start, wait, request.name)
                    )
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one wait behind its loop, in one of its own."""
    assert isinstance(step, Drain)
    (nodes,) = (nodes for path, nodes in lists_in(facts.unit.body) if path == step.path)
    loop = nodes[step.position]
    assert isinstance(loop, Do)
    head = loop.head.what
    assert isinstance(head, DoHead)
    assert head.var is not None
    variable = head.var
    rest = tuple(_numbered(n, step, variable) for n in loop.body if n is not step.wait)
    made = (replace(loop, body=rest), _behind(loop, step, facts))

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return (*nodes[: step.position], *made, *nodes[step.position + 1 :])

    body = rewrite_list(facts.unit.body, (*step.path, 0), change)
    spec = (map_leaves(n, lambda leaf: _declared(leaf, step, head)) for n in facts.unit.spec)
    return replace(facts.unit, spec=tuple(spec), body=body)


def _has_few_iterations(loop: Do, facts: UnitFacts) -> bool:
    """Whether a loop counts from one constant to another in steps of one."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.kind != "count" or loop.end is None:
        return False
    if head.label is not None or head.step is not None or loop.head.name is not None:
        return False
    if head.first is None or head.last is None or not isinstance(head.var, Ref):
        return False
    now = Scopes(facts.scope.program).of(facts.located)
    if not all(_is_constant(bound, facts) for bound in (head.first, head.last)):
        return False
    first, last = constant(head.first, now), constant(head.last, now)
    return first is not None and last is not None and 1 < last - first + 1 <= MOST


def _is_constant(bound: Expr, facts: UnitFacts) -> bool:
    symbols = [facts.scope.lookup(name) for name in names_in(bound)]
    return all(symbol is not None and symbol.is_parameter for symbol in symbols)


def _pairs(loop: Do, messages: Messages) -> Iterator[tuple[Leaf, Leaf, MpiCall]]:
    """The starts and waits of asphalt's own that stand in the list of a loop itself."""
    for start in (node for node in loop.body if isinstance(node, Leaf)):
        call = messages.call(start)
        if call is None or part_of(call) is not Part.START or not _is_plain(start, call):
            continue
        ends = messages.completion(start) or ()
        if len(ends) != 1 or not any(node is ends[0] for node in loop.body):
            continue
        done = messages.call(ends[0])
        started = messages.completed_by(ends[0]) or ()
        if done is None or not _is_plain(ends[0], done) or len(started) != 1:
            continue
        if part_of(done) is Part.COMPLETE and "status" not in done.args:
            yield start, ends[0], call


def _is_plain(leaf: Leaf, call: MpiCall) -> bool:
    """Whether it is a call of the run-time module with a scalar variable as its request."""
    request = call.args.get("request")
    own = call.binding == "runtime" and call.queue is None and isinstance(leaf.what, Call)
    return own and isinstance(request, Ref) and request.args is None


def _may_leave(loop: Do, start: Leaf, wait: Leaf, call: MpiCall, order: Independence) -> bool:
    """Whether the wait of an iteration may come behind all that later iterations do."""
    facts, variable = order.facts, loop_variable(loop)
    request = call.args["request"]
    assert isinstance(request, Ref)
    if variable is None or not is_unseen(variable, facts) or not is_unseen(request.name, facts):
        return False
    named = [
        leaf for node in facts.unit.body for leaf in leaves(node) if request.name in _names(leaf)
    ]
    if len(named) != 2 or wait.lead or _has_own_indices(loop):
        return False
    for node in loop.body:
        if node is not wait and (order.bound(node) or order.calls_between(wait, node)):
            return False
    buffers = order.messages.buffers(start, call)
    if not buffers:
        return False
    kept = {buffer.storage for buffer in buffers} | {facts.names.storage(request.name)}
    used = {facts.names.storage(name) for name in _names(wait) - {variable}} - kept
    if used & facts.footprint(loop).written():
        return False
    return all(_is_own_part(one, loop, (start, wait), variable, order) for one in buffers)


def _has_own_indices(loop: Do) -> bool:
    """Whether there are FORALL statements or DO CONCURRENT loops in a loop: their indices may have
    the name of the loop variable."""
    return any(
        (isinstance(what, DoHead) and what.kind == "concurrent")
        or (isinstance(what, Guarded) and what.kind != "if")
        for node in loop.body
        for leaf in leaves(node)
        for what in (leaf.what,)
    )


def _names(leaf: Leaf) -> frozenset[str]:
    """The names in a statement."""
    expressions = (e for what in actions(leaf.what) for e in expressions_of(what))
    return frozenset(name for expr in expressions for name in names_in(expr))


def _is_own_part(
    buffer: Access, loop: Do, pair: tuple[Leaf, Leaf], variable: str, order: Independence
) -> bool:
    """Whether a subscript says which iteration touches which part of a buffer, everywhere in a
    loop."""
    if buffer.storage == ALIASED or buffer.path:
        return False
    others = [
        access
        for access in order.facts.footprint(loop).accesses
        if access.storage == buffer.storage and all(access.leaf is not leaf for leaf in pair)
    ]
    if any(order.messages.call(access.leaf) is not None for access in others):
        return False
    return any(
        all(_is_at(access, place, variable) for access in (buffer, *others))
        for place in range(len(buffer.subscripts or ()))
    )


def _is_at(access: Access, place: int, variable: str) -> bool:
    """Whether a subscript of an access is the loop variable."""
    given = access.subscripts
    if access.path or given is None or place >= len(given):
        return False
    subscript = given[place]
    return isinstance(subscript, Ref) and folded(subscript) == Ref(variable, variable)


def _in_iteration(call: Call, step: Drain, variable: Expr) -> Call:
    """The call with the request of an iteration."""
    args = tuple(
        Ref(arg.name, arg.spelled, (variable,))
        if isinstance(arg, Ref) and arg.name == step.request and arg.args is None
        else arg
        for arg in call.args
    )
    return replace(call, args=args)


def _numbered(node: Node, step: Drain, variable: Expr) -> Node:
    """The start with the request of its iteration; other statements as they are."""
    if node is not step.start:
        return node
    assert isinstance(node, Leaf)
    assert isinstance(node.what, Call)
    return rewrite(node, _in_iteration(node.what, step, variable))


def _behind(loop: Do, step: Drain, facts: UnitFacts) -> Do:
    """The loop that waits."""
    head = loop.head.what
    assert isinstance(head, DoHead)
    assert head.var is not None
    assert isinstance(step.wait.what, Call)
    last = loop.head.head.rsplit("\n", 1)[-1]
    column = len(last.expandtabs(8)) - (0 if facts.free else 6)
    if last.strip() or column < 0:
        column = column_of(facts.unit, facts.located.form)
    make = Maker(column, step_of(loop, column, facts.free), facts.free, facts.eol)
    wait = make.inner().leaf(_in_iteration(step.wait.what, step, head.var))
    first = make.leaf(head, "asphalt: what all iterations have started is complete behind these")
    return Do(first, (wait,), make.leaf(Plain("end do")))


def _declared(leaf: Leaf, step: Drain, head: DoHead) -> Leaf:
    """A declaration with a request for each iteration."""
    what = leaf.what
    if not isinstance(what, Decl) or all(e.name != step.request for e in what.entities):
        return leaf
    assert head.first is not None
    lower = None if head.first == num(1) else head.first
    dims = (Dim("explicit", lower, head.last),)
    entities = (replace(e, dims=dims) if e.name == step.request else e for e in what.entities)
    return rewrite(leaf, replace(what, entities=tuple(entities)))
