"""Builds the original and its transformed versions, runs them, and compares their outputs.

Each version is mirrored into a directory of its own, and built there by the same command line.  All
versions run in fresh copies at one path, so that all that a program can see is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.config.passes import OF_TRANSFERS
from asphalt.diagnostics.change import Change
from asphalt.project import Project
from asphalt.running.launch import last_words, printed_last, refusal
from asphalt.running.mpi import rank_count
from asphalt.verify.builds import Built, Commands, build
from asphalt.verify.causes import NOT_TILED, NOTHING, causes
from asphalt.verify.compare import Difference
from asphalt.verify.files import Outputs
from asphalt.verify.findings import Finding, new_in
from asphalt.verify.race import watched
from asphalt.verify.records import RECORDS
from asphalt.verify.rows import ComparisonRow, ResultKind, kind_of
from asphalt.verify.runs import Result, difference_at, result_difference, run_built
from asphalt.verify.setups import Setup
from asphalt.verify.stacks import Stacks

_BUFFERED = "; without --rendezvous it ends: it relies on buffered sends"
_ALWAYS = "; without --rendezvous it hangs, too"
_SAME = (
    "the build makes the same program as for the original: it does not use the transformed "
    "sources; give it paths below the tree"
)
_NOT_COMPARED = (
    "so nothing is compared; run it as it can run, with --np, --run, --arguments or --stdin"
)
_WATCHED = "results differ if buffers of pending receives are poisoned, or by timing"


@dataclass(frozen=True, slots=True)
class ComparisonSetup:
    """The comparison under every setup: the program and its commands, numbers of ranks, (K, D).

    D None in a choice: the D of the settings.  ``keep``: keep the builds.  ``race``: repeat all
    runs with checks.
    """

    paths: tuple[Path, ...]
    commands: Commands
    outputs: Outputs
    ranks: tuple[int, ...]
    choices: tuple[tuple[int, int | None], ...]
    keep: bool
    race: bool = False


def check(
    project: Project,
    trial: ComparisonSetup,
    setup: Setup,
    work: Path,
    progress: Callable[[str], None],
    outputs_seen: set[str] | None = None,
) -> Iterator[ComparisonRow]:
    """Compare original and transformed programs for each (K, D) and each number of ranks.

    ``work``: an empty directory.  ``progress`` is called with the name of each piece of work.  The
    patterns of output files that a run wrote are added to ``outputs_seen``.  Raises ``UsageError``
    if the original does not build, or a command cannot be started.
    """
    return _Check(project, trial, setup, work, progress, outputs_seen).rows()


def alone(trial: ComparisonSetup, setup: Setup) -> bool:
    """Whether there are rows for the original alone."""
    watched_too = trial.race and not setup.simulated
    return watched_too or (setup.rendezvous and not trial.choices)


@dataclass(frozen=True, slots=True)
class _Watched:
    """The findings on the original with checks, and whether its output is that without."""

    findings: tuple[Finding, ...]
    same_output: bool


@dataclass(frozen=True, slots=True)
class _Compared:
    """The result of one comparison; ``run``: the run that it is based on."""

    kind: ResultKind
    difference: Difference | None
    notes: tuple[str, ...]
    run: Result


_ENDED = frozenset({ResultKind.EQUAL, ResultKind.NOT_TILED})
_UNCOMPARED = frozenset({ResultKind.ORIGINAL_FAILS, ResultKind.ORIGINAL_HANGS})


class _Check:
    """Caches the runs of the original: each is compared with many others."""

    def __init__(
        self,
        project: Project,
        trial: ComparisonSetup,
        setup: Setup,
        work: Path,
        progress: Callable[[str], None],
        outputs_seen: set[str] | None,
    ) -> None:
        self._project, self._trial, self._setup, self._work = project, trial, setup, work
        self._watch: Setup | None = None
        if trial.race and not setup.simulated:
            self._watch = watched(setup, trial.commands.run, work)
        self._own: dict[int, _Watched] = {}
        self._seen = set() if outputs_seen is None else outputs_seen
        self._prefix = "" if setup.name is None else f"{setup.name}: "
        self._progress = progress
        self._expected: dict[int, Result] = {}
        self._again: dict[int, Result] = {}
        self._failures: dict[int, tuple[ResultKind, Difference] | None] = {}

    def rows(self) -> Iterator[ComparisonRow]:
        self._say("building the original")
        original = self._build((), "original")
        if isinstance(original, str):
            raise UsageError(f"{self._prefix}the original does not build: {original}")
        if alone(self._trial, self._setup):
            for ranks in self._trial.ranks:
                if self._watch is None:
                    yield self._run_original(original, ranks)
                else:
                    yield self._watch_original(original, ranks, self._watch)
        for tile, depth in self._trial.choices:
            name = f"K={tile} D={'default' if depth is None else depth}"
            self._say(f"building the transformed program, {name}")
            changes = self._project.transform(tile, depth, trial=True)
            built = self._build(changes, f"transformed-{name.replace(' ', '-')}")
            if isinstance(built, str):
                failure = Difference(f"does not build: {built}")
                yield ComparisonRow(
                    tile, depth, None, ResultKind.NOT_BUILT, failure, mpi=self._setup.name
                )
                continue
            if built.digests and built.digests == original.digests:
                same = Difference(_SAME)
                yield ComparisonRow(
                    tile, depth, None, ResultKind.SAME_PROGRAM, same, mpi=self._setup.name
                )
                continue
            for ranks in self._trial.ranks:
                self._say(f"running {name} on {rank_count(ranks)}")
                compared = self._compare(original, built, ranks, changes)
                findings = compared.run.findings
                kind, difference = compared.kind, compared.difference
                if kind in _ENDED and self._watch is not None:
                    more, reordered = self._watch_transformed(built, name, ranks, self._watch)
                    findings += more
                    if reordered is not None:
                        kind, difference = ResultKind.UNSTABLE, reordered
                if findings and compared.kind in _ENDED:
                    kind = ResultKind.RACES
                yield ComparisonRow(
                    tile,
                    depth,
                    ranks,
                    kind,
                    difference,
                    (
                        *compared.notes,
                        *_remarks(compared.run.stacks),
                        *(
                            ()
                            if compared.run.tiled or compared.kind in _UNCOMPARED
                            else (NOT_TILED,)
                        ),
                    ),
                    self._setup.name,
                    tuple(finding.text for finding in findings),
                    compared.run.stacks.found,
                    compared.run.tiled,
                )
            if not _has_tiles(changes):
                break  # the program does not depend on K and D

    def _run_original(self, original: Built, ranks: int) -> ComparisonRow:
        """Whether the original ends if no send completes before its receive is posted."""
        self._say(f"running the original on {rank_count(ranks)}")
        run = self._expected_run(original, ranks)
        failed = self._failure(original, ranks)
        kind, found = (ResultKind.ENDS, None) if failed is None else failed
        stood, name = run.stacks, self._setup.name
        return ComparisonRow(
            None, None, ranks, kind, found, _remarks(stood), name, stacks=stood.found
        )

    def _watch_original(self, original: Built, ranks: int, watch: Setup) -> ComparisonRow:
        """Findings on the original alone.

        A run that the checks stopped replaces the run without checks, which may not end.
        """
        self._say(f"checking the original on {rank_count(ranks)}")
        run = self._run(original, ranks, watch, "-watched")
        kind, found = ResultKind.CLEAN, None
        if run.outcome.status != 0 and run.findings:
            self._expected[ranks] = run
        elif failed := self._failure(original, ranks):
            kind, found = failed
        else:
            found = result_difference(self._expected_run(original, ranks), run, self._trial.outputs)
            if found is not None and found.reordered:
                kind, found = ResultKind.UNSTABLE, _uncompared(found)
            elif found is not None:
                kind = ResultKind.RACES
                found = replace(found, message=f"{_WATCHED}: {found.message}")
        if run.findings:
            kind = ResultKind.RACES
        self._own[ranks] = _Watched(run.findings, found is None)
        texts = tuple(finding.text for finding in run.findings)
        notes = _remarks(run.stacks)
        name = self._setup.name
        return ComparisonRow(None, None, ranks, kind, found, notes, name, texts, run.stacks.found)

    def _watch_transformed(
        self, built: Built, name: str, ranks: int, watch: Setup
    ) -> tuple[tuple[Finding, ...], Difference | None]:
        """The findings on a transformed program that the original does not have; why its output
        could not be compared."""
        self._say(f"checking {name} on {rank_count(ranks)}")
        run = self._run(built, ranks, watch, "-watched")
        own = self._own[ranks]
        findings = new_in(run.findings, own.findings)
        found = result_difference(self._expected[ranks], run, self._trial.outputs)
        if found is None or not own.same_output:
            return findings, None
        if found.reordered:
            return findings, _uncompared(found)
        return (*findings, Finding(f"{_WATCHED}: {found.message}", _WATCHED)), None

    def _compare(
        self, original: Built, built: Built, ranks: int, changes: Sequence[Change]
    ) -> _Compared:
        """How a run differs from the original's, and possible causes."""
        expected = self._expected_run(original, ranks)
        failed = self._failure(original, ranks)
        if failed is not None:
            return _Compared(*failed, (), expected)
        run = self._run(built, ranks)
        if not _may_choose_original(changes):
            run = replace(run, tiled=True)  # the transformed code runs for all K and D
        found = result_difference(expected, run, self._trial.outputs)
        kind = kind_of(found, findings=False, tiled=run.tiled)
        if found is None or found.hang:
            silent = found is None and not expected.outcome.stdout.strip() and not expected.files
            return _Compared(kind, found, (NOTHING,) if silent else (), run)
        self._say(f"running the original on {rank_count(ranks)} once more")
        again = self._run_again(original, ranks)
        changed = difference_at(found.place, expected, again, self._trial.outputs)
        kind = kind if changed is None else ResultKind.UNSTABLE
        return _Compared(kind, found, tuple(causes(found, changed, changes)), run)

    def _run_again(self, original: Built, ranks: int) -> Result:
        """The second run of the original, cached."""
        if ranks not in self._again:
            self._again[ranks] = self._run(original, ranks, how="-again")
        return self._again[ranks]

    def _failure(self, original: Built, ranks: int) -> tuple[ResultKind, Difference] | None:
        """Why the original has no result on so many ranks; None: it has one.

        Raises ``UsageError`` if no program was started.
        """
        if ranks not in self._failures:
            self._failures[ranks] = self._failed(original, ranks)
        return self._failures[ranks]

    def _failed(self, original: Built, ranks: int) -> tuple[ResultKind, Difference] | None:
        outcome = self._expected_run(original, ranks).outcome
        if outcome.status == 0:
            return None
        stderr = outcome.stderr.decode("utf-8", "backslashreplace")
        if outcome.status is None:
            message = f"the original {outcome.hang}, so nothing is compared"
            if self._setup.eager is not None:
                self._say(f"running the original on {rank_count(ranks)} with eager sends")
                ends = self._run(original, ranks, self._setup.eager, "-eager").outcome.status == 0
                message += _BUFFERED if ends else _ALWAYS
            return ResultKind.ORIGINAL_HANGS, Difference(message, hang=True)
        if refused := refusal(outcome.status, stderr):
            command = self._trial.commands.run
            raise UsageError(f"{self._prefix}--run '{command}' starts no program: {refused}")
        printed = printed_last(outcome.stdout.decode("utf-8", "backslashreplace"))
        own = (f"it printed last: {printed}" if printed else "", last_words(stderr))
        words = "; ".join(filter(None, own))
        message = f"the original ended with status {outcome.status}"
        message += f" ({words})" if words else ""
        return ResultKind.ORIGINAL_FAILS, Difference(f"{message}, {_NOT_COMPARED}")

    def _build(self, changes: Sequence[Change], name: str) -> Built | str:
        trial = self._trial
        directory = self._work / name
        return build(trial.paths, changes, directory, trial.commands, self._setup, trial.keep)

    def _expected_run(self, original: Built, ranks: int) -> Result:
        """The run of the original that others are compared with, cached."""
        if ranks not in self._expected:
            self._expected[ranks] = self._run(original, ranks)
        return self._expected[ranks]

    def _run(self, built: Built, ranks: int, setup: Setup | None = None, how: str = "") -> Result:
        """One run; ``how``: a suffix for the name of its record."""
        trial = self._trial
        record = None
        if trial.keep:
            record = self._work / RECORDS / f"{built.directory.name}-np{ranks}{how}"
        setup = setup or self._setup
        result = run_built(built, ranks, trial.commands, setup, trial.outputs, self._work, record)
        self._seen |= result.written
        return result

    def _say(self, message: str) -> None:
        self._progress(self._prefix + message)


def _uncompared(found: Difference) -> Difference:
    """That output with checks could not be compared with that without."""
    return replace(found, message=f"not compared with the run with checks: {found.message}")


def _remarks(stacks: Stacks) -> tuple[str, ...]:
    return () if stacks.remark is None else (stacks.remark,)


def _has_tiles(changes: Sequence[Change]) -> bool:
    """Whether any transformed site has a K and a D."""
    return any(change.parameters for change in changes)


def _may_choose_original(changes: Sequence[Change]) -> bool:
    """Whether the program chooses at run time between tiles and the original calls.

    Exchanges do; transfers do not, not even those in tiles.
    """
    passes = [site.passes for change in changes for site in change.sites]
    return _has_tiles(changes) and not all(set(own) & set(OF_TRANSFERS) for own in passes)
