"""Removal of declarations that nothing uses any more: those that inlining added, and those of
procedures of the runtime.

Inlining declares all variables that the statements of a procedure name.  Folded branches and
replaced arguments may leave some of them unused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from asphalt.analysis.directives.directives import behind_sentinel
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.references import named_around, named_by, named_by_entity
from asphalt.analysis.names.visibility import words_at
from asphalt.ir.program import Located, Program
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import Decl, Include, Use
from asphalt.ir.tree import Leaf, Node, Unit, leaves, rewrite


def without_unused(located: Located, names: Collection[str], program: Program) -> Unit:
    """The unit without declarations of those of the ``names`` (folded) that stand nowhere else.

    It is the same unit where a statement of it, or of what it contains, is not understood, or where
    it has lines that only some compilations see: they may use any of the names.
    """
    unit = located.unit
    own = {id(node) for node in unit.spec if isinstance(node, Leaf) and _may_go(node)}
    elsewhere: set[str] = set()
    for leaf in _statements(located, program):
        named = None if leaf is None else named_by(leaf.what)
        if named is None:
            return unit
        elsewhere |= frozenset() if id(leaf) in own else named
    unused: frozenset[str] = frozenset()
    while (more := frozenset(names) - elsewhere - _used(unit, unused)) != unused:
        unused = more
    spec = (_without(node, unused) for node in unit.spec)
    return replace(unit, spec=tuple(node for node in spec if node is not None)) if unused else unit


def _statements(located: Located, program: Program) -> Iterator[Leaf | None]:
    """All statements of a unit, of what it includes and of what it contains; None: there are some
    that are not known."""
    unit = located.unit
    for leaf in leaves(replace(unit, contained=())):
        included: tuple[Node, ...] | None = (leaf,)
        if isinstance(leaf.what, Include):
            included = program.include(located, leaf.what.path)
        for node in included or ():
            yield from leaves(node)
        if included is None or leaf.frozen or not all(map(_says_nothing, leaf.lead)):
            yield None
    for inner in unit.contained:
        found = program.contained(located, inner.name)
        yield from (None,) if found is None else _statements(found, program)


def _says_nothing(line: Trivia) -> bool:
    """Whether a line uses no variable, in whatever configuration."""
    plain = line.kind in (TriviaKind.BLANK, TriviaKind.COMMENT)
    return plain or behind_sentinel(line) is not None


def _may_go(leaf: Leaf) -> bool:
    """Whether a statement is a declaration that can be removed without other effects."""
    if not isinstance(leaf.what, Decl) or leaf.what.kind != "type":
        return False
    alone = not leaf.joined and ";" not in leaf.trail.split("!")[0]
    return alone and not leaf.lead and leaf.label is None


def _used(unit: Unit, unused: frozenset[str]) -> frozenset[str]:
    """The names that declarations of variables use, except those of the ``unused``."""
    found: set[str] = set()
    for node in unit.spec:
        if isinstance(node, Leaf) and isinstance(node.what, Decl) and _may_go(node):
            kept = [entity for entity in node.what.entities if entity.name not in unused]
            if kept:
                found |= named_around(node.what).union(*map(named_by_entity, kept))
    return frozenset(found)


def without_uncalled(unit: Unit, names: Collection[str]) -> Unit:
    """The unit without those of the ``names`` of the runtime that it uses, and that nothing of it
    calls any more."""
    inside = (*unit.body, *unit.contained)
    gone = set(names).difference(*(words_at(leaf) for node in inside for leaf in leaves(node)))
    spec: list[Node] = []
    for node in unit.spec:
        what = node.what if isinstance(node, Leaf) else None
        if isinstance(node, Leaf) and isinstance(what, Use) and what.module in RUNTIME_MODULES:
            items = tuple(item for item in what.items if item.name not in gone)
            if not items and what.items and not node.lead:
                continue
            if items and items != what.items:
                node = rewrite(node, replace(what, items=items))
        spec.append(node)
    return replace(unit, spec=tuple(spec))


def _without(node: Node, unused: Collection[str]) -> Node | None:
    if not isinstance(node, Leaf) or not isinstance(node.what, Decl) or not _may_go(node):
        return node
    left = tuple(entity for entity in node.what.entities if entity.name not in unused)
    if len(left) == len(node.what.entities):
        return node
    return rewrite(node, replace(node.what, entities=left)) if left else None
