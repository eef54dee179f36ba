"""The watch of ``verify --race``: what it finds in faulty programs, and does not in others."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.errors import UsageError
from asphalt.config.resources import RACE, shipped
from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change
from asphalt.project import Project
from asphalt.running.mpi import MPICH, OPENMPI, SMPI, Mpi
from asphalt.running.process import CommandResult, run
from asphalt.verify.builds import Commands
from asphalt.verify.check import ComparisonSetup, check
from asphalt.verify.files import outputs
from asphalt.verify.findings import Finding, new_in
from asphalt.verify.race import build_library, watched
from asphalt.verify.race_log import findings_in
from asphalt.verify.rows import ComparisonRow
from asphalt.verify.runs import run_directory
from asphalt.verify.setups import DEFAULT, CannotError, setups
from bench.lab.build import build
from bench.lab.case import ROOT, Case, load_cases
from bench.lab.checks import Check
from support.cli_programs import write_tree
from support.mpi_run import RUNTIME

PROGRAMS = Path(__file__).parent / "race_programs"
BUILD = ROOT / "build" / "race"
REAL = (OPENMPI, MPICH)
BINDINGS = ("MPI_MODULE", "MPI_F08", "MPIF_H")
# stores that nothing reads afterwards are no fault of a compiled program
FLAGS = ("-g", "-O0", "-w", "-fallow-argument-mismatch")
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fault:
    """A faulty program: in how many ways, and by which calls; lines of the calls that are told."""

    name: str
    kinds: frozenset[str]
    lines: frozenset[int]


def fault(name: str, kinds: str, *lines: int) -> Fault:
    return Fault(name, frozenset(kinds.split()), frozenset(lines))


FAULTS = (
    fault("send_changed", "send-changed", 18),
    fault("receive_sent_on", "receive-read", 20),
    fault("receive_written", "receive-written", 18),
    fault("landing", "receive-written send-changed", 21, 22, 23, 24, 27),
    fault("never_completed", "never-completed", 17, 18),
    fault("receive_freed", "never-completed", 17),
    fault("overtaking_source", "overtaking", 16),
    fault("overtaking_named", "overtaking", 18),
    fault("overtaking_tag", "any-tag", 17),
    fault("overtaking_length", "overtaking", 17),
    fault("collective_calls", "collective-order", 13, 16),
    fault("collective_roots", "collective-order", 12),
    fault("collective_circle", "collective-order", 16, 19),
    fault("collective_pending", "send-changed receive-written", 17),
)
CLEAN = ("clean_messages", "clean_collectives")
EVERYWHERE = [(mpi, binding) for mpi in REAL for binding in BINDINGS]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The library of each MPI, by its name; built again when its sources change."""
    return {
        mpi.name: library(mpi, tmp_path_factory.mktemp(mpi.name))
        for mpi in REAL
        if not mpi.missing()
    }


def library(mpi: Mpi, folder: Path) -> Path:
    digest = hashlib.sha256()
    for source in sorted(shipped(RACE).iterdir()):
        digest.update(source.read_bytes())
    kept = BUILD / f"{mpi.name}-{digest.hexdigest()[:16]}.so"
    if not kept.exists():
        built = build_library(mpi.c, folder)
        BUILD.mkdir(parents=True, exist_ok=True)
        aside = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(built, aside)
        aside.replace(kept)
    # addresses in this file are not the program's
    return Path(shutil.copyfile(kept, folder / "libasphalt_race.so"))


def compiled(name: str, mpi: Mpi, binding: str, folder: Path) -> Path:
    if missing := mpi.missing():
        pytest.skip(f"not installed: {', '.join(missing)}")
    program = folder / name
    source = PROGRAMS / f"{name}.F90"
    command = [mpi.free, *FLAGS, f"-D{binding}", str(source), "-o", str(program)]
    outcome = run(command, folder, SECONDS)
    assert outcome.status == 0, outcome.stderr.decode()
    return program


def compiled_c(name: str, mpi: Mpi, folder: Path, *flags: str) -> Path:
    if missing := mpi.missing():
        pytest.skip(f"not installed: {', '.join(missing)}")
    program = folder / name
    command = [mpi.c, "-g", *flags, str(PROGRAMS / f"{name}.c"), "-o", str(program)]
    outcome = run(command, folder, SECONDS)
    assert outcome.status == 0, outcome.stderr.decode()
    return program


def watch(program: Path, mpi: Mpi, ranks: int, library: Path, log: Path) -> CommandResult:
    words = ("env", f"LD_PRELOAD={library}", f"ASPHALT_RACE_LOG={log}", str(program))
    return run([*mpi.command(ranks, words[0]), *words[1:]], program.parent, SECONDS)


def records(log: Path) -> list[dict[str, object]]:
    lines = [line for file in log.glob("rank.*") for line in file.read_text().splitlines()]
    return [record for record in map(json.loads, lines) if record["kind"] != "start"]


def find(name: str, mpi: Mpi, binding: str, libraries: dict[str, Path], folder: Path) -> None:
    """The faults of a program are found, where they are, and nothing else is."""
    expected = next(fault for fault in FAULTS if fault.name == name)
    program = compiled(name, mpi, binding, folder)
    log = folder / "log"
    outcome = watch(program, mpi, 3, libraries[mpi.name], log)
    assert outcome.status is not None
    found = records(log)
    assert {record["kind"] for record in found} == expected.kinds
    assert (outcome.status == 0) == ("collective-order" not in expected.kinds)
    texts = [finding.text for finding in findings_in(log)]
    # a rank that meets the fault ends the others, perhaps before they have told theirs
    told = {line for line in expected.lines if any(f"{name}.F90:{line})" in t for t in texts)}
    assert told == expected.lines or ("collective-order" in expected.kinds and told), texts
    assert all(f"{name}.F90:" in text for text in texts), texts


IN_WIDE = ("receive_freed", "overtaking_tag", "overtaking_length", "collective_roots")
QUICK = [
    (fault.name, *EVERYWHERE[i % len(EVERYWHERE)])
    for i, fault in enumerate(FAULTS)
    if fault.name not in IN_WIDE
]
REST = [
    (fault.name, mpi, binding)
    for fault in FAULTS
    for mpi, binding in EVERYWHERE
    if (fault.name, mpi, binding) not in QUICK
]


@pytest.mark.parametrize(("name", "mpi", "binding"), QUICK, ids=str)
def test_faults_are_found(
    name: str, mpi: Mpi, binding: str, libraries: dict[str, Path], tmp_path: Path
) -> None:
    find(name, mpi, binding, libraries, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize(("name", "mpi", "binding"), REST, ids=str)
def test_faults_are_found_everywhere(
    name: str, mpi: Mpi, binding: str, libraries: dict[str, Path], tmp_path: Path
) -> None:
    find(name, mpi, binding, libraries, tmp_path)


def leave_alone(
    name: str, mpi: Mpi, binding: str, ranks: int, libraries: dict[str, Path], folder: Path
) -> None:
    """A legal program prints what it prints without, and nothing is found."""
    program = compiled(name, mpi, binding, folder)
    plain = run(mpi.command(ranks, program), folder, SECONDS)
    assert plain.status == 0
    assert plain.stdout.strip()
    log = folder / "log"
    outcome = watch(program, mpi, ranks, libraries[mpi.name], log)
    assert (outcome.status, outcome.stdout) == (0, plain.stdout), outcome.stderr.decode()
    assert findings_in(log) == ()
    assert len(list(log.glob("rank.*"))) == ranks


@pytest.mark.parametrize(
    ("name", "mpi", "binding"),
    [("clean_messages", OPENMPI, "MPI_F08"), ("clean_collectives", MPICH, "MPI_MODULE")],
    ids=str,
)
def test_legal_programs_are_left_alone(
    name: str, mpi: Mpi, binding: str, libraries: dict[str, Path], tmp_path: Path
) -> None:
    leave_alone(name, mpi, binding, 3, libraries, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("mpi", REAL, ids=str)
@pytest.mark.parametrize("name", CLEAN)
def test_legal_programs_are_left_alone_everywhere(
    name: str, mpi: Mpi, binding: str, ranks: int, libraries: dict[str, Path], tmp_path: Path
) -> None:
    leave_alone(name, mpi, binding, ranks, libraries, tmp_path)


def runtime_program(
    name: str, mpi: Mpi, libraries: dict[str, Path], folder: Path
) -> tuple[CommandResult, Path]:
    """A watched run on two ranks of a program that calls the runtime, and its log."""
    if missing := mpi.missing():
        pytest.skip(f"not installed: {', '.join(missing)}")
    program = folder / name
    sources = (*map(str, RUNTIME), str(PROGRAMS / f"{name}.f90"))
    built = run([mpi.free, *FLAGS, *sources, "-o", str(program)], folder, SECONDS)
    assert built.status == 0, built.stderr.decode()
    log = folder / "log"
    return watch(program, mpi, 2, libraries[mpi.name], log), log


@pytest.mark.parametrize("mpi", REAL, ids=str)
def test_what_mpi_finalize_waits_for_is_completed(
    mpi: Mpi, libraries: dict[str, Path], tmp_path: Path
) -> None:
    outcome, log = runtime_program("leaves_copies", mpi, libraries, tmp_path)
    assert (outcome.status, outcome.stdout) == (0, b"0\n"), outcome.stderr.decode()
    assert findings_in(log) == ()


@pytest.mark.parametrize("mpi", REAL, ids=str)
def test_receives_that_blocked_are_in_order(
    mpi: Mpi, libraries: dict[str, Path], tmp_path: Path
) -> None:
    """As those of a program are that asphalt has overlapped: a random procedure was found so."""
    outcome, log = runtime_program("receives_in_order", mpi, libraries, tmp_path)
    assert (outcome.status, outcome.stdout) == (0, b"1 2 5\n"), outcome.stderr.decode()
    assert [record["kind"] for record in records(log)] == ["any-tag"]
    assert findings_in(log) == ()


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_a_read_of_a_pending_receive_is_seen_in_the_results(
    mpi: Mpi, libraries: dict[str, Path], tmp_path: Path
) -> None:
    program = compiled("receive_read", mpi, "MPI_MODULE", tmp_path)
    assert run(mpi.command(2, program), tmp_path, SECONDS).stdout == b"total  10.0\n"
    outcome = watch(program, mpi, 2, libraries[mpi.name], tmp_path / "log")
    assert outcome.stdout.split() == [b"total", b"NaN"]


@pytest.mark.parametrize("mpi", REAL, ids=str)
def test_calls_that_fail_complete_nothing(
    mpi: Mpi, libraries: dict[str, Path], tmp_path: Path
) -> None:
    program = compiled_c("failing_calls", mpi, tmp_path)
    plain = run(mpi.command(2, program), tmp_path, SECONDS)
    assert plain.stdout.startswith(b"sum 22, ")
    assert b", 0 calls failed" not in plain.stdout
    outcome = watch(program, mpi, 2, libraries[mpi.name], tmp_path / "log")
    assert (outcome.status, outcome.stdout) == (0, plain.stdout)
    assert findings_in(tmp_path / "log") == ()


@pytest.mark.parametrize("mpi", REAL, ids=str)
def test_threads_that_call_at_once_are_refused(
    mpi: Mpi, libraries: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled_c("threads", mpi, tmp_path, "-DLEVEL=MPI_THREAD_MULTIPLE")
    monkeypatch.setattr(
        "asphalt.verify.race.build_library", lambda compiler, work: libraries[mpi.name]
    )
    run_directory(tmp_path).mkdir()
    outcome = watch(program, mpi, 2, libraries[mpi.name], run_directory(tmp_path) / "asphalt-race")
    assert outcome.status != 0
    setup = setups([mpi.name])[0][0]
    findings = watched(setup, "{launcher} -np {ranks} {exe}", tmp_path).findings
    with pytest.raises(UsageError, match="--race cannot check this program: it asks for MPI_THREA"):
        findings(outcome, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", REAL, ids=str)
def test_one_thread_at_a_time_is_watched(
    mpi: Mpi, libraries: dict[str, Path], tmp_path: Path
) -> None:
    program = compiled_c("threads", mpi, tmp_path, "-DLEVEL=MPI_THREAD_SERIALIZED")
    outcome = watch(program, mpi, 2, libraries[mpi.name], tmp_path / "log")
    assert (outcome.status, outcome.stdout.split()) == (0, [b"runs", b"runs"])
    assert findings_in(tmp_path / "log") == ()


def watch_kernel(check: Check, library: Path, log: Path) -> None:
    """Nothing is found in a kernel, and it computes what it computes without."""
    program = build(check.recipe)
    plain = run(check.mpi.command(check.ranks, program), program.parent, SECONDS)
    outcome = watch(program, check.mpi, check.ranks, library, log)
    assert outcome.status == 0
    assert sorted(outcome.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    assert findings_in(log) == ()
    assert len(list(log.glob("rank.*"))) == check.ranks


CASES = {case.name: case for case in load_cases()}


@pytest.mark.parametrize("version", ["hand", "transformed"])
@pytest.mark.parametrize(
    "name",
    [
        "plane_slab",
        pytest.param("spectral_transpose", marks=pytest.mark.wide),
        pytest.param("uneven_slabs", marks=pytest.mark.wide),
    ],
)
def test_nothing_is_found_in_kernels(
    name: str, version: str, libraries: dict[str, Path], tmp_path: Path
) -> None:
    if MPICH.missing():
        pytest.skip("MPICH is not installed")
    case = CASES[name]
    tiling = case.tiling[1] if version == "transformed" else None  # built by other tests, too
    watch_kernel(Check(case, version, MPICH, 3, tiling), libraries[MPICH.name], tmp_path / "log")


@pytest.mark.wide
@pytest.mark.parametrize("mpi", REAL, ids=str)
@pytest.mark.parametrize("version", ["original", "hand", "transformed"])
@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_kernels_have_no_races(
    case: Case, version: str, mpi: Mpi, libraries: dict[str, Path], tmp_path: Path
) -> None:
    if mpi.missing():
        pytest.skip(f"{mpi} is not installed")
    if version == "transformed" and not case.transformable:
        pytest.skip("is not transformed")
    tiling = case.tiling[1] if case.tiling and version != "original" else None
    for ranks in case.ranks:
        check = Check(case, version, mpi, ranks, tiling)
        watch_kernel(check, libraries[mpi.name], tmp_path / str(ranks))


# verify


class Sabotaged(Project):
    """A project whose transformation clears the send buffer before the last wait."""

    def transform(
        self, tile: int = 0, depth: int | None = None, *, trial: bool = False
    ) -> tuple[Change, ...]:
        changes = super().transform(tile, depth, trial=trial)
        last_wait = b"if (.not. asphalt_x%finished("
        assert any(last_wait in change.after for change in changes)
        return tuple(
            replace(change, after=change.after.replace(last_wait, b"s = 0; " + last_wait))
            for change in changes
        )


def rows_of(project: Project, folder: Path, *, ranks: Sequence[int]) -> list[ComparisonRow]:
    source = folder / "src"
    line = "{fc} -O1 -g {sources} -o {exe}"
    commands = Commands(line, "{launcher} -np {ranks} {exe}", SECONDS, "./program")
    trial = ComparisonSetup(
        (source,), commands, outputs((), ()), tuple(ranks), ((4, 2),), keep=False, race=True
    )
    work = folder / "work"
    work.mkdir()
    setup = setups([OPENMPI.name])[0][0]
    return list(check(project, trial, setup, work, lambda message: None))


@pytest.mark.wide
@pytest.mark.skipif(bool(OPENMPI.missing()), reason="needs Open MPI")
def test_new_faults_are_reported_beside_the_programs_own(
    libraries: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = libraries[OPENMPI.name]
    monkeypatch.setattr("asphalt.verify.race.build_library", lambda compiler, work: built)
    write_tree(tmp_path / "src")
    main_file = tmp_path / "src" / "main.f90"
    text = main_file.read_text()
    own = (
        "  call MPI_Irecv(total, 1, MPI_DOUBLE_PRECISION, 0, 99, MPI_COMM_SELF, p, ierr)\n"
        "  call MPI_Finalize(ierr)\n"
    )
    main_file.write_text(text.replace("  call MPI_Finalize(ierr)\n", own))
    project = Sabotaged(tmp_path / "src", settings=Settings(cache=False, jobs=1))
    original, transformed = rows_of(project, tmp_path, ranks=[2])
    assert original.tile is None
    assert len(original.findings) == 1
    assert original.findings[0].startswith(
        "a request is never completed: MPI_Irecv in the main program (main.f90:"
    )
    assert transformed.difference is None  # such short messages are sent at once
    (broken,) = transformed.findings
    assert broken.startswith(
        "the buffer of a pending send is changed: MPI_Isend in transposes::transpose (transposes."
    )


@pytest.mark.wide
@pytest.mark.skipif(shutil.which("mpif90") is None, reason="needs an MPI")
def test_a_clean_program_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(tmp_path / "src")
    monkeypatch.chdir(tmp_path)
    arguments = ["verify", "--no-cache", "--jobs", "1", "src", "--race", "--np", "3", "--tile", "4"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.out.count("equal") == 1
    assert captured.out.count("clean") == 1
    assert "original" in captured.out
    assert captured.err.endswith("1 comparison, all equal; the original alone: 1 clean\n")


# Another order of lines under checks, as ranks that print make it by chance.
REORDERED = """\
program p
  use mpi
  implicit none
  integer :: ierr, length
  call MPI_Init(ierr)
  call get_environment_variable('ASPHALT_RACE_LOG', length=length)
  if (length == 0) print *, 'one'
  print *, 'two'
  if (length > 0) print *, {last}
  call MPI_Finalize(ierr)
end program p
"""


@pytest.mark.skipif(shutil.which("mpif90") is None, reason="needs an MPI")
@pytest.mark.parametrize(
    ("last", "result", "says"),
    [
        ("'one'", "unstable", "not compared with the run with checks: the same lines in another"),
        ("'three'", "races", "results differ if buffers of pending receives are poisoned"),
    ],
)
def test_lines_in_another_order_are_no_race(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    last: str,
    result: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.f90").write_text(REORDERED.format(last=last))
    arguments = ["verify", "--no-cache", "--jobs", "1", "p.f90", "--race", "--np", "1"]
    assert main([*arguments, "--format", "json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert row["kind"] == result
    assert row["difference"]["message"].startswith(says)


def test_simulated_ranks_are_not_watched(tmp_path: Path) -> None:
    setup = replace(DEFAULT, mpi=SMPI)
    with pytest.raises(CannotError, match="needs a real MPI"):
        watched(setup, "{launcher} {exe}", tmp_path)


def test_a_run_that_names_no_program_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"write \{exe\} for the program"):
        watched(DEFAULT, "make run", tmp_path)


def test_no_compiler_for_the_library(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-mpicc, which is not installed"):
        build_library("no-such-mpicc", tmp_path)


# the log


def test_findings_of_several_ranks_are_reported_once(tmp_path: Path) -> None:
    record = {
        "kind": "send-changed", "rank": 0, "number": 1, "call": "MPI_Isend", "buffer": "0x1",
        "bytes": 80, "peer": "1", "tag": "3", "communicator": "MPI_COMM_WORLD",
        "detail": "byte 8 of 80", "at": ["nowhere+0x10"], "during": "MPI_Wait",
        "seen": ["nowhere+0x20"],
    }  # fmt: skip
    (tmp_path / "rank.0").write_text(
        '{"kind":"start","rank":0,"ranks":2}\n' + json.dumps(record) + '\n{"kind":"send'
    )
    (tmp_path / "rank.1").write_text(json.dumps(record | {"rank": 1}) + "\n")
    (finding,) = findings_in(tmp_path)
    assert finding.text == (
        "the buffer of a pending send is changed: MPI_Isend in nowhere+0x10, seen by MPI_Wait in "
        "nowhere+0x20, ranks 0, 1: byte 8 of 80 (peer 1, tag 3, on MPI_COMM_WORLD, 80 bytes)"
    )


def test_a_withdrawn_finding_is_none(tmp_path: Path) -> None:
    record = {
        "kind": "overtaking", "rank": 0, "number": 1, "call": "MPI_Irecv", "buffer": "0x1",
        "bytes": 80, "peer": "1", "tag": "3", "communicator": "MPI_COMM_WORLD", "detail": "short",
        "at": ["nowhere+0x10"], "during": "MPI_Wait", "seen": ["nowhere+0x20"],
    }  # fmt: skip
    (tmp_path / "rank.0").write_text(
        f"{json.dumps(record)}\n" + '{"kind":"withdrawn","rank":0,"number":1}\n'
    )
    assert findings_in(tmp_path) == ()
    (tmp_path / "rank.1").write_text(json.dumps(record | {"rank": 1}) + "\n")  # its own number
    (finding,) = findings_in(tmp_path)
    assert "rank 1: short" in finding.text


def test_kin_is_not_new() -> None:
    mine, theirs = Finding("line 3", "a"), Finding("line 9", "a")
    assert new_in([theirs, Finding("other", "b")], [mine]) == (Finding("other", "b"),)
