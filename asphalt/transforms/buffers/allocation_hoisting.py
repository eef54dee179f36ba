"""Allocation hoisting: an array is allocated once before a loop, not in each iteration.

Before::

    do step = 1, steps
      m = size(u, 1)
      allocate (scale(n), line(m))
      ...
      deallocate (scale)
      if (allocated(line)) deallocate (line)
    end do

After::

    if (1 <= steps) allocate (scale(n))
    if (1 <= steps) allocate (line(size(u, 1)))
    do step = 1, steps
      m = size(u, 1)
      ...
    end do
    if (allocated(line)) deallocate (line)
    if (allocated(scale)) deallocate (scale)

Inlining writes such pairs for the automatic and the allocatable arrays of a procedure.  Others may
see the effects of an ALLOCATE statement, so nothing moves past it; outside of the loop it stops
nothing.  Each array leaves by itself.  Where the loop may have no iterations, its size need not be
defined, and it is not allocated.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.parallel_loops import why_threaded
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin
from asphalt.config.passes import Pass
from asphalt.ir.expr import Expr, Keyword, Ref, names_in, walk
from asphalt.ir.records import record
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import Allocation, Assign, Call, Guarded, Jump, JumpKind, Opaque, Raw, What
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.buffers.loop_invariants import LoopInvariants
from asphalt.transforms.rewriting.comments import in_front
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.make import maker_at
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_PLAIN = frozenset(
    {"integer", "real", "double_precision", "complex", "double_complex", "logical"}
)  # fmt: skip


@record
class Hoist(Step):
    """The array ``name`` leaves the statements ``first`` and ``last`` of the loop at ``position``
    of a list.  ``array``: with its shape in terms of what the loop does not change; ``condition``:
    that there are iterations; None: there are."""

    path: tuple[int, ...]
    position: int
    first: int
    last: int
    name: str
    array: Ref
    condition: Expr | None


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
        make = maker_at(loop, facts.located.form, facts.eol)
        body: list[Node] = []
        lead: tuple[Trivia, ...] = ()
        for number, node in enumerate(loop.body):
            kept: Node | None = node
            if number in (step.first, step.last):
                assert isinstance(node, Leaf)
                kept = _without(node, step.name)
                lead = lead if kept is not None else (*lead, *node.lead)
            if kept is not None:
                body.append(in_front(kept, lead))
                lead = ()
        before: What = Allocation("allocate", (step.array,))
        behind: What = Allocation("deallocate", (replace(step.array, args=None),))
        if step.condition is not None:
            before = Guarded(step.condition, before)
            is_there = Ref("allocated", "allocated", (replace(step.array, args=None),))
            behind = Guarded(is_there, behind)
        assert loop.end is not None
        end = replace(loop.end, lead=(*lead, *loop.end.lead))
        inner = replace(loop, body=tuple(body), end=end)
        around = (make.leaf(before), inner, make.leaf(behind))
        return (*nodes[: step.position], *around, *nodes[step.position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


def _without(leaf: Leaf, name: str) -> Leaf | None:
    """An ALLOCATE or DEALLOCATE statement without one of its arrays; None: nothing is left."""
    what = leaf.what
    if not isinstance(what, Allocation):
        return None
    left = tuple(o for o in what.objects if not (isinstance(o, Ref) and o.name == name))
    return replace(leaf, what=replace(what, objects=left), body=None) if left else None


def _of_loop(loop: Do, path: tuple[int, ...], position: int, facts: UnitFacts) -> list[Hoist]:
    found: list[Hoist] = []
    invariants = LoopInvariants(loop, facts)
    condition = invariants.has_iterations()
    if condition is None or why_threaded(loop.head, facts.unit) is not None:
        return []
    for first, begin in enumerate(loop.body):
        for array in _objects(begin, "allocate"):
            assert isinstance(begin, Leaf)
            for last in range(first + 2, len(loop.body)):
                if array.name not in {one.name for one in _objects(loop.body[last], "deallocate")}:
                    continue
                outside = invariants.shape(array, first)
                if outside is not None and _may_leave(loop, begin, array, facts):
                    line = line_of(begin)
                    does = f"{array.spelled} is allocated before the loop of {facts.at(loop.head)}"
                    evidence = ("its size is the same in all iterations",)
                    needed = None if isinstance(condition, bool) else condition
                    hoist = Hoist(
                        line, does, evidence, path, position, first, last, array.name, outside,
                        needed,
                    )  # fmt: skip
                    found.append(hoist)
    return found


def _objects(node: Node, kind: str) -> tuple[Ref, ...]:
    """The arrays that a statement allocates or frees, if it does nothing else."""
    if not isinstance(node, Leaf):
        return ()
    what: What = node.what
    if isinstance(what, Guarded) and kind == "deallocate" and what.kind == "if":
        condition, what = what.condition, what.action
        if not isinstance(what, Allocation) or not _asks_for(condition, what.objects):
            return ()
    if not isinstance(what, Allocation) or what.kind != kind or what.options:
        return ()
    if node.label is not None or node.joined or node.frozen or ";" in node.trail:
        return ()
    if any(t.kind not in (TriviaKind.COMMENT, TriviaKind.BLANK) for t in node.lead):
        return ()
    refs = tuple(item for item in what.objects if isinstance(item, Ref))
    return refs if len(refs) == len(what.objects) else ()


def _asks_for(condition: Expr, objects: tuple[Expr, ...]) -> bool:
    """Whether a condition is ``allocated(a)``, of the one array that is freed under it."""
    match condition, objects:
        case Ref(name="allocated", args=(Ref(name=asked, args=None),)), (Ref(name=freed),):
            return asked == freed
    return False


def _may_leave(loop: Do, begin: Leaf, array: Ref, facts: UnitFacts) -> bool:
    symbol = facts.scope.lookup(array.name)
    if symbol is None or symbol.origin is not Origin.LOCAL or symbol.type is None:
        return False
    if symbol.attrs & {"pointer", "target", "save", "volatile"} or facts.unit.contained:
        return False
    if symbol.type.base not in _PLAIN or leaves_early(loop.body, 0):
        return False
    if facts.footprint(begin).effects[1:]:
        return False
    inside = {id(leaf) for leaf in leaves(loop)}
    used = [leaf for node in facts.unit.body for leaf in leaves(node) if _uses(leaf, array.name)]
    pair = [leaf for leaf in used if isinstance(leaf.action, Allocation)]
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
                if whole and has_allocatable_dummy(what, facts):
                    return True
        for expr in expressions_of(what):
            for part in walk(expr):
                given = part.args or () if isinstance(part, Ref) else ()
                if any(isinstance(a, Ref) and a.name == name and not a.args for a in given):
                    return True
    return False


def has_allocatable_dummy(call: Call, facts: UnitFacts) -> bool:
    """Whether a called procedure has an allocatable dummy, or is not in the tree and none of
    MPI."""
    if mpi_call(call, facts.scope) is not None:
        return False
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
