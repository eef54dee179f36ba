"""The sizes that estimates rest on and that nothing tells: the user may give them (``--size``)."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.names.designators import designator_name, object_named
from asphalt.analysis.names.scopes import Scope
from asphalt.gain.sizes import Sizes, is_integer_scalar
from asphalt.ir.expr import Expr, walk
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, leaves, loops_of

_LEVELS = 2  # of called procedures


def unknown_sizes(scope: Scope, sizes: Sizes) -> tuple[str, ...]:
    """The integer variables in the bounds of a unit's loops, and of those in procedures that it
    calls, whose values are not known, by name: of loops that compute and call nothing."""
    found: dict[str, None] = {}
    for one in _called(scope, _LEVELS):
        loops = [loop for loop in loops_of(one.unit.body) if isinstance(loop, Do)]
        own = {loop_variable(loop) for loop in loops}
        computing = [loop for loop in loops if not any(leaf.call for leaf in leaves(loop))]
        for name in (name for loop in computing for name in _named(loop, one)):
            if name not in own and sizes.value(name, one) is None:
                found.setdefault(name)
    return tuple(found)


def _called(scope: Scope, levels: int) -> Iterator[Scope]:
    """A unit and the procedures that it calls, each once."""
    seen: dict[int, Scope] = {id(scope.unit): scope}
    level = [scope]
    for _ in range(levels):
        inner: list[Scope] = []
        for one in level:
            for leaf in (leaf for node in one.unit.body for leaf in leaves(node)):
                target = None if leaf.call is None else invoked(leaf.call, one)
                if target is not None and id(target[0].unit) not in seen:
                    called = one.scopes.of(target[0])
                    seen[id(target[0].unit)] = called
                    inner.append(called)
        level = inner
    yield from seen.values()


def _named(loop: Do, scope: Scope) -> Iterator[str]:
    """The scalar integer variables in the bounds of a loop."""
    head = loop.head.what
    bounds: tuple[Expr | None, ...] = ()
    if isinstance(head, DoHead):
        bounds = (head.first, head.last)
    for part in (part for bound in bounds if bound is not None for part in walk(bound)):
        name = designator_name(part)
        one = None if name is None else object_named(name, scope)
        if name is not None and one is not None and is_integer_scalar(one.symbol):
            yield name
