"""The operations that called procedures start or complete for a unit, with the work beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.called_order import CalledOrder
from asphalt.analysis.messages.called_transfers import lines_of
from asphalt.analysis.messages.messages import Messages
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Transfer
from asphalt.optimiser.overlapped_work import Started, text_of, work_heads
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.motion import called_motion
from asphalt.transforms.rewriting.edit import lists_in

_Key = tuple[str, int, int]
"""The file and the line of a start, and its number among those that the unit has of it."""


def transfers_of_calls(shop: Workshop, begin: UnitState, state: UnitState) -> Iterator[Transfer]:
    """The operations that called procedures start or complete for a unit and that overlap with more
    work than before."""

    def given(unit: UnitState, line: int) -> SourceLine:
        return shop.given(shop.place(unit.tree, line))

    after = _started(shop.facts(state.tree))
    found: dict[SourceLine, Transfer] = {}
    for (path, line, number), before in _started(shop.facts(begin.tree)).items():
        now = after.get((path, line, number))
        if now is None or not Counter(now.overlaps) - Counter(before.overlaps):
            continue
        place = shop.place(begin.tree, line) if path == shop.path else SourceLine(path, line)
        marks = (
            *((given(begin, end), "completes it") for end in before.ends),
            *dict.fromkeys((given(state, head), "overlaps with it") for head in now.lines),
        )
        overlaps = tuple(dict.fromkeys(now.overlaps))
        one = Transfer(place.line, before.operation, 1, overlaps=overlaps, marks=marks)
        found.setdefault(place, replace(one, path=place.path, inlined=True))
    yield from found.values()


def _started(facts: UnitFacts) -> Mapping[_Key, Started]:
    """These operations of a unit, with the work in their windows."""
    messages, order = facts.once(Messages), facts.once(CalledOrder)
    requests = order.requests
    found: dict[_Key, Started] = {}
    seen: Counter[tuple[str, int]] = Counter()
    for _, siblings in lists_in(facts.unit.body):
        for window in called_motion.windows_in(siblings, order):
            one = window.started
            work = called_motion.work_in(siblings, window, messages, requests)
            heads = work_heads(work, messages)
            ends = lines_of(siblings[window.last : window.last + 1])
            found[one.path, one.line, seen[one.path, one.line]] = Started(
                one.line,
                one.operation,
                tuple(map(text_of, heads)),
                tuple(map(line_of, heads)),
                tuple(line_of(leaf) for leaf in ends if requests.completes(leaf)),
            )
            seen[one.path, one.line] += 1
    return found
