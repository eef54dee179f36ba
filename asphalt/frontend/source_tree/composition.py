"""The text that a compiler sees of a file and of those that it includes, and how it is divided.

A file that is included once is analysed and changed in its place: its lines stand in the including
file, between two borders, instead of the line that includes it::

    !#asphalt include 1 begin
    (the lines of the included file)
    !#asphalt include 1 end

``Composition`` knows where each line came from.  To all steps the borders are comments; when their
changes have gone back into the text as it was (``asphalt.unparse.guards``), it is divided at the
borders, so that each file gets its own lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from asphalt.ir.configuration import BORDER
from asphalt.ir.records import record

_BORDER = re.compile(rf"{re.escape(BORDER)} (\d+) (begin|end)\r?\n?".encode())
_MARK = BORDER.encode()
_NO_DIRECTIVES = re.compile(rb"^#", re.M)


class NotDividedError(ValueError):
    """Changed text of which no file can have its own part; the text says why."""


@record
class Part:
    """A file that is included: ``line`` is the text of the line that does so, in the file
    ``including``.

    ``preprocessed``: the preprocessor includes it, so that it may hold directives.  ``ended``: its
    last line ends with a line ending.  ``eol``: what its lines end with if those of the including
    file end with something else.
    """

    path: str
    including: str
    line: bytes
    preprocessed: bool
    ended: bool = True
    eol: bytes | None = None


@record
class Composition:
    """A file with others in place of the lines that include them.

    ``places``: file and line that each line came from; a border has the place of the line that
    includes.  ``parts`` in the order of their begins, ``texts`` of all files as they were.
    """

    path: str
    content: bytes
    places: tuple[tuple[str, int], ...]
    parts: tuple[Part, ...]
    texts: Mapping[str, bytes]

    def place(self, line: int) -> tuple[str, int]:
        """File and line that a line, counted from 1, came from."""
        return self.places[line - 1] if 0 < line <= len(self.places) else (self.path, line)

    def line(self, path: str, line: int) -> int | None:
        """The line that came from a line of a file; None: none did."""
        try:
            return self.places.index((path, line)) + 1
        except ValueError:
            return None

    def begins(self, of: Callable[[str], bool]) -> dict[int, int]:
        """For each line of some parts, by path, the border at which the outermost of them
        begins."""
        found: dict[int, int] = {}
        open_parts: list[tuple[int, bool]] = []
        for number, line in enumerate(_lines(self.content), 1):
            match = _BORDER.fullmatch(line)
            if match is not None and match[2] == b"begin":
                open_parts.append((number, of(self.parts[int(match[1]) - 1].path)))
                continue
            if match is not None:
                open_parts.pop()
            begin = next((at for at, wanted in open_parts if wanted), None)
            if begin is not None:
                found[number] = begin
        return found

    def owners(self, content: bytes) -> list[str]:
        """The file of each line of changed text; borders that have lost each other count for
        nothing."""
        found: list[str] = []
        open_parts: list[int] = []
        for line in _lines(content):
            match = _BORDER.fullmatch(line) if line.startswith(_MARK) else None
            if match is not None and match[2] == b"end" and int(match[1]) in open_parts:
                del open_parts[open_parts.index(int(match[1])) :]
            found.append(self.parts[open_parts[-1] - 1].path if open_parts else self.path)
            if match is not None and match[2] == b"begin":
                open_parts.append(int(match[1]))
        return found

    def divided(self, content: bytes) -> dict[str, bytes]:
        """The files of changed text, by path.

        Raises NotDividedError where the borders are not as they were, and where a part would get
        lines that mean something else in it.
        """
        found: dict[str, list[bytes]] = {self.path: []}
        open_parts: list[int] = []
        begun = 0
        for line in _lines(content):
            border = _BORDER.fullmatch(line)
            path = self.parts[open_parts[-1]].path if open_parts else self.path
            if border is None:
                found[path].append(line)
            elif border[2] == b"begin":
                if int(border[1]) != begun + 1 or begun == len(self.parts):
                    raise NotDividedError(_CROSSED)
                found[path].append(self.parts[begun].line)
                found[self.parts[begun].path] = []
                open_parts.append(begun)
                begun += 1
            elif not open_parts or open_parts.pop() != int(border[1]) - 1:
                raise NotDividedError(_CROSSED)
        if open_parts or begun != len(self.parts):
            raise NotDividedError(_CROSSED)
        texts = {path: b"".join(lines) for path, lines in found.items()}
        for part in self.parts:
            texts[part.path] = self._as_it_was(part, texts[part.path])
        return texts

    def _as_it_was(self, part: Part, text: bytes) -> bytes:
        """The text of a part with its own line ends."""
        if part.eol is not None:
            text = text.replace(b"\r\n", b"\n").replace(b"\n", part.eol)
        if not part.ended:
            text = re.sub(rb"\r?\n\Z", b"", text)
        before = self.texts[part.path]
        if not part.preprocessed and _NO_DIRECTIVES.search(text):
            raise NotDividedError(
                f"{part.path} is not preprocessed where an INCLUDE line names it, and the change "
                "needs a condition of the preprocessor"
            )
        elsewhere = os.path.dirname(part.path) != os.path.dirname(self.path)
        if elsewhere and text.count(b"include") > before.count(b"include"):
            raise NotDividedError(f"{part.path}, in another directory, would include a file")
        return text


_CROSSED = "it crosses the border between a file and one that it includes"


def _lines(content: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", content)


def border(number: int, word: str, eol: bytes) -> bytes:
    """The border at the ``begin`` or ``end`` of a part."""
    return f"{BORDER} {number} {word}".encode() + eol
