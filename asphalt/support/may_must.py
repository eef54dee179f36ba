"""Questions about memory have three answers: yes, no and unknown, each with its reason."""

from __future__ import annotations

from enum import Enum

from asphalt.ir.records import record
from asphalt.ir.source import Span


class Reply(Enum):
    """A three-valued answer."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@record
class MayMustAnswer:
    """An answer; ``reason``: why, as the end of a sentence that begins with the object's name;
    ``span``: the statement that proves it."""

    reply: Reply
    reason: str
    span: Span | None = None

    @property
    def yes(self) -> bool:
        """It is proved."""
        return self.reply is Reply.YES

    @property
    def no(self) -> bool:
        """The contrary is proved."""
        return self.reply is Reply.NO

    @property
    def unknown(self) -> bool:
        """Neither is proved."""
        return self.reply is Reply.UNKNOWN


def yes(reason: str, span: Span | None = None) -> MayMustAnswer:
    """It is so."""
    return MayMustAnswer(Reply.YES, reason, span)


def no(reason: str, span: Span | None = None) -> MayMustAnswer:
    """It is not so."""
    return MayMustAnswer(Reply.NO, reason, span)


def unknown(reason: str, span: Span | None = None) -> MayMustAnswer:
    """It may or may not be so."""
    return MayMustAnswer(Reply.UNKNOWN, reason, span)
