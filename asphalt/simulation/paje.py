"""Reads the traces of SMPI, in the Paje format: the states of the ranks, and the messages.

The head of a trace gives the number and the fields of each kind of event; here events and fields
have names.  The processor handles messages in two cases:

- for the whole time of a call that returns whatever other ranks do;
- in a call that waits, for the time that the platform charges for a message: right after its start
  at the sender, and right after its end at the receiver.

(A large MPI_SEND that blocks appears as the first case, although SMPI lets it wait.)

The trace has a message once from inside of SMPI, with the processes that it is between.  Some calls
have it once more (``_TWICE_SENT``, ``_TWICE_RECEIVED``): before what happens inside if they send,
and behind it, or behind their own end, if they receive.  MPI_SENDRECV does so with ranks in the
place of processes; with MPI_PROC_NULL on one side it is no state of the trace.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from asphalt.ir.records import record
from asphalt.simulation.timeline import (
    Doing,
    Interval,
    Lane,
    TimedCall,
    Timeline,
    merged,
    without_busy,
)

_RANK = re.compile(r"rank-(\d+)")
_KEY = re.compile(r"(-?\d+)_(-?\d+)_(-?\d+)_\d+")  # sender, receiver, tag, a number
_ANY_SOURCE, _ANY_TAG = -333, -444
_SENDRECV = "MPI_Sendrecv"
_TWICE_SENT = {_SENDRECV, "MPI_Isend", "MPI_Issend", "MPI_Irsend", "MPI_Ibsend", "MPI_Ssend"}
_TWICE_RECEIVED = {_SENDRECV, "MPI_Wait", "MPI_Waitany", "MPI_Waitall"}
_MPI = "PMPI_"
_COMPUTING = "computing"


@record
class _Pair:
    """Messages from one rank to another with one tag; ranks as in the trace."""

    source: int
    target: int
    tag: int


_Message = tuple[_Pair, float, float | None]
_Start = tuple[float, int, float]
"""When a message was sent, its tag, and its bytes."""


@dataclass(slots=True)
class _Rank:
    stack: list[tuple[str, float]] = field(default_factory=list)
    since: float = 0.0
    intervals: list[Interval] = field(default_factory=list)
    calls: list[TimedCall] = field(default_factory=list)
    own_messages: list[_Message] = field(default_factory=list)
    repeated: Counter[_Pair] = field(default_factory=Counter)  # what the last call may tell again
    untraced: str = ""  # the call that is no state of the trace


class Charges(Protocol):
    """The processor time in seconds that the simulation charges for a message of ``size`` bytes."""

    def of_sender(self, size: float) -> float: ...
    def of_receiver(self, size: float) -> float: ...


def read_trace(
    lines: Iterable[str],
    seconds: float,
    not_waiting: Collection[str],
    charges: Charges | None = None,
) -> Timeline:
    """The timeline of a run that took ``seconds``.

    ``not_waiting``: MPI procedures (in lower case) that return whatever other ranks do; their calls
    are not kept.  ``charges``: of the platform; None: messages cost nothing.  Raises ``ValueError``
    for a text that is not such a trace.
    """
    return _Reader(seconds, frozenset(not_waiting), charges).read(lines)


class _Reader:
    def __init__(
        self, seconds: float, not_waiting: Collection[str], charges: Charges | None
    ) -> None:
        self._seconds = seconds
        self._charges = charges
        self._not_waiting = not_waiting
        self._events: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._values: dict[str, str] = {}
        self._ranks: dict[str, tuple[int, _Rank]] = {}
        self._numbers: dict[int, int] = {}
        self._starts: dict[tuple[int, int], list[_Start]] = defaultdict(list)
        self._ends: dict[tuple[int, int], list[tuple[float, int]]] = defaultdict(list)

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
            rank.repeated.clear()
            rank.untraced = ""
            rank.stack.append((self._values[event["Value"]], time))

    def _pop(self, event: dict[str, str]) -> None:
        if event["Container"] in self._ranks:
            _, rank = self._ranks[event["Container"]]
            time = float(event["Time"])
            self._advance(rank, time)
            if rank.stack:
                state, start = rank.stack.pop()
                if not rank.stack:
                    self._count_own(rank, _call(state))
                if _is_call(state) and _folded(state) not in self._not_waiting:
                    rank.calls.append(TimedCall(_call(state), start, time))

    def _advance(self, rank: _Rank, time: float) -> None:
        if time > rank.since:
            # time outside of all states belongs to calls that are not traced
            states = [state for state, _ in rank.stack] or [""]
            call = next((_call(state) for state in states if _is_call(state)), rank.untraced)
            rank.intervals.append(Interval(rank.since, time, self._doing(call, states[-1]), call))
        rank.since = time

    def _doing(self, call: str, state: str) -> Doing:
        if state == _COMPUTING:
            return Doing.COMPUTING
        return Doing.MESSAGING if call.lower() in self._not_waiting else Doing.WAITING

    def _send(self, event: dict[str, str]) -> None:
        self._message(event, event["StartContainer"], float(event["Size"]))

    def _receive(self, event: dict[str, str]) -> None:
        self._message(event, event["EndContainer"], None)

    def _message(self, event: dict[str, str], container: str, size: float | None) -> None:
        """The start of a message of ``size`` bytes, or (None) the end of one."""
        found = _KEY.fullmatch(event["Key"])
        if found is None or container not in self._ranks:
            return
        number, rank = self._ranks[container]
        source, target, tag = (int(word) for word in found.groups())
        if target < 0 or (source < 0 and source != _ANY_SOURCE):
            return  # MPI_PROC_NULL
        pair = _Pair(source, target, tag)
        message = (pair, float(event["Time"]), size)
        self._numbers[target if size is None else source] = number
        if tag < 0 and tag != _ANY_TAG:  # of a collective operation, or of SMPI's own
            self._count(*message)
        elif rank.stack:
            rank.own_messages.append(message)
        elif size is None and rank.repeated[pair] > 0:
            rank.repeated[pair] -= 1
        else:
            rank.untraced = _SENDRECV
            self._count(*message)

    def _count_own(self, rank: _Rank, call: str) -> None:
        """Count the messages of a call in the program, each once."""
        sent = [one for one in rank.own_messages if one[2] is not None]
        received = [one for one in rank.own_messages if one[2] is None]
        rank.own_messages.clear()
        if call in _TWICE_SENT:
            sent = sent[len(sent) // 2 :]
        if call in _TWICE_RECEIVED:
            rank.repeated.update(pair for pair, _, _ in received)
            if call in (_SENDRECV, "MPI_Waitall"):
                received = received[: (len(received) + 1) // 2]
        for message in (*sent, *received):
            self._count(*message)

    def _count(self, pair: _Pair, time: float, size: float | None) -> None:
        between = pair.source, pair.target
        if pair.source == pair.target or pair.source < 0:
            return
        if size is None:
            self._ends[between].append((time, pair.tag))
        else:
            self._starts[between].append((time, pair.tag, size))

    def _messages(self) -> Iterator[tuple[tuple[int, int], float, float, float | None]]:
        """All messages: between whom, the bytes, when started, when received (None: never).

        Messages from one rank to another with one tag are received in the order of sending, and a
        receive of any tag gets the first one that is left.
        """
        for between, starts in self._starts.items():
            left = sorted(starts)
            for end, tag in sorted(self._ends[between]):
                fits = (
                    place
                    for place, (_, other, _) in enumerate(left)
                    if other == tag or (tag == _ANY_TAG and other >= 0)
                )
                place = next(fits, None)
                if place is not None:
                    start, _, size = left.pop(place)
                    yield between, size, start, end
            for start, _, size in left:
                yield between, size, start, None

    def _busy(self) -> dict[int, list[tuple[float, float]]]:
        """For each rank, the starts and ends of message handling, in order."""
        found: dict[int, list[tuple[float, float]]] = defaultdict(list)
        if self._charges is not None:
            for (source, target), size, start, end in self._messages():
                cost = self._charges.of_sender(size)
                found[self._numbers[source]].append((start, start + cost))
                if end is not None:
                    cost = self._charges.of_receiver(size)
                    found[self._numbers[target]].append((end, end + cost))
        return {number: sorted(spans) for number, spans in found.items()}

    def _underway(self) -> dict[int, tuple[tuple[float, float], ...]]:
        """For each rank, the bytes under way from it, over time."""
        changes: dict[int, dict[float, float]] = defaultdict(lambda: defaultdict(float))
        for (source, _), size, start, end in self._messages():
            change = changes[self._numbers[source]]
            change[start] += size
            if end is not None:
                change[max(start, end)] -= size
        found: dict[int, tuple[tuple[float, float], ...]] = {}
        for number, change in changes.items():
            times = sorted(change)
            amounts = accumulate(change[time] for time in times)
            found[number] = ((0.0, 0.0), *zip(times, amounts, strict=True))
        return found

    def _timeline(self) -> Timeline:
        underway, busy = self._underway(), self._busy()
        lanes = [
            Lane(
                number,
                merged(without_busy(rank.intervals, busy.get(number, ()))),
                tuple(rank.calls),
                underway.get(number, ()),
            )
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
