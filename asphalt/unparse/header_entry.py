"""The lines of a site in the header ``asphalt_params.inc``, valid in both source forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from asphalt.config.backends import ISEND, offering_procedure
from asphalt.ir.records import record
from asphalt.unparse.header_checks import FIXED_WIDTH, SECOND

_OPENINGS = {
    "k": "      integer, parameter ::",
    "d": "      integer, parameter ::",
    "backend": "      procedure(), pointer ::",
}


@record
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
        value = offering_procedure(value)
    sign = "=>" if what == "backend" else "="
    code = f"asphalt_{what}_{entry.site} {sign} {value}"
    note = f"  ! written as: {entry.of(what)}"
    opening = _OPENINGS[what]
    if len(f"{opening} {code}") + room <= FIXED_WIDTH:
        return [f"{opening} {code}{note}"]
    if len(code) + room > FIXED_WIDTH - 6:
        code = code.replace(" ", "")
    # past column 72 the first & is seen in free form only, in column 6 the second is seen in both
    lines = [opening.ljust(FIXED_WIDTH) + "&"]
    if len(code) + room > FIXED_WIDTH - 6:
        name, _, code = code.partition(sign)
        lines.append(f"{SECOND}{name}{sign}".ljust(FIXED_WIDTH) + "&")
    return [*lines, f"{SECOND}{code}{note}"]


def external_of(backend: str) -> str:
    """The declaration of the procedure that offers a backend: once in a header."""
    return f"      external :: {offering_procedure(backend)}"


def either(names: Iterable[str]) -> str:
    """The procedures of several backends, in words."""
    return " or ".join(map(offering_procedure, names))
