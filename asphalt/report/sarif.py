"""The report as SARIF 2.1.0 (OASIS), for forges and editors.

Every code is a rule, every site a result.  A refusal has kind ``fail`` and level ``note``, since
nothing is wrong with the program; a finding has level ``warning``.  A site that is legal under
assumptions has kind ``review``, a proved one ``pass``.  The marks of a site are its related
locations and, in their order, its code flow.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from asphalt import __version__
from asphalt.analysis.verdicts.verdict import Code
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.diagnostics.model import FINDING, MarkReport, ProblemReport, SiteReport

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
PAGES = "docs/codes"
"""Where each code has a page, in asphalt's own sources."""

_POSSIBLE = "exchange"  # the rule of a site without a code
_BASE = "SRCROOT"
_KINDS = {
    "refused": "fail",
    FINDING: "fail",
    "assumed": "review",
    "skipped": "notApplicable",
}
_LEVELS = {"refused": "note", FINDING: "warning"}


def sarif_text(
    sites: Sequence[SiteReport],
    problems: Sequence[ProblemReport] = (),
    sources: Mapping[str, bytes] | None = None,
) -> str:
    """The log of one run.  ``sources``: the bytes of the files, for columns in characters."""
    columns = _Columns(sources or {})
    rules = [_rule(code) for code in ALL_CODES.values()]
    rules.append(
        {
            "id": _POSSIBLE,
            "shortDescription": {"text": "an exchange that can be overlapped"},
            "defaultConfiguration": {"level": "none"},
        }
    )
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": "asphalt", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            _BASE: {"description": {"text": "the directory in which asphalt was called"}}
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(p) for p in problems],
            }
        ],
        "results": [_result(site, numbers, columns) for site in sites],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def documentation(code: str) -> str:
    """The path of the page of a code."""
    return f"{PAGES}/{code.lower()}.md"


def _rule(code: Code) -> dict[str, Any]:
    where = documentation(code.id)
    return {
        "id": code.id,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.meaning},
        "help": {
            "text": f"{code.meaning}  What you can do: {code.advice}  See {where}.",
            "markdown": f"{code.meaning}\n\n**What you can do:** {code.advice}\n\n"
            f"Examples: `asphalt explain {code.id}`, or `{where}`.",
        },
        "defaultConfiguration": {"level": "note"},
        "properties": {"condition": code.condition, "documentation": where},
    }


def _result(site: SiteReport, numbers: Mapping[str, int], columns: _Columns) -> dict[str, Any]:
    rule = site.code if site.code is not None and site.code in numbers else _POSSIBLE
    kind = _KINDS.get(site.verdict, "pass")
    text = f"{site.operation} in {site.unit or 'the main program'}: {site.message or site.verdict}"
    if site.witness:
        text += f" ({site.witness})"
    needed = [name for name in site.assumptions if name not in site.accepted]
    if needed:
        text += f"; accept it with --assume {','.join(needed)}"
    elif site.accepted and site.verdict != "refused":
        text += f"; assuming {', '.join(site.accepted)}"
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": numbers[rule],
        "kind": kind,
        "level": _LEVELS.get(site.verdict, "none"),
        "message": {"text": text},
        "locations": [columns.location(_call(site))],
        "partialFingerprints": {"asphaltSite/v1": _fingerprint(site)},
        "properties": {"verdict": site.verdict, "site": site.id},
    }
    if site.marks:
        marked = [columns.location(mark, mark.text) for mark in site.marks]
        result["relatedLocations"] = [
            {"id": number, **location} for number, location in enumerate(marked, 1)
        ]
        steps = [
            {
                "location": location,
                "kinds": [mark.role],
                "importance": "essential" if mark.role == "offending" else "important",
            }
            for mark, location in zip(site.marks, marked, strict=True)
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return result


def _call(site: SiteReport) -> MarkReport:
    """The exchange itself."""
    for mark in site.marks:
        if mark.role == "exchange" and (mark.file, mark.line) == (site.file, site.line):
            return mark
    return MarkReport(site.file, site.line, 1, site.line, 1, "exchange", "")


def _fingerprint(site: SiteReport) -> str:
    """A hash of file, procedure, number of the exchange in it, and code, but not of lines."""
    parts = (_uri(site.file)[0], site.id, site.unit, site.operation, site.code or "")
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


def _notification(problem: ProblemReport) -> dict[str, Any]:
    found: dict[str, Any] = {
        "level": "note" if problem.note else "warning",
        "message": {"text": problem.message},
    }
    physical: dict[str, Any] = {"artifactLocation": _artifact(problem.file)}
    if problem.line is not None:
        physical["region"] = {"startLine": problem.line}
    return {**found, "locations": [{"physicalLocation": physical}]}


class _Columns:
    """Converts the columns of marks, which count bytes, to characters."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._lines = {file: content.split(b"\n") for file, content in sources.items()}

    def location(self, mark: MarkReport, message: str = "") -> dict[str, Any]:
        """A mark as a location; ``endColumn`` is one past the last character."""
        region = {
            "startLine": mark.line,
            "startColumn": self._column(mark.file, mark.line, mark.column - 1) + 1,
            "endLine": mark.end_line,
            "endColumn": self._column(mark.file, mark.end_line, mark.end_column) + 1,
        }
        location: dict[str, Any] = {
            "physicalLocation": {"artifactLocation": _artifact(mark.file), "region": region}
        }
        if message:
            location["message"] = {"text": message}
        return location

    def _column(self, file: str, line: int, before: int) -> int:
        """The number of characters in the first ``before`` bytes of a line."""
        lines = self._lines.get(file, ())
        if line > len(lines):
            return before
        return len(lines[line - 1][:before].decode("utf-8", "replace"))


def _artifact(file: str) -> dict[str, str]:
    uri, relative = _uri(file)
    return {"uri": uri, "uriBaseId": _BASE} if relative else {"uri": uri}


def _uri(file: str) -> tuple[str, bool]:
    """The URI of a file, relative to the working directory if it is below that."""
    relative = os.path.relpath(file)
    if PurePath(relative).parts[:1] == ("..",):
        return Path(file).resolve().as_uri(), False
    return quote(PurePath(relative).as_posix()), True
