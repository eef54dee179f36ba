"""The example programs of each code: one that gets it, and the same one mended.

They stand in ``asphalt/analysis/conditions/examples`` as ``aspNNN_refused`` and ``aspNNN_accepted``
with the suffix of their form, are compiled and judged by the test suite, and are shown by
``explain`` and on the page of verdicts.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from asphalt.ir.records import record

FOLDER = Path(__file__).resolve().parents[1] / "analysis" / "conditions" / "examples"


@record
class Examples:
    """The files of one code; ``refused`` None: only a defect of asphalt itself raises it."""

    refused: Path | None
    accepted: Path


def examples_of(code: str) -> Examples:
    """The example programs of a code such as ``ASP101``.

    Raises ``KeyError`` if there are none: every code has them.
    """
    return _all()[code.upper()]


@cache
def _all() -> dict[str, Examples]:
    found = {path.stem: path for path in FOLDER.iterdir()}
    return {
        stem.removesuffix("_accepted").upper(): Examples(
            found.get(stem.replace("_accepted", "_refused")), path
        )
        for stem, path in found.items()
        if stem.endswith("_accepted")
    }
