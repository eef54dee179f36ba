"""Segments as an object of the runtime, in place of loops over tiles with all their requests.

Before (``pipelining``, ``segmentation``)::

    asphalt_k_1 = asphalt_segment(asphalt_k_sweep_j, n, 12.0*m)
    do lo = 1, n, asphalt_k_1
      hi = min(lo + asphalt_k_1 - 1, n)
      call asphalt_irecv(west(lo), hi - lo + 1, ..., requests_1(lo))
    end do
    do lo = 1, n, asphalt_k_1
      hi = min(lo + asphalt_k_1 - 1, n)
      call asphalt_wait(requests_1(lo), west)
      do j = lo, hi
        ...
      end do
      if ((lo - 1)/asphalt_k_1 >= asphalt_d_sweep_j) then
        call asphalt_wait(requests_2(lo - asphalt_d_sweep_j*asphalt_k_1), east)
      end if
      call asphalt_isend(east(lo), hi - lo + 1, ..., requests_2(lo))
    end do
    do lo = 1, n, asphalt_k_1
      call asphalt_wait(requests_2(lo), east)
    end do

After::

    call asphalt_begin_segments(x, first=1, last=n, work=12.0*m, k=asphalt_k_sweep_j, ...)
    call asphalt_receive_segments(x, west, 1, ...)
    do while (asphalt_next_segment(x))
      call asphalt_await_segment(x, west)
      do j = x%lo, x%hi
        ...
      end do
      call asphalt_send_segment(x, east, 1, ...)
    end do
    call asphalt_finish_segments(x, east)

The object executes the same calls of MPI in the same order.  This is done once, when all steps are:
what is analysed and priced are loops and messages.  A nest of which any other statement has the
bounds of a tile or its requests stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.visibility import words_at
from asphalt.analysis.symbolic.polynomials import poly
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Keyword,
    Lit,
    Op,
    Ref,
    Section,
    TypeSpec,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, Call, Decl, DoHead, Entity, Guarded, What
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves, loops_of, rewrite
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.comments import in_front
from asphalt.transforms.rewriting.make import add, fn, maker_at, num, sub, var
from asphalt.transforms.rewriting.new_names import next_number
from asphalt.transforms.rewriting.tidying import without_uncalled

VARIABLE = "asphalt_segments_"
_TYPE = "asphalt_segments_t"
_NO_VALUE = (Section, Keyword, AltReturn)
_STARTS = {"asphalt_irecv": None, "asphalt_isend": False, "asphalt_issend": True}
"""The starts of segments; of sends, whether they are synchronous."""


def with_objects(facts: UnitFacts) -> Unit:
    """The unit with an object for each nest that is executed in tiles with its messages; the same
    unit where there is none."""
    unit = facts.unit
    number = next_number(facts, VARIABLE)
    made: list[str] = []
    names: set[str] = set()
    for choice in _choices(unit):
        one = _Tiling(facts, choice, f"{VARIABLE}{number + len(made)}")
        body = one.body(unit.body)
        if body is not None:
            unit = replace(unit, spec=tuple(_without(unit.spec, one.gone)), body=body)
            made.append(one.name)
            names |= one.names
    if not made:
        return facts.unit
    unit = without_uncalled(unit, {"asphalt_segment", "asphalt_wait", *_STARTS})
    entities = tuple(Entity(name, name) for name in made)
    declared = Decl("type", TypeSpec("type", name=_TYPE), (), None, entities)
    return added(unit, facts.located.form, facts.eol, {_TYPE, *names}, (declared,))


@record
class _Choice:
    """How long the tiles of a nest are: the variable ``tile`` for that, and the arguments of the
    function that chooses it.  ``loop``: over tiles from ``first`` to ``last``."""

    tile: str
    wanted: Expr
    work: Expr
    lo: Ref
    first: Expr
    last: Expr


def _choices(unit: Unit) -> Iterator[_Choice]:
    """The choices in a unit, each once."""
    found: dict[str, tuple[Arg, ...] | None] = {}
    for leaf in (leaf for node in unit.body for leaf in leaves(node)):
        match leaf.what:
            case Assign(target=Ref(args=None) as target, value=Ref(args=tuple(args)) as value):
                if value.name == "asphalt_segment" and len(args) == 3:
                    same = found.setdefault(target.name, args) == args
                    found[target.name] = args if same else None
    for tile, given in found.items():
        heads = [h for loop in loops_of(unit.body) if (h := _tiles_head(loop, tile)) is not None]
        bounds = {repr((h.var, h.first, h.last)).lower() for h in heads}
        if given is None or len(bounds) != 1:
            continue
        wanted, _, work = given
        lo, first, last = heads[0].var, heads[0].first, heads[0].last
        if not isinstance(lo, Ref) or first is None or last is None:
            continue
        if not isinstance(wanted, _NO_VALUE) and not isinstance(work, _NO_VALUE):
            yield _Choice(tile, wanted, work, lo, first, last)


def _tiles_head(loop: Do, tile: str) -> DoHead | None:
    head = loop.head.what
    return head if isinstance(head, DoHead) and _is(head.step, tile) else None


def _is(expr: Arg | None, name: str) -> bool:
    """Whether an expression is a variable."""
    return isinstance(expr, Ref) and expr.name == name and expr.args is None


class _NotKnownError(Exception):
    """A statement that a nest in tiles is not known to have."""


@dataclass
class _Tiling:
    """The statements of one nest in tiles, with the object ``name``.

    ``gone``: the variables that they do not need any more; ``names``: the procedures that they
    call.
    """

    facts: UnitFacts
    choice: _Choice
    name: str
    names: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    _ends: set[str] = field(default_factory=set)  # of tiles: their last iteration
    _buffers: dict[str, Expr] = field(default_factory=dict)  # by the requests
    _depths: dict[str, Expr] = field(default_factory=dict)  # by the requests, where sends are paced

    def body(self, nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
        """The statements with the object; None: not all of them are known."""
        try:
            self._look(nodes)
            changed = tuple(self._changed(nodes))
        except _NotKnownError:
            return None
        self.gone |= {self.choice.tile, self.choice.lo.name, *self._ends, *self._buffers}
        left = {word for node in changed for leaf in leaves(node) for word in words_at(leaf)}
        inner = self.facts.unit.contained
        left |= {word for unit in inner for leaf in leaves(unit) for word in words_at(leaf)}
        return None if left & self.gone else changed

    def _look(self, nodes: tuple[Node, ...]) -> None:
        """Find the requests, with the buffers that their waits name, and the pace of sends."""
        for leaf in (leaf for node in nodes for leaf in leaves(node)):
            call = leaf.call
            match leaf.what:
                case Assign(target=Ref(args=None) as target, value=value):
                    if self._is_end(value):
                        self._ends.add(target.name)
            if call is None or not _is(call.procedure, "asphalt_wait") or len(call.args) != 2:
                continue
            request, buffer = call.args
            if not isinstance(request, Ref) or request.args is None or len(request.args) != 1:
                continue
            depth = self._depth(request.args[0])
            if not _is(request.args[0], self.choice.lo.name) and depth is None:
                continue
            if isinstance(buffer, _NO_VALUE):
                raise _NotKnownError
            if depth is not None:
                self._depths[request.name] = depth
            if self._buffers.setdefault(request.name, buffer) != buffer:
                raise _NotKnownError

    def _is_end(self, value: Arg) -> bool:
        """Whether a value is the last iteration of a tile."""
        if not isinstance(value, Ref) or value.name != "min" or len(value.args or ()) != 2:
            return False
        last, border = value.args or ()
        if isinstance(last, _NO_VALUE) or isinstance(border, _NO_VALUE):
            return False
        lo, tile = self.choice.lo, var(self.choice.tile)
        whole = poly(last) == poly(sub(add(lo, tile), num(1)))
        return whole and poly(border) == poly(self.choice.last)

    def _depth(self, index: Arg) -> Expr | None:
        """D, where an index is that of the tile D before this one."""
        match index:
            case Op(op="-", operands=(lo, Op(op="*", operands=(Ref() as depth, tile)))):
                if _is(lo, self.choice.lo.name) and _is(tile, self.choice.tile):
                    return depth
        return None

    def _changed(self, nodes: tuple[Node, ...]) -> Iterator[Node]:
        """A list of statements with calls for the object."""
        number = 0
        while number < len(nodes):
            node = nodes[number]
            number += 1
            if isinstance(node, Branch) and self._paces(node):
                if number == len(nodes):
                    raise _NotKnownError
                lead = next(leaves(node)).lead
                yield in_front(self._of_leaf(nodes[number]), lead)
                number += 1
            elif isinstance(node, Leaf):
                yield self._of_leaf(node)
            elif isinstance(node, Do) and _tiles_head(node, self.choice.tile) is not None:
                yield self._of_tiles(node)
            else:
                yield self._inside(node)

    def _inside(self, node: Node) -> Node:
        match node:
            case Do(head=head, body=body):
                return replace(node, head=self._bounded(head), body=tuple(self._changed(body)))
            case Block(body=body):
                return replace(node, body=tuple(self._changed(body)))
            case Branch(arms=arms):
                new = tuple(replace(arm, body=tuple(self._changed(arm.body))) for arm in arms)
                changed = replace(node, arms=new)
                return _in_one_line(changed) if _holds_a_loop(node) else changed
        return node

    def _bounded(self, head: Leaf) -> Leaf:
        """The head of a loop over the iterations of a tile."""
        what = head.what
        if not isinstance(what, DoHead) or not _is(what.first, self.choice.lo.name):
            return head
        if not isinstance(what.last, Ref) or what.last.name not in self._ends:
            raise _NotKnownError
        lo, hi = (Component(var(self.name), one, one) for one in ("lo", "hi"))
        return rewrite(head, replace(what, first=lo, last=hi))

    def _paces(self, node: Branch) -> bool:
        """Whether a branch waits for the segment that was sent D tiles before."""
        if node.kind != "if" or len(node.arms) != 1 or len(node.arms[0].body) != 1:
            return False
        (wait,) = node.arms[0].body
        call = wait.call if isinstance(wait, Leaf) else None
        request = call.args[0] if call is not None and call.args else None
        if not isinstance(request, Ref) or request.name not in self._depths:
            return False
        (index,) = request.args or (None,)
        depth = None if index is None else self._depth(index)
        match node.arms[0].head.what:
            case ArmHead(
                exprs=(Op(op=">=", operands=(Op(op="/", operands=(begun, tile)), least)),)
            ):
                since = poly(sub(self.choice.lo, self.choice.first))
                right = _is(tile, self.choice.tile) and depth is not None and least == depth
                return right and poly(begun) == since
        return False

    def _of_tiles(self, loop: Do) -> Node:
        """A loop over tiles, or what it does for all of them at once."""
        body = loop.body
        if body and isinstance(body[0], Leaf) and self._sets_end(body[0]):
            body = body[1:]
        comments = tuple(entry for node in loop.body[:1] for entry in next(leaves(node)).lead)
        only = body[0] if len(body) == 1 and isinstance(body[0], Leaf) else None
        call = None if only is None or isinstance(only.what, Guarded) else only.call
        make = maker_at(loop, self.facts.located.form, self.facts.eol)
        if call is not None and self._request(call) is not None:
            whole = self._all(call)
            return replace(make.leaf(whole), lead=(*loop.head.lead, *comments))
        self.names.add("asphalt_next_segment")
        more = fn("asphalt_next_segment", var(self.name))
        head = rewrite(loop.head, DoHead("while", condition=more))
        head = replace(head, lead=(*head.lead, *comments))
        if loop.end is None:
            raise _NotKnownError
        return Do(head, tuple(self._changed(body)), loop.end)

    def _sets_end(self, leaf: Leaf) -> bool:
        match leaf.what:
            case Assign(target=Ref(args=None) as target):
                return target.name in self._ends
        return False

    def _of_leaf(self, node: Node) -> Node:
        """A statement: the choice, a wait or a start for this tile, or another one."""
        if not isinstance(node, Leaf):
            raise _NotKnownError
        match node.what:
            case Assign(target=target, value=Ref(name="asphalt_segment")):
                return rewrite(node, self._begun()) if _is(target, self.choice.tile) else node
        call = node.call
        request = None if call is None else self._request(call)
        if call is None or request is None:
            return node
        new = self._one(call, request)
        what: What = replace(node.what, action=new) if isinstance(node.what, Guarded) else new
        return rewrite(node, what)

    def _request(self, call: Call) -> str | None:
        """The requests of which a call has that of this tile."""
        if not isinstance(call.procedure, Ref):
            return None
        at = 0 if call.procedure.name == "asphalt_wait" else 6
        if at and call.procedure.name not in _STARTS:
            return None
        request = call.args[at] if len(call.args) == (7 if at else 2) else None
        if not isinstance(request, Ref) or request.name not in self._buffers:
            return None
        (index,) = request.args or (None,)
        return request.name if _is(index, self.choice.lo.name) else None

    def _begun(self) -> Call:
        """The choice of tiles."""
        choice = self.choice
        given: list[tuple[str, Expr]] = [
            ("first", choice.first),
            ("last", choice.last),
            ("work", choice.work),
            ("k", choice.wanted),
        ]
        if self._depths:
            given.append(("d", next(iter(self._depths.values()))))
        self.names.add("asphalt_begin_segments")
        arguments = (Keyword(word, word, value) for word, value in given)
        return Call(var("asphalt_begin_segments"), (var(self.name), *arguments))

    def _one(self, call: Call, request: str) -> Call:
        """What is done for the segment of this tile."""
        if _is(call.procedure, "asphalt_wait"):
            return self._named("asphalt_await_segment", self._buffers[request])
        if _is(call.procedure, "asphalt_irecv"):
            raise _NotKnownError
        return self._started("asphalt_send_segment", call, request)

    def _all(self, call: Call) -> Call:
        """What is done for all segments."""
        request = self._request(call)
        assert request is not None
        if _is(call.procedure, "asphalt_irecv"):
            return self._started("asphalt_receive_segments", call, request)
        if not _is(call.procedure, "asphalt_wait"):
            return self._started("asphalt_send_segments", call, request)
        sends = request in self._sent()
        name = "asphalt_finish_segments" if sends else "asphalt_await_segments"
        return self._named(name, self._buffers[request])

    def _sent(self) -> set[str]:
        """The requests of sends."""
        found: set[str] = set()
        for leaf in (leaf for node in self.facts.unit.body for leaf in leaves(node)):
            call = leaf.call
            if call is None or not isinstance(call.procedure, Ref):
                continue
            if _STARTS.get(call.procedure.name) is not None:
                found |= {r for r in (self._request(call),) if r is not None}
        return found

    def _named(self, name: str, *arguments: Arg) -> Call:
        self.names.add(name)
        return Call(var(name), (var(self.name), *arguments))

    def _started(self, name: str, call: Call, request: str) -> Call:
        """A start of segments that have so many elements of the buffer for each iteration."""
        assert isinstance(call.procedure, Ref)
        buffer, count, *others = call.args[:6]
        if not isinstance(buffer, Ref) or isinstance(count, _NO_VALUE):
            raise _NotKnownError
        arguments: list[Arg] = [self._whole(buffer, request), self._each(count), *others]
        if _STARTS[call.procedure.name]:
            arguments.append(Keyword("synchronous", "synchronous", Lit("logical", ".true.")))
        return self._named(name, *arguments)

    def _whole(self, element: Ref, request: str) -> Expr:
        """The buffer from the first segment on."""
        buffer = self._buffers[request]
        if not isinstance(buffer, Ref) or buffer.name != element.name:
            raise _NotKnownError
        return buffer

    def _each(self, count: Expr) -> Expr:
        """The elements of an iteration, where a segment has so many."""
        for end in sorted(self._ends):
            number = poly(add(sub(var(end), self.choice.lo), num(1)))
            match count:
                case Op(op="*", operands=(each, iterations)) if poly(iterations) == number:
                    return each
            if poly(count) == number:
                return num(1)
        raise _NotKnownError


def _holds_a_loop(node: Branch) -> bool:
    """Whether a branch has one arm, and a loop in it."""
    return len(node.arms) == 1 and [type(one) for one in node.arms[0].body] == [Do]


def _in_one_line(node: Branch) -> Node:
    """A branch around a call as a one-line IF."""
    head, (call, *_) = node.arms[0].head, node.arms[0].body
    what = head.what
    plain = all(
        leaf.label is None and leaf.name is None and not leaf.joined and not leaf.frozen
        for leaf in (head, node.end)
    )
    apart = head.trail.strip() or node.end.trail.strip() or node.end.lead
    if not plain or apart or not isinstance(what, ArmHead) or not isinstance(call, Leaf):
        return node
    (condition,) = what.exprs
    if call.lead or isinstance(call.what, Guarded) or isinstance(condition, _NO_VALUE):
        return node
    return rewrite(head, Guarded(condition, call.what))


def _without(spec: tuple[Node, ...], names: set[str]) -> Iterator[Node]:
    """The specification part without some variables; comments in front of a declaration that is
    gone are about it."""
    for node in spec:
        what = node.what if isinstance(node, Leaf) else None
        if isinstance(node, Leaf) and isinstance(what, Decl) and not what.groups:
            kept = tuple(entity for entity in what.entities if entity.name not in names)
            if len(kept) != len(what.entities):
                if kept:
                    yield rewrite(node, replace(what, entities=kept))
                continue
        yield node
