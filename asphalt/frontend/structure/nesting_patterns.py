"""The statements that open, continue and close units and constructs, as regular expressions.

Each matches a whole statement, from its first letter to its end.  Fixed form, where blanks mean
nothing, is matched against the statement without its blanks; in free form keywords and names are
apart.
"""

from __future__ import annotations

import re

_NESTED = r"[^()]*+(?:\([^()]*+(?:\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)[^()]*+)*+\)[^()]*+)*+"
_TYPE_SPEC = rf"""
    (?: integer|real|double\s*precision|double\s*complex|complex|logical|byte|character
      | (?:type|class)(?=\s*\() )
    (?: \s*\*\s*(?:\d+|\({_NESTED}\)) )? (?: \s*\({_NESTED}\) )? \s*
"""
_PREFIX = rf"""
    (?: (?: pure|impure|elemental|recursive|non_recursive|module ) {{B}}
      | attributes\s*\({_NESTED}\)\s* | {_TYPE_SPEC} )*
"""


class Patterns:
    """The patterns of one source form; ``blank`` is what must stand between two words."""

    def __init__(self, blank: str) -> None:
        def pattern(text: str) -> re.Pattern[str]:
            return re.compile(text.replace("{B}", blank) + r"\s*\Z", re.X | re.I | re.A)

        self.end = pattern(
            r"""
            end (?: \s* (do|if|select|where|forall|associate|block\s*data|block|critical|team|type
                 |enum|structure|union|map|program|module|submodule|subroutine|function|procedure)
                 (?: {B} [a-z]\w* )?
               | \s* (interface) (?: {B}\w+ | \s*\w+\s*\(.*\) )? )?
            """
        )
        self.procedure = pattern(
            rf"""
            {_PREFIX} (?: (subroutine) {{B}} ([a-z]\w*) \s* (?: \(.*\).* | bind\s*\(.*\) )?
                        | (function) {{B}} ([a-z]\w*) (?:\s*\*\s*\d+)? \s* \(.*\).* )
            """
        )
        self.program = pattern(r"program {B} ([a-z]\w*) (?:\s*\(.*\))?")
        self.module = pattern(r"module {B} ([a-z]\w*)")
        self.module_procedure = pattern(r"module\s*procedure (?:\s*::\s*|{B}) ([a-z]\w*)")
        self.submodule = pattern(r"submodule \s*\([^()]*\)\s* ([a-z]\w*)")
        self.block_data = pattern(r"block\s*data (?: {B} ([a-z]\w*) )?")
        self.interface = pattern(
            r"""
            (?:abstract\s*)? interface
            (?: {B}[a-z]\w* | \s*(?:operator|assignment|read|write)\s*\(.*\) )?
            """
        )
        self.type = pattern(
            r"""
            type (?: {B}(?!is\s*\()[a-z]\w* | \s*(?:,.*)?::\s*[a-z]\w* ) (?:\s*\(.*\))?
            """
        )
        self.enum = pattern(r"enum \s*,\s* bind \s*\(\s*c\s*\) .*")
        self.structure = pattern(r"structure \s*/\s*\w+\s*/.* | union | map")
        self.do = pattern(
            r"""
            do (?: \s*(\d{1,5})\s*,?\s* | \s*,\s* | {B} | \s*(?=while\s*\(|concurrent\s*\(|\Z) )
            (?: while \s* (\(.*) | concurrent \s* \(.* | [a-z]\w* \s*=(?!=) (.*) | )
            """
        )
        self.if_then = pattern(r"if \s*\(.*\)\s* then")
        self.else_if = pattern(r"else\s*if \s*\(.*\)\s* then (?: {B}\w+ )?")
        self.else_alone = pattern(r"else (?: {B}[a-z]\w* )?")
        self.elsewhere = pattern(r"else\s*where (?: {B}[a-z]\w* | \s*(\(.*\)) (?:\s*[a-z]\w*)? )?")
        self.guard = re.compile(
            r"(case|rank|(?:type|class)\s*is)\s*(?=\()|(?:case|rank|class)\s*default(?:\Z|\s)",
            re.I | re.A,
        )
        self.headed = re.compile(
            r"(select\s*(?:case|type|rank)|where|forall|associate|critical|change\s*team)\s*(?=\()",
            re.I | re.A,
        )


FREE = Patterns(r"\s+")
FIXED = Patterns("")
