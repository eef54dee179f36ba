"""The sizes of a run that a user gives to the cost model: ``nx=512``, ``solver:nx=512``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from asphalt.config.errors import UsageError
from asphalt.ir.records import record

_NAME = re.compile(r"(?:([a-z]\w*):)?([a-z]\w*(?:%[a-z]\w*)*)", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


@record
class Size:
    """The value of an integer variable, or of a component of one, in runs of the program.

    ``owner``: the procedure, module or main program that declares the variable; None: any.
    """

    owner: str | None
    name: str
    value: int

    @property
    def variable(self) -> str:
        """How a user names the variable."""
        return self.name if self.owner is None else f"{self.owner}:{self.name}"

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"


def size_of(text: str) -> Size:
    """The size that ``NAME=VALUE`` gives.

    Raises UsageError for another text.
    """
    name, equals, value = text.partition("=")
    if not equals or not _NUMBER.fullmatch(value.strip()):
        raise UsageError(f"size {text}: write NAME=VALUE, where VALUE is a whole number")
    return _size(name, int(value))


def sizes_of(table: object) -> tuple[Size, ...]:
    """The sizes in a table of settings.

    Raises UsageError for something else.
    """
    if not isinstance(table, Mapping):
        raise UsageError(f"sizes must be a table of names and whole numbers, not {table!r}")
    for name, value in table.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f"size {name}: must be a whole number, not {value!r}")
    return tuple(_size(name, value) for name, value in table.items())


def settled(sizes: Iterable[Size]) -> tuple[Size, ...]:
    """Sizes, each variable once: the one that was given last counts."""
    return tuple({size.variable: size for size in sizes}.values())


def _size(name: str, value: int) -> Size:
    match = _NAME.fullmatch(name.lower().replace(" ", ""))
    if match is None:
        raise UsageError(
            f"size {name}: is not the name of a variable; write NAME or PROCEDURE:NAME or "
            "MODULE:NAME"
        )
    return Size(match[1], match[2], value)
