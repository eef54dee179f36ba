"""Which communicator an expression is, as far as two of them can be told to be the same group."""

from __future__ import annotations

from asphalt.analysis.call_sites import CallSites, Context
from asphalt.analysis.definitions import Definition, Source
from asphalt.analysis.mpi_types import mpi_constant
from asphalt.analysis.symbols import Origin, Symbol
from asphalt.ir.expr import Component, Expr, Op, Ref
from asphalt.ir.stmt import UnitHead

WORLD = ("mpi_comm_world",)

# Equal identities: the same group of processes.  The first item of a longer one says where the
# value lives: in a module, in COMMON, or (``local``) in one execution of a unit.
Identity = tuple[object, ...]


class Communicators:
    """The identities of communicators in one program."""

    def __init__(self, sites: CallSites) -> None:
        self.sites = sites

    def identity(self, expr: Expr, context: Context, depth: int = 10) -> Identity | None:
        """What a communicator is; None: not known."""
        while isinstance(expr, Component | Op):
            match expr:
                case Component(base=base, name="mpi_val"):
                    expr = base
                case Op(op="()", operands=(inner,)):
                    expr = inner
                case _:
                    return None
        if depth == 0 or not isinstance(expr, Ref) or expr.args is not None:
            return None
        constant = mpi_constant(expr, context.scope)
        if constant is not None:
            return (constant,)
        symbol = context.scope.lookup(expr.name)
        if symbol is None or symbol.equivalenced or symbol.attrs & {"pointer", "target"}:
            return None
        return self._variable(symbol, expr.name, context, depth)

    def _variable(self, symbol: Symbol, name: str, context: Context, depth: int) -> Identity | None:
        head = context.scope.unit.head
        if head is not None and isinstance(head.what, UnitHead) and "recursive" in head.what.prefix:
            return None
        if "*" in context.defined or _defined_inside(context, name, self.sites):
            return None
        given = [d for d in context.defined.get(name, ()) if self.sites.changes(d)]
        match symbol.origin:
            case Origin.MODULE | Origin.COMMON:
                found = self.sites.shared_definitions(symbol)
                if isinstance(found, str) or len(found) != 1:
                    return None
                holder = symbol.common_block or symbol.owner
                return self._defined(*found[0], (symbol.origin, holder, symbol.name), depth)
            case Origin.LOCAL if len(given) == 1:
                own = ("local", context.key, name)
                return self._defined(context, given[0], own, depth)
            case Origin.DUMMY if not given:
                return self._dummy(name, context, depth)
            case _:
                return None

    def _defined(
        self, context: Context, definition: Definition, own: Identity, depth: int
    ) -> Identity | None:
        if not definition.whole or definition.path or definition.statement.loops:
            return None
        if definition.source is Source.EXPRESSIONS and len(definition.exprs) == 1:
            value = definition.exprs[0]
            if isinstance(value, Ref | Op | Component):
                return self.identity(value, context, depth - 1)
        if definition.old_communicator is not None:
            return self.identity(definition.old_communicator, context, depth - 1)
        return own

    def _dummy(self, name: str, context: Context, depth: int) -> Identity | None:
        """The actual argument, where all callers pass the same; else the dummy itself."""
        own = ("local", context.key, name)
        callers = self.sites.callers(context)
        if isinstance(callers, str):
            return own
        found = {
            self.identity(site.args[name], site.context, depth - 1) if name in site.args else None
            for site in callers
        }
        only = found.pop() if len(found) == 1 else None
        return own if only is None else only


def _defined_inside(context: Context, name: str, sites: CallSites) -> bool:
    """Whether an internal procedure may define a variable of its host."""
    return context.scope.unit.kind != "module" and any(
        name in inner.defined and name not in inner.scope.own for inner in sites.contained(context)
    )
