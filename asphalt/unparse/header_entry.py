"""The lines of a site in the header ``asphalt_params.inc``, valid in both source forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from asphalt.config.backends import ISEND

_OPENINGS = {
    "k": "      integer, parameter ::",
    "d": "      integer, parameter ::",
    "backend": "      character(*), parameter ::",
}
SECOND = "     &"
"""What continues a statement, in both source forms."""
_FIXED_WIDTH = 72  # columns of code; what is not a comment ends here in fixed form


@dataclass(frozen=True, slots=True)
class HeaderEntry:
    """The header's entry for one site; ``source`` is ``file:line``, ``loop`` what is tiled.

    ``asked``: the origin of the values, by ``k`` and ``d`` (``--tile``, say), where a user gave
    them.  ``backends``: what may carry the pieces, first what does; one alone has no line.
    """

    site: str
    operation: str
    source: str
    loop: str
    tile: int
    depth: int
    asked: Mapping[str, str] = field(default_factory=dict)
    backends: tuple[str, ...] = (ISEND,)

    @property
    def names(self) -> tuple[str, ...]:
        """What the header says of the site."""
        return ("k", "d") if len(self.backends) == 1 else ("k", "d", "backend")

    def of(self, what: str) -> str:
        """The value of ``k``, ``d`` or ``backend``."""
        return {"k": str(self.tile), "d": str(self.depth), "backend": self.backends[0]}[what]

    @property
    def comment(self) -> str:
        """The line that introduces the site."""
        text = f"! {self.site}: {self.operation} at {self.source}, tiled along {self.loop}"
        # one line in every character set, also where a preprocessor joins lines at a backslash
        return re.sub(r"[^ -\[\]-~]", "?", text)


def lines_of(entry: HeaderEntry, what: str) -> list[str]:
    """The definition of K, D or the backend, valid in both source forms, also when a person writes
    another backend there."""
    value, room = entry.of(what), 0
    if what == "backend":
        room = max(map(len, entry.backends)) - len(value)
        value = f"'{value}'"
    code = f"asphalt_{what}_{entry.site} = {value}"
    note = f"  ! written as: {entry.of(what)}"
    opening = _OPENINGS[what]
    if len(f"{opening} {code}") + room <= _FIXED_WIDTH:
        return [f"{opening} {code}{note}"]
    if len(code) + room > _FIXED_WIDTH - 6:
        code = code.replace(" ", "")
    # past column 72 the first & is seen in free form only, in column 6 the second is seen in both
    lines = [opening.ljust(_FIXED_WIDTH) + "&"]
    if len(code) + room > _FIXED_WIDTH - 6:
        name, _, code = code.partition("=")
        lines.append(f"{SECOND}{name}=".ljust(_FIXED_WIDTH) + "&")
    return [*lines, f"{SECOND}{code}{note}"]


def check_of(site: str) -> list[str]:
    """The statement that does not compile where K or D is out of range, in both source forms."""
    parts = [
        "integer(merge(kind(0), -1, ",
        f"asphalt_k_{site} ",
        ">= 0 .and. ",
        f"asphalt_d_{site} ",
        ">= 1)), parameter :: ",
        f"asphalt_valid_{site} = 0",
    ]
    return _continued(parts)


def known_of(entry: HeaderEntry) -> list[str]:
    """The statement that does not compile where the backend is not one of those that may be."""
    parts = ["integer(merge(kind(0), -1, "]
    for number, name in enumerate(entry.backends):
        parts += [".or. "] if number else []
        parts += [f"asphalt_backend_{entry.site} ", f"== '{name}' "]
    parts += [")), parameter :: ", f"asphalt_known_{entry.site} = 0"]
    note = f"  ! the backend must be {either(entry.backends)}"
    # gfortran shows the line with the attribute
    return [line + note if "parameter ::" in line else line for line in _continued(parts)]


def either(names: Iterable[str]) -> str:
    return " or ".join(f"'{name}'" for name in names)


def _continued(parts: Iterable[str]) -> list[str]:
    """A statement in lines that are valid in both source forms."""
    lines = [" " * 6]
    for part in parts:
        if len(lines[-1]) + len(part.rstrip()) > _FIXED_WIDTH:
            lines.append(SECOND)
        lines[-1] += part
    whole = [line.ljust(_FIXED_WIDTH) + "&" for line in lines[:-1]]
    return [*whole, lines[-1].rstrip()]
