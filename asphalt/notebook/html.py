"""Texts and tables as HTML for light and dark notebooks, with no script and no style sheet."""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Sequence

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.fortran import FortranFixedLexer, FortranLexer
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

_PRE = "margin:0;white-space:pre;overflow-x:auto;line-height:1.25;background:transparent"
_THEME = TerminalTheme(  # colours that can be read on white and on black
    (255, 255, 255),
    (0, 0, 0),
    [
        (0x55, 0x55, 0x55),
        (0xC6, 0x28, 0x28),
        (0x2E, 0x7D, 0x32),
        (0xA0, 0x6A, 0x00),
        (0x1E, 0x6F, 0xC8),
        (0xA0, 0x2C, 0xA0),
        (0x00, 0x7C, 0x80),
        (0x77, 0x77, 0x77),
    ],
)


def coloured(lines: Iterable[Text]) -> str:
    """Lines of text in their colours."""
    console = Console(
        record=True, file=io.StringIO(), width=10_000, force_terminal=True, force_jupyter=False
    )
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)
    code = console.export_html(theme=_THEME, code_format="{code}", inline_styles=True)
    return f'<pre style="{_PRE}">{code.rstrip()}</pre>'


def fortran(text: str, fixed: bool) -> list[str]:
    """The lines of Fortran source in colours, each by itself."""
    lexer = FortranFixedLexer() if fixed else FortranLexer(stripnl=False, ensurenl=False)
    formatter = HtmlFormatter(nowrap=True, noclasses=True, nobackground=True)
    return str(highlight(text, lexer, formatter)).split("\n")


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()
) -> str:
    """A table of plain text; the columns ``numbers`` are aligned on the right."""
    right = frozenset(numbers)

    def cell(tag: str, text: str, column: int) -> str:
        side = "right" if column in right else "left"
        return f'<{tag} style="text-align:{side}">{html.escape(text)}</{tag}>'

    def row(tag: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(cell(tag, text, number) for number, text in enumerate(cells))}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><thead>{row('th', headings)}</thead><tbody>{body}</tbody></table>"


def picture(png: bytes, title: str) -> str:
    """A picture within the page; ``title``: its text for those who do not see it."""
    from base64 import b64encode

    data = b64encode(png).decode("ascii")
    shown = f'alt="{html.escape(title)}" src="data:image/png;base64,{data}"'
    return f'<img style="max-width:100%" {shown}>'
