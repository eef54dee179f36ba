"""Whether a unit is read as one thing: what two parsers read differently is not touched."""

from __future__ import annotations

from asphalt.frontend.second_opinion.second_opinion import opinions
from asphalt.frontend.second_opinion.second_outline import differs
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.tree import leaves


def disagreement(tree: Tree, path: str, chain: tuple[str, ...]) -> str | None:
    """Why a unit is not touched: two units of one name, or parsers that read it differently.

    ``chain``: the names of the unit and its hosts, from the outermost one.
    """
    same = [
        located
        for located in tree.units_of(path)
        if tuple(unit.name for unit in located.chain) == chain
    ]
    if len(same) != 1:
        return "two units have one name"
    other = differs(tree.index(path), same[0].chain)
    if other is not None:
        return f"two parsers read it differently: {other}"
    unit = same[0].unit
    statements = (leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node))
    found = opinions(statements, same[0].form, tree.file(path).width)
    if found.disagreements:
        return f"two parsers read line {found.disagreements[0].line} differently"
    return None
