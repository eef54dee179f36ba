"""Running commands of the user, and telling where two runs differ."""

import os
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from asphalt.cli.progress import Progress
from asphalt.cli.verify import verify
from asphalt.config.errors import UsageError
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import SiteReport
from asphalt.report.verified import verified_summary
from asphalt.running.diagnostics import essence
from asphalt.running.launch import last_words, refusal
from asphalt.running.process import CommandResult, fill, run
from asphalt.verify.builds import BUILD_PLACES, RUN_PLACES, Commands
from asphalt.verify.causes import causes
from asphalt.verify.compare import EXACT, Difference, difference
from asphalt.verify.files import ComparedOutput, Outputs, WrittenFile
from asphalt.verify.rows import ComparisonRow, ResultKind
from asphalt.verify.runs import Result, difference_at, result_difference


def printed(text: str, status: int | None = 0, errors: str = "") -> CommandResult:
    return CommandResult(status, text.encode(), errors.encode())


# command lines


def test_places_are_filled() -> None:
    values = {"sources": ["a.f90", "b c.f90"], "exe": "./x"}
    assert fill("mpif90 -O2 {sources} -o {exe}", values) == [
        "mpif90", "-O2", "a.f90", "b c.f90", "-o", "./x"
    ]  # fmt: skip
    assert fill("make 'EXE={exe}' \"S={sources}\"", values) == [
        "make", "EXE=./x", "S=a.f90 b c.f90"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("template", "message"),
    [("cc {source}", "is not a placeholder"), ("cc 'a", "No closing quotation"), (" ", "empty")],
)
def test_bad_templates(template: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fill(template, {"sources": [], "exe": "x"})


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_value_stays_one_word(value: str) -> None:
    """Names with spaces, quotes or braces are no syntax."""
    assert fill("run {exe} -x={exe}", {"exe": value}) == ["run", value, f"-x={value}"]


@pytest.mark.parametrize("name", ["launcher", "foo", ""])
def test_places_that_a_build_does_not_have(name: str) -> None:
    with pytest.raises(UsageError, match=r"use \{fc\} \{f77\} \{cc\} \{mpi\} \{sources\} \{exe\}$"):
        Commands(f"make {{{name}}}", "{launcher} {exe}", 1.0)


def test_help_names_all_places_of_the_commands() -> None:
    """What a wrong place is told is what --help tells."""
    said = CliRunner().invoke(verify, ["--help"], terminal_width=1000).output
    for option, places in (("--build", BUILD_PLACES), ("--run", RUN_PLACES)):
        (line,) = (line for line in said.splitlines() if line.strip().startswith(f"{option} "))
        words = line.replace("[default: {launcher} -np {ranks} {exe}]", "")
        assert re.findall(r"\{(\w+)\}", words.replace("'make FC={fc}'", "")) == list(places)


# running


def test_a_run_gives_output_and_status(tmp_path: Path) -> None:
    program = "import sys, os; print(os.getcwd()); print('e', file=sys.stderr); sys.exit(3)"
    assert run([sys.executable, "-c", program], tmp_path, 60) == CommandResult(
        3, f"{tmp_path}\n".encode(), b"e\n"
    )


def test_the_environment_is_only_the_commands(tmp_path: Path) -> None:
    program = "import os; print(os.environ['OMPI_MCA_rmaps_base_oversubscribe'])"
    before = dict(os.environ)
    assert run([sys.executable, "-c", program], tmp_path, 60).stdout == b"1\n"
    assert dict(os.environ) == before


def test_what_hangs_is_stopped_with_all_it_started(tmp_path: Path) -> None:
    """A launcher's children in process groups of their own are stopped too."""
    program = (
        "import os, signal, sys\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.setpgid(0, 0)\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"  # in one piece, beside the other's
        "signal.pause()\n"
    )
    outcome = run([sys.executable, "-c", program], tmp_path, 10)
    assert outcome.status is None
    pids = [int(word) for word in outcome.stdout.split()]
    assert len(pids) == 2
    assert not any(_runs(pid) for pid in pids)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_cannot_be_started_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be started"):
        run(["./no-such-program"], tmp_path, 60)


# comparing


def test_equal_runs() -> None:
    assert difference(printed("a\n"), printed("a\n", errors="noise")) is None


def test_the_first_differing_line_is_told() -> None:
    found = difference(printed("a\nb 1\nc\n"), printed("a\nb 2\nd\n"))
    assert found is not None
    assert found.message == "line 2: 'b 1' became 'b 2'"
    assert not found.last_digits


@pytest.mark.parametrize(
    ("old", "new", "last_digits"),
    [
        ("x 1.2345678901", "x 1.2345678902", True),
        ("x 1.23D-05 2", "x 1.2300001D-05 2", True),
        ("x 1.0", "y 1.0", False),
        ("x 1.0", "x 1.1", False),
        ("x 1.0", "x NaN", False),
        ("x 1.0\nx 2.0", "x 1.0000001\nx 3.0", False),
    ],
)
def test_last_digits(old: str, new: str, last_digits: bool) -> None:
    found = difference(printed(old), printed(new))
    assert found is not None
    assert found.last_digits is last_digits


def test_missing_and_surplus_lines() -> None:
    missing = difference(printed("a\nb\n"), printed("a\n"))
    assert missing is not None
    assert missing.message == "line 2: 'b' became ''"
    cut = difference(printed("a\nb"), printed("a"))
    assert cut is not None
    assert cut.message == "line 2: 'b' is missing"
    surplus = difference(printed("a"), printed("a\nb"))
    assert surplus is not None
    assert surplus.message == "line 2: 'b' is new"


def test_another_order_is_named() -> None:
    found = difference(printed("rank 0\nrank 1\n"), printed("rank 1\nrank 0\n"))
    assert found is not None
    assert "another order" in found.message


def test_hangs_and_statuses() -> None:
    hang = difference(printed("a"), printed("a", None))
    assert hang is not None
    assert "hangs" in hang.message
    slow = difference(printed("", None), printed(""))
    assert slow is not None
    assert "original" in slow.message
    crash = difference(printed(""), printed("", 139, "one\nsegmentation fault\n-----\n"))
    assert crash is not None
    assert crash.message == "exit status 139 instead of 0: segmentation fault"
    assert difference(printed("", 2), printed("", 2)) is None


# what launchers say

OPENMPI_REFUSES = """\
--------------------------------------------------------------------------
mpirun.openmpi was unable to launch the specified application as it could not access
or execute an executable:

Executable: ./nothing
Node: here

while attempting to start process rank 0.
--------------------------------------------------------------------------
"""
OPENMPI_AFTER = """\
STOP 3
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun.openmpi detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:
--------------------------------------------------------------------------
"""
MPICH_REFUSES = """\
[proxy:0:0@here] HYDU_create_process (x.c:7): execvp error on file ./x (No such file or directory)
"""
SMPI_REFUSES = """\
[n0:0:(1) 0.000000] ./src/smpi_global.cpp:341: [root/CRITICAL] Cannot read from ./x. Please make sure
"""  # noqa: E501


@pytest.mark.parametrize(
    ("status", "told", "words"),
    [
        (132, OPENMPI_REFUSES, "or execute an executable: Executable: ./nothing Node: here while"),
        (1, 'mpirun.openmpi: Error: unknown option "--x"\nType', 'Error: unknown option "--x"'),
        (255, MPICH_REFUSES, "execvp error on file ./x"),
        (134, SMPI_REFUSES, "Cannot read from ./x. Please make sure"),
        (127, "env: './x': No such file or directory\n" + OPENMPI_AFTER, "env: './x': No such"),
        (1, "env: './x': No such file or directory\n", None),
        (3, OPENMPI_AFTER, None),
        (1, "myprog: unknown option -x", None),
        (0, OPENMPI_REFUSES, None),
    ],
)
def test_what_launchers_that_start_nothing_say(status: int, told: str, words: str | None) -> None:
    found = refusal(status, told)
    assert (found is None) is (words is None)
    assert words is None or words in str(found)


def test_last_words_are_the_programs() -> None:
    assert last_words(OPENMPI_AFTER) == "STOP 3"
    runtime = "At line 5 of file x.f90\nFortran runtime error: no file\n\nError termination.\n"
    assert last_words(runtime) == "Fortran runtime error: no file"
    assert last_words(OPENMPI_AFTER.partition("\n")[2]).startswith("Primary job")
    assert last_words("") == ""


# what it comes to


def row(kind: ResultKind, tile: int | None = 2) -> ComparisonRow:
    return ComparisonRow(tile, None, 1, kind)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row(ResultKind.EQUAL)], "1 comparison, all equal"),
        (
            [row(ResultKind.EQUAL), row(ResultKind.NOT_TILED)],
            "2 comparisons, all equal, 1 not tiled",
        ),
        ([row(ResultKind.NOT_TILED)] * 2, "2 comparisons, all equal, none tiled"),
        (
            [
                row(ResultKind.EQUAL),
                row(ResultKind.DIFFERS),
                row(ResultKind.HANGS),
                row(ResultKind.ORIGINAL_HANGS),
            ],
            "3 comparisons: 1 equal, 1 different, 1 hanging; "
            "not compared: 1 where the original hangs",
        ),
        (
            [
                row(ResultKind.NOT_BUILT),
                row(ResultKind.UNSTABLE),
                row(ResultKind.RACES, None),
                row(ResultKind.CLEAN, None),
            ],
            "not compared: 1 where the original's own output changes, 1 not built; "
            "the original alone: 1 with a race, 1 clean",
        ),
    ],
)
def test_what_was_not_compared_is_no_difference(rows: list[ComparisonRow], words: str) -> None:
    assert verified_summary(rows) == words


def test_files_differ_where_only_times_change() -> None:
    """The original's second run counts only at the place where a difference was found."""
    outputs = Outputs((ComparedOutput("a"),))

    def result(stdout: str, file: str, status: int = 0) -> Result:
        return Result(printed(stdout, status), {"a": WrittenFile(file.encode(), EXACT)})

    first, again = result("took 1 s", "x 1"), result("took 2 s", "x 1")
    other = result("took 1 s", "x 2")
    found = result_difference(first, other, outputs)
    assert found is not None
    assert found.place == "a"
    assert difference_at(found.place, first, again, outputs) is None
    assert difference_at("-", first, again, outputs) is not None
    assert difference_at(None, first, again, outputs) is None
    assert difference_at("a", first, result("took 1 s", "x 1", 1), outputs) is not None


# progress


def test_progress_in_a_file_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    with Progress("verifying", 9, lambda: now) as progress:
        for step in range(6):
            progress.say(f"step {step}")
            progress.advance()
            now += 8.0
    assert capsys.readouterr() == ("", "asphalt: verifying, 3 of 9 done: step 3\n")


# causes


def change(*evidence: str) -> Change:
    site = SiteReport("a", "a.f90", 1, "MPI_Alltoall", "a", "applied", evidence=evidence)
    return Change(Path("a.f90"), b"", b"", (site,), ())


INNERMOST = "an innermost loop is tiled"


@pytest.mark.parametrize(
    ("found", "again", "evidence", "words"),
    [
        (Difference("line 1", True), None, INNERMOST, ["vectoris"]),
        (Difference("line 1", True), None, "a loop is tiled", []),
        (Difference("line 1", False), None, INNERMOST, []),
        (Difference("line 1", False), Difference("line 3"), INNERMOST, ["from run to run"]),
    ],
)
def test_causes(
    found: Difference, again: Difference | None, evidence: str, words: list[str]
) -> None:
    told = tuple(causes(found, again, [change(evidence)]))
    assert len(told) == len(words)
    assert all(word in text for word, text in zip(words, told, strict=True))


def test_what_the_compiler_says_is_one_line() -> None:
    output = (
        "main.f90:5:6:\n\n    5 |   total = nothing\n      |      1\n"
        "Error: Symbol 'nothing' at (1) has no IMPLICIT type\n"
    )
    assert essence(output) == ("main.f90:5:6: Error: Symbol 'nothing' at (1) has no IMPLICIT type")
    assert essence("ld: a.o: undefined reference to `x'\n") == "ld: a.o: undefined reference to `x'"
    assert essence("") == ""


QUOTED = """\
main.f90:4:33:

    4 | call mpi_init(ierror, nothing, 3)
      |                                 1
Error: No specific subroutine for the generic 'mpi_init' at (1)
make: *** [Makefile:3: main.o] Error 1
"""
WARNED = """\
main.f90:3:9:

    3 | integer ierror
      |         1
Warning: Unused dummy argument 'ierror' at (1) [-Wunused-dummy-argument]
f951: Warning: error: no such option
/usr/bin/ld: main.o: in function `MAIN__':
main.f90:(.text+0x14): undefined reference to `other_'
collect2: error: ld returned 1 exit status
"""


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (
            QUOTED,
            "main.f90:4:33: Error: No specific subroutine for the generic 'mpi_init' at (1)",
        ),
        (WARNED, "main.f90:(.text+0x14): undefined reference to `other_'"),
        ("main.f90(5): error #6404: no type", "main.f90(5): error #6404: no type"),
        ("\x1b[31mx.c:3:1: \x1b[1merror: \x1b[0mno\n", "x.c:3:1: error: no"),
        (
            "mpif90 -c mpi_errors.f90\nmake: *** No rule to make target 'x.o'.  Stop.\n",
            "make: *** No rule to make target 'x.o'.  Stop.",
        ),
        ("echo errors\nmake: *** [Makefile:2: all] Error 3\n", "echo errors"),
    ],
)
def test_the_compilers_error_is_told_and_no_line_that_it_quotes(output: str, told: str) -> None:
    """Arguments named ierror, warnings and make's last words are no errors."""
    assert essence(output) == told
