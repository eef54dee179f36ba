"""Reports on what the optimiser does to a unit: its transfers, its steps, and what was tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asphalt.config.assumptions import TIMERS
from asphalt.config.passes import Pass
from asphalt.diagnostics.model import (
    DroppedReport,
    GainReport,
    MarkReport,
    PriceReport,
    ProcedureReport,
    SiteReport,
    StepReport,
    store_before,
)
from asphalt.driver.transfers import marks_at
from asphalt.frontend.source_tree.tree import Tree
from asphalt.optimiser.acceptance import unit_at
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Done, Dropped, Optimised, Transfer

_NAMED = 2  # statements that a message names


def overlap_reports(
    found: Optimised, given: Tree, assumed_of_all: tuple[str, ...] = ()
) -> Iterator[SiteReport]:
    """A report on each transfer that overlaps with work now, and on each store that is dropped.

    ``assumed_of_all``: the assumptions about the program that all of them rest on.  Lines are
    those of the source as it was ``given``; a site's id names the procedure there.
    """

    def name(path: str, line: int) -> str:
        own = unit_at(given, SourceLine(path, line))
        return f"{'main' if own is None else own.unit.name or 'main'}:{line}"

    passes = tuple(dict.fromkeys(step.transformation for step in found.steps))
    steps = tuple(map(_step_report, found.steps))
    dropped = tuple(map(dropped_report, found.dropped))
    of_nests = {*assumed_of_all, *(name for step in found.steps for name in step.assumed)}
    measured = _measured(found.steps)
    for transfer in found.transfers:
        assumed = tuple(sorted(of_nests.union(transfer.assumed)))
        yield SiteReport(
            name(transfer.path, transfer.line),
            transfer.path,
            transfer.line,
            transfer.operation,
            found.unit,
            "applied",
            message=_overlap(transfer, found.unit) + measured,
            passes=passes,
            assumptions=assumed,
            accepted=assumed,
            evidence=tuple(step.does for step in found.steps),
            marks=_marks(transfer, given),
            steps=steps,
            dropped=dropped,
            overlaps=transfer.overlaps,
            ended=found.ended,
        )
    for cleared in found.cleared:
        yield SiteReport(
            name(cleared.path, cleared.line),
            cleared.path,
            cleared.line,
            store_before(cleared.operation),
            found.unit,
            "applied",
            message=f"the stores to {cleared.buffer} before the receive are dropped",
            passes=passes,
            evidence=tuple(step.does for step in found.steps),
            marks=marks_at(given, SourceLine(cleared.path, cleared.line), "the store"),
            steps=steps,
            dropped=dropped,
            ended=found.ended,
        )


def _marks(transfer: Transfer, given: Tree) -> tuple[MarkReport, ...]:
    """The call, what completes it, and what comes beside it."""
    own = marks_at(given, SourceLine(transfer.path, transfer.line), "the transfer")
    others = (marks_at(given, place, text, "path") for place, text in transfer.marks)
    return (*own, *(mark for marks in others for mark in marks))


def _step_report(step: Done) -> StepReport:
    gained = (GainReport(network, seconds) for network, seconds in step.gained.items())
    place = step.place
    return StepReport(
        step.transformation, step.does, step.evidence, place.path, place.line, tuple(gained)
    )


def dropped_report(dropped: Dropped) -> DroppedReport:
    """A step that was tried and not kept."""
    prices = (
        PriceReport(network, seconds, dropped.tried[network])
        for network, seconds in dropped.before.items()
    )
    place = dropped.place
    return DroppedReport(
        dropped.transformation, dropped.does, place.path, place.line, dropped.why, tuple(prices)
    )


def procedure_report(found: Optimised, lines: tuple[int, int]) -> ProcedureReport:
    """The steps of a unit, kept or not; ``lines``: its first and its last line."""
    return ProcedureReport(
        found.path,
        found.unit,
        found.content is not None,
        tuple(map(_step_report, found.steps)),
        tuple(map(dropped_report, found.dropped)),
        found.ended,
        *lines,
    )


def _measured(steps: Sequence[Done]) -> str:
    """The steps that pass readings of a clock, so that these measure something else now."""
    moved = (step for step in steps if step.transformation == Pass.MOTION)
    told = list(dict.fromkeys(step.does for step in moved if TIMERS.word in step.assumed))
    more = f"; {len(told) - _NAMED} more steps pass readings" if len(told) > _NAMED else ""
    return "".join(f"; {does}" for does in told[:_NAMED]) + more


def _overlap(transfer: Transfer, unit: str) -> str:
    """What becomes of a transfer, in a few words, and where if that is not where it stood."""
    where = f", in {unit or 'main'}" if transfer.inlined else ""
    overlaps = transfer.overlaps
    if not overlaps:
        return f"{transfer.does}{where}"
    more = f" and {len(overlaps) - _NAMED} more" if len(overlaps) > _NAMED else ""
    stopped = "" if transfer.stopped is None else f"; its receive does not: {transfer.stopped}"
    return f"overlaps with {', '.join(overlaps[:_NAMED])}{more}{where}{stopped}"
