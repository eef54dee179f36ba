"""Units that are not changed at all: asphalt may read them wrongly, or they have errors.

Other parsers are slow: they are asked for their opinion where a unit could be changed
(``why_doubted``).
"""

from __future__ import annotations

from asphalt.analysis.inlining.runtime_names import clashing_name
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis_manager.analyses import Analyses
from asphalt.frontend.second_opinion.second_opinion import opinions
from asphalt.frontend.second_opinion.second_outline import differs
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.insertion import takes_declarations
from asphalt.ir.program import Located
from asphalt.ir.tree import leaves


def why_unchanged(
    analyses: Analyses, path: str, chain: tuple[str, ...], scope: Scope
) -> str | None:
    """Why a unit is not changed, whatever could become of it: two units have one name, it has names
    that asphalt needs, it is not clear for which configurations of the preprocessor proofs about it
    hold, or it takes no declarations.

    ``chain``: the names of the unit and its hosts, from the outermost one; ``scope``: the unit's.
    """
    found = why_not_read(analyses.tree, path, chain)
    return found or why_no_configuration(analyses, path, chain) or why_no_names(scope)


def why_not_read(tree: Tree, path: str, chain: tuple[str, ...]) -> str | None:
    """Why it is not clear which statements are those of a unit, or where their text is, as far as
    asphalt's own parser says."""
    same = _named(tree, path, chain)
    if len(same) != 1:
        return "two units have one name"
    included = _included_by(tree, same[0])
    return None if included is None else f"its text comes from another file: {included}"


def why_doubted(tree: Tree, path: str, chain: tuple[str, ...]) -> str | None:
    """Why it is not clear what a unit, the only one of its name, means: other parsers find other
    lines, dummy arguments or statements."""
    (located,) = _named(tree, path, chain)
    other = differs(tree.index(path), located.chain)
    if other is not None:
        return f"two parsers read it differently: {other}"
    return _disagreement(tree, located)


def why_no_configuration(analyses: Analyses, path: str, chain: tuple[str, ...]) -> str | None:
    """Why it is not clear in which configurations proofs about a unit hold."""
    tests = analyses.configurations.of(path, chain)
    return tests if isinstance(tests, str) else None


def why_no_names(scope: Scope) -> str | None:
    """Why a unit does not take what asphalt declares."""
    found = clashing_name(scope)
    if found is None and not takes_declarations(scope.unit):
        return "new declarations would stand on a line with other statements"
    return found


def _included_by(tree: Tree, located: Located) -> str | None:
    """The line of the preprocessor that includes the text of a unit."""
    head = next(leaves(located.unit))
    if not head.frozen or head.span is None:
        return None
    lines = tree.content(located.path).decode("latin-1").split("\n")
    line = lines[head.span.first - 1].strip()
    return f"{line} in line {head.span.first}" if line.startswith("#") else None


def _named(tree: Tree, path: str, chain: tuple[str, ...]) -> list[Located]:
    return [
        located
        for located in tree.units_of(path)
        if tuple(unit.name for unit in located.chain) == chain
    ]


def _disagreement(tree: Tree, located: Located) -> str | None:
    unit = located.unit
    statements = (leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node))
    found = opinions(statements, located.form, tree.file(located.path).width)
    if found.disagreements:
        return f"two parsers read line {found.disagreements[0].line} differently"
    return None
