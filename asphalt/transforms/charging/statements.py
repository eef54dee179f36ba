"""Charges for single statements, and for those that a condition guards."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.cost.expressions import OperationCounter
from asphalt.analysis.cost.scalar_replacement import defined_by
from asphalt.analysis.cost.trip_counts import TripCount, is_repeatable
from asphalt.analysis.cost.types import is_user_function
from asphalt.ir.expr import Arg, Keyword, Ref
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    DoHead,
    Guarded,
    Include,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    Raw,
    Use,
)
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.charging.concurrent import concurrent
from asphalt.transforms.charging.edit import CannotInsertError, Charge
from asphalt.transforms.charging.insert import charge_call, flushed, put_before
from asphalt.transforms.charging.state import ENDS, Blocks, ChargerState, Placed


def statement(state: ChargerState, leaf: Leaf, counter: OperationCounter, block: Blocks) -> Placed:
    """Charge one statement; ``due`` is to be charged before it."""
    what = leaf.what
    closed = not state.calls_out(what)
    flush = state.needs_clock(what)
    nodes: tuple[Node, ...] = (leaf,)
    match what:
        case Assign(target=target, value=value, pointer=False):
            counter.assign(target, value)
        case Assign(target=target) | Allocation(objects=(target, *_)):
            for name in defined_by(what):
                counter.changed(name)
        case Call(procedure=procedure, args=args):
            for arg in args:
                _argument(state, arg, counter)
            flush = flush or state.waits(what, state.scope)
            if not flush:
                counter.called(procedure)
            counter.forget()
            closed = False
        case Guarded(condition=header, action=action, kind="forall"):
            return concurrent(state, leaf, header, (replace(leaf, what=action),), block)
        case Guarded():
            return _guarded(state, leaf, what, counter, closed, flush)
        case Jump(kind=kind, exprs=exprs):
            for expr in exprs:
                counter.value(expr)
            closed = closed and kind in ENDS
        case IO(labels=labels):
            closed = closed and not labels
            counter.forget()
        case Opaque(reason=reason):
            state.refuse(leaf, f"this statement is not understood: {reason}")
            return Placed(flushed(state, nodes), (), 0, False)
        case Plain(keyword="entry"):
            closed = False
        case Raw() | Decl() | Use() | Include() | Plain() | ArmHead() | DoHead():
            pass
    due = state.taken(counter, leaf)
    return Placed(flushed(state, nodes) if flush else nodes, due, 0, closed)


def _argument(state: ChargerState, arg: Arg, counter: OperationCounter) -> None:
    """The cost of passing an argument: of evaluating an expression; a variable costs nothing."""
    match arg:
        case Keyword(value=value):
            _argument(state, value, counter)
        case Ref(args=tuple()) if is_user_function(arg, state.around):
            counter.value(arg)
        case Ref():
            for inner in arg.args or ():
                counter.value(inner)
        case _:
            counter.value(arg)


def _guarded(
    state: ChargerState,
    leaf: Leaf,
    what: Guarded,
    counter: OperationCounter,
    closed: bool,
    flush: bool,
) -> Placed:
    """Charge ``if (condition) action``: the action under the same condition."""
    nodes: tuple[Node, ...] = (leaf,)
    action = what.action
    if what.kind != "if":
        if what.kind == "where" and isinstance(action, Assign):
            counter.assign(action.target, action.value)
        else:
            state.refuse(leaf, "this statement is not understood")
        return Placed(nodes, state.taken(counter, leaf), 0, True)
    ends = isinstance(action, Jump) and action.kind is not JumpKind.CYCLE
    counter.condition(what.condition, ends)
    due = state.taken(counter, leaf)
    inner = state.counter_for_arm()
    match action:
        case Assign(target=target, value=value, pointer=False):
            inner.assign(target, value)
        case Call(procedure=procedure, args=args):
            for arg in args:
                _argument(state, arg, inner)
            flush = flush or state.waits(action, state.scope)
            if not flush:
                inner.called(procedure)
            closed = False
        case Jump(kind=kind):
            closed = closed and kind in ENDS
        case IO(labels=labels):
            closed = closed and not labels
        case _:
            pass
    costs = state.taken(inner, leaf)
    for name in defined_by(what):
        counter.changed(name)
    call = None if state.estimating else charge_call(state, leaf, costs)
    if state.estimating:
        due = (*due, *(part(c, 2) for c in costs))
    elif call is not None:
        if is_repeatable(TripCount(what.condition), state.around):
            guard = replace(call, what=Guarded(what.condition, call.what))
            try:
                nodes = put_before(state, leaf, guard)
            except CannotInsertError as error:
                state.refuse(leaf, str(error))
        else:
            due = (*due, *(part(c, 2) for c in costs))
    return Placed(flushed(state, nodes) if flush else nodes, due, 0, closed)


def part(charge: Charge, ways: int) -> Charge:
    """The cost of one of several paths that are executed equally often."""
    return replace(charge, counts=charge.counts * (1 / ways), waiting=charge.waiting / ways)
