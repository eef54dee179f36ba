"""A fixed sample of random procedures with messages between two ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.exchanges import procedure
from fuzz.transfers import batch

from asphalt.running.mpi import SMPI


def test_a_procedure_is_the_same_each_time() -> None:
    assert procedure(5, 3) == procedure(5, 3)
    assert procedure(5, 3) != procedure(5, 4)


@pytest.mark.skipif(bool(SMPI.missing()), reason="SMPI is not installed")
@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (0, "exchanges"),
        (8, "alltoalls"),
        pytest.param(4, "exchanges", marks=pytest.mark.wide),
        pytest.param(0, "halos", marks=pytest.mark.wide),
        pytest.param(15, "waves", marks=pytest.mark.wide),
    ],
)
def test_a_sample_gives_the_same_results(first: int, kind: str, tmp_path: Path) -> None:
    found = batch(101, first, 4, SMPI, "-O0", tmp_path, (3,), kind)
    assert found.failures == []
    assert found.transformed >= 2
    assert found.transfers >= 4
