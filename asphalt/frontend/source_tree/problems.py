"""Problems of the input, one entry each; the rest of the tree is read."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from asphalt.config.errors import InputError


@dataclass(frozen=True, slots=True, order=True)
class InputProblem:
    """``line`` is None if the whole file is meant; a ``note`` prevented no analysis, it only says
    what the analysis did without."""

    file: str
    line: int | None
    message: str
    note: bool = False

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {'note: ' if self.note else ''}{self.message}"


def problem_of(error: InputError) -> InputProblem:
    """The problem of an error after which the rest of the tree is still read."""
    return InputProblem(error.file, error.line, error.message)


def unread_module(
    name: str, problems: Iterable[InputProblem], text: Callable[[str], str]
) -> InputProblem | None:
    """The problem of the one file that cannot be read and seems to define a module; None: there is
    none, or there are several.  ``text``: of a file, in lower case."""
    head = re.compile(rf"^[ \t]*module[ \t]+{re.escape(name)}[ \t]*(!.*)?\r?$", re.MULTILINE)
    found = {p.file: p for p in problems if not p.note and head.search(text(p.file))}
    return next(iter(found.values())) if len(found) == 1 else None


def merged(problems: Iterable[InputProblem]) -> tuple[InputProblem, ...]:
    """The problems in the order of files and lines; of the notes that say the same, the first."""
    ordered = sorted(set(problems), key=lambda p: (p.file, p.line or 0, p.message))
    again = Counter(p.message for p in ordered if p.note)
    seen: set[str] = set()
    kept: list[InputProblem] = []
    for problem in ordered:
        if problem.note and again[problem.message] > 1:
            if problem.message in seen:
                continue
            seen.add(problem.message)
            more = f" (and in {again[problem.message] - 1} more places)"
            problem = replace(problem, message=problem.message + more)
        kept.append(problem)
    return tuple(kept)


def in_place(problem: InputProblem, included: Collection[str]) -> InputProblem:
    """A problem of a file that another file's preprocessor brings in is only a note; ``included``:
    the absolute paths of such files."""
    if problem.note or os.path.abspath(problem.file) not in included:
        return problem
    message = f"read only as a part of the files that include it, by itself: {problem.message}"
    return replace(problem, message=message, note=True)
