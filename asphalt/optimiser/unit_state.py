"""One unit that is being optimised: its texts, the facts of each, and the steps between them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.error_codes import ErrorCodes
from asphalt.analysis.data_flow.passed_readings import may_be_passed
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.effects.uncalled import transitive_callees
from asphalt.analysis.inlining.plan import Inlining
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.names.parallel_loops import threads_of
from asphalt.analysis.names.symbol import Identity
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.assumptions import FATAL, TIMERS
from asphalt.config.passes import BESIDE_THREADS, Pass
from asphalt.diagnostics.site_names import site_name
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.known_amounts import Known, KnownAmounts
from asphalt.gain.model import Judge, Model, Price, networks_named
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.tree import File, Unit, leaves
from asphalt.optimiser.acceptance import Key, accepted_now, key_of
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.origins import Origins, SourceLine, new_lines, through
from asphalt.optimiser.outcome import Done, Dropped, Optimised, Transfer, inlined_call
from asphalt.optimiser.phases import MOST_STEPS
from asphalt.optimiser.statement_numbers import StatementNumbers
from asphalt.optimiser.text_states import EditedTrees, FoundSteps
from asphalt.optimiser.unchanged_units import why_doubted, why_not_read
from asphalt.transforms.buffers import (
    array_expansion,
    buffered_sends,
    receive_queues,
    redundant_stores,
    renaming,
)
from asphalt.transforms.inlining import inline, versions
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.rewriting.checked_sizes import with_checked_values
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.transforms.rewriting.publishing import of_other_files, with_public_names
from asphalt.transforms.rewriting.step import Found, Several, Step, Transformation
from asphalt.transforms.rewriting.tidying import without_unused
from asphalt.transforms.tiling import pipelining
from asphalt.transforms.tiling.wave_pipelines import Pipeline
from asphalt.unparse.unparse import unparse

_ALONE = Context()


@record
class UnitState:
    """The tree after some steps.

    ``trees``: after each of them.  ``split``: the transfers that have become non-blocking.
    ``ahead``: the receives that are posted before their loop.  ``cleared``: the places of the
    stores that are dropped.  ``dropped``: the steps that were tried from there, or on the way
    there, and not kept.
    """

    tree: Tree
    steps: tuple[Done, ...]
    trees: tuple[Tree, ...] = ()
    split: tuple[Transfer, ...] = ()
    ahead: tuple[Transfer, ...] = ()
    cleared: frozenset[SourceLine] = frozenset()
    dropped: tuple[Dropped, ...] = ()


class Workshop:
    """A unit of a tree, and how steps are applied to it.

    ``first``: the tree as it was given; ``tree``: as it stands where these steps begin; ``chain``:
    the names of the unit and its hosts, from the outermost one.  ``whole``: what kept nests from
    being divided, by their place in the user's source; ``undivided``: by what, and in which tree it
    was tried last, where values of constants may help.  ``lost_shares``: where sharing a nest
    among windows did not gain, by the text around it.  ``read_at_call``: procedures with versions
    that are better read at their calls, if they may stand there.  ``constants``: the named
    constants whose values proofs may rest on.  ``brought``: the names that inlining has declared.
    """

    def __init__(
        self,
        tree: Tree,
        path: str,
        chain: tuple[str, ...],
        options: Options,
        context: Context = _ALONE,
        constants: frozenset[Identity] = frozenset(),
    ) -> None:
        self.first = tree
        self.tree = tree
        self.path = path
        self.chain = chain
        self.options = options
        self.passes = self._passes()
        self.context = context
        self.constants = constants
        self.given = context.given
        self.analyses = (context.analyses or Analyses(tree)).under(options.accepted)
        networks = networks_named(options.networks)
        estimates = Model(networks, analyses=self.analyses, sizes=options.sizes)
        self.model: Judge = context.model or estimates
        self.known = EditedTrees(tree, path)
        self.origins = Origins(tree, path)
        self.numbers = StatementNumbers(path)
        self.whole: dict[SourceLine, Refused] = {}
        self.undivided: dict[tuple[SourceLine, Transformation], Tree] = {}
        self.lost_shares: dict[tuple[str, ...], Dropped] = {}
        self._tiled: dict[tuple[str, tuple[str, ...]], bool] = {}
        self.read_at_call: set[str] = set()
        self._read: dict[Key, bool] = {}
        self._prices: dict[Hashable, Price] = {}
        self._amounts = KnownAmounts()
        self._once_called: frozenset[str] = frozenset()
        self.brought: set[str] = set()
        self.renaming, self.cloning, self.expanding, self.departing = (
            replace(module.TRANSFORMATION, check=partial(module.check, limit=options.clone_limit))
            for module in (renaming, array_expansion, receive_queues, buffered_sends)
        )

    def _passes(self) -> Collection[str]:
        """The passes that may be applied to the unit: beside threads, those that leave loops whole
        and write no statement of the user anew."""
        unit = self.located(self.tree).unit
        found = threads_of(unit)
        own = (leaf for node in unit.body for leaf in leaves(node))
        if not found.loops and found.unknown is None and not any(leaf.is_hidden for leaf in own):
            return self.options.passes
        return [one for one in self.options.passes if one in BESIDE_THREADS]

    def for_unit(self, tree: Tree, path: str, chain: tuple[str, ...]) -> Workshop:
        """A workshop for another unit, with the same options, of a tree that was made here."""
        analyses, given = self.analyses.edited(tree), through(tree, self.first, self.given)
        context = replace(self.context, model=self.model, analyses=analyses, given=given)
        return Workshop(tree, path, chain, self.options, context)

    def with_constants(self, constants: frozenset[Identity]) -> Workshop:
        """A workshop for the same unit in which proofs may rest on the values of these."""
        return Workshop(self.tree, self.path, self.chain, self.options, self.context, constants)

    def after(self, found: Optimised) -> Workshop:
        """A workshop that begins with what became of the unit."""
        again = copy(self)
        again.tree = self.tree_of(found)
        return again

    def facts(self, tree: Tree) -> UnitFacts:
        """The unit as it stands in a tree; proofs hold for any values of all other constants."""
        return self.known.facts(tree, self._analysed)

    def _analysed(self, tree: Tree) -> UnitFacts:
        effects, uniformity = self.analyses.edited(tree).of(
            any_sizes=True, asked=frozenset(self.constants)
        )
        eol, located = tree.file(self.path).eol, self.located(tree)
        own = accepted_now(
            self.options.accepted, located, tree, self.first, self.origins, self.context.changed
        )
        said, elsewhere = own.assumptions, own.elsewhere
        found = UnitFacts(
            located,
            effects,
            eol,
            uniformity,
            said,
            elsewhere=elsewhere,
            places=partial(self._given_place, tree),
            same=self.numbers.of(tree),
        )
        if tree is self.first:
            self._once_called = transitive_callees(found.scope)
        found = replace(found, once_called=self._once_called)
        found.forget_at_end(with_effects=tree is not self.analyses.tree)
        return found

    def price(self, tree: Tree) -> Price:
        """The cost of the unit as it stands in a tree."""
        text = self.known.text(tree)
        if text not in self._prices:
            self._prices[text] = self.model.price(tree, self.located(tree), self._known(tree))
        return self._prices[text]

    def _known(self, tree: Tree) -> Known:
        """What is known of the unit in a tree before its price is asked for."""
        return Known(self.facts(tree).once(Messages), self._amounts)

    def price_with_copy(self, tree: Tree, sent: nonblocking.Split) -> Price | None:
        """The cost of the unit as it stands in a tree, but for a blocking send that leaves from a
        copy of its buffer; None: that text has more to price."""
        if not isinstance(self.model, Model) or sent.stored is not None:
            return None
        if sent.leaf.call is not sent.leaf.what:  # a one-line IF becomes a construct
            return None
        known = replace(self._known(tree), copied=sent.leaf)
        return self.model.price(tree, self.located(tree), known)

    def located(self, tree: Tree) -> Located:
        """The unit in a tree."""
        (found,) = (
            located
            for located in tree.units_of(self.path)
            if tuple(unit.name for unit in located.chain) == self.chain
        )
        return found

    def tree_of(self, found: Optimised) -> Tree:
        """The tree with what became of the unit."""
        return self.tree if found.content is None else self.known.tree(found.content, found.beside)

    def tidied(self, found: Optimised) -> Optimised:
        """Return the result for the unit, without declarations of inlined procedures that nothing
        uses any more."""
        if found.content is None or not self.brought:
            return found
        tree = self.tree_of(found)
        located = self.located(tree)
        kept = without_unused(located, self.brought, tree)
        return found if kept is located.unit else self._declared(found, kept)

    def checked(self, found: Optimised, values: Mapping[str, int]) -> Optimised:
        """Return the result for the unit, with a check of the values of named constants."""
        facts = self.facts(self.tree_of(found))
        return self._declared(found, with_checked_values(facts.unit, values, facts))

    def _declared(self, found: Optimised, unit: Unit) -> Optimised:
        """The result, with other declarations of the unit."""
        tree = self.tree_of(found)
        before = self.located(tree).unit
        file = replace_unit(tree.file(self.path), before, unit)
        content = unparse(file).encode("latin-1")
        new = self.known.tree(content, found.beside)
        self.origins.note(new, tree, line_of(next(leaves(before))), file)
        return replace(found, content=content, trees=(new,))

    def placed(self, tree: Tree, transfer: Transfer) -> Transfer:
        """A transfer of a tree, with its place in the source as it was given."""
        place = self.place(tree, transfer.line)
        unit = self.located(self.first).unit
        own = line_of(next(leaves(unit))) <= place.line <= line_of(unit.end)
        inlined = place.path != self.path or not own
        return replace(transfer, line=place.line, path=place.path, inlined=inlined)

    def place(self, tree: Tree, line: int) -> SourceLine:
        """Where the statement in a line of a tree stood in what was given; for one that is new,
        what it was made for, or the head of the unit."""
        first = next(leaves(self.located(self.first).unit))
        return self.origins.about(tree, line) or SourceLine(self.path, line_of(first))

    def _given_place(self, tree: Tree, line: int) -> tuple[str, int]:
        """File and line of a statement in the user's source."""
        place = self.given(self.place(tree, line))
        return place.path, place.line

    def tilings(self, state: UnitState) -> tuple[Pipeline, ...]:
        """The nests with enough work to be cut into tiles together with messages, each as if it
        were the only one."""
        if Pass.PIPELINING not in self.passes:
            return ()
        found = _tilings(self.facts(state.tree))
        return tuple(replace(s, site=self.new_site(state.tree, s.site)) for s in found)

    def new_site(self, tree: Tree, wanted: str) -> str:
        """A name in the header that nothing of the tree has yet."""
        for number in count(1):
            name = site_name(Path(self.path), wanted, number, number)
            if not any(tree.mention_count(f"asphalt_{value}_{name}") for value in "kd"):
                return name
        raise AssertionError

    def wants(self, found: Found, facts: UnitFacts) -> bool:
        """Whether something found is a step to take.  A procedure with errors in its messages is
        not inlined, nor one that can be cut into tiles: it is tiled where it stands.  One that is
        read in two ways has no versions."""
        if isinstance(found, inline.Inline):
            callee = found.plan.callee
            if (callee.path, callee.unit.name) in self.options.faulty:
                return False
        if isinstance(found, versions.Versions):
            return self._is_read(facts, found.callee)
        if isinstance(found, inline.Inline) and Pass.PIPELINING in self.passes:
            callee = found.plan.callee
            key = callee.path, tuple(unit.name for unit in callee.chain)
            if key not in self._tiled:
                own = UnitFacts(
                    callee, facts.effects, facts.eol, facts.uniformity, self.options.accepted
                )
                self._tiled[key] = any(_tilings(own))
            return not self._tiled[key]
        return isinstance(found, Step)

    def _is_read(self, facts: UnitFacts, callee: Located) -> bool:
        """Whether it is clear which statements are those of a procedure, and what they mean."""
        key = key_of(callee)
        if key not in self._read:
            tree = facts.effects.scopes.program
            assert isinstance(tree, Tree)
            clear = why_not_read(tree, *key) is None and why_doubted(tree, *key) is None
            self._read[key] = clear
        return self._read[key]

    def closure(self, state: UnitState, transformations: Sequence[Transformation]) -> UnitState:
        """These transformations until none of them finds a step."""
        while len(state.steps) < MOST_STEPS:
            facts = self.facts(state.tree)
            found = self.next_step(facts, transformations)
            if found is None:
                break
            state = self.applied(state, facts, *found)
        return state

    def next_step(
        self, facts: UnitFacts, transformations: Sequence[Transformation]
    ) -> tuple[Transformation, Step] | None:
        """The first step that one of these transformations finds; None: there is none."""
        for transformation in transformations:
            if transformation.name not in self.passes:
                continue
            wants = partial(self.wants, facts=facts)
            step = facts.once(FoundSteps).next(transformation, wants)
            if step is not None:
                return transformation, step
        return None

    def applied(
        self, state: UnitState, facts: UnitFacts, transformation: Transformation, step: Step
    ) -> UnitState:
        """The state after one step; ``facts``: those that it was found with."""
        file = state.tree.file(self.path)
        lines: Mapping[int, int] = {}
        if isinstance(step, Several):
            units = [facts.unit]
            for one in step.steps:
                chain = (*facts.located.chain[:-1], units[-1])
                here = replace(facts, located=replace(facts.located, chain=chain))
                units.append(transformation.apply(here, one))
            file, lines = replace_unit(file, facts.unit, units[-1]), new_lines(units, step.steps)
        else:
            file = replace_unit(file, facts.unit, transformation.apply(facts, step))
        beside, scopes = dict(self.known.beside(state.tree)), facts.effects.scopes
        plans = [one.plan for one in step.reported if isinstance(one, inline.Inline)]
        for needed in (plan.needed for plan in plans):
            self.brought |= {new.lower() for new, _ in (*needed.variables, *needed.constants)}
            file = with_public_names(file, needed.shown)
            beside |= of_other_files(needed.shown, facts.located, scopes, state.tree)
        self.note_tried(step)
        if isinstance(step, versions.Versions):
            home = step.callee.path
            if home == self.path:
                file = versions.with_versions(file, step)
            elif step.made:
                other = versions.with_versions(state.tree.file(home), step)
                beside[home] = unparse(other).encode("latin-1")
        cleared = state.cleared
        if isinstance(step, redundant_stores.Stored):
            cleared |= {self.place(state.tree, step.line)}
        before = state.tree
        state = self._rewritten(state, file, step.line, lines, beside, plans)
        state = replace(state, cleared=cleared)
        if transformation.in_place:
            self.numbers.note(state.tree, before, file)
        reported = step.reported
        if not step.names_readings:
            more = _of_readings(facts)
            reported = tuple(replace(one, assumed=(*one.assumed, *more)) for one in reported)
        return self._noted(state, facts, transformation.name, reported)

    def note_tried(self, step: Step) -> None:
        """Record what is known of a step as soon as it has been tried."""
        if isinstance(step, versions.Versions) and step.short:
            self.read_at_call.add(step.callee.unit.name)

    def started(
        self, state: UnitState, facts: UnitFacts, steps: Sequence[nonblocking.Split]
    ) -> UnitState:
        """The state with several blocking operations taken apart; ``facts``: those that they were
        found with."""
        if not steps:
            return state
        units = [facts.unit, *nonblocking.one_by_one(facts, steps)]
        file = replace_unit(state.tree.file(self.path), facts.unit, units[-1])
        before = state.tree
        beside = self.known.beside(before)
        state = self._rewritten(state, file, steps[0].line, new_lines(units, steps), beside)
        self.numbers.note(state.tree, before, file)
        return self._noted(state, facts, nonblocking.TRANSFORMATION.name, steps)

    def _rewritten(
        self,
        state: UnitState,
        file: File,
        line: int,
        lines: Mapping[int, int],
        beside: Mapping[str, bytes],
        plans: Sequence[Inlining] = (),
    ) -> UnitState:
        """The state with another syntax tree of the file, made by a step about a line; ``lines``:
        those of new statements that come from steps about others, by identity; ``beside``: the
        contents of other files that have changed; ``plans``: of procedures that are inlined."""
        tree = self.known.tree(unparse(file).encode("latin-1"), beside)
        self.origins.note(tree, state.tree, line, file, lines, plans)
        return replace(state, tree=tree, trees=(*state.trees, tree))

    def _noted(
        self, state: UnitState, facts: UnitFacts, name: Pass, steps: Sequence[Step]
    ) -> UnitState:
        """The state with the steps that have led to its tree from the one before; ``facts``: those
        that they were found with."""
        fatal = facts.executed.rests_on_fatal or facts.once(ErrorCodes).rests_on_fatal
        all_ = (FATAL.word,) if fatal else ()
        *_, before, tree = (self.tree, *state.trees)
        done = tuple(
            Done(
                name,
                step.does,
                step.evidence,
                self.given(self.place(before, step.line)),
                # those of a transfer are reported with the transfer
                assumed=all_ if isinstance(step, nonblocking.Split) else (*step.assumed, *all_),
                call=inlined_call(step, self.given(self.place(before, step.line))),
            )
            for step in steps
        )
        between = (before,) * (len(done) - 1)
        trees = (*state.trees[:-1], *between, tree)
        return replace(state, steps=(*state.steps, *done), trees=trees)


def _of_readings(facts: UnitFacts) -> tuple[str, ...]:
    """The assumption that a step may rest on in a unit that reads clocks, where it is accepted."""
    head = next(leaves(facts.unit))
    return (TIMERS.word,) if is_accepted_at(TIMERS, head, facts) and may_be_passed(facts) else ()


def _tilings(facts: UnitFacts) -> Iterator[Pipeline]:
    """The nests of a unit with enough work to be cut into tiles together with messages."""
    found = (step for step in facts.once(pipelining.check) if isinstance(step, Pipeline))
    return (step for step in found if step.amount >= pipelining.LEAST_WORK)
