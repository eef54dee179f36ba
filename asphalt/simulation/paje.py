"""Reads the traces that SMPI writes, in the Paje format.

The head of a trace says which number each kind of event has and which fields; here events are
known by name, fields by their names.  Read are the states of the ranks and the messages.  The time
in a call that returns whatever other ranks do is what messages cost the processor.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from asphalt.simulation.timeline import Call, Doing, Interval, Lane, Timeline, merged

_RANK = re.compile(r"rank-(\d+)")
_KEY = re.compile(r"(\d+)_(\d+)_(-?\d+)_\d+")  # sender, receiver, tag, a number
_MPI = "PMPI_"
_COMPUTING = "computing"


@dataclass(slots=True)
class _Rank:
    stack: list[tuple[str, float]] = field(default_factory=list)
    since: float = 0.0
    intervals: list[Interval] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    underway: float = 0.0
    steps: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0)])


def read_trace(lines: Iterable[str], seconds: float, not_waiting: Collection[str]) -> Timeline:
    """The timeline of a run that took ``seconds``.

    ``not_waiting``: MPI procedures (in lower case) that return whatever other ranks do; calls of
    these are not kept.  Raises ``ValueError`` for what is no such trace.
    """
    return _Reader(seconds, frozenset(not_waiting)).read(lines)


class _Reader:
    def __init__(self, seconds: float, not_waiting: Collection[str]) -> None:
        self._seconds = seconds
        self._not_waiting = not_waiting
        self._events: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._values: dict[str, str] = {}
        self._ranks: dict[str, tuple[int, _Rank]] = {}
        self._messages: dict[str, tuple[_Rank, float]] = {}

    def read(self, lines: Iterable[str]) -> Timeline:
        head: tuple[str, str, list[str]] | None = None
        for line in lines:
            if line.startswith("%"):
                words = line[1:].split()
                if words[0] == "EventDef":
                    head = (words[2], words[1], [])
                elif words[0] == "EndEventDef":
                    if head is None:
                        raise ValueError("a trace whose head is damaged")
                    self._events[head[0]] = (head[1], tuple(head[2]))
                elif head is not None:
                    head[2].append(words[0])
            elif line.strip() and not line.startswith("#"):
                self._event(line)
        return self._timeline()

    def _event(self, line: str) -> None:
        words = shlex.split(line) if '"' in line else line.split()
        if words[0] not in self._events:
            raise ValueError(f"an event that the trace's head does not have: {line.strip()}")
        name, fields = self._events[words[0]]
        read = _READERS.get(name)
        if read is not None:
            read(self, dict(zip(fields, words[1:], strict=False)))

    def _define_value(self, event: dict[str, str]) -> None:
        self._values[event["Alias"]] = event["Name"]

    def _create(self, event: dict[str, str]) -> None:
        if found := _RANK.fullmatch(event["Name"]):
            self._ranks[event["Alias"]] = (int(found[1]), _Rank())

    def _push(self, event: dict[str, str]) -> None:
        if event["Container"] in self._ranks:
            _, rank = self._ranks[event["Container"]]
            time = float(event["Time"])
            self._advance(rank, time)
            rank.stack.append((self._values[event["Value"]], time))

    def _pop(self, event: dict[str, str]) -> None:
        if event["Container"] in self._ranks:
            _, rank = self._ranks[event["Container"]]
            time = float(event["Time"])
            self._advance(rank, time)
            if rank.stack:
                state, start = rank.stack.pop()
                if _is_call(state) and _folded(state) not in self._not_waiting:
                    rank.calls.append(Call(_call(state), start, time))

    def _advance(self, rank: _Rank, time: float) -> None:
        if time > rank.since:
            # time that passes outside of every state passes in calls that are not traced
            states = [state for state, _ in rank.stack] or [""]
            call = next((_call(state) for state in states if _is_call(state)), "")
            rank.intervals.append(Interval(rank.since, time, self._doing(call, states[-1]), call))
        rank.since = time

    def _doing(self, call: str, state: str) -> Doing:
        if state == _COMPUTING:
            return Doing.COMPUTING
        return Doing.MESSAGING if call.lower() in self._not_waiting else Doing.WAITING

    def _send(self, event: dict[str, str]) -> None:
        found = _KEY.fullmatch(event["Key"])
        if found is None or event["StartContainer"] not in self._ranks or found[1] == found[2]:
            return
        _, rank = self._ranks[event["StartContainer"]]
        # a message of the program's own (no negative tag) is told twice, by the call and from
        # within, one of a collective operation only from within
        size = float(event["Size"]) / (1 if int(found[3]) < 0 else 2)
        self._messages[event["Key"]] = rank, size
        self._step(rank, float(event["Time"]), size)

    def _receive(self, event: dict[str, str]) -> None:
        rank, size = self._messages.pop(event["Key"], (None, 0.0))
        if rank is not None:
            self._step(rank, float(event["Time"]), -size)

    def _step(self, rank: _Rank, time: float, change: float) -> None:
        rank.underway += change
        if rank.steps[-1][0] == time:
            rank.steps[-1] = (time, rank.underway)
        else:
            rank.steps.append((time, rank.underway))

    def _timeline(self) -> Timeline:
        lanes = [
            Lane(number, merged(rank.intervals), tuple(rank.calls), tuple(rank.steps))
            for number, rank in sorted(self._ranks.values(), key=lambda pair: pair[0])
        ]
        return Timeline(self._seconds, tuple(lanes))


_READERS = {
    "PajeDefineEntityValue": _Reader._define_value,
    "PajeCreateContainer": _Reader._create,
    "PajePushState": _Reader._push,
    "PajePopState": _Reader._pop,
    "PajeStartLink": _Reader._send,
    "PajeEndLink": _Reader._receive,
}


def _is_call(state: str) -> bool:
    return state.startswith(_MPI)


def _call(state: str) -> str:
    return "MPI_" + state.removeprefix(_MPI)


def _folded(state: str) -> str:
    return _call(state).lower()
