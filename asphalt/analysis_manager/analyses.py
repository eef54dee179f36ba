"""The analyses of one tree, for each set of assumptions; each is made once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property, partial

from asphalt.analysis.conditions.available import VALUE
from asphalt.analysis.conditions.judge import judge
from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.effects.procedure_effects import Effects, Known, ProcedureKey
from asphalt.analysis.effects.summary_provenance import Evaluations, Traces, Tracing
from asphalt.analysis.exchange.named_sizes import NamedSizes, sizes_of
from asphalt.analysis.exchange.open_coded_groups import message_operations
from asphalt.analysis.exchange.open_coded_sites import open_coded_exchanges
from asphalt.analysis.exchange.site import Exchange, all_to_all_operations, exchanges
from asphalt.analysis.exchange.wrappers import wrapped_exchanges
from asphalt.analysis.names.procedure_interfaces import same_interface
from asphalt.analysis.names.scopes import Scopes
from asphalt.analysis.names.symbol import Identity, Text
from asphalt.analysis.tiling.plan import Plan
from asphalt.analysis.uniformity.uniformity import Uniformity
from asphalt.analysis.verdicts.verdict import Mark, Refused
from asphalt.analysis_manager.configurations import Configurations
from asphalt.analysis_manager.internal_errors import InternalErrors
from asphalt.analysis_manager.invalidation import Sight, Unaffected, UsedNames, says_the_same
from asphalt.analysis_manager.same_summaries import SameSummaries
from asphalt.analysis_manager.summary_store import Remembered
from asphalt.analysis_manager.user_units import user_units
from asphalt.config.assumptions import FATAL
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located

Pure = frozenset[str]
Asked = frozenset[Text | Identity] | None
"""The named constants whose values count as known; None: all."""
_Key = tuple[Pure, Asked]

_ANY: frozenset[Text | Identity] = frozenset()


class Analyses:
    """The analyses of a tree, made on demand and kept.

    ``pure``: procedures that are accepted as pure in the whole tree.  ``any_sizes``: without the
    values of named constants, except those in ``asked``, so that conclusions hold for all values of
    the others.  ``before``: the analyses of a tree of which some files were edited: what has not
    changed is taken from there, as long as this is used.  ``fatal``: no error handler is assumed to
    return.
    """

    def __init__(
        self,
        tree: Tree,
        before: Analyses | None = None,
        fatal: bool = False,
        pure: Pure = frozenset(),
    ) -> None:
        self.tree = tree
        self.pure: Pure = pure if before is None else before.pure
        self.fatal: bool = fatal if before is None else before.fatal
        self._other: Analyses | None = None
        self._before = before
        self.errors: InternalErrors = InternalErrors() if before is None else before.errors
        self._used: UsedNames = UsedNames() if before is None else before._used
        self._given: dict[_Key, Known] = {}
        self._evaluations: dict[_Key, Evaluations] = {}
        self._traces: dict[_Key, Traces] = {}
        self._scopes: dict[Asked, Scopes] = {}
        self._made: dict[_Key, tuple[Effects, Uniformity]] = {}
        self._same: dict[_Key, SameSummaries] = {}
        self._kept: list[Remembered] = []
        self._found: dict[tuple[Pure, Asked], dict[int, Exchange]] = {}

    def edited(self, tree: Tree) -> Analyses:
        """The analyses of a tree in which some files have other contents."""
        return self if tree is self.tree else Analyses(tree, self)

    def under(self, accepted: Collection[str]) -> Analyses:
        """The analyses of the same tree under those assumptions about the whole program that are
        accepted."""
        if (FATAL.word in accepted) == self.fatal:
            return self
        if self._other is None:
            self._other = Analyses(self.tree, fatal=not self.fatal, pure=self.pure)
            self._other.errors = self.errors
            self._other.__dict__["configurations"] = self.configurations
        return self._other

    def followed_by(self, tree: Tree) -> Analyses:
        """The analyses of an edited tree, which replace these: they take over what has not changed,
        and do not need these any more."""
        unaffected = Unaffected(self._sight, tree)
        found = Analyses(tree, fatal=self.fatal, pure=self.pure)
        found._used, found.errors = self._used, self.errors
        found.__dict__["configurations"] = self.configurations
        for key, (effects, _) in self._made.items():
            same = {
                procedure: summary
                for procedure, summary in effects.known.summaries.items()
                if unaffected.place(*_names(procedure)) is not None
            }
            found._given[key] = Known(same, {})
            found._evaluations[key] = {
                procedure: made
                for procedure in same
                if (made := effects.evaluations(procedure)) is not None
            }
        texts = _edited_bodies(self, unaffected, tree)
        if texts is not None:
            found._traces = {key: made.without(texts) for key, made in self._traces.items()}
        return found

    @cached_property
    def configurations(self) -> Configurations:
        """The configurations in which proofs hold, for the tree as it was given."""
        if self._before is not None:
            return self._before.configurations
        return Configurations(self.tree, self._sight)

    @cached_property
    def _sight(self) -> Sight:
        return Sight(self.tree, self._used)

    @cached_property
    def _unaffected(self) -> Unaffected | None:
        return None if self._before is None else Unaffected(self._before._sight, self.tree)

    @property
    def scopes(self) -> Scopes:
        """The names of the tree."""
        return self._scopes_for(None)

    def _scopes_for(self, asked: Asked) -> Scopes:
        if asked not in self._scopes:
            self._scopes[asked] = Scopes(self.tree, asked is not None, asked or frozenset())
            if self._before is not None:
                self._scopes[asked].given = self._before._scopes_for(asked)
        return self._scopes[asked]

    def of(
        self,
        pure: Pure | None = None,
        any_sizes: bool = False,
        asked: frozenset[Text | Identity] = frozenset(),
    ) -> tuple[Effects, Uniformity]:
        """The effects of calls, and the values that all ranks have in common; ``pure`` None: under
        the assumptions that are accepted for the whole tree."""
        pure = self.pure if pure is None else pure
        key = (pure, asked if any_sizes else None)
        if key not in self._made:
            scopes = self._scopes_for(key[1])
            effects = self._effects(key, scopes)
            effects.why_not_alone = self.configurations.why_not_alone
            if self._before is not None:
                effects.given = self._before.of(pure, any_sizes, asked)[0]
            self._made[key] = (
                effects,
                Uniformity(scopes, Assumed(pure, self.fatal)),
            )
        return self._made[key]

    @cached_property
    def _bodies(self) -> frozenset[ProcedureKey] | None:
        """The procedures in which nothing has changed that others can see, except what they do, if
        all changes are of that kind; None: they are not."""
        if self._before is None or self._unaffected is None:
            return frozenset()
        return _edited_bodies(self._before, self._unaffected, self.tree)

    def _bodies_since(self, tree: Tree) -> frozenset[ProcedureKey] | None:
        """The procedures whose text differs from that in another version of the tree, as
        ``_edited_bodies`` has them."""
        before = Analyses(tree)
        return _edited_bodies(before, Unaffected(before._sight, self.tree), self.tree)

    def _may_use_traces(self, procedure: ProcedureKey) -> bool:
        return self._bodies is not None and procedure not in self._bodies

    def _locate(self, procedure: ProcedureKey) -> Located | None:
        sight = self._sight if self._before is None else self._before._sight
        place = sight.position(*_names(procedure))
        if place is not None and self._unaffected is not None:
            place = self._unaffected.now(place)
        return None if place is None else self.tree.unit_at(place)

    def _effects(self, key: _Key, scopes: Scopes) -> Effects:
        assumed = Assumed(key[0], self.fatal)
        origin = self if self._before is None else self._before
        traces = origin._traces.setdefault(key, Traces())
        tracing = Tracing(traces, self._may_use_traces)
        if self._before is not None:
            elsewhere = partial(self._elsewhere, key)
            same = partial(self._with_same_summary, key)
            return Effects(scopes, assumed, tuple, elsewhere, tracing, self._locate, same)
        if self.tree.origin is not None:
            given = self._given.pop(key, None)
            recall = partial(tuple, () if given is None else (given,))
            tracing.recall(self._evaluations.pop(key, {}))
            return Effects(scopes, assumed, recall, tracing=tracing, locate=self._locate)
        remembered = Remembered(
            self.tree, scopes, key[0], traces, self._locate, self.fatal, self._bodies_since
        )
        self._kept.append(remembered)
        return remembered.effects

    def _elsewhere(self, key: _Key, procedure: ProcedureKey) -> tuple[Effects, Located] | None:
        """Where to take the summary of a procedure from that does what it did before."""
        if self._before is None or self._unaffected is None:
            return None
        place = self._unaffected.place(*_names(procedure))
        if place is None:
            return None
        pure, asked = key
        effects, _ = self._before.of(pure, asked is not None, asked or frozenset())
        return effects, self._before.tree.unit_at(place)

    def _with_same_summary(
        self, key: _Key, procedure: ProcedureKey
    ) -> tuple[Effects, Located] | None:
        """Where to take the summary of a procedure from although it may call edited ones."""
        if self._before is None or not self._bodies:
            return None
        if key not in self._same:
            pure, asked = key
            effects, _ = self._before.of(pure, asked is not None, asked or frozenset())
            self._same[key] = SameSummaries(
                effects, self._scopes_for(asked), self._bodies, self._before._locate, self._locate
            )
        return self._same[key].find(procedure)

    def keep(self) -> None:
        """Stores what is known of procedures for the next run."""
        for remembered in self._kept:
            remembered.keep()
        self.tree.keep_mentions()

    def exchanges(self, effects: Effects) -> tuple[Exchange, ...]:
        """All exchange sites of the tree: calls of MPI, and of procedures that wrap one."""
        direct: list[Exchange] = []
        for located in user_units(self.tree, all_to_all_operations()):
            with self.errors.caught(located):
                direct += exchanges(located, effects)
        written_out: list[Exchange] = []
        for located in user_units(self.tree, message_operations()):
            with self.errors.caught(located):
                written_out += open_coded_exchanges(located, effects)
        return (*direct, *wrapped_exchanges(tuple(direct), effects), *written_out)

    def judgement(self, found: Exchange, pure: Pure) -> Plan | Refused:
        """The plan for a site, if possible one for any values of the named constants; otherwise one
        that asks for the values without which it is not proved."""
        effects, uniformity = self.of(pure)
        judgement = judge(found.under(effects), uniformity)
        if not isinstance(judgement, Plan):
            return judgement
        general = self._plan(found, pure, _ANY, judgement)
        if general is not None and _as_good(general, judgement):
            return general
        asking, sizes = self._asking(found, pure, judgement)
        if asking is not None and (general is None or _as_good(asking, judgement)):
            return asking
        return general or _not_asked(judgement, sizes)

    def _asking(
        self, found: Exchange, pure: Pure, judgement: Plan
    ) -> tuple[Plan | None, NamedSizes]:
        """The plan that holds where some constants have their values, which the run checks."""
        for whole_unit in (False, True):
            sizes = sizes_of(judgement.producer, whole_unit)
            plan = self._plan(found, pure, sizes.texts, judgement) if sizes.texts else None
            if plan is not None:
                return replace(plan, sizes=sizes.named), sizes
        return None, sizes

    def _plan(
        self, found: Exchange, pure: Pure, asked: frozenset[Text | Identity], plan: Plan
    ) -> Plan | None:
        """The plan for a site that uses the values of ``asked`` alone and assumes no more than one
        that uses all."""
        effects, uniformity = self.of(pure, any_sizes=True, asked=asked)
        key = (pure, asked)
        if key not in self._found:
            self._found[key] = {e.key: e for e in self.exchanges(effects)}
        exchange = self._found[key].get(found.key)
        judgement = None if exchange is None else judge(exchange, uniformity)
        if not isinstance(judgement, Plan):
            return None
        return judgement if set(judgement.assumptions) <= set(plan.assumptions) else None


def _names(procedure: ProcedureKey) -> tuple[str, tuple[str, ...]]:
    """The path of a procedure, and its name after those of its hosts."""
    path, names = procedure
    return path, tuple(names.split("/"))


def _edited_bodies(
    before: Analyses, unaffected: Unaffected, after: Tree
) -> frozenset[ProcedureKey] | None:
    """The procedures whose text has changed, with those around and inside of them, and new ones, if
    others see nothing of that except what they do."""
    if unaffected.changed is None:
        return None
    sight, now, found = before._sight, Scopes(after), set[ProcedureKey]()
    for place in unaffected.changed:
        parts = sight.procedure(place)
        if not parts:
            new = after.unit_at(unaffected.now(place))
            if not says_the_same(before.tree.unit_at(place).unit, new.unit):
                return None
            continue
        chains = {part: sight.chain(part) for part in parts}
        if any(sight.position(place.path, chain) is None for chain in chains.values()):
            return None
        one = before.scopes.of(before.tree.unit_at(parts[0]))
        other = now.of(after.unit_at(unaffected.now(parts[0])))
        if one.unit.kind != "program" and not same_interface(one, other):
            return None
        found |= {(place.path, "/".join(chain)) for chain in chains.values()}
    found |= {(path, "/".join(chain)) for path, chain in unaffected.added}
    return frozenset(found)


def _not_asked(plan: Plan, sizes: NamedSizes) -> Refused:
    """Why a plan cannot be used: it rests on values that the run cannot check."""
    site = plan.exchange.span
    needed = sizes.elsewhere or (("values of named constants", site),)
    marks = tuple(Mark(span or site, "offending", text) for text, span in needed)
    values = ", ".join(text for text, _ in needed)
    message = f"proved for {values} only, which the emitted code cannot check"
    return Refused(VALUE, message, site, marks[0].text, marks)


def _as_good(general: Plan, plan: Plan) -> bool:
    """Whether nothing is lost with the plan that holds for any sizes."""
    return (
        general.certain >= plan.certain
        and (general.clone is None or plan.clone is not None)
        and general.layout.pattern is plan.layout.pattern
        and general.producer.copy == plan.producer.copy
        and general.grain == plan.grain
    )
