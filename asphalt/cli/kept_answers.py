"""Answers of ``scan``, kept whole for trees in which nothing changes.

An answer rests on the settings, on asphalt and what it is installed with, on the preprocessor, and
on files.  The names, sizes and times of these say whether they are as they were (``snapshot``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from asphalt.config.settings import Settings
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.frontend.source_tree.cache import Cache, cache_directory, key_of
from asphalt.frontend.source_tree.snapshot import (
    MARGIN,
    Snapshot,
    State,
    newest_of,
    snapshot,
    state_of,
    states_of,
    surroundings,
)
from asphalt.ir.records import record
from asphalt.project import Project


@record
class Answer:
    """The report of a scan, with the parts of a ``Project`` that reports ask for.

    ``names``: of all Fortran files.  ``warnings``: what was said when the files had been read; of
    ``problems``, some are found later.  ``remarks``: what keeps exchanges from being seen.
    ``missing``: the missing modules of each file with a site; ``unread``: why files cannot be read
    that define some of these.  ``fails``: whether --check fails by
    a site that --all has not added.
    """

    settings: Settings
    names: tuple[str, ...]
    sites: tuple[SiteReport, ...]
    warnings: tuple[ProblemReport, ...]
    problems: tuple[ProblemReport, ...]
    remarks: tuple[ProblemReport, ...]
    missing: dict[str, tuple[str, ...]]
    unread: dict[str, str]
    has_messages: bool
    left_out: tuple[int, tuple[str, int]] | None
    leaves_lines_out: bool
    internal_errors: tuple[ProblemReport, ...]
    fails: bool

    @property
    def files(self) -> tuple[Path, ...]:
        """All Fortran files, sorted."""
        return tuple(map(Path, self.names))

    def missing_modules(self, file: str) -> tuple[str, ...]:
        """The modules that a file with a site uses and no file of the tree has."""
        return self.missing[file]

    def unread_module(self, name: str) -> str | None:
        """Where and why a file cannot be read that defines a missing module."""
        return self.unread.get(name)

    def content(self, file: str) -> bytes | None:
        """The bytes of a file of the tree; None for another one."""
        return Path(file).read_bytes() if file in self.names else None


def answer_of(
    project: Project,
    sites: Sequence[SiteReport],
    warnings: Sequence[ProblemReport],
    fails: bool,
) -> Answer:
    """The answer that reports on ``sites``; ``warnings``: what was said when the files had been
    read."""
    missing = {file: project.missing_modules(file) for file in sorted({s.file for s in sites})}
    names = {name for own in missing.values() for name in own}
    return Answer(
        project.settings,
        tuple(map(str, project.files)),
        tuple(sites),
        tuple(warnings),
        project.problems,
        project.remarks,
        missing,
        {name: why for name in sorted(names) if (why := project.unread_module(name))},
        not sites and project.has_messages,
        project.left_out,
        project.leaves_lines_out,
        project.internal_errors,
        fails,
    )


@record
class _Kept:
    """An answer as it is kept: with the state of the files that it rests on."""

    tree: str
    beside: tuple[tuple[str, State], ...]
    answer: Answer


class KeptAnswer:
    """The answer to one question about one tree: what an earlier run kept, and the place for a new
    one.

    ``question``: what is asked, beside the settings.  An answer is kept if all files had been left
    alone for ``MARGIN`` when this was made.
    """

    def __init__(self, paths: Sequence[Path], settings: Settings, question: str) -> None:
        self._cache = Cache(cache_directory() if settings.cache else None)
        self._paths = paths
        self._latest = time.time() - MARGIN
        self._key, self._before = "", Snapshot("", 0.0)
        if settings.cache:
            self._key = key_of(*_basis(paths, settings, question))
            self._before = snapshot(paths)

    def find(self) -> Answer | None:
        """The answer that was kept, if all that it rests on is as it was."""
        kept = self._cache.get(self._key) if self._key else None
        if not isinstance(kept, _Kept) or kept.tree != self._before.text:
            return None
        if any(state_of(path) != state for path, state in kept.beside):
            return None
        return kept.answer

    def keep(self, answer: Answer, project: Project) -> None:
        """Keep an answer without internal errors, unless what it rests on may have changed while
        it was made."""
        if not self._key or answer.internal_errors or not project.is_repeatable:
            return
        beside = states_of(project.files_looked_for())
        newest = max(self._before.newest, newest_of(beside))
        if newest > self._latest or snapshot(self._paths) != self._before:
            return
        self._cache.put(self._key, _Kept(self._before.text, beside, answer))


def _basis(paths: Sequence[Path], settings: Settings, question: str) -> list[str | bytes]:
    """What an answer rests on beside files of the tree."""
    return [
        "answer",
        question,
        *surroundings(),
        os.getcwd(),
        *map(str, paths),
        "settings",
        repr(
            (settings.defines, settings.include_dirs, settings.form, settings.forms, settings.width)
        ),
        repr((settings.tile, settings.depth, sorted(settings.assume), settings.passes)),
        repr((settings.backend, settings.clone_limit, settings.cpp, settings.sizes)),
        repr((settings.networks, settings.one_configuration, settings.least_gain)),
        settings.combining,
    ]
