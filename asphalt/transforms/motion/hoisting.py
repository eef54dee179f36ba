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
    return Run(run, facts).hoistable()


class Run:
    """A statement, and those behind it, which may become more; ``nodes``: all of them."""

    def __init__(self, nodes: Sequence[Node], facts: UnitFacts) -> None:
        self.nodes = list(nodes)
        self._facts = facts
        self._order, self._messages = facts.once(Independence.of), facts.once(Messages)
        self._stay = self.nodes[:1]
        self._judged = 1
        self._hoistable: list[int] = []

    def needed(self, node: Node) -> tuple[int, ...]:
        """Those of the hoistable statements without which a statement behind all of them cannot go
        before the first one."""
        found, kept = list[int](), [node]
        for number in reversed(self.hoistable()):
            if any(self._order.why_not(self.nodes[number], other) is not None for other in kept):
                found.insert(0, number)
                kept.append(self.nodes[number])
        return tuple(found)

    def may_go(self, number: int) -> bool:
        """Whether the statement at a position may be one of the hoistable ones."""
        return number > 0 and self._is_short(self.nodes[number])

    def hoistable(self) -> tuple[int, ...]:
        """The positions of the short statements that can go before the first one, one after the
        other."""
        for number in range(self._judged, len(self.nodes)):
            node = self.nodes[number]
            if self._is_short(node) and all(
                self._order.why_not(other, node) is None for other in self._stay
            ):
                self._hoistable.append(number)
            else:
                self._stay.append(node)
        self._judged = len(self.nodes)
        return tuple(self._hoistable)

    def _is_short(self, node: Node) -> bool:
        """Whether a statement takes no time to speak of, and may change its place."""
        known = self._facts.once(_Short).found
        found = known.get(id(node))
        if found is None:
            found = known[id(node)] = node, self._judge(node)
        return found[1]

    def _judge(self, node: Node) -> bool:
        if is_work(node, self._messages) or any(self._messages.calls(node)) or is_given(node):
            return False
        return self._order.place.bound(node) is None


class _Short:
    """Which statements of a unit are short, by the identity of each, which is kept with it."""

    def __init__(self, facts: UnitFacts) -> None:
        self.found: dict[int, tuple[Node, bool]] = {}
