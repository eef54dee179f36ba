"""The value graph of a program: data and control dependences of each variable."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, UnitKey
from asphalt.analysis.call_graph.component_definitions import overlap
from asphalt.analysis.call_graph.defined_operations import may_be_function
from asphalt.analysis.call_graph.definitions import Source, VariableDefinition, component
from asphalt.analysis.call_graph.statement_conditions import (
    Condition,
    ConditionedStatement,
    expressions,
)
from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis.names.derived_types import may_be_allocatable, may_be_pointer
from asphalt.analysis.names.intrinsics import is_inquiry, is_pure_function
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.analysis.uniformity.assumed_values import UniformDirectives
from asphalt.analysis.uniformity.communicators import Communicators, Group, is_within
from asphalt.analysis.uniformity.function_flow import FunctionFlow, place_of_return
from asphalt.analysis.uniformity.null_communicators import compares_valid_one
from asphalt.analysis.uniformity.reaching_values import ReachingValues
from asphalt.analysis.uniformity.shape_flow import OF_A_TYPE
from asphalt.analysis.uniformity.split_colours import Shared
from asphalt.analysis.uniformity.value_graph import (
    ALL,
    Control,
    Facts,
    Level,
    Node,
    Reachability,
    Variable,
)
from asphalt.ir.expr import Arg, Component, ImpliedDo, Lit, Op, OpaqueExpr, Ref, Section, children
from asphalt.ir.stmt import Assign, DoHead

_COLOUR = "the ranks of the communicator gave the same colour to MPI_Comm_split"
_NOT_NULL = "the communicator is never MPI_COMM_NULL"
_FAR = (Origin.DUMMY, Origin.MODULE, Origin.COMMON)


class ValueFlow(FunctionFlow):
    """The graph, relative to one communicator."""

    def __init__(
        self,
        sites: CallSites,
        communicators: Communicators,
        values: ReachingValues,
        communicator: Group | None,
    ) -> None:
        super().__init__()
        self.sites = sites
        self.communicators = communicators
        self.communicator = communicator
        self.uniform = UniformDirectives(sites)
        self.values = values
        # what each condition adds to the facts of what it controls; the condition is kept, too
        self._tested: dict[tuple[CallingContext, int], tuple[Condition, Facts]] = {}
        self.shared = Shared() if communicator is None else communicators.shared_by(communicator)

    def _is_far(self, node: Node) -> bool:
        match node:
            case Reachability(context=context):
                return context.scope.unit.kind != "program"
            case Variable(context=context, name=name):
                symbol = context.scope.lookup(name)
                return symbol is not None and symbol.origin in _FAR
            case _:
                return False

    def _build(self, node: Node, facts: Facts) -> None:
        match node:
            case Variable():
                self._variable(node, facts)
            case Control(context=context, position=position):
                statement = context.flow.statements[position]
                self.conditions(context, context.flow.conditions(statement), facts)
            case Reachability(context=context, position=position):
                facts.depends[Control(context, position)] = None
                self._unit_reached(context, facts)

    def _unit_reached(self, context: CallingContext, facts: Facts) -> None:
        if context.scope.unit.kind == "program":
            return
        callers = self.sites.callers(context)
        if isinstance(callers, str):
            if self.sites.is_never_called(context):
                facts.note(Level.UNIFORM, f"nothing calls {context.scope.unit.name}")
            else:
                facts.note(Level.UNKNOWN, callers)
            return
        for site in callers:
            facts.depends[Reachability(site.context, site.statement.position)] = None

    def conditions(
        self, context: CallingContext, conditions: Iterable[Condition], facts: Facts
    ) -> None:
        """Make ``facts`` depend on the expressions that some conditions test."""
        for condition in conditions:
            if (context.key, condition.position) in self.shared.conditions:
                facts.note(Level.UNIFORM, _COLOUR)
                continue
            self._condition(context, condition, facts)

    def _condition(self, context: CallingContext, condition: Condition, facts: Facts) -> None:
        """Make ``facts`` depend on the expressions of a condition, which are looked at once: it may
        control many definitions.

        Where they ask for the shape of an array that is allocated, what they add depends on the
        shapes that are among the facts.
        """
        key = context, id(condition)
        known = self._tested.get(key)
        if known is None:
            known = condition, Facts(shapes=set(facts.shapes))
            before = self.shapes_asked
            if not condition.exprs:
                known[1].note(Level.UNKNOWN, f"a condition at {condition.span} is unknown")
            for expr in expressions(condition):
                self.expression(expr, context, condition.position, known[1])
            if self.shapes_asked == before:
                known[1].shapes.clear()
                self._tested[key] = known
        facts.include(known[1])

    def expression(self, expr: Arg, context: CallingContext, at: int, facts: Facts) -> None:
        """Make ``facts`` depend on the parts of an expression."""
        match expr:
            case Lit():
                pass
            case Ref(args=None):
                self._all_of(expr.name, context, at, facts)
            case Ref(args=args) if args is not None:
                self._listed(expr, args, context, at, facts)
            case Component():
                self._component(expr, context, at, facts)
            case OpaqueExpr(names=names) | ImpliedDo(names=names):
                for name in sorted(names):
                    self._all_of(name, context, at, facts)
                    self._hidden_call(name, context, facts)
            case Op() if compares_valid_one(expr, context, self.sites, self.shared.valid):
                facts.note(Level.UNIFORM, _NOT_NULL)
            case _:
                if isinstance(expr, Op) and may_be_function(expr, context.scope):
                    facts.note(Level.UNKNOWN, f"{expr.op} may be a function")
                for part in children(expr):
                    self.expression(part, context, at, facts)

    def _all_of(self, name: str, context: CallingContext, at: int, facts: Facts) -> None:
        """The whole of a variable; its shape counts if it is an array."""
        symbol = context.scope.lookup(name)
        if symbol is not None and symbol.dims is not None:
            self.shape(name, symbol, context, facts)
        self._read(name, (), context, at, facts)

    def _read(
        self, name: str, path: tuple[str, ...], context: CallingContext, at: int, facts: Facts
    ) -> None:
        """The value of a variable at statement ``at``."""
        if self.assumed_uniform(name, context, at, facts):
            return
        place = ALL if at == ALL else self.values.place(context, name, path, at)
        facts.depends[Variable(context, name, place, path)] = None

    def assumed_uniform(self, name: str, context: CallingContext, at: int, facts: Facts) -> bool:
        """Whether a directive makes a variable uniform at statement ``at``."""
        directive = self.uniform.in_force(name, context, at)
        if directive is None:
            return False
        where = f"{directive.file}:{directive.line}"
        facts.assume(f"uniform:{name}", f"{name} is assumed to be uniform at {where}")
        return True

    def _hidden_call(self, name: str, context: CallingContext, facts: Facts) -> None:
        """A name in an expression that asphalt does not understand may be that of a function."""
        symbol = context.scope.lookup(name)
        if symbol is None:
            return
        intrinsic = symbol.origin is Origin.INTRINSIC and name not in OF_A_TYPE
        if intrinsic and (is_inquiry(name) or not is_pure_function(name)):
            facts.note(Level.UNKNOWN, f"{name} in an expression that is not understood")
        if symbol.origin is Origin.MPI and procedure(symbol.name) is not None:
            facts.note(Level.UNKNOWN, f"{name} in an expression that is not understood")

    def _component(self, expr: Component, context: CallingContext, at: int, facts: Facts) -> None:
        part = component(expr, context.scope)
        if part is None:
            facts.note(Level.UNKNOWN, f"{expr.spelled} of an expression")
            return
        for arg in part.subscripts:
            self.expression(arg, context, at, facts)
        symbol = context.scope.lookup(part.root)
        if symbol is None or may_be_pointer(symbol, part.path):
            shown = "%".join((part.root, *part.path))
            facts.note(Level.UNKNOWN, f"{shown} may be a pointer, which has other names")
        elif may_be_allocatable(symbol, part.path):
            facts.note(Level.UNKNOWN, f"{'%'.join((part.root, *part.path))} is allocated")
        self._read(part.root, part.path, context, at, facts)

    def _listed(
        self, ref: Ref, args: tuple[Arg, ...], context: CallingContext, at: int, facts: Facts
    ) -> None:
        """``name(args)``: an array element, a substring or a function."""
        symbol = context.scope.lookup(ref.name)
        variable = symbol is not None and (
            symbol.dims is not None or (symbol.type is not None and symbol.type.base == "character")
        )
        if symbol is not None and symbol.origin is Origin.INTRINSIC and is_inquiry(ref.name):
            self.inquiry(ref, args, context, at, facts)
            return
        callee = None if variable else self.called(ref, args, context, at)
        if callee is not None:
            self.result(callee, facts)
            return
        for arg in args:
            self.expression(arg, context, at, facts)
        if variable:
            open_ended = any(isinstance(a, Section) and not (a.lower and a.upper) for a in args)
            if open_ended and symbol is not None and symbol.dims is not None:
                self.shape(ref.name, symbol, context, facts)
            self._read(ref.name, (), context, at, facts)
        elif symbol is not None and symbol.origin is Origin.INTRINSIC:
            if not is_pure_function(ref.name):
                facts.note(Level.UNKNOWN, f"{ref.name} has hidden state")
        else:
            self.function(ref, context, facts)

    def decided(
        self,
        context: CallingContext,
        statement: ConditionedStatement,
        facts: Facts,
        returned: bool = False,
    ) -> None:
        """Make ``facts`` depend on whether the statement is executed.

        ``returned``: the value is used after the unit has returned, perhaps early.
        """
        if returned or not statement.plain or context.flow.has_gotos:
            self.conditions(context, context.flow.conditions(statement), facts)

    def _variable(self, node: Variable, facts: Facts) -> None:
        context, name = node.context, node.name
        symbol = context.scope.lookup(name)
        if symbol is None:
            facts.note(Level.UNKNOWN, f"{name} is unknown")
            return
        if symbol.origin in (Origin.PARAMETER, Origin.MPI, Origin.INTRINSIC):
            return
        if symbol.equivalenced or symbol.attrs & {"pointer", "target", "volatile"}:
            facts.note(Level.UNKNOWN, f"{name} may have other names")
            return
        if (symbol.identity, node.path) in self.shared.variables:
            facts.note(Level.UNIFORM, _COLOUR)
            return
        if symbol.type is not None and symbol.type.base == "character":
            self.length(name, symbol, symbol.type, context, facts)
        match symbol.origin:
            case Origin.LOCAL | Origin.RESULT | Origin.DUMMY:
                self._local(node, symbol, facts)
            case Origin.HOST:
                owner = self.owner(context, symbol)
                if owner is None:
                    facts.note(Level.UNKNOWN, f"the host of {name} is unknown")
                else:
                    facts.depends[Variable(owner, symbol.name, ALL, node.path)] = None
            case Origin.MODULE | Origin.COMMON:
                self._shared_variable(node, symbol, facts)
            case _:
                facts.note(Level.UNKNOWN, f"{name} is a {symbol.origin.value}")

    def _local(self, node: Variable, symbol: Symbol, facts: Facts) -> None:
        context, name = node.context, node.name
        if "*" in context.defined:
            facts.note(Level.UNKNOWN, f"{context.scope.unit.name} is not understood")
        inside = [
            (inner, definition)
            for inner in self.sites.all_contained(context)
            for definition in inner.defined.get(name)
            if _same(inner.scope.lookup(name), symbol)
            and self.sites.changes(definition)
            and overlap(definition.path, node.path)
        ]
        given = self.values.given(context, name, node.path)
        if any(d.lasting for d in (*given, *(d for _, d in inside))):
            facts.note(Level.UNKNOWN, f"{name} may be defined by MPI at any time")
        saved = "save" in symbol.attrs and context.scope.unit.kind != "program"
        cut = False
        if node.place != ALL and not inside and not saved:
            given, cut = self.sites.reaching(context).at(given, node.place, node.path)
        for definition in given:
            returned = saved or node.place in (ALL, place_of_return(context))
            lives = () if saved else None
            self._definition(context, definition, node.path, facts, lives, returned=returned)
            if saved:  # how often it was executed decides, too
                facts.depends[Reachability(context, definition.statement.position)] = None
        for inner, definition in inside:
            here = () if saved else (context.key,)
            self._definition(inner, definition, node.path, facts, here, returned=True)
            facts.depends[Reachability(inner, definition.statement.position)] = None
        if symbol.initial is not None and not cut:
            self.expression(symbol.initial, context, ALL, facts)
        if symbol.origin is Origin.DUMMY:
            if not cut:
                self._entry(context, name, node.path, facts)
        elif not given and not inside and symbol.initial is None and "data" not in symbol.attrs:
            facts.note(Level.UNKNOWN, f"{name} is never defined")

    def _entry(
        self, context: CallingContext, name: str, path: tuple[str, ...], facts: Facts
    ) -> None:
        """The value of a dummy on entry: that of the actual argument, at every call."""
        callers = self.sites.callers(context)
        if isinstance(callers, str):
            if not self.sites.is_never_called(context):
                facts.note(Level.UNKNOWN, callers)
            return
        for site in callers:
            if name in site.args:
                actual = _extended(site.args[name], path, site.context)
                self.expression(actual, site.context, site.statement.position, facts)
            if len(callers) > 1:
                facts.depends[Reachability(site.context, site.statement.position)] = None

    def _shared_variable(self, node: Variable, symbol: Symbol, facts: Facts) -> None:
        """A variable of a module or in COMMON: the definitions that reach the place, if all
        procedures on the way to them are known; else all in the program."""
        path = node.path
        found = self.sites.shared_definitions(symbol)
        if isinstance(found, str):
            facts.note(Level.UNKNOWN, found)
            return
        found = tuple(
            (c, d) for c, d in found if overlap(d.path, path) and not self.sites.is_never_called(c)
        )
        local = False
        if node.place != ALL and found:
            found, local = self.values.shared(symbol, found, path, node.context, node.place)
        for context, definition in found:
            own = local and context is node.context
            self._definition(context, definition, path, facts, (), returned=not own)
            if not own:
                facts.depends[Reachability(context, definition.statement.position)] = None
        if symbol.initial is None and not found:
            facts.note(Level.UNKNOWN, f"{symbol.name} is never defined")

    def _definition(
        self,
        context: CallingContext,
        definition: VariableDefinition,
        path: tuple[str, ...],
        facts: Facts,
        lives: tuple[UnitKey, ...] | None = None,
        returned: bool = False,
    ) -> None:
        """The value that a definition gives the component ``path``.

        ``lives``: the units in one execution of which the value is used; (): perhaps in another
        execution; None: in that of its own unit.
        """
        statement = definition.statement
        self.decided(context, statement, facts, returned)
        if isinstance(statement.what, DoHead):
            self._loop_left(context, statement, facts)
        rest = path[len(definition.path) :]
        for number, expr in enumerate(definition.exprs):
            copied = number == 0 and isinstance(statement.what, Assign)
            part = _extended(expr, rest, context) if copied else expr
            self.expression(part, context, statement.position, facts)
        if definition.broadcast:
            facts.cap = Level.UNKNOWN
        where = f"{definition.name}: {definition.detail} at {statement.leaf.span}"
        if statement.threaded:
            facts.note(Level.UNKNOWN, f"{where}, which several threads may execute")
        if definition.call is not None and self.assumed_pure(
            definition.call.procedure, context, facts
        ):
            for arg in definition.call.args:
                self.expression(arg, context, statement.position, facts)
            return
        match definition.source:
            case Source.SHARED:
                same = self._shared(context, definition, lives)
                note = "" if same else ", on another communicator"
                facts.note(Level.UNIFORM if same else Level.UNKNOWN, where + note)
            case Source.DIFFERENT:
                facts.note(Level.VARYING, where)
            case Source.UNKNOWN:
                facts.note(Level.UNKNOWN, where)
            case Source.CALLEE if definition.callee is not None:
                self._returned(definition, rest, facts)
            case _:
                pass

    def _loop_left(self, context: CallingContext, head: ConditionedStatement, facts: Facts) -> None:
        """The loop variable depends on the exit that the loop takes."""
        self.conditions(context, context.flow.of_iterations(head), facts)

    def _shared(
        self,
        context: CallingContext,
        definition: VariableDefinition,
        lives: tuple[UnitKey, ...] | None,
    ) -> bool:
        """Whether a value that all ranks of a communicator get is the same on the ranks that are
        asked about."""
        if definition.communicator is None:
            return False
        group = self.communicators.group(definition.communicator, context)
        if group is None or (lives is not None and group.execution not in (None, *lives)):
            return False
        return is_within(self.communicator, group)

    def _returned(
        self, definition: VariableDefinition, path: tuple[str, ...], facts: Facts
    ) -> None:
        """The value of a dummy when the procedure returns."""
        assert definition.callee is not None
        inside = self.sites.of(definition.callee)
        self.left(inside, facts)
        facts.depends[Variable(inside, definition.dummy, place_of_return(inside), path)] = None


def _same(found: Symbol | None, symbol: Symbol) -> bool:
    return found is None or found.identity == symbol.identity


def _extended(expr: Arg, path: tuple[str, ...], context: CallingContext) -> Arg:
    """``expr%path``, where ``expr`` is a variable or a component."""
    if isinstance(expr, Ref) and expr.args is not None:
        symbol = context.scope.lookup(expr.name)
        if symbol is None or symbol.dims is None:
            return expr
    for name in path:
        if not isinstance(expr, Ref | Component):
            return expr
        expr = Component(expr, name, name)
    return expr
