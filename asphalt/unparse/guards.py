"""Changed lines of a file, under the conditions of the preprocessor for which they are proved.

A line stands in the branches that the preprocessor took for the proof.  Where these do not test all
that the proof rests on, the new lines get a condition of their own, with the old ones in ``#else``::

    #if defined(HAVE_MPI)
      integer :: asphalt_req(2)
    #endif

So in every other configuration the file is compiled as it was.  The directives of the file all stay
as they are, in their order: a change between two of them is compiled exactly where the text between
them was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from asphalt.ir.configuration import Test, condition
from asphalt.ir.source import Form

Tests = Callable[[int, int], Sequence[Test]]
"""The tests on which the change of some lines rests, by the first and last of them as they were,
counted from 1; the last one may precede the first: lines are inserted in front of it."""
Paths = Callable[[int], Sequence[Test] | None]
"""The tests that led to a line, by its number; None: it is removed."""

_NEAR = 1  # unchanged lines between two changes that get one condition
_GOES_ON = re.compile(r"&[ \t]*(?:!.*)?\r?\n?\Z")
_CONTINUED_FIXED = re.compile(r"     [^ 0\t\r\n]")
_SILENT = re.compile(r"[ \t]*(?:![^$].*|!)?\r?\n?\Z")


@dataclass(frozen=True, slots=True)
class _Piece:
    """The lines from a directive to the next one, which is the first of them but in the first
    piece.  ``first``: the number of lines before them, ``head`` of those of the directive."""

    first: int
    head: int
    lines: tuple[str, ...]


def guarded(before: str, after: str, form: Form, paths: Paths, tests: Tests) -> str | None:
    """The text ``after``, with conditions around what differs from ``before``; None: lines of the
    preprocessor differ, or lines that are removed."""
    pieces = _pieces(before), _pieces(after)
    if len(pieces[0]) != len(pieces[1]):
        return None
    out: list[str] = []
    eol = "\r\n" if "\r\n" in before else "\n"
    for old, new in zip(*pieces, strict=True):
        if old.lines == new.lines:
            out += new.lines
            continue
        path = paths(old.first + max(old.head, 1))
        if path is None or old.lines[: old.head] != new.lines[: new.head]:
            return None
        out += new.lines[: new.head]
        writer = _Writer(old, path, tests, form, eol)
        out += writer.written(old.lines[old.head :], new.lines[new.head :])
    return "".join(out)


def _pieces(text: str) -> list[_Piece]:
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    found: list[_Piece] = []
    begin, head, number = 0, 0, 0
    while number < len(lines):
        if lines[number].startswith("#"):
            found.append(_Piece(begin, head, tuple(lines[begin:number])))
            begin = number
            while lines[number].rstrip("\r\n").endswith("\\") and number + 1 < len(lines):
                number += 1
            head = number + 1 - begin
        number += 1
    found.append(_Piece(begin, head, tuple(lines[begin:])))
    return found


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes one piece, of which lines have changed."""

    piece: _Piece
    path: Sequence[Test]
    tests: Tests
    form: Form
    eol: str

    def written(self, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
        """The new lines, with conditions where they differ from the old ones."""
        at = 0
        for (i, j), (k, n) in self._changes(old, new):
            yield from new[at:k]
            at = n
            yield from self._one(i, old[i:j], new[k:n])
        yield from new[at:]

    def _one(self, at: int, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
        first = self.piece.first + self.piece.head + at + 1
        known = set(self.path)
        missing = [t for t in self.tests(first, first + len(old) - 1) if t not in known]
        if not missing or all(map(_SILENT.match, (*old, *new))):
            yield from new
            return
        text = condition(missing)
        if new:
            yield f"#if {text}{self.eol}"
            yield from self._ended(new)
            if old:
                yield f"#else{self.eol}"
        else:
            yield f"#if !({text}){self.eol}"
        yield from self._ended(old)
        yield f"#endif{self.eol}"

    def _ended(self, lines: Sequence[str]) -> Iterator[str]:
        return (line if line.endswith("\n") else line + self.eol for line in lines)

    def _changes(
        self, old: Sequence[str], new: Sequence[str]
    ) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """The lines that differ: from and to in both, whole statements."""
        found: list[list[int]] = []
        codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        changes = [code[1:] for code in codes if code[0] != "equal"]
        ends = [*(i for i, *_ in changes[1:]), len(old)]
        for (i, j, k, n), end in zip(changes, ends, strict=True):
            before = found[-1][1] if found else 0
            while i > before and (self._is_cut(old, i) or self._is_cut(new, k)):
                i, k = i - 1, k - 1
            while j < end and (self._is_cut(old, j) or self._is_cut(new, n)):
                j, n = j + 1, n + 1
            if found and i - before <= _NEAR:
                found[-1][1], found[-1][3] = j, n
            else:
                found.append([i, j, k, n])
        return (((i, j), (k, n)) for i, j, k, n in found)

    def _is_cut(self, lines: Sequence[str], at: int) -> bool:
        """Whether a line goes on with the statement of the line before."""
        if at >= len(lines):
            return False
        if self.form is Form.FIXED:
            return _CONTINUED_FIXED.match(lines[at]) is not None
        return at > 0 and _GOES_ON.search(lines[at - 1]) is not None
