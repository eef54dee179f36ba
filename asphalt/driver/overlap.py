"""What becomes of files: the changes of all passes, one for each file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE, STAYS
from asphalt.analysis.conditions.site import TEXT
from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.analysis.names.generic_names import generic_names
from asphalt.analysis_manager.analyses import Analyses
from asphalt.analysis_manager.user_units import user_units
from asphalt.config.assumptions import PURE, of_kind
from asphalt.config.limits import USUAL_DEPTH
from asphalt.config.passes import Pass
from asphalt.diagnostics.change import Change, with_dependents
from asphalt.diagnostics.model import ProblemReport, ProcedureReport, SiteReport
from asphalt.driver.callers import at_calls, tried_at_calls
from asphalt.driver.configurations import without_conditionals
from asphalt.driver.final_forms import in_final_form
from asphalt.driver.given_lines import accepted_now, as_given, given_place
from asphalt.driver.known_outcomes import KnownOutcomes, text_since
from asphalt.driver.left_behind import left_behind
from asphalt.driver.overlap_reports import dropped_report, overlap_reports, procedure_report
from asphalt.driver.program_starts import own_report
from asphalt.driver.sites import Site
from asphalt.driver.transfers import nonblocking_operations
from asphalt.driver.units_ahead import Ahead, State, unit_of
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Judge
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.tree import leaves
from asphalt.optimiser.acceptance import Key, key_of
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.outcome import Optimised, Tried
from asphalt.optimiser.searched import Searched
from asphalt.support.garbage_collection import frozen_heap, rare_collections
from asphalt.unparse.params import HeaderEntry


@record
class Outcome:
    """The result for a tree: its changed files, and what was tried for each procedure with
    transfers between ranks.

    ``own``: the reports on operations that the program starts itself and that overlap with no more
    work.  ``tries``: what the optimiser tried for each unit.  ``notes``: one on each procedure that
    is not changed because nothing calls it any more.  ``composed``: the changes before each
    included file got its part of them; all other records name places in composed text, too.
    ``unwritten``: why sites (by file, line and operation) are left as they are although their
    procedure could be changed.  ``each``: the outcomes of several programs, of which this one is
    made.
    """

    changes: tuple[Change, ...]
    procedures: tuple[ProcedureReport, ...] = ()
    own: tuple[SiteReport, ...] = ()
    tries: Mapping[Key, Tried] = field(default_factory=dict)
    notes: tuple[ProblemReport, ...] = ()
    composed: tuple[Change, ...] = ()
    unwritten: Mapping[tuple[str, int, str], str] = field(default_factory=dict)
    each: tuple[Outcome, ...] = ()

    def told(self, site: SiteReport) -> SiteReport:
        """The report on a site; where its change is not written, with the reason."""
        why = self.unwritten.get((site.file, site.line, site.operation))
        if why is None or site.verdict not in ("proved", "assumed", "refused"):
            return site
        code = STAYS.id if site.verdict == "refused" else TEXT.id
        return replace(site, verdict="refused", code=code, message=why, ended=None)

    def without(self, reasons: Mapping[Path, str]) -> Outcome:
        """What is left if some files are not written, each for a reason."""
        if not reasons:
            return self
        reasons = with_dependents(self.changes, reasons)
        left = {
            (site.file, site.line, site.operation): reasons[change.path]
            for change in self.changes
            if change.path in reasons
            for site in change.sites
        }
        return replace(
            self,
            changes=tuple(one for one in self.changes if one.path not in reasons),
            composed=tuple(one for one in self.composed if one.path not in reasons),
            unwritten={**self.unwritten, **left},
            each=tuple(one.without(reasons) for one in self.each),
        )

    def tried(self, site: SiteReport) -> SiteReport:
        """The report on a transfer that is not changed, with what was tried for its procedure."""
        for one in self.procedures:
            if (one.file, one.unit) == (
                site.file,
                site.unit,
            ) and one.first <= site.line <= one.last:
                tries = tuple(self.tries.values())
                more = map(dropped_report, tried_at_calls(site, tries))
                if site.code == NOTHING_BESIDE.id and site.verdict == "refused":
                    told = at_calls(site, tries, range(one.first, one.last + 1))
                    site = replace(site, message="; ".join((site.message, *told)))
                return replace(site, dropped=(*one.dropped, *more), ended=one.ended)
        return site


DEFAULT_TILE = 0
DEFAULT_DEPTH = USUAL_DEPTH
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
_LEVELS = 4  # of calls, from a procedure with transfers upwards


Judges = Callable[[tuple[Change, ...]], Judge]
"""The judge of the steps of a unit, for the files as they have been changed so far."""


@record
class TileValues:
    """K and D of nests in tiles, each with the option, setting or directive that says so; None:
    none does."""

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


_USUAL = TileValues()

Watch = Callable[[str, int, int], None]
"""A listener to work in progress: it gets the piece, how many are done, and how many there are."""


def _unwatched(piece: str, done: int, total: int) -> None:
    """Nobody watches."""


@record
class Kept:
    """What is left as it is: some units, by file and name, and whole files."""

    units: frozenset[tuple[str, str]] = frozenset()
    files: frozenset[str] = frozenset()

    def keeps(self, path: str, unit: str) -> bool:
        """Whether a unit is left as it is."""
        return path in self.files or (path, unit) in self.units

    def keeps_site(self, site: Site) -> bool:
        """Whether an exchange is left as it is, where it is written and where it is called."""
        located = site.exchange.located
        written = self.keeps(site.report.file, site.report.unit)
        return written or self.keeps(located.path, located.unit.name)

    def __or__(self, other: Kept) -> Kept:
        return Kept(self.units | other.units, self.files | other.files)


NOTHING_KEPT = Kept()


@record
class OutcomeRequest:
    """What a program is to become.

    ``tile``: iterations a tile, 0: chosen on entry; ``depth``: tiles in flight.  A directive of the
    site takes precedence (not for a ``trial``); None: what the settings say, else the defaults.
    ``judges``: what decides which steps for transfers are kept; None: the usual model.
    ``in_place``: the changes replace the sources, so that nothing is proved again where other files
    change later.  ``watch``: called for each procedure before its transfers are optimised, with the
    number of those done and of all.  ``units``: file and name of the units whose transfers are
    optimised, with their callers; ``exchanges``: the names of the sites that are prepushed; None:
    all.  ``kept``: what is left as it is.
    """

    tile: int | None = None
    depth: int | None = None
    trial: bool = False
    judges: Judges | None = None
    in_place: bool = False
    watch: Watch | None = None
    units: Collection[tuple[str, str]] | None = None
    exchanges: Collection[str] | None = None
    kept: Kept = NOTHING_KEPT


@record
class OverlapRequest:
    """A request to optimise a tree.

    ``options``: for each unit.  ``values``: K and D of nests that are executed in tiles.
    ``judges``: what decides about steps; None: the cost model with the usual networks.  ``units``:
    file and name of the units that are asked about; None: all.  ``watch``: called for each unit
    before its turn.  ``jobs``: how many processes may work on units.  ``known``: what became of
    units of the tree, also under other assumptions, by the usual networks.  ``kept``: what is left
    as it is.  ``persistent``: messages of loops may have persistent requests.
    """

    options: Options
    values: TileValues = _USUAL
    judges: Judges | None = None
    units: Collection[tuple[str, str]] | None = None
    watch: Watch = _unwatched
    jobs: int = 1
    known: KnownOutcomes = field(default_factory=KnownOutcomes)
    kept: Kept = NOTHING_KEPT
    persistent: bool = False


def optimised(analyses: Analyses, changes: Sequence[Change], request: OverlapRequest) -> Outcome:
    """The changes with the transfers between two ranks optimised, in changed files and others.

    ``analyses``: of the tree as it was given.
    """
    analyses = analyses.under(request.options.accepted)
    if not request.options.passes:
        return Outcome(tuple(changes))
    with rare_collections(), frozen_heap():
        return _optimised(analyses, changes, request)


def _optimised(analyses: Analyses, changes: Sequence[Change], request: OverlapRequest) -> Outcome:
    pure = _called(of_kind(PURE, request.options.accepted), analyses.tree)
    procedures: list[ProcedureReport] = []
    own: dict[tuple[str, int, str], SiteReport] = {}
    tries: dict[Key, Tried] = {}
    by_path = {str(change.path): change for change in changes}
    left: dict[Key, ProblemReport] = {}
    needed: frozenset[Path] = frozenset()
    first, tree = analyses, analyses.tree
    now = tree.edited({path: change.after for path, change in by_path.items()}) if by_path else tree
    done: frozenset[Key] = frozenset()
    options = request.options
    places = _places(now, request)
    now = _without_conditionals(
        now, dict.fromkeys((*(path for path, _ in places), *_redefining(now)))
    )
    if now is not tree:
        analyses = analyses.followed_by(now)
    ahead = Ahead(places, 1 if request.judges is not None else request.jobs)
    contents = text_since(tree, now)
    searched = Searched(now) if request.judges is None else None
    with ExitStack() as at_the_end:
        at_the_end.callback(ahead.forget)
        for number, (path, chain) in enumerate(places):
            request.watch(f"{path}: {chain[-1] or 'main'}", number, len(places))
            located = unit_of(now, path, chain)
            if located is None or request.kept.keeps(path, chain[-1]):
                continue
            if (why := left_behind(located, first, analyses, left)) is not None:
                head = _lines(tree, path, chain)[0]
                left[path, chain] = ProblemReport(path, head, why, note=True)
                continue
            if TransferDirectives(located).all_skipped is not None:
                continue
            context = Context(
                model=None if request.judges is None else request.judges(tuple(by_path.values())),
                changed=done,
                given=partial(given_place, now=now, given=tree),
                analyses=analyses,
                searched=searched,
            )
            accepted = accepted_now(options.accepted, tree, now, by_path)
            own_options = replace(options, accepted=accepted)
            state = State(first, now, own_options, context, request.known, contents)
            found = ahead.found(number, located, state)
            if found is None:
                continue
            request.known.add(state.start((path, chain)), found)
            if not request.kept.files.isdisjoint(found.beside):
                continue
            procedures.append(procedure_report(found, _lines(tree, path, chain)))
            tries[path, chain] = Tried(
                found.dropped, found.whole, found.doubt, found.at_calls, found.sizes
            )
            for one in found.staying:
                place = one.place
                own.setdefault((place.path, place.line, one.operation), own_report(one, tree))
            if found.content is None:
                continue
            ahead.forget()
            done = done | {(path, chain)}
            given = as_given(found, now, tree)
            now = now.edited({**found.beside, path: found.content})
            searched = None if searched is None else Searched(now, searched)
            contents = text_since(tree, now)
            analyses = analyses.followed_by(now)
            for other, content in found.beside.items():
                text = tree.content(other)
                known = by_path.get(other, Change(Path(other), text, text, (), ()))
                by_path[other] = replace(known, after=content)
            needed |= set(map(Path, found.beside))  # later ones may rest on it, too
            before = tree.content(path)
            change = by_path.get(path, Change(Path(path), before, before, (), ()))
            by_path[path] = replace(
                change,
                after=found.content,
                sites=(*change.sites, *overlap_reports(given, tree, pure)),
                parameters=(*change.parameters, *request.values.parameters(given)),
                needs=change.needs | needed - {Path(path)},
            )
    units = (one for one in places if one in done)
    changed = in_final_form(analyses, tree, by_path.values(), units, persistent=request.persistent)
    notes = tuple(left.values())
    return Outcome(changed, tuple(procedures), tuple(own.values()), tries, notes)


def _redefining(tree: Tree) -> Iterator[str]:
    """The files in which macros stand for different things in different lines: procedures of theirs
    may be inlined elsewhere."""
    for entry in tree.files:
        names = _DEFINED.findall(tree.content(entry.path)) if entry.cpp else ()
        if (
            len(names) > len(set(names))
            and tree.preprocessed.conditionals(entry.path).several.names
        ):
            yield entry.path


def _without_conditionals(tree: Tree, paths: Iterable[str]) -> Tree:
    """The tree with these files as the preprocessor leaves them."""
    texts = {path: without_conditionals(tree, path) for path in paths}
    other = {path: text for path, text in texts.items() if text != tree.content(path)}
    return tree.edited(other) if other else tree


def _called(pure: Collection[str], tree: Tree) -> tuple[str, ...]:
    """The accepted assumptions about procedures that the program mentions: what is known of all of
    it may rest on them."""
    return tuple(f"{PURE.word}:{name}" for name in sorted(pure) if tree.mention_count(name))


def _places(tree: Tree, request: OverlapRequest) -> tuple[Key, ...]:
    """The units with transfers that have no errors in their messages.

    Where procedures may be inlined, or their calls may move or be left out, also the units that may
    call them, callers first.
    """
    options = request.options
    callers = any(map(options.asks_for, (Pass.INLINE, Pass.MOTION, Pass.REMOVAL)))
    found: dict[Key, None] = {}
    level = list(units_asked_about(tree, request.units))
    for _ in range(_LEVELS if callers else 1):
        here = {
            key_of(one): one
            for one in level
            if one.unit.kind != "module" and (one.path, one.unit.name) not in options.faulty
        }
        for key in here:  # a caller that has transfers of its own comes behind what it calls, too
            found.pop(key, None)
            found[key] = None
        level = [
            mention
            for one in here.values()
            if callers and one.unit.kind == "subroutine"
            for name in (one.unit.name, *generic_names(one))
            for mention in tree.mentions(name)
            if mention.unit.name and mention.unit.name != one.unit.name
        ]
    return tuple(reversed(found))


def units_asked_about(
    tree: Tree, units: Collection[tuple[str, str]] | None = None
) -> Iterator[Located]:
    """The units with transfers or collective operations; ``units``: only those of these files and
    names."""
    for located in user_units(tree, nonblocking_operations()):
        if units is None or (located.path, located.unit.name) in units:
            yield located


def _lines(given: Tree, path: str, chain: tuple[str, ...]) -> tuple[int, int]:
    """The first and the last line of a unit in the source as it was given."""
    unit = next(
        one.unit for one in given.units_of(path) if tuple(u.name for u in one.chain) == chain
    )
    return line_of(next(leaves(unit))), line_of(unit.end)
