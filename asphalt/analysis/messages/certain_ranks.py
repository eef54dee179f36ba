"""Expressions that certainly are ranks, not MPI_PROC_NULL or MPI_ROOT: these are negative.

call MPI_Comm_rank(comm, me, ierr)          ! at least 0
call MPI_Comm_size(comm, np, ierr)          ! at least me + 1
up = mod(me + 1, np)
down = mod(me - 1 + np, np)
"""

from __future__ import annotations

from asphalt.analysis.control_flow.graph import ENTRY
from asphalt.analysis.data_flow.reaching_definitions import Definition
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.names.derived_types import may_begin_defined
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Arg, Expr, Lit, Op, Ref
from asphalt.ir.stmt import Assign, Call, DoHead
from asphalt.ir.tree import Leaf

_LEAST = {"mpi_comm_rank": ("rank", 0), "mpi_comm_size": ("size", 1)}


def is_rank(expr: Expr, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether an expression in a statement certainly is a rank."""
    if mpi_constant(expr, facts.scope) is not None:
        return False
    value = constants_in(expr, facts.scope).value
    if value is not None:
        return value >= 0
    if _intrinsic(expr, facts) == "modulo":
        return True
    point = facts.reaching.graph.action(leaf)
    least = None if point is None else _Least(facts).of(expr, leaf, point)
    return least is not None and least >= 0


def _intrinsic(expr: Arg, facts: UnitFacts) -> str | None:
    """The intrinsic function that is referenced; None: none is."""
    if not isinstance(expr, Ref) or expr.args is None:
        return None
    symbol = facts.scope.lookup(expr.name)
    known = symbol is None or symbol.origin is Origin.INTRINSIC
    return expr.name if known else None


class _Least:
    """The least values that integer expressions of a unit can have."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self._open: set[tuple[str, int]] = set()

    def of(self, expr: Arg, leaf: Leaf, point: int) -> int | None:
        """A number that the value in a statement is not less than; None: not known."""
        if not isinstance(expr, Ref | Lit | Op):
            return None
        value = self.facts.values.polynomial(expr, leaf)
        value = self._by_rank(value, point)
        total = 0
        for monomial, factor in value.terms:
            parts = [self._atom(atom, leaf, point) for atom in monomial]
            if monomial and (factor < 0 or any(part is None or part < 0 for part in parts)):
                return None
            least = factor
            for part in parts:
                least *= part or 0
            total += least
        return total

    def _by_rank(self, value: Poly, point: int) -> Poly:
        """A value in which each number of ranks is a rank and those from there on."""
        for size in value.atoms:
            others = [atom for atom in value.atoms if atom != size]
            rank = next((one for one in others if self._are_of_one(one, size, point)), None)
            if rank is None or value.coefficients(size).keys() - {0, 1}:
                continue
            factor = value.coefficients(size).get(1, Poly.constant(0))
            above = Poly.atom(rank) + Poly.constant(1) + Poly.atom(_REST)
            value = value + factor * (above - Poly.atom(size))
        return value

    def _are_of_one(self, rank: Expr, size: Expr, point: int) -> bool:
        """Whether two variables are the rank and the number of ranks in one communicator."""
        calls = [self._sole_call(one, point) for one in (rank, size)]
        names = [None if call is None else call.procedure.name for call in calls]
        if names != ["mpi_comm_rank", "mpi_comm_size"]:
            return False
        scope = self.facts.scope
        known = [mpi_constant(call.args["comm"], scope) for call in calls if call is not None]
        return known[0] is not None and known[0] == known[1]

    def _sole_call(self, variable: Expr, point: int) -> MpiCall | None:
        """The call that alone gives a variable its value."""
        if not isinstance(variable, Ref) or variable.args is not None:
            return None
        found = self._definitions(variable.name, point)
        return None if found is None or len(found) != 1 else self._call(found[0], variable.name)

    def _definitions(self, name: str, point: int) -> list[Definition] | None:
        """The definitions that a variable may have its value from; None: it may have another."""
        symbol = self.facts.scope.lookup(name)
        if symbol is None or symbol.origin is not Origin.LOCAL or symbol.dims is not None:
            return None
        if symbol.type is None or symbol.type.base != "integer":
            return None
        found = list(self.facts.reaching.at(point, self.facts.names.storage(name)))
        begins = [one for one in found if one.point == ENTRY or one.leaf is None]
        kept = "save" in symbol.attrs and self.facts.unit.kind != "program"
        if begins and (kept or symbol.initial is not None or may_begin_defined(symbol, ())):
            return None
        return [one for one in found if one not in begins]  # else it is undefined

    def _call(self, definition: Definition, name: str) -> MpiCall | None:
        """The call of MPI_COMM_RANK or MPI_COMM_SIZE that defines a variable."""
        what = self.facts.reaching.graph.points[definition.point].what
        call = mpi_call(what, self.facts.scope) if isinstance(what, Call) else None
        given = _LEAST.get("" if call is None else call.procedure.name)
        if call is None or given is None:
            return None
        result = call.args.get(given[0])
        return call if isinstance(result, Ref) and result.name == name else None

    def _atom(self, atom: Expr, leaf: Leaf, point: int) -> int | None:
        if atom == _REST:
            return 0
        match atom:
            case Op(op="/", operands=(dividend, divisor)):
                parts = [self.of(one, leaf, point) for one in (dividend, divisor)]
                return 0 if all(part is not None and part >= 0 for part in parts) else None
            case Ref(args=None, name=name):
                return self._variable(name, point)
            case Ref(args=tuple(args)):
                return self._function(_intrinsic(atom, self.facts), args, leaf, point)
        return None

    def _function(
        self, name: str | None, args: tuple[Arg, ...], leaf: Leaf, point: int
    ) -> int | None:
        match name:
            case "modulo" | "abs":
                return 0
            case "mod":
                least = self.of(args[0], leaf, point)
                return 0 if least is not None and least >= 0 else None
            case "max" | "min":
                known = [self.of(arg, leaf, point) for arg in args]
                numbers = [one for one in known if one is not None]
                if name == "min" and len(numbers) < len(known):
                    return None
                return max(numbers, default=None) if name == "max" else min(numbers, default=None)
            case "merge":
                known = [self.of(arg, leaf, point) for arg in args[:2]]
                numbers = [one for one in known if one is not None]
                return min(numbers) if len(numbers) == 2 else None
        return None

    def _variable(self, name: str, point: int) -> int | None:
        key = name, point
        if key in self._open:
            return None
        self._open.add(key)
        found = self._definitions(name, point)
        least = [self._defined(one, name) for one in found or ()]
        self._open.remove(key)
        known = [one for one in least if one is not None]
        return min(known, default=None) if len(known) == len(least) else None

    def _defined(self, definition: Definition, name: str) -> int | None:
        """The least value that a definition may give to a variable."""
        leaf, point = definition.leaf, definition.point
        call = self._call(definition, name)
        if call is not None:
            return _LEAST[call.procedure.name][1]
        match self.facts.reaching.graph.points[point].what:
            case Assign(target=Ref(name=target, args=None), value=value, pointer=False):
                return self.of(value, leaf, point) if target == name and leaf is not None else None
            case DoHead(var=Ref(name=var), first=first, step=step) if var == name:
                up = step is None or (constants_in(step, self.facts.scope).value or 0) > 0
                plain = up and first is not None and leaf is not None
                return self.of(first, leaf, point) if plain and first and leaf else None
        return None


_REST: Expr = Ref("ranks above", "ranks above")
