"""Reads the traces that SMPI writes, in the Paje format.

The head of a trace says which number each kind of event has and which fields; here events are
known by name, fields by their names.  Read are the states of the ranks (a stack each: a call, and
in it perhaps the time that a message costs the processor) and the use of the links ``nR_up``,
which the platforms of asphalt give the node of rank R.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from asphalt.simulation.timeline import Call, Doing, Interval, Lane, Timeline, merged

_RANK = re.compile(r"rank-(\d+)")
_LINK = re.compile(r"n(\d+)_up")
_MPI = "PMPI_"
_ROUNDING = 1e-6  # of the peak: less is what adding and subtracting rates left


@dataclass(slots=True)
class _Rank:
    stack: list[tuple[str, float]] = field(default_factory=list)
    since: float = 0.0
    intervals: list[Interval] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


@dataclass(slots=True)
class _Link:
    rate: float = 0.0
    peak: float = 0.0
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
        self._use: set[str] = set()
        self._ranks: dict[str, tuple[int, _Rank]] = {}
        self._links: dict[str, tuple[int, _Link]] = {}

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

    def _define_variable(self, event: dict[str, str]) -> None:
        if event["Name"] == "bandwidth_used":
            self._use.add(event["Alias"])

    def _create(self, event: dict[str, str]) -> None:
        if found := _RANK.fullmatch(event["Name"]):
            self._ranks[event["Alias"]] = (int(found[1]), _Rank())
        elif found := _LINK.fullmatch(event["Name"]):
            self._links[event["Alias"]] = (int(found[1]), _Link())

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
        if time > rank.since and rank.stack:
            states = [state for state, _ in rank.stack]
            call = next((_call(state) for state in states if _is_call(state)), "")
            rank.intervals.append(Interval(rank.since, time, _doing(states[-1]), call))
        rank.since = time

    def _change(self, event: dict[str, str], sign: int) -> None:
        if event["Type"] not in self._use or event["Container"] not in self._links:
            return
        _, link = self._links[event["Container"]]
        time = float(event["Time"])
        link.rate += sign * float(event["Value"])
        link.peak = max(link.peak, link.rate)
        rate = link.rate if link.rate > _ROUNDING * link.peak else 0.0
        if link.steps[-1][0] == time:
            link.steps[-1] = (time, rate)
        else:
            link.steps.append((time, rate))

    def _add(self, event: dict[str, str]) -> None:
        self._change(event, 1)

    def _subtract(self, event: dict[str, str]) -> None:
        self._change(event, -1)

    def _timeline(self) -> Timeline:
        sending: dict[int, tuple[tuple[float, float], ...]] = defaultdict(tuple)
        for number, link in self._links.values():
            sending[number] = tuple(link.steps)
        lanes = [
            Lane(number, merged(rank.intervals), tuple(rank.calls), sending[number])
            for number, rank in sorted(self._ranks.values(), key=lambda pair: pair[0])
        ]
        return Timeline(self._seconds, tuple(lanes))


_READERS = {
    "PajeDefineEntityValue": _Reader._define_value,
    "PajeDefineVariableType": _Reader._define_variable,
    "PajeCreateContainer": _Reader._create,
    "PajePushState": _Reader._push,
    "PajePopState": _Reader._pop,
    "PajeAddVariable": _Reader._add,
    "PajeSubVariable": _Reader._subtract,
}


def _is_call(state: str) -> bool:
    return state.startswith(_MPI)


def _call(state: str) -> str:
    return "MPI_" + state.removeprefix(_MPI)


def _folded(state: str) -> str:
    return _call(state).lower()


def _doing(state: str) -> Doing:
    if _is_call(state):
        return Doing.WAITING
    return Doing.MESSAGING if state == "sleeping" else Doing.COMPUTING
