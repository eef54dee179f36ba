"""Prices of steps in words."""

from __future__ import annotations

import pytest

from asphalt.gain.wording import changes_text


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
