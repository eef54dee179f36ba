"""Writes transformed files: into a mirrored tree, or in place.

All refusals come before the first file is written.  The parameter header and the runtime are
written before the sources that need them.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

from asphalt.config.backends import modules_of
from asphalt.config.errors import InputError, UsageError
from asphalt.config.limits import HEADER
from asphalt.config.runtime import is_runtime_source, needed, runtime_modules
from asphalt.diagnostics.model import ProblemReport
from asphalt.ir.records import record
from asphalt.output.atomic import link_atomically, write_atomically
from asphalt.output.ledger import add_to_ledger, fingerprint, read_ledger
from asphalt.output.left_backends import LeftBackends, left_backends, remove
from asphalt.output.mirror import Mirror, MirroredFile, absolute, base_of, plan_mirror
from asphalt.output.modules import modules_used_in
from asphalt.unparse.params import HeaderEntry, kept_values, merge_header, update_header

_MODULE = re.compile(rb"^module (\w+)", re.MULTILINE)


class TransformedFile(Protocol):
    """A transformed file: its bytes before and after, and its entries in the header."""

    @property
    def path(self) -> Path: ...
    @property
    def before(self) -> bytes: ...
    @property
    def after(self) -> bytes: ...
    @property
    def parameters(self) -> tuple[HeaderEntry, ...]: ...


@record
class Written:
    """The files that a run wrote.

    ``files``: all mirrored files (in place: the transformed ones); ``transformed``: those with
    transformed sites; ``rewritten``: all whose content on disk is new; ``headers``: the parameter
    headers; ``runtime``: the sources of the runtime that the tree needs, in the order to compile
    them.
    """

    files: tuple[Path, ...]
    transformed: tuple[Path, ...]
    rewritten: tuple[Path, ...]
    headers: tuple[Path, ...]
    runtime: tuple[Path, ...]
    problems: tuple[ProblemReport, ...] = ()


def write_tree(
    paths: Sequence[Path],
    changes: Sequence[TransformedFile],
    output: Path,
    *,
    root: Path | None = None,
    force: bool = False,
    include_dirs: Sequence[str] | None = None,
) -> Written:
    """Mirror the given trees and files below ``output``, with ``changes`` applied.

    ``include_dirs``: see ``plan_mirror``.

    Raises ``UsageError`` if it would overwrite a file that asphalt has not written (unless
    ``force``), and ``InputError`` if a source has changed since asphalt read it.
    """
    changed = {absolute(change.path): change for change in changes}
    for change in changes:
        _refuse_stale(change)
    contents = {path: change.after for path, change in changed.items()}
    mirror = plan_mirror(paths, contents, output, root, include_dirs)
    planned = {entry.source: entry for entry in mirror.entries if entry.link is None}
    problems = [
        ProblemReport(str(path), None, _LINKED) for path in _not_mirrored(mirror, list(changed))
    ]
    transformed = {planned[path]: change for path, change in changed.items() if path in planned}
    parameters: dict[Path, list[HeaderEntry]] = defaultdict(list)
    for entry, change in transformed.items():
        parameters[entry.destination.parent].extend(change.parameters)
    entries = _with_headers(mirror, tuple(transformed))
    runtime: list[MirroredFile] = []
    left = LeftBackends()
    if parameters:
        texts = [change.after for change in transformed.values()]
        given = {
            entry.destination
            for entry in entries
            if entry.link is None
            and is_runtime_source(entry.destination)
            and _has_module(entry.content(), entry.destination.stem)
        }
        runtime, left = _runtime_entries(mirror.output, parameters, texts, given)
        own = {entry.destination for entry in runtime}
        for entry in entries:
            if entry.destination in own - given and not force:
                raise UsageError(
                    f"{entry.source}: has the name of a file of asphalt's runtime; rename it"
                )
        entries = [entry for entry in entries if entry.destination not in own] + runtime
    _refuse_foreign(mirror.output, entries, force)
    _refuse_bad_headers(parameters)

    for directory in mirror.directories:
        directory.mkdir(parents=True, exist_ok=True)
    prints = {
        str(entry.destination.relative_to(mirror.output)): _fingerprint(entry) for entry in entries
    }
    add_to_ledger(mirror.output, prints)
    return Written(
        tuple(entry.destination for entry in mirror.entries),
        tuple(entry.destination for entry in transformed),
        _write_all(entries, parameters),
        tuple(directory / HEADER for directory, found in parameters.items() if found),
        tuple(entry.destination for entry in runtime),
        (
            *mirror.problems,
            *problems,
            *_kept_values(parameters),
            *remove(mirror.output, left.files),
        ),
    )


_LINKED = "is only reached by a symbolic link, so it is not mirrored"


def not_mirrored(
    paths: Sequence[Path],
    changes: Sequence[TransformedFile],
    output: Path,
    *,
    root: Path | None = None,
    include_dirs: Sequence[str] | None = None,
) -> dict[Path, str]:
    """The changed files that ``write_tree`` would not write, each with the reason."""
    contents = {absolute(change.path): change.after for change in changes}
    mirror = plan_mirror(paths, contents, output, root, include_dirs)
    left = set(_not_mirrored(mirror, list(contents)))
    return {change.path: _LINKED for change in changes if absolute(change.path) in left}


def _not_mirrored(mirror: Mirror, changed: Sequence[Path]) -> list[Path]:
    planned = {entry.source for entry in mirror.entries if entry.link is None}
    mirrored = {os.path.realpath(entry.source) for entry in mirror.entries}
    return [
        path for path in changed if path not in planned and os.path.realpath(path) not in mirrored
    ]


def not_in_place(
    paths: Sequence[Path], changes: Sequence[TransformedFile], parts: Iterable[Path] = ()
) -> dict[Path, str]:
    """The changed files that ``write_in_place`` would not write, each with the reason."""
    named = {absolute(path) for path in (*paths, *parts)}
    trees = [os.path.realpath(path) for path in paths if path.is_dir()]
    found: dict[Path, str] = {}
    for change in changes:
        real = Path(os.path.realpath(change.path))
        if absolute(change.path) not in named and not any(map(real.is_relative_to, trees)):
            message = f"is a link to {real}, outside; name the link itself to change that file"
            found[change.path] = message
    return found


def write_in_place(
    paths: Sequence[Path],
    changes: Sequence[TransformedFile],
    *,
    force: bool = False,
    parts: Iterable[Path] = (),
) -> Written:
    """Write the headers and the runtime, then replace the sources that ``changes`` names.

    ``parts``: files that the named ones include, and that count as named.

    If a source is a symbolic link, its target is replaced, provided that the user named the link or
    the target is in a given tree.  Raises the same errors as ``write_tree``.
    """
    left = not_in_place(paths, changes, parts)
    problems = [ProblemReport(str(path), None, message) for path, message in left.items()]
    parameters: dict[Path, list[HeaderEntry]] = defaultdict(list)
    entries: list[MirroredFile] = []
    for change in changes:
        _refuse_stale(change)
        if change.path in left:
            continue
        real = Path(os.path.realpath(change.path))
        if not os.access(real.parent, os.W_OK) or not os.access(real, os.W_OK):
            raise InputError(str(change.path), None, "cannot be written; check its permissions")
        parameters[real.parent].extend(change.parameters)
        entries.append(MirroredFile(real, real, stat.S_IMODE(real.stat().st_mode), change.after))
    if not entries:
        return Written((), (), (), (), (), tuple(problems))
    texts = [entry.content() for entry in entries]
    top = Path(os.path.realpath(base_of(paths)))
    runtime, unused = _runtime_entries(top, parameters, texts, ())
    places = tuple(entry.destination for entry in runtime)
    for place in places:
        if place.exists() and not force and not _is_runtime(place):
            raise UsageError(f"{place}: was not written by asphalt; move it away or use --force")
    _refuse_bad_headers(parameters)
    sources = tuple(entry.destination for entry in entries)
    return Written(
        sources,
        sources,
        _write_all([*runtime, *entries], parameters),
        tuple(directory / HEADER for directory, found in parameters.items() if found),
        places,
        (*problems, *_kept_values(parameters), *remove(top, unused.files)),
    )


def _refuse_stale(change: TransformedFile) -> None:
    if change.path.read_bytes() != change.before:
        raise InputError(str(change.path), None, "has changed while asphalt worked; run it again")


def _with_headers(mirror: Mirror, transformed: Sequence[MirroredFile]) -> list[MirroredFile]:
    """The entries to write.  An existing parameter header is merged later, not copied; the header
    beside a transformed source is the start of a new header."""
    entries = {entry.destination: entry for entry in mirror.entries}
    for entry in transformed:
        header, source = entry.destination.with_name(HEADER), entry.source.with_name(HEADER)
        if source.is_file():
            mode = stat.S_IMODE(source.stat().st_mode)
            entries.setdefault(header, MirroredFile(header, source, mode))
    return [
        entry for path, entry in entries.items() if path.name != HEADER or not os.path.lexists(path)
    ]


def _refuse_foreign(output: Path, entries: Sequence[MirroredFile], force: bool) -> None:
    """Raise ``UsageError`` if writing would overwrite a file that asphalt has not written."""
    ledger = read_ledger(output)
    real_output = Path(os.path.realpath(output))
    for entry in entries:
        path = entry.destination
        if not Path(os.path.realpath(path.parent)).is_relative_to(real_output):
            raise UsageError(f"{path}: a symbolic link leads out of --output; remove it")
        if path.is_dir() and not path.is_symlink():
            raise UsageError(f"{path}: is a directory where a file is to be written; remove it")
        if force or not os.path.lexists(path):
            continue
        known = ledger.get(str(path.relative_to(output)), frozenset())
        if not ({_fingerprint_on_disk(path)} & {*known, _fingerprint(entry)}) and not (
            is_runtime_source(path) and _is_runtime(path)
        ):
            raise UsageError(
                f"{path}: was not written by asphalt, or edited since; move it away or use --force"
            )


def _refuse_bad_headers(parameters: Mapping[Path, Sequence[HeaderEntry]]) -> None:
    """Raise ``InputError`` for a header that an edit made unreadable."""
    _merged_headers(parameters)


def _merged_headers(parameters: Mapping[Path, Sequence[HeaderEntry]]) -> dict[Path, str]:
    """The headers that are there already, as they will be."""
    return {
        header: merge_header(header.read_bytes().decode("latin-1"), entries, path=header)
        for directory, entries in parameters.items()
        if (header := directory / HEADER).exists()
    }


def _kept_values(parameters: Mapping[Path, Sequence[HeaderEntry]]) -> list[ProblemReport]:
    """Notes on values in headers that win over those of the command line."""
    return [
        ProblemReport(str(directory / HEADER), line, message, note=True)
        for directory, entries in parameters.items()
        for line, message in kept_values(directory / HEADER, entries)
    ]


def _fingerprint(entry: MirroredFile) -> str:
    return fingerprint(
        entry.content() if entry.link is None else b"link to " + os.fsencode(entry.link)
    )


def _fingerprint_on_disk(path: Path) -> str:
    if path.is_symlink():
        return fingerprint(b"link to " + os.fsencode(os.readlink(path)))
    return fingerprint(path.read_bytes())


def _write(entry: MirroredFile) -> bool:
    if entry.link is not None:
        return link_atomically(entry.destination, entry.link)
    durable = entry.data is not None
    return write_atomically(entry.destination, entry.content(), entry.mode, durable=durable)


def _write_all(
    entries: Sequence[MirroredFile], parameters: Mapping[Path, Sequence[HeaderEntry]]
) -> tuple[Path, ...]:
    """Write copies, then headers, then the rest; returns the files whose content changed."""
    rewritten = [entry.destination for entry in entries if entry.data is None and _write(entry)]
    rewritten += [
        directory / HEADER
        for directory, found in parameters.items()
        if found and update_header(directory / HEADER, found)
    ]
    rewritten += [
        entry.destination for entry in entries if entry.data is not None and _write(entry)
    ]
    return tuple(dict.fromkeys(rewritten))


def _runtime_entries(
    top: Path,
    parameters: Mapping[Path, Sequence[HeaderEntry]],
    sources: Sequence[bytes],
    given: Collection[Path],
) -> tuple[list[MirroredFile], LeftBackends]:
    """The files of the runtime that the ``sources`` need, in the order to compile them; and what is
    left of backends that nothing names any more.

    Their place is where others of them are already, at or above the transformed files but not above
    ``top``; else the deepest directory that holds all transformed files.  What is there already is
    written, too: other files may use it, and all of the runtime is of one version.
    ``parameters``: the entries of the headers, by their directories; ``given``: files that will be
    there.
    """
    deepest = Path(os.path.commonpath(list(parameters)))
    place, there = deepest, frozenset[str]()
    for directory in (deepest, *deepest.parents):
        if not directory.is_relative_to(top):
            break
        there = frozenset(
            module.name
            for module in runtime_modules().values()
            if (path := directory / module.file) in given or _is_runtime(path)
        )
        if there:
            place = directory
            break
    used = put_in_modules(chain(*parameters.values())).union(*map(used_runtime, sources))
    headers = _merged_headers(parameters)
    copied = {path.stem for path in given if path.parent == place}
    left = left_backends(top, place, there, used | copied, headers)
    entries = [
        MirroredFile(place / module.file, module.source, 0o644, module.source.read_bytes())
        for module in needed(there.union(used) - left.modules)
    ]
    return entries, left


def put_in_modules(entries: Iterable[HeaderEntry]) -> frozenset[str]:
    """The modules of the backends that entries of headers can choose."""
    names = (entry.backends for entry in entries if "backend" in entry.names)
    return modules_of(name for several in names for name in several)


def used_runtime(source: bytes) -> frozenset[str]:
    """The modules of the runtime that a source uses: none where statements have only changed their
    order."""
    return modules_used_in(source) & runtime_modules().keys()


def _is_runtime(path: Path) -> bool:
    """Whether a file is a source of the runtime, of whatever version."""
    return path.is_file() and _has_module(path.read_bytes(), path.stem)


def _has_module(content: bytes, name: str) -> bool:
    return name.encode() in _MODULE.findall(content)
