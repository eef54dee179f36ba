"""The evidence behind a verdict: the places in the source that it rests on, and a witness.

The conditions name the statement that violates them, with a witness from isl or the control flow
if there is one.  This module adds what every site has: the exchange, its producer, the reaching
definitions, the first use of the received data, and the statement itself as the last resort for a
witness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.exchange.buffers import Buffer, buffer_of
from asphalt.analysis.exchange.phase_order import Reorder
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.tiling.plan import Plan
from asphalt.analysis.verdicts.verdict import Mark, Refused
from asphalt.ir.source import Span
from asphalt.ir.stmt import Allocation
from asphalt.ir.tree import Arm, Branch, Do, Leaf, Node, leaves

_MOST_DEFINITIONS = 8


def completed(exchange: Exchange, refused: Refused) -> Refused:
    """The refusal with a span and a witness, even if the check gave none."""
    span = refused.span or exchange.span
    witness = refused.witness or _statement(exchange, span)
    return replace(refused, span=span, witness=witness)


def marks_of(exchange: Exchange, judgement: Plan | Refused | None) -> tuple[Mark, ...]:
    """The places that a verdict rests on, in reading order: producer, definitions, the violating
    statement of a refusal, the exchange, the first use."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    sent = buffer_of(exchange, arguments.send)
    received = buffer_of(exchange, arguments.receive)
    marks: list[Mark] = []
    if sent is not None:
        marks += _defining(exchange, judgement, sent)
    if isinstance(judgement, Refused):
        marks += [mark for mark in judgement.marks if mark not in marks]
        if judgement.span is not None:
            marks.append(Mark(judgement.span, "offending", judgement.message))
    what = "the exchange" if exchange.wrapper is None else f"the exchange: {exchange.operation}"
    marks.append(Mark(exchange.span, "exchange", what))
    marks += [mark for mark in exchange.via if mark not in marks]
    if received is not None:
        use = _first_use(exchange, exchange.names.storage(received.name))
        if use is not None:
            marks.append(Mark(use, "use", f"first use of {received.spelled}"))
    return tuple(marks)


def way_to(exchange: Exchange) -> tuple[Mark, ...]:
    """The constructs around an exchange, outermost first: the path of control to it."""
    marks: list[Mark] = []
    for around in exchange.place.around:
        match around:
            case Do(head=head):
                marks += _step(head, "the loop around the exchange")
            case Arm(head=head):
                marks += _step(head, "the branch that holds the exchange")
            case Branch(arms=arms):
                marks += _step(arms[0].head, "the branch that holds the exchange")
    return tuple({mark.span: mark for mark in marks}.values())


def _step(head: Leaf, text: str) -> list[Mark]:
    return [Mark(head.span, "path", text)] if head.span is not None else []


def _defining(exchange: Exchange, judgement: Plan | Refused | None, sent: Buffer) -> Iterator[Mark]:
    storage = exchange.names.storage(sent.name)
    nests = _producer(exchange, judgement, storage)
    for number, nest in enumerate(nests):
        span = _whole(nest)
        if span is not None:
            last = number == len(nests) - 1
            what = f"defines {sent.spelled}" if last else "computes what is packed"
            yield Mark(span, "producer", f"the producer: this nest {what}")
    reaching = exchange.reaching.at(exchange.point, storage)
    spans = dict.fromkeys(
        definition.leaf.span
        for definition in sorted(reaching, key=lambda d: d.line)
        if definition.leaf is not None
        and definition.leaf is not exchange.leaf
        and not isinstance(definition.leaf.what, Allocation)
        and definition.leaf.span is not None
        and _may_define(exchange, definition.leaf, storage)
    )
    for span in tuple(spans)[-_MOST_DEFINITIONS:]:
        yield Mark(span, "definition", f"defines {sent.spelled}")


def _may_define(exchange: Exchange, leaf: Leaf, designator: str) -> bool:
    """Whether a definition of a structure, or of a part of it, may define this component."""
    owner = designator.split("%")[0]
    written = [a for a in examine((leaf,), exchange.names).accesses if a.writes]
    return any(a.touches(designator) for a in written) or all(a.storage != owner for a in written)


def _producer(
    exchange: Exchange, judgement: Plan | Refused | None, storage: str
) -> tuple[Node, ...]:
    """The nests that a plan tiles; without one, the nest in front of the call that writes the send
    buffer last."""
    if isinstance(judgement, Plan):
        return tuple(phase.nest for phase in judgement.producer.phases)
    for node in reversed(exchange.place.siblings[: exchange.place.position]):
        if isinstance(node, Do) and storage in examine((node,), exchange.names).written():
            return (node,)
    return ()


def _first_use(exchange: Exchange, storage: str) -> Span | None:
    """The first statement behind the call, in source order, that may read what the exchange has
    received into a storage."""
    lines: list[Span] = []
    for definition in exchange.reaching.definitions(storage):
        if definition.point == exchange.point:
            uses = exchange.reaching.def_use(definition)
            lines += [use.leaf.span for use in uses if use.leaf.span is not None]
    behind = [span for span in lines if span.first > exchange.span.last]
    return min(behind or lines, key=lambda span: span.first, default=None)


def _whole(node: Node) -> Span | None:
    """From the first to the last character of the statements below a node."""
    spans = [leaf.span for leaf in leaves(node) if leaf.span is not None]
    if not spans:
        return None
    first, last = spans[0], spans[-1]
    return Span(first.file, first.first, first.first_col, last.last, last.last_col)


def order_witness(carried: Reorder) -> str:
    """Two iterations whose order would change, in words."""
    first, second = (_numbered(carried, leaf, when) for leaf, when in _ends(carried))
    return f"{first} must precede {second}"


def order_marks(carried: Reorder) -> tuple[Mark, ...]:
    """The two statements whose order would change."""
    return tuple(
        Mark(leaf.span, "path", f"{'first' if when == 'then' else 'later'}: {values}".rstrip(": "))
        for leaf, when in _ends(carried)
        if leaf.span is not None
        for values in (_iteration(carried, when),)
    )


def _ends(carried: Reorder) -> tuple[tuple[Leaf, str], ...]:
    return ((carried.earlier, "then"), (carried.later, "later"))


def _numbered(carried: Reorder, leaf: Leaf, when: str) -> str:
    line = f"line {leaf.span.first}" if leaf.span is not None else "a statement"
    values = _iteration(carried, when)
    return f"{line} with {values}" if values else line


def _iteration(carried: Reorder, when: str) -> str:
    """The values of the loop variables at one end, as ``z=5, p=1``."""
    point = carried.violation.point or {}
    return ", ".join(
        f"{name.removesuffix(when).rstrip()}={value}"
        for name, value in point.items()
        if name.endswith(f" {when}")
    )


def _statement(exchange: Exchange, span: Span) -> str:
    """A statement as a witness: its line and its text."""
    for unit in reversed(exchange.located.chain):
        for leaf in leaves(unit):
            if leaf.span == span and leaf.body is not None:
                return f"line {span.first}: {_one_line(leaf)}"
    return f"{span.file}:{span.first}"


def _one_line(leaf: Leaf) -> str:
    lines = (leaf.body or "").splitlines()
    text = " ".join(lines[0].split()) if lines else ""
    return text if len(lines) < 2 else f"{text.rstrip('& ')} ..."
