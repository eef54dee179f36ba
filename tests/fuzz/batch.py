"""Many programs in one executable: original and transformed, built once and run on 1 to 4 ranks.

The main program of each case becomes a subroutine, without MPI_INIT and MPI_FINALIZE; all global
names of a case begin with its tag, so that cases do not meet.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from asphalt.config.backends import backends, offering_procedure
from asphalt.running.mpi import SMPI, Mpi
from asphalt.running.process import CommandResult, run
from asphalt.running.simgrid import Cluster, MessageCosts, command
from asphalt.unparse.header_entry import external_of
from asphalt.verify.findings import Finding
from asphalt.verify.race import build_library
from asphalt.verify.race_log import findings_in
from fuzz.oddities import ODDITIES
from fuzz.transformation import SUPPORT, Case
from support import build_store
from support.mpi_run import RUNTIME, RUNTIME_F08, compile_source, runtime_flags

HIDDEN = SUPPORT.with_name("hidden.f90")
_OWN = (HIDDEN, SUPPORT)
_COMMON = (*_OWN, *RUNTIME)
_LAZY = 4  # on so many ranks messages stay on their way as long as they can
RANKS = (1, 2, 3, 4)
_RUN_SECONDS = 30.0
_BUILD_SECONDS = 300.0
_LEAKS = {
    "smpi/send-is-detached-thresh": "0",
    "smpi/list-leaks": "20",
    "smpi/pedantic": "1",
}
# handles that every run of SMPI counts, or that the runtime keeps to the end, are none
_LEAKED = re.compile(r"\d+ leaked handles? of type (?:MPI_Request|MPI_Datatype)")
_STARTS = re.compile(r"^ *call mpi_(init|finalize)\(ierr\) *\n", re.IGNORECASE | re.MULTILINE)
_MAIN = """\
subroutine fz_mark(name)
  use mpi
  implicit none
  character(*), intent(in) :: name
  integer :: me, ierr
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  if (me == 0) print '(2a)', 'case ', name
end subroutine fz_mark

program fz_main
  use mpi
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
{calls}  call MPI_Finalize(ierr)
end program fz_main
"""


class BuildError(Exception):
    """Something does not compile or link; the compiler's words."""


@dataclass(frozen=True)
class Result:
    """What one run printed: lines by case; ``failure``: how it ended, if not well."""

    lines: dict[str, list[str]]
    failure: str = ""
    leaks: str = ""
    races: tuple[Finding, ...] = ()

    @property
    def last(self) -> frozenset[str]:
        """The tag of the case that was running at the end."""
        return frozenset(list(self.lines)[-1:])


Edits = tuple[tuple[str, str], ...]


def build(
    cases: Sequence[Case],
    after: bool,
    folder: Path,
    mpi: Mpi = SMPI,
    flags: Sequence[str] = (),
    runtime: Edits = (),
) -> Path:
    """The executable of all cases before or ``after`` the transformation.

    ``runtime``: what is replaced in the text of the run-time library.

    Raises:
        BuildError: with the compiler's words.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for name, fixed in (("cases.f90", False), ("legacy.f", True)):
        chosen = [case for case in cases if case.program.fixed is fixed]
        if chosen:
            texts[name] = "".join(as_subroutine(case, after) for case in chosen)
    calls = "".join(f"  call fz_mark('{c.tag}')\n  call {c.tag}\n" for c in cases)
    texts["main.f90"] = _MAIN.format(calls=calls)
    (folder / "asphalt_params.inc").write_text(header_of(cases))
    common = _common(mpi, tuple(flags), runtime)
    objects = _compiled(texts, folder, mpi, [*flags, f"-I{common}"])
    objects += [str(common / f"{path.stem}.o") for path in _common_sources(mpi)]
    _checked(run([mpi.free, *flags, *objects, "-o", "cases"], folder, _BUILD_SECONDS))
    return folder / "cases"


def header_of(cases: Sequence[Case]) -> str:
    """The header of several cases, which all of them include; it declares each backend once."""
    text = "".join(case.header for case in cases)
    named = [name for name in backends() if f"=> {offering_procedure(name)}" in text]
    return "".join(f"{external_of(name)}\n" for name in named) + text


def _compiled(
    texts: Mapping[str, str], folder: Path, mpi: Mpi, options: Sequence[str]
) -> list[str]:
    objects = []
    for name, text in texts.items():
        source = folder / name
        source.write_text(text)
        objects.append(f"{source.stem}.o")
        command_line = [mpi.compiler(source), "-c", "-fallow-argument-mismatch", *options]
        words = [*command_line, "-I.", name, "-o", objects[-1]]
        _checked(run(words, folder, _BUILD_SECONDS))
    return objects


@cache
def _common(mpi: Mpi, flags: tuple[str, ...], runtime: Edits) -> Path:
    """The folder with what all batches link, compiled once."""
    texts = {path.name: path.read_text() for path in _common_sources(mpi)}
    for before, instead in runtime:
        assert any(before in text for text in texts.values()), before
        texts = {name: text.replace(before, instead) for name, text in texts.items()}

    def make(folder: Path) -> None:
        if runtime:
            _compiled(texts, folder, mpi, flags)
            return
        for path in _common_sources(mpi)[len(_OWN) :]:
            assert compile_source(mpi, path, folder, runtime_flags(flags)).code == 0
        _compiled({path.name: texts[path.name] for path in _OWN}, folder, mpi, flags)

    return build_store.made(make, "fuzz", mpi.name, *flags, *texts.values())


def _common_sources(mpi: Mpi) -> tuple[Path, ...]:
    return _COMMON if mpi.simulated else (*_COMMON, *RUNTIME_F08)


def flags_for(cases: Sequence[Case], level: str) -> tuple[str, ...]:
    """The compiler's options: bounds are checked where no program leaves a dimension on purpose."""
    odd = [exchange.odd for case in cases for exchange in case.program.exchanges]
    checked = not any(ODDITIES[name].unchecked for name in odd)
    bounds = ["-fcheck=bounds"] if checked and level == "-O0" else []
    return (level, "-w", "-cpp", "-DFZ_OTHER", *bounds)


def as_subroutine(case: Case, after: bool) -> str:
    """The text with its main program as a subroutine."""
    text = _STARTS.sub("", case.after if after else case.source.text)
    return re.sub(
        rf"^( *)(end )?program {case.tag}$",
        rf"\1\2subroutine {case.tag}",
        text,
        flags=re.IGNORECASE | re.MULTILINE,
    )


def _checked(outcome: CommandResult) -> None:
    if outcome.status != 0:
        words = outcome.stderr.decode("utf-8", "replace") or "no end"
        raise BuildError(words)


def execute(program: Path, ranks: int, mpi: Mpi = SMPI) -> Result:
    """Run on ``ranks`` ranks.

    SMPI: every send waits for its receive, and leaks are listed; others: races are looked for.
    """
    log = program.parent / "races"
    if mpi.simulated:
        platform = program.parent / "cluster.xml"
        platform.write_text(Cluster().xml())
        # computation takes no simulated time: only where MPI_TEST takes long, once an iteration, is
        # a message on its way gone, or there, before the next iteration changes what it holds
        costs = MessageCosts(test=1e-7 if ranks == _LAZY else 1e-3)
        words = command(ranks, program, platform, costs, _LEAKS)
        words.insert(-1, "--log=smpi_utils.thresh:info")
    else:
        shutil.rmtree(log, ignore_errors=True)
        watch = [f"LD_PRELOAD={_watch(mpi)}", f"ASPHALT_RACE_LOG={log}"]
        log.mkdir()
        *launch, name = mpi.command(ranks, program)
        words = [*launch, "env", *watch, name]
    outcome = run(words, program.parent, _RUN_SECONDS)
    errors = outcome.stderr.decode("utf-8", "replace")
    failure = ""
    if outcome.status is None:
        failure = f"no end after {_RUN_SECONDS:g} s"
    elif outcome.status != 0:
        failure = f"exit code {outcome.status}: {errors[-2000:]}"
    elif "Deadlock detected" in errors:  # with exit code 0
        failure = "no end: all ranks wait"
    leaks = "\n".join(_LEAKED.findall(errors))
    races = () if mpi.simulated else findings_in(log)
    return Result(_by_case(outcome.stdout.decode("utf-8", "replace")), failure, leaks, races)


@cache
def _watch(mpi: Mpi) -> Path:
    """The library that watches memory, requests and order, built once."""

    def make(folder: Path) -> None:
        build_library(mpi.c, folder)

    (library,) = build_store.made(make, "race", mpi.name).iterdir()
    return library


def _by_case(output: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in output.splitlines():
        if line.startswith("case "):
            current = found.setdefault(line.removeprefix("case ").strip(), [])
        else:
            current.append(line)
    return found
