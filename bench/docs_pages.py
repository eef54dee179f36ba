"""Generated pages of ``docs``: each module that makes some says which, and these write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def write_pages(pages: Mapping[Path, str], folder: str | None = None) -> int:
    """Write pages, by their paths below ``docs``; exit code 0.

    ``folder`` below ``docs`` holds nothing but such pages: others that stand there are removed.
    """
    for path in outdated(pages, folder):
        if path in pages:
            (DOCS / path).parent.mkdir(exist_ok=True)
            (DOCS / path).write_text(pages[path], encoding="utf-8")
            print(f"wrote docs/{path}")
        else:
            (DOCS / path).unlink()
            print(f"removed docs/{path}")
    return 0


def outdated(pages: Mapping[Path, str], folder: str | None = None) -> Iterator[Path]:
    """The paths below ``docs`` that do not hold what they should, or should not be there."""
    for path, text in pages.items():
        file = DOCS / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            yield path
    if folder is not None:
        there = {path.relative_to(DOCS) for path in (DOCS / folder).glob("*.md")}
        yield from sorted(there - set(pages))
