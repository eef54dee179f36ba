"""Macros in new text: the user's own stay, and nothing else has the name of one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from asphalt.ir.tree import NamedToken

_PART = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w$])[A-Za-z_][\w$]*|[\w$.]+|.""", re.A | re.S
)


def with_macros(code: str, own: Sequence[NamedToken], names: Collection[str]) -> tuple[str, int]:
    """A statement in which the macros ``own`` stand for what they mean, and the words that other
    macros would replace are in another letter case; and by how much the preprocessor may lengthen
    it.  A number that is new there stays a number.
    """
    if not own and not names:
        return code, 0
    tokens = [one.token.lower() for one in own]
    alone = (one for one in own if one.alone and tokens.count(one.token.lower()) == 1)
    parts = _PART.findall(code)
    mine = {
        one.token.lower(): one.name
        for one in alone
        if not one.token[0].isdigit() or parts.count(one.token) <= one.uses
    }
    pieces: list[str] = []
    longer = 0
    for part in parts:
        name = mine.get(part.lower())
        if name is not None:
            longer += max(0, len(part) - len(name))
            pieces.append(name)
        elif part in names:
            ways = (part.lower(), part.upper(), part.capitalize(), part.swapcase())
            pieces.append(next((way for way in ways if way not in names), part))
        else:
            pieces.append(part)
    return "".join(pieces), longer
