"""Draws the evidence of a verdict over the source: brackets, arrows and carets.

    12 | +----  do z = 1, nz                     the producer
    13 | | +--    s(:,z,:) = z                   defines s
    14 | +-|--  end do
    15 |   |    s(1,1,1) = 0
       |   |    ^^^^^^^^^^^^ changes in between
    16 |   +->  call MPI_Alltoall(...)

(in box-drawing characters if the terminal has them).  Lines without a mark are left out, except
one on each side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.text import Text

from asphalt.diagnostics.model import MarkReport
from asphalt.ir.records import record

_STYLES = {
    "exchange": "bold cyan",
    "producer": "blue",
    "definition": "green",
    "use": "magenta",
    "offending": "bold red",
    "path": "yellow",
}
_CONTEXT = 1  # lines shown around a mark
_LONGEST = 14  # lines of a bracket that is shown whole; of a longer one, only both ends are
_TAB = 8


@record
class Strokes:
    """The characters that lines are drawn with."""

    top: str
    join: str
    side: str
    bottom: str
    along: str
    cross: str
    head: str
    gap: str
    bar: str


BOXES = Strokes("┌", "├", "│", "└", "─", "┼", "▶", "⋮", "│")
PLAIN = Strokes("+", "+", "|", "+", "-", "+", ">", ":", "|")


@record
class _Lane:
    """A vertical line from one source line to another, in a column of the margin, with those in
    between that join it."""

    first: int
    last: int
    style: str
    arrow: bool
    joined: frozenset[int] = frozenset()


def drawing(
    marks: Sequence[MarkReport], sources: Mapping[str, bytes], strokes: Strokes = BOXES
) -> list[Text]:
    """The evidence, file by file in the order of the marks; ``sources``: the files' bytes.

    Of a file that is not among the sources, only the line numbers are shown.
    """
    lines: list[Text] = []
    for file in dict.fromkeys(mark.file for mark in marks):
        here = [mark for mark in marks if mark.file == file]
        if lines:
            lines.append(Text())
        lines.append(Text(file, style="bold"))
        source = sources.get(file)
        if source is None:
            lines += [Text(f"  {mark.line}: {mark.text}") for mark in here]
        else:
            lines += _file_drawing(here, source.split(b"\n"), strokes)
    return lines


def _file_drawing(
    marks: Sequence[MarkReport], source: Sequence[bytes], strokes: Strokes
) -> list[Text]:
    lanes = _lanes(marks)
    shown = _shown(marks, len(source))
    width = len(str(max(shown, default=0)))
    drawn: list[Text] = []
    before = 0
    for number in sorted(shown):
        if before and number > before + 1:
            drawn.append(_row(" " * width, strokes.gap, _margin(lanes, before, strokes, True)))
        before = number
        row = _row(str(number).rjust(width), strokes.bar, _margin(lanes, number, strokes, False))
        row.append(_visible(source[number - 1]))
        own = [mark for mark in marks if mark.line == number]
        drawn.append(_annotated(row, own))
        for mark in sorted(own, key=lambda mark: mark.column):
            if mark.role == "producer":
                continue  # the bracket is its mark
            if mark.role == "exchange" and any(_is_same_place(mark, other) for other in own):
                continue  # the offending mark says more
            margin = _margin(lanes, number, strokes, True)
            caret = _row(" " * width, strokes.bar, margin)
            caret.append(_carets(mark, source[number - 1]))
            drawn.append(caret)
    return drawn


def _is_same_place(mark: MarkReport, other: MarkReport) -> bool:
    return other.role == "offending" and other.column == mark.column


def _annotated(row: Text, marks: Iterable[MarkReport]) -> Text:
    for mark in marks:
        if mark.role == "producer":
            row.append(f"   {mark.text}", style=_STYLES["producer"])
    return row


def _lanes(marks: Sequence[MarkReport]) -> list[_Lane]:
    """The bracket of each producer, and the arrows from definitions to the exchange and from there
    to the first use."""
    lanes = [
        _Lane(mark.line, mark.end_line, _STYLES["producer"], False)
        for mark in marks
        if mark.role == "producer" and mark.end_line > mark.line
    ]
    call = next((mark for mark in marks if mark.role == "exchange"), None)
    if call is None:
        return lanes
    defined = [mark.line for mark in marks if mark.role == "definition" and mark.line < call.line]
    if defined:
        style, joined = _STYLES["definition"], frozenset(defined)
        lanes.append(_Lane(min(defined), call.line, style, True, joined))
    used = [mark.line for mark in marks if mark.role == "use" and mark.line > call.line]
    lanes += [_Lane(call.line, line, _STYLES["use"], True) for line in used[:1]]
    return lanes


def _shown(marks: Sequence[MarkReport], count: int) -> set[int]:
    """The lines to show: marked ones, whole if they are few, and their neighbours."""
    shown: set[int] = set()
    for mark in marks:
        last = min(mark.end_line, count)
        if last - mark.line < _LONGEST:
            shown |= set(range(mark.line, last + 1))
        else:
            shown |= {mark.line, mark.line + 1, last - 1, last}
    near = {line + step for line in shown for step in range(-_CONTEXT, _CONTEXT + 1)}
    near = {line for line in near if 1 <= line <= count}
    # a gap of one line is the line itself
    near |= {line for line in range(2, count) if {line - 1, line + 1} <= near}
    return near


def _margin(lanes: Sequence[_Lane], line: int, strokes: Strokes, below: bool) -> Text:
    """The margin of a line, or of the carets ``below`` it.

    Each lane takes two columns, and arrow heads two more.
    """
    cells = [" "] * (2 * len(lanes) + 2)
    styles = [""] * len(cells)
    for number, lane in enumerate(lanes):
        column = 2 * number
        ends = not below and line in (lane.first, lane.last, *lane.joined)
        if ends:
            cells[column] = strokes.join
            if line in (lane.first, lane.last):
                cells[column] = strokes.top if line == lane.first else strokes.bottom
            styles[column] = lane.style
            for right in range(column + 1, len(cells) - 1):
                if cells[right] == " ":
                    cells[right] = strokes.along
                    styles[right] = lane.style
            if lane.arrow and line == lane.last:
                cells[-2], styles[-2] = strokes.head, lane.style
        elif lane.first < line < lane.last or (below and lane.first <= line < lane.last):
            cells[column] = strokes.cross if cells[column] == strokes.along else strokes.side
            styles[column] = lane.style
    margin = Text()
    for cell, style in zip(cells, styles, strict=True):
        margin.append(cell, style=style)
    return margin


def _row(number: str, bar: str, margin: Text) -> Text:
    row = Text(" ")
    row.append(f"{number} {bar} ", style="dim")
    row.append(margin)
    return row


def _carets(mark: MarkReport, line: bytes) -> Text:
    text = line.rstrip(b"\r")
    first = mark.column - 1
    last = len(text.rstrip()) if mark.end_line > mark.line else mark.end_column
    start = len(_visible(text[:first]))
    length = max(1, len(_visible(text[:last])) - start)
    sign = "^" if mark.role == "offending" else "~"
    style = _STYLES.get(mark.role, "")
    return Text.assemble(" " * start, (sign * length, style), " ", (mark.text, style))


def _visible(line: bytes) -> str:
    """A line without tabs and other characters that move the cursor."""
    text = line.rstrip(b"\r").decode("utf-8", "replace").expandtabs(_TAB)
    return "".join(c if c.isprintable() else "?" for c in text)
