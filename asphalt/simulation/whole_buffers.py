"""Operations whose non-blocking forms take SMPI longer than they take MPI libraries.

SMPI 3.32 starts all messages of a non-blocking operation at once, so none passes on what another
one brings: MPI_Ibcast sends the whole buffer from the root to each rank, MPI_Ireduce from each rank
to the root, and MPI_Iallreduce from each rank to each.  A link carries the buffer once for each
rank.  Open MPI and MPICH combine and forward on the way, as in the blocking forms.
"""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.diagnostics.change import Change
from asphalt.frontend.lexical.named_tokens import code_words
from asphalt.frontend.lexical.source_text import form_of

_STARTS = {
    "asphalt_iallreduce": "MPI_Iallreduce",
    "asphalt_ibcast": "MPI_Ibcast",
    "asphalt_ireduce": "MPI_Ireduce",
}


def whole_buffer_operations(changes: Iterable[Change]) -> tuple[str, ...]:
    """The operations of this kind that changes put in place of blocking ones, in alphabetical
    order."""
    new = set[str]()
    for change in changes:
        new |= _words(change, change.after) - _words(change, change.before)
    return tuple(operation for start, operation in _STARTS.items() if start in new)


def _words(change: Change, text: bytes) -> set[str]:
    lines = text.decode("latin-1").splitlines(keepends=True)
    found = code_words(lines, form_of(change.path))
    return {word.lower() for _, words in found for word in words}
