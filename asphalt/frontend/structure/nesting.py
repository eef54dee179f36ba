"""Leaves to the tree of units and constructs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import NoReturn

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.structure.classify import (
    NestingRole,
    NestingStatement,
    classify,
    without_blanks,
)
from asphalt.frontend.structure.specification import (
    is_specification,
    is_statement_function,
    may_be_statement_function,
)
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Arm, Block, Branch, Do, File, Leaf, Node, Unit

_INCLUDE = re.compile(r"include\s*['\"]", re.I)
_INHERITING = re.compile(r"(?:use|include|import)\b", re.I)
DEEPEST = 200
"""How deep units and constructs may nest (programs use some thirty levels)."""

_SPECIFICATIONS_ONLY = frozenset({"module", "submodule", "block_data"})


@dataclass(slots=True)
class _Frame:
    """An open unit or construct.

    ``role``: UNIT, DO, BRANCH or BLOCK.  ``nodes`` is where the next node goes.  Units: ``part``
    is ``spec``, ``body`` or ``contained``.
    """

    role: NestingRole
    kind: str
    head: Leaf | None
    name: str = ""
    label: int | None = None
    nodes: list[Node] = field(default_factory=list)
    arms: list[Arm] = field(default_factory=list)
    part: str = "spec"
    spec: list[Node] = field(default_factory=list)
    contains: Leaf | None = None
    units: list[Unit] = field(default_factory=list)
    first: int = 0


def build(source: SourceText, leaves: tuple[Leaf, ...], tail: tuple[Trivia, ...]) -> File:
    """The tree of a file from all of its leaves, in order.

    Raises InputError where the nesting is inconsistent: an END too many, a missing END.
    """
    builder = _Builder(source)
    for index, leaf in enumerate(leaves):
        builder.take(index, leaf)
    units, stray = builder.finish(leaves)
    return File(
        path=source.path,
        form=source.form,
        eol=source.eol,
        width=source.width,
        units=units,
        tail=tail,
        bom=source.bom,
        stray=stray,
    )


class _Builder:
    """Takes leaves one by one; ``stack`` holds what is open, outermost first."""

    def __init__(self, source: SourceText) -> None:
        self.path = source.path
        self.form = source.form
        self.units: list[Unit] = []
        self.stack: list[_Frame] = []
        self.pending: list[Leaf] = []  # include lines between units

    def take(self, index: int, leaf: Leaf) -> None:
        """The next leaf, the ``index``-th of the file."""
        code = _code(leaf)
        top = self.stack[-1] if self.stack else None
        between = top is None or (top.role is NestingRole.UNIT and top.part == "contained")
        opening = between or (top is not None and top.kind == "interface")
        shape = classify(code, self.form, opening)
        if between:
            if shape is None and _INCLUDE.match(code):
                self.pending.append(leaf)
                return
            if shape is not None and shape.role in (NestingRole.UNIT, NestingRole.END):
                leaf = self._with_pending(leaf)
            elif top is None:
                self._open_main(index, leaf)
            else:
                self._fail(leaf, "a statement after CONTAINS that begins no procedure")
        if shape is None:
            self._plain(leaf, code)
        elif shape.role is NestingRole.UNIT:
            self._unit(leaf, code, shape, opening)
        elif shape.role is NestingRole.END:
            self._end(leaf, shape.kind)
        elif shape.role is NestingRole.ARM:
            self._arm(leaf, shape.kind)
        elif shape.role is NestingRole.CONTAINS:
            self._contains(leaf, code)
        else:
            self._construct(leaf, shape)

    def finish(self, leaves: tuple[Leaf, ...]) -> tuple[tuple[Unit, ...], tuple[Leaf, ...]]:
        """The units of the file, and the statements after them that belong to none.

        Statements without an END (an include file) are no main program.
        """
        if not self.stack:
            return tuple(self.units), tuple(self.pending)
        bottom = self.stack[0]
        if bottom.head is None:
            return tuple(self.units), leaves[bottom.first :]
        frame = self.stack[-1]
        assert frame.head is not None
        self._fail(frame.head, f"the END of this {_spoken(frame)} is missing")

    def _plain(self, leaf: Leaf, code: str) -> None:
        top = self.stack[-1]
        if top.role is NestingRole.UNIT and top.part == "spec" and not self._specifies(top, code):
            top.part = "body"
        if leaf.label is None or not self._ends_loops(leaf, code):
            self._append(leaf)

    def _unit(self, leaf: Leaf, code: str, shape: NestingStatement, opening: bool) -> None:
        kind, name = shape.kind, shape.name
        if kind == "module_procedure":
            if self.stack and self.stack[-1].kind == "interface":
                self._plain(leaf, code)
                return
            if not self.stack:
                kind, name = "module", f"procedure{name}"
        if not opening:
            frame = self.stack[-1]
            self._fail(leaf, f"{shape.kind.upper()} inside {_place(frame)}: its END is missing")
        self._push(leaf, _Frame(NestingRole.UNIT, kind, leaf, name))

    def _open_main(self, index: int, leaf: Leaf) -> None:
        """A main program without PROGRAM statement."""
        first = index - len(self.pending)
        frame = _Frame(NestingRole.UNIT, "program", None, first=first)
        frame.spec.extend(self.pending)
        self.pending = []
        self.stack.append(frame)

    def _construct(self, leaf: Leaf, shape: NestingStatement) -> None:
        top = self.stack[-1]
        if shape.kind not in ("type", "enum", "interface") and top.role is NestingRole.UNIT:
            top.part = "body"
        self._push(leaf, _Frame(shape.role, shape.kind, leaf, label=shape.label))

    def _push(self, leaf: Leaf, frame: _Frame) -> None:
        if len(self.stack) >= DEEPEST:
            self._fail(leaf, f"nested deeper than {DEEPEST} levels")
        self.stack.append(frame)

    def _arm(self, leaf: Leaf, kind: str) -> None:
        top = self.stack[-1]
        if top.role is not NestingRole.BRANCH or top.kind != kind:
            self._fail(leaf, f"{_first_word(leaf)} inside {_place(top)}")
        assert top.head is not None
        top.arms.append(Arm(top.head, tuple(top.nodes)))
        top.head, top.nodes = leaf, []

    def _contains(self, leaf: Leaf, code: str) -> None:
        top = self.stack[-1]
        if top.role is NestingRole.UNIT:
            top.contains = leaf
            top.part = "contained"
        elif top.kind == "type":
            self._append(leaf)
        else:
            self._fail(leaf, f"CONTAINS inside {_place(top)}")

    def _end(self, leaf: Leaf, kind: str) -> None:
        word = f"END {kind.replace('_', ' ').upper()}".rstrip()
        if not self.stack:
            self._fail(leaf, f"{word} that ends nothing")
        top = self.stack[-1]
        if kind == "do" and leaf.label is not None and self._ends_loops(leaf, "enddo"):
            return
        if kind == "block_data" and top.kind == "block":
            kind = "block"
        if kind != top.kind and not (kind == "" and top.role is NestingRole.UNIT):
            self._fail(leaf, f"{word} inside {_place(top)}")
        self.stack.pop()
        self._append(_closed(top, leaf))

    def _ends_loops(self, leaf: Leaf, code: str) -> bool:
        """Ends the loops that the leaf's label ends; whether there are any.

        A CONTINUE or END DO that ends one loop is its end; any other statement belongs to the
        body of the innermost.
        """
        count = 0
        for frame in reversed(self.stack):
            if frame.role is not NestingRole.DO or frame.label != leaf.label:
                break
            count += 1
        if count == 0:
            return False
        alone = count == 1 and without_blanks(code).lower() in ("continue", "enddo")
        if not alone:
            self.stack[-1].nodes.append(leaf)
        for _ in range(count):
            frame = self.stack.pop()
            self._append(_closed(frame, leaf if alone else None))
        return True

    def _append(self, node: Node) -> None:
        if isinstance(node, Unit):
            if not self.stack:
                self.units.append(node)
                return
            if self.stack[-1].role is NestingRole.UNIT:
                self.stack[-1].units.append(node)
                return
        top = self.stack[-1]
        if top.role is NestingRole.UNIT and top.part == "spec":
            top.spec.append(node)
        else:
            top.nodes.append(node)

    def _specifies(self, unit: _Frame, code: str) -> bool:
        if unit.kind in _SPECIFICATIONS_ONLY or is_specification(code, self.form):
            return True
        if not may_be_statement_function(code):
            return False
        declared = [_code(node) for node in unit.spec if isinstance(node, Leaf)]
        hosted = len(self.stack) > 1 or any(_INHERITING.match(text) for text in declared)
        return is_statement_function(code, declared, hosted)

    def _with_pending(self, leaf: Leaf) -> Leaf:
        """The leaf with the include lines before it as its lead: they may insert procedures that
        asphalt does not see."""
        lines: list[Trivia] = []
        for include in self.pending:
            text = f"{include.head}{include.body or ''}{include.trail}"
            lines += (*include.lead, Trivia(TriviaKind.CPP, text))
        self.pending = []
        return replace(leaf, lead=(*lines, *leaf.lead)) if lines else leaf

    def _fail(self, leaf: Leaf, message: str) -> NoReturn:
        raise InputError(self.path, _line(leaf), message)


def _closed(frame: _Frame, end: Leaf | None) -> Node:
    """The node of a frame that ``end`` ends (None: a loop that ends with its last statement)."""
    nodes = tuple(frame.nodes)
    if frame.role is NestingRole.UNIT:
        assert end is not None
        return Unit(
            kind=frame.kind,
            name=frame.name,
            head=frame.head,
            spec=tuple(frame.spec),
            body=nodes,
            contains=frame.contains,
            contained=tuple(frame.units),
            end=end,
        )
    assert frame.head is not None
    if frame.role is NestingRole.DO:
        return Do(frame.head, nodes, end)
    assert end is not None
    if frame.role is NestingRole.BRANCH:
        return Branch(frame.kind, (*frame.arms, Arm(frame.head, nodes)), end)
    return Block(frame.kind, frame.head, nodes, end)


def _code(leaf: Leaf) -> str:
    assert isinstance(leaf.what, Raw)
    return leaf.what.code


def _line(leaf: Leaf) -> int | None:
    return None if leaf.span is None else leaf.span.first


def _first_word(leaf: Leaf) -> str:
    return _code(leaf).split("(")[0].strip().upper()


def _spoken(frame: _Frame) -> str:
    return f"{frame.kind.replace('_', ' ').upper()} {frame.name}".rstrip()


def _place(frame: _Frame) -> str:
    """The description of a frame and its first line, for messages."""
    if frame.head is None:
        return "the main program"
    return f"the {_spoken(frame)} of line {_line(frame.head)}"
