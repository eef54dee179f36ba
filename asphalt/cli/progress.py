"""The progress of long work: a bar on a terminal, an occasional line if stderr is a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from asphalt.cli.notes import note

_SECONDS = 20.0  # between lines


class Progress:
    """A context manager for work of ``total`` steps; it writes to stderr.

    ``clock`` returns seconds; tests replace it.
    """

    def __init__(self, title: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        console = Console(stderr=True)
        self._lines = not console.is_terminal
        self._title, self._total, self._clock = title, total, clock
        self._done, self._told = 0, clock()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._bar = Bar(
            *columns, TimeElapsedColumn(), console=console, transient=True, disable=self._lines
        )
        self._task = self._bar.add_task(title, total=total)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def say(self, message: str) -> None:
        """Announce a piece of work; in a file, only some time after the last line."""
        self._bar.update(self._task, description=message)
        if self._lines and self._clock() - self._told >= _SECONDS:
            note(f"{self._title}, {self._done} of {self._total} done: {message}")
            self._told = self._clock()

    def at(self, message: str, done: int, total: int) -> None:
        """Announce a piece of work, of ``total`` of which some are done."""
        self._done, self._total = done, total
        self._bar.update(self._task, completed=done, total=total)
        self.say(message)

    def advance(self, count: int = 1) -> None:
        """Count steps as done."""
        self._done += count
        self._bar.advance(self._task, count)


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Progress of steps without names; call the result after each step."""
    with Progress(title, total) as bar:
        yield bar.advance


@contextmanager
def watched(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """Progress of pieces whose number is not known yet; call the result before each, with its name,
    how many are done, and how many there are."""
    with Progress(title, 0) as bar:
        yield bar.at
