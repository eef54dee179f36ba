"""What the ranks of a communicator share because MPI_COMM_SPLIT put them together.

They gave the same colour (MPI-4.0 section 7.4.2).  So what the colour tells is the same on all of
them::

    if (me >= n) then              ! the ranks of one communicator have taken the same arm,
      active = .false.             ! since each arm has a colour of its own
      color = 1
    else
      active = .true.
      color = 0
    end if
    call MPI_Comm_split(MPI_COMM_WORLD, color, me, comm, ierr)

A colour that one statement computes is the same itself.  All this holds for a split that is
executed once, behind statements that are executed once.

Where the variable may hold another communicator instead::

    comm = MPI_COMM_WORLD
    if (np == n) return

the ranks of that one have not tested the condition, if each test of it leads to the split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, UnitKey
from asphalt.analysis.call_graph.component_definitions import overlap
from asphalt.analysis.call_graph.definitions import (
    MAX_PATH,
    Source,
    VariableDefinition,
    component,
)
from asphalt.analysis.call_graph.reaching import UnitReaching
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.control_flow.graph import EXIT
from asphalt.analysis.control_flow.paths import closure, path_witness
from asphalt.analysis.mpi.call import mpi_call, mpi_constant
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.derived_types import component_declarations
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.analysis.uniformity.last_definition import Once
from asphalt.ir.expr import AltReturn, Arg, Component, Expr, Keyword, Lit, Op, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, Call, Guarded
from asphalt.ir.tree import Branch, Leaf, Node

_SPLIT = "mpi_comm_split"
_OTHER_NAMES = frozenset({"pointer", "target", "volatile"})
_SHARED = frozenset({"pointer", "allocatable"})
_Colour = int | str
_Given = tuple[CallingContext, VariableDefinition]


@record
class _Place:
    """A scalar variable, or the scalar component ``path`` of one."""

    name: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A call of MPI_COMM_SPLIT that is executed once.

    ``colour``: the variable or component that it is given; ``others``: the statements of its unit
    that may make the variable another communicator; ``made``: the name of the variable.
    """

    context: CallingContext
    statement: ConditionedStatement
    colour: _Place
    made: str = ""
    others: tuple[ConditionedStatement, ...] = ()


@record
class Shared:
    """What is the same on all ranks of a communicator: ``conditions``, by unit and position, and
    the values of ``variables``, by the identities of their symbols and the names of components,
    which have one value in the whole run.  ``valid``: variables that hold the communicator itself
    on all of them."""

    conditions: frozenset[tuple[UnitKey, int]] = frozenset()
    variables: frozenset[tuple[object, tuple[str, ...]]] = frozenset()
    valid: frozenset[object] = frozenset()


def split_at(context: CallingContext, definition: VariableDefinition) -> Split | None:
    """The split by a scalar variable that a statement is."""
    what = definition.statement.what
    call = mpi_call(what, context.scope) if isinstance(what, Call) else None
    if call is None or call.procedure.name != _SPLIT:
        return None
    colour = _place(call.args.get("color"), context)
    if colour is None:
        return None
    return Split(context, definition.statement, colour, made=definition.name)


def shared_by(split: Split, once: Once, sites: CallSites) -> Shared:
    """What the ranks of a communicator share that a split makes, or one of its ``others``."""
    return replace(_shared_by(split, once, sites), valid=_holders(split, once, sites))


def _holders(split: Split, once: Once, sites: CallSites) -> frozenset[object]:
    """The variable that holds nothing else than the communicator, once it has a value."""
    made = _Place(split.made)
    own = None if split.others else _definitions(made, split.context, sites)
    symbol = split.context.scope.lookup(split.made)
    if own is None or symbol is None or symbol.initial is not None or len(own) != 1:
        return frozenset()
    ((context, definition),) = own
    here = definition.statement is split.statement and not definition.path
    made_once = here and not definition.lasting and once(context, definition.statement)
    return frozenset({symbol.identity}) if made_once else frozenset()


def _shared_by(split: Split, once: Once, sites: CallSites) -> Shared:
    given = _definitions(split.colour, split.context, sites)
    if given is None or any(c.key != split.context.key or d.lasting for c, d in given):
        return Shared()
    reaching = sites.reaching(split.context)
    own_colours = [definition for _, definition in given]
    colours, _ = reaching.at(own_colours, split.statement.position, split.colour.path)
    if not all(_is_earlier(split, one, once) for one in colours):
        return Shared()
    found = _Found()
    symbol = split.context.scope.lookup(split.colour.name)
    alone = len(given) == 1 and given[0][1].whole and given[0][1].path == split.colour.path
    if alone and symbol is not None and not split.others:
        if _is_given_by_all(split.colour, given, split, split.statement):
            found.variables.add((symbol.identity, split.colour.path))
            found.variables.update(_merged(split, given[0][1], once, sites))
        return Shared(variables=frozenset(found.variables))
    flow, first = split.context.flow, True
    there = set(flow.conditions(split.statement))
    for head, condition in _decided(split, tuple(colours)):
        statement = split.context.flow.at(head)
        if statement is None or not once(split.context, statement):
            break
        if split.others and not _leads_to(split, statement, reaching):
            break
        found.conditions.add((split.context.key, statement.position))
        # all ranks that split have tested the first condition, if the split is in its list
        by_all = first and set(flow.conditions(statement)) <= there | {
            one for one in flow.conditions(statement) if one.position == statement.position
        }
        by_all = by_all and not split.others
        variable, first = _variable(condition, split.context) if by_all else None, False
        if variable is not None:
            found.variables.update(_flag(variable, split, statement, once, sites))
    return Shared(frozenset(found.conditions), frozenset(found.variables))


def _flag(
    variable: _Place, split: Split, test: ConditionedStatement, once: Once, sites: CallSites
) -> Iterator[tuple[object, tuple[str, ...]]]:
    """The variable, if it has in the whole run the value that a statement in front of the split
    tested."""
    own = _definitions(variable, split.context, sites)
    tested = split.context.scope.lookup(variable.name)
    if own is None or tested is None or not _has_one_value(own, variable, once):
        return
    if _is_given_by_all(variable, own, split, test):
        yield tested.identity, variable.path


def _merged(
    split: Split, definition: VariableDefinition, once: Once, sites: CallSites
) -> Iterator[tuple[object, tuple[str, ...]]]:
    """The flag that chose between two colours (``color = merge(0, 1, active)``)."""
    context = split.context
    match definition.exprs:
        case (
            Ref(
                name="merge", args=(Lit() | Ref() | Op() as one, Lit() | Ref() | Op() as two, mask)
            ),
        ):
            known = context.scope.lookup("merge")
            values = [_value(part, context) for part in (one, two)]
        case _:
            return
    variable = _variable(mask, context)
    if known is None or known.origin is not Origin.INTRINSIC or variable is None:
        return
    if None not in values and values[0] != values[1]:
        yield from _flag(variable, split, definition.statement, once, sites)


@dataclass(slots=True)
class _Found:
    conditions: set[tuple[UnitKey, int]] = field(default_factory=set)
    variables: set[tuple[object, tuple[str, ...]]] = field(default_factory=set)


def _definitions(
    place: _Place, context: CallingContext, sites: CallSites
) -> tuple[_Given, ...] | None:
    """All definitions of a scalar variable or component, without initial values; None: not
    known."""
    symbol = context.scope.lookup(place.name)
    if symbol is None or not _is_plain(symbol, place.path):
        return None
    if symbol.origin in (Origin.MODULE, Origin.COMMON):
        shared = sites.shared_definitions(symbol)
        found = None if isinstance(shared, str) else shared
    else:
        saved = "save" in symbol.attrs and context.scope.unit.kind != "program"
        if symbol.origin is not Origin.LOCAL or saved:
            return None
        found = sites.own_definitions(place.name, context)
    if found is None:
        return None
    return tuple(one for one in found if overlap(one[1].path, place.path))


def _is_plain(symbol: Symbol, path: tuple[str, ...]) -> bool:
    declared = component_declarations(symbol, path)
    return (
        declared is not None
        and all(one.dims is None and not set(one.decl.attrs) & _SHARED for one in declared)
        and symbol.dims is None
        and not symbol.equivalenced
        and not symbol.attrs & (_OTHER_NAMES | {"data", "allocatable"})
    )


def _is_given_by_all(
    place: _Place, own: tuple[_Given, ...], split: Split, test: ConditionedStatement
) -> bool:
    """Whether no rank that splits tests the initial value of a variable, which it would keep where
    it does not come to the only definition."""
    symbol = split.context.scope.lookup(place.name)
    declared = None if symbol is None else component_declarations(symbol, place.path)
    if symbol is None or declared is None:
        return False
    initial = (symbol.initial, *(one.entity.initial for one in declared))
    if symbol.origin is not Origin.COMMON and all(one is None for one in initial):
        return True  # a BLOCK DATA may give variables in COMMON initial values
    flow, there = split.context.flow, split.statement
    return all(
        context.key == split.context.key
        and definition.statement.position < test.position
        and set(flow.conditions(definition.statement)) <= set(flow.conditions(there))
        for context, definition in own
    )


def _leads_to(split: Split, statement: ConditionedStatement, reaching: UnitReaching) -> bool:
    """Whether each execution of a statement leads to the split, unless the program stops, and to
    nothing that makes the variable another communicator."""
    graph, there = reaching.graph, reaching.point(split.statement)
    others = {reaching.point(other) for other in split.others}
    tested = graph.of(statement.leaf)[:1]
    if not tested or there is None or None in others:
        return False
    if path_witness(graph, tested, {EXIT}, {there}) is not None:
        return False
    return not others & closure(graph.successors, tested)


def _is_earlier(split: Split, definition: VariableDefinition, once: Once) -> bool:
    """Whether a definition stands before the split in its unit, and is executed at most once."""
    earlier = definition.statement.position < split.statement.position
    return earlier and once(split.context, definition.statement)


def _has_one_value(given: tuple[_Given, ...], place: _Place, once: Once) -> bool:
    """Whether a variable is defined by one statement, once in the whole run."""
    if len(given) != 1:
        return False
    ((context, definition),) = given
    own = definition.whole and definition.path == place.path and not definition.lasting
    return own and once(context, definition.statement)


def _decided(split: Split, given: tuple[VariableDefinition, ...]) -> Iterator[tuple[Leaf, Arg]]:
    """The conditions of one IF that the colour tells, from the first one on, with the statements
    that test them."""
    context = split.context
    usual, inside = _usual(split, given)
    construct = _around(context.scope.unit.body, inside)
    if construct is None:
        return
    if isinstance(construct, Leaf):
        assert isinstance(construct.what, Guarded)
        colour = _colour(inside[0], context)
        if colour is not None and usual is not None and colour != usual:
            yield construct, construct.what.condition
        return
    colours = [_of_arm(arm.body, inside, usual, context) for arm in construct.arms]
    if not any(_is_else(arm.head) for arm in construct.arms):
        colours.append(usual)
    for number, arm in enumerate(construct.arms):
        own, rest = colours[number], colours[number + 1 :]
        if own is None or None in rest or own in rest or not rest:
            return
        what = arm.head.what
        if not isinstance(what, ArmHead) or what.kind not in ("if", "else_if"):
            return
        yield arm.head, what.exprs[0]


def _usual(
    split: Split, given: tuple[VariableDefinition, ...]
) -> tuple[_Colour | None, tuple[VariableDefinition, ...]]:
    """The colour that a statement gives on all ranks that split, before others change it, and the
    definitions behind it."""
    flow = split.context.flow
    there = set(flow.conditions(split.statement))
    plain = [d for d in given if set(flow.conditions(d.statement)) <= there]
    last = max(plain, key=lambda d: d.statement.position, default=None)
    if last is None:
        return None, given
    position = last.statement.position
    later = tuple(d for d in given if d.statement.position > position)
    return _colour(last, split.context), later


def _around(nodes: Iterable[Node], inside: tuple[VariableDefinition, ...]) -> Branch | Leaf | None:
    """The IF in whose arms all these definitions stand, or the one-line IF that is the only one."""
    own = {id(definition.statement.leaf) for definition in inside}
    for node in nodes:
        if isinstance(node, Branch) and node.kind == "if":
            direct = {id(leaf) for arm in node.arms for leaf in arm.body}
            if own and own <= direct:
                return node
            for arm in node.arms:
                found = _around(arm.body, inside)
                if found is not None:
                    return found
        elif isinstance(node, Leaf) and own == {id(node)} and isinstance(node.what, Guarded):
            return node if node.what.kind == "if" else None
    return None


def _of_arm(
    body: tuple[Node, ...],
    inside: tuple[VariableDefinition, ...],
    usual: _Colour | None,
    context: CallingContext,
) -> _Colour | None:
    """The colour behind an arm; None: not known."""
    found = usual
    by_leaf = {id(definition.statement.leaf): definition for definition in inside}
    for node in body:
        if isinstance(node, Leaf) and id(node) in by_leaf:
            if not isinstance(node.what, Assign):
                return None
            found = _colour(by_leaf[id(node)], context)
    return found


def _colour(definition: VariableDefinition, context: CallingContext) -> _Colour | None:
    """The constant that a statement assigns."""
    if definition.source is not Source.EXPRESSIONS or len(definition.exprs) != 1:
        return None
    value = definition.exprs[0]
    if isinstance(value, Section | Keyword | AltReturn):
        return None
    return _value(value, context)


def _value(expr: Expr, context: CallingContext) -> _Colour | None:
    """The number, or the name of a constant of MPI, that an expression is."""
    known = constant(expr, context.scope)
    return known if known is not None else mpi_constant(expr, context.scope)


def _is_else(head: Leaf) -> bool:
    return isinstance(head.what, ArmHead) and head.what.kind == "else"


def _variable(condition: Arg, context: CallingContext) -> _Place | None:
    """The logical variable that a condition is, or the negation of."""
    while isinstance(condition, Op) and condition.op in (".not.", "()"):
        condition = condition.operands[0]
    return _place(condition, context)


def _place(expr: Arg | None, context: CallingContext) -> _Place | None:
    """The scalar variable or component that an expression is; None: it is none."""
    if not isinstance(expr, Ref | Component):
        return None
    found = component(expr, context.scope)
    if found is None or found.subscripts or len(found.path) >= MAX_PATH:
        return None
    return _Place(found.root, found.path)
