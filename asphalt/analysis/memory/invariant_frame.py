"""The values of integer expressions while some variables change.

A *frame* is a part of a unit in which certain storages may be written.  Sets can describe the value
of an expression in it only if the expression consists of the variables of the enclosing loops and
of what is invariant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.memory.accesses import ALIASED, Access
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.ranks import gives_array
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.memory.storage import (
    component_storage,
    pointer_component,
    storage_of,
    target_named,
)
from asphalt.analysis.names.designators import designator_name, symbol_named
from asphalt.analysis.names.intrinsics import is_inquiry
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import (
    Arg,
    ArrayConstructor,
    Component,
    Expr,
    OpaqueExpr,
    Ref,
    Section,
    children,
    walk,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf

_ARRAYS = (OpaqueExpr, ArrayConstructor, Section)


def loop_variable(loop: Do) -> str | None:
    """The folded variable of a counted DO loop."""
    head = loop.head.what
    if isinstance(head, DoHead) and head.kind == "count" and isinstance(head.var, Ref):
        return head.var.name
    return None


@record
class Frame:
    """The values of a unit, and the storages that may be written in the frame.

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
        variables and over what is invariant in the frame.

        None if it contains anything else, or may be an array (a vector subscript denotes many
        elements).
        """
        variables = {loop_variable(loop) for loop in loops}
        poly = self.values.polynomial(expr, at)
        scope = self.scope
        for atom in poly.atoms:
            if isinstance(atom, Ref) and atom.args is None and atom.name in variables:
                continue
            for part in _evaluated(atom):
                if isinstance(part, _ARRAYS) or gives_array(part, scope):
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
        """Whether a component is invariant in the frame."""
        storage = component_storage(component, self.scope)
        if storage is None or self.writes is None:
            return False
        symbol = symbol_named(designator_name(component) or "", self.scope)
        scalar = symbol is not None and (symbol.dims is None or component.args is not None)
        return scalar and not any(write.touches(storage) for write in self.writes)

    def _keeps_bounds(self, asked: Ref | Component) -> bool:
        """Whether nothing in the frame may change the shape that an inquiry asks for."""
        name = designator_name(asked)
        if name is None:
            return False
        storage = storage_of(name, self.scope)
        if self.writes is None:
            return storage not in self.changing and isinstance(asked, Ref)
        return keeps_bounds(asked, name, storage, self.writes, self.scope)


@record
class Standpoint:
    """A statement inside loops at which the expressions of a unit are evaluated.

    ``products``: whoever asks takes a product with a loop variable for what it is (as
    ``AffineProblem`` does); else it is not affine.
    """

    frame: Frame
    at: Leaf
    loops: tuple[Do, ...]
    products: bool = False

    def value(self, expr: Expr) -> Poly | None:
        """The value of an expression here (see ``Frame.value``)."""
        return self.frame.value(expr, self.at, self.loops)

    def shape(self, name: str) -> Shape | None:
        """The shape of an array here; None: unknown."""
        return shape_of(name, self.frame.scope, self.frame.values, self.at)

    @property
    def varying(self) -> frozenset[str]:
        """The variables of the loops of which products are not affine."""
        if self.products:
            return frozenset()
        return frozenset(name for loop in self.loops if (name := loop_variable(loop)) is not None)


def keeps_bounds(
    array: Ref | Component, name: str, storage: str, accesses: Iterable[Access], scope: Scope
) -> bool:
    """Whether no access may give an array (``name``: its designator) another shape, or another
    place.

    Elements may be written.  What may have a second name changes its shape by its own name only: a
    pointer that is a variable, or in a structure to which nothing points, is not a target.
    """
    writes = [access for access in accesses if access.writes]
    if storage != ALIASED:
        return not any(w.touches(storage) and w.subscripts is None for w in writes)
    if isinstance(array, Component):
        own = pointer_component(array, scope)
        if own is None or any(w.touches(own[1]) for w in writes):
            return False
    symbol, target = symbol_named(name, scope), target_named(name, scope)
    if symbol is not None and not symbol.attrs & {"allocatable", "pointer"}:
        return True
    if target is not None:
        return not any(w.object == f"{ALIASED}%{target}" and w.inside is None for w in writes)
    return not any(w.named == name and w.inside is None for w in writes)


def _evaluated(expr: Arg) -> Iterator[Arg]:
    """The parts of an expression whose value is used: not the argument of an inquiry, and not the
    structure of a component."""
    yield expr
    for part in children(expr):
        structure = isinstance(expr, Component) and part is expr.base
        if structure and isinstance(part, Ref | Component) and part.args is None:
            continue
        if part not in _asked_about_by(expr):
            yield from _evaluated(part)


def _asked_about(expr: Arg) -> Iterator[Ref | Component]:
    """The arguments of the inquiries in an expression."""
    for part in walk(expr):
        yield from _asked_about_by(part)


def _asked_about_by(expr: Arg) -> tuple[Ref | Component, ...]:
    if not isinstance(expr, Ref) or not is_inquiry(expr.name):
        return ()
    whole = (arg for arg in expr.args or () if isinstance(arg, Ref | Component))
    return tuple(arg for arg in whole if arg.args is None)[:1]
