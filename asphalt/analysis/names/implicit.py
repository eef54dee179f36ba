"""The rules of IMPLICIT statements (F2018 8.7)."""

from __future__ import annotations

import re

from asphalt.ir.expr import Lit, TypeSpec

_RULE = re.compile(
    r"^\s*(?P<type>integer|real|double\s*precision|double\s*complex|complex|logical|character|type)"
    r"\s*(?:\*\s*(?P<star>\d+)|\((?P<kind>[^()]*)\))?\s*\((?P<letters>[a-z\s,-]+)\)\s*$"
)


def implicit_rule(rule: str) -> dict[str, TypeSpec | None]:
    """The types that one rule of an IMPLICIT statement (``real*8 (a-h,o-z)``) gives to letters.

    A type that is not understood is None.  A rule that is not understood covers all letters.
    """
    match = _RULE.match(rule.lower())
    if match is None:
        return dict.fromkeys("abcdefghijklmnopqrstuvwxyz")
    base = re.sub(r"\s+", "_", match["type"]).replace("doublep", "double_p")
    base = base.replace("doublec", "double_c")
    spec: TypeSpec | None = TypeSpec(base)
    kind = (match["kind"] or "").replace(" ", "").removeprefix("kind=")
    if base in ("character", "type"):
        spec = None
    elif match["star"]:
        spec = TypeSpec(base, Lit("integer", match["star"]), star=True)
    elif match["kind"] is not None:
        spec = TypeSpec(base, Lit("integer", kind)) if kind.isdigit() else None
    letters: dict[str, TypeSpec | None] = {}
    for part in match["letters"].replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if len(first) != 1 or len(last) > 1:
            return dict.fromkeys("abcdefghijklmnopqrstuvwxyz")
        letters |= {chr(c): spec for c in range(ord(first), ord(last or first) + 1)}
    return letters
