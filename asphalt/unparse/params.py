"""The header ``asphalt_params.inc``: K and D of every site in a directory, and its backend where
there are several.

People and tuners edit it, several runs of asphalt write it, and it must be valid in both source
forms.  asphalt merges it line by line: a line that does not have to change is not changed.  A value
that differs from the one that asphalt wrote (recorded in the comment behind it) belongs to a person
and is kept.

    ! transpose: MPI_Alltoall at exchange.f90:20, tiled along z
          integer, parameter :: asphalt_k_transpose = 4  ! written as: 0
          integer, parameter :: asphalt_d_transpose = 2  ! written as: 2
          integer(merge(kind(0), -1, asphalt_k_transpose >= 0)), & ! K must be 0 or more
         &parameter :: asphalt_valid_k_transpose = 0

The third statement does not compile where K is out of range, and there is one for D
(``header_checks``).  A backend is the procedure that offers it, and the header declares those that
were put in: another one does not compile.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from asphalt.config.backends import backends
from asphalt.config.errors import InputError
from asphalt.config.limits import DEPTH, HEADER, TILE
from asphalt.unparse.header_checks import SECOND, Check, are_those_of, checks, checks_of
from asphalt.unparse.header_entry import HeaderEntry as HeaderEntry
from asphalt.unparse.header_entry import either, external_of, lines_of

_TITLE = (
    "! Written by asphalt. Edit the numbers and rebuild; there is no need to run asphalt again.",
    "! k: iterations of a tile, 0 for a choice on entry; d: tiles in flight, at least 1.",
)
_LIMITS = {"k": TILE, "d": DEPTH}
_VALUE = re.compile(
    r"(?P<before>\s*(?:integer\s*,\s*parameter\s*::|procedure\(\)\s*,\s*pointer\s*::|&)\s*"
    r"asphalt_(?P<what>[kd]|backend)_(?P<site>\w+)\s*=>?\s*)"
    r"(?P<value>[^!;&,]*?)(?P<after>\s*(?:!.*)?)",
    re.IGNORECASE | re.ASCII,
)
_OPENED = re.compile(
    r"\s*(?:integer\s*,\s*parameter|procedure\(\)\s*,\s*pointer)\s*::\s*&\s*",
    re.IGNORECASE | re.ASCII,
)
# What a header may hold besides: declarations, their continuation, what the preprocessor reads.
_BELONGS = re.compile(
    r"\s*&|\s*#|     [^\s0]|\s*(?:integer|real|double\s*precision|logical|complex|character|type"
    r"|parameter|dimension|implicit|include|save|data|use|external|procedure)\b",
    re.IGNORECASE,
)
_MENTION = re.compile(r"\basphalt_(?:[kd]|backend)_(\w+)", re.IGNORECASE | re.ASCII)
_OFFERED = re.compile(r"\s*external\s*::\s*asphalt_by_(\w+)\s*", re.IGNORECASE | re.ASCII)
_BACKEND = re.compile(r"[^!]*\basphalt_backend_\w+\s*=>", re.IGNORECASE | re.ASCII)
_SITE = re.compile(
    r"! \w+: .* at \S+:\d+, tiled along|\s*integer\s*,\s*parameter\s*::", re.IGNORECASE
)
_BEGUN = re.compile(r"\s*&\s*asphalt_backend_\w+\s*=>\s*&\s*", re.IGNORECASE | re.ASCII)
_WRITTEN = re.compile(r"written as: (\w+)")


@dataclass(slots=True)
class _Site:
    """Where the lines of a site are: indices, and of K, D and the backend also the match.

    ``checks``: of K and D.
    """

    comment: int | None = None
    checks: list[Check] = field(default_factory=list)
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
    edits = _Edits(lines, str(path))
    for name in drop:
        edits.remove(sites.pop(name.lower(), _Site()))
    for entry in sorted(entries, key=lambda entry: entry.site.lower()):
        known = sites.get(entry.site.lower(), _Site())
        if not known.lines.keys() & {"k", "d"}:
            edits.remove(known)
            at = _place_for(entry.site.lower(), sites, lines)
            edits.insert(at, [entry.comment, *lines_of(entry, "k"), *lines_of(entry, "d")])
            edits.insert(at, checks_of(entry.site))
            if "backend" in entry.names:
                edits.insert(at, lines_of(entry, "backend"))
        else:
            _refresh(known, entry, edits)
    ending = "\r" if existing and "\r\n" in existing else ""
    put_in = {name for entry in entries if "backend" in entry.names for name in entry.backends}
    merged = _with_offers(edits.result(ending), put_in, ending)
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
            value, written = _value(match), _WRITTEN.search(match["after"])
            own = written is None or written[1] != value
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
    known: set[int] = set()
    offered = _offered(lines)
    for check in checks(lines):
        sites.setdefault(check.site, _Site()).checks.append(check)
        known.update(check.lines)
    for index, line in enumerate(lines):
        if index in known:
            continued = False
            continue
        if _BEGUN.fullmatch(line) and index + 1 < len(lines):
            continue
        whole = line
        if index and _BEGUN.fullmatch(lines[index - 1]):
            whole = lines[index - 1].rstrip().removesuffix("&") + line.strip().removeprefix("&")
        match = _VALUE.fullmatch(whole)
        if match is None:
            code = line.split("!", 1)[0] if line[:1] not in ("C", "c", "*") else ""
            for mention in _MENTION.finditer(code):
                if mention[1].lower() in wanted:
                    raise InputError(
                        path,
                        index + 1,
                        f"write '{mention[0]} {_form_of(mention[0])}' line of its own; "
                        "asphalt does not know this form",
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
        _check(match, what, path, index + 1, offered)
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


def _form_of(name: str) -> str:
    """What a value is, and in what kind of statement it stands."""
    if name.lower().startswith("asphalt_backend_"):
        return "=> asphalt_by_NAME' in a 'procedure(), pointer ::"
    return "= NUMBER' in an 'integer, parameter ::"


def _value(match: re.Match[str]) -> str:
    """The value of a line, as ``HeaderEntry.of`` has it; ``_check`` has looked at it."""
    text = match["value"]
    if match["what"].lower() == "backend":
        return text.lower().removeprefix("asphalt_by_")
    return str(int(text))


def _check(match: re.Match[str], what: str, path: str, line: int, offered: Collection[str]) -> None:
    value = match["value"]
    name = f"asphalt_{what}_{match['site']}"
    if what == "backend":
        known = tuple(dict.fromkeys((*backends(), *offered)))
        if not value.lower().startswith("asphalt_by_") or _value(match) not in known:
            message = f"{name} must be {either(known)}, not {value}"
            raise InputError(path, line, message)
        return
    limits = _LIMITS[what]
    if not re.fullmatch(r"[+-]?\d+", value, re.ASCII) or int(value) < limits.least:
        message = f"{name} must be a whole number from {limits.least} up, not '{value}'"
        raise InputError(path, line, message)
    if int(value) > limits.most:
        raise InputError(path, line, f"{name} must be {limits.most} or less, not {value}")


def _start(index: int, lines: Sequence[str]) -> int:
    """The first line of the statement whose value stands in line ``index``."""
    while index and lines[index].lstrip().startswith("&"):
        before = lines[index - 1]
        if not (_BEGUN.fullmatch(before) or _OPENED.fullmatch(before)):
            break
        index -= 1
    return index


class _Edits:
    """Lines to be put in front of lines of the header, or in their place."""

    def __init__(self, lines: Sequence[str], path: str = HEADER) -> None:
        self.lines = lines
        self.path = path
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
        for check in site.checks:
            self.replaced.update({at: [] for at in check.lines})

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
        if what not in site.values:
            other = site.lines["d" if what == "k" else "k"]
            at = _start(other, edits.lines) if what == "k" else other + 1
            edits.insert(at, lines_of(entry, what))
    for what, match in site.values.items():
        if what not in entry.names:
            continue
        written = _WRITTEN.search(match["after"])
        new = entry.of(what)
        if written and written[1] == _value(match) != new:
            after = _WRITTEN.sub(f"written as: {new}", match["after"])
            at = site.lines[what]
            before = match["before"] if match.string == edits.lines[at] else SECOND
            text = f"asphalt_by_{new}" if what == "backend" else new
            edits.replaced[at] = [f"{before}{text}{after}"]

    end = max(site.lines[what] for what in ("k", "d") if what in site.lines) + 1
    if are_those_of(entry.site, site.checks):
        end = max(check.lines.stop for check in site.checks)
    else:
        for check in site.checks:
            edits.replaced.update({at: [] for at in check.lines})
        edits.insert(end, checks_of(entry.site))
    _refresh_backend(site, entry, end, edits)


def _offered(lines: Sequence[str]) -> tuple[str, ...]:
    """The backends whose procedures a header declares."""
    found = (_OFFERED.fullmatch(line.partition("!")[0]) for line in lines)
    return tuple(match[1].lower() for match in found if match)


def _with_offers(lines: list[str], put_in: Collection[str], ending: str) -> list[str]:
    """The header with declarations of what offers the backends, if a site can choose one."""
    known = _offered(lines)
    wanted: set[str] = set()
    if any(map(_BACKEND.match, lines)):
        wanted = set(put_in) - set(known)
    elif known:
        return [line for line in lines if not _offered([line])]
    if not wanted:
        return lines
    at = next((n for n, line in enumerate(lines) if _SITE.match(line)), len(lines))
    return [*lines[:at], *(external_of(name) + ending for name in sorted(wanted)), *lines[at:]]


def _refresh_backend(site: _Site, entry: HeaderEntry, end: int, edits: _Edits) -> None:
    """Bring the line of the backend up to date: it stands at ``end``."""
    at = site.lines.get("backend")
    if "backend" in entry.names:
        value = None if at is None else _value(site.values["backend"])
        known = {*entry.backends, *_offered(edits.lines)}
        if value is not None and value not in known and at not in edits.replaced:
            name = f"asphalt_backend_{entry.site}"
            message = f"{name} must be {either(entry.backends)}, or else be put in by --backend"
            raise InputError(edits.path, (at or 0) + 1, message)
        if at is None:
            edits.insert(end, lines_of(entry, "backend"))
    elif at is not None:
        edits.replaced.update({line: [] for line in range(_start(at, edits.lines), at + 1)})


def _place_for(name: str, sites: dict[str, _Site], lines: Sequence[str]) -> int:
    """The line in front of which a new site goes: names are in order, whoever comes first."""
    later = [site for other, site in sites.items() if other > name and site.lines]
    starts = [_start(at, lines) for site in later for at in site.lines.values()]
    starts += [site.comment for site in later if site.comment is not None]
    return min(starts, default=len(lines))


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
