"""Changed lines of a file, under the conditions of the preprocessor for which they are proved.

A file is changed in one configuration: with a comment in place of each line that this configuration
removes, and of each directive that says so (``selected``).  Here the changes go back into the file
as it was.  Where the branches around a changed line do not test all that its proof rests on, the
new lines get a condition of their own, with the old ones in ``#else``::

    #if defined(HAVE_MPI)
      integer :: asphalt_req(2)
    #endif

No other line of the file changes.  So in every other configuration the file is compiled as it was.

A line that stays is not repeated, so that nobody has to edit it twice.  What becomes the end of a
statement in free form stays, too::

    #if defined(HAVE_MPI)
      if (.not. asphalt_x%finished(s, r, ierr)) &
    #endif
      call MPI_Alltoall(s, n, MPI_REAL, r, n, MPI_REAL, comm, ierr)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from asphalt.ir.configuration import MARK, MacroTest, condition
from asphalt.ir.records import record
from asphalt.ir.source import Form

Paths = Callable[[int], Sequence[MacroTest] | None]
"""The tests that led to a line, by its number (from 1); None: it is removed."""

_GOES_ON = re.compile(r"&[ \t]*(?:!.*)?\r?\n?\Z")
_CONTINUED_FIXED = re.compile(r"     [^ 0\t\r\n]")
_SILENT = re.compile(r"[ \t]*(?:!(?![a-z]{0,3}[$*]|ocl\b).*)?\r?\n?\Z", re.IGNORECASE)


@record
class _Difference:
    """Where two texts differ: lines ``i`` to ``j`` of the old one became ``k`` to ``n`` of the new
    one (from 0; ``j`` and ``n`` are the first ones behind)."""

    i: int
    j: int
    k: int
    n: int

    def through(self, other: _Difference) -> _Difference:
        """With all lines up to the end of a later one."""
        return _Difference(self.i, other.j, self.k, other.n)


class NotConfinedError(Exception):
    """A change reaches configurations for which it is not proved."""


@dataclass(slots=True)
class Place:
    """A change: ``new`` lines in front of a line, or instead of some from there on.

    ``first``: the number of that line, from 1; ``removed``: how many lines go; ``path``: the tests
    that led there.
    """

    first: int
    removed: int
    new: list[str] = field(default_factory=list)
    path: Sequence[MacroTest] = ()

    @property
    def last(self) -> int:
        """The number of the last line that goes, or of the line before the new ones."""
        return self.first + self.removed - 1


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


class Merging:
    """The file ``before``, into which the changes from ``selected`` to ``after`` go.

    ``shifted``: in free form, lines that only stand in another column count as changed; else they
    stay in the old one.
    """

    def __init__(
        self,
        before: str,
        selected: str,
        after: str,
        form: Form,
        paths: Paths,
        *,
        shifted: bool = True,
    ) -> None:
        self._old = lines_of(before)
        self._shown = lines_of(selected)
        self._new = lines_of(after)
        self._fixed = form is Form.FIXED
        if not (shifted or self._fixed):
            self._shift_back()
        self._paths = paths
        self._eol = "\r\n" if "\r\n" in before else "\n"
        if len(self._old) != len(self._shown):
            raise NotConfinedError("lines are missing")
        self.places = self._found()

    def needs_conditions(self, tests: Sequence[Sequence[MacroTest]]) -> bool:
        """Whether new lines get a condition, and lines in their place stand in it twice."""
        return any(
            test not in place.path
            for place, wanted in zip(self.places, tests, strict=True)
            for test in wanted
        )

    def text(self, tests: Sequence[Sequence[MacroTest]]) -> str:
        """The changed file; ``tests``: those on which the change at each place rests."""
        out: list[str] = []
        at = 0
        for place, wanted in zip(self.places, tests, strict=True):
            out += self._old[at : place.first - 1]
            at = place.last
            out += self._change(place, wanted)
        return "".join((*out, *self._old[at:]))

    def _change(self, place: Place, tests: Sequence[MacroTest]) -> Iterator[str]:
        old = self._old[place.first - 1 : place.last]
        missing = [test for test in tests if test not in place.path]
        if all(map(_SILENT.match, (*old, *place.new))):
            yield from place.new
            return
        if not set(place.path) <= set(tests):
            raise NotConfinedError(f"line {place.first} is compiled in fewer configurations")
        if not missing:
            yield from place.new
            return
        if not all(map(_SILENT.match, old)):
            yield f"#if {condition(missing) if place.new else _opposite(missing)}{self._eol}"
            yield from self._ended(place.new)
            if place.new:
                yield f"#else{self._eol}"
            yield from self._ended(old)
        else:
            yield f"#if {condition(missing)}{self._eol}"
            yield from self._ended(place.new)
        yield f"#endif{self._eol}"

    def _ended(self, lines: Sequence[str]) -> Iterator[str]:
        return (line if line.endswith("\n") else line + self._eol for line in lines)

    def _found(self) -> list[Place]:
        """The changes in the order of their places."""
        inserted: dict[int, list[str]] = {}
        gone: set[int] = set()
        for one in self._grouped(map(self._without_end, self._differences())):
            old = [at for at in range(one.i, one.j) if not _is_mark(self._shown[at])]
            gone.update(old)
            fresh = [line for line in self._new[one.k : one.n] if not _is_mark(line)]
            if fresh:
                inserted.setdefault(old[0] if old else self._live(one.i), []).extend(fresh)
        found: list[Place] = []
        for at in range(len(self._old) + 1):
            new = inserted.get(at, [])
            last = found[-1].last if found else 0
            if found and at in gone and not new and last == at and found[-1].removed:
                found[-1].removed += 1
            elif at in gone or new:
                path = self._paths(at + 1) if at in gone else self._behind(at)
                if path is None:
                    raise NotConfinedError(f"line {at + 1} is removed")
                found.append(Place(at + 1, int(at in gone), list(new), path))
        return found

    def _live(self, at: int) -> int:
        """The number of lines in front of a place, without those before it that are removed."""
        while at and self._paths(at) is None:
            at -= 1
        return at

    def _behind(self, at: int) -> Sequence[MacroTest] | None:
        return self._paths(at) if at else ()

    def _shift_back(self) -> None:
        old = [line.lstrip(" \t") for line in self._shown]
        new = [line.lstrip(" \t") for line in self._new]
        cut = [self._is_cut(self._new, at) for at in range(len(self._new))]
        for i, k, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            for at in range(size):
                if cut[k + at] == self._is_cut(self._shown, i + at):
                    self._new[k + at] = self._shown[i + at]

    def _differences(self) -> list[_Difference]:
        """What differs: whole statements."""
        old, new = self._shown, self._new
        found: list[_Difference] = []
        codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        changes = [code[1:] for code in codes if code[0] != "equal"]
        ends = [*(i for i, *_ in changes), len(old)][1:]
        for (i, j, k, n), end in zip(changes, ends, strict=True):
            before = found[-1].j if found else 0
            while i > before and (self._is_cut(old, i) or self._is_cut(new, k)):
                i, k = i - 1, k - 1
            while j < end and (self._is_cut(old, j) or self._is_cut(new, n)):
                j, n = j + 1, n + 1
            one = _Difference(i, j, k, n)
            if found and i == before:
                one = found.pop().through(one)
            found.append(one)
        return found

    def _without_end(self, one: _Difference) -> _Difference:
        """A difference without the old lines that are the end of a new statement in free form."""
        begin = one.n - (one.j - one.i)
        if self._fixed or one.i == one.j or begin <= one.k or not self._is_cut(self._new, begin):
            return one
        old, new = self._shown[one.i : one.j], self._new[begin : one.n]
        same = [line.lstrip(" \t") for line in old] == [line.lstrip(" \t") for line in new]
        return _Difference(one.i, one.i, one.k, begin) if same else one

    def _grouped(self, found: Iterable[_Difference]) -> Iterator[_Difference]:
        """Differences, as one where lines that are only new have but comments and blank lines
        between them."""
        last: _Difference | None = None
        for one in found:
            if last is not None:
                through = last.through(one)
                if self._is_silent(self._shown[through.i : through.j]):
                    one = through
                else:
                    yield last
            last = one
        if last is not None:
            yield last

    def _is_silent(self, lines: Sequence[str]) -> bool:
        return all(_SILENT.match(line) and not _is_mark(line) for line in lines)

    def _is_cut(self, lines: Sequence[str], at: int) -> bool:
        """Whether a line goes on with the statement of the line before."""
        if at >= len(lines):
            return False
        if self._fixed:
            return _CONTINUED_FIXED.match(lines[at]) is not None
        before = at - 1
        while before >= 0 and _is_mark(lines[before]):
            before -= 1
        return before >= 0 and _GOES_ON.search(lines[before]) is not None


def _opposite(tests: Sequence[MacroTest]) -> str:
    """A condition that holds where not all tests come out the same."""
    if len(tests) > 1:
        return f"!({condition(tests)})"
    (test,) = tests
    return MacroTest(test.text, not test.holds).condition


def _is_mark(line: str) -> bool:
    return line.lstrip().startswith(MARK)
