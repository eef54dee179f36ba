"""The text that a compiler sees of a file and of those that it includes, and how it is divided.

A file that is included once is analysed and changed in its place: its lines stand in the including
file, between two borders, instead of the line that includes it::

    !#asphalt include 1 begin
    (the lines of the included file)
    !#asphalt include 1 end

``Composition`` knows where each line came from.  To all steps the borders are comments; when their
changes have gone back into the text as it was (``asphalt.unparse.guards``), it is divided at the
borders, so that each file gets its own lines.

A file that several lines include stands in each of them.  Where one of its texts changes, that text
stays in place of the line that included it; the file and its other places are as they were.  Only
where all of them change in the same way, the file itself does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping

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
    file end with something else.  ``shared``: other lines include the file, too, or a file that
    includes it.
    """

    path: str
    including: str
    line: bytes
    preprocessed: bool
    ended: bool = True
    eol: bytes | None = None
    shared: bool = False


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
        """The first line that came from a line of a file; None: none did."""
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

    def divided(self, content: bytes, edited: Collection[str] = ()) -> dict[str, bytes]:
        """The files of changed text, by path.

        ``edited``: the files with several lines that include them which get the changes of their
        text themselves.  Raises NotDividedError where the borders are not as they were, and where a
        part would get lines that mean something else in it.
        """
        found = dict(self.texts)
        lines: list[bytes] = []
        for part, text in self._divided(content, frozenset(edited), lines):
            if text is not None:
                found[part.path] = text
        found[self.path] = b"".join(lines)
        return found

    def shared_texts(self, content: bytes, edited: frozenset[str]) -> dict[str, set[bytes | None]]:
        """What the files that other lines include, too, become in each of their places, by path;
        None: the text stays in the including file.  ``edited`` and what is raised: as for
        ``divided``."""
        found: dict[str, set[bytes | None]] = {}
        for part, text in self._divided(content, edited, []):
            if part.shared:
                found.setdefault(part.path, set()).add(text)
        return found

    def _divided(
        self, content: bytes, edited: frozenset[str], own: list[bytes]
    ) -> Iterator[tuple[Part, bytes | None]]:
        """The parts of changed text, inner ones first, each with what its file becomes; None: its
        text stays in the including file.  ``own`` gets the lines of the composition's own file."""
        open_parts: list[tuple[int, list[bytes]]] = []
        begun = 0
        for line in _lines(content):
            border = _BORDER.fullmatch(line)
            lines = open_parts[-1][1] if open_parts else own
            if border is None:
                lines.append(line)
            elif border[2] == b"begin":
                if int(border[1]) != begun + 1 or begun == len(self.parts):
                    raise NotDividedError(_CROSSED)
                open_parts.append((begun, []))
                begun += 1
            elif not open_parts or open_parts[-1][0] != int(border[1]) - 1:
                raise NotDividedError(_CROSSED)
            else:
                part = self.parts[open_parts.pop()[0]]
                outer = open_parts[-1][1] if open_parts else own
                text = self._text_of(part, b"".join(lines), edited)
                outer.extend(lines if text is None else [part.line])
                yield part, text
        if open_parts or begun != len(self.parts):
            raise NotDividedError(_CROSSED)

    def _text_of(self, part: Part, text: bytes, edited: frozenset[str]) -> bytes | None:
        """What the file of a part becomes; None: its text stays in the including file."""
        if not part.shared:
            return self._as_it_was(part, text)
        if part.path not in edited and self._with_its_ends(part, text) != self.texts[part.path]:
            return None
        try:
            return self._as_it_was(part, text)
        except NotDividedError:
            return None

    def _as_it_was(self, part: Part, text: bytes) -> bytes:
        """The text that the file of a part gets, with its own line ends."""
        text = self._with_its_ends(part, text)
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

    @staticmethod
    def _with_its_ends(part: Part, text: bytes) -> bytes:
        if part.eol is not None:
            text = text.replace(b"\r\n", b"\n").replace(b"\n", part.eol)
        return text if part.ended else re.sub(rb"\r?\n\Z", b"", text)


_CROSSED = "it crosses the border between a file and one that it includes"


def _lines(content: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", content)


def border(number: int, word: str, eol: bytes) -> bytes:
    """The border at the ``begin`` or ``end`` of a part."""
    return f"{BORDER} {number} {word}".encode() + eol
