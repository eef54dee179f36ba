"""Allocation hoisting: an array is allocated once before a loop, not in each iteration.

Before::

    do step = 1, steps
      allocate (scale(n))
      ...
      deallocate (scale)
    end do

After::

    allocate (scale(n))
    do step = 1, steps
      ...
    end do
    deallocate (scale)

Inlining writes such pairs for the automatic arrays of a procedure.  Others may see the effects of
an ALLOCATE statement, so nothing moves past it; outside of the loop it stops nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin
from asphalt.config.passes import Pass
from asphalt.ir.expr import Keyword, Ref, names_in, walk
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import Allocation, Assign, Call, Jump, JumpKind, Opaque, Raw
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.comments import in_front
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

UNSEEN = (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE, EffectKind.STATE)
"""Effects that may change variables which others can see."""
_PLAIN = frozenset(
    {"integer", "real", "double_precision", "complex", "double_complex", "logical"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hoist(Step):
    """Statements ``first`` and ``last`` of the loop at ``position`` of a list leave it."""

    path: tuple[int, ...]
    position: int
    first: int
    last: int


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The loops whose iterations allocate and free an array of the same size."""
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        for position, node in enumerate(siblings):
            if isinstance(node, Do) and node.end is not None:
                found += _of_loop(node, path, position, facts)
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one array allocated before a loop and freed behind it."""
    assert isinstance(step, Hoist)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        loop = nodes[step.position]
        assert isinstance(loop, Do)
        pair = [loop.body[step.first], loop.body[step.last]]
        begin = pair[0]
        assert isinstance(begin, Leaf)
        body = list(loop.body)
        body[step.first + 1] = in_front(body[step.first + 1], begin.lead)
        rest = tuple(n for k, n in enumerate(body) if k not in (step.first, step.last))
        outside = [
            replace(leaf, head=" " * len(loop.head.head.rsplit("\n", 1)[-1].expandtabs(8)), lead=())
            for leaf in pair
            if isinstance(leaf, Leaf)
        ]
        inner = replace(loop, body=rest)
        return (*nodes[: step.position], outside[0], inner, outside[1], *nodes[step.position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def _of_loop(loop: Do, path: tuple[int, ...], position: int, facts: UnitFacts) -> list[Hoist]:
    found: list[Hoist] = []
    for first, begin in enumerate(loop.body):
        array = _alone(begin, "allocate")
        if array is None or not isinstance(begin, Leaf):
            continue
        for last in range(first + 2, len(loop.body)):
            freed = _alone(loop.body[last], "deallocate")
            if freed is None or freed.name != array.name:
                continue
            if _may_leave(loop, begin, array, facts):
                line = line_of(begin)
                does = f"{array.spelled} is allocated before the loop of {facts.at(loop.head)}"
                evidence = ("its size is the same in all iterations",)
                found.append(Hoist(line, does, evidence, path, position, first, last))
    return found


def _alone(node: Node, kind: str) -> Ref | None:
    """The array that a statement allocates or frees, and nothing else."""
    if not isinstance(node, Leaf) or not isinstance(node.what, Allocation):
        return None
    if node.what.kind != kind or node.what.options or len(node.what.objects) != 1:
        return None
    if node.label is not None or node.joined or node.frozen or ";" in node.trail:
        return None
    if any(t.kind not in (TriviaKind.COMMENT, TriviaKind.BLANK) for t in node.lead):
        return None
    (item,) = node.what.objects
    return item if isinstance(item, Ref) else None


def _may_leave(loop: Do, begin: Leaf, array: Ref, facts: UnitFacts) -> bool:
    symbol = facts.scope.lookup(array.name)
    if symbol is None or symbol.origin is not Origin.LOCAL or symbol.type is None:
        return False
    if symbol.attrs & {"pointer", "target", "save", "volatile"} or facts.unit.contained:
        return False
    if symbol.type.base not in _PLAIN or leaves_early(loop.body, 0):
        return False
    footprint = facts.footprint(loop)
    unseen = any(effect.kind in UNSEEN for effect in footprint.effects)
    sizes = names_in(array) - {array.name}
    if unseen and any(facts.values.changed_unseen(name) for name in sizes):
        return False
    written = footprint.written()
    read = {a.storage for a in facts.footprint(begin).accesses} - {array.name}
    if read & written or facts.footprint(begin).effects[1:]:
        return False
    inside = {id(leaf) for leaf in leaves(loop)}
    used = [leaf for node in facts.unit.body for leaf in leaves(node) if _uses(leaf, array.name)]
    pair = [leaf for leaf in used if isinstance(leaf.what, Allocation)]
    return (
        len(pair) == 2
        and all(id(leaf) in inside for leaf in used)
        and not any(_may_shape(leaf, array.name, facts) for leaf in used if leaf not in pair)
    )


def _uses(leaf: Leaf, name: str) -> bool:
    return any(
        isinstance(what, Raw | Opaque) or any(name in names_in(e) for e in expressions_of(what))
        for what in actions(leaf.what)
    )


def _may_shape(leaf: Leaf, name: str, facts: UnitFacts) -> bool:
    """Whether a statement may give the array another shape, or ask whether it has one."""
    for what in actions(leaf.what):
        match what:
            case Raw() | Opaque():
                return True
            case Assign(target=Ref(name=target, args=None), value=value) if target == name:
                return not is_scalar(value, facts.scope)
            case Call(args=args):
                values = [arg.value if isinstance(arg, Keyword) else arg for arg in args]
                whole = any(isinstance(v, Ref) and v.name == name and not v.args for v in values)
                if whole and _has_allocatable_dummy(what, facts):
                    return True
        for expr in expressions_of(what):
            for part in walk(expr):
                given = part.args or () if isinstance(part, Ref) else ()
                if any(isinstance(a, Ref) and a.name == name and not a.args for a in given):
                    return True
    return False


def _has_allocatable_dummy(call: Call, facts: UnitFacts) -> bool:
    """Whether a called procedure has an allocatable dummy, or is not in the tree."""
    located = None
    if isinstance(call.procedure, Ref):
        located = procedure_named(call.procedure, facts.scope)
    if located is None:
        return True
    own = facts.effects.scopes.of(located)
    return any("allocatable" in symbol.attrs for symbol in own.own.values())


def leaves_early(nodes: tuple[Node, ...], depth: int) -> bool:
    """Whether a statement may leave an iteration, or the loop, before its end."""
    for node in nodes:
        match node:
            case Leaf():
                for what in actions(node.what):
                    if isinstance(what, Jump) and what.kind not in (
                        JumpKind.STOP,
                        JumpKind.ERROR_STOP,
                    ):
                        inner = what.kind in (JumpKind.CYCLE, JumpKind.EXIT) and depth > 0
                        if not inner or what.construct is not None:
                            return True
            case Do(body=body):
                if leaves_early(body, depth + 1):
                    return True
            case Block(body=body):
                if leaves_early(body, depth):
                    return True
            case Branch(arms=arms):
                if any(leaves_early(arm.body, depth) for arm in arms):
                    return True
    return False


TRANSFORMATION = Transformation(
    "allocation hoisting",
    Pass.INLINE,
    Phase.PREPARATION,
    "An array that each iteration of a loop allocates is allocated once, before the loop.",
    check,
    apply,
)
