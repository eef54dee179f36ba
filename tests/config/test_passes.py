"""The names of passes."""

from __future__ import annotations

import pytest

from asphalt.config.errors import UsageError
from asphalt.config.passes import (
    EVERYTHING,
    ONLY_BY_NAME,
    PASSES,
    TRANSFERS,
    Pass,
    in_order,
)


def test_names_come_in_the_order_of_the_passes_and_once() -> None:
    assert in_order(["motion", "nonblocking", "motion"]) == ("nonblocking", "motion")


def test_a_group_stands_for_its_passes() -> None:
    assert in_order(["transfers"]) == TRANSFERS
    assert in_order(["motion", "transfers", Pass.PREPUSH]) == in_order(["all"]) == EVERYTHING


def test_some_passes_are_in_no_group() -> None:
    assert set(EVERYTHING) | set(ONLY_BY_NAME) == set(PASSES)
    assert not set(EVERYTHING) & set(ONLY_BY_NAME)
    assert in_order(["all", *ONLY_BY_NAME]) == PASSES


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["motoin"], "motoin is none of .*did you mean motion"),
        (["transfer"], "did you mean transfers"),
        ([], "no name; there are prepush, .*, all"),
    ],
)
def test_an_unknown_name(names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        in_order(names)
