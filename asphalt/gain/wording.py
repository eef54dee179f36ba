"""Seconds that a unit takes, and their changes, for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
_SAME = 1e-3  # of a time: what differs by less is told as the same
_NAMED = 4  # sizes
_WHOLE = 1000  # from there, no digits behind the point are told


def time_text(seconds: float) -> str:
    """Seconds in four digits, as s, ms or us, e.g. ``17.17 ms``."""
    unit, name = next((one for one in _UNITS if abs(seconds) >= one[0]), _UNITS[-1])
    number = seconds / unit
    digits = ".0f" if abs(number) >= _WHOLE else ".4g"
    return f"{number:{digits}} {name}"


def change_text(network: str, before: float, after: float) -> str:
    """Another price on a network, e.g. ``+4.6 % on ib-hdr (17.17 ms to 17.95 ms)``."""
    times = f"{time_text(before)} to {time_text(after)}"
    return f"{_percent(before, after)} on {network} ({times})"


def _percent(before: float, after: float) -> str:
    return f"{(after / before - 1 if before else 0.0) * 100:+z.1f} %"


def gain_text(network: str, seconds: float) -> str:
    """The gain on a network, e.g. ``saves 12.5 us on ib-hdr``."""
    seconds = round(seconds, 9)  # what is less comes of the last digits of sums
    does, what = ("costs" if seconds < 0 else "saves"), time_text(abs(seconds))
    return f"{does} {what if seconds else 'nothing'} on {network}"


def changes_text(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    """The changes on all networks; empty: nothing is known.

    Of a step that loses on one network and gains on another, the losses come first, for they
    decide: ``+1.3 % on a (...); no network may lose, whatever others gain:
    -20.0 % on b (...)``.
    """
    texts = {name: change_text(name, before[name], after[name]) for name in before}
    loses = any(after[name] > before[name] * (1 + _SAME) for name in before)
    gains = [name for name in before if after[name] < before[name] * (1 - _SAME)]
    if not loses or not gains:
        return ", ".join(texts.values())
    first = ", ".join(text for name, text in texts.items() if name not in gains)
    last = ", ".join(texts[name] for name in gains)
    return f"{first}; no network may lose, whatever others gain: {last}"


def losses_text(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    """The networks on which more time is taken, and those on which less is: ``+1.3 % on a, but
    -6.5 % on b: --network NAME chooses one``; empty: there are none of the first."""
    texts = {name: f"{_percent(before[name], after[name])} on {name}" for name in before}
    losses = [name for name in before if after[name] > before[name] * (1 + _SAME)]
    gains = [name for name in before if after[name] < before[name] * (1 - _SAME)]
    lost = ", ".join(texts[name] for name in losses)
    if not losses or not gains:
        return lost
    return f"{lost}, but {', '.join(texts[name] for name in gains)}: --network NAME chooses one"


def sizes_text(names: Sequence[str]) -> str:
    """What estimates take for granted, e.g. ``estimated with usual values of nx and ny, which
    --size NAME=VALUE replaces by yours``."""
    told = list(names[:_NAMED])
    if len(names) > _NAMED:
        told.append(f"{len(names) - _NAMED} more")
    *others, last = told
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"estimated with usual values of {listed}, which --size NAME=VALUE replaces by yours"


def less_text(names: Iterable[str], saved: Iterable[float], before: Iterable[float]) -> str:
    """The gain, and the gain without the step, e.g. ``saves 3 us, and saves 4 us without it,
    on ib-hdr``."""
    return ", ".join(
        f"{_amount(one)}, and {_amount(other)} without it, on {name}"
        for name, one, other in zip(names, saved, before, strict=True)
    )


def _amount(seconds: float) -> str:
    """Seconds that are saved, e.g. ``saves 3 us``."""
    return gain_text("", seconds).removesuffix(" on ")
