"""One set of macros for all sources of a program, where each source sees its own.

A build may give some sources options -D that others do not have.  What a source does not mention
means nothing to it, so that all can be read with the macros of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from asphalt.building.database import Entry
from asphalt.config.sentinels import macros_of
from asphalt.output.included import included_files

_WORD = re.compile(rb"[A-Za-z_]\w*")
_PASTES = re.compile(rb"##|/\*.*?\*/", re.DOTALL)


def common_defines(entries: Sequence[Entry]) -> tuple[str, ...] | str:
    """The macros of all sources, as after -D; or why no such set means the same to each."""
    by_source = [{_name(one): one for one in entry.reading.defines} for entry in entries]
    first = entries[0]
    differing = {
        name
        for own in by_source
        for name in own
        if any(own[name] != o.get(name) for o in by_source)
    }
    if not differing:
        return first.reading.defines
    chosen: dict[str, tuple[str | None, Entry]] = {}
    for entry, own in zip(entries, by_source, strict=True):
        words = _words(entry, [own[name] for name in own])
        if words is None:
            return (
                f"{entry.path} puts names of macros together, and not all sources have the same -D"
            )
        for name in differing & words:
            known = chosen.setdefault(name, (own.get(name), entry))
            if known[0] != own.get(name):
                return (
                    f"{known[1].path} and {entry.path} are compiled with different -D, for {name}"
                )
    kept = {name: one for own in by_source for name, one in own.items() if name not in differing}
    used = {name: value for name, (value, _) in chosen.items() if value is not None}
    return tuple({**kept, **used}.values())


def _name(define: str) -> str:
    return define.partition("=")[0].partition("(")[0]


def _words(entry: Entry, defines: Sequence[str]) -> frozenset[str] | None:
    """The words of a source, of what it includes, and of the values of its macros, with the macros
    that decide about its directives; None: the preprocessor may make more of them."""
    paths = (entry.path, *included_files(entry.path, entry.reading.include_dirs))
    texts = [path.read_bytes() for path in paths if path.is_file()]
    if any(_PASTES.search(text) for text in texts):
        return None
    values = [one.partition("=")[2].encode() for one in defines]
    read = frozenset[str]().union(*(macros_of(text.decode("latin-1")) for text in texts))
    return read | {word.decode() for text in (*texts, *values) for word in _WORD.findall(text)}
