"""The commands of two builds, and where two runs differ."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from asphalt.cli.progress import Progress
from asphalt.cli.verify import verify
from asphalt.config.errors import UsageError
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import SiteReport
from asphalt.report.verified import verified_summary
from asphalt.running.process import CommandResult
from asphalt.verify.builds import BUILD_PLACES, RUN_PLACES, Commands
from asphalt.verify.causes import causes
from asphalt.verify.compare import EXACT, Difference, difference
from asphalt.verify.files import ComparedOutput, Outputs, WrittenFile
from asphalt.verify.rows import ComparisonRow, ResultKind
from asphalt.verify.runs import Result, difference_at, result_difference


def printed(text: str, status: int | None = 0, errors: str = "") -> CommandResult:
    return CommandResult(status, text.encode(), errors.encode())


# commands


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


# comparing


def test_equal_runs() -> None:
    assert difference(printed("a\n"), printed("a\n", errors="noise")) is None


def test_the_first_differing_line_is_reported() -> None:
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
