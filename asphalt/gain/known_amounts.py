"""What is known of a unit before its price is asked for: of it, and of earlier texts of it.

The optimiser prices many texts of one unit, which differ in few statements.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field

from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.names.scopes import Scope
from asphalt.gain.amounts import Amount
from asphalt.gain.sizes import Sizes
from asphalt.gain.used_declarations import names_named, used_declarations
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation
from asphalt.ir.tree import Leaf, Node, Unit, leaves, once

_Values = tuple[tuple[str, int | None], ...]
"""The values that variables of a unit are taken to have; None: none that is known."""


@record
class KnownAmounts:
    """The amounts of work of statements without calls in the texts of one unit.  All else that the
    program consists of is the same for all of these texts."""

    _found: dict[Hashable, list[tuple[_Values, Amount]]] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many statements have been counted."""
        return sum(len(found) for found in self._found.values())

    def of(
        self,
        node: Node,
        scope: Scope,
        given: Hashable,
        sizes: Sizes,
        count: Callable[[], Amount],
    ) -> Amount:
        """The amount of a statement; ``given``: the values of arguments.  ``count`` finds it out by
        these ``sizes``, unless a statement has been counted that has the same text, names and
        declarations, while all sizes that were asked for had the values that they have now."""
        key = _key(node, scope)
        if key is None:
            return count()
        known = self._found.setdefault((key, given), [])
        for values, amount in known:
            if all(sizes.value(name, scope) == value for name, value in values):
                return amount
        with sizes.asked(scope) as asked:
            amount = count()
        known.append((tuple(asked.items()), amount))
        return amount


@record
class Known:
    """The messages of a unit, and the amounts of work of statements in texts of it; None: they are
    not kept.  ``copied``: a blocking send that counts as if it left from a copy of its buffer."""

    messages: Messages | None = None
    amounts: KnownAmounts | None = None
    copied: Leaf | None = None


def _key(node: Node, scope: Scope) -> Hashable | None:
    """What the amount of a statement without calls depends on, but for values: its text, the
    declarations that matter for it, names that constructs bind, and shapes that ALLOCATE gives
    arrays; None: it cannot be told."""
    own = once(node, _text)
    if own is None:
        return None
    allocations, named = once(scope.unit, _allocations)
    declared = used_declarations(names_named(node) | named, scope.located.chain)
    names = tuple(unit.name for unit in scope.located.chain)
    return declared, scope.located.path, names, scope.shadowed, allocations, own


def _allocations(unit: Unit) -> tuple[str, frozenset[str]]:
    """The ALLOCATE and DEALLOCATE statements of a unit, and the names in them."""
    every = (leaf for node in unit.body for leaf in leaves(node))
    found = [leaf for leaf in every if isinstance(leaf.what, Allocation)]
    return repr([leaf.what for leaf in found]), frozenset().union(*map(names_named, found))


def _text(node: Node) -> tuple[str, ...] | None:
    """The text of a statement or construct, with the lines in front of each of its statements;
    None: it has none."""
    found: list[str] = []
    for leaf in leaves(node):
        if leaf.body is None:
            return None
        found += (leaf.head, leaf.body, *(trivia.text for trivia in leaf.lead))
    return tuple(found)
