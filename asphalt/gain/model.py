"""What a unit costs on some networks.

A step loses if the unit takes longer with it on one of the networks; it gains if the unit takes
longer on none and less time on one.  By default there are two networks, a fast and a slow one, each
with about what one of many ranks of a node has of a network of today.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.errors import UsageError
from asphalt.config.sizes import Size
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.called_units import CalledUnits
from asphalt.gain.clock import Clock
from asphalt.gain.known_amounts import Known
from asphalt.gain.sizes import Constants, Sizes
from asphalt.gain.transfers import Transfers
from asphalt.gain.unknown_sizes import unknown_sizes
from asphalt.gain.work import Work
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Node
from asphalt.machine.machine import Machine, load_machine
from asphalt.machine.platforms import ETHERNET_1, INFINIBAND_DDR_2009, NETWORKS, Network
from asphalt.transforms.charging.program import Costs

USUAL = (INFINIBAND_DDR_2009, ETHERNET_1)


def networks_named(names: Sequence[str]) -> tuple[Network, ...]:
    """The networks with these names; (): the usual two.

    Raises UsageError for a name of none.
    """
    known = {network.name: network for network in NETWORKS}
    for name in names:
        if name not in known:
            raise UsageError(f"network {name}: there is none; write one of {', '.join(known)}")
    return tuple(dict.fromkeys(known[name] for name in names)) or USUAL


PRECISION = 1e-3
"""Of a time: what differs by less is taken as the same."""
_LITTLE = 1e-2
"""Of a gain: what may be lost on another network for it, where a step is much to read."""
_ROUNDING = 1e-9
"""Of a time: what the sums of two estimates may differ by where they are of the same terms."""


@record
class Price:
    """Seconds that a unit takes once, on each network."""

    seconds: tuple[float, ...]

    def loses(self, before: Price) -> bool:
        """Whether it takes longer than ``before`` on some network."""
        pairs = zip(self.seconds, before.seconds, strict=True)
        return any(now > then * (1 + PRECISION) for now, then in pairs)

    def is_longer(self, before: Price) -> bool:
        """Whether it takes longer than ``before`` on some network, by however little."""
        pairs = zip(self.seconds, before.seconds, strict=True)
        return any(now > then * (1 + _ROUNDING) for now, then in pairs)

    def is_shorter(self, before: Price, part: float = 0.0) -> bool:
        """Whether it takes less time than ``before`` on some network, by more than a part of it."""
        pairs = zip(self.seconds, before.seconds, strict=True)
        return any(now < then * (1 - max(part, _ROUNDING)) for now, then in pairs)

    def gains(self, before: Price) -> bool:
        """Whether it takes longer on none, and less time on one."""
        pairs = zip(self.seconds, before.seconds, strict=True)
        return not self.loses(before) and any(now < then * (1 - PRECISION) for now, then in pairs)

    def is_worth(self, before: Sequence[float], saved: Sequence[float]) -> bool:
        """Whether ``saved`` is more seconds of this time than ``before`` on a network, and less on
        none, except for rounding and for amounts that are small beside the largest gain."""
        more = [now - then for now, then in zip(saved, before, strict=True)]
        pairs = list(zip(more, self.seconds, strict=True))
        little = max((*more, 0.0)) * _LITTLE
        loses = any(m < -max(little, _ROUNDING * seconds) for m, seconds in pairs)
        return not loses and any(m > PRECISION * seconds for m, seconds in pairs)

    def saved(self, before: Price) -> tuple[float, ...]:
        """The seconds by which it is shorter than ``before``."""
        return tuple(then - now for now, then in zip(self.seconds, before.seconds, strict=True))


class Judge(Protocol):
    """Says what a unit costs before and after steps, which decides what is kept."""

    @property
    def names(self) -> tuple[str, ...]:
        """The owners of the seconds of a price, in their order: networks, for example."""

    @property
    def executes(self) -> bool:
        """Whether seconds come from executions.  Estimates may differ between texts that execute
        the same statements in the same order."""

    def price(self, tree: Tree, located: Located, known: Known | None = None) -> Price:
        """The cost of a unit of a tree; ``known``: what was found out about it before."""


@dataclass
class Model:
    """A judge that estimates prices.  ``networks``: at least one.  ``analyses``: of a tree from
    which those with the units are edited; None: there are none.  ``sizes``: those that the user has
    given."""

    networks: Sequence[Network] = USUAL
    machine: Machine = field(default_factory=load_machine)
    analyses: Analyses | None = None
    sizes: tuple[Size, ...] = ()
    _constants: Constants = field(default_factory=dict)
    _units: CalledUnits = field(default_factory=CalledUnits)

    @property
    def names(self) -> tuple[str, ...]:
        """The networks."""
        return tuple(network.name for network in self.networks)

    @property
    def executes(self) -> bool:
        """False: nothing is executed."""
        return False

    def price(self, tree: Tree, located: Located, known: Known | None = None) -> Price:
        """The price of a unit of a tree, with the sizes that are known."""
        known = known or Known()
        work, facts_of = self._looked_at(tree, located, known)
        facts = facts_of(located)
        # for all networks
        transfers = Transfers(known.messages, known.copied, work.sizes, self._units)
        times = tuple(Clock(n, work, facts_of, facts, transfers).run() for n in self.networks)
        if facts.effects.scopes.program is not (self.analyses and self.analyses.tree):
            facts.effects.forget()  # nobody else asks about this text
        return Price(times)

    def seconds(self, tree: Tree, located: Located) -> Callable[[tuple[Node, ...]], float]:
        """How long statements of a unit take on one core, without messages in them."""
        work, facts_of = self._looked_at(tree, located)
        return partial(work.seconds, scope=facts_of(located).scope)

    def unknown_sizes(self, tree: Tree, located: Located) -> tuple[str, ...]:
        """The variables in the bounds of loops of a unit, and of those that it calls, for whose
        values the price takes usual ones, by name."""
        work, facts_of = self._looked_at(tree, located)
        return unknown_sizes(facts_of(located).scope, work.sizes)

    def _looked_at(
        self, tree: Tree, priced: Located, known: Known | None = None
    ) -> tuple[Work, Callable[[Located], UnitFacts]]:
        analyses = Analyses(tree) if self.analyses is None else self.analyses.edited(tree)
        effects, uniformity = analyses.of()
        made: dict[int, UnitFacts] = {}
        units = self._units
        if self.analyses is not None and units.uniformity is None:
            units.uniformity = self.analyses.of()[1]
        own = None if known is None or known.messages is None else known.messages.facts

        def facts_of(one: Located) -> UnitFacts:
            key = id(one.unit)
            called = None if key in made or one.unit is priced.unit else units.of(one, effects)
            if called is not None:
                made[key] = called
            elif key not in made:
                all_count = own is not None and one.unit is own.unit and not own.executed.is_less
                made[key] = UnitFacts(one, effects, uniformity=uniformity, all_count=all_count)
                made[key].forget_at_end(with_effects=False)
            return made[key]

        def procedures(call: Call, scope: Scope) -> tuple[Located, Scope] | None:
            found = invoked(call, scope)
            if found is None:
                return None
            called = units.of(found[0], effects)
            if called is not None:
                return called.located, called.scope
            return found[0], effects.scopes.of(found[0])

        one = self.machine
        costs = Costs(one.seconds, one.latency, one.window, one.cache)
        sizes = Sizes(self.sizes, tree, facts_of, self._constants)
        return Work(costs, procedures, known or Known(), sizes, units), facts_of
