"""Branches in which the program ends: what they write is the last thing that it does.

    if (2**m /= n) then
      write (*, *) 'bad length ', n
      stop 1
    end if

A rank that takes such a branch in front of an exchange never enters it, so that no other rank gets
beyond it.  With tiles it is the same: others get the tiles of earlier iterations, and wait for the
rest.  The rank ends without MPI_FINALIZE, and MPI ends the others.  A STOP that tells nothing, with
neither output nor a code, may be how a program ends as it should.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.call_sites import UnitKey, unit_key
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.call_graph.program_end import may_call
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.specification_expressions import evaluated_on_entry
from asphalt.analysis.memory.accesses import Effect, EffectKind
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.standard.row import ABORTS
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Lit
from asphalt.ir.stmt import IO, Assign, Call, Guarded, Jump, JumpKind, Plain, What
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node

_LAST = (EffectKind.IO, EffectKind.STOP, EffectKind.MPI)
_OUTPUT = ("write", "print", "flush")
_NONE: frozenset[UnitKey] = frozenset()


def is_last(effect: Effect, scope: Scope, effects: Effects) -> bool:
    """Whether the program ends wherever a statement of a unit has an effect: it only writes what
    went wrong, or ends the program."""
    return effect.kind in _LAST and _is_last(effect, scope, effects, _NONE)


def _is_last(effect: Effect, scope: Scope, effects: Effects, seen: frozenset[UnitKey]) -> bool:
    if id(effect.leaf) in effects.once_for(scope, _statements_of_ends):
        return True
    call = effect.leaf.call
    if call is None or isinstance(effect.leaf.what, Guarded):
        return False
    found = invoked(call, scope)
    if found is None or any(may_call(arg, scope) for arg in call.args):
        return False
    callee, key = effects.scopes.of(found[0]), unit_key(found[0])
    if key in seen:
        return False
    names = effects.names(callee)
    on_entry = evaluated_on_entry(callee, names).effects
    inside = examine(callee.unit.body, names).effects
    return not any(_is_same(one, effect) for one in on_entry) and all(
        _is_last(one, callee, effects, seen | {key}) for one in inside if _is_same(one, effect)
    )


def _is_same(one: Effect, other: Effect) -> bool:
    return (one.kind, one.detail) == (other.kind, other.detail)


def _statements_of_ends(scope: Scope, effects: Effects) -> frozenset[int]:
    """The identities of the statements of a unit that stand in branches that end the program."""
    return frozenset(id(leaf) for leaf in _in_ends(scope.unit.body, scope, effects))


def _in_ends(nodes: tuple[Node, ...], scope: Scope, effects: Effects) -> Iterator[Leaf]:
    for node in nodes:
        match node:
            case Leaf(what=Guarded(kind="if", condition=condition, action=action)):
                ends = _tells(action) and _ends(action, scope, effects, _NONE)
                if ends and not may_call(condition, scope):
                    yield node
            case Branch(arms=arms):
                for arm in arms:
                    if ends_program(arm.body, scope, effects):
                        yield from (inner for inner in arm.body if isinstance(inner, Leaf))
                    else:
                        yield from _in_ends(arm.body, scope, effects)
            case Do(body=body) | Block(body=body):
                yield from _in_ends(body, scope, effects)


def ends_program(
    nodes: tuple[Node, ...], scope: Scope, effects: Effects, seen: frozenset[UnitKey] = _NONE
) -> bool:
    """Whether a statement list only writes, and then ends the program."""
    found = [node for node in nodes if not _is_nothing(node)]
    if not found or not all(isinstance(node, Leaf) and node.label is None for node in found):
        return False
    *before, last = (node.what for node in found if isinstance(node, Leaf))
    if not any(_tells(one) for one in (*before, last)):
        return False
    return _ends(last, scope, effects, seen) and all(_only_tells(one, scope) for one in before)


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Leaf) and node.what in (Plain("continue"), Plain("format"))


def _tells(what: What) -> bool:
    """Whether a statement is output, or ends the program with more than STOP."""
    match what:
        case IO() | Call() | Guarded(action=IO()) | Jump(kind=JumpKind.ERROR_STOP):
            return True
        case Jump(kind=JumpKind.STOP, exprs=exprs):
            return any(not (isinstance(one, Lit) and one.integer == 0) for one in exprs)
    return False


def _only_tells(what: What, scope: Scope) -> bool:
    """Whether a statement writes, or computes what is written."""
    match what:
        case Guarded(kind="if", condition=condition, action=action):
            return not may_call(condition, scope) and _only_tells(action, scope)
        case IO(kind=kind, labels=labels, reads=reads, writes=writes):
            plain = kind in _OUTPUT and not labels
            return plain and not any(may_call(one, scope) for one in (*reads, *writes))
        case Assign(target=target, value=value, pointer=pointer):
            return not pointer and not may_call(target, scope) and not may_call(value, scope)
    return False


def _ends(what: What, scope: Scope, effects: Effects, seen: frozenset[UnitKey]) -> bool:
    """Whether a statement ends the program, whatever the values of its operands are."""
    match what:
        case Jump(kind=kind, exprs=exprs):
            stops = kind in (JumpKind.STOP, JumpKind.ERROR_STOP)
            return stops and not any(may_call(one, scope) for one in exprs)
        case Call(args=args):
            if any(may_call(arg, scope) for arg in args):
                return False
            mpi = mpi_call(what, scope)
            if mpi is not None:
                return ABORTS in mpi.procedure.facts
            found = invoked(what, scope)
            if found is None or unit_key(found[0]) in seen:
                return False
            callee = effects.scopes.of(found[0])
            return ends_program(callee.unit.body, callee, effects, seen | {unit_key(found[0])})
    return False
