"""What is known of a unit before its price is asked for: of it, and of earlier texts of it.

The optimiser prices many texts of one unit, which differ in few statements.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.names.scopes import Scope
from asphalt.gain.amounts import Amount
from asphalt.ir.program import Located
from asphalt.ir.stmt import Allocation
from asphalt.ir.tree import Leaf, Node, Unit, leaves, once


@dataclass(frozen=True, slots=True)
class Known:
    """The messages of a unit, and the amounts of work of statements in texts of it.

    ``declared``: the text of the file without the statements of the unit (``text_around``).  All
    else that the program consists of is the same for all texts that share ``amounts``.
    ``copied``: a blocking send that counts as if it left from a copy of its buffer.
    """

    messages: Messages | None = None
    declared: bytes | None = None
    amounts: dict[Hashable, Amount] = field(default_factory=dict)
    copied: Leaf | None = None

    def key(self, node: Node, scope: Scope) -> Hashable | None:
        """What the amount of a statement without calls depends on, but for the values of arguments:
        its text, declarations, names that constructs bind, and shapes that ALLOCATE gives arrays;
        None: it cannot be told."""
        own = None if self.declared is None else once(node, _text)
        if own is None:
            return None
        allocations = once(scope.unit, _allocations)
        names = tuple(unit.name for unit in scope.located.chain)
        declared = self.declared if self._may_be_edited(scope) else _declarations(scope)
        return declared, scope.located.path, names, scope.shadowed, allocations, own

    def _may_be_edited(self, scope: Scope) -> bool:
        """Whether a unit is the one whose texts are priced, or inside of it; of others, no text has
        other declarations."""
        if self.messages is None:
            return True
        own, other = self.messages.facts.located, scope.located
        inside = zip(own.chain, other.chain, strict=False)
        deep = len(other.chain) >= len(own.chain)
        return deep and own.path == other.path and all(a.name == b.name for a, b in inside)


def text_around(located: Located, content: bytes) -> bytes | None:
    """The text of a file without the lines of the executable part of a unit; None: that has no
    lines of the file for itself."""
    unit = located.unit
    found = [leaf for node in unit.body for leaf in leaves(node)]
    if not found or found[0].span is None or found[-1].span is None:
        return None
    if found[0].joined or (unit.contains or unit.end).joined:
        return None
    if any(span.file != located.path for span in (found[0].span, found[-1].span)):
        return None
    lines = content.splitlines(keepends=True)
    return b"".join((*lines[: found[0].span.first - 1], b"\0", *lines[found[-1].span.last :]))


def _declarations(scope: Scope) -> tuple[str, ...]:
    """The declarations of a unit and its hosts."""
    return tuple(once(unit, _declared) for unit in scope.located.chain)


def _declared(unit: Unit) -> str:
    """The text of the declarations of a unit."""
    lines = (leaf for node in unit.spec for leaf in leaves(node))
    return "\n".join(repr(leaf.what) if leaf.body is None else leaf.body for leaf in lines)


def _allocations(unit: Unit) -> str:
    found = (leaf.what for node in unit.body for leaf in leaves(node))
    return repr([what for what in found if isinstance(what, Allocation)])


def _text(node: Node) -> tuple[str, ...] | None:
    """The text of a statement or construct, with the lines in front of each of its statements;
    None: it has none."""
    found: list[str] = []
    for leaf in leaves(node):
        if leaf.body is None:
            return None
        found += (leaf.head, leaf.body, *(trivia.text for trivia in leaf.lead))
    return tuple(found)
