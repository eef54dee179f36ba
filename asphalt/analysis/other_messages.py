"""Whether other messages of the program could be taken for those of an exchange.

Messages are matched by communicator, source and tag (MPI-4.0 section 3.5), those of collective
operations never with those between two ranks (section 6.1).  So an exchange may send under a tag
that no other message of the program has, if no receive takes any tag and nothing looks for
messages.  Hints may let messages of a pair overtake each other (section 7.4.4); a program that sets
some tells nothing, nor does a tree whose program is not all there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from asphalt.analysis.all_sends import is_closed, operations
from asphalt.analysis.exchange import Exchange
from asphalt.analysis.message_loops import called
from asphalt.analysis.messages import envelopes_of
from asphalt.analysis.mpi_library import Store, probes
from asphalt.analysis.mpi_table import procedure
from asphalt.analysis.values import constants_in
from asphalt.ir.tree import leaves

Place = tuple[str, int]
_DOES = {Store.OUTGOING: "send", Store.INCOMING: "receive"}


def why_others(exchange: Exchange, tag: int | None, own: Collection[Place] = ()) -> str | None:
    """Why a message of the program may meet one of the exchange's with this tag; None: none can.

    ``own``: the files and lines of the sends and receives that are the exchange.
    """
    apart = {*own, *_with_other_tags(exchange, tag)}
    for mention in exchange.effects.scopes.program.mpi_calls():
        row = procedure(mention.operation)
        where = f"{mention.path}:{mention.line}"
        if row is not None and probes(row):
            return f"{where} looks for messages"
        if row is not None and row.name == "mpi_info_set":
            return f"{where} sets a hint, which may let messages overtake each other"
        for store, does in _DOES.items():
            concerned = row is not None and row.name in operations(store)
            if concerned and (mention.path, mention.line) not in apart:
                return f"{where} may {does} with the same tag"
    if not is_closed(exchange.effects):
        return "not all of the program is known, and it may send with the same tag"
    return None


def _with_other_tags(exchange: Exchange, tag: int | None) -> Iterator[Place]:
    """The files and lines of sends and receives whose tags are constants that differ."""
    scopes = exchange.effects.scopes
    transfers = operations(Store.OUTGOING) | operations(Store.INCOMING)
    names = {mention.operation for mention in scopes.program.mpi_calls()}
    names = {n for n in names if (row := procedure(n)) and row.name in transfers}
    for name in sorted(names | {f"p{name}" for name in names}):
        for located in scopes.program.mentions(name):
            scope = scopes.of(located)
            for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
                call = called(leaf, scope)
                if call is None or leaf.span is None:
                    continue
                envelopes = envelopes_of(call) or ()
                tags = [constants_in(envelope.tag, scope).value for envelope in envelopes]
                if tags and None not in tags and tag not in tags:
                    yield leaf.span.file, leaf.span.first
