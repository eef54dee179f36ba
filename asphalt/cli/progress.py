"""The progress of long work: a bar on a terminal, an occasional line if stderr is a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from asphalt.cli.notes import is_quiet, note
from asphalt.frontend.source_tree.workers import heard_by

_SECONDS = 20.0  # between lines
_FEW = 4  # files or batches of them that are read at a time without a word


class Progress:
    """A context manager for work of ``total`` steps (None: of an unknown number); it writes to
    stderr, and nothing with --quiet.

    ``clock`` returns seconds; tests replace it.
    """

    def __init__(
        self, title: str, total: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        console = Console(stderr=True)
        self._lines = not console.is_terminal
        self._title, self._total, self._clock = title, total, clock
        self._done, self._told = 0, clock()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._bar = Bar(
            *columns,
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=self._lines or is_quiet(),
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


@contextmanager
def reading(title: str) -> Iterator[None]:
    """Progress of work that reads sources, with how many of the files at hand are read."""
    with Progress(title, None) as bar:

        def told(done: int, total: int) -> None:
            if total >= _FEW:
                bar.at(title, done, total)

        with heard_by(told):
            yield
