"""What was wrong with the input, one entry each; the rest of the tree is done."""

from __future__ import annotations

from dataclasses import dataclass

from asphalt.errors import InputError


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """``line`` is None where the whole file is meant; a ``note`` did not keep anything from being
    analysed, it only says what the analysis did without."""

    file: str
    line: int | None
    message: str
    note: bool = False

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {'note: ' if self.note else ''}{self.message}"


def problem_of(error: InputError) -> Problem:
    """The problem that an error is, where the rest of the tree goes on."""
    return Problem(error.file, error.line, error.message)
