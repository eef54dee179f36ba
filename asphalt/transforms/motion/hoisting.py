"""Short statements between a wait and a nest that can go before the wait, as the nest does.

Before::

    call asphalt_wait(asphalt_request_1, u(0))
    c = -beta*dx/(16*dt)
    do i = 2, n
      v(i) = c*u(i)
    end do

After::

    c = -beta*dx/(16*dt)
    do i = 2, n
      v(i) = c*u(i)
    end do
    call asphalt_wait(asphalt_request_1, u(0))

The nest needs what such a statement defines, so that it cannot pass it; both can pass the wait, in
their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.ir.tree import Node
from asphalt.transforms.motion.windows import is_given, is_work


def hoistable(run: Sequence[Node], facts: UnitFacts) -> tuple[int, ...]:
    """The positions of the short statements of a run that can go before its first statement, one
    after the other."""
    order, messages = facts.once(Independence.of), facts.once(Messages)
    stay, found = list(run[:1]), list[int]()
    for number, node in enumerate(run[1:], 1):
        if _is_short(node, messages, order) and all(
            order.why_not(other, node) is None for other in stay
        ):
            found.append(number)
        else:
            stay.append(node)
    return tuple(found)


def needed(run: Sequence[Node], node: Node, facts: UnitFacts) -> tuple[int, ...]:
    """Those of the hoistable statements of a run without which a statement behind the run cannot
    go before it."""
    order = facts.once(Independence.of)
    found, kept = list[int](), [node]
    for number in reversed(hoistable(run, facts)):
        if any(order.why_not(run[number], other) is not None for other in kept):
            found.insert(0, number)
            kept.append(run[number])
    return tuple(found)


def _is_short(node: Node, messages: Messages, order: Independence) -> bool:
    """Whether a statement takes no time to speak of, and may change its place."""
    if is_work(node, messages) or any(messages.calls(node)) or is_given(node):
        return False
    return order.place.bound(node) is None
