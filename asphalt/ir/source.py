"""Where a piece of the program stands in its file, and the lines that are no statements."""

from __future__ import annotations

from enum import Enum

from asphalt.ir.records import record


@record
class Span:
    """A stretch of source text.

    Lines are counted from 1.  Columns are counted from 1 in bytes; ``last_col`` is the column of
    the last character (inclusive).
    """

    file: str
    first: int
    first_col: int
    last: int
    last_col: int

    def __str__(self) -> str:
        return f"{self.file}:{self.first}"


class TriviaKind(Enum):
    """The kind of a physical line that belongs to no statement."""

    BLANK = "blank"
    COMMENT = "comment"
    DIRECTIVE = "directive"  # !$omp, !$acc, !dir$, !gcc$, !$asphalt: a statement with effects
    CONDITIONAL = "conditional"  # !$ conditional compilation line (OpenMP)
    CPP = "cpp"  # a preprocessor line
    INCLUDED = "included"  # one that includes text which is known, or is removed itself
    DEAD = "dead"  # a line that the preprocessor removes in the analysed configuration


OF_THE_PREPROCESSOR = frozenset({TriviaKind.CPP, TriviaKind.INCLUDED})
"""The kinds of the lines that only the preprocessor reads."""


@record
class Trivia:
    """A physical line, line ending included, that is not part of a statement."""

    kind: TriviaKind
    text: str


class Form(Enum):
    """The two source forms of Fortran (F2018 section 6.3)."""

    FREE = "free"
    FIXED = "fixed"
