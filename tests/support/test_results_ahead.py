"""Results of other processes, in the order in which they are asked for."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import active_children

import pytest

from asphalt.support.results_ahead import LostError, ResultsAhead

_TEST = os.getpid()


def _square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def test_each_result_is_that_of_its_number() -> None:
    with ResultsAhead(_square, range(3, 200), 3) as ahead:
        assert [ahead.result(n)[0] for n in range(3, 200)] == [n * n for n in range(3, 200)]


def test_a_number_that_nobody_was_given_is_worked_on_here() -> None:
    with ResultsAhead(_square, (), 1) as ahead:
        assert ahead.result(7) == (49, _TEST)


def test_results_may_be_long() -> None:
    def long(number: int) -> bytes:
        return bytes([number]) * 1_000_000

    with ResultsAhead(long, range(20), 2) as ahead:
        assert all(ahead.result(n) == bytes([n]) * 1_000_000 for n in range(20))


class _OddError(Exception):
    """An error that cannot be made from its arguments."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__("odd")


def test_an_error_is_raised_at_its_turn() -> None:
    def task(number: int) -> int:
        if os.getpid() == _TEST:
            time.sleep(0.1)  # so that others have some
        if number % 3 == 1:
            raise KeyError(number)
        if number % 3 == 2:
            raise _OddError(1, 2)
        return number

    with ResultsAhead(task, range(30), 2) as ahead:
        for number in range(30):
            if number % 3 == 1:
                with pytest.raises(KeyError, match=str(number)):
                    ahead.result(number)
            elif number % 3 == 2:
                with pytest.raises((_OddError, LostError), match="odd"):
                    ahead.result(number)
            else:
                assert ahead.result(number) == number


def test_a_process_that_ends_loses_one_result() -> None:
    def task(number: int) -> int:
        if os.getpid() != _TEST:
            if number == 5:
                os.kill(os.getpid(), signal.SIGKILL)
        elif number < 5:
            time.sleep(0.05)
        elif number == 5:
            raise LostError("as there")
        return number

    with ResultsAhead(task, range(40), 1) as ahead:
        for number in range(40):
            if number == 5:
                with pytest.raises(LostError):
                    ahead.result(number)
            else:
                assert ahead.result(number) == number


def test_what_is_not_asked_for_ends_with_the_rest() -> None:
    def task(number: int) -> int:
        if os.getpid() != _TEST:
            signal.pause()
        return number

    with ResultsAhead(task, range(5), 2):
        assert len(_helpers()) == 2
    assert _helpers() == []


def _helpers() -> list[str]:
    return [one.name for one in active_children() if one.name == "asphalt helper"]
