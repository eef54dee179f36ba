"""Variable renaming: a buffer that several transfers use one after the other becomes several.

Before::

    call MPI_Recv(line, n, MPI_REAL, north, 1, comm, status, ierr)
    g(:, 0) = line
    call MPI_Recv(line, n, MPI_REAL, west, 2, comm, status, ierr)
    g(0, :) = line

After::

    call MPI_Recv(line, n, MPI_REAL, north, 1, comm, status, ierr)
    g(:, 0) = line
    call MPI_Recv(asphalt_line_1, n, MPI_REAL, west, 2, comm, status, ierr)
    g(0, :) = asphalt_line_1

The second receive can then start before the first one is complete (Danalis et al., ICS 2009,
section 5, "variable cloning").  A live range begins where the statements of a list need no element
that was defined before, and ends where the next one begins; each is renamed on its own.  A receive
defines the elements of its count only if no message can be shorter (``full_messages``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.buffer_flow import BufferFlow
from asphalt.analysis.messages.full_messages import FullMessages
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.analysis.names.scopes import Symbol
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.insertion import last_declaration, takes_declarations
from asphalt.ir.mapped import NotMappedError, mapped_what
from asphalt.ir.records import record
from asphalt.ir.source import OF_THE_PREPROCESSOR, TriviaKind
from asphalt.ir.stmt import Decl, Entity, Include
from asphalt.ir.tree import Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.buffers.clones import OWN, has_room
from asphalt.transforms.rewriting.comments import comments_inside
from asphalt.transforms.rewriting.declare import column_of, insert_behind
from asphalt.transforms.rewriting.edit import map_leaves, rewrite_list
from asphalt.transforms.rewriting.make import Maker
from asphalt.transforms.rewriting.new_names import next_number
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_PREFIX = "asphalt_"
_CONDITIONAL = (*OF_THE_PREPROCESSOR, TriviaKind.DEAD, TriviaKind.CONDITIONAL)


@record
class Rename(Step):
    """The variable ``old`` becomes ``new`` in the statements ``first`` to ``last`` of the list that
    ``path`` leads to."""

    path: tuple[int, ...]
    first: int
    last: int
    old: str
    new: str


def check(facts: UnitFacts, limit: int | None = None) -> tuple[Found, ...]:
    """The live ranges of local buffers that can have an array of their own: all but the first of
    each.  ``limit``: MiB that copies may have; None: the usual limit."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    if not takes_declarations(facts.unit) or not _clear_declarations(facts):
        return ()
    if has_conditional_lines(facts.unit):
        return ()
    full = FullMessages(facts.scope)
    found: list[Found] = []
    for name in _buffers(facts, messages):
        if not has_room(name, facts, limit):
            continue
        ranges = list(_Ranges(facts, BufferFlow(facts, messages, full, name), name).all())
        for live in ranges[1:]:
            step = _step(facts, messages, order, name, live)
            if step is not None:
                found.append(step)
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one live range renamed, and the new variable declared like the old one."""
    assert isinstance(step, Rename)
    symbol = facts.scope.lookup(step.old)
    assert symbol is not None
    assert symbol.type is not None

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        inside = (_renamed(n, step, facts) for n in nodes[step.first : step.last + 1])
        return (*nodes[: step.first], *inside, *nodes[step.last + 1 :])

    unit = replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))
    entity = Entity(step.new, step.new, symbol.dims)
    declaration = Decl("type", symbol.type, (), None, (entity,))
    make = Maker(column_of(unit, facts.located.form), 2, facts.free, facts.eol)
    text = f"asphalt: {step.old} {OWN}"
    return insert_behind(unit, last_declaration(unit), (make.leaf(declaration, text),))


@record
class _Live:
    """A live range: the statements from ``first`` to ``last`` of a list."""

    path: tuple[int, ...]
    nodes: tuple[Node, ...]
    first: int
    last: int


@record
class _Ranges:
    """The live ranges of one variable."""

    facts: UnitFacts
    flow: BufferFlow
    name: str

    def all(self) -> Iterator[_Live]:
        """All ranges that no value enters or leaves, in source order."""
        yield from self._in(self.facts.unit.body, ())

    def _in(self, nodes: tuple[Node, ...], path: tuple[int, ...]) -> Iterator[_Live]:
        """Those of a list behind which nothing reads what it leaves."""
        places = [n for n, node in enumerate(nodes) if self._has(node)]
        cuts = [place for place in places if self.flow.needs_no_value(nodes[place:])]
        for cut, end in pairwise((*cuts, len(nodes))):
            last = max(place for place in places if place < end)
            inner = list(self._inside(nodes[cut], (*path, cut))) if last == cut else []
            if len(inner) > 1:
                yield from inner
            else:
                yield _Live(path, nodes, cut, last)

    def _inside(self, node: Node, path: tuple[int, ...]) -> Iterator[_Live]:
        match node:
            case Do(body=body) if not self._has(node.head) and self.flow.needs_no_value(body):
                yield from self._in(body, path)
            case Branch(arms=arms) if not any(self._has(arm.head) for arm in arms):
                for number, arm in enumerate(arms):
                    yield from self._in(arm.body, (*path, number))

    def _has(self, node: Node) -> bool:
        return any(mentions(leaf, self.name, self.facts) for leaf in leaves(node))


def mentions(leaf: Leaf, name: str, facts: UnitFacts) -> bool:
    """Whether a statement names a variable, or accesses it."""
    if any(access.storage == name for access in facts.footprint(leaf).accesses):
        return True
    try:
        seen = Ref("", "")
        return mapped_what(leaf.what, lambda ref: seen if ref.name == name else None) != leaf.what
    except NotMappedError:
        return True


def _buffers(facts: UnitFacts, messages: Messages) -> tuple[str, ...]:
    """The local arrays that more than one blocking transfer of one message has for its buffer, and
    that no other kind of transfer has."""
    count: dict[str, int] = {}
    for _, call in messages.own_calls():
        for transfer in library_row(call.procedure).transfers:
            actual = call.args.get(transfer.argument)
            if isinstance(actual, Ref):
                number = 1 if stage_of(call) is Stage.BOTH else -1000
                count[actual.name] = count.get(actual.name, 0) + number
    return tuple(name for name, n in count.items() if n > 1 and is_local_array(name, facts))


def is_local_array(name: str, facts: UnitFacts) -> bool:
    """Whether a variable is an array of the unit alone, with bounds of its own."""
    symbol = facts.scope.lookup(name)
    if symbol is None or not is_local(name, facts) or name in facts.scope.shadowed:
        return False
    plain = not symbol.attrs and symbol.initial is None and symbol.type is not None
    explicit = all(dim.kind == "explicit" for dim in symbol.dims or ())
    return plain and bool(symbol.dims) and explicit and _only_declared(symbol, facts)


def _only_declared(symbol: Symbol, facts: UnitFacts) -> bool:
    """Whether a variable is in no group of a namelist, and has no other attribute statement."""
    for leaf in (leaf for node in facts.unit.spec for leaf in leaves(node)):
        for what in _declarations(leaf, facts):
            entities = (*what.entities, *(e for _, group in what.groups for e in group))
            if what.kind not in ("type", "dimension") and any(
                entity.name == symbol.name for entity in entities
            ):
                return False
    return True


def _declarations(leaf: Leaf, facts: UnitFacts) -> Iterator[Decl]:
    what = leaf.what
    if isinstance(what, Decl):
        yield what
    if isinstance(what, Include):
        for node in facts.scope.program.include(facts.located, what.path) or ():
            for inner in leaves(node):
                yield from _declarations(inner, facts)


def _clear_declarations(facts: UnitFacts) -> bool:
    """Whether all included files hold declarations alone."""
    program = facts.scope.program
    included = (
        leaf.what.path
        for node in facts.unit.spec
        for leaf in leaves(node)
        if isinstance(leaf.what, Include)
    )
    return all(program.include(facts.located, path) is not None for path in included)


def has_conditional_lines(unit: Unit) -> bool:
    """Whether some lines of a unit exist in some builds only: what they declare has another type or
    size in others, and what they use keeps its name."""
    return any(line.kind in _CONDITIONAL for leaf in leaves(unit) for line in leaf.lead)


def _step(
    facts: UnitFacts, messages: Messages, order: Independence, name: str, live: _Live
) -> Rename | None:
    nodes = live.nodes[live.first : live.last + 1]
    if any(order.place.bound(node) is not None for node in nodes):
        return None
    transfers = [
        leaf for node in nodes for leaf, _ in messages.calls(node) if mentions(leaf, name, facts)
    ]
    if not transfers:
        return None
    stem = re.sub(r"_\d+$", "", name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else name
    prefix = f"{_PREFIX}{stem}_"
    step = Rename(
        line_of(transfers[0]),
        f"{name} is a variable of its own from {facts.at(next(leaves(nodes[0])))} on",
        ("nothing that is read there was defined before, and nothing behind reads what it leaves",),
        live.path,
        live.first,
        live.last,
        name,
        f"{prefix}{next_number(facts, prefix)}",
    )
    try:
        new = [_renamed(node, step, facts) for node in nodes]
    except NotMappedError:
        return None
    done = not any(still_named(leaf, name) for node in new for leaf in leaves(node))
    return step if done else None


def still_named(leaf: Leaf, name: str) -> bool:
    """Whether a statement has a name that mapping does not reach."""
    words = re.findall(r"[a-z_]\w*", (leaf.body or "").lower())
    return leaf.body is not None and (name in words or name in leaf.cut)


def _renamed(node: Node, step: Rename, facts: UnitFacts) -> Node:
    return map_leaves(node, partial(_renamed_leaf, step=step, facts=facts))


def _renamed_leaf(leaf: Leaf, step: Rename, facts: UnitFacts) -> Leaf:
    def change(ref: Ref) -> Expr | None:
        return replace(ref, name=step.new, spelled=step.new) if ref.name == step.old else None

    what = mapped_what(leaf.what, change)
    if what == leaf.what:
        return leaf
    inside = comments_inside(leaf, facts.free, facts.eol)
    return replace(leaf, what=what, body=None, lead=(*leaf.lead, *inside))


TRANSFORMATION = Transformation(
    "variable renaming",
    Pass.RENAMING,
    Phase.BUFFERS,
    "A buffer that several transfers use one after the other becomes several buffers.",
    check,
    apply,
)
