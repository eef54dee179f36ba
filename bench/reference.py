"""The pages of settings and of the report: ``python -m bench.reference`` writes them.

They are made from the JSON schemas of both, to which tests hold the code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from asphalt.config.settings import SCHEMA as SETTINGS
from asphalt.report.json import SCHEMA as REPORT
from bench.docs_pages import write_pages

_SETTINGS = """\
# Settings

A project's settings are in `asphalt.toml`, in the table `[tool.asphalt]` of `pyproject.toml`, or in
`[extra.asphalt]` of `fpm.toml`: the nearest one at or above the first path of a command counts
(`--config FILE` names another). Options of a command count more; macros, directories and sizes of
both are taken together.

    defines = ["USE_MPI", "MAXN=512"]
    include_dirs = ["inc"]
    assume = ["fatal"]
    forms = { "*.fpp" = "free", "old/*.F" = "fixed" }

This page is written by `python -m bench.reference` from
[the schema](../../asphalt/config/settings.schema.json), which editors can use.
"""
_REPORT = """\
# The report

`--format json` prints a report, and `apply --report FILE` writes one: all sites with verdict,
evidence, witness and steps. Places are lines of the source as it was given, columns count bytes.
`version` changes when a field changes its meaning or goes; new fields may come without that.

This page is written by `python -m bench.reference` from
[the schema](../../asphalt/report/schema.json).
"""


def pages() -> dict[Path, str]:
    """The text of each page, by its path below ``docs``."""
    settings, report = (json.loads(path.read_text(encoding="utf-8")) for path in (SETTINGS, REPORT))
    return {
        Path("reference/settings.md"): "\n".join([_SETTINGS, *_table(settings, "setting")]),
        Path("reference/report.md"): "\n".join(
            [_REPORT, *_table(report, "field"), *_parts(report)]
        ),
    }


def _parts(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, part in schema["$defs"].items():
        if part["type"] == "object":
            yield f"## {name}\n"
            yield from _table(part, "field")


def _table(schema: Mapping[str, Any], heading: str) -> Iterator[str]:
    yield f"| {heading} | type | meaning |\n| --- | --- | --- |"
    for name, about in schema["properties"].items():
        meaning = about.get("description", "")
        if "default" in about:
            meaning += f" Default: `{json.dumps(about['default'])}`."
        yield f"| `{name}` | {_type(about)} | {meaning.strip()} |"
        if "properties" in about.get("items", {}):
            for part, its in about["items"]["properties"].items():
                yield f"| `{name}[].{part}` | {_type(its)} | {its.get('description', '')} |"
    yield ""


def _type(about: Mapping[str, Any]) -> str:
    if "$ref" in about:
        name = about["$ref"].rsplit("/", 1)[1]
        return "list of string" if name == "texts" else f"[{name}](#{name})"
    if "const" in about:
        return f"`{json.dumps(about['const'])}`"
    if "enum" in about:
        return ", ".join(f"`{json.dumps(value)}`" for value in about["enum"])
    if "anyOf" in about:
        return " or ".join(map(_type, about["anyOf"]))
    if about["type"] == "array":
        return f"list of {_type(about['items'])}"
    names = about["type"] if isinstance(about["type"], list) else [about["type"]]
    least, most = about.get("minimum"), about.get("maximum")
    limits = (
        "" if least is None else f", at least {least}" if most is None else f", {least} to {most}"
    )
    return " or ".join("table" if name == "object" else name for name in names) + limits


def main() -> int:
    """Write the pages; exit code 0."""
    return write_pages(pages())


if __name__ == "__main__":
    sys.exit(main())
