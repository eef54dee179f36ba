"""The transfers of a unit that stay blocking, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from asphalt.analyses import Analyses
from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE
from asphalt.analysis.messages import Messages
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.analysis.verdict import Refused
from asphalt.frontend.tree import Tree
from asphalt.ir.program import Located
from asphalt.transforms import decomposition, expansion, nonblocking, stores


def kept_blocking(
    tree: Tree, located: Located, accepted: frozenset[str] = frozenset()
) -> tuple[tuple[Refused, str], ...]:
    """The blocking transfers and collective operations of a unit that cannot be made non-blocking,
    with the procedure."""
    return tuple(
        (found, spelled)
        for found, spelled in _judged(_facts(tree, located, accepted))
        if isinstance(found, Refused)
    )


def nothing_beside(
    tree: Tree,
    located: Located,
    overlapped: Collection[int],
    accepted: frozenset[str] = frozenset(),
    passes: Collection[str] = (),
    clone_limit: int | None = None,
) -> tuple[tuple[Refused, str], ...]:
    """Those that could be, but stay as they are: all but the ones of the lines ``overlapped``.

    Each with what keeps its blocks together, or its receive in a loop, where one of the ``passes``
    would part them.
    """
    message = "it could be non-blocking, but no work comes beside it that is worth it"
    facts = _facts(tree, located, accepted)
    stay: list[Refused] = []
    if decomposition.NAME in passes:
        stay += decomposition.refusals(facts)
    if expansion.NAME in passes:
        stay += expansion.refusals(facts, clone_limit)
    more = {one.span: one for one in stay}
    return tuple(
        (
            _with(Refused(NOTHING_BESIDE, message, found.leaf.span), more.get(found.leaf.span)),
            spelled,
        )
        for found, spelled in _judged(facts)
        if isinstance(found, nonblocking.Split) and found.line not in overlapped
    )


def _with(idle: Refused, more: Refused | None) -> Refused:
    """The refusal of a transfer that no work comes beside, with what would have brought some."""
    if more is None:
        return idle
    return replace(more, message=f"{idle.message}; {more.message}")


def kept_stores(tree: Tree, located: Located) -> tuple[tuple[Refused, str], ...]:
    """The stores to receive buffers of a unit that stay, with the procedure that receives."""
    return stores.refusals(_facts(tree, located, frozenset()))


def _judged(facts: UnitFacts) -> Iterator[tuple[nonblocking.Split | Refused, str]]:
    """All of them, each with the procedure."""
    messages = facts.once(Messages)
    spelled = {leaf.span: call.procedure.spelled for leaf, call in messages.own_calls()}
    for found in facts.once(nonblocking.check):
        assert isinstance(found, nonblocking.Split | Refused)
        span = found.span if isinstance(found, Refused) else found.leaf.span
        yield found, spelled.get(span, "")


def _facts(tree: Tree, located: Located, accepted: frozenset[str]) -> UnitFacts:
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    return UnitFacts(located, effects, tree.file(located.path).eol, uniformity, accepted)
