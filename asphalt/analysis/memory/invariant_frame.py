"""What integer expressions are worth while some variables change.

A *frame* is a part of a unit in which certain storages may be written; inside of it an expression
has a value that sets can be described with only where it is made of the variables of the loops
around it and of what does not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from asphalt.analysis.memory.accesses import ALIASED, Access
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.shapes import Shape, gives_array, shape_of
from asphalt.analysis.memory.storage import component_storage, pointer_component, storage_of
from asphalt.analysis.names.designators import designator_name, symbol_named
from asphalt.analysis.names.intrinsics import is_inquiry
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Arg, Component, Expr, OpaqueExpr, Ref, Section, children, walk
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
    """The values of a unit, and the storages that may be written where they are asked for.

    ``writes``: the accesses that write them; None: not given, so that nothing is known of
    components.
    """

    values: Values
    changing: frozenset[str]
    writes: tuple[Access, ...] | None = None

    @property
    def scope(self) -> Scope:
        """The scope of the unit."""
        return self.values.scope

    def value(self, expr: Expr, at: Leaf, loops: Iterable[Do]) -> Poly | None:
        """The value of an expression at a statement inside ``loops``: a polynomial over their
        variables and over what does not change in the frame; None if anything else is in it, or if
        it may be an array (a vector subscript stands for many elements)."""
        variables = {loop_variable(loop) for loop in loops}
        poly = self.values.polynomial(expr, at)
        scope = self.scope
        for atom in poly.atoms:
            if isinstance(atom, Ref) and atom.args is None and atom.name in variables:
                continue
            for part in _evaluated(atom):
                if isinstance(part, OpaqueExpr | Section) or gives_array(part, scope):
                    return None
                if isinstance(part, Component) and not self._stays(part):
                    return None
                if not isinstance(part, Ref):
                    continue
                if part.name in variables or storage_of(part.name, scope) in self.changing:
                    return None
                symbol = scope.lookup(part.name)
                if part.args is None and symbol is not None and symbol.dims is not None:
                    return None
            if not all(self._keeps_bounds(asked) for asked in _asked_about(atom)):
                return None
        return poly

    def _stays(self, component: Component) -> bool:
        """Whether the value of a component is the same all through the frame."""
        storage = component_storage(component, self.scope)
        if storage is None or self.writes is None:
            return False
        symbol = symbol_named(designator_name(component) or "", self.scope)
        scalar = symbol is not None and (symbol.dims is None or component.args is not None)
        return scalar and not any(write.touches(storage) for write in self.writes)

    def _keeps_bounds(self, asked: Ref | Component) -> bool:
        """Whether nothing in the frame may give another shape to what an inquiry asks about."""
        name = designator_name(asked)
        if name is None:
            return False
        storage = storage_of(name, self.scope)
        if self.writes is None:
            return storage not in self.changing and isinstance(asked, Ref)
        return keeps_bounds(asked, name, storage, self.writes, self.scope)


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


def keeps_bounds(
    array: Ref | Component, name: str, storage: str, accesses: Iterable[Access], scope: Scope
) -> bool:
    """Whether no access may give another shape, or another place, to an array (``name``: its
    designator) that has one before them.

    Elements may be written.  What may have a second name changes its shape by its own name only:
    a pointer that is a variable, or in a structure that nothing points to, is no target.
    """
    writes = [access for access in accesses if access.writes]
    if storage != ALIASED:
        return not any(w.touches(storage) and w.subscripts is None for w in writes)
    if isinstance(array, Component):
        own = pointer_component(array, scope)
        if own is None or any(w.touches(own[1]) for w in writes):
            return False
    return not any(w.named == name and w.inside is None for w in writes)


def _evaluated(expr: Arg) -> Iterator[Arg]:
    """The parts of an expression whose value counts: not what an inquiry asks about, and not the
    structure that a component is part of."""
    yield expr
    for part in children(expr):
        structure = isinstance(expr, Component) and part is expr.base
        if structure and isinstance(part, Ref | Component) and part.args is None:
            continue
        if part not in _asked_about_by(expr):
            yield from _evaluated(part)


def _asked_about(expr: Arg) -> Iterator[Ref | Component]:
    """What inquiries in an expression ask about."""
    for part in walk(expr):
        yield from _asked_about_by(part)


def _asked_about_by(expr: Arg) -> tuple[Ref | Component, ...]:
    if not isinstance(expr, Ref) or not is_inquiry(expr.name):
        return ()
    whole = (arg for arg in expr.args or () if isinstance(arg, Ref | Component))
    return tuple(arg for arg in whole if arg.args is None)[:1]
