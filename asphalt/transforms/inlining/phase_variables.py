"""The caller's variables that live from one phase of a call to the other, and their memory.

Calls that are not in progress at the same time have the same ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from asphalt.ir.expr import Expr, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.rewriting.edit import flat_map, lists_in


@record
class Memory:
    """A statement that allocates variables, or frees them, in the list at ``path``."""

    path: tuple[int, ...]
    leaf: Leaf
    what: Allocation

    @property
    def names(self) -> frozenset[str]:
        """The variables."""
        return frozenset(one.name for one in self.what.objects if isinstance(one, Ref))

    def of(self, other: str) -> Allocation:
        """The same for a variable with another name, if it is for one."""
        return replace(self.what, objects=tuple(_named(one, other) for one in self.what.objects))


def _named(item: Expr, name: str) -> Expr:
    return replace(item, name=name, spelled=name) if isinstance(item, Ref) else item


def memory_of(nodes: tuple[Node, ...], names: Collection[str]) -> tuple[Memory, ...]:
    """The statements that allocate or free only variables with these names."""
    found: list[Memory] = []
    for path, siblings in lists_in(nodes):
        for node in siblings:
            what = node.action if isinstance(node, Leaf) else None
            if not isinstance(node, Leaf) or not isinstance(what, Allocation):
                continue
            own = [one.name for one in what.objects if isinstance(one, Ref)]
            if own and len(own) == len(what.objects) and set(own) <= set(names):
                found.append(Memory(path, node, what))
    return tuple(found)


def without_memory(nodes: tuple[Node, ...], names: Collection[str]) -> tuple[Node, ...]:
    """The statements without those that allocate or free only variables with these names."""
    for one in memory_of(nodes, names):
        nodes = flat_map(nodes, one.leaf, lambda _: ())
    return nodes


def shared(
    nodes: tuple[Node, ...],
    path: tuple[int, ...],
    calls: Sequence[tuple[int, int, tuple[str, ...]]],
) -> Iterator[tuple[str, ...]]:
    """The variables of each of some calls of one procedure in the list at ``path``: those of an
    earlier one that is complete by then, or its own.

    ``calls``: where each begins and ends in its list, in this order, and its own variables;
    ``nodes``: all statements of the unit.
    """
    taken: list[tuple[int, tuple[str, ...]]] = []
    for begin, end, own in calls:
        fitting = (
            (number, names)
            for number, (last, names) in enumerate(taken)
            if last < begin and all(map(_Fitting(nodes, path), own, names))
        )
        number, names = next(fitting, (len(taken), own))
        taken[number : number + 1] = [(end, names)]
        yield names


@record
class _Fitting:
    """Whether a variable can stand for another one: both have no memory of their own, or it is the
    same, and lives as long, outside of the list at ``path``."""

    nodes: tuple[Node, ...]
    path: tuple[int, ...]

    def __call__(self, own: str, other: str) -> bool:
        name, same = own.lower(), other.lower()
        mine, theirs = memory_of(self.nodes, (name,)), memory_of(self.nodes, (same,))
        kinds = [[(one.path, one.of("")) for one in found] for found in (mine, theirs)]
        return kinds[0] == kinds[1] and all(map(self._is_outside, (*mine, *theirs)))

    def _is_outside(self, one: Memory) -> bool:
        length = len(one.path)
        return length < len(self.path) and one.path == self.path[:length]
