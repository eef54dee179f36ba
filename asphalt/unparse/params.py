"""The header ``asphalt_params.inc``: K and D of every site in a directory.

People and tuners edit it, several runs of asphalt write it, and it must be valid in both source
forms.  asphalt merges it line by line: a line that does not have to change is not changed.  A value
that differs from the one that asphalt wrote (recorded in the comment behind it) belongs to a person
and is kept.

    ! transpose: MPI_Alltoall at exchange.f90:20, tiled along z
          integer, parameter :: asphalt_k_transpose = 4  ! written as: 0
          integer, parameter :: asphalt_d_transpose = 2  ! written as: 2
          integer(merge(kind(0), -1, asphalt_k_transpose >= 0 .and. &
         &asphalt_d_transpose >= 1)), parameter :: asphalt_valid_transpose = 0

The third statement of a site does not compile where one of the values is out of range.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from asphalt.config.errors import InputError
from asphalt.config.limits import DEPTH, HEADER, TILE

_TITLE = (
    "! Written by asphalt. Edit the numbers and rebuild; there is no need to run asphalt again.",
    "! k: iterations of a tile, 0 for a choice on entry; d: tiles in flight, at least 1.",
)
_LIMITS = {"k": TILE, "d": DEPTH}
_OPENING = "      integer, parameter ::"
_FIXED_WIDTH = 72  # columns of code; what is not a comment ends here in fixed form
_VALUE = re.compile(
    r"(?P<before>\s*(?:integer\s*,\s*parameter\s*::|&)\s*asphalt_(?P<what>[kd])_(?P<site>\w+)\s*=\s*)"
    r"(?P<value>[^!;&,]*?)(?P<after>\s*(?:!.*)?)",
    re.IGNORECASE | re.ASCII,
)
_OPENED = re.compile(r"\s*integer\s*,\s*parameter\s*::\s*&\s*", re.IGNORECASE | re.ASCII)
# What a header may hold besides: declarations, their continuation, what the preprocessor reads.
_BELONGS = re.compile(
    r"\s*&|\s*#|     [^\s0]|\s*(?:integer|real|double\s*precision|logical|complex|character|type"
    r"|parameter|dimension|implicit|include|save|data|use)\b",
    re.IGNORECASE,
)
_MENTION = re.compile(r"\basphalt_[kd]_(\w+)", re.IGNORECASE | re.ASCII)
_CHECK = re.compile(
    r"integer\(merge\(kind\(0\),-1,asphalt_k_(\w+)>=0\.and\.asphalt_d_\1>=1\)\),"
    r"parameter::asphalt_valid_\1=0",
    re.IGNORECASE | re.ASCII,
)
_WRITTEN = re.compile(r"written as: (\d+)")


@dataclass(frozen=True, slots=True)
class HeaderEntry:
    """The header's entry for one site; ``source`` is ``file:line``, ``loop`` what is tiled.

    ``asked``: the origin of the values, by ``k`` and ``d`` (``--tile``, say), where a user gave
    them.
    """

    site: str
    operation: str
    source: str
    loop: str
    tile: int
    depth: int
    asked: Mapping[str, str] = field(default_factory=dict)

    def of(self, what: str) -> int:
        """The value of ``k`` or ``d``."""
        return self.tile if what == "k" else self.depth

    @property
    def comment(self) -> str:
        """The line that introduces the site."""
        text = f"! {self.site}: {self.operation} at {self.source}, tiled along {self.loop}"
        # one line in every character set, also where a preprocessor joins lines at a backslash
        return re.sub(r"[^ -\[\]-~]", "?", text)


@dataclass(slots=True)
class _Site:
    """Where the lines of a site are: indices, and of K and D also the match."""

    comment: int | None = None
    check: range | None = None
    lines: dict[str, int] = field(default_factory=dict)
    values: dict[str, re.Match[str]] = field(default_factory=dict)


def merge_header(
    existing: str | None,
    entries: Sequence[HeaderEntry],
    drop: Collection[str] = (),
    path: str | Path = HEADER,
) -> str:
    """The header with ``entries`` in it, and without the sites named in ``drop``.

    It keeps sites of other files, comments, and values that somebody changed.

    Raises:
        InputError: a value is no number or out of range, a name is defined twice, a line with one
            of these sites has a form that asphalt does not write, or no header holds such a line.
    """
    lines = existing.removesuffix("\n").split("\n") if existing else list(_TITLE)
    wanted = {entry.site.lower() for entry in entries} | {name.lower() for name in drop}
    sites = _read(lines, wanted, str(path))
    edits = _Edits(lines)
    for name in drop:
        edits.remove(sites.pop(name.lower(), _Site()))
    for entry in sorted(entries, key=lambda entry: entry.site.lower()):
        known = sites.get(entry.site.lower(), _Site())
        if not known.lines:
            edits.remove(known)
            at = _place_for(entry.site.lower(), sites, lines)
            values = (*_lines_of(entry, "k"), *_lines_of(entry, "d"))
            edits.insert(at, [entry.comment, *values, *_check_of(entry.site)])
        else:
            _refresh(known, entry, edits)
    merged = edits.result("\r" if existing and "\r\n" in existing else "")
    return existing if existing and merged == lines else "\n".join([*merged, ""])


def check_header(path: Path) -> None:
    """Read the header at ``path``, if there is one.

    Raises:
        InputError: it holds a line that cannot stand in a header, or a value out of range.
    """
    content = _content(path)
    if content is not None:
        merge_header(content.decode("latin-1"), (), path=path)


def kept_values(path: Path, entries: Sequence[HeaderEntry]) -> list[tuple[int, str]]:
    """The lines of the header at ``path`` that keep a person's value although the run asked for
    another one: line numbers from 1, and a message."""
    content = _content(path)
    if content is None:
        return []
    lines = content.decode("latin-1").removesuffix("\n").split("\n")
    sites = _read(lines, {entry.site.lower() for entry in entries}, str(path))
    found: list[tuple[int, str]] = []
    for entry in entries:
        known = sites.get(entry.site.lower(), _Site())
        for what, match in known.values.items():
            value, written = int(match["value"]), _WRITTEN.search(match["after"])
            own = written is None or int(written[1]) != value
            if what in entry.asked and own and value != entry.of(what):
                name, source = f"asphalt_{what}_{entry.site}", entry.asked[what]
                message = (
                    f"{name} = {value} was set here by hand and is kept, although {source} says "
                    f"{entry.of(what)}; remove the line to have it written anew"
                )
                found.append((known.lines[what] + 1, message))
    return sorted(found)


def update_header(path: Path, entries: Sequence[HeaderEntry], drop: Collection[str] = ()) -> bool:
    """Merge ``entries`` into the header at ``path``; True if that changed it.

    Several processes may do this at once.  The file is replaced as a whole, so that a reader, or a
    killed run, finds it either old or new.

    Raises:
        InputError: see ``merge_header``; the file is not changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        existing = _content(path)
        text = None if existing is None else existing.decode("latin-1")
        merged = merge_header(text, entries, drop, path).encode("latin-1")
        if merged == existing:
            return False
        _replace(path, merged)
    return True


def _read(lines: Sequence[str], wanted: Collection[str], path: str) -> dict[str, _Site]:
    """The sites of a header; sites that are not ``wanted`` may be written in any way."""
    sites: dict[str, _Site] = {}
    continued = False
    checks = _checks(lines)
    for name, places in checks.items():
        sites.setdefault(name, _Site()).check = places
    known = {index for places in checks.values() for index in places}
    for index, line in enumerate(lines):
        if index in known:
            continued = False
            continue
        match = _VALUE.fullmatch(line)
        if match is None:
            code = line.split("!", 1)[0] if line[:1] not in ("C", "c", "*") else ""
            for mention in _MENTION.finditer(code):
                if mention[1].lower() in wanted:
                    raise InputError(
                        path,
                        index + 1,
                        f"write '{mention[0]} = NUMBER' in an 'integer, parameter ::' line of its "
                        "own; asphalt does not know this form",
                    )
            if code.strip() and not (continued or _BELONGS.match(code)):
                raise InputError(
                    path,
                    index + 1,
                    "no header holds such a line; remove it, or make it a comment with '!'",
                )
            continued = code.rstrip().endswith("&") or (continued and not code.strip())
            continue
        continued = False
        what, name = match["what"].lower(), match["site"].lower()
        _check(match, what, path, index + 1)
        site = sites.setdefault(name, _Site())
        if what in site.values:
            first = site.lines[what] + 1
            raise InputError(path, index + 1, f"asphalt_{what}_{name} is also set in line {first}")
        site.lines[what] = index
        site.values[what] = match
    for name, site in sites.items():
        if not site.lines:
            continue
        above = min(_start(at, lines) for at in site.lines.values()) - 1
        if above >= 0 and lines[above].lower().startswith(f"! {name}:"):
            site.comment = above
    return sites


def _checks(lines: Sequence[str]) -> dict[str, range]:
    """The statements that check values, by their sites."""
    found: dict[str, range] = {}
    for index, line in enumerate(lines):
        if not line.lstrip().lower().startswith("integer(merge("):
            continue
        end, text = index, line
        while text.rstrip().endswith("&") and end + 1 < len(lines):
            end += 1
            text = text.rstrip()[:-1] + lines[end].strip().removeprefix("&")
        match = _CHECK.fullmatch("".join(text.split()))
        if match is not None:
            found[match[1].lower()] = range(index, end + 1)
    return found


def _check(match: re.Match[str], what: str, path: str, line: int) -> None:
    value = match["value"]
    name, limits = f"asphalt_{what}_{match['site']}", _LIMITS[what]
    if not re.fullmatch(r"[+-]?\d+", value, re.ASCII) or int(value) < limits.least:
        message = f"{name} must be a whole number from {limits.least} up, not '{value}'"
        raise InputError(path, line, message)
    if int(value) > limits.most:
        raise InputError(path, line, f"{name} must be {limits.most} or less, not {value}")


def _start(index: int, lines: Sequence[str]) -> int:
    """The first line of the statement whose value stands in line ``index``."""
    continued = lines[index].lstrip().startswith("&")
    return index - 1 if continued and index and _OPENED.fullmatch(lines[index - 1]) else index


class _Edits:
    """Lines to be put in front of lines of the header, or in their place."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.inserted: dict[int, list[str]] = {}
        self.replaced: dict[int, list[str]] = {}

    def insert(self, at: int, new: Sequence[str]) -> None:
        """Put new lines before line ``at``, after those that were put there already."""
        self.inserted.setdefault(at, []).extend(new)

    def remove(self, site: _Site) -> None:
        """Leave out all lines of a site."""
        for at in site.lines.values():
            self.replaced.update({i: [] for i in range(_start(at, self.lines), at + 1)})
        if site.comment is not None:
            self.replaced[site.comment] = []
        self.replaced.update({at: [] for at in site.check or ()})

    def result(self, ending: str) -> list[str]:
        """The lines after all edits; ``ending`` is added to new ones."""
        result: list[str] = []
        for at in range(len(self.lines) + 1):
            result += [line + ending for line in self.inserted.get(at, ())]
            result += self.replaced.get(at, self.lines[at : at + 1])
        return result


def _refresh(site: _Site, entry: HeaderEntry, edits: _Edits) -> None:
    """Bring the lines of a site up to date; values that somebody changed stay."""
    if site.comment is not None:
        ending = "\r" if edits.lines[site.comment].endswith("\r") else ""
        edits.replaced[site.comment] = [entry.comment + ending]
    for what in ("k", "d"):
        match = site.values.get(what)
        if match is None:
            (other,) = site.lines.values()
            at = _start(other, edits.lines) if what == "k" else other + 1
            edits.insert(at, _lines_of(entry, what))
            continue
        written = _WRITTEN.search(match["after"])
        new = entry.of(what)
        if written and int(written[1]) == int(match["value"]) != new:
            after = _WRITTEN.sub(f"written as: {new}", match["after"])
            edits.replaced[site.lines[what]] = [f"{match['before']}{new}{after}"]

    if site.check is None:
        edits.insert(max(site.lines.values()) + 1, _check_of(entry.site))


def _place_for(name: str, sites: dict[str, _Site], lines: Sequence[str]) -> int:
    """The line in front of which a new site goes: names are in order, whoever comes first."""
    later = [site for other, site in sites.items() if other > name and site.lines]
    starts = [_start(at, lines) for site in later for at in site.lines.values()]
    starts += [site.comment for site in later if site.comment is not None]
    return min(starts, default=len(lines))


def _lines_of(entry: HeaderEntry, what: str) -> list[str]:
    """The definition of K or D, valid in both source forms."""
    code = f"asphalt_{what}_{entry.site} = {entry.of(what)}"
    note = f"  ! written as: {entry.of(what)}"
    if len(f"{_OPENING} {code}") <= _FIXED_WIDTH:
        return [f"{_OPENING} {code}{note}"]
    if len(code) > _FIXED_WIDTH - 6:
        code = code.replace(" ", "")
    # past column 72 the first & is seen in free form only, in column 6 the second is seen in both
    return [_OPENING.ljust(_FIXED_WIDTH) + "&", f"     &{code}{note}"]


def _check_of(site: str) -> list[str]:
    """The statement that does not compile where K or D is out of range, in both source forms."""
    parts = [
        "integer(merge(kind(0), -1, ",
        f"asphalt_k_{site} ",
        ">= 0 .and. ",
        f"asphalt_d_{site} ",
        ">= 1)), parameter :: ",
        f"asphalt_valid_{site} = 0",
    ]
    lines = [_OPENING[:6]]
    for part in parts:
        if len(lines[-1]) + len(part.rstrip()) > _FIXED_WIDTH:
            lines.append("     &")
        lines[-1] += part
    whole = [line.ljust(_FIXED_WIDTH) + "&" for line in lines[:-1]]
    return [*whole, lines[-1].rstrip()]


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Nobody else is in here with the same directory; leaves no file in it."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # network file systems lock no directories
        os.close(handle)
        digest = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:16]
        name = os.path.join(tempfile.gettempdir(), f"asphalt-{os.getuid()}-{digest}.lock")
        handle = os.open(name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(handle)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(str(path), None, f"cannot be read: {error.strerror}") from error


def _replace(path: Path, content: bytes) -> None:
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
    handle, name = tempfile.mkstemp(".tmp", ".asphalt-", path.parent)
    try:
        with os.fdopen(handle, "wb") as temporary:
            temporary.write(content)
            os.fchmod(temporary.fileno(), mode)
            temporary.flush()
            os.fsync(temporary.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
