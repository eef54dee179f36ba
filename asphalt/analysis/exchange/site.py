"""Exchange sites: MPI calls that move data between ranks, with their place in the unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from asphalt.analysis.data_flow.feasible_statements import FeasibleStatements
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import NameSemantics
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.loop_scalars import ListLevel
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.procedures import table
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.verdicts.verdict import Mark
from asphalt.ir.expr import Arg
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.stmt import Call, Guarded
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit

if TYPE_CHECKING:
    from asphalt.analysis.exchange.open_coded_exchange import OpenCoded

_ALL_TO_ALL = frozenset({"alltoall", "alltoallv", "alltoallw"})  # families of the MPI table


@record
class StatementPosition:
    """Where a statement stands in a unit.

    ``levels``: the statement lists from the unit's body to the one that holds it.  ``path``: the
    indices that lead there (child numbers; for a Branch the number of the arm comes first).
    ``around``: the constructs and arms around it, outermost first.
    """

    levels: tuple[ListLevel, ...]
    path: tuple[int, ...]
    around: tuple[Node | Arm, ...]

    @property
    def siblings(self) -> tuple[Node, ...]:
        """The statement list that holds the statement."""
        return self.levels[-1].nodes

    @property
    def position(self) -> int:
        """The position of the statement among its siblings."""
        return self.levels[-1].position


@record
class Exchange:
    """An exchange site: the call, where it stands, and what is known about its unit.

    Where the statement calls a procedure that wraps the exchange (``wrappers``), ``call`` is the
    exchange in this unit's terms, ``wrapper`` the name that is called, ``through`` the procedures
    from there to MPI, ``via`` their calls; ``opaque`` is the reason why ``call`` is not fully
    known; ``sole``: nothing else calls the wrapper.  ``constants`` are the arguments that are MPI
    constants in ``home``, the scope of the call of MPI; ``unnamed`` says which of them this unit
    cannot name.

    ``open_coded``: the open-coded exchange that one call replaces in the analysed unit.
    """

    located: Located
    leaf: Leaf
    call: MpiCall
    guarded: bool  # the call is the action of a one-line IF
    place: StatementPosition
    scope: Scope = field(repr=False)
    values: Values = field(repr=False)
    names: NameSemantics = field(repr=False)
    effects: Effects = field(repr=False)
    reaching: ReachingDefinitions = field(repr=False)
    wrapper: str | None = None
    via: tuple[Mark, ...] = field(default=(), repr=False)
    through: tuple[Located, ...] = field(default=(), repr=False)
    opaque: str | None = None
    sole: bool = False
    constants: frozenset[str] = frozenset()
    home: Scope | None = field(default=None, repr=False)
    unnamed: str | None = None
    open_coded: OpenCoded | None = field(default=None, repr=False)

    @property
    def unit(self) -> Unit:
        """The unit as it is in its file."""
        return (self.open_coded or self).located.unit

    @property
    def key(self) -> int:
        """A key of the site, whatever is assumed."""
        return id(self.leaf if self.open_coded is None else self.open_coded.anchor)

    @property
    def written(self) -> tuple[Node, ...]:
        """The statements of the exchange, as they are in its file."""
        return (self.leaf,) if self.open_coded is None else self.open_coded.nodes

    @property
    def point(self) -> int:
        """The point of the call in the control-flow graph."""
        point = self.reaching.graph.action(self.leaf)
        assert point is not None
        return point

    @property
    def operation(self) -> str:
        """The operation as reports name it, with the wrapper that is called."""
        return self.spelled if self.wrapper is None else f"{self.wrapper} ({self.spelled})"

    @property
    def spelled(self) -> str:
        """The MPI procedure, as the standard spells it."""
        coded = self.open_coded
        return self.call.procedure.spelled if coded is None else coded.operation

    def under(self, effects: Effects) -> Exchange:
        """Return the exchange with other effects of calls."""
        if effects is self.effects:
            return self
        names = effects.names(self.scope)
        values = Values(self.scope, names)
        return replace(self, effects=effects, values=values, names=names)

    @property
    def span(self) -> Span:
        """The position of the call in the source."""
        assert self.leaf.span is not None
        return self.leaf.span


def calls_in(
    located: Located, scope: Scope
) -> Iterator[tuple[Leaf, MpiCall, bool, StatementPosition]]:
    """Every MPI call statement of a unit, in source order; the flag: under a one-line IF."""
    for leaf, place in statements(located.unit.body):
        what = leaf.what
        guarded = isinstance(what, Guarded)
        if isinstance(what, Guarded):
            what = what.action
        if isinstance(what, Call):
            call = mpi_call(what, scope)
            if call is not None:
                yield leaf, call, guarded, place


def statements(body: tuple[Node, ...]) -> Iterator[tuple[Leaf, StatementPosition]]:
    """Every statement of an executable part that is not the head or end of a construct."""
    yield from _walk(body, (), (), (), False)


def _walk(
    nodes: tuple[Node, ...],
    levels: tuple[ListLevel, ...],
    path: tuple[int, ...],
    around: tuple[Node | Arm, ...],
    repeated: bool,
) -> Iterator[tuple[Leaf, StatementPosition]]:
    for number, node in enumerate(nodes):
        here = (*levels, ListLevel(nodes, number, repeated))
        trail = (*path, number)
        match node:
            case Leaf():
                yield node, StatementPosition(here, trail, around)
            case Do(body=body):
                yield from _walk(body, here, trail, (*around, node), True)
            case Branch(arms=arms):
                for which, arm in enumerate(arms):
                    yield from _walk(
                        arm.body, here, (*trail, which), (*around, node, arm), repeated
                    )
            case Block(body=body):
                yield from _walk(body, here, trail, (*around, node), repeated)


def statement_arguments(leaf: Leaf) -> tuple[Arg, ...]:
    """The actual arguments of a CALL statement, as they are written."""
    what = leaf.action
    return what.args if isinstance(what, Call) else ()


def exchanges(located: Located, effects: Effects) -> tuple[Exchange, ...]:
    """The exchange sites of one unit: calls that move user buffers between all ranks at once."""
    scope = effects.scopes.of(located)
    found = [
        entry
        for entry in calls_in(located, scope)
        if entry[1].procedure.exchange is not None
        and entry[1].procedure.exchange.family in _ALL_TO_ALL
    ]
    return at_calls(located, effects, found)


def at_calls(
    located: Located,
    effects: Effects,
    found: Sequence[tuple[Leaf, MpiCall, bool, StatementPosition]],
) -> tuple[Exchange, ...]:
    """The exchanges at the given statements of one unit."""
    if not found:
        return ()
    scope = effects.scopes.of(located)
    values = Values(scope, effects.names(scope))
    executed = effects.once_for(scope, FeasibleStatements)
    names, reaching = executed.names, executed.reaching
    return tuple(
        Exchange(located, leaf, call, guarded, place, scope, values, names, effects, reaching)
        for leaf, call, guarded, place in found
    )


def all_to_all_operations() -> frozenset[str]:
    """The folded names of the operations that are sites, with their profiling names."""
    names = {
        name
        for name, procedure in table().items()
        if procedure.exchange is not None and procedure.exchange.family in _ALL_TO_ALL
    }
    return frozenset(names | {f"p{name}" for name in names})
