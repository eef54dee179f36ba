"""Collects the results of draws on one number of ranks, from the logs of the ranks."""

from __future__ import annotations

from collections.abc import Sequence

from asphalt.config.errors import UsageError
from asphalt.running.launch import last_words
from asphalt.running.process import CommandResult
from asphalt.verify.compare import Difference
from asphalt.verify.procedures.task import CHECKED, ORIGINAL, Event

_DISCARDED = 2  # times as many draws as wanted may be discarded
_HANGS = 3  # of them, how many may take the whole time limit
_ALIKE = 3  # draws in a row that fail for one reason, before any could be compared
_HANG = "did not end in time"


class Tally:
    """The results of the draws so far."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self.compared = 0
        self.thrown: list[str] = []
        self.differences: dict[str, Difference] = {}
        self.unstable = ""
        self.tiled: set[str] = set()
        self.next = 0
        self._ended = False

    @property
    def missing(self) -> int:
        """The number of draws that are still wanted."""
        return self._wanted - self.compared

    @property
    def wants_more(self) -> bool:
        """Whether to run another job."""
        return not self._ended and self.missing > 0

    @property
    def last_reason(self) -> str:
        """Why the last draw was discarded."""
        return self.thrown[-1] if self.thrown else "-"

    def add(
        self,
        events: Sequence[Sequence[Event]],
        outcome: CommandResult,
        order: Sequence[str],
        start: int,
    ) -> None:
        """Add the logs of all ranks of a job that began with draw ``start``.

        Raises ``UsageError`` for a job that could not start.
        """
        everything = [event for log in events for event in log]
        for event in everything:
            if event.kind == "refused":
                raise UsageError(event.text)
        done = {event.draw for event in events[0] if event.kind == "done"} if events else set()
        thrown = {event.draw: event.text for event in everything if event.kind == "thrown"}
        self.compared += len(done)
        self.thrown += thrown.values()
        for event in everything:
            if event.kind == "differs":
                self.differences.setdefault(event.version, Difference(event.text))
            elif event.kind == "unstable":
                self.unstable = event.text
            elif event.kind == "tiled":
                self.tiled.add(event.version)
        self.next = max((*done, *thrown, start - 1)) + 1
        if self.differences:
            self._ended = True
        elif outcome.status != 0:
            self._broken(everything, outcome, order, start)
        hangs = sum(_HANG in reason for reason in self.thrown)
        if len(self.thrown) > _DISCARDED * self._wanted or hangs >= _HANGS or self._always_fails:
            self._ended = True

    @property
    def _always_fails(self) -> bool:
        """Whether the drawn sizes seem to make no difference: the original fails as before."""
        reasons = {reason.partition(" [")[0] for reason in self.thrown[-_ALIKE:]}
        return not self.compared and len(self.thrown) >= _ALIKE and len(reasons) == 1

    def _broken(
        self, events: Sequence[Event], outcome: CommandResult, order: Sequence[str], start: int
    ) -> None:
        """Attribute the failure of a job to the version that it was calling."""
        begun = [event for event in events if event.kind == "begin"]
        if not begun:
            raise UsageError(f"the ranks could not start: {_last_words(outcome)}")
        last = max(event.draw for event in begun)
        version = max(
            (event.version for event in begun if event.draw == last), key=list(order).index
        )
        said = next(event.text for event in begun if event.draw == last)
        reason = f"{_end(outcome)} [{said}]"
        self.next = max(self.next, last + 1)
        if version in (CHECKED, ORIGINAL):
            self.thrown.append(f"the original {reason}")
        else:
            hang = "Timeout" in outcome.stderr.decode("utf-8", "replace")
            text = f"the original succeeds, the transformed procedure {reason}"
            self.differences[version] = Difference(text, hang=hang)
            self._ended = True


def _end(outcome: CommandResult) -> str:
    """How a job ended, as a clause."""
    text = outcome.stderr.decode("utf-8", "backslashreplace")
    if outcome.status is None or "Timeout (" in text:
        return _HANG
    return f"was ended: {_last_words(outcome)}"


def _last_words(outcome: CommandResult) -> str:
    """The most informative line of stderr."""
    words = last_words(outcome.stderr.decode("utf-8", "backslashreplace"))
    return words or f"status {outcome.status}"
