"""The steps of procedures with transfers, kept and not kept, as lines for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from asphalt.diagnostics.model import (
    DroppedReport,
    GainReport,
    ProcedureReport,
    StepReport,
)
from asphalt.gain.wording import changes_text, gain_text


def procedure_lines(procedures: Iterable[ProcedureReport]) -> Iterator[str]:
    """For each procedure: its steps with reasons and gains, the steps not kept, and the end.

    What several steps say, as those of one procedure that is inlined at several calls do, is said
    once, with their number.
    """
    for one in procedures:
        if not one.steps and not one.dropped:
            continue
        unit = one.unit or "main"
        steps = one.steps if one.changed else ()
        yield from _counted(f"{s.file}:{s.line}: {unit}: {step_text(s)}" for s in steps)
        yield from _counted(f"{d.file}:{d.line}: {unit}: {dropped_text(d)}" for d in one.dropped)
        if one.changed and len(one.steps) > 1 and (gained := _together(one.steps)):
            yield f"{one.file}: {unit}: all of it together: {gained}"
        yield f"{one.file}: {unit}: ended: {one.ended}"


def _counted(lines: Iterable[str]) -> Iterator[str]:
    """Each line once, with how often it was there."""
    for line, times in Counter(lines).items():
        yield line if times == 1 else f"{line} ({times} times)"


def step_text(step: StepReport) -> str:
    """A step with its reasons and, if it was estimated, its gain.

    A loss is reported as one of a part: no step that loses is kept for itself.
    """
    why = f" ({'; '.join(step.because)})" if step.because else ""
    gained = ", ".join(map(_gain, step.gained))
    if any(round(gain.seconds, 9) < 0 for gain in step.gained):
        gained += ", by itself: it is judged together with the steps around it"
    return f"{step.transformation}: {step.does}{why}{gained and ': ' + gained}"


def dropped_text(dropped: DroppedReport) -> str:
    """A step that was not kept, such as ``not kept: renaming: [...]: execution would take longer:
    +3.3 % on ib-ddr-2009 (12.3 us to 12.7 us)``."""
    before = {price.network: price.before for price in dropped.prices}
    prices = changes_text(before, {price.network: price.tried for price in dropped.prices})
    why = f"{dropped.why}{prices and ': ' + prices}"
    return f"not kept: {dropped.transformation}: {dropped.does}: {why}"


def not_kept(procedures: Sequence[ProcedureReport]) -> int:
    """The number of steps that were tried and not kept."""
    return sum(len(one.dropped) for one in procedures)


def _gain(gain: GainReport) -> str:
    return gain_text(gain.network, gain.seconds)


def _together(steps: Sequence[StepReport]) -> str:
    """The gain of all steps that were estimated."""
    seconds: dict[str, float] = {}
    for gain in (gain for step in steps for gain in step.gained):
        seconds[gain.network] = seconds.get(gain.network, 0.0) + gain.seconds
    return ", ".join(_gain(GainReport(*one)) for one in seconds.items())
