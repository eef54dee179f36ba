"""Interior sharing: a nest in one overlap window is divided among that window and later ones.

Before::

    if (cut(2)) call start(2, u)
    do k = 3, n - 2
      ...
    end do
    if (cut(2)) call finish(2, u)
    if (cut(3)) call start(3, u)
    if (cut(3)) call finish(3, u)

After::

    if (cut(2)) call start(2, u)
    do k = 3, 2 + (n - 4)/2
      ...
    end do
    if (cut(2)) call finish(2, u)
    if (cut(3)) call start(3, u)
    do k = 3 + (n - 4)/2, n - 2
      ...
    end do
    if (cut(3)) call finish(3, u)

Transfers that follow each other, such as the axes of a halo, whose corners pass from one to the
next, have one nest that could stand in each of their windows, and the first window soon has enough
(Danalis et al., ICS 2009, section 5, "loop fission" and "overlap window expansion").  The outermost
loop of the nest is cut into parts of the same length.  The iterations keep their order, so it
suffices that the whole nest could pass what its later parts pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.temporaries import is_dead_after, is_local
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.permutable_loops import region_of
from asphalt.analysis.dependence.vector_rounding import why_other_digits
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.library_effects import receives
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.config.assumptions import BITS
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Node, Unit, leaves
from asphalt.transforms.loops.index_set_splitting import MOST_STATEMENTS, has_plain_bounds, is_edge
from asphalt.transforms.loops.parts_of_nest import (
    marked,
    why_not_repeated,
    with_heads,
    without_comments,
)
from asphalt.transforms.motion.windows import GOES_ON, OverlapWindow, is_work, windows_of
from asphalt.transforms.rewriting.comments import assumptions
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.guarded_nests import around, nest_in
from asphalt.transforms.rewriting.make import add, mul, num, quotient, size
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, Trial


@record
class Share(Trial):
    """Parts of the nest at ``position`` of a list move behind the statements at ``targets``, which
    precede waits.  ``around``: the text from the nest to the last one of these waits, on which it
    depends whether that gains."""

    path: tuple[int, ...]
    position: int
    targets: tuple[int, ...]
    around: tuple[str, ...]


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The nests of a unit that the windows of several receives can share."""
    messages, order = facts.once(Messages), facts.once(Independence.of)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        windows = [w for w in windows_of(siblings, messages) if _receives(w)]
        for position, node in enumerate(siblings):
            nest = nest_in(node, facts)
            if nest is None or not any(w.first < position < w.last for w in windows):
                continue
            if order.place.bound(node) is not None:
                continue
            targets = tuple(_targets(siblings, windows, position, facts))
            assumed = _assumed(nest, facts) if targets and _can_be_cut(nest, facts) else None
            if assumed is not None:
                passed = siblings[position : targets[-1] + 2]
                found.append(_step(nest, path, position, targets, passed, facts, assumed))
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one nest in parts, one for each window."""
    assert isinstance(step, Share)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        nest = nest_in(nodes[step.position], facts)
        assert nest is not None
        parts = _parts(nest, 1 + len(step.targets), facts)
        if step.assumed:
            parts = (marked(parts[0], assumptions(step.assumed), facts), *parts[1:])
        own, *others = around(nodes[step.position], parts)
        found: list[Node] = []
        for number, node in enumerate(nodes):
            found.append(own if number == step.position else node)
            if number in step.targets:
                found.append(others[step.targets.index(number)])
        return tuple(found)

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def _receives(window: OverlapWindow) -> bool:
    """Whether a window is that of a receive; a queue of several has work in its own loop."""
    if window.call.queue is not None:
        return False
    return receives(window.call.procedure)


def _targets(
    siblings: tuple[Node, ...], windows: list[OverlapWindow], position: int, facts: UnitFacts
) -> Iterator[int]:
    """The statements in front of the waits of later windows, behind which a nest could be moved;
    no windows with work behind their last call."""
    messages, order = facts.once(Messages), facts.once(Independence.of)
    nest = siblings[position]
    for number in range(position + 1, len(siblings) - 1):
        if order.why_not(nest, siblings[number]) is not None:
            return
        starts = [w.first for w in windows if w.last == number + 1 and w.first > position]
        inside = siblings[min(starts, default=number) : number + 1]
        behind = next(n for n in range(len(inside) + 1) if _is_over(inside[n:], messages))
        if starts and not any(is_work(node, messages) for node in inside[behind:]):
            yield number


def _is_over(nodes: tuple[Node, ...], messages: Messages) -> bool:
    """Whether no statement calls MPI any more."""
    return not any(True for node in nodes for _ in messages.calls(node))


def _can_be_cut(nest: Do, facts: UnitFacts) -> bool:
    """Whether a nest can be written several times, each with a part of its iterations."""
    variable = loop_variable(nest)
    if variable is None or is_edge(nest, facts) or not has_plain_bounds(nest, facts):
        return False
    long = sum(1 for _ in leaves(nest)) > MOST_STATEMENTS
    if long or why_not_repeated(nest, facts) is not None:
        return False
    storage = facts.names.storage(variable)
    if not (is_local(storage, facts) and is_dead_after(storage, nest, facts)):
        return False
    return all(region_of(nest, facts).value(bound, ()) is not None for bound in _bounds(nest))


def _assumed(nest: Do, facts: UnitFacts) -> tuple[str, ...] | None:
    """What has to be assumed, and is accepted, where other bounds may change last digits; None:
    that is not accepted."""
    if why_other_digits((nest,), nest.body, facts, region_of(nest, facts)) is None:
        return ()
    return (BITS.word,) if is_accepted_at(BITS, nest.head, facts) else None


def _bounds(nest: Do) -> tuple[Expr, Expr]:
    head = nest.head.what
    assert isinstance(head, DoHead)
    assert head.first is not None
    assert head.last is not None
    return head.first, head.last


def _step(
    nest: Do,
    path: tuple[int, ...],
    position: int,
    targets: tuple[int, ...],
    passed: tuple[Node, ...],
    facts: UnitFacts,
    assumed: tuple[str, ...],
) -> Share:
    return Share(
        line_of(nest.head),
        f"the nest of {facts.at(nest.head)} is shared by {1 + len(targets)} windows",
        ("its iterations keep their order", "all of it could move past what a part passes"),
        tuple(leaf.body or "" for leaf in leaves(nest)),
        path,
        position,
        targets,
        tuple(leaf.body or "" for node in passed for leaf in leaves(node)),
        assumed=assumed,
    )


def _parts(nest: Do, number: int, facts: UnitFacts) -> tuple[Do, ...]:
    """The nest in so many parts of about the same length, of which the last has the rest."""
    head = nest.head.what
    assert isinstance(head, DoHead)
    first, last = (poly(bound) for bound in _bounds(nest))
    length = last - first + Poly.constant(1)

    def cut(part: int, more: int) -> Expr:
        """``more`` behind the last iteration of the first ``part`` parts."""
        before = first + Poly.constant(more - 1)
        if length.value is not None:
            return size(
                before + Poly.constant(part * (max(0, length.value) // number)), facts.scope
            )
        each = quotient(size(length, facts.scope), num(number))
        parts = mul(num(part), each)
        return parts if before.value == 0 else add(size(before, facts.scope), parts)

    found: list[Do] = []
    for part in range(number):
        own = head
        if part > 0:
            own = replace(own, first=cut(part, 1))
        if part + 1 < number:
            own = replace(own, last=cut(part + 1, 0))
        if part == 0:
            found.append(with_heads(nest, [own]))
        else:
            again = with_heads(without_comments(nest, facts.eol), [replace(own, label=None)])
            found.append(marked(again, (GOES_ON,), facts))
    return tuple(found)


TRANSFORMATION = Transformation(
    "interior sharing",
    Pass.SPLITTING,
    Phase.SHARING,
    "A nest in one overlap window is divided among this window and those behind it.",
    check,
    apply,
    in_place=True,
)
