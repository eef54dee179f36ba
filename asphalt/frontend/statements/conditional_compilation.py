"""Statements behind the sentinel ``!$``, which only a compilation with OpenMP has.

    !$ nth = omp_get_max_threads()          if (openmp) nth = omp_get_max_threads()
    !$ if (nth > 1) then                    if (.not. openmp .or. nth > 1) then
         print *, nth                         print *, nth
    !$ end if                               end if

What stands on the left means what stands on the right: the program of either compilation is one of
its executions (OpenMP 5.0 2.2).  The statement becomes a leaf with the sentinel in its ``head``;
its text may not be edited, as that of other lines that not all compilations have.  A statement that
has no such form remains a line of the text in front of the next one.

``!$omp end parallel do`` belongs to the loop that it ends, and becomes part of its last line.  So
do ``!$omp end do`` and ``!$omp end parallel`` where the region is nothing but that loop.  The end
of a WORKSHARE construct becomes part of the last line of its last statement.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from asphalt.frontend.lexical.source_text import FIXED_WIDTH, FREE_WIDTH, SourceText
from asphalt.frontend.lexical.split import split
from asphalt.ir.edit import map_leaves
from asphalt.ir.expr import Expr, Op, OpaqueExpr
from asphalt.ir.records import record
from asphalt.ir.source import Form, Span, Trivia, TriviaKind
from asphalt.ir.stmt import (
    IO,
    ArmHead,
    Assign,
    Call,
    Guarded,
    Jump,
    JumpKind,
    Plain,
    Raw,
    What,
)
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit, leaves, with_first_leaf

_WITH = OpaqueExpr("!$", frozenset())
"""Whether the program was compiled with OpenMP: the same on all ranks, at any time.  It has no
text that a compiler accepts, so that it is never printed."""
_WITHOUT = Op(".not.", (_WITH,))
_SENTINEL = re.compile(r"([ \t]*)[!cC*]\$")
_ENDS_LOOP = re.compile(r"\s*[!c*]\$omp\s*end\s*parallel\s*do(?:\s*simd)?\s*(?:!.*)?\Z", re.I)
_OF_THREADS = re.compile(r"\s*[!c*]\$(?:omp|acc)", re.I)
_LABELLED = re.compile(r"\s*do\s*(\d+)\b")
_REST = re.compile(r"[!c*]\$omp[^\s0]", re.I)
_PARALLEL_DO = re.compile(r"\s*[!c*]\$omp\s+parallel\s*do\b", re.I)
_PARALLEL = re.compile(r"\s*[!c*]\$omp\s+parallel(?!\s*(?:do|loop|ma|sections|workshare))\b", re.I)
_DO = re.compile(r"\s*[!c*]\$omp\s+do\b", re.I)
_END_DO = re.compile(r"\s*[!c*]\$omp\s*end\s*do(?:\s*simd)?(?:\s*nowait)?\s*(?:!.*)?\Z", re.I)
_END_PARALLEL = re.compile(r"\s*[!c*]\$omp\s*end\s*parallel\s*(?:!.*)?\Z", re.I)
_WORKSHARE = re.compile(r"\s*[!c*]\$omp\s+parallel\s*workshare\b", re.I)
_END_WORKSHARE = re.compile(r"\s*[!c*]\$omp\s*end\s*parallel\s*workshare\s*(?:!.*)?\Z", re.I)
_STOPS = (JumpKind.STOP, JumpKind.ERROR_STOP)

Interpreted = Callable[[Leaf], Leaf]


def with_conditional_statements(unit: Unit, interpreted: Interpreted) -> Unit:
    """The unit with the statements behind sentinels in its execution part; ``interpreted`` gives
    statements their meaning."""
    closing = unit.contains or unit.end
    marked = (TriviaKind.CONDITIONAL, TriviaKind.DIRECTIVE)
    own = (*(leaf for node in unit.body for leaf in leaves(node)), closing)
    if not any(entry.kind in marked for leaf in own for entry in leaf.lead):
        return unit
    body, last = _Lists(interpreted).of(unit.body, closing)
    if unit.contains is None:
        return replace(unit, body=body, end=last)
    return replace(unit, body=body, contains=last)


@record
class _Lists:
    """The statement lists of a unit."""

    interpreted: Interpreted

    def of(self, nodes: tuple[Node, ...], closing: Leaf) -> tuple[tuple[Node, ...], Leaf]:
        """A statement list, and the statement behind it, with the conditional statements in front
        of them."""
        found: list[Node] = []
        for node in nodes:
            first = next(leaves(node))
            ahead, lead = self._taken(found, first)
            found += ahead
            if lead != first.lead:
                node = with_first_leaf(node, replace(first, lead=lead))
            found.append(self._inside(node))
        ahead, lead = self._taken(found, closing)
        found += ahead
        return self._constructs(found, replace(closing, lead=lead))

    def _inside(self, node: Node) -> Node:
        match node:
            case Do(body=body, end=Leaf() as end):
                inner, last = self.of(body, end)
                return replace(node, body=inner, end=last)
            case Branch(kind="if" | "select" as kind, arms=arms, end=end):
                heads = [*(arm.head for arm in arms), end]
                bodies = [arm.body for arm in arms]
                for number, own in enumerate(bodies):
                    if kind == "if" or number > 0:  # SELECT itself has no statements
                        bodies[number], heads[number + 1] = self.of(own, heads[number + 1])
                *starts, last = heads
                done = (Arm(head, own) for head, own in zip(starts, bodies, strict=True))
                return Branch(kind, tuple(done), last)
            case Block(kind="critical" | "associate" | "block", body=body, end=end):
                inner, last = self.of(body, end)
                return replace(node, body=inner, end=last)
        return node

    def _taken(self, before: list[Node], leaf: Leaf) -> tuple[list[Leaf], tuple[Trivia, ...]]:
        """The conditional statements in front of a statement, and the lines that remain there; the
        end of a parallel loop goes to the loop in front of it."""
        lead = leaf.lead
        if leaf.joined or not lead or leaf.span is None or not isinstance(leaf.what, Raw):
            return [], lead
        lead = _with_workshare(before, _with_loop(before, lead))
        found: list[Leaf] = []
        rest: list[Trivia] = []
        number = 0
        line = leaf.line - leaf.head.count("\n") - sum(e.text.count("\n") for e in lead)
        while number < len(lead):
            run = number
            while run < len(lead) and _is_conditional(lead[run]):
                run += 1
            if run == number:
                rest.append(lead[number])
                line += lead[number].text.count("\n")
                number += 1
                continue
            for entry in self._read(lead[number:run], leaf, leaf.span.file, line):
                if isinstance(entry, Trivia):
                    rest.append(entry)
                else:
                    found.append(replace(entry, lead=tuple(rest)))
                    rest = []
            line += run - number
            number = run
        return found, tuple(rest)

    def _read(
        self, lines: tuple[Trivia, ...], leaf: Leaf, path: str, line: int
    ) -> Iterator[Leaf | Trivia]:
        """The statements of consecutive lines; what has no form that is understood remains."""
        assert isinstance(leaf.what, Raw)
        form = Form.FIXED if leaf.what.fixed else Form.FREE
        texts = [entry.text for entry in lines]
        if form is Form.FIXED and any(
            "\t" in text or len(text.rstrip()) > FIXED_WIDTH for text in texts
        ):
            yield from lines
            return
        width = FIXED_WIDTH if form is Form.FIXED else FREE_WIDTH
        blanked = [_SENTINEL.sub(lambda m: m[1] + "  ", text, count=1) for text in texts]
        found, _ = split(SourceText(path, "".join(blanked), form, width))
        done = 0
        for one in found:
            assert one.span is not None
            first, last = one.span.first - 1, one.span.last - 1
            alone = not one.joined and ";" not in one.trail.split("!")[0]
            plain = alone and one.label is None and one.name is None and not one.frozen
            whole = one.head.count("\n") == 0 and first >= done
            meant = self._meaning(one) if plain and whole else None
            if meant is None:
                continue
            yield from lines[done:first]
            done = last + 1
            text = "".join(texts[first:done])
            begin, stop = one.span.first_col - 1, len(text) - len(one.trail)
            yield replace(
                meant,
                span=Span(path, line + first, begin + 1, line + last, one.span.last_col),
                head=text[:begin],
                body=text[begin:stop],
                trail=text[stop:],
                frozen=True,
            )
        yield from lines[done:]

    def _meaning(self, leaf: Leaf) -> Leaf | None:
        """The statement with its meaning in both compilations; None: it may be anything."""
        found = self.interpreted(leaf)
        match found.what:
            case ArmHead(kind="if" | "else_if" | "else") | Plain("end if"):
                return found
            case Guarded(condition=condition, action=action, kind="if") if _may_stay(action):
                return replace(found, what=Guarded(Op(".and.", (_WITH, condition)), action))
            case what if _may_stay(what):
                return replace(found, what=Guarded(_WITH, what))
        return None

    def _constructs(self, nodes: list[Node], closing: Leaf) -> tuple[tuple[Node, ...], Leaf]:
        """The list with the IF constructs whose heads and ends are conditional; those of which not
        all is here become lines in front of the next statement."""
        found: list[Node] = []
        waiting: tuple[Trivia, ...] = ()
        number = 0
        while number < len(nodes):
            node = nodes[number]
            if waiting:
                first = next(leaves(node))
                node = with_first_leaf(node, replace(first, lead=(*waiting, *first.lead)))
                waiting = ()
            if not _is_structure(node):
                found.append(node)
                number += 1
                continue
            stop = _end_of(nodes, number)
            branch = None if stop is None else self._branch((node, *nodes[number + 1 : stop + 1]))
            if branch is not None and stop is not None:
                found.append(branch)
                number = stop + 1
                continue
            assert isinstance(node, Leaf)
            waiting = (*node.lead, *_lines(node))
            number += 1
        return tuple(found), replace(closing, lead=(*waiting, *closing.lead))

    def _branch(self, nodes: tuple[Node, ...]) -> Branch | None:
        """The construct from its head to its end; None: without OpenMP, it is no construct."""
        head, *inside, end = nodes
        assert isinstance(head, Leaf)
        assert isinstance(end, Leaf)
        marks = [0, *(n for n, node in enumerate(nodes) if n and _is_arm(nodes, n)), len(nodes) - 1]
        hidden = all(leaf.is_hidden for node in inside for leaf in leaves(node))
        if len(marks) > 2 and not hidden:
            return None
        arms: list[Arm] = []
        for first, behind in itertools.pairwise(marks):
            arm = nodes[first]
            assert isinstance(arm, Leaf)
            assert isinstance(arm.what, ArmHead)
            body, after = self._constructs(list(nodes[first + 1 : behind]), _closing(nodes[behind]))
            nodes = (*nodes[:behind], after, *nodes[behind + 1 :])
            arms.append(Arm(replace(arm, what=arm.what if hidden else _either(arm.what)), body))
        last = nodes[-1]
        assert isinstance(last, Leaf)
        return Branch("if", tuple(arms), last)


def _closing(node: Node) -> Leaf:
    assert isinstance(node, Leaf)
    return node


def _either(head: ArmHead) -> ArmHead:
    """The head of an IF whose statements are executed always without OpenMP."""
    (condition,) = head.exprs
    assert isinstance(condition, Expr)
    return ArmHead("if", (Op(".or.", (_WITHOUT, condition)),))


def _may_stay(action: What) -> bool:
    """Whether the effects of a statement are known, and it goes to no other statement.

    The calls of MPI stay unknown: not all compilations make them.
    """
    match action:
        case Assign() | IO(labels=()):
            return True
        case Call(procedure=procedure, args=args):
            name = getattr(procedure, "name", "")
            return not name.startswith(("mpi_", "pmpi_")) and all(
                isinstance(arg, Expr) or hasattr(arg, "value") for arg in args
            )
        case Jump(kind=kind):
            return kind in _STOPS
    return False


def _is_structure(node: Node) -> bool:
    """Whether a node is a conditional line that belongs to an IF construct."""
    return isinstance(node, Leaf) and node.is_hidden and isinstance(node.what, ArmHead | Plain)


def _end_of(nodes: list[Node], number: int) -> int | None:
    """Where the construct that begins at a node of a list ends; None: there is none."""
    depth = 0
    for place in range(number, len(nodes)):
        node = nodes[place]
        if isinstance(node, Leaf) and _is_structure(node):
            depth += node.what == Plain("end if")
            depth -= isinstance(node.what, ArmHead) and node.what.kind == "if"
            if depth >= 0:
                return place if depth == 0 and node.what == Plain("end if") else None
    return None


def _is_arm(nodes: tuple[Node, ...], number: int) -> bool:
    """Whether a node begins another arm of the construct that the list is."""
    node = nodes[number]
    if not (isinstance(node, Leaf) and _is_structure(node) and isinstance(node.what, ArmHead)):
        return False
    depth = 0
    for other in nodes[1:number]:
        if isinstance(other, Leaf) and _is_structure(other):
            depth += isinstance(other.what, ArmHead) and other.what.kind == "if"
            depth -= other.what == Plain("end if")
    return depth == 0 and node.what.kind != "if"


def _lines(leaf: Leaf) -> tuple[Trivia, ...]:
    """The lines of a conditional statement as they were."""
    text = f"{leaf.head}{leaf.body}{leaf.trail}"
    return tuple(Trivia(TriviaKind.CONDITIONAL, line) for line in text.splitlines(keepends=True))


def _with_loop(before: list[Node], lead: tuple[Trivia, ...]) -> tuple[Trivia, ...]:
    """The lines in front of a statement without the end of the parallel loop before it, which goes
    to the loop."""
    if not before or not isinstance(before[-1], Do):
        return lead
    loop = before[-1]
    ends = [_END_DO, _END_PARALLEL] if _ends_region(before) else [_ENDS_LOOP]
    for number, entry in enumerate(lead):
        text = entry.text.strip()
        if entry.kind is TriviaKind.DIRECTIVE and ends[-1].match(text):
            *_, last = leaves(loop)
            own = loop.end is last or (len(ends) == 1 and _ends_with(last, loop))
            if not last.trail.endswith("\n") or not own:
                return lead
            text = "".join(one.text for one in lead[: number + 1])
            before[-1] = map_leaves(loop, partial(_followed_by, text, last))
            return lead[number + 1 :]
        if entry.kind is TriviaKind.DIRECTIVE and ends[0].match(text):
            ends = ends[1:]
        elif entry.kind not in (TriviaKind.BLANK, TriviaKind.COMMENT):
            return lead
    return lead


def _with_workshare(before: list[Node], lead: tuple[Trivia, ...]) -> tuple[Trivia, ...]:
    """The lines in front of a statement without the end of the WORKSHARE construct before it, which
    goes to the last statement of the construct."""
    behind = (entry.kind not in (TriviaKind.BLANK, TriviaKind.COMMENT) for entry in lead)
    place = next((number for number, other in enumerate(behind) if other), None)
    if place is None or not _END_WORKSHARE.match(lead[place].text.strip()):
        return lead
    begins = (next(leaves(node)).lead for node in before)
    if not any(_WORKSHARE.match(entry.text) for own in begins for entry in own):
        return lead
    *_, last = leaves(before[-1])
    if not last.trail.endswith("\n"):
        return lead
    text = "".join(entry.text for entry in lead[: place + 1])
    before[-1] = map_leaves(before[-1], partial(_followed_by, text, last))
    return lead[place + 1 :]


def _ends_with(last: Leaf, loop: Do) -> bool:
    """Whether a parallel loop and loops in it end with one labelled CONTINUE: the end of the
    parallel loop stands behind the statement that they share (OpenMP 4.5 2.7.1)."""
    directives = [one.text for one in loop.head.lead if _OF_THREADS.match(one.text)]
    while len(directives) > 1 and _goes_on(*directives[-2:]):
        directives.pop()
    if not directives or not _PARALLEL_DO.match(directives[-1]) or loop.head.joined:
        return False
    first, end = loop.head.what, last.what
    if not isinstance(first, Raw) or not isinstance(end, Raw):
        return False
    match = _LABELLED.match(first.code.lower())
    shared = match is not None and last.label is not None and int(match[1]) == last.label
    return shared and end.code.strip().lower() == "continue"


def _goes_on(line: str, other: str) -> bool:
    """Whether the second of two lines of directives continues the first one."""
    return line.partition("!$")[2].split("!")[0].rstrip().endswith("&") or bool(_REST.match(other))


def _followed_by(text: str, last: Leaf, leaf: Leaf) -> Leaf:
    return replace(leaf, trail=leaf.trail + text) if leaf is last else leaf


def _ends_region(before: list[Node]) -> bool:
    """Whether the last statements are loops of one parallel region, which begins in front of the
    first of them."""
    for node in reversed(before):
        if not isinstance(node, Do):
            return False
        if _is_region(node):
            return True
        texts = [entry.text for entry in node.head.lead if entry.kind is TriviaKind.DIRECTIVE]
        if not texts or not _DO.match(texts[-1]):
            return False
    return False


def _is_region(loop: Do) -> bool:
    """Whether a parallel region begins in front of a loop, and shares its iterations."""
    texts = [entry.text for entry in loop.head.lead if entry.kind is TriviaKind.DIRECTIVE]
    places = [number for number, text in enumerate(texts) if _PARALLEL.match(text)]
    return bool(places) and any(_DO.match(text) for text in texts[places[-1] :])


def _is_conditional(entry: Trivia) -> bool:
    return entry.kind is TriviaKind.CONDITIONAL and entry.text.count("\n") == 1
