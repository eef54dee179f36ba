"""Prices of steps in words."""

from __future__ import annotations

import pytest

from asphalt.gain.wording import changes_text, losses_text, sizes_text


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (
            (1.1, 2.2),
            "+10.0 % on fast (1 s to 1.1 s), +10.0 % on slow (2 s to 2.2 s)",
        ),
        (
            (0.9, 2.0),
            "-10.0 % on fast (1 s to 900 ms), +0.0 % on slow (2 s to 2 s)",
        ),
        (
            (1.1, 1.0),
            "+10.0 % on fast (1 s to 1.1 s); no network may lose, whatever others gain: "
            "-50.0 % on slow (2 s to 1 s)",
        ),
        (
            (0.5, 2.2),
            "+10.0 % on slow (2 s to 2.2 s); no network may lose, whatever others gain: "
            "-50.0 % on fast (1 s to 500 ms)",
        ),
    ],
)
def test_a_loss_on_one_network_decides(after: tuple[float, float], said: str) -> None:
    before = {"fast": 1.0, "slow": 2.0}
    assert changes_text(before, dict(zip(before, after, strict=True))) == said


def test_nothing_is_known() -> None:
    assert changes_text({}, {}) == ""


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ((1.1, 2.2), "+10.0 % on fast, +10.0 % on slow"),
        ((1.1, 2.0), "+10.0 % on fast"),
        ((1.1, 1.0), "+10.0 % on fast, but -50.0 % on slow: --network NAME chooses one"),
        ((0.9, 1.0), ""),
        ((1.0, 2.0), ""),
    ],
)
def test_networks_that_lose_and_those_that_gain(after: tuple[float, float], said: str) -> None:
    before = {"fast": 1.0, "slow": 2.0}
    assert losses_text(before, dict(zip(before, after, strict=True))) == said


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        (["nx"], "nx"),
        (["nx", "ny"], "nx and ny"),
        (["a", "b", "c", "d"], "a, b, c and d"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c, d and 2 more"),
    ],
)
def test_sizes_of_estimates(names: list[str], listed: str) -> None:
    assert f" values of {listed}, which " in sizes_text(names)
