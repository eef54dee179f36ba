"""The steps of one transformation as the optimiser takes them: several at once where it can."""

from __future__ import annotations

from asphalt.optimiser.options import Options
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.rewriting.step import Several, Step, Transformation
from support.stepping import Stepped


def taken_together(
    tree: Stepped, transformation: Transformation, unit: str
) -> tuple[list[int], str]:
    """How many steps are taken at once, time after time, in a unit of the only file, and the text
    that they lead to."""
    path = tree.tree.files[0].path
    shop = Workshop(tree.tree, path, (unit,), Options())
    state, sizes = UnitState(tree.tree, ()), []
    while True:
        facts = shop.facts(state.tree)
        found = shop.next_step(facts, (transformation,))
        if found is None:
            return sizes, state.tree.content(path).decode()
        sizes.append(_number(found[1]))
        state = shop.applied(state, facts, *found)


def _number(step: Step) -> int:
    return len(step.steps) if isinstance(step, Several) else 1
