"""Summaries with the summaries from which they were computed, to avoid recomputation.

The edit of one procedure affects all that call each other in a cycle.  But the summary of an
unedited one is the same if the summaries of the procedures that it calls are (verifying traces:
Mokhov et al., ICFP 2018, section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from asphalt.analysis.effects.summary import Summary

ProcedureKey = tuple[str, str]  # path and names of a unit and its hosts
Ask = Callable[[ProcedureKey], Summary | None]
_Trace = tuple[tuple[tuple[ProcedureKey, Summary | None], ...], Summary]
_MOST = 12
"""The last summaries of a procedure that are known: a few for each edit that changes one."""


@dataclass
class Traces:
    """The inputs of summaries, by procedure."""

    _made: dict[ProcedureKey, list[_Trace]] = field(default_factory=dict)

    def recall(self, key: ProcedureKey, ask: Ask) -> Summary | None:
        """The stored summary of a procedure whose inputs are the present ones; None: there is
        none."""
        for asked, value in reversed(self._made.get(key, ())):
            if all(_same(ask(other), known) for other, known in asked):
                return value
        return None

    def note(self, key: ProcedureKey, trace: _Trace) -> None:
        """Store a summary with its inputs."""
        made = self._made.setdefault(key, [])
        made.append(trace)
        del made[:-_MOST]

    def without(self, texts: frozenset[ProcedureKey]) -> Traces:
        """The traces without those of procedures whose text has changed."""
        return Traces({key: made[:] for key, made in self._made.items() if key not in texts})


@dataclass
class Tracing:
    """The summaries of one program while they are computed.

    ``may_use``: whether everything on which the summary of a procedure depends, other summaries
    excepted, is as it was for the traces.
    """

    traces: Traces
    may_use: Callable[[ProcedureKey], bool]
    _open: list[dict[ProcedureKey, Summary | None] | None] = field(default_factory=list)

    def summary(self, key: ProcedureKey, ask: Ask, make: Callable[[], Summary]) -> Summary:
        """The summary of a procedure that ``make`` computes, asking for others."""
        usable = self.may_use(key)
        if usable:
            self._open.append(None)
            try:
                found = self.traces.recall(key, ask)
            finally:
                self._open.pop()
            if found is not None:
                return found
        self._open.append({})
        try:
            value = make()
        finally:
            asked = self._open.pop()
        if usable and asked is not None:
            self.traces.note(key, (tuple(asked.items()), value))
        return value

    def answered(self, key: ProcedureKey, value: Summary | None) -> None:
        """Note an input of the summary that is being computed."""
        asked = self._open[-1] if self._open else None
        if asked is not None and not _same(asked.setdefault(key, value), value):
            self.untraced()

    def untraced(self) -> None:
        """Note that the summary that is being computed depends on more than other summaries."""
        if self._open:
            self._open[-1] = None


def _same(one: Summary | None, other: Summary | None) -> bool:
    return one is other or one == other
