"""The final form of units that the optimiser has changed, when it is done with all: nests in tiles
with objects of the runtime, loops over blocks with iterators, starts in the order of the source,
waits that stayed together in one, persistent requests, requests in arrays, fences behind inlined
waits, new branches as a person writes them, and no declarations of what only replaced statements
named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis_manager.analyses import Analyses
from asphalt.diagnostics.change import Change
from asphalt.driver.units_ahead import unit_of
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.ir.tree import File, Unit
from asphalt.optimiser.acceptance import Key
from asphalt.transforms.decomposition.block_iterators import with_iterators
from asphalt.transforms.inlining.fences import fenced
from asphalt.transforms.loops.plain_branches import with_joined_branches, without_negations
from asphalt.transforms.motion.source_order import in_source_order
from asphalt.transforms.nonblocking.joined_waits import with_joined_waits
from asphalt.transforms.nonblocking.persistent_starts import with_persistent
from asphalt.transforms.nonblocking.request_arrays import gathered
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.transforms.rewriting.tidying import without_abandoned
from asphalt.transforms.tiling.segment_objects import with_objects
from asphalt.unparse.unparse import unparse

_Form = Callable[[UnitFacts, File], Unit]


def _forms(given: Located | None, before: Tree, persistent: bool) -> tuple[_Form, ...]:
    """What makes the final form of a unit out of that which the optimiser has left.  ``given``: the
    unit of the tree ``before`` all changes; None: it had none.  ``persistent``: messages of loops
    get persistent requests."""

    def tidy(facts: UnitFacts, _: File) -> Unit:
        located, tree = facts.located, facts.effects.scopes.program
        return located.unit if given is None else without_abandoned(located, given, tree, before)

    def joined(facts: UnitFacts, _: File) -> Unit:
        return facts.unit if given is None else with_joined_branches(facts, given.unit)

    return (
        lambda facts, _: with_objects(facts),
        lambda facts, _: with_iterators(facts),
        lambda facts, _: facts.unit if given is None else in_source_order(facts, given.unit),
        lambda facts, _: facts.unit if given is None else with_joined_waits(facts, given.unit),
        lambda facts, _: with_persistent(facts) if persistent else facts.unit,
        lambda facts, file: gathered(facts, file.macros),
        lambda facts, _: facts.unit if given is None else fenced(facts, given.unit),
        lambda facts, _: facts.unit if given is None else without_negations(facts, given.unit),
        joined,
        tidy,
    )


def in_final_form(
    analyses: Analyses,
    before: Tree,
    changes: Iterable[Change],
    units: Iterable[Key],
    *,
    persistent: bool,
) -> tuple[Change, ...]:
    """The changes with these units in their final form.

    ``analyses``: of the tree with the changes, which was as ``before``.  ``persistent``: messages
    of loops get persistent requests.
    """
    by_path = {str(change.path): change for change in changes}
    for path, chain in units:
        for form in _forms(unit_of(before, path, chain), before, persistent):
            tree = analyses.tree
            located = unit_of(tree, path, chain)
            if located is None:
                break
            effects, uniformity = analyses.of(any_sizes=True)
            file = tree.file(path)
            with analyses.errors.caught(located):
                unit = form(UnitFacts(located, effects, file.eol, uniformity), file)
                if unit is located.unit:
                    continue
                content = unparse(replace_unit(file, located.unit, unit)).encode("latin-1")
                by_path[path] = replace(by_path[path], after=content)
                analyses = analyses.followed_by(tree.edited({path: content}))
    return tuple(by_path[path] for path in sorted(by_path))
