"""The operations that called procedures start or complete for a unit, with the work beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.dependence.called_order import CalledOrder
from asphalt.analysis.messages.called_transfers import Part, UnitRequests, lines_of
from asphalt.analysis.messages.messages import Messages
from asphalt.ir.tree import leaves
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Transfer
from asphalt.optimiser.overlapped_work import Started, text_of, work_heads
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.motion import called_motion
from asphalt.transforms.rewriting.edit import lists_in

_Key = tuple[SourceLine, int]
"""The place of a start, and its number among those that the unit has of it."""
_OwnStart = tuple[Part, str, int]
"""A start of the unit itself: its request, the MPI procedure, and its number among these."""


def transfers_of_calls(shop: Workshop, begin: UnitState, state: UnitState) -> Iterator[Transfer]:
    """The operations that called procedures start or complete for a unit and that overlap with more
    work than before."""

    def given(unit: UnitState, line: int) -> SourceLine:
        return shop.given(shop.place(unit.tree, line))

    places = {key: shop.place(begin.tree, line) for line, key in _own_starts(shop, begin).items()}
    before, found = _started(shop, begin, places), dict[SourceLine, Transfer]()
    for key, now in _started(shop, state, places).items():
        old = before.get(key)
        if not Counter(now.overlaps) - Counter(() if old is None else old.overlaps):
            continue
        ends = dict.fromkeys(given(state, end) for end in now.ends)
        heads = dict.fromkeys(given(state, head) for head in now.lines)
        marks = (
            *((end, "completes it") for end in ends),
            *((head, "overlaps with it") for head in heads),
        )
        place, overlaps = key[0], tuple(dict.fromkeys(now.overlaps))
        one = Transfer(place.line, now.operation, 1, overlaps=overlaps, marks=marks)
        found.setdefault(place, replace(one, path=place.path, inlined=_is_called(shop, place)))
    yield from found.values()


def _is_called(shop: Workshop, place: SourceLine) -> bool:
    """Whether another unit starts an operation."""
    unit = shop.located(shop.first).unit
    own = line_of(next(leaves(unit))) <= place.line <= line_of(unit.end)
    return place.path != shop.path or not own


def _own_starts(shop: Workshop, state: UnitState) -> Mapping[int, _OwnStart]:
    """The lines of the unit in a state that start operations themselves."""
    facts = shop.facts(state.tree)
    requests = facts.once(UnitRequests)
    found: dict[int, _OwnStart] = {}
    seen: Counter[tuple[Part, str]] = Counter()
    for leaf in lines_of(facts.unit.body):
        effects = None if requests.is_call(leaf) else requests.of(leaf)
        for one in () if effects is None else effects.starts:
            what = one.request, one.operation
            found[one.line] = *what, seen[what]
            seen[what] += 1
    return found


def _started(
    shop: Workshop, state: UnitState, places: Mapping[_OwnStart, SourceLine]
) -> Mapping[_Key, Started]:
    """These operations of the unit in a state, with the work in their windows; ``places``: of
    those that the unit starts itself."""
    facts = shop.facts(state.tree)
    messages, order = facts.once(Messages), facts.once(CalledOrder)
    requests, own_starts = order.requests, _own_starts(shop, state)
    found: dict[_Key, Started] = {}
    seen: Counter[SourceLine] = Counter()
    for _, siblings in lists_in(facts.unit.body):
        for window in called_motion.windows_in(siblings, order):
            one = window.started
            own = one.path == shop.path
            place = shop.place(state.tree, one.line) if own else SourceLine(one.path, one.line)
            if own and one.line in own_starts:
                place = places.get(own_starts[one.line], place)
            heads = work_heads(
                called_motion.work_in(siblings, window, messages, requests), messages
            )
            ends = lines_of(siblings[window.last : window.last + 1])
            found[place, seen[place]] = Started(
                one.line,
                one.operation,
                tuple(map(text_of, heads)),
                tuple(map(line_of, heads)),
                tuple(line_of(leaf) for leaf in ends if requests.completes(leaf)),
            )
            seen[place] += 1
    return found
