"""What no iteration of a loop changes: sizes of arrays that are allocated in each of them.

The size of an array may be computed in the iteration, from what is the same in all of them::

    do step = 1, steps
      m = ubound(u, 2) - 1
      allocate (line(m))        ! ubound(u, 2) - 1 elements in each iteration
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.cost.trip_counts import loop_trips
from asphalt.analysis.cost.types import Surroundings, base_of
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import ALIASED, EffectKind
from asphalt.analysis.memory.aliasing import root_of
from asphalt.analysis.memory.inquiries import asked_about, keeps_shape
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.storage import component_storage, storage_of
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Arg, Component, Expr, Lit, Op, Ref, Section, names_in
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, leaves

UNSEEN = (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE, EffectKind.STATE)
"""Effects that may change variables which others can see."""
_KEEPING = frozenset({"request", "win"})
_OPERATORS = frozenset({"+", "-", "*", "/", "()"})
_DEFINITIONS = 3  # of variables by variables that are followed


class LoopInvariants:
    """The expressions of a loop that have the same value in all of its iterations."""

    def __init__(self, loop: Do, facts: UnitFacts) -> None:
        self.loop = loop
        self.facts = facts
        self.scope = facts.scope
        self.footprint = facts.footprint(loop)
        self.written = self.footprint.written()
        self.unseen = any(effect.kind in UNSEEN for effect in self.footprint.effects)

    def has_iterations(self) -> bool | Expr | None:
        """Whether the loop has iterations: True, or the condition for it; None: it has none, or
        that is not known."""
        head = self.loop.head.what
        if not isinstance(head, DoHead):
            return None
        trips = loop_trips(head, Surroundings(self.scope))
        if trips is None or head.first is None or head.last is None:
            return None
        number = self.facts.values.polynomial(trips.count, self.loop.head).value
        if number is not None:
            return True if number > 0 else None
        bounds = [self._plain(bound) for bound in (head.first, head.last)]
        return Op("<=", (head.first, head.last)) if all(bounds) and head.step is None else None

    def shape(self, array: Ref, number: int) -> Ref | None:
        """An array with the shape that statement ``number`` of the loop gives it, in terms of what
        the loop does not change; None: the shape may be another one in other iterations."""
        args: list[Arg] = []
        for arg in array.args or ():
            value: Arg | None = None
            if not isinstance(arg, Section):
                value = self._value(arg, number)
            elif arg.lower is not None and arg.upper is not None:
                lower, upper = (self._value(bound, number) for bound in (arg.lower, arg.upper))
                if lower is not None and upper is not None:
                    value = replace(arg, lower=lower, upper=upper)
            if value is None:
                return None
            args.append(value)
        return replace(array, args=tuple(args)) if args else None

    def _plain(self, expr: Expr) -> bool:
        """Whether an expression consists of numbers and variables."""
        match expr:
            case Lit():
                return True
            case Ref(name=name, args=None):
                symbol = self.scope.lookup(name)
                return symbol is not None and (
                    symbol.origin is Origin.PARAMETER or symbol.origin.is_variable
                )
            case Component():
                return component_storage(expr, self.scope) is not None
            case Op(op=op, operands=operands):
                return op in _OPERATORS and all(
                    isinstance(o, Expr) and self._plain(o) for o in operands
                )
        return False

    def _value(self, expr: Arg, number: int, depth: int = 0) -> Expr | None:
        """An expression of statement ``number`` in terms of what the loop does not change."""
        match expr:
            case Lit():
                return expr
            case Ref(args=None):
                return self._variable(expr, number, depth)
            case Component(args=None):
                return expr if self._keeps_component(expr) else None
            case Ref(args=tuple()):
                array = asked_about(expr, self.scope)
                return expr if array is not None and self._keeps_shape(array) else None
            case Op(op=op, operands=operands) if op in _OPERATORS:
                values = [self._value(o, number, depth) for o in operands]
                found = tuple(value for value in values if value is not None)
                return replace(expr, operands=found) if len(found) == len(values) else None
        return None

    def _variable(self, ref: Ref, number: int, depth: int) -> Expr | None:
        symbol = self.scope.lookup(ref.name)
        if symbol is None or symbol.dims is not None:
            return None
        if symbol.origin is Origin.PARAMETER:
            return ref
        if not symbol.origin.is_variable or self._is_changed_unseen(ref.name):
            return None
        if "volatile" in symbol.attrs or self._is_kept_by_mpi(ref.name):
            return None
        storage = storage_of(ref.name, self.scope)
        if storage not in self.written:
            return ref
        if storage == ALIASED or depth == _DEFINITIONS:
            return None
        return self._defined(ref.name, storage, number, depth)

    def _keeps_component(self, component: Component) -> bool:
        """Whether a component is a scalar that no iteration changes."""
        storage, root = component_storage(component, self.scope), root_of(component)
        symbol = None if root is None else self.scope.lookup(root)
        if storage is None or root is None or symbol is None or "volatile" in symbol.attrs:
            return False
        if not is_scalar(component, self.scope) or self.footprint.may_write(storage):
            return False
        return not self._is_changed_unseen(root) and not self._is_kept_by_mpi(root)

    def _defined(self, name: str, storage: str, number: int, depth: int) -> Expr | None:
        """The value that the one definition of an integer variable in the loop gives it before
        statement ``number``, in every iteration."""
        for place, node in enumerate(self.loop.body[:number]):
            if not isinstance(node, Leaf) or not isinstance(node.what, Assign):
                continue
            target, value = node.what.target, node.what.value
            if not isinstance(target, Ref) or target.name != name or target.args is not None:
                continue
            others = (leaf for leaf in leaves(self.loop) if leaf is not node)
            if any(storage in self.facts.footprint(leaf).written() for leaf in others):
                return None
            around = Surroundings(self.scope)
            if {base_of(value, around), base_of(target, around)} != {"integer"}:
                return None
            found = self._value(value, place, depth + 1)
            return None if found is None else _in_parentheses(found)
        return None

    def _keeps_shape(self, name: str) -> bool:
        """Whether no iteration gives an array another shape."""
        symbol = self.scope.lookup(name)
        if symbol is None or not symbol.origin.is_variable or name in self.facts.values.renamed:
            return False
        writes = self.footprint.of(storage_of(name, self.scope))
        written = (access for access in writes if access.writes)
        return not self._is_changed_unseen(name) and keeps_shape(name, written, self.scope)

    def _is_kept_by_mpi(self, name: str) -> bool:
        """Whether a statement of the unit may give MPI the address of a variable, which MPI may
        define in another statement: ``call MPI_Recv_init(n, 1, ...)``."""
        return any(name in _kept(leaf, self.scope) for leaf in self._all_leaves())

    def _all_leaves(self) -> Iterator[Leaf]:
        for node in self.facts.unit.body:
            yield from leaves(node)

    def _is_changed_unseen(self, name: str) -> bool:
        return self.unseen and self.facts.values.changed_unseen(name)


def _kept(leaf: Leaf, scope: Scope) -> frozenset[str]:
    """The names in the buffers that MPI keeps behind a statement."""
    call = None if leaf.call is None else mpi_call(leaf.call, scope)
    if call is None or not _KEEPING & set(call.args):
        return frozenset()
    buffers = (p.name for p in call.procedure.parameters if p.kind == "BUFFER")
    given = (call.args[one] for one in buffers if one in call.args)
    return frozenset(name for arg in given for name in _named_as_buffer(arg, scope))


def _named_as_buffer(arg: Arg, scope: Scope) -> frozenset[str]:
    """The variable that a buffer is part of: subscripts are evaluated at the call."""
    root = root_of(arg)
    symbol = None if root is None else scope.lookup(root)
    part = isinstance(arg, Component) or (symbol is not None and symbol.dims is not None)
    return frozenset({root}) if root is not None and part else names_in(arg)


def _in_parentheses(expr: Expr) -> Expr:
    return Op("()", (expr,)) if isinstance(expr, Op) and expr.op != "()" else expr


__all__ = ["UNSEEN", "LoopInvariants"]
