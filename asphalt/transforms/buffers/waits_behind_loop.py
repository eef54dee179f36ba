"""Waits behind a loop: what the iterations of a loop start is completed behind it.

Before::

    do l = 1, fields
      ...
      if (above /= -1) call asphalt_irecv(top(:,l), n, ..., above, 1, comm, asphalt_request_1)
      call work(l)
      if (above /= -1) then
        call asphalt_wait(asphalt_request_1, top(:,l))
        v(0,:,l) = top(:,l)
      end if
    end do

After::

    do l = 1, fields
      ...
      if (above /= -1) call asphalt_irecv(top(:,l), n, ..., above, 1, comm, asphalt_request_1(l))
      call work(l)
    end do
    do l = 1, fields
      if (above /= -1) then
        call asphalt_wait(asphalt_request_1(l), top(:,l))
        v(0,:,l) = top(:,l)
      end if
    end do

The program's own starts and waits move in the same way: a scalar request becomes an array.  This is
loop fission with a request for each iteration (Danalis et al., ICS 2009, section 5, variable
cloning and loop fission; figure 1, c to e), so that the work of all later iterations overlaps with
the transfer.  No iteration may access what the waits of earlier ones complete, or what moves with
these waits (``loop_distribution``); ``array_expansion`` gives each iteration a buffer of its own.
The loop has constant bounds and at most ``few_iterations.MOST`` iterations, since as many
operations are in progress at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.few_iterations import few_iterations
from asphalt.analysis.dependence.iteration_pairs import StartWaitPair
from asphalt.analysis.dependence.loop_distribution import Tail, tails
from asphalt.config.passes import Pass
from asphalt.ir.expr import AltReturn, Arg, Expr, Keyword, Ref, Section
from asphalt.ir.insertion import last_declaration
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Decl, Dim, DoHead, Entity, Guarded, Plain
from asphalt.ir.tree import Do, Leaf, Node, Unit, rewrite
from asphalt.transforms.buffers.receive_queues import step_of
from asphalt.transforms.rewriting.checked_sizes import can_check, with_checked_sizes
from asphalt.transforms.rewriting.comments import comments_inside
from asphalt.transforms.rewriting.declare import column_of, insert_behind
from asphalt.transforms.rewriting.edit import lists_in, map_leaves, rewrite_list
from asphalt.transforms.rewriting.make import Maker, num
from asphalt.transforms.rewriting.new_names import next_number
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, Trial

_REQUESTS = "asphalt_requests_"


@record
class Drain(Trial):
    """The statements ``tail`` leave the loop at ``position`` of a list."""

    path: tuple[int, ...]
    position: int
    tail: Tail


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The waits of a unit that can leave their loop, with the statements that need them."""
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            if not isinstance(node, Do) or few_iterations(node, facts) is None:
                continue
            for tail in tails(node, facts.once(Independence.of)):
                if not tail.sizes or can_check(facts):
                    found.append(_step(node, path, position, tail, facts))
    return tuple(found)


def _step(loop: Do, path: tuple[int, ...], position: int, tail: Tail, facts: UnitFacts) -> Drain:
    places = list(dict.fromkeys(facts.at(pair.wait) for pair in tail.pairs))
    said = " and ".join(filter(None, (", ".join(places[:-1]), places[-1])))
    several = len(tail.pairs) > 1
    waits = f"the wait{'s' if several else ''} of {said} leave{'' if several else 's'}"
    does = f"{waits} the loop of {facts.at(loop.head)}"
    evidence = "no iteration accesses a buffer of another one's transfers"
    if tail.sizes:
        evidence += f" where {', '.join(sorted(tail.sizes))} > 0, which compilers check"
    text = tuple(leaf.body or "" for pair in tail.pairs for leaf in (pair.start, pair.wait))
    return Drain(line_of(tail.pairs[0].wait), does, (evidence,), text, path, position, tail)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with some waits behind their loop, in one of its own."""
    assert isinstance(step, Drain)
    (nodes,) = (nodes for path, nodes in lists_in(facts.unit.body) if path == step.path)
    loop = nodes[step.position]
    assert isinstance(loop, Do)
    head = loop.head.what
    assert isinstance(head, DoHead)
    assert head.var is not None
    given = _given(step.tail.pairs, facts)
    numbered = tuple(_numbered(node, step.tail.pairs, head.var, given, facts) for node in loop.body)
    parts: dict[bool, list[Node]] = {False: [], True: []}
    for place, node in enumerate(numbered):
        parts[place in step.tail.places].append(node)
    made = (replace(loop, body=tuple(parts[False])), _behind(loop, tuple(parts[True]), facts))

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return (*nodes[: step.position], *made, *nodes[step.position + 1 :])

    body = rewrite_list(facts.unit.body, (*step.path, 0), change)
    requests = frozenset(p.request for p in step.tail.pairs if not p.own and not p.numbered)
    spec = (map_leaves(n, lambda leaf: _declared(leaf, requests, head)) for n in facts.unit.spec)
    unit = replace(facts.unit, spec=tuple(spec), body=body)
    new = tuple(_declaration(old, name, head, facts) for old, name in given.items())
    unit = insert_behind(unit, last_declaration(unit), new) if new else unit
    return with_checked_sizes(unit, step.tail.sizes, facts)


def _given(pairs: tuple[StartWaitPair, ...], facts: UnitFacts) -> dict[str, str]:
    """The arrays that take the place of the program's own scalar requests, by these."""
    own = [pair.request for pair in pairs if pair.own and not pair.numbered]
    first = next_number(facts, _REQUESTS)
    return {name: f"{_REQUESTS}{number}" for number, name in enumerate(own, first)}


def _declaration(old: str, name: str, head: DoHead, facts: UnitFacts) -> Leaf:
    """The declaration of an array of requests of the type of a scalar one."""
    symbol = facts.scope.lookup(old)
    assert symbol is not None
    assert symbol.type is not None
    entity = Entity(name, name, _dims(head))
    make = Maker(column_of(facts.unit, facts.located.form), 2, facts.free, facts.eol)
    text = f"asphalt: {old} for each iteration"
    return make.leaf(Decl("type", symbol.type, (), None, (entity,)), text)


def _numbered(
    node: Node,
    pairs: tuple[StartWaitPair, ...],
    variable: Expr,
    given: Mapping[str, str],
    facts: UnitFacts,
) -> Node:
    """The starts and waits with the request of their iteration; other statements as they are.
    ``given``: the names of requests that are taken in place of others."""
    own = {
        id(leaf): pair.request
        for pair in pairs
        if not pair.numbered
        for leaf in (pair.start, pair.wait)
    }

    def change(leaf: Leaf) -> Leaf:
        request = own.get(id(leaf))
        if request is None:
            return leaf
        what = leaf.what
        if isinstance(what, Guarded):
            assert isinstance(what.action, Call)
            made: Call | Guarded = replace(
                what, action=_in_iteration(what.action, request, variable, given)
            )
        else:
            assert isinstance(what, Call)
            made = _in_iteration(what, request, variable, given)
        inside = comments_inside(leaf, facts.free, facts.eol)
        return replace(rewrite(leaf, made), lead=(*leaf.lead, *inside))

    return map_leaves(node, change)


def _in_iteration(call: Call, request: str, variable: Expr, given: Mapping[str, str]) -> Call:
    """The call with the request of an iteration."""

    def numbered(arg: Arg) -> Arg:
        match arg:
            case Keyword(value=value):
                changed = numbered(value)
                assert not isinstance(changed, Keyword | AltReturn | Section)
                return replace(arg, value=changed)
            case Ref(name=name, spelled=spelled, args=None) if name == request:
                return Ref(given.get(name, name), given.get(name, spelled), (variable,))
        return arg

    return replace(call, args=tuple(map(numbered, call.args)))


def _behind(loop: Do, body: tuple[Node, ...], facts: UnitFacts) -> Do:
    """The loop that waits."""
    head = loop.head.what
    assert isinstance(head, DoHead)
    last = loop.head.head.rsplit("\n", 1)[-1]
    column = len(last.expandtabs(8)) - (0 if facts.free else 6)
    if last.strip() or column < 0:
        column = column_of(facts.unit, facts.located.form)
    make = Maker(column, step_of(loop, column, facts.free), facts.free, facts.eol)
    text = "asphalt: what all iterations have started is complete behind these"
    first = make.leaf(replace(head, label=None), text)
    return Do(first, body, make.leaf(Plain("end do")))


def _declared(leaf: Leaf, requests: frozenset[str], head: DoHead) -> Leaf:
    """A declaration with a request for each iteration."""
    what = leaf.what
    if not isinstance(what, Decl) or all(e.name not in requests for e in what.entities):
        return leaf
    dims = _dims(head)
    entities = (replace(e, dims=dims) if e.name in requests else e for e in what.entities)
    return rewrite(leaf, replace(what, entities=tuple(entities)))


def _dims(head: DoHead) -> tuple[Dim, ...]:
    """An element for each iteration."""
    assert head.first is not None
    return (Dim("explicit", None if head.first == num(1) else head.first, head.last),)


TRANSFORMATION = Transformation(
    "waits behind a loop",
    Pass.WAITS,
    Phase.DIVISION,
    "The waits of all iterations leave a loop, with the statements that need the messages.",
    check,
    apply,
)
