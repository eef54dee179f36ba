"""The user's units of a tree.

A tree that was transformed in place also has the runtime, which only passes calls on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located


def user_units(tree: Tree, operations: Collection[str]) -> Iterator[Located]:
    """Each unit with a live call of one of some MPI procedures, except those of the run-time
    module."""
    return (one for one in tree.site_units(operations) if one.chain[0].name not in RUNTIME_MODULES)
