"""Several programs that share files: what they agree about becomes of a shared file.

A change of a file that several programs have is right if it is proved in each of them, and is the
same in each.  Where they differ, first the units with other sites stay as they are, then the whole
file, until all agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import FINDING, SiteReport
from asphalt.driver.overlap import NOTHING_KEPT, Kept, Outcome
from asphalt.driver.program import Program
from asphalt.driver.sites import Site

_Place = tuple[str, int, str]
_RANKS = {"refused": 3, "skipped": 2, "assumed": 1}
_T = TypeVar("_T")


def agreed(programs: Sequence[Program], optimised: Callable[[Program, Kept], Outcome]) -> Outcome:
    """The outcome for several programs; ``optimised``: that of one, in which something is left as
    it is."""
    outcomes = first = [optimised(one, NOTHING_KEPT) for one in programs]
    kept = NOTHING_KEPT
    while True:
        differing = _differing(programs, outcomes)
        more = [_to_keep(path, changes, kept) for path, changes in differing.items()]
        if not more:
            return _merged(_with_reasons(programs, first, outcomes))
        for one in more:
            kept |= one
        outcomes = [
            optimised(one, kept) if one.paths & differing.keys() else outcome
            for one, outcome in zip(programs, outcomes, strict=True)
        ]


def _differing(
    programs: Sequence[Program], outcomes: Sequence[Outcome]
) -> dict[str, list[Change | None]]:
    """The shared files that do not become the same in all programs, with their changes."""
    shared = _shared(programs)
    by_path = [{str(one.path): one for one in outcome.composed} for outcome in outcomes]
    found: dict[str, list[Change | None]] = {}
    for path in sorted(shared.intersection(*[set(chain(*by_path))])):
        own = [
            changes.get(path)
            for one, changes in zip(programs, by_path, strict=True)
            if path in one.paths
        ]
        texts = {None if one is None else (one.after, one.parameters) for one in own}
        if len(texts) > 1:
            found[path] = own
    return found


def _shared(programs: Sequence[Program]) -> set[str]:
    """The files that several programs have."""
    counts = Counter(path for one in programs for path in one.paths)
    return {path for path, count in counts.items() if count > 1}


def _to_keep(path: str, changes: Sequence[Change | None], kept: Kept) -> Kept:
    """What else of a file stays as it is, since its changes differ."""
    sites = [frozenset() if one is None else frozenset(map(_meaning, one.sites)) for one in changes]
    differing = frozenset().union(*sites).difference(frozenset(sites[0]).intersection(*sites))
    units = frozenset((path, unit) for unit, *_ in differing) - kept.units
    if units and path not in kept.files:
        return Kept(units=units)
    assert path not in kept.files, f"{path} has been changed although it stays"
    return Kept(files=frozenset({path}))


def _meaning(site: SiteReport) -> tuple[str, str, int, str, tuple[str, ...]]:
    return site.unit, site.file, site.line, site.operation, tuple(site.passes)


def _with_reasons(
    programs: Sequence[Program], first: Sequence[Outcome], outcomes: Sequence[Outcome]
) -> list[Outcome]:
    """Outcomes that say of each site that only some programs would change why it stays."""
    before = [_applied(one) for one in first]
    found: list[Outcome] = []
    for number, (one, outcome) in enumerate(zip(programs, outcomes, strict=True)):
        why: dict[_Place, str] = {}
        for place in before[number] - _applied(outcome):
            others = [
                other.name
                for other, applied in zip(programs, before, strict=True)
                if other is not one and place[0] in other.paths and place not in applied
            ]
            why[place] = (
                f"{place[0]} belongs to {others[0]}, too, where this is not proved"
                if others
                else "programs that share a file would change it in different ways"
            )
        found.append(replace(outcome, unwritten={**outcome.unwritten, **why}))
    return found


def _applied(outcome: Outcome) -> set[_Place]:
    return {_place(site) for change in outcome.composed for site in change.sites}


def _merged(outcomes: Sequence[Outcome]) -> Outcome:
    """One outcome of several that agree."""

    def each(of: Callable[[Outcome], Iterable[_T]], key: Callable[[_T], object]) -> tuple[_T, ...]:
        return tuple({key(one): one for own in reversed(outcomes) for one in of(own)}.values())

    return Outcome(
        tuple(sorted(each(lambda one: one.changes, lambda change: change.path), key=_path_of)),
        each(lambda one: one.procedures, lambda p: (p.file, p.unit, p.first)),
        each(lambda one: one.own, lambda site: (site.file, site.line, site.operation)),
        {key: tried for one in outcomes for key, tried in one.tries.items()},
        each(lambda one: one.notes, lambda note: note),
        tuple(sorted(each(lambda one: one.composed, lambda change: change.path), key=_path_of)),
        {place: why for own in outcomes for place, why in own.unwritten.items()},
        tuple(outcomes),
    )


def _path_of(change: Change) -> str:
    return str(change.path)


def merged_sites(programs: Sequence[Program], found: Sequence[Sequence[Site]]) -> tuple[Site, ...]:
    """The sites of several programs; of one that several have, with the judgement of the program
    that refuses it, or needs most assumptions."""
    chosen = _chosen(found, lambda site: site.report, [Outcome(()) for _ in programs], set())
    sites = (replace(one, report=_told(one.report, n, programs)) for n, one in chosen)
    return tuple(sorted(sites, key=lambda site: (site.report.file, site.report.line)))


def merged_reports(
    programs: Sequence[Program],
    found: Sequence[Iterable[SiteReport]],
    outcomes: Sequence[Outcome],
) -> tuple[SiteReport, ...]:
    """The reports of several programs on their sites after their ``outcomes``, sorted by file and
    line.

    A site that several programs have is what it is in the one that refuses it, or needs most
    assumptions.  What a program changes in a file of its own, where it has inlined a site of a
    shared file, is another site.
    """
    chosen = _chosen(found, lambda report: report, outcomes, _shared(programs))
    reports = (_told(report, n, programs) for n, report in chosen)
    return tuple(sorted(reports, key=lambda report: (report.file, report.line)))


def _chosen(
    found: Sequence[Iterable[_T]],
    report_of: Callable[[_T], SiteReport],
    outcomes: Sequence[Outcome],
    shared: Collection[str],
) -> Iterator[tuple[int | None, _T]]:
    """The judgements that count of those of several programs, each with the number of the program
    if only that one refuses."""
    places: dict[tuple[_Place, bool, int | None], dict[int, list[_T]]] = {}
    having: dict[_Place, set[int]] = {}
    for number, judged in enumerate(found):
        apart = _in_own_files(outcomes[number], shared)
        for one in judged:
            report = report_of(one)
            place = _place(report)
            own = number if (place, report.unit) in apart else None
            key = place, report.verdict == FINDING, own
            places.setdefault(key, {}).setdefault(number, []).append(one)
            having.setdefault(place, set()).add(number)
    for (place, *_), several in places.items():
        ranks = {
            number: max(_RANKS.get(report_of(one).verdict, 0) for one in judged)
            for number, judged in several.items()
        }
        worst = [number for number, rank in ranks.items() if rank == max(ranks.values())]
        own_reason = [number for number in worst if place not in outcomes[number].unwritten]
        refusing = own_reason or worst
        alone = len(refusing) < len(having[place])
        for one in several[refusing[0]]:
            yield refusing[0] if alone else None, one


def _in_own_files(outcome: Outcome, shared: Collection[str]) -> set[tuple[_Place, str]]:
    """The sites, each with its unit, that an outcome changes in files of one program alone."""
    own = (change for change in outcome.composed if str(change.path) not in shared)
    return {(_place(site), site.unit) for change in own for site in change.sites}


def _told(report: SiteReport, number: int | None, programs: Sequence[Program]) -> SiteReport:
    if number is None or report.verdict != "refused":
        return report
    return replace(report, message=f"in {programs[number].name}: {report.message}")


def _place(report: SiteReport) -> _Place:
    return report.file, report.line, report.operation
