"""Array expansion: each iteration of a loop gets message buffers of its own.

Before::

    real :: top(n)
    do k = 1, planes
      call MPI_Recv(top, n, MPI_REAL, above, 1, comm, status, ierr)
      v(0,:,k) = top
      ...
    end do

After::

    real :: top(n,planes)
    do k = 1, planes
      call MPI_Recv(top(:,k), n, MPI_REAL, above, 1, comm, status, ierr)
      v(0,:,k) = top(:,k)
      ...
    end do

The receive of an iteration can then start before the previous message is used, so waits may leave
the loop (``waits_behind_loop``; Danalis et al., ICS 2009, section 5, variable cloning and array
expansion).  No value may pass in the buffer from one iteration to another, or out of the loop; an
element that a receive leaves unchanged counts as such a value (``full_messages``).  By itself this
gains nothing.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.few_iterations import few_iterations, has_own_indices
from asphalt.analysis.dependence.loop_distribution import receives_can_move
from asphalt.analysis.dependence.receive_schedule import direct_statements
from asphalt.analysis.messages.buffer_flow import BufferFlow
from asphalt.analysis.messages.full_messages import FullMessages
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.config.limits import USUAL_CLONES
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr, Ref, Section, names_in, walk
from asphalt.ir.mapped import NotMappedError, mapped_what
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, Call, Decl, Dim, DoHead, Include
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.buffers.clones import array_bytes
from asphalt.transforms.buffers.renaming import (
    has_conditional_lines,
    is_local_array,
    mentions,
    still_named,
)
from asphalt.transforms.rewriting.comments import comments_inside
from asphalt.transforms.rewriting.edit import lists_in, map_leaves, rewrite_list
from asphalt.transforms.rewriting.make import num
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

MOST_BYTES = 2**20
"""Of one buffer for all iterations: local arrays may be on a stack."""
_MEBIBYTE = 2**20


@record
class ExpandBuffers(Step):
    """The loop at ``position`` of a list gets buffers ``names`` for each of its iterations."""

    path: tuple[int, ...]
    position: int
    names: tuple[str, ...]

    @property
    def place(self) -> tuple[int, ...]:
        """Where the loop stands in the unit."""
        return (*self.path, self.position)


def check(facts: UnitFacts, limit: int | None = None) -> tuple[Found, ...]:
    """The loops of a unit whose blocking transfers can have buffers for each iteration.  ``limit``:
    MiB that copies may have; None: the usual limit."""
    if has_conditional_lines(facts.unit):
        return ()
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            if not isinstance(node, Do) or few_iterations(node, facts) is None:
                continue
            names = _Buffers(node, facts).names(USUAL_CLONES if limit is None else limit)
            if names:
                line = line_of(node.head)
                spelled = ", ".join(_spelled(name, facts) for name in names)
                does = f"each iteration of the loop of {facts.at(node.head)} has its own {spelled}"
                evidence = ("no value goes from one iteration to another, or out of the loop",)
                step = ExpandBuffers(line, does, evidence, path, position, names)
                found.append(step)
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with a further dimension of some buffers: the iterations of a loop."""
    assert isinstance(step, ExpandBuffers)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        loop = nodes[step.position]
        assert isinstance(loop, Do)
        body = tuple(
            map_leaves(node, lambda leaf: _indexed_leaf(leaf, loop, step.names, facts))
            for node in loop.body
        )
        return (*nodes[: step.position], replace(loop, body=body), *nodes[step.position + 1 :])

    body = rewrite_list(facts.unit.body, (*step.path, 0), change)
    (loop,) = (nodes[step.position] for at, nodes in lists_in(facts.unit.body) if at == step.path)
    assert isinstance(loop, Do)
    head = loop.head.what
    assert isinstance(head, DoHead)
    spec = (map_leaves(n, lambda leaf: _declared(leaf, step, head, facts)) for n in facts.unit.spec)
    return replace(facts.unit, spec=tuple(spec), body=body)


class _Buffers:
    """The buffers of the transfers of a loop."""

    def __init__(self, loop: Do, facts: UnitFacts) -> None:
        self.loop = loop
        self.facts = facts
        self.messages = facts.once(Messages)

    def names(self, limit: int) -> tuple[str, ...]:
        """The arrays that can be expanded, in the order of their transfers."""
        order = self.facts.once(Independence.of)
        if has_own_indices(self.loop) or any(map(_has_block, self.loop.body)):
            return ()
        if any(order.place.bound(node) is not None for node in self.loop.body):
            return ()
        room = limit * _MEBIBYTE
        found: list[str] = []
        for name in self._of_transfers():
            size = self._bytes(name)
            if size is None or size > min(room, MOST_BYTES):
                continue
            if self._is_declared_here(name) and self._is_private(name) and self._can_change(name):
                found.append(name)
                room -= size
        storages = frozenset(map(self.facts.names.storage, found))
        return tuple(found) if found and receives_can_move(self.loop, order, storages) else ()

    def _of_transfers(self) -> tuple[str, ...]:
        """The arrays that only blocking transfers of one message have for a buffer, some of them in
        each iteration."""
        inside = {id(leaf) for leaf in direct_statements(self.loop.body)}
        own: dict[str, bool] = {}
        for leaf, call in self.messages.own_calls():
            blocking = stage_of(call) is Stage.BOTH and call.binding != "runtime"
            for transfer in library_row(call.procedure).transfers:
                actual = call.args.get(transfer.argument)
                if isinstance(actual, Ref):
                    fits = blocking and id(leaf) in inside
                    own[actual.name] = own.get(actual.name, True) and fits
        return tuple(n for n, fits in own.items() if fits and is_local_array(n, self.facts))

    def _bytes(self, name: str) -> int | None:
        """The bytes of a buffer for all iterations, with the sizes that constants have now."""
        size, trips = array_bytes(name, self.facts), few_iterations(self.loop, self.facts)
        return None if size is None or trips is None else size * trips

    def _is_declared_here(self, name: str) -> bool:
        """Whether one statement of the unit declares it, behind those of the loop's bounds."""
        statements = [leaf for node in self.facts.unit.spec for leaf in leaves(node)]
        places = [n for n, leaf in enumerate(statements) if _declares(leaf, name)]
        head = self.loop.head.what
        assert isinstance(head, DoHead)
        if len(places) != 1 or statements[places[0]].frozen:
            return False
        needed = {n for e in (head.first, head.last) if e is not None for n in names_in(e)}
        behind = statements[places[0] :]
        return not any(self._gives(leaf, needed) for leaf in behind)

    def _gives(self, leaf: Leaf, names: set[str]) -> bool:
        """Whether a statement declares one of some names."""
        what = leaf.what
        if isinstance(what, Decl):
            return any(entity.name in names for entity in what.entities)
        if isinstance(what, Include):
            inner = self.facts.scope.program.include(self.facts.located, what.path)
            return inner is None or any(
                self._gives(own, names) for node in inner for own in leaves(node)
            )
        return False

    def _is_private(self, name: str) -> bool:
        """Whether nothing but the loop names it, and each iteration defines what it reads."""
        inside = {id(leaf) for node in self.loop.body for leaf in leaves(node)}
        everywhere = (leaf for node in self.facts.unit.body for leaf in leaves(node))
        if any(id(x) not in inside and mentions(x, name, self.facts) for x in everywhere):
            return False
        full = FullMessages(self.facts.scope)
        return BufferFlow(self.facts, self.messages, full, name).needs_no_value(self.loop.body)

    def _can_change(self, name: str) -> bool:
        """Whether all that names it can be written with a further subscript."""
        for leaf in (leaf for node in self.loop.body for leaf in leaves(node)):
            if self._whole(leaf, name):
                return False
            try:
                changed = _indexed_leaf(leaf, self.loop, (name,), self.facts)
            except NotMappedError:
                return False
            if changed is leaf and still_named(leaf, name):
                return False
        return True

    def _whole(self, leaf: Leaf, name: str) -> bool:
        """Whether a statement has the whole array where it is more than its elements: in the
        argument of a procedure that is not MPI's, which may ask for its bounds."""
        whole = Ref(name, name)
        plain = 0
        for what in actions(leaf.what):
            if isinstance(what, Call) and self.messages.call(leaf) is not None:
                plain += sum(isinstance(a, Ref) and _is_whole(a, whole) for a in what.args)
            if isinstance(what, Assign) and _is_whole(what.target, whole):
                plain += 1
        expressions = (e for what in actions(leaf.what) for e in expressions_of(what))
        everywhere = (part for e in expressions for part in walk(e) if isinstance(part, Expr))
        return sum(_is_whole(part, whole) for part in everywhere) > plain


def _is_whole(expr: Expr, whole: Ref) -> bool:
    return isinstance(expr, Ref) and expr.name == whole.name and expr.args is None


def _indexed_leaf(leaf: Leaf, loop: Do, names: tuple[str, ...], facts: UnitFacts) -> Leaf:
    """A statement with the loop variable as the last subscript of some arrays."""
    head = loop.head.what
    assert isinstance(head, DoHead)
    assert isinstance(head.var, Ref)
    index = head.var

    def change(ref: Ref) -> Expr | None:
        if ref.name not in names:
            return None
        symbol = facts.scope.lookup(ref.name)
        assert symbol is not None
        whole = tuple(Section(None, None, None) for _ in symbol.dims or ())
        return replace(ref, args=(*(whole if ref.args is None else ref.args), index))

    what = mapped_what(leaf.what, change)
    if what == leaf.what:
        return leaf
    inside = comments_inside(leaf, facts.free, facts.eol)
    return replace(rewrite(leaf, what), lead=(*leaf.lead, *inside))


def _has_block(node: Node) -> bool:
    """Whether there are constructs that may give names another meaning."""
    match node:
        case Block():
            return True
        case Do(body=body):
            return any(map(_has_block, body))
        case Branch(arms=arms):
            return any(_has_block(child) for arm in arms for child in arm.body)
    return False


def _declares(leaf: Leaf, name: str) -> bool:
    return isinstance(leaf.what, Decl) and any(e.name == name for e in leaf.what.entities)


def _declared(leaf: Leaf, step: ExpandBuffers, head: DoHead, facts: UnitFacts) -> Leaf:
    """A declaration with a further dimension of some arrays."""
    what = leaf.what
    if not isinstance(what, Decl) or all(e.name not in step.names for e in what.entities):
        return leaf
    assert head.first is not None
    last = Dim("explicit", None if head.first == num(1) else head.first, head.last)
    entities = tuple(
        replace(e, dims=(*(e.dims or what.dims or ()), last)) if e.name in step.names else e
        for e in what.entities
    )
    inside = comments_inside(leaf, facts.free, facts.eol)
    return replace(rewrite(leaf, replace(what, entities=entities)), lead=(*leaf.lead, *inside))


def _spelled(name: str, facts: UnitFacts) -> str:
    symbol = facts.scope.lookup(name)
    return name if symbol is None else symbol.spelled


TRANSFORMATION = Transformation(
    "array expansion",
    Pass.EXPANSION,
    Phase.BUFFERS,
    "Each iteration of a loop gets message buffers of its own.",
    check,
    apply,
)
