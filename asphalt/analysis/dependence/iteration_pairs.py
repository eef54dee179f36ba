"""Starts and waits of one iteration: each pair has a request of its own in every iteration.

A wait that leaves its loop (``loop_distribution``) needs a request for each iteration: the one of
its start in the same iteration, since both are executed under the same loop-invariant conditions.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import ALIASED, Access
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.symbolic.polynomials import Poly, folded
from asphalt.ir.expr import Arg, Expr, Ref, Section, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Guarded
from asphalt.ir.tree import Branch, Do, Leaf, Node, leaves, once

_Heads = tuple[tuple[Leaf, ...], ...]


@record
class StartWaitPair:
    """A start and its wait in one iteration.

    ``accesses``: to the buffers; ``sizes``: the named constants that must be positive for these to
    be all.  ``request``: a scalar, or (``numbered``) an array of which each iteration has an
    element; ``own``: it is the program's.
    """

    start: Leaf
    wait: Leaf
    request: str
    accesses: tuple[Access, ...]
    sizes: frozenset[str]
    numbered: bool = False
    own: bool = False


def pairs_of(loop: Do, order: Independence) -> tuple[StartWaitPair, ...]:
    """The starts and waits of a loop, each pair with a request of its own."""
    return _Pairs(loop, order).found()


class _Pairs:
    """Questions about one loop."""

    def __init__(self, loop: Do, order: Independence) -> None:
        self.loop = loop
        self.order = order
        self.facts = order.facts
        self.messages: Messages = order.messages

    def found(self) -> tuple[StartWaitPair, ...]:
        """All of them."""
        found: list[StartWaitPair] = []
        for node in self.loop.body:
            for wait, call in self.messages.calls(node):
                started = self.messages.completed_by(wait) or ()
                tells = call.binding == "runtime" and "status" in call.args
                if len(started) == 1 and self._is_plain(call) and not tells:
                    pair = self._pair(started[0].leaf, wait)
                    found += [] if pair is None else [pair]
        return tuple(found)

    def _pair(self, start: Leaf, wait: Leaf) -> StartWaitPair | None:
        call, done = self.messages.call(start), self.messages.call(wait)
        ends = self.messages.completion(start) or ()
        if call is None or done is None or not self._is_plain(call) or len(ends) != 1:
            return None
        request, other = call.args["request"], done.args["request"]
        assert isinstance(request, Ref)
        if stage_of(call) is not Stage.START or folded(request) != folded(other):
            return None
        if not is_local(request.name, self.facts):
            return None
        body = (leaf for node in self.facts.unit.body for leaf in leaves(node))
        if sum(request.name in once(leaf, _names) for leaf in body) != 2:
            return None
        heads = [_heads(self.loop.body, leaf) for leaf in (start, wait)]
        if heads[0] is None or heads[1] is None or _conditions(heads[0]) != _conditions(heads[1]):
            return None
        if not self._is_kept((*heads[0], *heads[1])):
            return None
        inside = (leaf for node in self.loop.body for leaf in leaves(node))
        if next(leaf for leaf in inside if leaf is start or leaf is wait) is wait:
            return None  # it is for the iteration before
        buffers = self.messages.buffers(start, call)
        if not buffers:
            return None
        accesses: list[Access] = []
        sizes: frozenset[str] = frozenset()
        for buffer in buffers:
            known = buffer.subscripts is not None or buffer.inside is not None
            part = None if known else self._part_of(start, call)
            if part is not None:
                aliased = buffer.storage == ALIASED
                direct, named = (None, part[0]) if aliased else (part[0], None)
                buffer = replace(buffer, subscripts=direct, inside=named)
                sizes |= part[1]
            accesses.append(replace(buffer, loops=(self.loop,)))
        own = call.binding != "runtime"
        numbered = request.args is not None
        return StartWaitPair(start, wait, request.name, tuple(accesses), sizes, numbered, own)

    def _is_plain(self, call: MpiCall) -> bool:
        """Whether the request of a call is a scalar variable, or the array element with the number
        of the iteration."""
        request, variable = call.args.get("request"), loop_variable(self.loop)
        if call.queue is not None or not isinstance(request, Ref) or variable is None:
            return False
        return request.args is None or (
            len(request.args) == 1
            and isinstance(request.args[0], Ref)
            and folded(request.args[0]) == Ref(variable, variable)
        )

    def _is_kept(self, heads: _Heads) -> bool:
        """Whether conditions are loop-invariant."""
        read: list[Access] = []
        for head in (head for group in heads for head in group):
            footprint = self.facts.footprint(head)
            if footprint.effects or any(access.writes for access in footprint.accesses):
                return False
            read += footprint.accesses
        for node in self.loop.body if read else ():
            done = self.order.accesses(node)
            if done is None or any(a.writes and a.meets(b) for a in done for b in read):
                return False
        return True

    def _part_of(
        self, start: Leaf, call: MpiCall
    ) -> tuple[tuple[Expr | Section, ...], frozenset[str]] | None:
        """The part of a buffer ``a(:,:,k)`` to which the transfer of an iteration is confined; and
        the named constants that must be positive for this."""
        actual = call.args.get("buf")
        counts = [a for p, a in call.bound() if p.is_count and not p.array]
        types = [a for p, a in call.bound() if p.kind == "DATATYPE" and not p.array]
        if not isinstance(actual, Ref) or not actual.args or len(counts) + len(types) != 2:
            return None
        last, variable = actual.args[-1], loop_variable(self.loop)
        colon = Section(None, None, None)
        whole = tuple(colon for one in actual.args[:-1] if one == colon)
        if variable is None or len(whole) != len(actual.args) - 1:
            return None
        if not isinstance(last, Ref) or folded(last) != Ref(variable, variable):
            return None
        facts = self.facts
        symbol = facts.scope.lookup(actual.name)
        known = datatype_of(types[0], facts.scope)
        shape = shape_of(actual.name, facts.scope, facts.values, start)
        if symbol is None or shape is None or known is None or known.bytes is None:
            return None
        if known.bytes != element_bytes(symbol, facts.scope) or shape.rank != len(actual.args):
            return None
        room = shape.stride(shape.rank - 1) - facts.values.polynomial(counts[0], start)
        needed = self._if_not_negative(room)
        return None if needed is None else ((*whole, last), needed)

    def _if_not_negative(self, number: Poly) -> frozenset[str] | None:
        """The named constants that must be, and are, positive for a number not to be negative;
        None: this is not sufficient."""
        if any(coefficient < 0 for _, coefficient in number.terms):
            return None
        names = frozenset(atom.name for atom in number.atoms if isinstance(atom, Ref))
        plain = all(isinstance(atom, Ref) and atom.args is None for atom in number.atoms)
        return names if plain and all(map(self.order.is_positive, names)) else None


def _names(leaf: Leaf) -> frozenset[str]:
    """The names in a statement."""
    expressions = (e for what in actions(leaf.what) for e in expressions_of(what))
    return frozenset(name for expr in expressions for name in names_in(expr))


def _heads(nodes: tuple[Node, ...], leaf: Leaf) -> _Heads | None:
    """The statements whose conditions control a statement of a list: by branch, those of the arms
    up to its own; None: it is in a loop or another construct."""
    for node in nodes:
        if node is leaf:
            if not isinstance(leaf.what, Guarded):
                return ()
            return ((replace(leaf, what=ArmHead("if", (leaf.what.condition,))),),)
        if not any(leaf is own for own in leaves(node)):
            continue
        if not isinstance(node, Branch) or node.kind != "if":
            return None
        for number, arm in enumerate(node.arms):
            inner = _heads(arm.body, leaf)
            if inner is not None:
                return (tuple(arm.head for arm in node.arms[: number + 1]), *inner)
    return None


def _conditions(heads: _Heads) -> tuple[tuple[tuple[Arg, ...], ...], ...]:
    """The conditions in these statements, in a canonical form."""
    return tuple(
        tuple(
            tuple(folded(e) for e in head.what.exprs) if isinstance(head.what, ArmHead) else ()
            for head in group
        )
        for group in heads
    )
