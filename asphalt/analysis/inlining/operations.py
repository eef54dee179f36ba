"""Whether operators and assignments mean in the caller what they mean in the procedure.

The interfaces that are accessible in a unit define its operations on derived types, its defined
operators, and its assignments between types (F2018 10.1.6, 10.2.1.4).
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.defined_operations import may_be_derived
from asphalt.analysis.call_graph.operators import definitions_visible, type_class
from asphalt.analysis.inlining.codes import MEANING, RefusedError
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Arg, Op, OpaqueExpr, walk
from asphalt.ir.stmt import Assign
from asphalt.ir.tree import Node, leaves

_INTRINSIC = (".and.", ".or.", ".not.", ".eqv.", ".neqv.")


def check_operations(body: tuple[Node, ...], callee: Scope, caller: Scope) -> None:
    """Check the operators and the assignments of some statements of ``callee``.

    Raises:
        RefusedError: one of them may be a procedure, in one of the two units.
    """
    if not definitions_visible(callee) and not definitions_visible(caller):
        return
    for operation, operands in _operations(body):
        classes = {type_class(operand, callee) for operand in operands} - {None}
        own = operation.startswith(".") and operation not in _INTRINSIC
        derived = any(
            isinstance(operand, OpaqueExpr)
            or (type_class(operand, callee) is None and may_be_derived(operand, callee))
            for operand in operands
        )
        if own or derived or len(classes) > 1:
            raise RefusedError(MEANING, f"{operation} may be a procedure in one of the two units")


def _operations(body: tuple[Node, ...]) -> Iterator[tuple[str, tuple[Arg, ...]]]:
    """All operations and assignments, each with its operands."""
    for node in body:
        for leaf in leaves(node):
            for what in actions(leaf.what):
                if isinstance(what, Assign) and not what.pointer:
                    yield "=", (what.target, what.value)
                for expr in expressions_of(what):
                    for part in walk(expr):
                        if isinstance(part, Op) and part.op != "()":
                            yield part.op, part.operands
                        elif isinstance(part, OpaqueExpr):
                            yield part.text, (part,)
