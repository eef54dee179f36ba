"""Index-set splitting: the interior of a nest is separated from the edges that need a halo.

Before::

    call asphalt_wait(asphalt_request_1, u(1, 0))
    do j = 1, ny
      do i = 1, nx
        after(i, j) = u(i, j) + u(i, j-1)
      end do
    end do

After::

    call asphalt_wait(asphalt_request_1, u(1, 0))
    do j = 2, ny
      do i = 1, nx
        after(i, j) = u(i, j) + u(i, j-1)
      end do
    end do
    do j = 1, min(1, ny)
      ...
    end do

The interior touches nothing that stands between the wait and the nest, nor what the wait releases,
so that code motion can bring it into the window of the transfer (Danalis et al., ICS 2009, section
5, "loop fission", where the dependence is that of the received halo only).
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.independence import Independence
from asphalt.analysis.messages import Messages
from asphalt.analysis.mpi_call import MpiCall
from asphalt.analysis.mpi_library import Store, library_row
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.tree import Do, Node, Unit
from asphalt.transforms.dividing import DividedNest, Nest
from asphalt.transforms.edit import lists_in, rewrite_list
from asphalt.transforms.parts_of_nest import edges, interior
from asphalt.transforms.step import Found, Step
from asphalt.transforms.windows import windows_of

NAME = "splitting"
_COMMENT = "asphalt: the interior of the nest, which meets nothing that is under way"


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The nests of a unit of which a part can come into the window of a transfer before them."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        waits = sorted({w.last for w in windows_of(siblings, messages) if _receives(w.call)})
        for position, node in enumerate(siblings):
            behind = [siblings[wait:position] for wait in waits if wait < position]
            if behind and isinstance(node, Do) and not any(messages.calls(node)):
                one = Nest(facts, order, node, path, position).divided(behind)
                found += () if one is None else (one,)
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one nest split: the interior, then the edges."""
    assert isinstance(step, DividedNest)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        nest = nodes[step.position]
        assert isinstance(nest, Do)
        inside = interior(nest, step.ends, _COMMENT, facts)
        parts = (inside, *edges(nest, step.ends, facts))
        return (*nodes[: step.position], *parts, *nodes[step.position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def _receives(call: MpiCall) -> bool:
    """Whether a call starts a receive."""
    return any(access.store is Store.INCOMING for access in library_row(call.procedure).accesses)
