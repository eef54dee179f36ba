"""Condition 8: the buffers are contiguous, and the datatypes are those of their elements."""

from __future__ import annotations

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.contiguity import contiguity
from asphalt.analysis.mpi.datatypes import PredefinedType
from asphalt.analysis.names.designators import symbol_named
from asphalt.analysis.names.scopes import Origin, element_bytes
from asphalt.analysis.tiling.layout import Layout
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused

NOT_CONTIGUOUS = Code(
    "ASP801",
    "a buffer is not contiguous",
    "The buffer is an assumed-shape dummy argument to which all callers pass sections with gaps, "
    "or whose contiguity cannot be checked at run time, because IS_CONTIGUOUS is another name "
    "here.  The compiler passes a copy of such an array, which is gone when a non-blocking call "
    "returns.",
    "Pass whole arrays, or declare the dummy argument with explicit bounds or CONTIGUOUS.",
    8,
)
DATATYPE = Code(
    "ASP802",
    "the datatype is not known",
    "The datatype is a derived one, or in a variable to which the program gives others, too, so "
    "that it is not known which elements of the buffer belong to which block.",
    "Use a predefined datatype such as MPI_DOUBLE_PRECISION.",
    8,
)
DIFFERENT = Code(
    "ASP803",
    "datatype and buffer do not fit",
    "The send and the receive datatype differ, or the size of the datatype is not that of an "
    "element of the buffer, so that counts of the call are not counts of elements.",
    "Use the datatype of the elements, e.g. MPI_DOUBLE_COMPLEX for complex(8).",
    8,
)

CODES = (NOT_CONTIGUOUS, DATATYPE, DIFFERENT)


def check(exchange: Exchange, layout: Layout) -> Answer:
    """Whether both buffers are simply contiguous arrays of one predefined datatype."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    for buffer in (layout.send.buffer, layout.receive.buffer):
        symbol = symbol_named(buffer, exchange.scope)
        if symbol is None or symbol.dims is None:
            return Refused(NOT_CONTIGUOUS, f"the shape of {buffer} is not known", exchange.span)
        found = contiguity(buffer, exchange.scope)
        if found.no or (found.unknown and not _can_be_asked(exchange)):
            span = found.span or exchange.span
            return Refused(NOT_CONTIGUOUS, f"{buffer} {found.reason}", span)
    types: list[PredefinedType] = []
    for argument in (arguments.send_type, arguments.receive_type):
        actual = exchange.call.args[argument or ""]
        kind = datatype_of(actual, exchange.scope)
        if kind is None or kind.gaps:
            message = f"the {argument} is not a predefined datatype without gaps"
            return Refused(DATATYPE, message, exchange.span)
        types.append(kind)
    if types[0].name != types[1].name:
        message = f"{types[0].name} is sent and {types[1].name} is received"
        return Refused(DIFFERENT, message, exchange.span)
    counter = None if layout.packed is None else layout.packed.counter
    for buffer in (layout.send.buffer, layout.receive.buffer):
        symbol = symbol_named(buffer, exchange.scope)
        assert symbol is not None
        size = element_bytes(symbol, exchange.scope)
        if counter is not None and counter.bytes > 1 and size == counter.bytes:
            continue  # counts are numbers of bytes
        if size is not None and types[0].bytes is not None and size != types[0].bytes:
            message = (
                f"an element of {buffer} has {size} bytes, one of {types[0].name.upper()} "
                f"{types[0].bytes}"
            )
            return Refused(DIFFERENT, message, exchange.span)
    return Holds(f"both buffers are contiguous arrays of {types[0].name.upper()}")


def _can_be_asked(exchange: Exchange) -> bool:
    """Whether the emitted code can call IS_CONTIGUOUS."""
    symbol = exchange.scope.lookup("is_contiguous")
    return symbol is not None and symbol.origin is Origin.INTRINSIC
