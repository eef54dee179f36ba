"""Files of other languages in the tree: whether they may call a Fortran procedure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from asphalt.frontend.source_tree.scan import find_foreign

_PASTE = re.compile(r"\w\s*##\s*_")


class ForeignFiles:
    """The C and C++ files below some roots; each is read on the first question about it.

    ``parts``: files whose text stands in a Fortran file, and is asked for there, whatever their
    suffix.
    """

    def __init__(self, roots: Sequence[Path], parts: Iterable[str] = ()) -> None:
        self._roots = roots
        self._parts = frozenset(map(os.path.abspath, parts))
        self._texts: dict[str, str] | None = None
        self._mentioning: dict[str, tuple[str, ...]] = {}

    def mentioning(self, name: str) -> tuple[str, ...]:
        """The files that hold a procedure or module variable of Fortran by a name that compilers or
        header macros give it: ``name_``, ``__module_MOD_name``, ``FC_FUNC(name, NAME)``,
        ``F77(name)`` with ``##``."""
        if name not in self._mentioning:
            self._mentioning[name] = tuple(self._search(name))
        return self._mentioning[name]

    def containing(self, name: str) -> tuple[str, ...]:
        """The files that contain an identifier, in any case."""
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        return tuple(path for path, text in self._foreign if name in text and pattern.search(text))

    def _search(self, name: str) -> Iterator[str]:
        word = re.escape(name)
        pattern = re.compile(
            rf"(?<!\w)(?:{word}__?(?!\w)|{word}\s*,\s*{word}\b|(?:\w*_mod_|_qm\w+p){word}(?!\w))"
        )
        pasted = re.compile(rf"\w\s*\(\s*{word}\s*\)")
        for path, text in self._foreign:
            if name in text and (pattern.search(text) or (pasted.search(text) and self._pastes())):
                yield path

    def _pastes(self) -> bool:
        """Whether a macro puts names together."""
        return any(_PASTE.search(text) for _, text in self._foreign)

    @cached_property
    def _foreign(self) -> tuple[tuple[str, str], ...]:
        """Path and text of the files that are no parts of Fortran files."""
        texts = self.texts().items()
        return tuple(one for one in texts if os.path.abspath(one[0]) not in self._parts)

    def texts(self) -> dict[str, str]:
        """The content of each file in lower case, by path, sorted."""
        if self._texts is None:
            self._texts = {}
            for path in find_foreign(self._roots):
                try:
                    self._texts[str(path)] = path.read_bytes().lower().decode("latin-1")
                except OSError:
                    continue
        return self._texts
