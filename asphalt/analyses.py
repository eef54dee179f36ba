"""The analyses of one tree, under whatever is assumed of it; each is made once."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from asphalt.analysis.assumed import Assumed
from asphalt.analysis.effects import Effects
from asphalt.analysis.exchange import Exchange, all_to_all_operations, exchanges
from asphalt.analysis.judge import judge
from asphalt.analysis.plan import Plan
from asphalt.analysis.sizes import sizes_of
from asphalt.analysis.symbols import Scopes
from asphalt.analysis.uniformity import Uniformity
from asphalt.analysis.verdict import Refused
from asphalt.analysis.wrappers import wrapped_exchanges
from asphalt.frontend.tree import Tree
from asphalt.remembered import Remembered

Pure = frozenset[str]


class Analyses:
    """What is found out about a tree.

    ``pure``: procedures that are assumed to be so.  ``any_sizes``: without the values of named
    constants, so that conclusions hold for all of them.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._made: dict[tuple[Pure, bool], tuple[Remembered, Uniformity]] = {}
        self._general: dict[Pure, dict[int, Exchange]] = {}

    @cached_property
    def scopes(self) -> Scopes:
        """The names of the tree."""
        return Scopes(self._tree)

    @cached_property
    def _any_scopes(self) -> Scopes:
        return Scopes(self._tree, any_sizes=True)

    def of(self, pure: Pure = frozenset(), any_sizes: bool = False) -> tuple[Effects, Uniformity]:
        """What calls do, and what all ranks have in common."""
        key = (pure, any_sizes)
        if key not in self._made:
            scopes = self._any_scopes if any_sizes else self.scopes
            remembered = Remembered(self._tree, scopes, pure)
            self._made[key] = remembered, Uniformity(scopes, Assumed(pure))
        remembered, uniformity = self._made[key]
        return remembered.effects, uniformity

    def keep(self) -> None:
        """Keeps what was found out about procedures for the next run."""
        for remembered, _ in self._made.values():
            remembered.keep()
        self._tree.keep_mentions()

    def exchanges(self, effects: Effects) -> tuple[Exchange, ...]:
        """All exchange sites of the tree: calls of MPI, and of procedures that wrap one."""
        direct = tuple(
            exchange
            for located in self._tree.site_units(all_to_all_operations())
            for exchange in exchanges(located, effects)
        )
        return (*direct, *wrapped_exchanges(direct, effects))

    def judgement(self, found: Exchange, pure: Pure) -> Plan | Refused:
        """The plan for a site, if possible one for any values of the named constants."""
        effects, uniformity = self.of(pure)
        judgement = judge(found.under(effects), uniformity)
        if not isinstance(judgement, Plan):
            return judgement
        sizes = sizes_of(judgement.producer)
        if not sizes.named and not sizes.elsewhere:
            return judgement
        general = self._for_any_sizes(found, pure)
        if (
            isinstance(general, Plan)
            and _assumes_no_more(general, judgement)
            # what cannot be asked for is worth a plan that is less good
            and (sizes.elsewhere or _as_good(general, judgement))
        ):
            return general
        return replace(judgement, sizes=sizes.named, elsewhere=sizes.elsewhere)

    def _for_any_sizes(self, found: Exchange, pure: Pure) -> Plan | Refused | None:
        effects, uniformity = self.of(pure, any_sizes=True)
        if pure not in self._general:
            self._general[pure] = {id(e.leaf): e for e in self.exchanges(effects)}
        exchange = self._general[pure].get(id(found.leaf))
        return None if exchange is None else judge(exchange, uniformity)


def _assumes_no_more(general: Plan, plan: Plan) -> bool:
    return set(general.assumptions) <= set(plan.assumptions)


def _as_good(general: Plan, plan: Plan) -> bool:
    """Whether nothing is lost with the plan that holds for any sizes."""
    return (
        general.certain >= plan.certain
        and (general.clone is None or plan.clone is not None)
        and general.layout.pattern is plan.layout.pattern
        and general.producer.copy == plan.producer.copy
        and general.grain == plan.grain
    )
