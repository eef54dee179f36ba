"""Builds the original and its transformed versions and compares what they print and write.

Each version is mirrored into a directory of its own and built there by the same command line, and
runs in a fresh copy of that, so that names of files, and all else that a program can see, are the
same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from asphalt.errors import UsageError
from asphalt.project import Change, Project
from asphalt.verify.builds import Built, Commands, build
from asphalt.verify.compare import Difference
from asphalt.verify.files import Outputs, never_written
from asphalt.verify.findings import Finding, new_in
from asphalt.verify.race import NEEDS_REAL_MPI, watched
from asphalt.verify.rendezvous import prove_rendezvous
from asphalt.verify.runs import Result, result_difference, run_built
from asphalt.verify.setups import CannotError, Setup, require_places
from asphalt.verify.stacks import Stack, Stacks

_VECTOR = (
    "only last digits differ, and an innermost loop is tiled: the compiler vectorises it otherwise "
    "when its trip count changes; see whether all is equal with vectorisation switched off "
    "(gfortran: -fno-tree-vectorize)"
)
_EAGER = "; if it ends without --rendezvous, it counts on sends that MPI buffers"
_SAME = (
    "the build makes the very same program as of the original: it does not use the transformed "
    "sources; give it paths below the tree"
)
_WATCHED = "results differ where buffers of pending receives are poisoned, or by timing"
NOT_TILED = (
    "not tiled: the original calls were made; K = 0 does so for small data, any K where "
    "a condition that is asked for at run time does not hold"
)
_UNSTABLE = "the original's own output changes from run to run, at "
_NOTHING = (
    "the program prints nothing and no file is compared: nothing but its exit status is; name what "
    "it writes with --output"
)


@dataclass(frozen=True, slots=True)
class Trial:
    """What is compared under every setup: the program and its commands, numbers of ranks, (K, D).

    ``depth`` None in a choice: as the settings say.  ``keep``: the builds stay.  ``race``: all runs
    are repeated under watch.
    """

    paths: tuple[Path, ...]
    commands: Commands
    outputs: Outputs
    ranks: tuple[int, ...]
    choices: tuple[tuple[int, int | None], ...]
    keep: bool
    race: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison; ``depth`` None: as the settings say.  ``ranks`` None: a build.

    ``tile`` None: the original itself, watched and not.

    ``difference`` None: equal.  ``findings`` is what a setup found wrong with the transformed
    program's run, ``stacks`` where ranks stood that hung, ``mpi`` None the default, ``tiled``
    whether any exchange was: else the original calls were compared with themselves.
    """

    tile: int | None
    depth: int | None
    ranks: int | None
    difference: Difference | None
    notes: tuple[str, ...] = field(default=())
    mpi: str | None = None
    findings: tuple[str, ...] = field(default=())
    stacks: tuple[Stack, ...] = field(default=())
    tiled: bool | None = None

    @property
    def passed(self) -> bool:
        """Whether there is nothing wrong."""
        return self.difference is None and not self.findings


def check(
    project: Project,
    trial: Trial,
    setup: Setup,
    work: Path,
    progress: Callable[[str], None],
    outputs_seen: set[str] | None = None,
) -> Iterator[Row]:
    """Compare original and transformed programs for each (K, D) and each number of ranks.

    ``work`` is an empty directory.  ``progress`` is told what is being done.  The patterns of
    output files that a run wrote are added to ``outputs_seen``.  Raises ``UsageError`` if the
    original does not build, or a command cannot be started.
    """
    return _Check(project, trial, setup, work, progress, outputs_seen).rows()


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of all setups: comparisons, what could not be tried, what was left out on purpose.

    ``failures`` are mistakes that a user can mend; ``remarks`` what an MPI cannot do.
    """

    rows: tuple[Row, ...]
    failures: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def check_all(
    project: Project,
    trial: Trial,
    setups: Sequence[Setup],
    work: Path,
    progress: Callable[[str], None],
) -> Checked:
    """Compare under each setup, in directories of their own below ``work`` if they have names.

    What cannot be done under one of several setups is told, and the others are tried.  Raises
    ``UsageError`` if nothing can be tried at all.
    """
    rows: list[Row] = []
    failures: list[str] = []
    remarks: list[str] = []
    seen: set[str] = set()
    for setup in setups:
        folder = work if setup.name is None else work / setup.name
        folder.mkdir(exist_ok=True)
        try:
            require_places(setup, trial.commands.build, trial.commands.run)
            if setup.rendezvous:
                progress("trying whether sends wait")
                prove_rendezvous(setup)
            rows.extend(check(project, trial, setup, folder, progress, seen))
            if trial.race and setup.simulated:
                (remarks if setup.optional else failures).append(NEEDS_REAL_MPI)
        except CannotError as error:
            if not setup.optional:
                failures.append(str(error))
            else:
                remarks.append(f"{error}; {setup.name} is left out")
        except UsageError as error:
            failures.append(str(error))
    if not rows:
        raise UsageError("; ".join((*failures, *remarks)))
    failures += never_written(trial.outputs, seen)
    return Checked(tuple(rows), tuple(failures), tuple(remarks))


@dataclass(frozen=True, slots=True)
class _Watched:
    """What the watch found wrong with the original, and whether results were those without."""

    findings: tuple[Finding, ...]
    same_output: bool


class _Check:
    """The runs of the original are kept: each is compared with many."""

    def __init__(
        self,
        project: Project,
        trial: Trial,
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

    def rows(self) -> Iterator[Row]:
        self._say("building the original")
        original = self._build((), "original")
        if isinstance(original, str):
            raise UsageError(f"{self._prefix}the original does not build: {original}")
        if self._watch is not None:
            for ranks in self._trial.ranks:
                yield self._watch_original(original, ranks, self._watch)
        for tile, depth in self._trial.choices:
            name = f"K={tile} D={'default' if depth is None else depth}"
            self._say(f"building the transformed program, {name}")
            changes = self._project.transform(tile, depth, trial=True)
            built = self._build(changes, f"transformed-{name.replace(' ', '-')}")
            if isinstance(built, str) or (built.digests and built.digests == original.digests):
                why = f"does not build: {built}" if isinstance(built, str) else _SAME
                failure = Difference(why)
                yield Row(tile, depth, None, failure, mpi=self._setup.name)
                continue
            for ranks in self._trial.ranks:
                self._say(f"running {name} on {ranks} ranks")
                found, notes, run = self._compare(original, built, ranks, changes)
                findings = run.findings
                if found is None and self._watch is not None:
                    findings += self._watch_transformed(built, name, ranks, self._watch)
                yield Row(
                    tile,
                    depth,
                    ranks,
                    found,
                    (*notes, *_remarks(run.stacks), *(() if run.tiled else (NOT_TILED,))),
                    self._setup.name,
                    tuple(finding.text for finding in findings),
                    run.stacks.found,
                    run.tiled,
                )

    def _watch_original(self, original: Built, ranks: int, watch: Setup) -> Row:
        """What is wrong with the original by itself.

        A run that the watch stopped takes the place of one without, which may not end.
        """
        self._say(f"watching the original on {ranks} ranks")
        run = self._run(original, ranks, watch)
        found: Difference | None = None
        if run.outcome.status != 0 and run.findings:
            self._expected[ranks] = run
        else:
            expected = self._expected_run(original, ranks)
            found = _failure(expected, self._setup)
            if found is None:
                found = result_difference(expected, run, self._trial.outputs)
                found = found and replace(found, message=f"{_WATCHED}: {found.message}")
        self._own[ranks] = _Watched(run.findings, found is None)
        texts = tuple(finding.text for finding in run.findings)
        notes = _remarks(run.stacks)
        name = self._setup.name
        return Row(None, None, ranks, found, notes, name, texts, run.stacks.found)

    def _watch_transformed(
        self, built: Built, name: str, ranks: int, watch: Setup
    ) -> tuple[Finding, ...]:
        """What the watch finds wrong with a transformed program and not with the original."""
        self._say(f"watching {name} on {ranks} ranks")
        run = self._run(built, ranks, watch)
        own = self._own[ranks]
        findings = new_in(run.findings, own.findings)
        found = result_difference(self._expected[ranks], run, self._trial.outputs)
        if found is not None and own.same_output:
            findings += (Finding(f"{_WATCHED}: {found.message}", _WATCHED),)
        return findings

    def _compare(
        self, original: Built, built: Built, ranks: int, changes: Sequence[Change]
    ) -> tuple[Difference | None, tuple[str, ...], Result]:
        """How a run differs from the original's, what may lie behind it, and the run that tells."""
        expected = self._expected_run(original, ranks)
        failed = _failure(expected, self._setup)
        if failed is not None:
            return failed, (), expected
        run = self._run(built, ranks)
        found = result_difference(expected, run, self._trial.outputs)
        if found is None or found.hang:
            silent = found is None and not expected.outcome.stdout.strip() and not expected.files
            return found, (_NOTHING,) if silent else (), run
        self._say(f"running the original on {ranks} ranks once more")
        again = result_difference(expected, self._run(original, ranks), self._trial.outputs)
        return found, tuple(causes(found, again, changes)), run

    def _build(self, changes: Sequence[Change], name: str) -> Built | str:
        trial = self._trial
        directory = self._work / name
        return build(trial.paths, changes, directory, trial.commands, self._setup, trial.keep)

    def _expected_run(self, original: Built, ranks: int) -> Result:
        """The original's run that others are compared with."""
        if ranks not in self._expected:
            self._expected[ranks] = self._run(original, ranks)
        return self._expected[ranks]

    def _run(self, built: Built, ranks: int, setup: Setup | None = None) -> Result:
        trial = self._trial
        result = run_built(
            built, ranks, trial.commands, setup or self._setup, trial.outputs, self._work
        )
        self._seen |= result.written
        return result

    def _say(self, message: str) -> None:
        self._progress(self._prefix + message)


def causes(found: Difference, again: Difference | None, changes: Sequence[Change]) -> Iterator[str]:
    """What may lie behind a difference; ``again``: how a second run of the original differs."""
    if again is not None:
        yield _UNSTABLE + again.message
    evidence = (text for change in changes for site in change.sites for text in site.evidence)
    if found.last_digits and any("innermost" in text for text in evidence):
        yield _VECTOR


def _failure(original: Result, setup: Setup) -> Difference | None:
    """Why there is nothing to compare with."""
    outcome = original.outcome
    if outcome.status == 0:
        return None
    if outcome.status is None:
        message = f"the original {outcome.hang}: nothing is compared"
        advice = _EAGER if setup.rendezvous else ""
        return Difference(message + advice, hang=True)
    return Difference(f"the original ended with status {outcome.status}: nothing is compared")


def _remarks(stacks: Stacks) -> tuple[str, ...]:
    return () if stacks.remark is None else (stacks.remark,)
