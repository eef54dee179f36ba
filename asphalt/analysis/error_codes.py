"""Error codes of MPI calls that are always MPI_SUCCESS, so that their stores are in no order.

With MPI_ERRORS_ARE_FATAL, which communicators and windows have unless the program sets another
error handler (MPI-4.0 section 9.3), a call that fails does not return, and one that returns has
stored MPI_SUCCESS, which is 0 (section 9.4).  Stores of one value to one variable may change
places, whoever looks at it later.  A statement that reads the variable may change places with such
a store where the variable has this value before both; and what is to be done in case of an error is
never done.

The error handler of files is MPI_ERRORS_RETURN (section 14.7), and what a generalized request
returns is its user's: nothing is known of codes that may come from these.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property

from asphalt.analysis.access import Access
from asphalt.analysis.all_sends import is_closed
from asphalt.analysis.constants import constant
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.mpi_call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.mpi_table import Direction, Procedure, table
from asphalt.analysis.runtime_calls import RUNTIME_MODULES
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.analysis.values import COMPARISONS
from asphalt.ir.expr import Arg, Expr, Op, Ref, names_in
from asphalt.ir.stmt import Assign, Call, Guarded, Jump, JumpKind
from asphalt.ir.tree import Branch, Leaf, Node, leaves

SUCCESS = "mpi_success"
_SHARED = frozenset({"pointer", "target", "volatile", "asynchronous"})
_OWN_CODES = frozenset({"mpi_grequest_start", "mpi_register_datarep"})


class ErrorCodes:
    """Answers for one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        # with the statements, so that no others get their identities
        self._known: dict[tuple[int, str], tuple[Leaf, bool]] = {}
        self._idle: dict[int, tuple[Node, bool]] = {}

    @cached_property
    def why_others(self) -> str | None:
        """Why a call of the program may return another code; None: none does."""
        program = self.facts.scope.program
        for procedure in _with_other_codes():
            for name in (procedure.name, f"p{procedure.name}"):
                places = program.mentions(name)
                if any(place.chain[0].name not in RUNTIME_MODULES for place in places):
                    return f"errors may not be fatal: the program calls {procedure.spelled}"
        if not is_closed(self.facts.effects):
            return "errors may not be fatal: not all of the program is seen"
        return None

    def why_not(self, call: MpiCall) -> str | None:
        """Why a call may store something else than MPI_SUCCESS in the variable for its error code,
        or more than that; None: it does not."""
        if not isinstance(call.error, Ref) or not self._is_code_of(call):
            return "the variable is not only one for error codes"
        return self.why_others

    def only_stores_success(self, storage: str, done: Iterable[Access]) -> bool:
        """Whether accesses leave MPI_SUCCESS in a variable, or what it was, if errors are fatal."""
        return all(
            not access.writes or self._stores(access.leaf, storage)
            for access in done
            if access.storage == storage
        )

    def is_idle(self, node: Node) -> bool:
        """Whether a statement or construct does nothing but to find out that a code is MPI_SUCCESS:
        what it would do otherwise is never done, and does not leave the unit by a jump."""
        if id(node) not in self._idle:
            self._idle[id(node)] = node, self._finds_nothing(node)
        return self._idle[id(node)][1]

    def _finds_nothing(self, node: Node) -> bool:
        conditions = tested(node)
        head = next(leaves(node), None)
        if not conditions or head is None or any(_jumps(leaf) for leaf in leaves(node)):
            return False
        found = all(self._holds(condition, head) is False for condition in conditions)
        return found and self.why_others is None

    def _holds(self, condition: Arg, leaf: Leaf) -> bool | None:
        """Whether a condition holds, if errors are fatal; None: it is about something else."""
        match condition:
            case Op(op="()" | ".not." as op, operands=(inner,)):
                value = self._holds(inner, leaf)
                return value if value is None or op == "()" else not value
            case Op(op=".and." | ".or." as op, operands=operands):
                values = [self._holds(operand, leaf) for operand in operands]
                if None in values:
                    return None
                return all(values) if op == ".and." else any(values)
            case Op(op=op, operands=(one, other)) if op in COMPARISONS:
                mine, theirs = self._integer(one, leaf), self._integer(other, leaf)
                return None if mine is None or theirs is None else COMPARISONS[op](mine - theirs)
        return None

    def _integer(self, expr: Expr, leaf: Leaf) -> int | None:
        """The value of a constant, or of a code before a statement, if errors are fatal."""
        scope = self.facts.scope
        if mpi_constant(expr, scope) == SUCCESS:
            return 0
        if isinstance(expr, Ref) and self._is_code(expr):
            return 0 if self.is_success_before(leaf, storage_of(expr.name, scope)) else None
        return constant(expr, scope)

    def is_success_before(self, leaf: Leaf, storage: str) -> bool:
        """Whether a variable is MPI_SUCCESS whenever a statement is reached, if errors are
        fatal."""
        reaching = self.facts.reaching
        points = reaching.graph.of(leaf)
        return bool(points) and all(
            definition.leaf is not None and self._stores(definition.leaf, storage)
            for point in points
            for definition in reaching.at(point, storage)
        )

    def _stores(self, leaf: Leaf, storage: str) -> bool:
        """Whether all that a statement may store in a variable is MPI_SUCCESS, if errors are
        fatal."""
        key = id(leaf), storage
        if key not in self._known:
            self._known[key] = leaf, self._finds_stores(leaf, storage)
        return self._known[key][1]

    def _finds_stores(self, leaf: Leaf, storage: str) -> bool:
        what = leaf.what
        if isinstance(what, Guarded) and what.kind == "if":
            what = what.action
        scope = self.facts.scope
        match what:
            case Assign(target=Ref(args=None) as target, value=value, pointer=False):
                if not self._is_code(target) or storage_of(target.name, scope) != storage:
                    return False
                return mpi_constant(value, scope) == SUCCESS or constant(value, scope) == 0
            case Call():
                call = mpi_call(what, scope)
                if call is None or not isinstance(call.error, Ref):
                    return False
                own = storage_of(call.error.name, scope) == storage
                return own and self._is_code_of(call)
        return False

    def _is_code_of(self, call: MpiCall) -> bool:
        """Whether a call gives a variable its error code, and nothing else."""
        error = call.error
        if not isinstance(error, Ref) or not self._is_code(error) or _is_of_file(call.procedure):
            return False
        others = [a for name, a in call.args.items() if name != "ierror"]
        return call.binding not in ("runtime", "unknown") and not any(
            self._names(other, error) for other in others
        )

    def _names(self, expr: Expr, variable: Ref) -> bool:
        storages = {storage_of(name, self.facts.scope) for name in names_in(expr)}
        return storage_of(variable.name, self.facts.scope) in storages

    def _is_code(self, variable: Ref) -> bool:
        """Whether a variable is an integer that only statements access, and nothing of MPI that is
        in progress."""
        scope = self.facts.scope
        symbol = scope.lookup(variable.name)
        if variable.args is not None or variable.name in scope.shadowed:
            return False
        if symbol is None or not symbol.origin.is_variable or symbol.dims is not None:
            return False
        if symbol.equivalenced or symbol.attrs & _SHARED:
            return False
        integer = symbol.type is not None and symbol.type.base == "integer"
        lent = self.facts.reaching.accesses.is_lent(storage_of(variable.name, scope))
        return integer and not lent


def tested(node: Node) -> tuple[Arg, ...]:
    """The conditions of an IF statement or of a construct without ELSE; (): it is neither."""
    match node:
        case Leaf(what=Guarded(condition=condition, kind="if")):
            return (condition,)
        case Branch(kind="if", arms=arms):
            found = [getattr(arm.head.what, "exprs", ()) for arm in arms]
            return tuple(c for exprs in found for c in exprs) if all(found) else ()
    return ()


def _jumps(leaf: Leaf) -> bool:
    what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
    stops = (JumpKind.STOP, JumpKind.ERROR_STOP)
    return isinstance(what, Jump) and what.kind not in stops


@cache
def _with_other_codes() -> tuple[Procedure, ...]:
    """The procedures that give an error handler to something, or behind which codes of another
    origin may come."""
    return tuple(
        procedure
        for procedure in table().values()
        if procedure.name in _OWN_CODES
        or any(p.kind == "ERRHANDLER" and p.direction is Direction.IN for p in procedure.parameters)
        or (_is_of_file(procedure) and any(p.kind == "REQUEST" for p in procedure.parameters))
    )


def _is_of_file(procedure: Procedure) -> bool:
    return procedure.name.startswith("mpi_file_") or any(
        p.kind == "FILE" for p in procedure.parameters
    )
