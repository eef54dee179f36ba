"""Jumps to statements further down (F2018 11.2): what they leave out is known by its position.

if (.not. active) goto 999    ! leaves out what stands in between
allocate(a(n))
...                           ! the ALLOCATE is certainly executed before
999 continue                  ! and perhaps not before this
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from asphalt.analysis.control_flow.graph import jump_targets
from asphalt.ir.stmt import Guarded, Jump, JumpKind
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves

Skip = tuple[int, int]
"""The positions of a jump and of the statement to which it goes."""


class Place(Protocol):
    """Where a statement stands: its position in the text, and its number in the list of statements
    around it, behind that of each construct around; the end of a construct where the construct
    does."""

    @property
    def position(self) -> int: ...

    @property
    def path(self) -> tuple[int, ...]: ...


def forward_jumps(body: Iterable[Node], places: Mapping[int, Place]) -> tuple[Skip, ...] | None:
    """The jumps to labels of a unit; None: one may go backwards, or into a construct.

    ``places``: of its statements, by their identities.
    """
    nodes = tuple(body)
    own = [leaf for node in nodes for leaf in leaves(node)]
    targets = {leaf.label: leaf for leaf in own if leaf.label is not None}
    ends = {id(end) for node in nodes for end in _ends(node)}
    found: list[Skip] = []
    for leaf in own:
        what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
        if isinstance(what, Jump) and what.kind is JumpKind.ASSIGNED_GOTO and not what.labels:
            return None
        for label in jump_targets(what):
            target = targets.get(label)
            if target is None:
                return None
            here, there = places[id(leaf)], places[id(target)]
            around = there.path if id(target) in ends else there.path[:-1]
            if there.position <= here.position or here.path[: len(around)] != around:
                return None
            found.append((here.position, there.position))
    return tuple(found)


def _ends(node: Node) -> Iterator[Leaf]:
    """The last statements of the constructs in a node."""
    if isinstance(node, Do | Branch | Block) and node.end is not None:
        yield node.end
    match node:
        case Do(body=body) | Block(body=body):
            for inside in body:
                yield from _ends(inside)
        case Branch(arms=arms):
            for arm in arms:
                for inside in arm.body:
                    yield from _ends(inside)
