"""What becomes of files: the changes of all passes, one a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from asphalt.analysis.conditions.site import SKIP
from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.analysis.verdicts.verdict import Mark, Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.analysis_manager.user_units import user_units
from asphalt.config.limits import USUAL_DEPTH
from asphalt.config.passes import Pass
from asphalt.diagnostics.change import Change as Change
from asphalt.diagnostics.model import (
    DroppedReport,
    GainReport,
    MarkReport,
    PriceReport,
    ProblemReport,
    ProcedureReport,
    SiteReport,
    StepReport,
    store_before,
)
from asphalt.driver.given_lines import accepted_now, as_given, given_place
from asphalt.driver.left_behind import left_behind
from asphalt.driver.outcome import Outcome as Outcome
from asphalt.driver.program_starts import own_report
from asphalt.driver.transfers import (
    mark_report,
    marks_at,
    nonblocking_operations,
    transfer_operations,
)
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Judge
from asphalt.ir.program import Located
from asphalt.ir.tree import leaves
from asphalt.optimiser import blocking
from asphalt.optimiser.acceptance import Key, key_of, unit_at
from asphalt.optimiser.optimise import Done, Dropped, Optimised, optimise
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Transfer, Tried
from asphalt.support.garbage_collection import collected_seldom, not_looked_through
from asphalt.unparse.params import HeaderEntry

DEFAULT_TILE = 0
DEFAULT_DEPTH = USUAL_DEPTH
_NAMED = 2  # statements that a message names
_LEVELS = 4  # of calls, from a procedure with transfers upwards


Judges = Callable[[tuple[Change, ...]], Judge]
"""What judges the steps of a unit, where other files have been changed so far."""


@dataclass(frozen=True, slots=True)
class TileValues:
    """K and D for nests in tiles, each with who asked for it (``--tile``, say); None: nobody."""

    tile: tuple[int, str] | None = None
    depth: tuple[int, str] | None = None

    def parameters(self, found: Optimised) -> Iterator[HeaderEntry]:
        """The entries of a unit's nests in the header."""
        for one in found.tiled:
            source = f"{Path(one.path).name}:{one.line}"
            asked = {"k": self.tile, "d": self.depth}
            yield HeaderEntry(
                one.site,
                one.operation,
                source,
                one.along,
                DEFAULT_TILE if self.tile is None else self.tile[0],
                DEFAULT_DEPTH if self.depth is None else self.depth[0],
                {what: value[1] for what, value in asked.items() if value is not None},
            )


def optimised(
    analyses: Analyses,
    changes: Sequence[Change],
    passes: Collection[str],
    wrong: Collection[tuple[str, str]] = (),
    accepted: frozenset[str] = frozenset(),
    clone_limit: int | None = None,
    values: TileValues | None = None,
    judges: Judges | None = None,
    units: Collection[tuple[str, str]] | None = None,
) -> Outcome:
    """The changes with the transfers between two ranks optimised, in changed files and others.

    ``analyses``: of the tree as it was given.  ``wrong``: file and name of the units that have
    errors in their messages: they stay as they are.  ``accepted``: assumptions.  ``clone_limit``:
    MiB that copies of message buffers may have; None: as usual.  ``values``: K and D of nests that
    are executed in tiles; None: the usual ones.
    ``judges``: what decides about the steps of a unit; None: the usual model.  ``units``: file and
    name of those that are asked about; None: all.
    """
    if not passes:
        return Outcome(tuple(changes))
    with collected_seldom(), not_looked_through():
        given = values or TileValues()
        return _optimised(
            analyses, changes, passes, wrong, accepted, clone_limit, given, judges, units
        )


def _optimised(
    analyses: Analyses,
    changes: Sequence[Change],
    passes: Collection[str],
    wrong: Collection[tuple[str, str]],
    accepted: frozenset[str],
    clone_limit: int | None,
    values: TileValues,
    judges: Judges | None,
    units: Collection[tuple[str, str]] | None,
) -> Outcome:
    procedures: list[ProcedureReport] = []
    own: dict[tuple[str, int, str], SiteReport] = {}
    tries: dict[Key, Tried] = {}
    by_path = {str(change.path): change for change in changes}
    left: dict[Key, ProblemReport] = {}
    first, tree = analyses, analyses.tree
    now = tree
    if by_path:
        now = tree.edited({path: change.after for path, change in by_path.items()})
        analyses = analyses.followed_by(now)
    done: set[Key] = set()
    for path, chain in _places(now, Pass.INLINE in passes, wrong, units):
        located = next(
            (one for one in now.units_of(path) if tuple(u.name for u in one.chain) == chain), None
        )
        if located is None:
            continue
        if (why := left_behind(located, first, analyses, left)) is not None:
            left[path, chain] = ProblemReport(path, _lines(tree, path, chain)[0], why, note=True)
            continue
        if TransferDirectives(located).all_skipped is not None:
            continue
        said = accepted_now(accepted, tree, now, by_path)
        found = optimise(
            now,
            located,
            passes,
            accepted=said,
            clone_limit=clone_limit,
            model=None if judges is None else judges(tuple(by_path.values())),
            changed=done,
            wrong=wrong,
            given=partial(given_place, now=now, given=tree),
            analyses=analyses,
        )
        procedures.append(_procedure(found, _lines(tree, path, chain)))
        tries[path, chain] = Tried(found.dropped, found.whole)
        for one in found.staying:
            own.setdefault((one.place.path, one.place.line, one.operation), own_report(one, tree))
        if found.content is None:
            continue
        done.add((path, chain))
        told = as_given(found, now, tree)
        now = now.edited({path: found.content})
        analyses = analyses.followed_by(now)
        before = tree.content(path)
        change = by_path.get(path, Change(Path(path), before, before, (), ()))
        new = values.parameters(told)
        by_path[path] = replace(
            change,
            after=found.content,
            sites=(*change.sites, *_reports(told, tree)),
            parameters=(*change.parameters, *new),
        )
    changed = tuple(by_path[path] for path in sorted(by_path))
    notes = tuple(left.values())
    return Outcome(changed, tuple(procedures), tuple(own.values()), tries, notes)


def _places(
    tree: Tree,
    callers: bool,
    wrong: Collection[tuple[str, str]],
    units: Collection[tuple[str, str]] | None,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """File and names of the units with transfers, without those that are ``wrong``; ``callers``:
    also of those that may call them, first those that are called by no other of them.  ``units``:
    these alone, with their callers."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    level = list(_asked_about(tree, units))
    for _ in range(_LEVELS if callers else 1):
        new = [
            one
            for one in level
            if one.unit.kind != "module" and key_of(one) not in found
            if (one.path, one.unit.name) not in wrong
        ]
        found.update({key_of(one): None for one in new})
        level = [
            mention
            for one in new
            if callers and one.unit.kind == "subroutine"
            for mention in tree.mentions(one.unit.name)
            if mention.unit.name and mention.unit.name != one.unit.name
        ]
    return tuple(reversed(found))


def _asked_about(tree: Tree, units: Collection[tuple[str, str]] | None) -> Iterator[Located]:
    """The units with transfers, or those of them that are asked about."""
    for located in user_units(tree, nonblocking_operations()):
        if units is None or (located.path, located.unit.name) in units:
            yield located


def kept_blocking(
    analyses: Analyses, accepted: frozenset[str] = frozenset()
) -> tuple[SiteReport, ...]:
    """A report for each blocking transfer and collective operation of a tree that cannot be made
    non-blocking, under the ``accepted`` assumptions."""
    found = [
        report
        for located in user_units(analyses.tree, nonblocking_operations())
        for one in blocking.kept_blocking(analyses, located, accepted)
        for report in _kept(located, *one)
    ]
    return tuple(sorted(found, key=lambda report: (report.file, report.line)))


def nothing_beside(
    analyses: Analyses,
    changes: Sequence[Change],
    accepted: frozenset[str] = frozenset(),
    passes: Collection[str] = (),
    clone_limit: int | None = None,
    wrong: Mapping[tuple[str, str], int] = MappingProxyType({}),
    units: Collection[tuple[str, str]] | None = None,
    tries: Mapping[Key, Tried] = MappingProxyType({}),
) -> tuple[SiteReport, ...]:
    """A report for each that could be, and that none of the changes is about; ``passes``: those
    that would have parted its blocks, or posted it ahead.  ``wrong``: the line of an error in the
    messages of a unit, by file and name.  ``units``: file and name of those that are asked about;
    None: all.  ``tries``: what was tried for units."""
    found: list[SiteReport] = []
    for located in _asked_about(analyses.tree, units):
        lines = {
            site.line
            for change in changes
            for site in change.sites
            if site.file == located.path and site.verdict == "applied"
        }
        line = wrong.get((located.path, located.unit.name))
        why = None if line is None else f"line {line} has an error in its messages"
        for refused, operation, assumed in blocking.nothing_beside(
            analyses, located, lines, accepted, passes, clone_limit, why, tries.get(key_of(located))
        ):
            for report in _kept(located, refused, operation):
                needed = tuple(sorted({*report.assumptions, *assumed}))
                found.append(replace(report, assumptions=needed, accepted=assumed))
    return tuple(sorted(found, key=lambda report: (report.file, report.line)))


def kept_whole(
    analyses: Analyses, sites: Sequence[SiteReport], accepted: frozenset[str] = frozenset()
) -> tuple[SiteReport, ...]:
    """The ``sites`` that changes are about; those that overlap with work as whole messages say what
    keeps them whole, if a nest beside them would have been executed in tiles."""
    wanted = {site.file for site in sites if site.overlaps}
    why: dict[tuple[str, int], str] = {}
    for located in user_units(analyses.tree, nonblocking_operations()):
        found = blocking.kept_whole(analyses, located, accepted) if located.path in wanted else ()
        for one in found:
            if one.span is not None:
                told = f"; {one.message} ({one.code.id})"
                why.setdefault((located.path, one.span.first), told)
    return tuple(
        replace(site, message=site.message + why.get((site.file, site.line), ""))
        if site.overlaps
        else site
        for site in sites
    )


def kept_stores(analyses: Analyses) -> tuple[SiteReport, ...]:
    """A report for each statement that stores to a receive buffer of a tree, and has to stay
    although a receive follows."""
    return tuple(
        report
        for located in user_units(analyses.tree, transfer_operations())
        for refused, operation in blocking.kept_stores(analyses, located)
        for report in _kept(located, _of_stores(refused), store_before(operation), "the stores")
    )


def _of_stores(refused: Refused) -> Refused:
    """The refusal of stores, which do not stand where the transfer does."""
    return replace(refused, message=f"what is stored here stays: {refused.message}")


def _kept(
    located: Located, refused: Refused, operation: str, what: str = "the transfer"
) -> Iterator[SiteReport]:
    """The report of a call, or of something else, that stays as it is."""
    span = refused.span
    if span is None:
        return
    marks = (
        *(refused.marks or (Mark(span, "offending", refused.message),)),
        Mark(span, "exchange", what),
    )
    yield SiteReport(
        f"{located.unit.name or 'main'}:{span.first}",
        located.path,
        span.first,
        operation,
        located.unit.name,
        _stays(refused),
        code=refused.code.id,
        message=refused.message,
        witness=refused.witness or f"line {span.first}",
        assumptions=() if refused.lifted_by is None else (refused.lifted_by,),
        marks=tuple(mark_report(mark) for mark in marks),
    )


def _stays(refused: Refused) -> str:
    """The verdict on what stays as it is."""
    if refused.code is SKIP:
        return "skipped"
    return "refused" if refused.lifted_by is None else "assumed"


def _reports(found: Optimised, given: Tree) -> Iterator[SiteReport]:
    """One report for each transfer that is overlapped now, and each statement left out.

    Lines are those of the source as it was ``given``; a site's id is of the procedure there.
    """

    def name(path: str, line: int) -> str:
        own = unit_at(given, SourceLine(path, line))
        return f"{'main' if own is None else own.unit.name or 'main'}:{line}"

    passes = tuple(dict.fromkeys(step.transformation for step in found.steps))
    steps = tuple(map(_step_report, found.steps))
    dropped = tuple(map(_dropped_report, found.dropped))
    of_nests = {name for step in found.steps for name in step.assumed}
    for transfer in found.transfers:
        assumed = tuple(sorted(of_nests.union(transfer.assumed)))
        yield SiteReport(
            name(transfer.path, transfer.line),
            transfer.path,
            transfer.line,
            transfer.operation,
            found.unit,
            "applied",
            message=_overlap(transfer, found.unit),
            passes=passes,
            assumptions=assumed,
            accepted=assumed,
            evidence=tuple(step.does for step in found.steps),
            marks=_marks(transfer, given),
            steps=steps,
            dropped=dropped,
            overlaps=transfer.beside,
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
            message=f"what was stored to {cleared.buffer} before the receive is left out",
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


def _dropped_report(dropped: Dropped) -> DroppedReport:
    prices = (
        PriceReport(network, seconds, dropped.tried[network])
        for network, seconds in dropped.before.items()
    )
    place = dropped.place
    return DroppedReport(
        dropped.transformation, dropped.does, place.path, place.line, dropped.why, tuple(prices)
    )


def _lines(given: Tree, path: str, chain: tuple[str, ...]) -> tuple[int, int]:
    """The first and the last line of a unit in the source as it was given."""
    unit = next(
        one.unit for one in given.units_of(path) if tuple(u.name for u in one.chain) == chain
    )
    return line_of(next(leaves(unit))), line_of(unit.end)


def _procedure(found: Optimised, lines: tuple[int, int]) -> ProcedureReport:
    """What was tried for a unit, with its first and its last line."""
    return ProcedureReport(
        found.path,
        found.unit,
        found.content is not None,
        tuple(map(_step_report, found.steps)),
        tuple(map(_dropped_report, found.dropped)),
        found.ended,
        *lines,
    )


def _overlap(transfer: Transfer, unit: str) -> str:
    """What becomes of a transfer, in a few words, and where if that is not where it stood."""
    where = f", in {unit or 'main'}" if transfer.inlined else ""
    beside = transfer.beside
    if not beside:
        return f"{transfer.does}{where}"
    more = f" and {len(beside) - _NAMED} more" if len(beside) > _NAMED else ""
    return f"overlaps with {', '.join(beside[:_NAMED])}{more}{where}"
