"""Prepush an exchange: send each tile of the producer as soon as it is computed.

Before::

    do z = 1, nz                                       ! the producer
      s(:,z,:) = ...
    end do
    call MPI_Alltoall(s, n*nz, MPI_REAL, r, n*nz, MPI_REAL, comm, ierr)

After::

    call asphalt_x%begin(comm, s, r, n*nz, MPI_REAL, ..., last=nz, k=..., d=...)
    do while (asphalt_x%next_tile(s))
      do z = asphalt_x%lo, asphalt_x%hi                   ! the same loop, over one tile
        call asphalt_x%progress()
        s(:,z,:) = ...
      end do
    end do
    if (.not. asphalt_x%finished(s, r, ierr)) then
      call MPI_Alltoall(s, n*nz, MPI_REAL, r, n*nz, MPI_REAL, comm, ierr)
    end if

When the run decides not to tile there is one tile, no message, and the original call.
(Danalis et al., Automatic MPI application transformation with ASPHALT, sections 2 and 3; the ring
of D tiles: Evaluation of the overlap transformation, section 3.1; the object that hands out the
tiles: the communication iterator of MPI-aware compiler optimizations, section 5.)
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.exchange.privatisation import may_be_read_after
from asphalt.analysis.exchange.producer import ProducerPhase
from asphalt.analysis.names.constants import type_bytes
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.analysis.tiling.plan import TAG, Plan
from asphalt.config.backends import ISEND
from asphalt.ir.expr import Component, Expr, Op, Ref
from asphalt.ir.source import Form, Trivia, TriviaKind
from asphalt.ir.stmt import Allocation, Assign, Call, DoHead, Guarded, Jump, JumpKind, Plain
from asphalt.ir.tree import Do, Leaf, Node, Unit, leaves, loops_of, rewrite
from asphalt.transforms.prepush.beginning import Beginning
from asphalt.transforms.prepush.equal_blocks import EqualBlocks
from asphalt.transforms.prepush.packed_blocks import PackedBlocks
from asphalt.transforms.prepush.strided_blocks import StridedBlocks
from asphalt.transforms.prepush.uneven_blocks import UnevenBlocks
from asphalt.transforms.rewriting.comments import comments_inside
from asphalt.transforms.rewriting.edit import map_leaves, rewrite_list, shifted
from asphalt.transforms.rewriting.make import Maker, size

_COMMENT_WIDTH = 132
"""Columns of a line with several notes: as many as free form has."""


def prepush(
    unit: Unit, plan: Plan, site: str, eol: str, backends: tuple[str, ...] = (ISEND,)
) -> Unit:
    """The unit with one site prepushed, its declarations still to be added (``declare``).

    ``site`` is the name of the site in the header, ``backends`` what it may choose among there.
    Where a unit has several sites they are to be prepushed from the last to the first, so that the
    places of the others stay what they were.
    """
    emission = _Emission(plan, site, eol, backends)
    body = rewrite_list(unit.body, plan.exchange.place.path, emission.statements)
    return replace(unit, body=body)


class _Emission:
    """The statements that replace the producer and the call of one site."""

    def __init__(self, plan: Plan, site: str, eol: str, backends: tuple[str, ...]) -> None:
        self.plan = plan
        self.site = site
        self.exchange = _beginning_of(plan, backends, self._lives_on())
        free = plan.exchange.located.form is Form.FREE
        nest = plan.producer.phases[0].nest
        self.make = Maker(_column(nest.head, free), _step(nest, free), free, eol)

    def statements(self, siblings: tuple[Node, ...]) -> tuple[Node, ...]:
        """The siblings of the call, with everything from the producer to the call replaced."""
        producer = self.plan.producer
        written = self.plan.exchange.written
        own_comments, directives = _split_lead(producer.phases[0].nest.head.lead)
        nests = {phase.position: self._nest(phase) for phase in producer.phases}
        nests[producer.start] = _with_lead(nests[producer.start], directives)
        moved = {number: siblings[number] for number in producer.moved}
        for number in [number for number, node in moved.items() if self._sets_counter(node)]:
            nests[number] = shifted(moved.pop(number), self.make.step)
        opening = [*(moved[number] for number in sorted(moved)), *self._setup()]
        opening[0] = _with_lead(opening[0], (*own_comments, *_lead_of(opening[0])))
        return (
            *siblings[: producer.start],
            *opening,
            *self._tile_loop(tuple(nests[number] for number in sorted(nests))),
            *self._restored(),
            *self._between(siblings),
            *self._finish(written),
            *siblings[self.plan.exchange.place.position + len(written) :],
        )

    def _sets_counter(self, node: Node) -> bool:
        """Whether a statement between the nests only sets the counter of the packing nest: each
        tile sets it anew, and nothing reads it behind the nest."""
        producer = self.plan.producer
        counter = None if producer.counter is None else producer.counter.variable
        what = node.what if isinstance(node, Leaf) else None
        target = what.target if isinstance(what, Assign) else None
        return isinstance(target, Ref) and counter is not None and target.name == counter.name

    def _between(self, siblings: tuple[Node, ...]) -> tuple[Node, ...]:
        """What stands between producer and call; a packing copy that is left out is only executed
        where the exchange is not tiled."""
        start = self.plan.producer.packing.position + 1
        nodes = list(siblings[start : self.plan.exchange.place.position])
        copy = self.plan.producer.copy
        if copy is not None:
            nest = nodes[copy.position - start]
            comments, directives = _split_lead(_lead_of(nest))
            inside = shifted(_with_lead(nest, directives), self.make.step)
            what = f"tiles were sent from {self.exchange.array(self.plan.layout.send).spelled}"
            branch = self.make.branch(Op(".not.", (self.exchange.tiled,)), (inside,), (), what)
            lead = (*comments, *_lead_of(branch))
            nodes[copy.position - start] = _with_lead(branch, lead)
        return tuple(nodes)

    def _setup(self) -> list[Node]:
        """Begin the exchange."""
        first, *rest = [
            *self.exchange.prepare(self.make),
            self.exchange.begin(self.make, self.site),
        ]
        marks = tuple(self.make.comment(text) for text in self._comments())
        return [_with_lead(first, (*marks, *_lead_of(first))), *rest]

    def _comments(self) -> list[str]:
        """The comment that marks the site as transformed, and what else a reader has to know, in
        as few lines as it takes."""
        lines = [self._mark()]
        for note in self._notes():
            joined = f"{lines[-1]}; {note}"
            if self.make.column + len(f"! {joined}") <= _COMMENT_WIDTH:
                lines[-1] = joined
            else:
                lines.append(note)
        if self.plan.assumptions:
            lines.append(f"asphalt: assumed: {', '.join(self.plan.assumptions)}")
        return lines

    def _mark(self) -> str:
        along = self.plan.producer.packing.tiled.head.what
        assert isinstance(along, DoHead)
        assert isinstance(along.var, Ref)
        operation = self.plan.exchange.spelled
        return f"asphalt: {operation} of site '{self.site}' prepushed along {along.var.spelled}"

    def _notes(self) -> list[str]:
        notes: list[str] = []
        if self.plan.alone and self.plan.exchange.open_coded is None:
            notes.append(f"holds while no other message has tag {TAG} and no receive takes any tag")
        if self.plan.clone is not None:
            notes.append(f"received into a clone: {self.plan.clone}")
        return notes

    def _tile_loop(self, nests: tuple[Node, ...]) -> tuple[Node, ...]:
        """The loop over the tiles.

        Where variables that the nests define may be read behind it, the condition stands at its
        end, so that compilers know that there is a first tile, and do not warn.
        """
        exchange, sent = self.exchange, self.exchange.array(self.plan.layout.send)
        end = self.make.leaf(Plain("end do"))
        if not self.exchange.left_at_end:
            head = self.make.leaf(DoHead("while", condition=exchange.bound("next_tile", sent)))
            return (Do(head, nests, end),)
        leaves_off = self.make.inner().leaf(
            Guarded(Op(".not.", (exchange.bound("next_tile", sent),)), Jump(JumpKind.EXIT))
        )
        return (Do(self.make.leaf(DoHead("forever")), (*nests, leaves_off), end),)

    def _lives_on(self) -> bool:
        """Whether a loop variable of the nests that is not set behind them may be read there."""
        phases = self.plan.producer.phases
        heads = [loop.head.what for loop in loops_of(phase.nest for phase in phases)]
        names = {h.var.name for h in heads if isinstance(h, DoHead) and isinstance(h.var, Ref)}
        return any(map(self._is_read_behind, sorted(names - self._always_left())))

    def _is_read_behind(self, name: str) -> bool:
        """Whether a variable may be read behind the nests."""
        exchange = self.plan.exchange
        storage = exchange.names.storage(name)
        return may_be_read_after(exchange, storage, self.plan.producer.packing.position)

    def _always_left(self) -> set[str]:
        """The variables of tiled loops that are executed whatever the loops around them do."""
        phases = self.plan.producer.phases
        return {_variable(phase).name for phase in phases if len(phase.loops) == 1}

    def _restored(self) -> tuple[Node, ...]:
        """The loop variables as the loops over all iterations leave them, if that may be read.

        Tiles may be executed in another order, and compilers may not know that there is one.  A
        loop inside of others leaves its variable as it was where these have no iterations; then
        nothing is tiled.
        """
        restored: dict[str, Node] = {}
        for phase in self.plan.producer.phases:
            variable = _variable(phase)
            if not self._is_read_behind(variable.name):
                continue
            as_it_ends = self.make.assign(variable, self.exchange.lo)
            in_order = self.plan.layout.pattern is not TileShape.SLAB
            if self.exchange.left_at_end and in_order:
                continue
            if variable.name in self._always_left():
                restored[variable.name] = as_it_ends
            elif not in_order:
                cut = Component(self.exchange.variable, "cut", "cut")
                restored[variable.name] = self.make.leaf(Guarded(cut, as_it_ends.what))
        return tuple(restored.values())

    def _nest(self, phase: ProducerPhase) -> Node:
        """The user's nest with its tiled loop cut to the tile, one level further in."""
        head = phase.tiled.head
        assert isinstance(head.what, DoHead)
        cut = rewrite(head, replace(head.what, first=self.exchange.lo, last=self.exchange.hi))
        cut = replace(cut, lead=(*head.lead, *comments_inside(head, self.make.free, self.make.eol)))
        body = phase.tiled.body
        if self._has_chances(phase):
            body = (*self._chance(phase), *body)
        nest: Node = replace(phase.tiled, head=cut, body=body)
        for loop in reversed(phase.loops[:-1]):
            before: tuple[Node, ...] = ()
            if phase is self.plan.producer.packing and loop is phase.loops[-2]:
                before = self.exchange.counted(self._maker_in(phase))
            parts = (part for node in loop.body for part in _replaced(node, (*before, nest)))
            nest = replace(loop, body=tuple(parts))
        return shifted(nest, self.make.step)

    def _maker_in(self, phase: ProducerPhase) -> Maker:
        """For statements beside the tiled loop, before it is shifted."""
        free = self.plan.exchange.located.form is Form.FREE
        step = _step(phase.tiled, free)
        return Maker(_column(phase.tiled.head, free), step, free, self.make.eol)

    def _has_chances(self, phase: ProducerPhase) -> bool:
        """Whether every iteration lets MPI make progress; not in the loop over the ranks, nor where
        threads share the iterations."""
        counted = self.plan.producer.counter is not None and phase is self.plan.producer.packing
        around = counted and len(phase.loops) > 1
        return _works_long(phase) and not around and not phase.threaded

    def _chance(self, phase: ProducerPhase) -> list[Node]:
        """A call for MPI progress in every iteration, indented as the body of the tiled loop."""
        free = self.plan.exchange.located.form is Form.FREE
        step = _step(phase.tiled, free)
        make = Maker(_column(phase.tiled.head, free) + step, step, free, self.make.eol)
        scope = self.plan.exchange.scope
        more = _times(phase, scope)
        times = () if more == Poly.constant(1) else (size(more, scope),)
        return [self.exchange.call(make, "progress", *times)]

    def _finish(self, written: tuple[Node, ...]) -> tuple[Node, ...]:
        """Complete the exchange, or execute the original call."""
        make, exchange = self.make, self.exchange
        layout = self.plan.layout
        error = self.plan.exchange.call.error
        buffers = (exchange.array(layout.send), exchange.buffer(layout.receive))
        codes = () if error is None else (error,)
        finished = exchange.bound("finished", *buffers, *codes)
        unless = Op(".not.", (finished,))
        made = exchange.made()
        freed = (make.leaf(Allocation("deallocate", made)),) if made else ()
        if make.free and len(written) == 1 and _begins_line(written[0]):
            call = shifted(_with_lead(written[0], ()), make.step)
            return (_with_lead(make.in_front(unless), _lead_of(written[0])), call, *freed)
        original = (_with_lead(written[0], ()), *written[1:])
        shifts = tuple(shifted(node, make.step) for node in original)
        return (_with_lead(make.branch(unless, shifts), _lead_of(written[0])), *freed)


def _begins_line(node: Node) -> bool:
    """Whether a node is a statement that can be continued from the line before it."""
    return isinstance(node, Leaf) and not (node.joined or node.frozen or node.head.strip())


def _variable(phase: ProducerPhase) -> Ref:
    """The variable of the tiled loop."""
    head = phase.tiled.head.what
    assert isinstance(head, DoHead)
    assert isinstance(head.var, Ref)
    return head.var


def _replaced(node: Node, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes in place of a loop; other statements stay."""
    return nodes if isinstance(node, Do) else (node,)


def _times(phase: ProducerPhase, scope: Scope) -> Poly:
    """How often a tile executes the tiled loop, if the loops around it have plain bounds."""
    times = Poly.constant(1)
    for loop in phase.loops[:-1]:
        head = loop.head.what
        if isinstance(head, DoHead) and head.step is None and head.first and head.last:
            trips = poly(head.last) - poly(head.first) + Poly.constant(1)
            if all(_is_plain_integer(atom, scope) for atom in trips.atoms):
                times *= trips
    return times


def _is_plain_integer(atom: Expr, scope: Scope) -> bool:
    """Whether it is a scalar variable or constant of the kind that asphalt's own integers have."""
    symbol = scope.lookup(atom.name) if isinstance(atom, Ref) and atom.args is None else None
    if symbol is None or symbol.dims is not None or symbol.type is None:
        return False
    return symbol.type.base == "integer" and type_bytes(symbol.type, scope) == 4


def _works_long(phase: ProducerPhase) -> bool:
    """Whether an iteration takes much longer than the test of a request."""
    return any(
        isinstance(leaf.what, DoHead | Call) for node in phase.tiled.body for leaf in leaves(node)
    )


def _column(leaf: Leaf, free: bool) -> int:
    """The column of a statement: counted from 0 in free form, from column 7 in fixed form."""
    line = leaf.head.rsplit("\n", 1)[-1].expandtabs(8)
    named = leaf.name is not None or leaf.label is not None
    column = len(line) - len(line.lstrip(" 0123456789")) if named else len(line)
    return column if free else max(0, column - 6)


def _step(nest: Do, free: bool) -> int:
    """The indentation step of the file, as in this nest."""
    for node in nest.body:
        first = next(iter(leaves(node)))
        step = _column(first, free) - _column(nest.head, free)
        if not first.joined and 1 <= step <= 8:
            return step
        break
    return 2


def _split_lead(lead: tuple[Trivia, ...]) -> tuple[tuple[Trivia, ...], tuple[Trivia, ...]]:
    """The lines that remain in front of a wrapped loop, and those that go with it: directives."""
    for number, trivia in enumerate(lead):
        if trivia.kind is TriviaKind.DIRECTIVE:
            return lead[:number], lead[number:]
    return lead, ()


def _lead_of(node: Node) -> tuple[Trivia, ...]:
    return next(iter(leaves(node))).lead


def _with_lead(node: Node, lead: tuple[Trivia, ...]) -> Node:
    """The node with another lead in front of its first statement."""
    first = next(iter(leaves(node)))
    return map_leaves(node, lambda leaf: replace(leaf, lead=lead) if leaf is first else leaf)


def _beginning_of(plan: Plan, backends: tuple[str, ...], left_at_end: bool) -> Beginning:
    """The type of exchange of a plan."""
    if plan.layout.strides is not None:
        return StridedBlocks(plan, backends, left_at_end)
    if plan.layout.packed is not None:
        return PackedBlocks(plan, backends, left_at_end)
    kind = EqualBlocks if plan.layout.uneven is None else UnevenBlocks
    return kind(plan, backends, left_at_end)
