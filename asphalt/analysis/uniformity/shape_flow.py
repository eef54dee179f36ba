"""The dependences of the shapes of arrays and the lengths of characters.

The shape of an ALLOCATABLE is tracked if only ALLOCATE statements of its own unit can define it: an
assignment to all of it, MOVE_ALLOC or a procedure with an ALLOCATABLE dummy may change it.
"""

from __future__ import annotations

from abc import abstractmethod

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites
from asphalt.analysis.call_graph.definitions import Source, VariableDefinition
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.analysis.uniformity.value_graph import ALL, Facts, Level, ValueGraph
from asphalt.ir.expr import Arg, Keyword, Lit, Op, OpaqueExpr, Ref, Section, TypeSpec
from asphalt.ir.stmt import Allocation, Assign

# What these give depends on the declared type of the argument alone (F2018 16.9).
OF_A_TYPE = frozenset(
    {"bit_size", "digits", "epsilon", "huge", "kind", "maxexponent", "minexponent", "new_line",
     "precision", "radix", "range", "tiny"}
)  # fmt: skip
_OF_A_SHAPE = frozenset({"size", "shape", "lbound", "ubound"})
_FIXED_SIZE = frozenset(
    {"integer", "real", "double_precision", "complex", "double_complex", "logical"}
)


class ShapeFlow(ValueGraph):
    """The part of the graph that concerns shapes and lengths.

    ``shapes_asked``: how often the shape of an array that is allocated has been asked for.
    """

    sites: CallSites
    shapes_asked = 0

    @abstractmethod
    def expression(self, expr: Arg, context: CallingContext, at: int, facts: Facts) -> None:
        """Make ``facts`` depend on the parts of an expression in the statement number ``at``."""

    @abstractmethod
    def decided(
        self,
        context: CallingContext,
        statement: ConditionedStatement,
        facts: Facts,
        returned: bool = False,
    ) -> None:
        """Make ``facts`` depend on whether a statement is executed."""

    def owner(self, context: CallingContext, symbol: Symbol) -> CallingContext | None:
        """The unit around ``context`` that declares a variable."""
        scope = context.scope.host
        while scope is not None:
            own = scope.own.get(symbol.name)
            if own is not None and own.identity == symbol.identity:
                return self.sites.context(scope)
            scope = scope.host
        return None

    def inquiry(
        self, ref: Ref, args: tuple[Arg, ...], context: CallingContext, at: int, facts: Facts
    ) -> None:
        """An inquiry function: about a type, a shape, a length, or something untracked."""
        if ref.name in OF_A_TYPE:
            return
        for arg in args[1:]:
            self.expression(arg, context, at, facts)
        asked = args[0].value if args and isinstance(args[0], Keyword) else args[0]
        symbol = context.scope.lookup(asked.name) if isinstance(asked, Ref) else None
        if not isinstance(asked, Ref) or asked.args is not None or symbol is None:
            facts.note(Level.UNKNOWN, f"{ref.name} of an expression")
        elif ref.name in _OF_A_SHAPE and symbol.dims is not None:
            self.shape(asked.name, symbol, context, facts)
        elif ref.name == "len" and symbol.type is not None and symbol.type.base == "character":
            self.length(asked.name, symbol, symbol.type, context, facts)
        elif ref.name != "storage_size" or not _has_fixed_size(symbol):
            facts.note(Level.UNKNOWN, f"{ref.name} of {asked.name}")

    def length(
        self, name: str, symbol: Symbol, spec: TypeSpec, context: CallingContext, facts: Facts
    ) -> None:
        """The length of a character variable."""
        if symbol.origin in (Origin.PARAMETER, Origin.MPI) or spec.length is None:
            return
        home = self._home(context, symbol)
        if isinstance(spec.length, Section | OpaqueExpr):
            facts.note(Level.UNKNOWN, f"the length of {name}")
        elif home is not None:
            self.expression(spec.length, home, ALL, facts)
        elif symbol.origin not in (Origin.MODULE, Origin.COMMON):
            facts.note(Level.UNKNOWN, f"the length of {name}")

    def shape(self, name: str, symbol: Symbol, context: CallingContext, facts: Facts) -> None:
        """The shape of an array."""
        if symbol.origin in (Origin.PARAMETER, Origin.MPI):
            return
        home = self._home(context, symbol)
        for dim in symbol.dims or ():
            if dim.kind == "explicit" and home is not None:
                for bound in (dim.lower, dim.upper):
                    if bound is not None:
                        self.expression(bound, home, ALL, facts)
            elif dim.kind == "explicit" and symbol.origin in (Origin.MODULE, Origin.COMMON):
                pass  # its bounds are constants (F2018 8.5.8.2)
            elif dim.kind == "deferred" and symbol.origin is Origin.LOCAL:
                self._allocated_once(name, symbol, context, facts)
                break
            else:
                facts.note(Level.UNKNOWN, f"the shape of {name}")

    def _home(self, context: CallingContext, symbol: Symbol) -> CallingContext | None:
        if symbol.home is context.scope:
            return context
        return self.owner(context, symbol) if symbol.origin is Origin.HOST else None

    def _allocated_once(
        self, name: str, symbol: Symbol, context: CallingContext, facts: Facts
    ) -> None:
        """The shape of an array that is allocated, noted once: inquiries about arrays may decide
        about the allocations of these, and of each other."""
        self.shapes_asked += 1
        key = context.key, name
        if key not in facts.shapes:
            facts.shapes.add(key)
            self._allocated_shape(name, symbol, context, facts)

    def _allocated_shape(
        self, name: str, symbol: Symbol, context: CallingContext, facts: Facts
    ) -> None:
        saved = "save" in symbol.attrs and context.scope.unit.kind != "program"
        if saved or symbol.attrs & {"pointer", "target", "volatile"}:
            facts.note(Level.UNKNOWN, f"the shape of {name}")
        for unit in (context, *self.sites.all_contained(context)):
            if "*" in unit.defined:
                facts.note(Level.UNKNOWN, f"{unit.scope.unit.name} is not understood")
            seen = unit.scope.lookup(name)
            if seen is not None and seen.identity != symbol.identity:
                continue
            for definition in unit.defined.get(name):
                if self._may_reallocate(definition, symbol):
                    where = definition.statement.leaf.span
                    facts.note(Level.UNKNOWN, f"{name} may get another shape at {where}")
            if unit is not context and any(_allocated(s, name) for s in unit.flow.statements):
                facts.note(Level.UNKNOWN, f"{unit.scope.unit.name} allocates {name}")
        found = False
        for statement in context.flow.statements:
            for item in _allocated(statement, name):
                found = True
                if item.args is None:
                    facts.note(Level.UNKNOWN, f"the shape of {name}")
                for arg in item.args or ():
                    self.expression(arg, context, statement.position, facts)
                self.decided(context, statement, facts)
        if not found:
            facts.note(Level.UNKNOWN, f"{name} is never allocated here")

    def _may_reallocate(self, definition: VariableDefinition, symbol: Symbol) -> bool:
        """Whether a definition may change the shape of an ALLOCATABLE."""
        if definition.path or definition.source in (Source.SHARED, Source.DIFFERENT):
            return False  # a component of it; a buffer of MPI
        what = definition.statement.what
        match definition.source:
            case Source.EXPRESSIONS if isinstance(what, Allocation):
                return False
            case Source.EXPRESSIONS:
                plain = isinstance(what, Assign) and _is_literal(what.value)
                return definition.whole and not (plain and _has_fixed_size(symbol))
            case Source.CALLEE if definition.callee is not None and not definition.exprs:
                inside = self.sites.of(definition.callee)
                dummy = inside.scope.lookup(definition.dummy)
                if dummy is None:
                    return True
                return bool(dummy.attrs & {"allocatable", "pointer"}) and dummy.intent != "in"
            case _:
                return not definition.exprs  # with subscripts: an element or a section


def _allocated(statement: ConditionedStatement, name: str) -> tuple[Ref, ...]:
    """The allocations of a variable in an ALLOCATE statement."""
    what = statement.what
    if not isinstance(what, Allocation) or what.kind != "allocate":
        return ()
    return tuple(item for item in what.objects if isinstance(item, Ref) and item.name == name)


def _is_literal(value: Arg) -> bool:
    """Whether an expression is a scalar constant: its assignment to an array keeps the shape."""
    match value:
        case Lit():
            return True
        case Op(op="-" | "+" | "()", operands=(operand,)):
            return _is_literal(operand)
        case _:
            return False


def _has_fixed_size(symbol: Symbol) -> bool:
    return symbol.type is not None and symbol.type.base in _FIXED_SIZE
