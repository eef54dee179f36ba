"""Exchanges that repeat an earlier one: what they would bring is there already.

Choi and Snyder, ICPP 1997, section 2, "redundant communication removal".  There the compiler has
made the messages, and looks at basic blocks; here both ends are found in the program
(``whole_exchanges``), and the statements between the two exchanges may be any whose effects are
seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.control_flow.paths import closure
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.messages.messages import Stage, stage_of, stage_of_procedure
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.mpi.procedures import MpiProcedure, Timing, procedure
from asphalt.analysis.repetition.message_sections import accesses_of
from asphalt.analysis.repetition.whole_exchanges import (
    WholeExchanges,
    exchanges_messages,
    why_not_idempotent,
)
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf, Node, leaves

_UNSEEN = frozenset({EffectKind.MPI, EffectKind.JUMP, EffectKind.ASSUMED})


@record
class Repeated:
    """A statement that is the same exchange as an earlier one.

    ``path``: to its list, and its position there; ``first``: the earlier one.  ``why_not``: why it
    cannot be left out; None: it can, as long as the named constants ``sizes`` are positive.
    """

    path: tuple[int, ...]
    leaf: Leaf
    first: Leaf
    why_not: str | None = None
    sizes: frozenset[str] = frozenset()
    assumed: tuple[str, ...] = ()


def repeated_in(
    path: tuple[int, ...], siblings: tuple[Node, ...], facts: UnitFacts
) -> Iterator[Repeated]:
    """The statements of a list that exchange the same as the last equal statement before them."""
    known = facts.once(WholeExchanges)
    for position, node in enumerate(siblings):
        if not isinstance(node, Leaf) or not exchanges_messages(node, facts):
            continue
        before = [
            other
            for other in range(position)
            if isinstance(same := siblings[other], Leaf) and same.what == node.what
        ]
        if before:
            first = before[-1]
            between = siblings[first + 1 : position]
            yield _judged((*path, position), siblings[first], node, between, known)


def _judged(
    path: tuple[int, ...],
    first: Node,
    second: Leaf,
    between: tuple[Node, ...],
    known: WholeExchanges,
) -> Repeated:
    assert isinstance(first, Leaf)
    found = known.of(second)
    if isinstance(found, str):
        return Repeated(path, second, first, found)
    why = known.order.place.fixed(first)
    why = why or _why_elsewhere(first, second, between, known.facts)
    why = why or next(_seen_between(between, known), None)
    why = why or known.why_ordered(first, second)
    if why is not None:
        return Repeated(path, second, first, why)
    sizes = why_not_idempotent(found)
    if isinstance(sizes, str):
        return Repeated(path, second, first, sizes)
    named = _visible(sizes, found.unit, known.facts)
    if named is None:
        return Repeated(path, second, first, "it needs sizes that are not visible here")
    more = _changed_between(second, between, known.order)
    if isinstance(more, str):
        return Repeated(path, second, first, more)
    return Repeated(path, second, first, None, named | more, found.assumed)


def _why_elsewhere(
    first: Leaf, second: Leaf, between: tuple[Node, ...], facts: UnitFacts
) -> str | None:
    """Why the second may be executed without the first right before it, but for the statements
    between them."""
    graph = facts.reaching.graph
    start, end = graph.action(first), graph.action(second)
    if start is None or end is None:
        return "it is not executed"
    if not facts.reaching.dominance.dominators.dominates(start, end):
        return f"a path leads to it around {facts.at(first)}"
    inside = {point for node in between for point in graph.inside(node)}
    forwards = closure(graph.successors, (start,), end)
    backwards = closure(graph.predecessors, (end,), start)
    if not (forwards & backwards) - {start, end} <= inside:
        return "another path leads from the first exchange to it"
    return None


def _seen_between(between: tuple[Node, ...], known: WholeExchanges) -> Iterator[str]:
    """What the messages of the second exchange may order that those of the first do not."""
    facts = known.facts
    for node in between:
        fixed = known.order.place.fixed(node)
        if fixed is not None:
            yield f"{fixed}: the messages may order it"
        for effect in facts.footprint(node).effects:
            if effect.kind not in _UNSEEN:
                yield f"{effect.described}: the messages may order it"
            if effect.kind is EffectKind.MPI:
                why = _unclear(effect.leaf, effect.detail, known)
                if why is not None:
                    yield why


def _unclear(leaf: Leaf, operation: str, known: WholeExchanges) -> str | None:
    """Why an operation of MPI between the exchanges may access what no argument shows."""
    call = known.messages.call(leaf)
    if call is not None:
        known_stages = (Stage.START, Stage.COMPLETE, Stage.BOTH, Stage.NOTHING)
        if stage_of(call) in known_stages or _is_plain_collective(call.procedure):
            return None
        return f"{call.procedure.spelled} in {known.facts.at(leaf)}"
    row = procedure(operation)
    if row is not None and (
        stage_of_procedure(row) in (Stage.BOTH, Stage.NOTHING) or _is_plain_collective(row)
    ):
        return None
    if not isinstance(known.of(leaf), str):  # it completes all that it starts
        return None
    return f"what the call in {known.facts.at(leaf)} starts or completes is not known"


def _is_plain_collective(row: MpiProcedure) -> bool:
    """Whether a procedure is a collective operation that is complete on return, and changes
    nothing but buffers."""
    accesses = library_row(row).accesses
    changes = any(access.writes for access in accesses if access.store is Store.OBJECT)
    stores = {access.store for access in accesses} <= {Store.COLLECTIVE, Store.OBJECT}
    return row.collective and row.timing is Timing.BLOCKING and stores and not changes


def _changed_between(
    second: Leaf, between: tuple[Node, ...], order: Independence
) -> str | frozenset[str]:
    """What may change between two exchanges that the second reads or writes; or the named
    constants that must be positive for nothing to change."""
    theirs = accesses_of(second, order)
    if theirs is None:
        return "unknown buffers"
    needed: frozenset[str] = frozenset()
    for node in between:
        found = accesses_of(node, order)
        if found is None:
            return f"line {line_of(next(leaves(node)))}: a wait for unknown buffers"
        writes = tuple(a for a in found if a.writes)
        for conflict in order.conflicting(node, second, writes, theirs):
            sizes = conflict.sizes(order.is_positive)
            if sizes is None:
                return f"it may be needed: {conflict.reason}"
            needed |= sizes
    return needed


def _visible(sizes: frozenset[str], unit: UnitFacts, facts: UnitFacts) -> frozenset[str] | None:
    """The names that named constants of a called procedure have in its caller; None: one has
    none."""
    if unit.unit is facts.unit:
        return sizes
    found: set[str] = set()
    for name in sizes:
        inner, outer = unit.scope.lookup(name), facts.scope.lookup(name)
        if inner is None or outer is None or inner.identity != outer.identity:
            return None
        found.add(name)
    return frozenset(found)
