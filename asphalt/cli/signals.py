"""Signals that end a command become exceptions, so that it leaves nothing behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from asphalt.running.process import running

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class SignalledError(BaseException):
    """A signal that asks for the end, other than the keyboard's."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def signals_raised() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise ``SignalledError`` in the main thread, SIGINT a
    ``KeyboardInterrupt``, and the commands that run end first, so that no thread waits for one.

    What is ignored stays so (nohup).  A process that is forked within takes them as usual.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mine = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() != mine:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        running.stop()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        signal.signal(number, signal.SIG_IGN)  # once is enough: it is being cleaned up
        raise SignalledError(number)

    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {
        number: handler for number in _SIGNALS if (handler := signal.getsignal(number)) in usual
    }
    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        running.allow()
