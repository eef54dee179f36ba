"""Verdicts: what was proved about a site, or the first reason for which it is not transformed."""

from __future__ import annotations

from typing import Literal

from asphalt.ir.records import record
from asphalt.ir.source import Span


@record
class Code:
    """A stable code with its documentation; it stands beside the check that raises it.

    ``condition`` is the number of the condition of a legal prepush that the code belongs to (0: the
    site itself).  ``diagnostics.examples`` has a program with each code, and the same program
    mended.
    """

    id: str
    title: str
    meaning: str
    advice: str
    condition: int = 0

    def __post_init__(self) -> None:
        _CODES.setdefault(self.id, self)

    def __reduce__(self) -> tuple[object, ...]:
        """A code that is pickled is the same object again, where there is one of its name."""
        fields = self.id, self.title, self.meaning, self.advice, self.condition
        return _same_code, fields


_CODES: dict[str, Code] = {}


def _same_code(name: str, title: str, meaning: str, advice: str, condition: int) -> Code:
    found = Code(name, title, meaning, advice, condition)
    return _CODES[name] if _CODES[name] == found else found


Role = Literal["exchange", "producer", "definition", "use", "offending", "path"]


@record
class Mark:
    """A place in the source that a verdict rests on.

    ``role``: the ``exchange`` itself; a ``producer`` (a whole nest); a ``definition`` of what is
    sent; the first ``use`` of what is received; what is ``offending``; a step of a ``path``.
    """

    span: Span
    role: Role
    text: str


@record
class Cause:
    """A reason that lies elsewhere in the program and may refuse many sites alike, as a clause.

    ``module``: the module that asphalt cannot see, if that is the reason.
    """

    why: str
    module: str | None = None


@record
class Refused:
    """The site is not transformed.

    ``witness`` is a concrete iteration, element or statement; ``marks`` are the places that the
    refusal rests on beside ``span``, such as the steps of a path (``conditions.evidence`` adds
    those that every site has). ``lifted_by``: the assumption without which the condition cannot
    hold, if there is one, or several with commas between.  ``cause``: what the message says beside
    the places of this site, if that may refuse others, too.
    """

    code: Code
    message: str
    span: Span | None = None
    witness: str | None = None
    marks: tuple[Mark, ...] = ()
    lifted_by: str | None = None
    cause: Cause | None = None

    @property
    def all_lifting(self) -> tuple[str, ...]:
        """All assumptions without which the condition cannot hold."""
        return () if self.lifted_by is None else tuple(self.lifted_by.split(","))


@record
class Holds:
    """A condition holds; ``evidence`` says in one sentence why."""

    evidence: str
    assumptions: tuple[str, ...] = ()


Answer = Holds | Refused
