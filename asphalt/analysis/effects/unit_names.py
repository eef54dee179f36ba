"""The names of one unit as its declarations and the called procedures define them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from asphalt.analysis.call_graph.defined_operations import may_be_derived, may_finalize
from asphalt.analysis.call_graph.operators import (
    finalizers_visible,
    is_intrinsic_assignment,
    is_intrinsic_operation,
)
from asphalt.analysis.memory.accesses import CallEffect, NameKind, NameSemantics, Statement
from asphalt.analysis.memory.storage import (
    component_storage,
    name_kind,
    part_storage,
    pointer_component,
    storage_of,
    target_of,
)
from asphalt.analysis.names.designators import may_be_function, may_be_resized
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import AltReturn, Component, Expr, Keyword, Op, Ref, Section
from asphalt.ir.mapped import NotMappedError, mapped_expr
from asphalt.ir.stmt import Assign, Call, StatementFunction, What
from asphalt.ir.tree import Leaf, leaves

_DEPTH = 8  # statement functions in each other


@dataclass(frozen=True, slots=True, eq=False)
class UnitNames(NameSemantics):
    """The names of the unit of ``scope``.

    ``call_effect`` says what a call does in terms of a scope (``Effects.call``).  ``statements``:
    what statements do; None: ``call_effect`` does not say the last word yet.
    """

    scope: Scope
    call_effect: Callable[[Call, Scope], CallEffect]
    statements: dict[int, Statement] | None = None

    def kind(self, name: str, listed: bool) -> NameKind:
        return name_kind(name, listed, self.scope)

    def storage(self, name: str) -> str:
        return storage_of(name, self.scope)

    def target(self, designator: Ref | Component) -> str | None:
        return target_of(designator, self.scope)

    def component(self, component: Component) -> str | None:
        return component_storage(component, self.scope)

    def part(self, component: Component) -> str | None:
        return part_storage(component, self.scope)

    def pointer(self, component: Component) -> tuple[str, str] | None:
        return pointer_component(component, self.scope)

    def call(self, call: Call) -> CallEffect:
        return self.call_effect(call, self.scope)

    def written_out(self, reference: Ref) -> Expr | None:
        return statement_function_written_out(reference, self.scope)

    def is_intrinsic_operation(self, op: Op) -> bool:
        return is_intrinsic_operation(op, self.scope)

    def is_intrinsic_assignment(self, assign: Assign) -> bool:
        scope = self.scope
        return is_intrinsic_assignment(assign, scope) and not may_finalize(assign, scope)

    def may_finalize(self, item: Expr) -> bool:
        return finalizers_visible(self.scope) and may_be_derived(item, self.scope)

    def may_be_function(self, component: Component) -> bool:
        return may_be_function(component, self.scope)

    def may_be_resized(self, designator: Ref | Component) -> bool:
        return may_be_resized(designator, self.scope)

    def effective_statement(self, what: What, leaf: Leaf) -> What:
        return what


def statement_function_written_out(reference: Ref, scope: Scope) -> Expr | None:
    """The value of a reference to a statement function of a unit: its expression, with the actual
    arguments for the dummies, and the statement functions in it written out likewise (F2018
    15.6.4); None: it is none, or one of a file that the unit includes."""
    symbol = scope.lookup(reference.name)
    if symbol is None or symbol.origin is not Origin.STATEMENT_FUNCTION or reference.args is None:
        return None
    return _written_out(reference, scope, _DEPTH) if symbol.home is scope else None


def _written_out(reference: Ref, scope: Scope, depth: int) -> Expr | None:
    found = next((one for one in _functions(scope) if one.name == reference.name), None)
    args = reference.args or ()
    if found is None or not depth or len(args) != len(found.args):
        return None
    actuals: dict[str, Expr] = {}
    for dummy, arg in zip(found.args, args, strict=True):
        if isinstance(arg, Keyword | Section | AltReturn):
            return None
        actuals[dummy] = arg
    complete = True

    def change(part: Ref) -> Expr | None:
        nonlocal complete
        if part.args is None:
            return actuals.get(part.name)
        symbol = scope.lookup(part.name)
        if symbol is None or symbol.origin is not Origin.STATEMENT_FUNCTION:
            return None
        value = _written_out(part, scope, depth - 1)
        complete = complete and value is not None
        return value

    try:
        value = mapped_expr(found.value, change)
    except NotMappedError:
        return None
    return value if complete else None


def _functions(scope: Scope) -> Iterator[StatementFunction]:
    for node in scope.unit.spec:
        for leaf in leaves(node):
            if isinstance(leaf.what, StatementFunction):
                yield leaf.what
