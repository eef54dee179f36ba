"""Whether a procedure can be executed in two parts, one after the other.

The edges of its nests are one part, their interior is the other one (procedure cloning, Cooper,
Hall, Kennedy 1993, with index-set splitting).  A caller may then execute something between the two.

Each part is a procedure with all dummy arguments and local variables of the original.  Statements
that only compute local scalars are repeated in both; all others outside of the nests stand with the
edges.  The parts are equal to the procedure if

* the interior of each nest may be executed before the edges of the others, or behind them, and so
  for the statements that stand with the edges;
* no local variable carries a value from one part to the other; and
* no statement changes what the declarations evaluate: the second part evaluates them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.data_flow.unit import UnitFacts, with_places
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.effects.specification_expressions import evaluated_on_entry
from asphalt.analysis.inlining.codes import KEPT, RefusedError
from asphalt.analysis.memory.accesses import Access, Effect, EffectKind
from asphalt.analysis.memory.loop_scalars import upward_exposed
from asphalt.analysis.names.references import actions
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.verdicts.splitting_codes import ORDER, STATEMENT
from asphalt.analysis.verdicts.verdict import Code
from asphalt.ir.expr import Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, Guarded, Jump, JumpKind, Plain
from asphalt.ir.tree import Branch, Leaf, Node, leaves

_SIMPLE = frozenset({"integer", "real", "double_precision", "logical", "complex"})
_HEADS = frozenset({"if", "else_if", "else"})
_OTHER_NAMES = frozenset({"pointer", "target"})


class Where(Enum):
    """The parts that execute a statement of a procedure."""

    BOTH = "repeated"
    DIVIDED = "some iterations each"
    EDGES = "with the edges"


def repeated(facts: UnitFacts) -> frozenset[int]:
    """The statements of a procedure that may be executed once more in a second part: they give
    local scalars values that nothing else changes."""
    items = facts.unit.body
    found = {n for n, node in enumerate(items) if _only_sets_scalars(node, facts)}
    while True:
        others = [
            access
            for n, node in enumerate(items)
            if n not in found
            for access in facts.footprint(node).accesses
            if access.writes
        ]
        lost = {n for n in found if _meets(facts.footprint(items[n]).accesses, others)}
        if not lost:
            return frozenset(found)
        found -= lost


def _meets(mine: Sequence[Access], written: Sequence[Access]) -> bool:
    return any(a.conflicts(b) for a in mine for b in written)


def _only_sets_scalars(node: Node, facts: UnitFacts) -> bool:
    """Whether a statement or IF construct only defines local scalars, or returns."""
    if not isinstance(node, Leaf | Branch) or (isinstance(node, Branch) and node.kind != "if"):
        return False
    if not all(_sets_a_scalar(leaf, facts) for leaf in leaves(node)):
        return False
    done = facts.footprint(node)
    if any(effect.kind is not EffectKind.JUMP for effect in done.effects):
        return False
    return all(_is_own(storage, facts) for storage in done.written())


def _sets_a_scalar(leaf: Leaf, facts: UnitFacts) -> bool:
    what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
    if isinstance(leaf.what, Guarded) and leaf.what.kind != "if":
        return False
    match what:
        case Assign(target=Ref(name=name, args=None), pointer=False):
            symbol = facts.scope.lookup(name)
            if symbol is None or symbol.dims is not None or symbol.initial is not None:
                return False
            simple = symbol.type is not None and symbol.type.base in _SIMPLE
            return simple and is_local(name, facts)
        case Jump(kind=JumpKind.RETURN, exprs=()):
            return True
        case ArmHead(kind=kind):
            return kind in _HEADS
        case Plain(keyword=keyword):
            return keyword == "continue" or keyword.startswith("end")
    return False


@record
class Part:
    """A statement of a procedure, and which versions have it; of a nest that is divided, its
    ``interior`` and its ``edges``."""

    node: Node
    where: Where
    interior: tuple[Node, ...] = ()
    edges: tuple[Node, ...] = ()


class WholeError(RefusedError):
    """An obligation that would hold if the nest at ``position`` of the procedure were not
    divided."""

    def __init__(self, code: Code, message: str, position: int) -> None:
        super().__init__(code, message)
        self.position = position


def check_parts(facts: UnitFacts, parts: Sequence[Part], *, interior_first: bool) -> None:
    """Check that the edges, with what stands with them, and the interior, one behind the other, do
    what the procedure does.

    Raises:
        RefusedError: they may not, or it is not known.
    """
    for part in parts:
        if part.where is not Where.BOTH and (effect := _effect(part.node, facts)) is not None:
            raise RefusedError(STATEMENT, with_places(effect.described, facts.at))
    for number, second in enumerate(parts):
        for earlier, first in enumerate(parts[:number]):
            why = _why_in_order(facts, first, second, interior_first=interior_first)
            if why is not None:
                why = f"two of its statements keep their order ({with_places(why, facts.at)})"
                raise WholeError(ORDER, why, number if interior_first else earlier)
    _check_locals(facts, [part.where for part in parts])
    check_declarations(facts)


def check_declarations(facts: UnitFacts) -> None:
    """Check that bounds and lengths in declarations are the same when the second part begins."""
    given = evaluated_on_entry(facts.scope, facts.names)
    if any(effect.kind is not EffectKind.ASSUMED for effect in given.effects):
        raise RefusedError(ORDER, "its declarations call a function with other effects")
    for node in facts.unit.body:
        for access in facts.footprint(node).accesses:
            if access.writes and any(access.conflicts(one) for one in given.accesses):
                raise RefusedError(ORDER, f"its declarations depend on {access.storage}")


def _why_in_order(
    facts: UnitFacts, first: Part, second: Part, *, interior_first: bool
) -> str | None:
    """Why what changes places of two statements may not do so: the edges of the first one and the
    interior of the second one, or the other way round."""
    ahead, behind = first.edges, second.interior
    if not interior_first:
        ahead, behind = first.interior, second.edges
    if not ahead or not behind:
        return None
    return facts.once(Independence.of).why_not(first.node, second.node)


def _effect(node: Node, facts: UnitFacts) -> Effect | None:
    """What a statement does beside computing."""
    for effect in facts.footprint(node).effects:
        own = tuple(actions(effect.leaf.what))
        cycles = any(isinstance(w, Jump) and w.kind is JumpKind.CYCLE for w in own)
        if effect.kind is not EffectKind.ASSUMED and not cycles:
            return effect
    return None


def _check_locals(facts: UnitFacts, places: Sequence[Where]) -> None:
    """Check that no local variable carries a value from one part to the other."""
    items = facts.unit.body
    for symbol in facts.scope.own.values():
        if symbol.origin is Origin.LOCAL and (symbol.attrs & _OTHER_NAMES or symbol.equivalenced):
            raise RefusedError(KEPT, f"{symbol.name} may have other names")
    users: dict[str, list[int]] = {}
    writers: dict[str, set[int]] = {}
    for number, node in enumerate(items):
        for access in facts.footprint(node).accesses:
            if _is_own(access.storage, facts):
                users.setdefault(access.storage, []).append(number)
                if access.writes:
                    writers.setdefault(access.storage, set()).add(number)
    for storage, all_ in users.items():
        own = facts.scope.lookup(storage)
        if not is_local(storage, facts) or own is None or own.initial is not None:
            raise RefusedError(KEPT, f"{storage} may keep its value from one call to the next")
        if all(places[n] is Where.BOTH for n in writers.get(storage, ())):
            continue
        if len(set(all_)) == 1:
            continue
        for number in sorted(set(all_)):
            if upward_exposed((items[number],), storage, facts.names, _covers_nothing):
                raise RefusedError(ORDER, f"{storage} carries a value between its statements")


def _is_own(storage: str, facts: UnitFacts) -> bool:
    """Whether a storage is that of a variable that each part has for itself."""
    symbol = facts.scope.lookup(storage)
    return symbol is not None and (symbol.origin is Origin.LOCAL or "value" in symbol.attrs)


def _covers_nothing(node: Node, storage: str) -> bool:
    del node, storage
    return False
