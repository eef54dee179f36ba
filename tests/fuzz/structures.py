"""Procedures whose messages are told by structures and sizes: ``halos`` has the declarations.

Ranks are those of an array of structures, counts are components or what is asked of the buffers;
and statements between change the size of an array that others ask for.
"""

from __future__ import annotations

import re
from random import Random

Lines = list[str]
_COUNTED = re.compile(r"(?P<buffer>[\w%]+(?:\([^()]*\))?), (?P<count>[nm]), (?=MPI_DOUBLE)")
_WHOLE = re.compile(r"[wxy]|[ef]%(?:low|high|west|east)")
_RANK = re.compile(r", (left|right)(?=, )")
_RESIZING = (["grown = [grown, s]"], ["grown = grown(1:1)"], ["grown = [grown, t, s]"])
_ASKING = (
    ["do i = 1, size(grown)", "x(min(i, n)) = x(min(i, n)) + 1", "end do"],
    ["do i = lbound(grown, 1), ubound(grown, 1)", "y(1) = y(1) + i", "end do"],
    ["s = s + size(grown)"],
)


def structured(body: Lines, random: Random) -> Lines:
    """The same statements, some of them told so, and with some between."""
    if random.random() < 0.5:
        return body
    lines: Lines = []
    depth = pending = 0
    for line in body:
        if depth == 0 and random.random() < 0.2:
            chosen = random.choice(random.choice([_RESIZING, _ASKING]))
            # a message in progress may be from or to these arrays
            lines += _ASKING[-1] if pending > 0 and chosen in _ASKING else chosen
        pending += line.count("call MPI_Irecv") + line.count("call MPI_Isend")
        pending -= line.count("call MPI_Wait(")
        pending = 0 if "call MPI_Waitall" in line else pending
        first = line.split(" ")[0]
        if line != "do it = 1, 2":  # what stands in it may do that as well
            depth += (first == "do") + (first == "if" and line.endswith("then"))
            depth -= line.startswith("end ") and depth > 0
        lines.append(_told(line, random) if first == "call" else line)
    return lines


def _told(line: str, random: Random) -> str:
    def count(found: re.Match[str]) -> str:
        number = {"n": 1, "m": 2}[found["count"]]
        told = [found["count"], f"near({number})%length"]
        if _WHOLE.fullmatch(found["buffer"]):
            told += [f"size({found['buffer']})", f"size({found['buffer']}, 1)"]
        return f"{found['buffer']}, {random.choice(told)}, "

    def rank(found: re.Match[str]) -> str:
        number = {"left": 1, "right": 2}[found[1]]
        return random.choice([found[0], f", near({number})%rank"])

    return _RANK.sub(rank, _COUNTED.sub(count, line))
