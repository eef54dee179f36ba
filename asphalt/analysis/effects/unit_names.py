"""The names of one unit as its declarations and the called procedures define them."""

from __future__ import annotations

from collections.abc import Callable
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
)
from asphalt.analysis.names.designators import may_be_function, may_be_resized
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Component, Expr, Op, Ref
from asphalt.ir.stmt import Assign, Call, What
from asphalt.ir.tree import Leaf


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

    def component(self, component: Component) -> str | None:
        return component_storage(component, self.scope)

    def part(self, component: Component) -> str | None:
        return part_storage(component, self.scope)

    def pointer(self, component: Component) -> tuple[str, str] | None:
        return pointer_component(component, self.scope)

    def call(self, call: Call) -> CallEffect:
        return self.call_effect(call, self.scope)

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
