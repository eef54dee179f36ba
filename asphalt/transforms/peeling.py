"""Peeling: the iterations of a nest that define what is sent are executed first.

Before::

    do j = 1, ny
      do i = 1, nx
        after(i, j) = u(i, j) + u(i, j-1)
      end do
    end do
    do i = 1, nx
      row(i) = after(i, ny)
    end do
    call asphalt_isend(row, ..., asphalt_request_1)
    call asphalt_wait(asphalt_request_1, row)

After::

    do j = max(ny, 1), ny
      ...
    end do
    do j = 1, ny - 1
      do i = 1, nx
        after(i, j) = u(i, j) + u(i, j-1)
      end do
    end do
    do i = 1, nx
      row(i) = after(i, ny)
    end do
    call asphalt_isend(row, ..., asphalt_request_1)
    call asphalt_wait(asphalt_request_1, row)

What is left has nothing to do with what stands between the nest and the start, so that code motion
can bring it behind the start, into the window of the transfer.  Where the last iterations are those
that the message needs, they come first as well: since the iterations may be executed in any order,
that is what peeling a reversed loop would give (Danalis et al., ICS 2009, section 5, "loop
peeling").
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.independence import Independence
from asphalt.analysis.messages import Messages
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.tree import Do, Node, Unit
from asphalt.transforms.dividing import DividedNest, Nest
from asphalt.transforms.edit import lists_in, rewrite_list
from asphalt.transforms.parts_of_nest import edges, interior
from asphalt.transforms.step import Found, Step
from asphalt.transforms.windows import windows_of

NAME = "peeling"
_COMMENT = "asphalt: the rest of the nest, which no message needs"


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The nests of a unit of which a part can come into the window of a transfer behind them."""
    messages = Messages(facts)
    order = Independence(facts, messages)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        starts = sorted({w.first for w in windows_of(siblings, messages)}, reverse=True)
        for position, node in enumerate(siblings):
            ahead = [siblings[position + 1 : start + 1] for start in starts if start > position]
            if ahead and isinstance(node, Do) and not any(messages.calls(node)):
                one = Nest(facts, order, node, path, position).divided(ahead)
                found += () if one is None else (one,)
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one nest split: the edges, then the interior."""
    assert isinstance(step, DividedNest)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        nest = nodes[step.position]
        assert isinstance(nest, Do)
        inside = interior(nest, step.ends, _COMMENT, facts)
        parts = (*edges(nest, step.ends, facts), inside)
        return (*nodes[: step.position], *parts, *nodes[step.position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))
