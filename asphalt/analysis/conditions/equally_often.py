"""Condition 1, the control flow: producer and call alternate, with no exit between them."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.control_flow.graph import ENTRY, STOP, ControlFlow, PointRole, jump_targets
from asphalt.analysis.control_flow.paths import Path, alternation, path_witness
from asphalt.analysis.data_flow.reaching_definitions import Definition
from asphalt.analysis.exchange.producer import Producer, ProducerPhase
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.ir.source import Span
from asphalt.ir.stmt import Jump, JumpKind, Plain
from asphalt.ir.tree import Do, Leaf, leaves

NOT_TOGETHER = Code(
    "ASP102",
    "producer and call do not run equally often",
    "The nest and the call are not in the same innermost loop or branch, so that one of them may "
    "be executed without the other.",
    "Put the nest and the call into the same block.",
    1,
)
WAY_OUT = Code(
    "ASP103",
    "an early exit from the producer, or a jump into it",
    "A RETURN, EXIT, CYCLE or GOTO may leave the nest before its last iteration, or a GOTO may "
    "enter it.  Other ranks would wait for tiles that are never sent.",
    "Let the nest run to its end, for instance with a logical variable that makes iterations do "
    "nothing.",
    1,
)
CODES = (NOT_TOGETHER, WAY_OUT)


def check(producer: Producer) -> Answer:
    """Whether no control flow leaves or enters the phases, or the statements up to the call."""
    exchange = producer.exchange
    graph = exchange.reaching.graph
    unit = exchange.scope.unit
    for leaf in (leaf for node in unit.body for leaf in leaves(node)):
        if _may_go_anywhere(leaf):
            return Refused(WAY_OUT, "this may jump to any label of the unit", leaf.span)
    targets = {
        label: leaf
        for node in unit.body
        for leaf in leaves(node)
        for label in jump_targets(leaf.what)
    }
    for phase in producer.phases:
        refused = _ways(graph, phase)
        if refused is not None:
            return refused
    siblings = exchange.place.siblings
    for node in siblings[producer.packing.position + 1 : exchange.place.position]:
        for leaf in leaves(node):
            if _leaves_its_place(leaf) or leaf.label in targets:
                message = "control may leave or enter between the producer and the call"
                way = _skipping(exchange, producer.packing.nest)
                return refused_by(WAY_OUT, message, leaf.span, way)
    for phase in producer.phases:
        way = _skipping(exchange, phase.nest)
        if way is not None:
            message = "the producer and the call are not executed alternately"
            return refused_by(WAY_OUT, message, phase.nest.head.span, way)
    loops = " and ".join(f"the loop over {phase.variable}" for phase in producer.phases)
    return Holds(f"{loops} and the call run equally often, with no exit between")


def _ways(graph: ControlFlow, phase: ProducerPhase) -> Refused | None:
    """An exit from the tiled loop before its last iteration, or a jump into the nest."""
    inside = graph.inside(phase.tiled)
    last = graph.of(phase.tiled.head)[-1]
    for here in sorted(inside):
        for there in graph.successors[here]:
            if there not in inside and there != STOP and here != last:
                message = "this statement may leave the producer early"
                return _refused(message, graph, here, there)
    nest = graph.inside(phase.nest)
    first = graph.of(phase.nest.head)[0]
    for here in sorted(nest - inside):
        for there in graph.successors[here]:
            if (
                there not in nest
                and there != STOP
                and graph.points[here].leaf is not (phase.nest.head)
            ):
                message = "this statement leaves the producer"
                return _refused(message, graph, here, there)
    labels = {leaf.label for leaf in leaves(phase.nest)} - {None}
    for here, targets in enumerate(graph.successors):
        for there in targets if here not in nest else ():
            if there not in nest:
                continue
            labelled = (here, there) in graph.edge_labels and _jumps_to(graph, here, labels)
            if there != first or labelled:
                return _refused("a jump into the nest", graph, here, there)
    return None


def _jumps_to(graph: ControlFlow, here: int, labels: Iterable[int | None]) -> bool:
    what = graph.points[here].what
    if graph.points[here].role is PointRole.TEST:
        return False  # the jump is its action
    return what is not None and any(label in labels for label in jump_targets(what))


def _refused(message: str, graph: ControlFlow, here: int, there: int) -> Refused:
    leaf = graph.points[here].leaf
    points: tuple[int, ...] = (here, there)
    if graph.points[here].role is PointRole.ACTION:
        points = (here - 1, here, there)
    span = leaf.span if leaf is not None else None
    return refused_by(WAY_OUT, message, span, Path(graph, points))


def refused_by(code: Code, message: str, span: Span | None, way: Path | str | None) -> Refused:
    """The refusal with a path through the control flow as its witness, or with a text."""
    if isinstance(way, Path):
        return Refused(code, message, span, str(way), way.marks())
    return Refused(code, message, span, way)


def _skipping(exchange: Exchange, nest: Do) -> Path | None:
    """A path on which the nest is executed without the call, or the call without the nest."""
    graph = exchange.reaching.graph
    found = alternation(graph, graph.inside(nest), frozenset({exchange.point}))
    return None if found is None else found.path


def _may_go_anywhere(leaf: Leaf) -> bool:
    """Whether it is an assigned GOTO, or an ENTRY: another entry to the unit."""
    jump = _jump(leaf)
    if jump is not None and jump.kind is JumpKind.ASSIGNED_GOTO:
        return True
    return isinstance(leaf.what, Plain) and leaf.what.keyword == "entry"


def _leaves_its_place(leaf: Leaf) -> bool:
    what = leaf.action
    return _jump(leaf) is not None or any(True for _ in jump_targets(what))


def _jump(leaf: Leaf) -> Jump | None:
    """The jump in a statement; condition 7 covers STOP, in called procedures as well."""
    what = leaf.action
    if isinstance(what, Jump) and what.kind not in (JumpKind.STOP, JumpKind.ERROR_STOP):
        return what
    return None


def call_without(exchange: Exchange, found: Iterable[Definition]) -> Path | str | None:
    """A path from the entry to the call that avoids these definitions, and the loops around them
    that do not contain the call; without such a path, the lines of several definitions."""
    graph = exchange.reaching.graph
    listed = tuple(found)
    avoid = frozenset(n for definition in listed for n in region_of(exchange, definition))
    way = path_witness(graph, [ENTRY], {exchange.point}, avoid)
    if way is not None:
        return way
    lines = sorted({definition.line for definition in listed})
    if len(lines) < 2:
        return None
    return f"the definitions in {_lines(lines)} reach the call"


def region_of(exchange: Exchange, definition: Definition) -> frozenset[int]:
    """The outermost loop around a definition that does not contain the call; else its point."""
    graph = exchange.reaching.graph
    for node in graph.points[definition.point].around:
        if isinstance(node, Do):
            inside = graph.inside(node)
            if exchange.point not in inside:
                return inside
    return frozenset({definition.point})


def not_in_turn(exchange: Exchange, found: Iterable[Definition]) -> Path | None:
    """A path on which one of these definitions is executed without the call, or the reverse."""
    graph = exchange.reaching.graph
    for definition in found:
        region = region_of(exchange, definition)
        way = alternation(graph, region, frozenset({exchange.point}))
        if way is not None:
            return way.path
    return None


def reaching_lines(found: Iterable[Definition]) -> str | None:
    """The definitions as a clause: ``the definition in line 3 reaches the call``."""
    lines = sorted({definition.line for definition in found if definition.leaf is not None})
    if not lines:
        return None
    verb = "reaches" if len(lines) == 1 else "reach"
    word = "definition" if len(lines) == 1 else "definitions"
    return f"the {word} in {_lines(lines)} {verb} the call"


def _lines(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
