"""Fences: the compiler learns at an inlined wait that buffers may have changed.

Before::

    call exchange(u)                 ! MPI_Irecv(u ...), MPI_Waitall(2, requests ...)

After::

    ! asphalt: exchange of halo.f90 stands here
    call MPI_Irecv(u(1, 0), ...)
    ...
    call MPI_Waitall(2, requests, ...)
    call asphalt_sync(u)

A wait does not name the buffers of its operations.  A compiler may take it that the wait changes no
variable of the procedure, and use again, behind it, an element that it has read before (MPI-4.0
section 19.1.17).  The call of ``exchange`` named ``u``: behind it, the compiler had to read ``u``
again.  Where the body has taken the place of the call, ``asphalt_sync`` tells it so, behind the
last of the waits that stand in one place, and in front of a start of prepared operations.

Variables of modules and common blocks, targets and pointers need no fence: MPI's procedures may
access these.  Nor is one written for assumed-shape dummies that need not be contiguous, for the
compiler may pass a copy of these.  What the procedure itself started and awaited in the user's
source is as it was; where it has inlined waits beside its own, all get fences: for the buffers of
what they may complete, if that is known and the unit itself starts all that it awaits, else for all
buffers of the unit that are under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.inlining.procedure import calls_of, communicates
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import mpi_call, mpi_call_in
from asphalt.analysis.mpi.procedures import MpiProcedure, Timing
from asphalt.analysis.mpi.standard.row import ACCESSES_WINDOW
from asphalt.analysis.names.references import bind, named_by
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.symbol import Origin, Symbol
from asphalt.ir.expr import Arg, Component, Keyword, Ref, names_in
from asphalt.ir.stmt import Call, Guarded, UnitHead
from asphalt.ir.tree import Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.make import Maker, fn, maker_at, respelled, var

_SYNC = "asphalt_sync"
_ACCESSIBLE = frozenset({"target", "pointer", "volatile", "asynchronous"})
"""Attributes of variables that compilers expect to change in any call."""
_OWN = (Origin.LOCAL, Origin.DUMMY, Origin.RESULT, Origin.HOST)


def fenced(facts: UnitFacts, given: Unit) -> Unit:
    """The unit with fences for what its inlined procedures wait for; the same unit where nothing
    needs one.

    ``given``: the unit before all steps.
    """
    names = tuple(sorted(_under_way(facts))) if _is_inlined(facts, given) else ()
    return _fenced(facts, facts.unit, names) if names else facts.unit


def with_fences(facts: UnitFacts, unit: Unit, names: Collection[str]) -> Unit:
    """A version of the procedure of ``facts`` with fences behind its waits for the buffers among
    ``names``: a compiler that inlines the version does not know that they have changed."""
    hidden = tuple(name for name in names if _is_hidden(facts.scope.lookup(name)))
    return _fenced(facts, unit, hidden) if hidden else unit


def _fenced(facts: UnitFacts, unit: Unit, names: tuple[str, ...]) -> Unit:
    def change(siblings: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(_with_fences(siblings, names, facts))

    body = unit.body
    places = [path for path, siblings in lists_in(body) if len(change(siblings)) > len(siblings)]
    if not places:
        return unit
    for path in places:
        body = rewrite_list(body, (*path, 0), change)
    unit = replace(unit, body=body)
    return added(unit, facts.located.form, facts.eol, (_SYNC,), ())


def _is_inlined(facts: UnitFacts, given: Unit) -> bool:
    """Whether the unit has no longer all calls of procedures that communicate."""
    before, now = (Counter(map(_called, calls_of(unit))) for unit in (given, facts.unit))
    for call in calls_of(given):
        if before[_called(call)] > now[_called(call)]:
            target = invoked(call, facts.scope)
            if target is not None and communicates(target[0], facts.effects.scopes):
                return True
    return False


def _roots(args: Iterable[Arg]) -> set[str]:
    """The variables that arguments are, or are parts of."""
    given = (arg.value if isinstance(arg, Keyword) else arg for arg in args)
    return {one.name for one in map(_root, given) if one is not None}


def _root(actual: Arg) -> Ref | None:
    while isinstance(actual, Component):
        actual = actual.base
    return actual if isinstance(actual, Ref) else None


def _called(call: Call) -> object:
    return call.procedure.name if isinstance(call.procedure, Ref) else call.procedure


def _under_way(facts: UnitFacts) -> frozenset[str]:
    """The variables that the library may access behind a call of the unit's: buffers of operations
    that the program itself starts or prepares, and arguments of procedures that communicate."""
    found: set[str] = set()
    for call in calls_of(facts.unit):
        mpi = mpi_call(call, facts.scope)
        if mpi is not None:
            if mpi.binding != "runtime" and mpi.procedure.timing is not Timing.BLOCKING:
                found |= _roots(one for parameter, one in mpi.bound() if parameter.kind == "BUFFER")
            continue
        found |= _passed_on(call, facts)
    return frozenset(name for name in found if _is_hidden(facts.scope.lookup(name)))


def _passed_on(call: Call, facts: UnitFacts) -> set[str]:
    """The variables of which a called procedure may start operations: scalars that it only reads
    are ranks, tags and lengths, and handles are no buffers."""
    target, procedure = invoked(call, facts.scope), call.procedure
    if target is None:
        symbol = facts.scope.lookup(procedure.name) if isinstance(procedure, Ref) else None
        is_intrinsic = symbol is not None and symbol.origin is Origin.INTRINSIC
        return set() if is_intrinsic else _roots(call.args)
    callee, given = target
    if not communicates(callee, facts.effects.scopes):
        return set()
    head = callee.unit.head
    dummies = head.what.args if head is not None and isinstance(head.what, UnitHead) else ()
    bound = bind(given.args, dummies)
    if bound is None:
        return _roots(given.args)
    scope = facts.effects.scopes.of(callee)
    no_buffers = {
        name for name in dummies if _is_read(scope.lookup(name)) or _is_request(name, scope)
    }
    return _roots(actual for name, actual in bound.items() if name not in no_buffers)


def _is_read(symbol: Symbol | None) -> bool:
    """Whether a dummy is a scalar of an intrinsic type that is only read."""
    if symbol is None or symbol.type is None or symbol.type.name is not None:
        return False
    return symbol.dims is None and symbol.intent == "in"


def _is_request(dummy: str, scope: Scope) -> bool:
    """Whether a procedure does nothing with a dummy but pass it to MPI as a request."""
    if scope.unit.contained:
        return False
    for leaf in (leaf for node in scope.unit.body for leaf in leaves(node)):
        named = named_by(leaf.what)
        if named is None:
            return False
        if dummy in named:
            mpi = None if leaf.call is None else mpi_call(leaf.call, scope)
            given = [] if mpi is None else [p.kind for p, e in mpi.bound() if dummy in names_in(e)]
            if not given or any(kind != "REQUEST" for kind in given):
                return False
    return True


def _is_hidden(symbol: Symbol | None) -> bool:
    """Whether a compiler may take it that no procedure of MPI changes a variable which it is not
    given, and whether the variable itself, not a copy, can be passed."""
    if symbol is None or symbol.origin not in _OWN or symbol.attrs & _ACCESSIBLE:
        return False
    return symbol.common_block is None and not any(
        dim.kind == "assumed_rank"
        or (dim.kind == "assumed_shape" and "contiguous" not in symbol.attrs)
        for dim in symbol.dims or ()
    )


def _with_fences(
    siblings: tuple[Node, ...], names: Collection[str], facts: UnitFacts
) -> Iterator[Node]:
    """The statements of a list, with fences."""
    awaited: set[str] = set()
    for number, node in enumerate(siblings):
        procedure = _nameless(node, facts)
        following = siblings[number + 1] if number + 1 < len(siblings) else None
        make = maker_at(node, facts.located.form, facts.eol)
        if procedure is not None and procedure.timing is Timing.STARTING:
            yield from _fences(names, make, facts)
        yield node
        if procedure is not None:
            awaited.update(_awaited(node, procedure, names, facts))
            if _nameless(following, facts) is None:
                yield from _fences([name for name in names if name in awaited], make, facts)
                awaited = set()


def _awaited(
    node: Node, procedure: MpiProcedure, names: Collection[str], facts: UnitFacts
) -> Collection[str]:
    """The buffers among ``names`` to which the operations that a statement may complete have
    access; all of them where these operations are not known."""
    if not isinstance(node, Leaf) or ACCESSES_WINDOW in procedure.facts:
        return names
    if procedure.timing is not Timing.COMPLETING or any(_passed_on_by(facts)):
        return names
    messages = facts.once(Messages)
    completed = messages.completed_by(node)
    if not completed or messages.pending(node) is None:
        return names
    found: set[str] = set()
    for one in completed:
        own = _roots(given for parameter, given in one.call.bound() if parameter.kind == "BUFFER")
        if not own:
            return names  # it starts a prepared operation, whose buffers it does not name
        found |= own
    return found


def _passed_on_by(facts: UnitFacts) -> Iterator[str]:
    """The variables of which called procedures of the program may start operations."""
    for call in calls_of(facts.unit):
        if mpi_call(call, facts.scope) is None:
            yield from _passed_on(call, facts)


def _nameless(node: Node | None, facts: UnitFacts) -> MpiProcedure | None:
    """The operation of the program's own that a statement is, if it starts or completes others
    whose buffers it does not name."""
    mpi = mpi_call_in(node, facts.scope) if isinstance(node, Leaf) else None
    if mpi is None or mpi.binding == "runtime":
        return None
    own = mpi.procedure
    if any(parameter.kind == "BUFFER" for parameter in own.parameters):
        return None
    named = own.timing in (Timing.STARTING, Timing.COMPLETING) or ACCESSES_WINDOW in own.facts
    return own if named else None


def _fences(names: Collection[str], make: Maker, facts: UnitFacts) -> Iterator[Node]:
    for name in names:
        symbol = facts.scope.lookup(name)
        assert symbol is not None
        whole = respelled(var(name), facts.scope)
        call = Call(var(_SYNC), (whole,))
        if "allocatable" not in symbol.attrs:
            node = make.leaf(call)
            if "optional" in symbol.attrs:
                node = make.leaf(Guarded(fn("present", whole), call))
            yield node
            continue
        guarded = Guarded(fn("allocated", whole), call)
        if "optional" in symbol.attrs:
            yield make.branch(fn("present", whole), (make.inner().leaf(guarded),))
        else:
            yield make.leaf(guarded)
