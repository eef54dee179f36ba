"""Loops over blocks as iterators of the runtime, in place of turns that the program counts.

Before (``decomposition``)::

    do asphalt_turn_1 = 1, np
      p = asphalt_to_take(asphalt_blocks_1, asphalt_turn_1, 1, np, 1)
      call asphalt_await_block(asphalt_blocks_1, p - 1, r)
      ...
    end do

After::

    do while (asphalt_next_to_take(asphalt_blocks_1, p, 1, np, 1))
      call asphalt_await_block(asphalt_blocks_1, p - 1, r)
      ...
    end do

The runtime counts the turns, and makes the same calls of MPI in the same order.  This is done once,
when all steps are: what is priced are loops with as many iterations as there are blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.default_integers import is_default_integer
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.visibility import words_at
from asphalt.ir.expr import AltReturn, Arg, Keyword, Ref, Section, names_in
from asphalt.ir.stmt import Assign, Decl, DoHead
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.decomposition.decomposition import TURN
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.make import fn
from asphalt.transforms.rewriting.tidying import without_uncalled

_NEXT = {
    "asphalt_to_take": "asphalt_next_to_take",
    "asphalt_to_send": "asphalt_next_to_send",
}
_NO_VALUE = (Section, Keyword, AltReturn)


def with_iterators(facts: UnitFacts) -> Unit:
    """The unit with iterators; the same unit where it has no such loops."""
    names: set[str] = set()
    body = tuple(_changed(facts.unit.body, facts, names))
    if not names:
        return facts.unit
    unit = added(replace(facts.unit, body=body), facts.located.form, facts.eol, names, ())
    unit = without_uncalled(unit, _NEXT)
    return replace(unit, spec=tuple(_without_turns(unit)))


def _changed(nodes: tuple[Node, ...], facts: UnitFacts, names: set[str]) -> Iterator[Node]:
    for node in nodes:
        match node:
            case Do(body=body):
                loop = replace(node, body=tuple(_changed(body, facts, names)))
                found = _iterator(loop, facts)
                if found is not None:
                    condition, rest = found
                    names.add(condition.name)
                    head = rewrite(node.head, DoHead("while", condition=condition))
                    loop = Do(head, rest, node.end)
                yield loop
            case Block(body=body):
                yield replace(node, body=tuple(_changed(body, facts, names)))
            case Branch(arms=arms):
                new = (replace(a, body=tuple(_changed(a.body, facts, names))) for a in arms)
                yield replace(node, arms=tuple(new))
            case _:
                yield node


def _iterator(loop: Do, facts: UnitFacts) -> tuple[Ref, tuple[Node, ...]] | None:
    """The condition of a loop over turns, and what is left of its body; None: it is no such
    loop."""
    head, first = loop.head.what, loop.body[0] if loop.body else None
    if not isinstance(head, DoHead) or not isinstance(head.var, Ref) or loop.end is None:
        return None
    if not head.var.name.startswith(TURN) or head.label is not None or head.step is not None:
        return None
    match first.what if isinstance(first, Leaf) and not first.lead else None:
        case Assign(target=Ref(args=None) as value, value=Ref(args=tuple(given)) as function):
            pass
        case _:
            return None
    values = [one for one in given if not isinstance(one, _NO_VALUE)]
    if function.name not in _NEXT or len(values) != 5 or len(given) != 5:
        return None
    blocks, turn, *bounds, zero = values
    if turn != head.var or bounds != [head.first, head.last]:
        return None
    if not is_default_integer(value, facts.scope) or value.name in _named(given):
        return None
    return fn(_NEXT[function.name], blocks, value, *bounds, zero), loop.body[1:]


def _named(given: tuple[Arg, ...]) -> set[str]:
    return {name for one in given for name in names_in(one)}


def _without_turns(unit: Unit) -> Iterator[Node]:
    """The specification part without the variables that count turns, where nothing has them."""
    inside = (*unit.body, *unit.contained)
    left = {word for node in inside for leaf in leaves(node) for word in words_at(leaf)}
    for node in unit.spec:
        what = node.what if isinstance(node, Leaf) else None
        if isinstance(node, Leaf) and isinstance(what, Decl) and not what.groups:
            kept = tuple(e for e in what.entities if not e.name.startswith(TURN) or e.name in left)
            if len(kept) != len(what.entities):
                if kept:
                    yield rewrite(node, replace(what, entities=kept))
                continue
        yield node
