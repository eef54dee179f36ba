"""The procedure that a line of the user's source calls."""

from __future__ import annotations

from pathlib import Path

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.names.scopes import Scopes
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.ir.tree import leaves


@record
class CalledProcedure:
    """A procedure: its name, its file, and its first and last line there."""

    name: str
    path: str
    first: int
    last: int


def called_at(tree: Tree, scopes: Scopes, file: Path, line: int) -> CalledProcedure | None:
    """The procedure of a tree that a statement in a line of a file calls; None: it calls none."""
    for entry in tree.files:
        if not Path(entry.path).samefile(file):
            continue
        for located in tree.units_of(entry.path):
            for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
                if leaf.call is None or leaf.span is None:
                    continue
                if not leaf.span.first <= line <= leaf.span.last:
                    continue
                target = invoked(leaf.call, scopes.of(located))
                if target is not None:
                    unit = target[0].unit
                    first, last = line_of(next(leaves(unit))), line_of(unit.end)
                    return CalledProcedure(unit.name, target[0].path, first, last)
    return None
