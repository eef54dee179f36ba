"""Summaries with the summaries from which they were computed, to avoid recomputation.

The edit of one procedure affects all that call each other in a cycle.  But the summary of an
unedited one is the same if the summaries of the procedures that it calls are (verifying traces:
Mokhov et al., ICFP 2018, section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from asphalt.analysis.effects.summary import Summary

ProcedureKey = tuple[str, str]  # path and names of a unit and its hosts
Ask = Callable[[ProcedureKey], Summary | None]
Trace = tuple[tuple[tuple[ProcedureKey, Summary | None], ...], Summary]
"""The summaries that were asked for, and the one that follows from them."""
Evaluations = dict[ProcedureKey, tuple[Trace, ...]]
"""All summaries that procedures had on the way to their final ones, which are the last."""
_MOST = 12
"""The last summaries of a procedure that are known: a few for each edit that changes one."""


@dataclass
class Traces:
    """The inputs of summaries, by procedure."""

    _made: dict[ProcedureKey, list[Trace]] = field(default_factory=dict)

    def recall(self, key: ProcedureKey, ask: Ask) -> Trace | None:
        """The stored summary of a procedure whose inputs are the present ones, with these; None:
        there is none."""
        for trace in reversed(self._made.get(key, ())):
            if all(_same(ask(other), known) for other, known in trace[0]):
                return trace
        return None

    def follow_from(self, key: ProcedureKey, final: Mapping[ProcedureKey, Summary | None]) -> bool:
        """Whether some final summaries are the inputs from which that of a procedure follows."""
        return key in final and any(
            value == final[key]
            and all(other in final and final[other] == known for other, known in asked)
            for asked, value in self._made.get(key, ())[-1:]
        )

    def note(self, key: ProcedureKey, trace: Trace) -> None:
        """Store a summary with its inputs."""
        made = self._made.setdefault(key, [])
        made.append(trace)
        del made[:-_MOST]

    def without(self, texts: frozenset[ProcedureKey]) -> Traces:
        """The traces without those of procedures whose text has changed."""
        return Traces({key: made[:] for key, made in self._made.items() if key not in texts})


@dataclass
class _Inputs:
    """The summaries that were asked for while one was made; ``are_all``: it depends on nothing
    else."""

    asked: dict[ProcedureKey, Summary | None] = field(default_factory=dict)
    are_all: bool = True


@dataclass
class Tracing:
    """The summaries of one program while they are computed.

    ``may_use``: whether everything on which the summary of a procedure depends, other summaries
    excepted, is as it was for the traces.
    """

    traces: Traces
    may_use: Callable[[ProcedureKey], bool]
    inputs: dict[ProcedureKey, tuple[ProcedureKey, ...]] = field(default_factory=dict)
    """The procedures whose summaries were asked for when that of a procedure was made."""
    evaluations: Evaluations = field(default_factory=dict)
    """Of procedures whose summaries depend on nothing else."""
    mixed: set[ProcedureKey] = field(default_factory=set)
    """The procedures whose summaries depend on more than other summaries."""
    _open: list[_Inputs] = field(default_factory=list)

    def summary(self, key: ProcedureKey, ask: Ask, make: Callable[[], Summary]) -> Summary:
        """The summary of a procedure that ``make`` computes, asking for others."""
        usable = self.may_use(key)
        if usable:
            self._open.append(_Inputs())
            try:
                found = self.traces.recall(key, ask)
            finally:
                self._open.pop()
            if found is not None:
                self._note(key, found)
                return found[1]
        self._open.append(_Inputs())
        try:
            value = make()
        finally:
            inputs = self._open.pop()
        trace = tuple(inputs.asked.items()), value
        self._note(key, trace)
        if not inputs.are_all:
            self.mixed.add(key)
            del self.evaluations[key]
        elif usable:
            self.traces.note(key, trace)
        return value

    def _note(self, key: ProcedureKey, trace: Trace) -> None:
        self.inputs[key] = tuple(other for other, _ in trace[0])
        self.evaluations[key] = (*self.evaluations.get(key, ()), trace)

    def recall(self, evaluations: Evaluations) -> None:
        """Take how the summaries of procedures were made that are the same in another program."""
        self.evaluations |= evaluations
        for key, made in evaluations.items():
            self.inputs[key] = tuple(other for other, _ in made[-1][0])

    def answered(self, key: ProcedureKey, value: Summary | None) -> None:
        """Note an input of the summary that is being computed."""
        if self._open and not _same(self._open[-1].asked.setdefault(key, value), value):
            self.untraced()

    def untraced(self) -> None:
        """Note that the summary that is being computed depends on more than other summaries."""
        if self._open:
            self._open[-1].are_all = False


def _same(one: Summary | None, other: Summary | None) -> bool:
    return one is other or one == other
