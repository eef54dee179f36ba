"""The errors that a user can cause; anything else that is raised is a bug."""

from __future__ import annotations


class AsphaltError(Exception):
    """A user's action or input that asphalt cannot work with."""


class InputError(AsphaltError):
    """A file that cannot be read, or whose text is not what it should be.

    ``line`` is counted from 1; None where the whole file is meant.
    """

    def __init__(self, file: str, line: int | None, message: str) -> None:
        super().__init__(file, line, message)
        self.file = file
        self.line = line
        self.message = message

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.message}"


class UsageError(AsphaltError):
    """A command or a setting that makes no sense."""
