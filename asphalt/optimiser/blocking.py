"""The transfers of a unit that stay blocking, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from asphalt.analyses import Analyses
from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE
from asphalt.analysis.messages import Messages
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.analysis.verdict import Refused
from asphalt.frontend.tree import Tree
from asphalt.ir.program import Located
from asphalt.transforms import nonblocking, stores


def kept_blocking(
    tree: Tree, located: Located, accepted: frozenset[str] = frozenset()
) -> tuple[tuple[Refused, str], ...]:
    """The blocking transfers and collective operations of a unit that cannot be made non-blocking,
    with the procedure."""
    return tuple(
        (found, spelled)
        for found, spelled in _judged(tree, located, accepted)
        if isinstance(found, Refused)
    )


def nothing_beside(
    tree: Tree,
    located: Located,
    overlapped: Collection[int],
    accepted: frozenset[str] = frozenset(),
) -> tuple[tuple[Refused, str], ...]:
    """Those that could be, but stay as they are: all but the ones of the lines ``overlapped``."""
    message = "it could be non-blocking, but no work comes beside it that is worth it"
    return tuple(
        (Refused(NOTHING_BESIDE, message, found.leaf.span), spelled)
        for found, spelled in _judged(tree, located, accepted)
        if isinstance(found, nonblocking.Split) and found.line not in overlapped
    )


def kept_stores(tree: Tree, located: Located) -> tuple[tuple[Refused, str], ...]:
    """The stores to receive buffers of a unit that stay, with the procedure that receives."""
    return stores.refusals(_facts(tree, located, frozenset()))


def _judged(
    tree: Tree, located: Located, accepted: frozenset[str]
) -> Iterator[tuple[nonblocking.Split | Refused, str]]:
    """All of them, each with the procedure."""
    facts = _facts(tree, located, accepted)
    messages = facts.once(Messages)
    spelled = {leaf.span: call.procedure.spelled for leaf, call in messages.own_calls()}
    for found in facts.once(nonblocking.check):
        assert isinstance(found, nonblocking.Split | Refused)
        span = found.span if isinstance(found, Refused) else found.leaf.span
        yield found, spelled.get(span, "")


def _facts(tree: Tree, located: Located, accepted: frozenset[str]) -> UnitFacts:
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    return UnitFacts(located, effects, tree.file(located.path).eol, uniformity, accepted)
