"""Sites and problems as workflow commands of GitHub, which shows them at their lines."""

from __future__ import annotations

from collections.abc import Sequence

from asphalt.diagnostics.model import FINDING, ProblemReport, SiteReport


def annotation_lines(
    sites: Sequence[SiteReport], problems: Sequence[ProblemReport] = ()
) -> list[str]:
    """A ``::notice`` for each site, a ``::warning`` for each finding and each problem."""
    lines = [
        _command(
            "notice" if problem.note else "warning",
            problem.file,
            problem.line,
            "asphalt",
            problem.message,
        )
        for problem in problems
    ]
    for site in sites:
        title = f"{site.operation}: {site.verdict}{f' ({site.code})' if site.code else ''}"
        message = site.message if site.witness is None else f"{site.message}; {site.witness}"
        level = "warning" if site.verdict == FINDING else "notice"
        lines.append(_command(level, site.file, site.line, title, message))
    return lines


def _command(level: str, file: str, line: int | None, title: str, message: str) -> str:
    where = f"file={_property(file)}" + (f",line={line}" if line is not None else "")
    return f"::{level} {where},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
