"""The versions of a procedure for its two phases, and what else they change in files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.inlining.plan import Inlining
from asphalt.analysis.inlining.split_phase import Phases
from asphalt.analysis.inlining.version_calls import NewNames
from asphalt.analysis.names.visibility import words_of
from asphalt.config.runtime import offering
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import Use
from asphalt.ir.tree import File, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.inlining import version_units
from asphalt.transforms.inlining.fences import with_fences
from asphalt.transforms.rewriting.comments import in_front
from asphalt.transforms.rewriting.edit import map_leaves
from asphalt.transforms.rewriting.tidying import without_uncalled


@record
class Version:
    """The two versions of a procedure: ``made``, those that it does not have beside it yet, and how
    the caller can name them."""

    callee: Located
    made: tuple[Unit, ...]
    names: NewNames


def phase_units(inside: UnitFacts, phases: Phases, start: str, finish: str) -> tuple[Unit, Unit]:
    """The versions, with these names."""
    name = version_units.spelled(inside.located)
    body, more = inside.unit.body, phases.carried
    first, second = body[: phases.position], body[phases.position :]
    texts = f"asphalt: {name} up to its wait", f"asphalt: what {start} leaves out of {name}"
    begin = version_units.version(inside, start, _apart(first, inside.eol), texts[:1], more)
    end = version_units.version(inside, finish, _apart(second, inside.eol), texts[1:], more)
    end = with_fences(inside, end, phases.pending)
    return without_uncalled(begin, offering()), without_uncalled(end, offering())


def _apart(nodes: tuple[Node, ...], eol: str) -> tuple[Node, ...]:
    """Statements behind an empty line."""
    first = next(leaves(nodes[0]))
    if first.lead and first.lead[0].kind is TriviaKind.BLANK:
        return nodes
    return (in_front(nodes[0], (Trivia(TriviaKind.BLANK, eol),)), *nodes[1:])


def with_versions(file: File, path: str, versions: Sequence[Version]) -> File:
    """The file at a path with the versions that stand in it."""
    for one in versions:
        if one.callee.path == path:
            file = version_units.beside(file, one.callee, one.made, one.names)
    return file


def without_brought(unit: Unit, plans: Sequence[Inlining]) -> Unit:
    """The unit without the names that USE statements brought for inlined statements which it has
    no more."""
    brought = {use for plan in plans for use in plan.needed.uses}
    spec: list[Node] = []
    for node in unit.spec:
        what = node.what if isinstance(node, Leaf) else None
        if not isinstance(node, Leaf) or not isinstance(what, Use) or what not in brought:
            spec.append(node)
            continue
        used = words_of(replace(unit, spec=tuple(one for one in unit.spec if one is not node)))
        kept = tuple(item for item in what.items if item.local in used)
        if kept == what.items:
            spec.append(node)
        elif kept:
            spec.append(rewrite(node, replace(what, items=kept)))
    return replace(unit, spec=tuple(spec))


def not_shown(unit: Unit, plans: Sequence[Inlining]) -> Mapping[str, tuple[str, ...]]:
    """The names, by module, that were made public for inlined statements and that nothing in the
    unit needs any more."""
    used = words_of(unit)
    found: dict[str, tuple[str, ...]] = {}
    for plan in plans:
        for module, names in plan.needed.shown.items():
            gone = tuple(name for name in names if name not in used)
            found[module] = tuple(dict.fromkeys((*found.get(module, ()), *gone)))
    return found


def without_places(nodes: tuple[Node, ...], texts: Collection[str]) -> tuple[Node, ...]:
    """Statements without the comments that tell where procedures stand which do so no more."""

    def change(leaf: Leaf) -> Leaf:
        kept = tuple(e for e in leaf.lead if e.text.strip().lstrip("!cC* ") not in texts)
        return leaf if len(kept) == len(leaf.lead) else replace(leaf, lead=kept)

    return tuple(map_leaves(node, change) for node in nodes)
