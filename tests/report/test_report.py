"""The report in its forms: lines, JSON against its schema, annotations, diffs."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.analysis.verdicts.verdict import Cause
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.report.github import annotation_lines
from asphalt.report.json import SCHEMA, report_text
from asphalt.report.text import (
    code_details,
    common_reasons,
    missing_modules,
    problem_line,
    site_details,
    site_lines,
    summary,
)
from asphalt.report.unified import unified_diff

PROVED = SiteReport(
    id="transpose",
    file="src/a.f90",
    line=20,
    operation="MPI_Alltoall",
    unit="transpose",
    verdict="proved",
    message="every block is tiled along z",
    passes=("prepush",),
    tile=0,
    depth=2,
    backend="isend",
    evidence=("the nest at line 12 defines all of s",),
)
REFUSED = SiteReport(
    id="solve",
    file="src/long_name.f90",
    line=7,
    operation="MPI_Alltoallv",
    unit="solve",
    verdict="refused",
    code="ASP101",
    message="counts differ from rank to rank",
    witness="rank 1 sends 3 elements",
)


def schema() -> dict[str, object]:
    loaded: dict[str, object] = json.loads(SCHEMA.read_text())
    return loaded


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_a_report_fits_the_schema() -> None:
    text = report_text(
        ["src/a.f90", "src/long_name.f90"],
        [PROVED, replace(REFUSED, cause=Cause("module grid is not given", "grid"))],
        [
            ProblemReport("src/x.f90", None, "is not text"),
            ProblemReport("src/y.f90", 3, "END DO missing"),
        ],
        {"src/a.f90"},
    )
    report = json.loads(text)
    jsonschema.validate(report, schema())
    assert report["version"] == 1
    assert [entry["changed"] for entry in report["files"]] == [True, False]
    assert report["sites"][1]["witness"] == "rank 1 sends 3 elements"
    assert report["sites"][1]["cause"] == {"why": "module grid is not given", "module": "grid"}
    assert report["sites"][0]["tile"] == 0


@pytest.mark.parametrize(
    "site",
    [
        {"verdict": "perhaps"},
        {"line": 0},
        {"code": None},
        {"code": "E1"},
        {"tile": -1},
        {"surplus": 1},
    ],
)
def test_the_schema_rejects(site: dict[str, object]) -> None:
    report = json.loads(report_text(["src/long_name.f90"], [REFUSED]))
    report["sites"][0] |= site
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema())


def test_a_line_a_site_in_columns() -> None:
    assert [line.plain for line in site_lines([PROVED, REFUSED])] == [
        "src/a.f90:20         MPI_Alltoall   proved           every block is tiled along z",
        "src/long_name.f90:7  MPI_Alltoallv  refused  ASP101  counts differ from rank to rank",
    ]


def test_a_long_message_stands_once() -> None:
    long = replace(
        REFUSED, message="the buffer is defined " + "by a procedure that is not seen " * 3
    )
    same = replace(long, line=9)
    others = [replace(long, line=11, file="src/b.f90"), replace(long, line=13, message="short")]
    lines = [line.plain for line in site_lines([long, same, replace(same, line=10), *others])]
    assert [line.endswith("as in line 7") for line in lines] == [False, True, True, False, False]
    assert lines[0].count("not seen") == lines[3].count("not seen") == 3
    brief = replace(REFUSED, line=8)
    assert all("differ from rank" in line.plain for line in site_lines([REFUSED, brief]))


def test_an_assumed_site_names_its_assumptions() -> None:
    site = replace(PROVED, verdict="assumed", assumptions=("control", "input"))
    assert site_lines([site])[0].plain == (
        "src/a.f90:20  MPI_Alltoall  assumed          "
        "every block is tiled along z with --assume control,input"
    )


def test_no_sites_no_lines() -> None:
    assert site_lines([]) == []
    assert summary([]) == "no exchange found"


def test_a_reason_of_many_sites_is_told_once_with_their_number() -> None:
    many = [replace(REFUSED, line=line) for line in range(5)]
    assert common_reasons(many) == [
        f"5 sites are refused for one reason ({REFUSED.code}): {REFUSED.message}"
    ]
    others = [replace(one, message=f"for line {one.line}") for one in many]
    assert common_reasons([*many[:4], *others]) == []
    possible = [replace(one, verdict="assumed") for one in many]
    assert common_reasons([*possible, *many[:4]]) == []


def test_places_of_the_sites_make_no_other_reason() -> None:
    cause = Cause("errors may not be fatal: a.f90:8 calls MPI_Comm_set_errhandler")
    many = [
        replace(REFUSED, line=line, message=f"line {line} reads its code; {cause.why}", cause=cause)
        for line in range(5)
    ]
    assert common_reasons(many) == [
        f"5 sites are refused for one reason ({REFUSED.code}): {cause.why}"
    ]
    own = replace(many[4], cause=None)
    assert common_reasons([*many[:4], own]) == []


def test_a_missing_module_is_told_with_the_number_of_sites() -> None:
    cause = Cause("module grid is not among the given files", "grid")
    many = [replace(REFUSED, line=line, cause=cause) for line in range(5)]
    assert common_reasons(many) == []
    assert missing_modules(many, ["atoms", "grid"]) == "grid (refuses 5 sites), atoms"
    assert missing_modules([many[0]], []) == "grid (refuses 1 site)"
    assert missing_modules([PROVED], []) is None


def test_summary_counts_verdicts() -> None:
    assert summary([PROVED]) == "1 site: 1 proved"
    assert summary([PROVED, REFUSED, REFUSED]) == "3 sites: 1 proved, 2 refused"


def test_details_hold_witness_and_evidence() -> None:
    text = "\n".join(line.plain for line in (*site_details(PROVED), *site_details(REFUSED)))
    assert "evidence: the nest at line 12 defines all of s" in text
    assert "witness: rank 1 sends 3 elements" in text


def test_a_message_is_no_markup() -> None:
    odd = SiteReport("a", "a.f90", 1, "MPI_Alltoall", "a", "refused", "ASP101", "s[bold](1:n)[/]")
    assert site_lines([odd])[0].plain.endswith("s[bold](1:n)[/]")


def test_a_code_with_its_examples() -> None:
    text = [line.plain for line in code_details(ALL_CODES["ASP601"])]
    assert text[0] == "ASP601  the send buffer changes between the producer and the call"
    assert text[text.index("What you can do") + 1].startswith("Move the statement")
    refused, accepted = (
        index for index, line in enumerate(text) if "program exchange" in line[:19]
    )
    assert "gets ASP601" in text[refused - 1]
    assert "is transformed" in text[accepted - 1]


def test_problem_lines() -> None:
    assert problem_line(ProblemReport("a.f90", None, "is not text")) == "a.f90: is not text"
    assert problem_line(ProblemReport("a.f90", 3, "bad")) == "a.f90:3: bad"


def test_annotations_are_escaped() -> None:
    problem = ProblemReport("odd,name:1.f90", None, "100 % wrong\nreally")
    lines = annotation_lines([REFUSED], [problem])
    assert lines == [
        "::warning file=odd%2Cname%3A1.f90,title=asphalt::100 %25 wrong%0Areally",
        "::notice file=src/long_name.f90,line=7,title=MPI_Alltoallv%3A refused (ASP101)"
        "::counts differ from rank to rank; rank 1 sends 3 elements",
    ]


def test_a_diff() -> None:
    before = b"      x = 1\r\n      y = 2\r\n"
    after = b"      x = 1\r\n      y = 3\r\n"
    assert unified_diff("src/a.f", before, after) == (
        b"--- a/src/a.f\n+++ b/src/a.f\n@@ -1,2 +1,2 @@\n"
        b"       x = 1\r\n-      y = 2\r\n+      y = 3\r\n"
    )


def test_no_diff_of_equal_files() -> None:
    assert unified_diff("a.f90", b"x\n", b"x\n") == b""


_TEXTS = st.lists(st.sampled_from([b"a", b"b\r", b"\xe9 \x0c", b"", b"--- x", b"\\ c"]), max_size=8)


@settings(deadline=None, max_examples=25)
@given(_TEXTS, _TEXTS, st.booleans(), st.booleans())
def test_patch_makes_the_new_from_the_old(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[bytes],
    new: list[bytes],
    old_ends: bool,
    new_ends: bool,
) -> None:
    before = b"\n".join(old) + (b"\n" if old and old_ends else b"")
    after = b"\n".join(new) + (b"\n" if new and new_ends else b"")
    folder = tmp_path_factory.mktemp("patch")
    _check_git_apply(folder, before, after)


def _check_git_apply(folder: Path, before: bytes, after: bytes) -> None:
    target = folder / "with space.f90"
    target.write_bytes(before)
    diff = unified_diff(target.name, before, after)
    if before == after:
        assert diff == b""
        return
    command = ["git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-"]
    done = subprocess.run(command, cwd=folder, input=diff, capture_output=True, check=False)
    assert done.returncode == 0, (done.stderr, diff)
    assert (target.read_bytes() if target.exists() else b"") == after


def test_what_is_said_several_times_has_one_line() -> None:
    said = replace(PROVED, evidence=("one moves", "another moves", "one moves", "one moves"))
    lines = [line.plain.strip() for line in site_details(said)]
    assert [line for line in lines if "moves" in line] == [
        "evidence: one moves (3 times)",
        "evidence: another moves",
    ]
