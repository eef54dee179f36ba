"""Work on source text in processes that can be killed.

Parsers hang and crash on odd input.  Each item has a time limit; an item that exceeds it, or that
ends its process, is ``Failed`` alone, and the others go on.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, TimeoutError
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

from pebble import ProcessExpired, ProcessPool

from asphalt.ir.records import record

T = TypeVar("T")
R = TypeVar("R")


@record
class Failed:
    """No result; ``reason`` completes "it could not be read: ..."."""

    reason: str


@record
class _Guarded(Generic[T, R]):
    """The function, so that even SystemExit in it is a result."""

    function: Callable[[T], R]

    def __call__(self, item: T) -> R | Failed:
        try:
            return self.function(item)
        except BaseException as error:  # parsers call sys.exit
            return Failed(f"{type(error).__name__}: {error}")


def attempted(function: Callable[[T], R], item: T) -> R | Failed:
    """What a function makes of an item in this process, without a time limit."""
    try:
        return function(item)
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


Heard = Callable[[int, int], None]
"""A listener to work: it gets how many items are done, and how many there are."""
_listener: ContextVar[Heard | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Heard) -> Iterator[None]:
    """Tell a listener after each item of all work in this block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


_SURROUNDINGS = ("PATH", "TMPDIR")  # what work beside the text of its item may depend on


_in_use: dict[tuple[int | None, str, tuple[str | None, ...]], Workers] = {}


def shared_workers(jobs: int | None = None) -> Workers:
    """The workers of this process for so many jobs: trees that are read one after the other, in a
    notebook or a test, share them.  Workers of other surroundings (the working directory, say) end.
    """
    surroundings = tuple(os.environ.get(name) for name in _SURROUNDINGS)
    here = (os.getcwd(), surroundings)
    for key, workers in list(_in_use.items()):
        if key[1:] != here:
            workers.close()  # who still has them starts new ones
            del _in_use[key]
    return _in_use.setdefault((jobs, *here), Workers(jobs))


@atexit.register
def _close_all() -> None:
    for workers in _in_use.values():
        workers.close()


class Workers:
    """A pool of processes that starts with its first work."""

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._size = 0
        self._pool: ProcessPool | None = None

    def run(
        self, function: Callable[[T], R], items: Sequence[T], seconds: float
    ) -> Iterator[R | Failed]:
        """The results in the order of ``items``; ``function`` is one of a module.

        In a process that is a worker itself the work is done in place, without limit.
        """
        guarded = _Guarded(function)
        if multiprocessing.parent_process() is not None:
            yield from map(guarded, items)
            return
        if not items:
            return
        pool = self._started(len(items))
        futures = [pool.schedule(guarded, args=(item,), timeout=seconds) for item in items]
        listener = _listener.get()
        for number, future in enumerate(futures, 1):
            yield _outcome(future, seconds)
            if listener is not None:
                listener(number, len(futures))

    def close(self) -> None:
        """Ends the processes; the next work starts new ones."""
        if self._pool is not None:
            self._pool.stop()  # type: ignore[no-untyped-call]
            self._pool.join()
            self._pool = None

    def _started(self, items: int) -> ProcessPool:
        """The pool: as many processes as there are items for, and never fewer than before."""
        wanted = max(self._size, min(self._jobs, items))
        if self._pool is None or wanted > self._size:
            self.close()
            self._size = wanted
            # what a process has from this one is not searched for garbage in it
            forked = multiprocessing.get_context("fork")
            self._pool = ProcessPool(wanted, initializer=gc.freeze, context=forked)
        return self._pool


def _outcome(future: Future[R | Failed], seconds: float) -> R | Failed:
    try:
        return future.result()
    except TimeoutError:
        return Failed(f"it takes longer than {seconds:g} s")
    except ProcessExpired as error:
        return Failed(f"it ended the process that read it ({error.exitcode})")
    except Exception as error:  # the result could not be passed between processes
        return Failed(f"{type(error).__name__}: {error}")
