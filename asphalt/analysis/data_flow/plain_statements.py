"""Statements that evaluate expressions and assign to variables, without a procedure."""

from __future__ import annotations

from collections.abc import Collection

from asphalt.analysis.call_graph.operators import definitions_visible
from asphalt.analysis.control_flow.graph import Point, PointRole
from asphalt.analysis.memory.accesses import NameKind, NameSemantics
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Arg, Component, Expr, Op, Ref, Unstructured, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, DoHead, Guarded, Plain, What
from asphalt.support.identity_cache import IdentityCache

_KEPT = 8192
"""Statements: as many as the frontend keeps of those that it has interpreted."""
_READ = (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.PURE_FUNCTION, NameKind.INQUIRY)
_LOGICAL = (".and.", ".or.", ".not.", ".eqv.", ".neqv.")
Use = tuple[str, bool]
"""A name, and whether a list in parentheses follows it."""


@record
class PlainStatement:
    """The names of an assignment, of the head of a counted loop, or of a test, by their uses.

    ``read``: in expressions; ``assigned``: what gets a value.
    """

    read: frozenset[Use]
    assigned: frozenset[Use]


class PlainStatements:
    """The statements of one unit that call no procedure."""

    def __init__(self, scope: Scope, names: NameSemantics) -> None:
        self._scope = scope
        self._names = names
        self._intrinsic: bool | None = None  # whether all its operations are
        self._may: dict[tuple[Use, bool], bool] = {}

    def leaves_alone(self, point: Point, storages: Collection[str]) -> bool:
        """Whether the statement of a point is one, and assigns to none of some storages.  The
        names of the unit have their meaning at the point."""
        what = point.what
        if isinstance(what, Guarded) and point.role is PointRole.TEST:
            plain = _plain(what.condition)
        else:
            plain = None if what is None else _plain(what)
        if plain is None or not self._calls_nothing(plain):
            return False
        if isinstance(what, Assign) and not self._names.is_intrinsic_assignment(what):
            return False
        return not any(self._names.storage(name) in storages for name, _ in plain.assigned)

    def _calls_nothing(self, plain: PlainStatement) -> bool:
        if self._intrinsic is None:
            self._intrinsic = not definitions_visible(self._scope)
        uses = ((plain.read, False), (plain.assigned, True))
        return self._intrinsic and all(
            self._may_be(use, assigned) for own, assigned in uses for use in own
        )

    def _may_be(self, use: Use, assigned: bool) -> bool:
        key = use, assigned
        if key not in self._may:
            kind = self._names.kind(*use)
            self._may[key] = kind is NameKind.VARIABLE if assigned else kind in _READ
        return self._may[key]


def _plain_statement(what: What | Expr) -> PlainStatement | None:
    parts = _parts(what)
    if parts is None:
        return None
    target, values = parts
    read, assigned = set[Use](), set[Use]()
    if target is not None:
        if not isinstance(target, Ref):
            return None
        assigned.add((target.name, target.args is not None))
        values = (*values, *(target.args or ()))
    for value in values:
        for part in walk(value):
            if isinstance(part, Unstructured | Component):
                return None
            if isinstance(part, Op) and part.op[0] == "." and part.op not in _LOGICAL:
                return None
            if isinstance(part, Ref):
                read.add((part.name, part.args is not None))
    return PlainStatement(frozenset(read), frozenset(assigned))


def _parts(what: What | Expr) -> tuple[Expr | None, tuple[Arg, ...]] | None:
    """The variable that a statement defines, and the expressions that it evaluates."""
    match what:
        case Assign(target=target, value=value, pointer=False):
            return target, (value,)
        case ArmHead(kind="if" | "else_if" | "else", exprs=exprs):
            return None, exprs
        case DoHead(kind="count", var=var, first=first, last=last, step=step):
            return var, tuple(part for part in (first, last, step) if part is not None)
        case Plain():
            return None, ()
        case Ref() | Op():
            return None, (what,)
    return None


_plain: IdentityCache[What | Expr, PlainStatement | None] = IdentityCache(_plain_statement, _KEPT)
