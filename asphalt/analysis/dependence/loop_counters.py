"""The value of a counter behind the nest that counts with it:

l = 0
do k = 1, n
  do j = 1, m
    l = l + 1                ! behind the nest: l = max(0, n)*max(0, m)
    ...
"""

from __future__ import annotations

from collections.abc import Sequence

from asphalt.analysis.control_flow.graph import jump_targets
from asphalt.analysis.data_flow.default_integers import is_default_integer
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.loop_exits import ends_a_loop
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.names.openmp_sentinels import is_threading
from asphalt.analysis.names.references import actions
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Expr, Lit, Op, Ref, names_in, walk
from asphalt.ir.mapped import mapped_expr
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead, Jump
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves

_OPEN = (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE, EffectKind.JUMP, EffectKind.SYSTEM)


def with_values(expr: Expr, leaf: Leaf, facts: UnitFacts) -> Expr:
    """An expression of a statement with the values of counters that are known there."""
    names = [n for n in names_in(expr) if facts.scope.lookup(n) and facts.values.written_in_unit(n)]
    before = _in_front(leaf, facts.unit.body) if names else None
    known = {name: value_behind(name, before, leaf, facts) for name in names} if before else {}

    def change(ref: Ref) -> Expr | None:
        value = known.get(ref.name) if ref.args is None else None
        return None if value is None else value.expression()

    return mapped_expr(expr, change) if any(known.values()) else expr


def _in_front(leaf: Leaf, nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """The statements in front of one in its list."""
    for number, node in enumerate(nodes):
        if node is leaf:
            return nodes[:number]
        bodies: tuple[tuple[Node, ...], ...] = ()
        match node:
            case Do(body=body) | Block(body=body):
                bodies = (body,)
            case Branch(arms=arms):
                bodies = tuple(arm.body for arm in arms)
        for body in bodies:
            found = _in_front(leaf, body)
            if found is not None:
                return found
    return None


def value_behind(name: str, before: Sequence[Node], at: Leaf, facts: UnitFacts) -> Poly | None:
    """The value of a counter in a statement behind some that follow each other, in terms of
    variables that none of them changes; ``max(0, n)`` stands for the trips of a loop.

    None: the last statement that changes it is no nest that counts, no value is assigned to it in
    front of that nest, or a jump may lead to a place behind that assignment.
    """
    symbol = facts.scope.lookup(name)
    if symbol is None or symbol.origin is not Origin.LOCAL or symbol.dims is not None:
        return None
    if symbol.equivalenced or symbol.attrs & {"pointer", "target", "volatile", "save"}:
        return None
    if facts.values.changed_unseen(name) or not is_default_integer(Ref(name, name), facts.scope):
        return None
    own = {facts.names.storage(name)}
    changes = [n for n, node in enumerate(before) if _writes(node, own, facts)]
    if len(changes) < 2:
        return None
    begin, nest = before[changes[-2]], before[changes[-1]]
    if not isinstance(nest, Do) or not isinstance(begin, Leaf):
        return None
    match begin.what:
        case Assign(target=Ref(name=first, args=None), value=value, pointer=False):
            counted = _counted(name, nest, facts) if first == name else None
        case _:
            return None
    passed = before[changes[-2] + 1 :]
    if counted is None or any(_is_open(node, facts) for node in passed):
        return None
    if any(_may_be_jumped_to(node) for node in (*passed, at)):
        return None
    used = {facts.names.storage(part) for one in (value, *counted.bounds) for part in names_in(one)}
    if used & own or any(_writes(node, used, facts) for node in passed):
        return None
    plain = all(_is_plain(one, facts) for one in (value, *counted.bounds))
    return poly(value) + counted.added if plain else None


@record
class _Counted:
    """What a nest adds to a counter, and the bounds of its loops."""

    added: Poly
    bounds: tuple[Expr, ...]


def _counted(name: str, nest: Do, facts: UnitFacts) -> _Counted | None:
    """What a nest adds to a counter: one number in each iteration of nested loops, without
    condition."""
    inside = tuple(leaves(nest))
    storage = facts.names.storage(name)
    writes = {id(a.leaf): a.leaf for a in facts.footprint(nest).accesses
              if a.writes and a.storage == storage}  # fmt: skip
    if len(writes) != 1 or any(map(_may_jump, inside)):
        return None
    (leaf,) = writes.values()
    trips = Poly.constant(1)
    bounds: list[Expr] = []
    loop = nest
    while True:
        own = _trips(loop)
        if own is None:
            return None
        trips, bounds = trips * own[0], [*bounds, *own[1]]
        if any(node is leaf for node in loop.body):
            break
        around = (n for n in loop.body if isinstance(n, Do) and any(x is leaf for x in leaves(n)))
        inner = next(around, None)
        if inner is None:
            return None
        loop = inner
    step = _step(leaf, name)
    return None if step is None else _Counted(trips * Poly.constant(step), tuple(bounds))


def _step(leaf: Leaf, name: str) -> int | None:
    """The number that a statement adds to a counter."""
    match leaf.what:
        case Assign(target=Ref(name=target, args=None), value=value, pointer=False):
            return (poly(value) - Poly.atom(Ref(name, name))).value if target == name else None
    return None


def _trips(loop: Do) -> tuple[Poly, tuple[Expr, ...]] | None:
    """The trip count of a loop, and its bounds."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.kind != "count" or head.first is None:
        return None
    if head.last is None or (head.step is not None and poly(head.step) != Poly.constant(1)):
        return None
    number = poly(head.last) - poly(head.first) + Poly.constant(1)
    if number.value is not None:
        return Poly.constant(max(0, number.value)), ()
    most = Ref("max", "max", (Lit("integer", "0"), number.expression()))
    return Poly.atom(most), (head.first, head.last)


def _is_plain(expr: Expr, facts: UnitFacts) -> bool:
    """Whether an expression is made of default integers that nothing unseen changes."""
    scope = facts.scope
    for part in walk(expr):
        match part:
            case Lit() | Op(op="+" | "-" | "*" | "()"):
                continue
            case Ref(name=name, args=None):
                symbol = scope.lookup(name)
                if symbol is None or symbol.dims is not None or facts.values.changed_unseen(name):
                    return False
            case _:
                return False
    known = scope.lookup("max")
    return (known is None or known.origin is Origin.INTRINSIC) and is_default_integer(expr, scope)


def _writes(node: Node, storages: set[str], facts: UnitFacts) -> bool:
    return not storages.isdisjoint(facts.written(node))


def _may_jump(leaf: Leaf) -> bool:
    """Whether a statement may go on somewhere else: its own errors included."""
    whats = actions(leaf.what)
    return any(isinstance(what, Jump) or any(jump_targets(what)) for what in whats)


def _may_be_jumped_to(node: Node) -> bool:
    """Whether a statement has a label that does not only close loops."""
    labelled = (leaf for leaf in leaves(node) if leaf.label is not None)
    return any(not ends_a_loop(leaf, node) for leaf in labelled)


def _is_open(node: Node, facts: UnitFacts) -> bool:
    """Whether a statement may change more than its accesses say, be left another way, or do
    something else with OpenMP."""
    if any(leaf.is_hidden or any(map(is_threading, leaf.lead)) for leaf in leaves(node)):
        return True
    messages = facts.once(Messages)
    if any(stage_of(call) is Stage.COMPLETE for _, call in messages.calls(node)):
        return True
    return any(effect.kind in _OPEN for effect in facts.footprint(node).effects)
