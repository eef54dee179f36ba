"""The statements of the header that do not compile where K or D is out of range.

    integer(merge(kind(0), -1, &
    &asphalt_d_transpose >= 1 .and. &
    &asphalt_d_transpose <= 4096)), & ! D must be from 1 to 4096
    &parameter :: asphalt_valid_d_transpose = 0

There is no kind -1, and compilers show the line with the range.  D has a greatest value, since a
default integer counts the requests of the runtime's ring.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from asphalt.config.limits import DEPTH
from asphalt.ir.records import record

SECOND = "     &"
"""What continues a statement, in both source forms."""
FIXED_WIDTH = 72
"""Columns of code; what is not a comment ends here in fixed form."""

_CHECK = re.compile(
    r"integer\(merge\(kind\(0\),-1,asphalt_([kd])_(\w+)>=\d+(?:\.and\.asphalt_d_\2[<>]=\d+)?\)\),"
    r"parameter::asphalt_valid_(?:\1_)?\2=0",
    re.IGNORECASE | re.ASCII,
)


@record
class Check:
    """A check in a header: its site (folded), its code without blanks, its lines."""

    site: str
    code: str
    lines: range


def checks_of(site: str) -> list[str]:
    """The statements that check K and D of a site, in both source forms."""
    k, d = f"asphalt_k_{site} ", f"asphalt_d_{site} "
    return [
        *_check("k", site, [f"{k}>= 0)), "], "K must be 0 or more"),
        *_check(
            "d",
            site,
            [f"{d}>= {DEPTH.least} .and. ", f"{d}<= {DEPTH.most})), "],
            f"D must be from {DEPTH.least} to {DEPTH.most}",
        ),
    ]


def checks(lines: Sequence[str]) -> Iterator[Check]:
    """The checks in the lines of a header; also one for both values, as asphalt once wrote it."""
    for index, line in enumerate(lines):
        if not line.lstrip().lower().startswith("integer(merge("):
            continue
        end, text = index, line.partition("!")[0]
        while text.rstrip().endswith("&") and end + 1 < len(lines):
            end += 1
            text = text.rstrip()[:-1] + lines[end].partition("!")[0].strip().removeprefix("&")
        code = "".join(text.split()).lower()
        match = _CHECK.fullmatch(code)
        if match is not None:
            yield Check(match[2], code, range(index, end + 1))


def are_those_of(site: str, found: Iterable[Check]) -> bool:
    """Whether some checks are the ones of a site."""
    wanted = [one.code for one in checks(checks_of(site))]
    return sorted(one.code for one in found) == sorted(wanted)


def _check(what: str, site: str, conditions: Sequence[str], sentence: str) -> list[str]:
    parts = [
        "integer(merge(kind(0), -1, ",
        *conditions,
        "parameter :: ",
        f"asphalt_valid_{what}_{site} = 0",
    ]
    lines = [" " * 6]
    for part in parts:
        if len(lines[-1]) + len(part.rstrip()) > FIXED_WIDTH:
            lines.append(SECOND)
        lines[-1] += part
    whole = [line.ljust(FIXED_WIDTH) + "&" for line in lines[:-1]] + [lines[-1].rstrip()]
    return [f"{line} ! {sentence}" if ")), " in line else line for line in whole]
