"""What stands in the way of the transfers of a procedure where it is called.

The steps that were tried with the procedure inlined in its callers, or what keeps the work behind
the call where it is.  A report has one or two of them in short clauses, and all of them as steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from asphalt.analysis.data_flow.unit import with_places
from asphalt.diagnostics.model import SiteReport
from asphalt.gain.wording import losses_text, sizes_text
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import WORTH, Dropped, InlinedCall, StoppedAtCall, Tried

_MOST = 2  # clauses


def tried_at_calls(site: SiteReport, tries: Iterable[Tried]) -> tuple[Dropped, ...]:
    """The steps that were tried and not kept in units in which the procedure of a transfer had been
    inlined, or with that."""
    return tuple(one for tried in tries for one in tried.dropped if _call_of(site, one))


def at_calls(site: SiteReport, tries: Collection[Tried], own: range) -> tuple[str, ...]:
    """What stands in the way of a transfer at the calls of its procedure, in at most two clauses.

    Of steps with work of callers those that lose least, with the networks that lose; where there
    are none, what keeps that work where it is, or why inlining is not kept.  ``own``: the lines of
    the procedure.
    """
    dropped = tried_at_calls(site, tries)
    priced = sorted(
        (one for one in dropped if one.before and not _is_own(one.place, site, own)),
        key=_ratios,
    )
    best: dict[SourceLine, Dropped] = {}
    for one in priced:
        best.setdefault(one.place, one)
    gaining = [one for one in best.values() if min(_ratios(one)[1:]) < 1]
    told = [_priced(one, site) for one in gaining or best.values()][:_MOST]
    if told:
        return _with_sizes(told, tries, site)
    place = SourceLine(site.file, site.line)
    stops = (s for tried in tries for s in tried.at_calls if s.place == place)
    told = list(dict.fromkeys(_stopped(one, site) for one in stops))[:_MOST]
    if told:
        return tuple(told)
    return _with_sizes(list(dict.fromkeys(_inlined(dropped, site)))[:1], tries, site)


def _with_sizes(told: Sequence[str], tries: Collection[Tried], site: SiteReport) -> tuple[str, ...]:
    """The clauses, with what their estimates take for granted."""
    sizes = dict.fromkeys(name for tried in tries if _is_about(tried, site) for name in tried.sizes)
    if not told or not sizes:
        return tuple(told)
    return (*told[:-1], f"{told[-1]} ({sizes_text(tuple(sizes))})")


def _ratios(one: Dropped) -> tuple[bool, float, float]:
    """An order of steps: those that save time on a network first, then by the greatest ratio of the
    times with and without it, and the least, in thousandths."""
    ratios = [round(one.tried[name] / one.before[name], 3) for name in one.before]
    return min(ratios) >= 1, max(ratios), min(ratios)


def _is_about(tried: Tried, site: SiteReport) -> bool:
    """Whether steps for a transfer were priced in a unit."""
    return any(one.rests_on_sizes and _call_of(site, one) for one in tried.dropped)


def _stopped(one: StoppedAtCall, site: SiteReport) -> str:
    """What keeps the work behind a call where it is; the call may stand in a procedure of another
    file than that work."""
    why = one.why
    if one.path != one.call.place.path:
        why = with_places(why, lambda line: f"{one.path}:{line}")
    return f"{_called(one.call, site)}: {why}"


def _priced(one: Dropped, site: SiteReport) -> str:
    """A step that was tried in a caller, with what it would cost."""
    losses = losses_text(one.before, one.tried) or one.why
    call = _call_of(site, one)
    return f"{_called(call, site)}: not kept: {one.does}: {losses}"


def _inlined(dropped: Iterable[Dropped], site: SiteReport) -> Iterator[str]:
    """Why the procedure is not inlined although it could be."""
    for one in dropped:
        call = _call_of(site, one)
        if call is not None and call.place == one.place:
            why = next((w for w in WORTH if one.why.startswith(w)), one.why)
            yield f"{_called(call, site)}: inlined there, {why}"


def _call_of(site: SiteReport, one: Dropped) -> InlinedCall | None:
    """The call of the procedure of a transfer that was inlined with a step: the last one in front
    of the statement that the step is about."""
    calls = [call for call in one.calls if (call.path, call.unit) == (site.file, site.unit)]
    place = one.place
    ahead = [c for c in calls if c.place.path == place.path and c.place.line <= place.line]
    return max(ahead, key=lambda call: call.place.line, default=next(iter(calls), None))


def _is_own(place: SourceLine, site: SiteReport, own: range) -> bool:
    return place.path == site.file and place.line in own


def _called(call: InlinedCall | None, site: SiteReport) -> str:
    """Where the procedure is called: ``called in line 12``."""
    assert call is not None
    path, line = call.place.path, call.place.line
    return f"called in line {line}" if path == site.file else f"called in {path}:{line}"
