"""Inlined exchanges as split-phase calls (``split_phase``)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.inlining.codes import RefusedError
from asphalt.analysis.inlining.plan import Inlining
from asphalt.analysis.inlining.returns import without_returns
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.conditionals import is_conditional
from asphalt.ir.program import Located
from asphalt.ir.tree import File, Leaf, Unit, leaves
from asphalt.optimiser.acceptance import key_of
from asphalt.optimiser.final_form.written import NewCalls, came_from, new_step, written
from asphalt.optimiser.outcome import Optimised
from asphalt.optimiser.overlap import Overlap
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.inlining import split_phase
from asphalt.transforms.inlining.inlined_statements import Procedure
from asphalt.transforms.inlining.waits_last import waits_last
from asphalt.transforms.loops import branch_fission
from asphalt.transforms.nonblocking.request_arrays import gathered
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse

_EVIDENCE = (
    "each statement of the procedure stands in one of the two, in its order",
    "local variables that live from one to the other are arguments, of which no copy is passed",
)
_LEAST = 0.5
"""Of what a unit saves with inlined exchanges: what it must save with split-phase calls."""


def in_phases(shop: Workshop, found: Optimised, undone: tuple[Inlining, ...] = ()) -> Optimised:
    """The result for the unit, with split-phase calls instead of inlined exchanges where that is
    the same.  ``undone``: the inlining that is undone before: what it has brought may go, too."""
    if found.content is None or not any(step.call for step in found.steps):
        return found
    tree = shop.tree_of(found)
    facts, given = shop.facts(tree), shop.facts(shop.first)
    made = split_phase.in_phases(facts, given, came_from(shop, tree), partial(_apart, shop))
    if made is None:
        return found
    calls = NewCalls(made.unit, (*undone, *made.plans), made.lines, made.versions)
    new = written(shop, found, calls)
    if new is None:
        return found
    before, inlined, after = (shop.price(one) for one in (shop.first, tree, shop.tree_of(new)))
    pairs = zip(inlined.saved(before), after.saved(before), strict=True)
    if after.loses(before) or any(now < then * _LEAST for then, now in pairs if then > 0):
        return found
    steps = (new_step(shop, line, does, _EVIDENCE) for line, does in made.told)
    return replace(new, steps=(*new.steps, *steps))


def _apart(shop: Workshop, callee: Located) -> Procedure | None:
    """A called procedure with its blocking transfers taken apart, as far as that rests on no
    assumption; None: it cannot be, or its file may not be written where the preprocessor is asked
    about other configurations."""
    if callee.path != shop.path and _has_conditionals(shop.first.file(callee.path)):
        return None
    own = shop.for_unit(shop.first, *key_of(callee))
    given = own.facts(own.tree)
    begin = UnitState(_without_returns(own, given), ())
    state, _ = Overlap(own).split(begin, frozenset())
    state = own.closure(state, (branch_fission.TRANSFORMATION,))
    if state.tree is own.tree:
        return Procedure.as_given(given)
    if any(transfer.assumed for transfer in state.split):
        return None
    facts = own.facts(state.tree)
    tree = _with_unit(own, facts, waits_last(facts), state.tree)
    facts = own.facts(tree)
    emitted = _with_unit(own, facts, gathered(facts, tree.file(own.path).macros), tree)
    statements = tuple(leaf for node in given.unit.body for leaf in leaves(node))

    def line(leaf: Leaf) -> int | None:
        place = own.origins.about(tree, line_of(leaf))
        return None if place is None or place.path != own.path else place.line

    return Procedure(statements, facts, line, own.facts(emitted))


def _has_conditionals(file: File) -> bool:
    """Whether the preprocessor selects lines of a file."""
    return any(is_conditional(entry) for leaf in leaves(file) for entry in leaf.lead)


def _without_returns(shop: Workshop, facts: UnitFacts) -> Tree:
    """The tree of a workshop with the statements that a RETURN skips in branches, as they are where
    the unit is inlined; as it is, if that cannot be."""
    unit = facts.unit
    try:
        body = without_returns(unit.body, unit.name, jumps=False)
    except RefusedError:
        return shop.tree
    if body == unit.body:
        return shop.tree
    return _with_unit(shop, facts, replace(unit, body=body), shop.tree)


def _with_unit(shop: Workshop, facts: UnitFacts, unit: Unit, before: Tree) -> Tree:
    """The tree ``before`` with another text of the unit of a workshop."""
    file = replace_unit(before.file(shop.path), facts.unit, unit)
    tree = shop.known.tree(unparse(file).encode("latin-1"), shop.known.beside(before))
    shop.origins.note(tree, before, line_of(next(leaves(facts.unit))), file)
    return tree
