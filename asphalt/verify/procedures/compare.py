"""Calls a procedure of the original and of transformed programs on random inputs, and compares.

The ranks run draw after draw in one job of mpiexec.  A draw is discarded if the original fails
with it: it stops, an MPI error or a fault ends it, or it writes outside its arguments.  A new job
continues with the next draw.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable as Function
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from asphalt.analysis.names.scopes import Origin
from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.project import Project
from asphalt.running.mpi import Mpi, rank_count
from asphalt.running.process import run
from asphalt.verify.causes import NOT_TILED
from asphalt.verify.compare import Difference
from asphalt.verify.procedures.build import Callable, Compiler, bindings
from asphalt.verify.procedures.draws import Fixed, names_of
from asphalt.verify.procedures.environment import environment_for
from asphalt.verify.procedures.interface import Interface
from asphalt.verify.procedures.roles import roles, size_names
from asphalt.verify.procedures.shared import shared_variables
from asphalt.verify.procedures.tally import Tally
from asphalt.verify.procedures.task import (
    CHECKED,
    ORIGINAL,
    First,
    Task,
    log_path,
    read_log,
)
from asphalt.verify.procedures.versions import Versions
from asphalt.verify.rows import ComparisonRow, ResultKind, kind_of

_CHECKS = ("-fcheck=bounds,do,mem", "-g")
_FIRST = re.compile(r"\s*([\w:.%]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_STARTING = 60.0  # seconds that a job may take besides its calls


@record
class ComparisonRequest:
    """A request to compare: a procedure of the file ``path``, calls before it, fixed values, draws.

    ``limit``: seconds for one call; ``keep``: keep the logs of the ranks.
    """

    procedure: str
    path: str | None
    first: tuple[str, ...] = ()
    fixed: tuple[Fixed, ...] = ()
    draws: int = 10
    seed: int = 1
    flags: tuple[str, ...] = ("-O2", "-g")
    limit: float = 30.0
    keep: bool = False


@record
class Compared:
    """The comparisons, remarks on them, and what could not be run.

    ``rows``: none if the transformed code is that of the original, as a remark says.
    """

    rows: tuple[ComparisonRow, ...]
    remarks: tuple[str, ...]
    failures: tuple[str, ...]


def compare(
    project: Project,
    wanted: ComparisonRequest,
    mpis: Sequence[Mpi],
    counts: Sequence[int],
    choices: Sequence[tuple[int, int | None]],
    work: Path,
    progress: Function[[str], None],
    advance: Function[[], None] = lambda: None,
) -> Compared:
    """Compare under each MPI, on each number of ranks, for each (K, D).

    ``progress`` is called with the name of each piece of work, ``advance`` after each number of
    ranks.  Raises ``UsageError`` and ``InputError`` for a procedure that cannot be called, and if
    nothing can be run.
    """
    calls = [_first(text) for text in wanted.first]
    versions = Versions.of(project, (wanted.procedure, *(name for name, _ in calls)), wanted.path)
    _check_fixed(versions.callables[0], wanted.fixed)
    if (why := versions.why_unchanged()) is not None:
        return Compared((), (why,), ())
    if not versions.may_tile:
        choices = choices[:1]  # K and D are of no meaning
    rows: list[ComparisonRow] = []
    remarks: list[str] = []
    failures: list[str] = []
    for mpi in mpis:
        folder = work / mpi.name
        folder.mkdir()
        job = _Job(versions, wanted, mpi, folder, progress)
        try:
            job.build(choices, [args for _, args in calls])
            for count in counts:
                rows += job.rows(count)
                advance()
        except UsageError as error:
            failures.append(f"{mpi}: {error}")
        remarks += job.remarks
    if not rows:
        raise UsageError("; ".join(failures))
    return Compared(tuple(rows), tuple(remarks), tuple(failures))


def _first(text: str) -> tuple[str, tuple[str, ...]]:
    """The procedure and the arguments of a call before all others."""
    match = _FIRST.fullmatch(text)
    if match is None:
        raise UsageError(f"--first {text}: write NAME(ARGUMENTS), e.g. --first 'setup(ranks)'")
    args = tuple(part.strip() for part in (match[2] or "").split(",") if part.strip())
    for arg in args:
        names_of(arg)
    return match[1], args


def _check_fixed(main: Callable, fixed: Sequence[Fixed]) -> None:
    interface = main.interface
    names = {dummy.name: dummy for dummy in interface.dummies}
    for one in fixed:
        dummy = names.get(one.name)
        if dummy is None:
            known = ", ".join(names)
            symbol = main.scope.lookup(one.name)
            if symbol is not None and symbol.origin in (Origin.MODULE, Origin.COMMON):
                raise UsageError(
                    f"--set {one.name}: a variable that is no argument of {interface}; call what "
                    "sets it before: --first 'NAME(ARGUMENTS)', which may be repeated"
                )
            raise UsageError(f"--set {one.name}: {interface} has no such argument; it has {known}")
        if dummy.rank and len(one.values) != dummy.rank:
            raise UsageError(f"--set {one.name}: {dummy} has {dummy.rank} dimensions")
        if not dummy.rank and (dummy.base not in ("integer", "handle") or len(one.values) > 1):
            raise UsageError(f"--set {one.name}: only integers and extents can be fixed")


def _no_draw(interface: Interface) -> str:
    """What to do if the original fails with every draw."""
    sizes = [one.name for one in interface.dummies if one.base == "integer" and not one.rank]
    fix = f"fix sizes with --set ({', '.join(sizes)}), or " if sizes else ""
    return (
        f"no draw could be used; {fix}call what sets the module variables that the procedure needs "
        "with --first 'NAME(ARGUMENTS)', which may be repeated"
    )


class _Job:
    """The libraries for one MPI, and the jobs that use them."""

    def __init__(
        self,
        versions: Versions,
        wanted: ComparisonRequest,
        mpi: Mpi,
        folder: Path,
        progress: Function[[str], None],
    ) -> None:
        self.versions, self.wanted, self.mpi, self.folder = versions, wanted, mpi, folder
        self.progress = progress
        self.remarks: list[str] = []
        self._choices: dict[str, tuple[int, int | None]] = {}
        self._failed: list[ComparisonRow] = []
        self._task: Task | None = None
        self._environment: Mapping[str, str] = {}

    def build(
        self, choices: Sequence[tuple[int, int | None]], first: Sequence[tuple[str, ...]]
    ) -> None:
        versions, folder, wanted = self.versions, self.folder, self.wanted
        compiler = Compiler(self.mpi, wanted.flags)
        common = bindings(folder, self.mpi)
        self._environment = environment_for(self.mpi, common)
        self.progress(f"{self.mpi}: building the original")
        original = versions.original(folder / "original", compiler)
        libraries = [(ORIGINAL, original)]
        for tile, depth in choices:
            name = f"K={tile} D={'default' if depth is None else depth}"
            self.progress(f"{self.mpi}: building the transformed program, {name}")
            target = folder / name.replace(" ", "-")
            try:
                libraries.append((name, versions.transformed(target, compiler, tile, depth)))
                self._choices[name] = (tile, depth)
            except UsageError as error:
                failure = Difference(str(error))
                self._failed.append(
                    ComparisonRow(
                        tile, depth, None, ResultKind.NOT_BUILT, failure, mpi=self.mpi.name
                    )
                )
        main = versions.callables[0]
        tree = versions.project.tree
        self._task = Task(
            interfaces=tuple(one.interface for one in versions.callables),
            bindings=common,
            checked=self._checked(compiler),
            versions=tuple(libraries),
            roles=roles(tree, versions.scopes, main.scope),
            sizes=size_names(main.scope),
            fixed=wanted.fixed,
            first=tuple(First(number, args) for number, args in enumerate(first, 1)),
            shared=shared_variables(tree, versions.scopes, versions.files, original),
            seed=wanted.seed,
            start=0,
            stop=0,
            limit=wanted.limit,
        )

    def _checked(self, compiler: Compiler) -> Path | None:
        """The original with gfortran's checks; None: another compiler."""
        self.progress(f"{self.mpi}: building the original with checks")
        checks = replace(compiler, flags=(*compiler.flags, "-O1", *_CHECKS))
        try:
            return self.versions.original(self.folder / CHECKED, checks)
        except UsageError:
            return None

    def rows(self, ranks: int) -> Iterator[ComparisonRow]:
        """The comparisons on a number of ranks; failed builds come once."""
        yield from self._failed
        self._failed = []
        if not self._choices:
            return
        tally = Tally(self.wanted.draws)
        start = 0
        while tally.wants_more:
            self.progress(f"{self.mpi}: {ranks} ranks, draw {start + 1}")
            start = self._run(ranks, start, tally)
        yield from self._results(ranks, tally)

    def _run(self, ranks: int, start: int, tally: Tally) -> int:
        """Run one job from draw ``start``; returns the draw to continue with."""
        assert self._task is not None
        many = tally.missing
        task = replace(self._task, start=start, stop=start + many)
        folder = self.folder / f"np{ranks}-{start}"
        folder.mkdir()
        task.write(folder / "task")
        module = "asphalt.verify.procedures.worker"
        words = [sys.executable, "-m", module, str(folder / "task"), str(folder)]
        command = [*self.mpi.command(ranks, words[0]), *words[1:]]
        seconds = _STARTING + self.wanted.limit * (1 + many * len(task.versions))
        outcome = run(command, folder, seconds, settings=self._environment)
        events = [list(read_log(log_path(folder, rank))) for rank in range(ranks)]
        tally.add(events, outcome, [CHECKED, *(label for label, _ in task.versions)], start)
        if self.wanted.keep:
            (folder / "stdout").write_bytes(outcome.stdout)
            (folder / "stderr").write_bytes(outcome.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        return tally.next

    def _results(self, ranks: int, tally: Tally) -> Iterator[ComparisonRow]:
        where = f"{self.mpi}, {rank_count(ranks)}"
        draws = "draw" if tally.compared == 1 else "draws"
        text = f"{where}: {tally.compared} {draws} compared"
        if tally.thrown:
            text += f", {len(tally.thrown)} discarded, the last since {tally.thrown[-1]}"
        self.remarks.append(text)
        if tally.compared == 0 and not tally.differences:
            interface = self.versions.callables[0].interface
            raise UsageError(f"{_no_draw(interface)}; last: {tally.last_reason}")
        for label, (tile, depth) in self._choices.items():
            difference = tally.differences.get(label)
            tiled = label in tally.tiled or not self.versions.may_tile
            kind = kind_of(difference, findings=False, tiled=tiled)
            notes = () if tiled or difference is not None else (NOT_TILED,)
            if difference is not None and tally.unstable:
                kind = ResultKind.UNSTABLE
                notes = (f"the original's own results change from call to call: {tally.unstable}",)
            yield ComparisonRow(
                tile, depth, ranks, kind, difference, notes, self.mpi.name, tiled=tiled
            )
