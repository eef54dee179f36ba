"""Persistent requests: messages of a loop are kept from one turn to the next.

Before::

    do step = 1, steps
      call asphalt_irecv(ghost, ..., asphalt_request_1)
      ...
      call asphalt_wait(asphalt_request_1, ghost)
    end do

After::

    do step = 1, steps
      call asphalt_persistent_irecv(ghost, ..., asphalt_request_1)
      ...
      call asphalt_wait(asphalt_request_1, ghost)
    end do

The runtime keeps the request (MPI-4.0 section 3.9), and starts it again while its arguments stay
the same.  A kept request holds an address: so the buffer lives as long as the program.  It holds a
communicator: so the program frees none, or this is MPI_COMM_WORLD.  The message is executed again
and again: it stands in a loop, or its procedure does not only have one call that is executed once.
Both ends are calls of the runtime, with a request of asphalt's own.  Nothing moves: this is done
once, when all steps are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.exchange.buffers import is_static
from asphalt.analysis.messages.named_anywhere import first_named
from asphalt.analysis.mpi.call import mpi_call_in
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.names.visibility import words_at
from asphalt.analysis.uniformity.last_definition import repeats
from asphalt.ir.expr import Component, Expr, Ref, root_name
from asphalt.ir.stmt import Call, Guarded
from asphalt.ir.tree import Leaf, Unit, leaves, rewrite
from asphalt.transforms.rewriting.additions import added
from asphalt.transforms.rewriting.edit import map_leaves
from asphalt.transforms.rewriting.make import var
from asphalt.transforms.rewriting.new_names import REQUEST
from asphalt.transforms.rewriting.tidying import without_uncalled

_KEPT = {
    "asphalt_isend": "asphalt_persistent_isend",
    "asphalt_irecv": "asphalt_persistent_irecv",
}
_WAITS = frozenset({"asphalt_wait", "asphalt_wait_f08"})
_FREEING = frozenset({"mpi_comm_free", "mpi_comm_disconnect"})
_WORLD = "mpi_comm_world"
_DEPTH = 8  # calls, from a message upwards


def with_persistent(facts: UnitFacts) -> Unit:
    """The unit with persistent requests where its messages can have them; the same unit where none
    can."""
    found = {id(leaf): leaf for leaf in _starts(facts)}
    if not found:
        return facts.unit
    unit = replace(
        facts.unit,
        body=tuple(
            map_leaves(node, lambda leaf: _kept(leaf) if id(leaf) in found else leaf)
            for node in facts.unit.body
        ),
    )
    used = {_KEPT[_called(leaf)] for leaf in found.values()}
    unit = added(unit, facts.located.form, facts.eol, used, ())
    return without_uncalled(unit, _KEPT)


def _starts(facts: UnitFacts) -> Iterator[Leaf]:
    """The starts of messages that can be kept."""
    of_request: dict[str, list[Leaf]] = {}
    for leaf in (leaf for node in facts.unit.body for leaf in leaves(node)):
        for name in words_at(leaf):
            if name.startswith(REQUEST):
                of_request.setdefault(name, []).append(leaf)
    for name, named in of_request.items():
        starts = [leaf for leaf in named if _called(leaf) in _KEPT]
        completed = [leaf for leaf in named if _called(leaf) in _WAITS]
        if not starts or len(starts) + len(completed) != len(named):
            continue
        if name in facts.scope.declared.symbols and all(_may_last(one, facts) for one in starts):
            yield from (leaf for leaf in starts if _may_repeat(leaf, facts))


def _called(leaf: Leaf) -> str:
    """The name of the procedure that a statement calls, or the action of a one-line IF; '': none,
    or the preprocessor changes the statement."""
    procedure = leaf.call.procedure if leaf.call and not leaf.frozen and not leaf.macros else None
    return procedure.name if isinstance(procedure, Ref) else ""


def _may_last(leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether buffer and communicator of a message live as long as the program."""
    call = mpi_call_in(leaf, facts.scope)
    buffer = None if call is None else call.args.get("buf")
    if call is None or not isinstance(buffer, Ref) or "comm" not in call.args:
        return False
    if not is_static(replace(buffer, args=None), facts.scope):
        return False
    return _is_world(call.args["comm"], facts.scope) or not facts.effects.once(_frees)


def _is_world(comm: Expr, scope: Scope) -> bool:
    if not isinstance(comm, Ref | Component) or root_name(comm) != _WORLD:
        return False
    symbol = scope.lookup(_WORLD)
    return symbol is not None and symbol.origin is Origin.MPI


def _frees(effects: Effects) -> bool:
    """Whether a program may free a communicator."""
    program = effects.scopes.program
    return first_named(program, lambda one: one.name in _FREEING) is not None


def _may_repeat(leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether a statement may be executed several times."""
    sites = facts.effects.once(_call_sites)
    return _repeats(leaf, sites.context(facts.scope), sites, _DEPTH)


def _call_sites(effects: Effects) -> CallSites:
    return CallSites(effects.scopes)


def _repeats(leaf: Leaf, context: CallingContext, sites: CallSites, depth: int) -> bool:
    statement = context.flow.at(leaf)
    if statement is None or repeats(context, statement):
        return True
    if context.scope.unit.kind == "program":
        return False
    callers = sites.callers(context) if depth else ""
    if isinstance(callers, str) or len(callers) != 1:
        return True
    (one,) = callers
    return _repeats(one.statement.leaf, one.context, sites, depth - 1)


def _kept(leaf: Leaf) -> Leaf:
    call = leaf.call
    assert call is not None
    new = Call(var(_KEPT[_called(leaf)]), call.args)
    what = replace(leaf.what, action=new) if isinstance(leaf.what, Guarded) else new
    return rewrite(leaf, what)
