"""The units for which the optimiser searches."""

from __future__ import annotations

import pytest

from asphalt.driver import units_ahead
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.outcome import Optimised


@pytest.fixture
def searched_for(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The units that are optimised anew, by name."""
    names: list[str] = []
    original = units_ahead.optimise

    def optimise(tree: Tree, located: Located, options: Options, context: Context) -> Optimised:
        names.append(located.unit.name)
        return original(tree, located, options, context)

    monkeypatch.setattr(units_ahead, "optimise", optimise)
    return names
