"""A judge of steps that only looks at texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.known_amounts import Known
from asphalt.gain.model import Price
from asphalt.ir.program import Located


@dataclass
class Opinion:
    """A judge that looks at the text of the file; ``executes``: as a simulation does."""

    cost: Callable[[str], float]
    names: tuple[str, ...] = ("somewhere",)
    executes: bool = True

    def price(self, tree: Tree, located: Located, known: Known | None = None) -> Price:
        return Price((self.cost(tree.content(located.path).decode()),))
