"""The difference that a plan makes to the sources, side by side."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from asphalt.diagnostics.change import Change
from asphalt.notebook.html import fortran
from asphalt.report.unified import unified_diff

_CONTEXT = 3  # unchanged lines around a change
_MARKS = {
    "delete": ("rgba(220,60,60,.16)", "transparent"),
    "insert": ("transparent", "rgba(60,160,60,.18)"),
    "replace": ("rgba(220,60,60,.16)", "rgba(60,160,60,.18)"),
    "equal": ("transparent", "transparent"),
}
_CELL = "text-align:left;white-space:pre;vertical-align:top;padding:0 .6em;font-family:monospace"


@dataclass(frozen=True)
class Diff:
    """The changed files before and after.  As text, it is a unified diff; a notebook shows both
    versions side by side."""

    changes: tuple[Change, ...]
    fixed: frozenset[Path] = frozenset()
    """Those in fixed form."""

    def __str__(self) -> str:
        texts = (unified_diff(str(one.path), one.before, one.after) for one in self.changes)
        return b"".join(texts).decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"<Diff of {len(self.changes)} {'file' if len(self.changes) == 1 else 'files'}>"

    def __bool__(self) -> bool:
        return bool(self.changes)

    def _repr_html_(self) -> str:
        if not self.changes:
            return "<p>No file would change.</p>"
        return "".join(_side_by_side(one, one.path in self.fixed) for one in self.changes)


def _side_by_side(change: Change, fixed: bool) -> str:
    before, after = (text.decode("utf-8", "replace") for text in (change.before, change.after))
    left, right = (fortran(text, fixed) for text in (before, after))
    rows = "".join(_rows(before.split("\n"), after.split("\n"), left, right))
    title = f"<p><b>{html.escape(str(change.path))}</b></p>"
    body = f'<table style="border-collapse:collapse">{rows}</table>'
    return f'{title}<div style="overflow-x:auto">{body}</div>'


def _rows(
    before: Sequence[str], after: Sequence[str], left: Sequence[str], right: Sequence[str]
) -> Iterator[str]:
    groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT)
    for number, group in enumerate(groups):
        if number:
            yield f'<tr><td colspan="4" style="{_CELL}">⋮</td></tr>'
        for kind, i1, i2, j1, j2 in group:
            colours = _MARKS[kind]
            for step in range(max(i2 - i1, j2 - j1)):
                yield _row(
                    _cells(i1 + step, left, colours[0]) if i1 + step < i2 else _cells(None, (), ""),
                    _cells(j1 + step, right, colours[1])
                    if j1 + step < j2
                    else _cells(None, (), ""),
                )


def _row(*cells: str) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _cells(number: int | None, lines: Sequence[str], colour: str) -> str:
    if number is None:
        return f'<td></td><td style="{_CELL}"></td>'
    style = f"{_CELL};background:{colour}"
    return (
        f'<td style="{_CELL};opacity:.5">{number + 1}</td><td style="{style}">{lines[number]}</td>'
    )
