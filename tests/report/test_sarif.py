"""The report as SARIF 2.1.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from asphalt.cli.main import main
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.diagnostics.model import MarkReport, ProblemReport, SiteReport
from asphalt.report.sarif import sarif_text
from support.cli_programs import REFUSED_LINE, write_tree

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)

MARKS = (
    MarkReport("src/a b.f90", 2, 3, 4, 8, "producer", "the producer"),
    MarkReport("src/a b.f90", 5, 3, 5, 10, "offending", "changes s"),
    MarkReport("src/a b.f90", 7, 3, 8, 20, "exchange", "the exchange"),
)
REFUSED = SiteReport(
    "solve",
    "src/a b.f90",
    7,
    "MPI_Alltoall",
    "solve",
    "refused",
    "ASP601",
    "s changes",
    "line 5: s(1) = 0",
    marks=MARKS,
)
PROVED = SiteReport("other", "src/b.f90", 9, "MPI_Alltoall", "other", "proved")
ASSUMED = SiteReport(
    "more", "src/b.f90", 19, "MPI_Alltoall", "more", "assumed", "ASP202", assumptions=("control",)
)
SKIPPED = SiteReport("less", "src/b.f90", 29, "MPI_Alltoall", "", "skipped", "ASP006")


def log(*sites: SiteReport, sources: dict[str, bytes] | None = None) -> dict[str, Any]:
    problems = [
        ProblemReport("odd.f90", None, "is empty"),
        ProblemReport("odd.f90", 3, "is odd", True),
    ]
    report: dict[str, Any] = json.loads(sarif_text(sites, problems, sources))
    VALIDATOR.validate(report)
    return report


def run(*sites: SiteReport, sources: dict[str, bytes] | None = None) -> dict[str, Any]:
    (only,) = log(*sites, sources=sources)["runs"]
    assert isinstance(only, dict)
    return only


def test_the_schema_is_one() -> None:
    jsonschema.Draft4Validator.check_schema(SCHEMA)
    assert not VALIDATOR.is_valid({"version": "2.1.0"})


def test_every_code_is_a_rule() -> None:
    rules = run()["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} >= set(ALL_CODES)
    for rule in rules:
        if rule["id"] in ALL_CODES:
            assert ALL_CODES[rule["id"]].advice in rule["help"]["text"]
            assert rule["properties"]["documentation"] == f"docs/codes/{rule['id'].lower()}.md"


def test_kinds_and_rules() -> None:
    found = run(REFUSED, PROVED, ASSUMED, SKIPPED)
    rules = found["tool"]["driver"]["rules"]
    kinds = [result["kind"] for result in found["results"]]
    assert kinds == ["fail", "pass", "review", "notApplicable"]
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert (result["level"] == "none") is (result["kind"] != "fail")


def test_marks_are_locations_and_a_flow() -> None:
    (result,) = run(REFUSED)["results"]
    (where,) = result["locations"]
    place = where["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/a%20b.f90", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 7, "startColumn": 3, "endLine": 8, "endColumn": 21}
    assert [location["id"] for location in result["relatedLocations"]] == [1, 2, 3]
    (flow,) = result["codeFlows"]
    steps = flow["threadFlows"][0]["locations"]
    assert [step["kinds"] for step in steps] == [["producer"], ["offending"], ["exchange"]]
    assert [step["importance"] for step in steps].index("essential") == 1


def test_columns_count_characters() -> None:
    line = "  s = 'né'; call x\n".encode()
    mark = MarkReport("u.f90", 1, 14, 1, 19, "exchange", "the exchange")
    site = SiteReport("u", "u.f90", 1, "MPI_Alltoall", "u", "refused", "ASP101", marks=(mark,))
    (result,) = run(site, sources={"u.f90": line})["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert line.decode()[region["startColumn"] - 1 : region["endColumn"] - 1] == "call x"


def fingerprints(capsys: pytest.CaptureFixture[str]) -> list[str]:
    usual = ["--no-cache", "--jobs", "1", "--passes", "prepush"]
    assert main(["scan", "src", *usual, "--format", "sarif"]) == 0
    report = json.loads(capsys.readouterr().out)
    VALIDATOR.validate(report)
    results = report["runs"][0]["results"]
    assert REFUSED_LINE or results
    return [result["partialFingerprints"]["asphaltSite/v1"] for result in results]


def test_fingerprints_stay_when_lines_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(tmp_path / "src")
    monkeypatch.chdir(tmp_path)
    before = fingerprints(capsys)
    assert len(set(before)) == len(before) == 2
    for path in (tmp_path / "src").rglob("*.f90"):
        path.write_text("! a comment\n\n" + path.read_text())
    assert fingerprints(capsys) == before
