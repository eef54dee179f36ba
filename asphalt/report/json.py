"""The report as JSON, version 1; ``schema.json`` beside this module describes it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path

from asphalt.diagnostics.model import ProblemReport, SiteReport

VERSION = 1
SCHEMA = Path(__file__).with_name("schema.json")


def report_text(
    files: Sequence[str],
    sites: Sequence[SiteReport],
    problems: Sequence[ProblemReport] = (),
    changed: Collection[str] = (),
) -> str:
    """The report on ``files``; ``changed``: those that are, or would be, transformed."""
    report = {
        "version": VERSION,
        "files": [{"file": file, "changed": file in changed} for file in files],
        "sites": [asdict(site) for site in sites],
        "problems": [asdict(problem) for problem in problems],
    }
    return json.dumps(report, indent=2) + "\n"
