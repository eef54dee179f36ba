"""Removal of declarations that nothing uses any more: those that inlining added, those of
variables that only replaced statements named, and those of procedures of the runtime.

Inlining declares all variables that the statements of a procedure name.  Folded branches and
replaced arguments may leave some of them unused.  A receive that has become a call of the runtime
leaves the user's status and error code behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.openmp_sentinels import hidden_statements
from asphalt.analysis.names.references import named_around, named_by, named_by_entity
from asphalt.analysis.names.visibility import words_at
from asphalt.ir.program import Located, Program
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import ArmHead, Decl, Include, UnitHead, Use
from asphalt.ir.tree import Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.rewriting.comments import in_front


def without_unused(located: Located, names: Collection[str], program: Program) -> Unit:
    """The unit without declarations of those of the ``names`` (folded) that stand nowhere else.

    It is the same unit where a statement of it, or of what it contains, is not understood, or where
    it has lines that only some compilations see: they may use any of the names.  The comments in
    front of a declaration stay.
    """
    unit = located.unit
    own = {id(node) for node in unit.spec if isinstance(node, Leaf) and _may_go(node)}
    elsewhere: set[str] = set()
    for leaf in _statements(located, program):
        named = None if leaf is None else _named(leaf)
        if named is None or leaf is None:
            return unit
        elsewhere |= frozenset() if id(leaf) in own else named
        elsewhere.update(*(line.names for line in hidden_statements(leaf)))
    unused: frozenset[str] = frozenset()
    while (more := frozenset(names) - elsewhere - _used(unit, unused)) != unused:
        unused = more
    return _without(unit, unused) if unused else unit


def without_abandoned(located: Located, given: Located, program: Program, before: Program) -> Unit:
    """The unit without declarations of variables that only statements named which it has no more.

    ``given``: the unit of the tree ``before`` its statements were replaced.  What nothing named
    then stays.
    """
    named: set[str] = set()
    for leaf in _statements(given, before):
        if leaf is None:
            return located.unit
        what = leaf.what
        named |= frozenset() if isinstance(what, Decl | UnitHead) else named_by(what) or frozenset()
    own = {
        entity.name
        for node in given.unit.spec
        if isinstance(node, Leaf) and isinstance(node.what, Decl) and _may_go(node)
        for entity in node.what.entities
    }
    return without_unused(located, named & own, program)


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
        if included is None or leaf.frozen or not all(map(_is_known, leaf.lead)):
            yield None
    for inner in unit.contained:
        found = program.contained(located, inner.name)
        yield from (None,) if found is None else _statements(found, program)


_IN_EACH_CONFIGURATION = frozenset(
    {TriviaKind.BLANK, TriviaKind.COMMENT, TriviaKind.DIRECTIVE, TriviaKind.CONDITIONAL}
)


def _is_known(line: Trivia) -> bool:
    """Whether a line is the same in all configurations."""
    return line.kind in _IN_EACH_CONFIGURATION


def _may_go(leaf: Leaf) -> bool:
    """Whether a statement is a declaration that can be removed without other effects."""
    if not isinstance(leaf.what, Decl) or leaf.what.kind != "type":
        return False
    alone = not leaf.joined and ";" not in leaf.trail.split("!")[0]
    plain = all(line.kind in (TriviaKind.BLANK, TriviaKind.COMMENT) for line in leaf.lead)
    return alone and plain and leaf.label is None


def _used(unit: Unit, unused: frozenset[str]) -> frozenset[str]:
    """The names that declarations of variables use, except those of the ``unused``."""
    found: set[str] = set()
    for node in unit.spec:
        if isinstance(node, Leaf) and isinstance(node.what, Decl) and _may_go(node):
            kept = [entity for entity in node.what.entities if entity.name not in unused]
            if kept:
                found |= named_around(node.what).union(*map(named_by_entity, kept))
                if _has_more_names(node):
                    found |= words_at(node) - {entity.name for entity in node.what.entities}
    return frozenset(found)


def _named(leaf: Leaf) -> frozenset[str] | None:
    """All names in a statement (folded); None: there may be others."""
    named = named_by(leaf.what)
    return words_at(leaf) if named is not None and _has_more_names(leaf) else named


def _has_more_names(leaf: Leaf) -> bool:
    """Whether a statement may have names that the IR does not hold: kinds in the types of arms,
    parameters of derived types, bounds of coarrays, and Cray pointers."""
    match leaf.what:
        case ArmHead(kind="type_is" | "class_is") | Decl(kind="cray_pointer"):
            return True
        case Decl(type=spec) | UnitHead(type=spec):
            derived = spec is not None and spec.name is not None
            return derived or "[" in (leaf.body or "")
        case _:
            return False


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


def _without(unit: Unit, unused: Collection[str]) -> Unit:
    """The unit without declarations of some variables."""
    spec: list[Node] = []
    lead: tuple[Trivia, ...] = ()
    for node in unit.spec:
        if isinstance(node, Leaf) and isinstance(node.what, Decl) and _may_go(node):
            left = tuple(entity for entity in node.what.entities if entity.name not in unused)
            if not left:
                lead = (*lead, *node.lead)
                continue
            if len(left) < len(node.what.entities):
                node = rewrite(node, replace(node.what, entities=left))
        spec.append(in_front(node, lead) if lead else node)
        lead = ()
    body, end = unit.body, unit.end
    if lead and body:
        body = (in_front(body[0], lead), *body[1:])
    elif lead:
        end = replace(end, lead=(*lead, *end.lead))
    return replace(unit, spec=tuple(spec), body=body, end=end)
