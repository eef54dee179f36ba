"""Turns signals that end a command into exceptions, so that it cleans up."""

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
    """A signal that ends the command, other than SIGINT."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def signals_raised() -> Iterator[None]:
    """Raise ``SignalledError`` for SIGTERM and SIGHUP, ``KeyboardInterrupt`` for SIGINT.

    They are raised in the main thread, after the running commands were ended, so that no thread
    waits for one.  A signal that is ignored is still ignored (nohup).  In a forked process, the
    signals have their usual effect.
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
        signal.signal(number, signal.SIG_IGN)  # the clean-up has begun
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
