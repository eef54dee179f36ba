"""Whether other messages of the program could match those of an exchange.

Messages are matched by communicator, source and tag (MPI-4.0 section 3.5), those of collective
operations never with those between two ranks (section 6.1).  So an exchange may send under a tag
that no other message of the program has, if no receive takes any tag and nothing looks for
messages.  Hints may let messages of a pair overtake each other (section 7.4.4), so a program that
sets any is refused, as is an incomplete program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from asphalt.analysis.effects.whole_program import is_closed
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.messages.all_sends import operations
from asphalt.analysis.messages.messages import envelopes_of
from asphalt.analysis.mpi.call import mpi_call_in
from asphalt.analysis.mpi.library_effects import Store, probes
from asphalt.analysis.mpi.procedures import procedure
from asphalt.ir.tree import Leaf, leaves

Line = tuple[str, int]
Place = tuple[str, int, int]
"""File, line and column of a statement; there may be several in a line."""
_DOES = {Store.OUTGOING: "send", Store.INCOMING: "receive"}


def why_others(exchange: Exchange, tag: int | None, own: Collection[Leaf] = ()) -> str | None:
    """Why another message of the program may match one of the exchange with this tag; else None.

    ``own``: the statements with the sends and receives that are the exchange.
    """
    apart = _apart(exchange, tag, {spanned for leaf in own if (spanned := _place(leaf))})
    transfers: Counter[Line] = Counter()
    for mention in exchange.effects.scopes.program.mpi_calls():
        row = procedure(mention.operation)
        where = f"{mention.path}:{mention.line}"
        if row is not None and probes(row):
            return f"{where} probes for messages"
        if row is not None and row.name == "mpi_info_set":
            return f"{where} sets a hint, which may let messages overtake each other"
        does = [] if row is None else [_DOES[s] for s in _DOES if row.name in operations(s)]
        line = mention.path, mention.line
        transfers[line] += bool(does)
        if does and transfers[line] > apart[line]:
            return f"{where} may {does[0]} with the same tag"
    if not is_closed(exchange.effects):
        return "the unknown part of the program may send with the same tag"
    return None


def _apart(exchange: Exchange, tag: int | None, own: Collection[Place]) -> Counter[Line]:
    """How many sends and receives in a line are those of the exchange, or have tags that are other
    constants; none where one of them is neither."""
    scopes = exchange.effects.scopes
    transfers = operations(Store.OUTGOING) | operations(Store.INCOMING)
    names = {mention.operation for mention in scopes.program.mpi_calls()}
    names = {n for n in names if (row := procedure(n)) and row.name in transfers}
    apart: dict[Place, bool] = {}
    for name in sorted(names | {f"p{name}" for name in names}):
        for located in scopes.program.mentions(name):
            scope = scopes.of(located)
            for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
                call, place = mpi_call_in(leaf, scope), _place(leaf)
                if call is None or place is None or call.procedure.name not in transfers:
                    continue
                envelopes = envelopes_of(call) or ()
                tags = [constants_in(envelope.tag, scope).value for envelope in envelopes]
                other = bool(tags) and all(_is_other(value, tag) for value in tags)
                apart[place] = apart.get(place, True) and (other or place in own)
    found = Counter((file, line) for file, line, _ in apart)
    for (file, line, _), is_apart in apart.items():
        if not is_apart:
            found[file, line] = 0
    return found


def _is_other(value: int | None, tag: int | None) -> bool:
    """Whether it is certainly another tag; a negative number may be MPI_ANY_TAG."""
    return value is not None and value >= 0 and value != tag


def _place(leaf: Leaf) -> Place | None:
    return None if leaf.span is None else (leaf.span.file, leaf.span.first, leaf.span.first_col)
