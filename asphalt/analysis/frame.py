"""What integer expressions are worth while some variables change.

A *frame* is a part of a unit in which certain storages may be written; inside of it an expression
has a value that sets can be described with only where it is made of the variables of the loops
around it and of what does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asphalt.analysis.algebra import Poly
from asphalt.analysis.intrinsics import is_inquiry
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.shapes import Shape, shape_of
from asphalt.analysis.symbols import Scope
from asphalt.analysis.values import Values
from asphalt.ir.expr import Component, Expr, OpaqueExpr, Ref, walk
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf


def loop_variable(loop: Do) -> str | None:
    """The folded variable of a counted DO loop."""
    head = loop.head.what
    if isinstance(head, DoHead) and head.kind == "count" and isinstance(head.var, Ref):
        return head.var.name
    return None


@dataclass(frozen=True, slots=True)
class Frame:
    """The values of a unit, and the storages that may be written where they are asked for."""

    values: Values
    changing: frozenset[str]

    @property
    def scope(self) -> Scope:
        """The scope of the unit."""
        return self.values.scope

    def value(self, expr: Expr, at: Leaf, loops: Iterable[Do]) -> Poly | None:
        """The value of an expression at a statement inside ``loops``: a polynomial over their
        variables and over what does not change in the frame; None if anything else is in it."""
        variables = {loop_variable(loop) for loop in loops}
        poly = self.values.polynomial(expr, at)
        scope = self.scope
        for atom in poly.atoms:
            if isinstance(atom, Ref) and atom.args is None and atom.name in variables:
                continue
            for part in walk(atom):
                if isinstance(part, OpaqueExpr | Component):
                    return None
                if not isinstance(part, Ref):
                    continue
                if part.name in variables or storage_of(part.name, scope) in self.changing:
                    return None
                symbol = scope.lookup(part.name)
                whole = part.args is None and symbol is not None and symbol.dims is not None
                if whole and not _is_inquiry_argument(atom, part):
                    return None
        return poly


@dataclass(frozen=True, slots=True)
class Standpoint:
    """A statement inside loops, from which expressions of a unit are looked at."""

    frame: Frame
    at: Leaf
    loops: tuple[Do, ...]

    def value(self, expr: Expr) -> Poly | None:
        """The value of an expression here (see ``Frame.value``)."""
        return self.frame.value(expr, self.at, self.loops)

    def shape(self, name: str) -> Shape | None:
        """The shape of an array here; None: not known."""
        return shape_of(name, self.frame.scope, self.frame.values, self.at)

    @property
    def varying(self) -> frozenset[str]:
        """The variables of the loops."""
        return frozenset(name for loop in self.loops if (name := loop_variable(loop)) is not None)


def _is_inquiry_argument(atom: Expr, part: Ref) -> bool:
    """Whether ``part`` is what ``size(...)`` or another inquiry asks about in ``atom``."""
    return any(
        isinstance(outer, Ref) and is_inquiry(outer.name) and part in (outer.args or ())
        for outer in walk(atom)
    )
