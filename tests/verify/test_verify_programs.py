"""``asphalt verify`` of whole programs: builds, files, MPIs, hangs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from asphalt.cli.main import main
from asphalt.config.errors import UsageError
from asphalt.running.mpi import MPIS
from asphalt.verify.call_lines import line_of_call
from asphalt.verify.compare import Likeness, file_difference, text_difference
from asphalt.verify.compiler_wrapper import Wrapper
from asphalt.verify.files import ComparedOutput, outputs
from asphalt.verify.setups import setups
from asphalt.verify.stacks import simulated_stacks, stacks_of
from support.cli_programs import MAIN, write_tree

needs_mpi = pytest.mark.skipif(
    shutil.which("mpif90") is None or shutil.which("mpirun") is None, reason="needs an MPI"
)
INSTALLED = [mpi for mpi in MPIS if not mpi.missing()]

# what only the transformed program does, which is how a fault is planted
WHERE_TRANSFORMED = """
  inquire(file='asphalt_core.f90', exist=there)
"""
WRITES = MAIN.replace("  real(8) :: total\n", "  real(8) :: total\n  logical :: there\n").replace(
    "  call MPI_Finalize(ierr)",
    WHERE_TRANSFORMED
    + """\
  if (me == 0) then
    open(10, file='same.txt')
    write(10, '(a)') 'same'
    close(10)
    open(10, file='times.txt')
    write(10, '(a, f12.9)') 'seconds ', merge(1.000000002d0, 1.0d0, there)
    close(10)
    open(10, file='part.0')
    write(10, '(a, i0)') 'value ', merge(2, 1, there)
    close(10)
  end if
  call MPI_Finalize(ierr)""",
)
EAGER = MAIN.replace("  real(8) :: total\n", "  real(8) :: total\n  logical :: there\n").replace(
    "  call MPI_Finalize(ierr)",
    WHERE_TRANSFORMED
    + """\
  if (there) call swap()
  call MPI_Finalize(ierr)
contains
  subroutine swap()
    integer :: give(2), got(2)
    give = me
    call MPI_Send(give, 2, MPI_INTEGER, 1 - me, 1, MPI_COMM_WORLD, ierr)
    call MPI_Recv(got, 2, MPI_INTEGER, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine swap""",
)
# knows nothing of the runtime
MAKEFILE = """\
FC = no-such-compiler
solver: transposes.o main.o
\t$(FC) -o $@ $^
%.o: %.f90
\t$(FC) -c $<
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same few sources are read again and again."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def here(
    tmp_path: Path,
    cache: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    write_tree(tmp_path / "src")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("tmp")))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verify(*arguments: str) -> int:
    tile = () if "--tile" in arguments else ("--tile", "2")
    return main(["verify", "--jobs", "1", "src", *tile, *arguments])


def script(text: str, *arguments: str, ranks: str = "1") -> int:
    """A program that is a shell script, to see what verify does with what it does."""
    run = f"sh -c '{text}'"
    return verify("--compile", "touch {exe}", "--run", run, "--np", ranks, *arguments)


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    rows = json.loads(capsys.readouterr().out)["runs"]
    assert isinstance(rows, list)
    return rows


# builds


@needs_mpi
def test_make_and_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program is found, a stale object is not used, files are compared each in its way."""
    (here / "src" / "main.f90").write_text(WRITES)
    (here / "src" / "Makefile").write_text(MAKEFILE)
    (here / "src" / "transposes.o").write_text("no object")
    files = ("--output", "same.txt", "--output", "times.txt:1e-6", "--output", "part.*")
    arguments = ("--build", "make FC={fc}", "--np", "2", *files, "--format", "json")
    assert verify(*arguments) == 1
    (row,) = told(capsys)
    assert row["difference"]["message"] == "part.0: line 1: 'value 1' became 'value 2'"
    assert not (here / "src" / "solver").exists()


@needs_mpi
def test_a_makefile_that_verify_cannot_reach(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "src" / "Makefile").write_text(MAKEFILE.replace("no-such-compiler", "mpif90"))
    assert verify("--build", "make", "--np", "1") == 1
    assert "asphalt_exchange.f90 in the build, or write {fc} in --build" in capsys.readouterr().out


def test_several_programs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(shutil.which("true") or "/bin/true", here / "src" / "old")
    fake = "cp old one; cp old two; if [ -e asphalt_core.f90 ]; then echo >> one; echo >> two; fi"
    build = f"sh -c '{fake}'"
    assert verify("--build", build, "--np", "1") == 2
    assert "made 2 programs (one, two); name one with --exe" in capsys.readouterr().err
    one = ("--run", "{exe}", "--np", "1")
    assert verify("--build", build, "--exe", "two", *one) == 0
    new = "cp old new; if [ -e asphalt_core.f90 ]; then echo >> new; fi"
    assert verify("--build", f"sh -c '{new}'", *one) == 0
    capsys.readouterr()
    assert verify("--build", "true", "--np", "1") == 2
    assert "made no program" in capsys.readouterr().err
    assert verify("--build", "false", "--np", "1") == 2
    told = "the original does not build: 'false' ended with status 1 without a message; give the "
    assert told in capsys.readouterr().err


def test_a_transformed_program_that_does_not_build(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first error is told, the log is kept, and the other versions are built."""
    message = "echo main.f90:7:3: error: nothing >&2; exit 1"
    build = f"sh -c 'if [ -e asphalt_core.f90 ]; then {message}; fi; touch {{exe}}'"
    assert verify("--build", build, "--run", "true", "--np", "1", "--tile", "2,3") == 1
    captured = capsys.readouterr()
    assert "does not build: main.f90:7:3: error: nothing (log" in captured.out
    logs = re.findall(r"log: (\S+)\)", captured.out)
    assert [Path(log).read_text() for log in logs] == ["main.f90:7:3: error: nothing\n"] * 2


def test_a_build_that_uses_other_sources(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same program twice would always be equal."""
    shutil.copy(shutil.which("true") or "/bin/true", here / "src" / "old")
    assert verify("--build", "cp old new", "--run", "{exe}", "--np", "1") == 1
    assert "does not use the transformed sources" in capsys.readouterr().out


def test_the_whole_tree(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands beside the sources is mirrored too; the commands run at its top."""
    (here / "input.txt").write_text("7\n")
    run = ("--run", "grep -q 7 input.txt", "--np", "1")
    assert verify("--tree", ".", "--build", "test -e src/main.f90", *run) == 0
    (here / "other").mkdir()
    assert verify("--tree", "other", "--build", "true", *run) == 2
    assert "lies outside --tree other" in capsys.readouterr().err
    assert verify("--keep", "src/new", "--build", "true", *run) == 2
    assert "--keep src/new: lies in src" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--set", "n=3"),
        ("--first", "setup(2)"),
        ("--draws", "10"),
        ("--seed", "1"),
    ],
)
def test_options_of_procedures_are_refused_for_programs(
    arguments: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(*arguments) == 2
    option = arguments[0].partition("=")[0]
    assert f"{option}: only for a procedure, FILE:PROCEDURE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--run", "a", "--run", "b"), "--run: given 2 times, takes one value"),
        (("--free", "--fixed"), "--free and --fixed: given 2 times"),
    ],
)
def test_nothing_that_is_given_twice_is_dropped(
    arguments: tuple[str, ...], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(*arguments) == 2
    assert words in capsys.readouterr().err
    assert main(["apply", "src", "-o", "out", "--tile", "2", "--tile", "3"]) == 2
    assert "--tile: given 2 times" in capsys.readouterr().err
    assert main(["simulate", "src", "--tile", "2", "--tile", "3"]) == 2
    assert "--tile: given 2 times" in capsys.readouterr().err


def test_lists_that_are_given_in_parts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--tile", "2", "--tile", "5,2", "--ranks", "1", "--np", "2", "--format", "json")
    assert verify("--compile", "touch {exe}", "--run", "true", *arguments) == 0
    rows = [(row["tile"], row["ranks"]) for row in told(capsys)]
    assert rows == [(2, 1), (2, 2), (5, 1), (5, 2)]


def test_the_name_of_no_mpi(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify("--build", "make MPI={mpi}") == 2
    assert "{mpi} stands for the MPI that --mpi names; give --mpi" in capsys.readouterr().err


def test_only_one_way_to_build(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify("--build", "make", "--compile", "cc") == 2
    assert "--build or --compile" in capsys.readouterr().err


def test_sources_are_compiled_one_by_one(tmp_path: Path) -> None:
    words = ["-O2", "a.f90", "-I", "b.f90", "c.F", "-o", "prog", "-lm"]
    first, second = str(tmp_path / "0-a.o"), str(tmp_path / "1-c.o")
    one_by_one = Wrapper("fc", ["m"], ["x.a"], one_by_one=True)
    assert one_by_one.commands(words, tmp_path) == [
        ["fc", "-O2", "-I", "b.f90", "-lm", "-Im", "-c", "a.f90", "-o", first],
        ["fc", "-O2", "-I", "b.f90", "-lm", "-Im", "-c", "c.F", "-o", second],
        ["fc", "-O2", first, "-I", "b.f90", second, "-o", "prog", "-lm", "x.a"],
    ]
    assert one_by_one.commands(["-c", "a.f90"], tmp_path) == [["fc", "-c", "a.f90", "-Im"]]
    assert one_by_one.commands(["a.f90"], tmp_path) == [["fc", "a.f90", "-Im", "x.a"]]
    assert Wrapper("fc").commands(words, tmp_path) == [["fc", *words]]
    assert one_by_one.commands(["-dumpversion"], tmp_path) == [["fc", "-dumpversion", "-Im"]]


# files


def test_every_run_finds_a_fresh_directory(here: Path) -> None:
    (here / "src" / "log").write_text("before\n")
    assert script("echo x >> log; wc -l < log", "--output", "log", ranks="1,2") == 0


def test_standard_input(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "in").write_text("7\n")
    text = "read n; [ $n = 7 ] || exit 3"
    assert script(text, "--stdin", "in") == 0
    assert script(text) == 2
    assert "the original ended with status" in capsys.readouterr().out
    assert script(text, "--stdin", "nothing") == 2


def test_a_file_that_is_missing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "[ -e asphalt_core.f90 ] || touch out.a; touch out.b"
    assert script(text, "--output", "out.*", "--format", "json") == 1
    assert told(capsys)[0]["difference"]["message"] == "out.a: only the original writes it"


def test_a_file_that_no_run_writes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was there before: nothing would be compared."""
    assert script("true", "--output", "run.sh") == 2
    assert "--output run.sh: no run wrote such a file" in capsys.readouterr().err


def test_a_program_of_which_nothing_is_seen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    silent = "only the exit status is compared: the program prints nothing, and no file is compared"
    assert script("touch out") == 0
    assert silent in capsys.readouterr().out
    assert script("touch out", "--output", "out") == 0
    assert silent not in capsys.readouterr().out


def test_ignored_lines_and_times_on_standard_output(here: Path) -> None:
    text = (
        "if [ -e asphalt_core.f90 ]; then echo took 1s; echo 2.0 b; "
        "else echo took 2s; echo 2.00001 b; fi"
    )
    assert script(text) == 1
    assert script(text, "--ignore", "^took") == 1
    assert script(text, "--ignore", "^took", "--output", "-:1e-4") == 0


def test_lines_in_any_order(here: Path) -> None:
    text = "if [ -e asphalt_core.f90 ]; then echo b; echo a; else echo a; echo b; fi"
    assert script(text) == 1
    assert script(text, "--any-order") == 0
    assert script(text + "; [ -e asphalt_core.f90 ] || echo a", "--any-order") == 1


def test_patterns_and_tolerances_of_files_below(here: Path) -> None:
    text = (
        "mkdir -p o/p; echo 1.0 > o/p/t.txt; echo 1.0 > o/x.txt; "
        "if [ -e asphalt_core.f90 ]; then echo 1.1 > o/p/t.txt; fi"
    )
    assert script(text, "--output", "o/**/t.txt:0.2", "--output", "o/*.txt") == 0
    assert script(text, "--output", "o/**/t.txt:0.01") == 1


def test_what_outputs_are() -> None:
    found = outputs(["a.dat", "t*.txt:1e-3", "x:y:", "12:00:00:1e-9", "-:0.5"], ["^#"])
    assert found.files == (
        ComparedOutput("a.dat"),
        ComparedOutput("t*.txt", 1e-3),
        ComparedOutput("x:y"),
        ComparedOutput("12:00:00", 1e-9),
    )
    assert found.standard.tolerance == 0.5
    for text in ("/etc/passwd", "../x", "a:-1", "a:nan", "a:inf", ":1", ":"):
        with pytest.raises(UsageError):
            outputs([text], [])
    with pytest.raises(
        UsageError, match=r"'abc' is not a tolerance; write e\.g\. FILE:1e-9.*'F:abc:' if"
    ):
        outputs(["F:abc"], [])
    with pytest.raises(UsageError, match="not a regular expression"):
        outputs([], ["("])


@pytest.mark.parametrize(
    ("old", "new", "tolerance", "equal"),
    [
        ("t= 1.0s", "t=   1.0s", 0.1, True),
        ("t= 1.0s x", "t=  1.01s x", 0.1, True),
        ("1.0 2", "1.0 3", 0.1, False),
        ("1.0", "1.2", 0.1, False),
        ("1.0D-05", "1.01E-05", 0.1, True),
        ("0.10-102", "0.11-102", 0.2, True),
        ("0.10-102", "0.10-103", 0.2, False),
        ("rank1 5", "rank2 5", 10.0, False),
        ("1 NaN", "1 0", 10.0, False),
        ("12:30:01", "12:30:02", 0.5, True),
        ("1.0\n2.0", "1.0", 10.0, False),
        ("1.0", "1.01", None, False),
    ],
)
def test_tolerance(old: str, new: str, tolerance: float | None, equal: bool) -> None:
    found = text_difference(old.encode(), new.encode(), Likeness(tolerance))
    assert (found is None) is equal


def test_binary_files() -> None:
    assert file_difference(b"\0a", b"\0a") is None
    assert file_difference(None, None) is None
    for old, new, words in (
        (b"\0ab", b"\0ac", "byte 3 of 3"),
        (b"\0", b"\0\0", "2 bytes instead of 1"),
        (None, b"", "only the transformed"),
    ):
        found = file_difference(old, new)
        assert found is not None
        assert words in found.message


# MPIs


@pytest.mark.parametrize("mpi", [mpi.name for mpi in MPIS])
def test_an_mpi_that_is_missing(
    mpi: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(here))
    assert verify("--mpi", mpi) == 2
    assert "apt-get install" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [(), ("--mpi", "all"), ("--compile", "mpif90 {sources}")])
def test_no_mpi_at_all(
    arguments: tuple[str, ...],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(here))
    assert verify(*arguments) == 2
    err = capsys.readouterr().err
    assert "apt-get install openmpi-bin" in err
    assert err.count("\n") == 1


def test_all_mpis_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for mpi in MPIS[:2]:
        for tool in (mpi.free, mpi.c, mpi.launcher):
            (tmp_path / tool).write_text("#!/bin/sh\n")
            (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found, notes = setups(["all"])
    assert [setup.name for setup in found] == ["openmpi", "mpich"]
    assert len(notes) == 1
    assert "apt-get install libsimgrid-dev" in notes[0]


@pytest.mark.skipif(not INSTALLED, reason="needs an MPI")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--build", "make"), "write {fc}"),
        (("--run", "mpirun -np {ranks} {exe}"), "write {launcher}"),
    ],
)
def test_commands_that_no_mpi_reaches(
    arguments: tuple[str, ...], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify("--mpi", INSTALLED[0].name, *arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.wide
@pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SMPI")
def test_a_simulated_deadlock(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """smpirun ends well where ranks wait for ever; it is a hang all the same, with stacks."""
    (here / "src" / "main.f90").write_text(EAGER)
    assert verify("--mpi", "smpi", "--np", "2", "--rendezvous", "--format", "json") == 1
    (row,) = told(capsys)
    assert "deadlock" in row["difference"]["message"]
    if shutil.which("gdb") is not None:
        assert row["stacks"][0]["ranks"] == [0, 1]
        assert row["stacks"][0]["frames"][:2] == ["mpi_send", f"swap ({line('MPI_Send')})"]


def line(text: str) -> str:
    number = next(i for i, one in enumerate(EAGER.splitlines(), 1) if text in one)
    return f"main.f90:{number}"


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SMPI")
def test_a_module_that_smpi_lacks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "src" / "main.f90").write_text(MAIN.replace("use mpi\n", "use mpi_f08\n", 1))
    assert verify("--mpi", "smpi", "--np", "2") == 2
    assert "SMPI has no module mpi_f08, which main.f90 uses" in capsys.readouterr().err


@pytest.mark.parametrize("mpi", INSTALLED, ids=str)
def test_a_launcher_that_starts_nothing(
    mpi: Any, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both versions would end alike, and neither has run."""
    run = ("--compile", "touch {exe} # {fc}", "--run", "{launcher} -np {ranks} ./nothing")
    assert verify("--mpi", mpi.name, *run, "--np", "1,2") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--run '{launcher} -np {ranks} ./nothing' starts no program: " in captured.err
    assert re.search(r"(Executable:|on file|Cannot read from) \./nothing", captured.err)


SWAPS = """\
program swaps
  use mpi
  implicit none
  integer :: me, ierr, give(2), got(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  give = me
  if (.true.) then
    call MPI_Send(give, 2, MPI_INTEGER, 1 - me, 1, MPI_COMM_WORLD, ierr)
    call MPI_Recv(got, 2, MPI_INTEGER, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end if
  call MPI_Finalize(ierr)
end program swaps
"""


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SMPI")
def test_a_program_without_exchanges_is_run_without_buffers(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is transformed; whether the program counts on buffered sends is seen all the same."""
    (here / "swaps").mkdir()
    (here / "swaps" / "swaps.f90").write_text(SWAPS)
    common = ["verify", "--jobs", "1", "swaps", "--mpi", "smpi", "--np", "2", "--rendezvous"]
    assert main([*common, "--format", "json"]) == 1
    (row,) = told(capsys)
    assert (row["tile"], row["kind"]) == (None, "original-hangs")
    message = row["difference"]["message"]
    assert message.endswith("without --rendezvous it ends: it relies on buffered sends")
    (here / "swaps" / "swaps.f90").write_text(SWAPS.replace(".true.", ".false."))
    assert main(common) == 0
    captured = capsys.readouterr()
    assert "ends" in captured.out
    assert "so only the original runs, without eager sends" in captured.err
    assert captured.err.endswith("the original alone: 1 ending well\n")


@pytest.mark.wide
@pytest.mark.parametrize("mpi", [mpi for mpi in INSTALLED if not mpi.simulated], ids=str)
def test_sends_that_count_on_buffers(
    mpi: Any, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "src" / "main.f90").write_text(EAGER)
    arguments = ("--mpi", mpi.name, "--np", "2", "--format", "json")
    assert verify(*arguments) == 0
    capsys.readouterr()
    assert verify(*arguments, "--rendezvous", "--timeout", "20") == 1
    (row,) = told(capsys)
    assert "hangs" in row["difference"]["message"]
    if shutil.which("gdb") is not None:
        assert row["stacks"] == [
            {
                "ranks": [0, 1],
                "frames": ["mpi_send", f"swap ({line('MPI_Send')})", f"MAIN ({line('call swap')})"],
            }
        ]


@pytest.mark.wide
@pytest.mark.skipif(len(INSTALLED) < 3, reason="needs all MPIs")
def test_all_mpis(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify("--mpi", "all", "--np", "1,3", "--rendezvous", "--format", "json") == 0
    rows = told(capsys)
    assert [row["mpi"] for row in rows] == [mpi.name for mpi in MPIS for _ in range(2)]


# what is left behind


def test_runs_are_kept_with_the_builds(here: Path) -> None:
    """What was compared and printed, and how to do it again."""
    text = "[ -e asphalt_core.f90 ] && echo 1 || echo 2; echo no >&2; mkdir o; echo 7 > o/x"
    assert script(text, "--output", "o/*", "--keep", "kept", ranks="1,2") == 1
    runs = here / "kept" / "runs"
    names = ["original-np1", "original-np1-again", "original-np2", "original-np2-again"]
    changed = ["transformed-K=2-D=default-np1", "transformed-K=2-D=default-np2"]
    assert sorted(path.name for path in runs.iterdir()) == [*names, *changed]
    for name, printed in ((names[0], b"2\n"), (changed[1], b"1\n")):
        run = runs / name
        assert (run / "stdout").read_bytes() == printed
        assert (run / "stderr").read_bytes() == b"no\n"
        assert (run / "files" / "o" / "x").read_bytes() == b"7\n"
        done = subprocess.run([run / "again"], cwd="/", capture_output=True, check=True)
        assert done.stdout == printed
        assert (run / "tree" / "o" / "x").read_bytes() == b"7\n"
    assert "# It ended with status 0." in (runs / names[0] / "again").read_text()


def _is_running(status: Path) -> bool:
    """Whether a process with this file in /proc is there, and no zombie."""
    try:
        return "(zombie)" not in status.read_text()
    except OSError:
        return False


def test_a_signal_leaves_nothing_behind(here: Path) -> None:
    """The temporary tree goes, and so does what runs."""
    started = here / "started"
    run = f"sh -c 'sleep 300 & echo $! >> {started}; wait'"
    words = ["verify", "src", "--compile", "touch {exe}", "--run", run, "--np", "1", "--tile", "2"]
    command = [sys.executable, "-m", "asphalt", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not started.exists() or not started.read_text().endswith("\n"):
        assert process.poll() is None
        time.sleep(0.05)
    (tree,) = Path(os.environ["TMPDIR"]).glob("asphalt-verify-*")
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "asphalt: ended by SIGTERM" in told
    assert "Traceback" not in told
    assert not tree.exists()
    status = Path(f"/proc/{started.read_text().strip()}/status")
    deadline = time.monotonic() + 120  # it is killed, and would sleep for 300 s; init may be slow
    while _is_running(status):
        assert time.monotonic() < deadline
        time.sleep(0.05)


# stacks


FINAL = """\
program final
  use mpi
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
  if (ierr /= 0) then
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end if
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
end program final
"""


def test_the_line_of_a_call_without_debug_information(tmp_path: Path) -> None:
    """gfortran: line 1 for MPI_Init and MPI_Finalize of Open MPI's module."""
    path = tmp_path / "final.f90"
    path.write_text(FINAL)
    assert line_of_call(path, 1, "mpi_finalize") == 10
    assert line_of_call(path, 1, "MPI_Init_f08") == 5
    assert line_of_call(path, 1, "mpi_barrier") is None
    assert line_of_call(path, 9, "mpi_finalize") == 9
    assert line_of_call(tmp_path / "none.f90", 1, "mpi_finalize") == 1


def test_stacks_have_the_line_of_the_call(tmp_path: Path) -> None:
    (tmp_path / "final.f90").write_text(FINAL)
    output = (
        'Thread 2 (Thread 0x7 (LWP 9) "final"):\n'
        "#0  0x01 in PMPI_Finalize () from /usr/lib/libmpi.so.40\n"
        "#1  0x02 in mpi_finalize_ () from /usr/lib/libmpi_mpifh.so.40\n"
        "#2  0x03 in MAIN__ () at final.f90:1\n"
    )
    (stack,) = simulated_stacks(output, tmp_path).found
    assert stack.frames == ("mpi_finalize", "MAIN (final.f90:10)")


@pytest.mark.skipif(
    shutil.which("gdb") is None or shutil.which("gfortran") is None, reason="needs gdb"
)
def test_where_a_process_stands(tmp_path: Path) -> None:
    (tmp_path / "main.f90").write_text(
        "module waits\ncontains\nsubroutine wait_here()\ndo\nend do\nend subroutine\n"
        "end module\nprogram main\nuse waits\ncall wait_here()\nend program\n"
    )
    subprocess.run(["gfortran", "-g", "main.f90", "-o", "main"], cwd=tmp_path, check=True)
    process = subprocess.Popen(
        [tmp_path / "main"], env={**os.environ, "PMI_RANK": "3"}, start_new_session=True
    )
    try:
        while _cpu_seconds(process) < 0.05:
            time.sleep(0.01)
        found = stacks_of(process.pid, tmp_path)
    finally:
        process.kill()
        process.wait()
    assert found.remark is None
    (stack,) = found.found
    assert stack.ranks == (3,)
    assert stack.frames == ("waits::wait_here (main.f90:4)", "MAIN (main.f90:10)")


def _cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def test_without_gdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = stacks_of(os.getpid(), tmp_path)
    assert found.found == ()
    assert "apt-get install gdb" in str(found.remark)


def test_simulated_ranks_are_threads(tmp_path: Path) -> None:
    (tmp_path / "main.f90").touch()
    output = (
        'Thread 3 (Thread 0x7 (LWP 9) "smpimain"):\n'
        "#0  __futex_wait (private=0) at ./nptl/futex-internal.c:57\n"
        "#1  0x01 in PMPI_Send () from /usr/lib/libsimgrid.so\n"
        "#2  0x02 in mpi_send_ () from /usr/lib/libsimgrid.so\n"
        "#3  0x03 in __work_MOD_swap (...) at main.f90_gWlc9oQcjx.f90:9\n"
        "#4  0x04 in user_main () at main.f90_gWlc9oQcjx.f90:20\n"
        "#5  0x05 in ?? () from /usr/lib/libsimgrid.so\n\n"
        'Thread 1 (Thread 0x7 (LWP 7) "smpimain"):\n'
        "#0  0x06 in smpi_main () from /usr/lib/libsimgrid.so\n"
    )
    (stack,) = simulated_stacks(output, tmp_path).found
    assert stack.ranks == (1,)
    assert stack.frames == ("mpi_send", "work::swap (main.f90:9)", "user_main (main.f90:20)")


@needs_mpi
def test_untiled_nests_are_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """K = 0 makes the original call for data as small as these."""
    compiled = ("--compile", "mpif90 {sources} -o {exe}", "--np", "2")
    assert verify(*compiled, "--tile", "0,2", "--format", "json") == 0
    assert [row["tiled"] for row in told(capsys)] == [False, True]
    assert verify(*compiled, "--tile", "0") == 0
    out = capsys.readouterr().out
    assert "equal, not tiled" in out
    assert "not tiled: the program made the original calls" in out
