"""The values of integer variables of one unit: forward substitution.

A variable may be replaced by the expression of its definition if

- that assignment is its only definition,
- it is certainly executed before, and
- nothing in the expression changes afterwards.

A local variable whose only definition is a constant has that value wherever it is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from asphalt.analysis.call_graph.component_definitions import may_define
from asphalt.analysis.call_graph.values_left import Left, value_left
from asphalt.analysis.control_flow.forward_jumps import forward_jumps
from asphalt.analysis.memory.accesses import Access, EffectKind, Footprint, NameSemantics
from asphalt.analysis.memory.inquiries import keeps_shape, without_inquiries
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.memory.storage import component_storage, storage_of
from asphalt.analysis.names.designators import (
    designator,
    designator_name,
    designators_in,
    symbol_named,
)
from asphalt.analysis.names.host_association import is_text_missing, named_inside
from asphalt.analysis.names.intrinsics import is_inquiry, is_pure_function
from asphalt.analysis.names.references import given_other_names
from asphalt.analysis.names.scopes import Origin, Scope, Symbol, constant
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Arg, Component, Expr, Keyword, Lit, Op, Ref, Section, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, Call
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves

_INTEGER_FUNCTIONS = frozenset(
    {"mod", "modulo", "min", "max", "min0", "max0", "abs", "iabs", "size", "lbound", "ubound"}
)
_VALUE_FUNCTIONS = _INTEGER_FUNCTIONS - {"size", "lbound", "ubound"} | {"merge"}
COMPARISONS: Mapping[str, Callable[[int], bool]] = {
    "==": lambda d: d == 0,
    "/=": lambda d: d != 0,
    "<": lambda d: d < 0,
    "<=": lambda d: d <= 0,
    ">": lambda d: d > 0,
    ">=": lambda d: d >= 0,
}
"""The comparison operators, as predicates on the difference of two integers."""
_ELSEWHERE = (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE, EffectKind.STATE)


@record
class _Place:
    """A statement: its position in the text of the unit, and the loops around it (of the head of a
    loop, with this one)."""

    position: int
    loops: tuple[Do, ...]
    path: tuple[int, ...]

    @property
    def outermost_loop(self) -> Do | None:
        return self.loops[0] if self.loops else None


def constants_in(expr: Expr, scope: Scope) -> Poly:
    """The polynomial of an expression of a unit with only named constants replaced."""
    return poly(expr, lambda part: _constant(part, scope))


def _constant(part: Expr, scope: Scope) -> Expr | None:
    if isinstance(part, Ref) and part.args is None:
        value = constant(part, scope)
        return None if value is None else Lit("integer", str(value))
    return None


class Values:
    """The integer values of one unit."""

    def __init__(self, scope: Scope, names: NameSemantics) -> None:
        self.scope = scope
        self.footprint: Footprint = examine(scope.unit.body, names)
        self._places: dict[int, _Place] = {}
        self._position = 0
        self._index(scope.unit.body, (), ())
        self._writes: dict[str, list[Access]] = {}
        for access in self.footprint.accesses:
            if access.writes:
                self._writes.setdefault(access.storage, []).append(access)
        self._jumps = forward_jumps(scope.unit.body, self._places)
        self.backward_jumps = self._jumps is None
        self._anything_elsewhere = any(e.kind in _ELSEWHERE for e in self.footprint.effects)
        self.renamed = given_other_names(scope.unit.body)

    def _index(self, nodes: Iterable[Node], loops: tuple[Do, ...], path: tuple[int, ...]) -> None:
        for number, node in enumerate(nodes):
            here = (*path, number)
            match node:
                case Leaf():
                    self._place(node, loops, here)
                case Do(head=head, body=body, end=end):
                    inside = (*loops, node)
                    self._place(head, inside, here)
                    self._index(body, inside, here)
                    if end is not None:
                        self._place(end, inside, here)
                case Branch(arms=arms, end=end):
                    for which, arm in enumerate(arms):
                        self._place(arm.head, loops, (*here, which))
                        self._index(arm.body, loops, (*here, which))
                    self._place(end, loops, here)
                case Block(head=head, body=body, end=end):
                    self._place(head, loops, here)
                    self._index(body, loops, here)
                    self._place(end, loops, here)

    def _place(self, leaf: Leaf, loops: tuple[Do, ...], path: tuple[int, ...]) -> None:
        self._places[id(leaf)] = _Place(self._position, loops, path)
        self._position += 1

    def position(self, leaf: Leaf) -> int:
        """The position of a statement in the text of the unit."""
        return self._places[id(leaf)].position

    def written_in_unit(self, name: str) -> bool:
        """Whether the unit, or a procedure that it calls, may change what a designator names."""
        return self._writes_of_object(name) != ()

    def changed_unseen(self, name: str) -> bool:
        """Whether a statement or procedure that asphalt cannot analyse may change the variable."""
        return self._changed_elsewhere(name)

    def _changed_elsewhere(self, name: str) -> bool:
        symbol = self.scope.lookup(name)
        if symbol is None or name in self.renamed:
            return True
        if symbol.origin in (Origin.PARAMETER, Origin.MPI, Origin.INTRINSIC):
            return False
        if symbol.origin is Origin.DUMMY and symbol.intent == "in" and not symbol.equivalenced:
            return bool(symbol.attrs & {"pointer", "target", "volatile"})
        if symbol.attrs & {"pointer", "target", "volatile"} or symbol.equivalenced:
            return True
        if symbol.origin in (Origin.LOCAL, Origin.DUMMY, Origin.RESULT):
            unseen = self._anything_elsewhere or is_text_missing(self.scope)
            return unseen and named_inside(name, self.scope)
        return self._anything_elsewhere

    def polynomial(self, expr: Expr, at: Leaf) -> Poly:
        """The value of an integer expression just before the statement ``at``."""
        return poly(expr, lambda part: self._substitute(part, at))

    def constants(self, expr: Expr) -> Poly:
        """The polynomial of an expression with only named constants replaced."""
        return constants_in(expr, self.scope)

    def _substitute(self, part: Expr, at: Leaf) -> Expr | None:
        known = _constant(part, self.scope)
        if known is not None or not isinstance(part, Ref | Component):
            return known
        if isinstance(part, Ref) and part.args is not None:
            return self._merged(part, at)
        name = designator_name(part) if part.args is None else None
        return None if name is None else self._assigned(name, at)

    def _merged(self, ref: Ref, at: Leaf) -> Expr | None:
        """The argument that ``merge(a, b, mask)`` returns, where the mask compares known
        integers."""
        symbol = self.scope.lookup(ref.name)
        if ref.name != "merge" or symbol is None or symbol.origin is not Origin.INTRINSIC:
            return None
        match ref.args:
            case (Lit() | Ref() | Op() as true, Lit() | Ref() | Op() as false, Op() as mask):
                holds = self._holds(mask, at)
                return None if holds is None else (true if holds else false)
        return None

    def _holds(self, mask: Op, at: Leaf) -> bool | None:
        """Whether a comparison of integers holds; None: not known."""
        while mask.op == "()" and isinstance(mask.operands[0], Op):
            mask = mask.operands[0]
        if mask.op not in COMPARISONS or not all(is_integer(o, self.scope) for o in mask.operands):
            return None
        one, other = (self.polynomial(operand, at).value for operand in mask.operands)
        return None if one is None or other is None else COMPARISONS[mask.op](one - other)

    def _assigned(self, name: str, at: Leaf) -> Expr | None:
        symbol = symbol_named(name, self.scope)
        if symbol is None or not is_plain_integer(symbol):
            return None
        writes = self._writes_of_object(name)
        if writes is None or len(writes) != 1 or self.backward_jumps:
            return None
        leaf = writes[0].leaf
        what = leaf.what
        if isinstance(what, Call):
            return self._left_by_call(what, name, leaf, at) if "%" in name else None
        if not isinstance(what, Assign) or what.pointer or designator_name(what.target) != name:
            return None
        if not is_integer(what.value, self.scope):
            return None
        whole = isinstance(what.target, Ref)  # else the type may give an initial value
        if whole and self._is_constant(what.value) and _begins_undefined(symbol):
            return what.value
        here = self._places[id(leaf)]
        if not self.executed_before(leaf, at) or not self._stays(what.value, here):
            return None
        return what.value

    def _left_by_call(self, call: Call, name: str, leaf: Leaf, at: Leaf) -> Expr | None:
        """The value that the only call that defines a component gives to it."""
        if not self.executed_before(leaf, at) or not self._is_seen_as_argument_alone(name):
            return None
        left = value_left(call, name, self.scope)
        if left is None or left.exprs[0] is None or not self.stays_as_left(left, leaf):
            return None
        return left.exprs[0] if is_integer(left.exprs[0], self.scope) else None

    def _is_constant(self, value: Expr) -> bool:
        """Whether an expression is made of literals, named constants and functions of such."""
        for part in walk(value):
            symbol = self.scope.lookup(part.name) if isinstance(part, Ref) else None
            match part:
                case Lit() | Op():
                    continue
                case Ref(args=None) if symbol is not None and symbol.origin is Origin.PARAMETER:
                    continue
                case Ref(name=name, args=tuple()) if name in _VALUE_FUNCTIONS:
                    if _is_function(name, self.scope):
                        continue
            return False
        return True

    def maxima_of(self, array: str, at: Leaf) -> tuple[str, ...]:
        """The variables that no element of the array with this designator exceeds at a statement:
        its MAXVAL is their only definition, and it stays as it was then."""
        found = self._maxima.get(array, ())
        return tuple(
            name
            for name, leaf, value in found
            if self.executed_before(leaf, at) and self._stays(value, self._places[id(leaf)])
        )

    @cached_property
    def _maxima(self) -> dict[str, list[tuple[str, Leaf, Expr]]]:
        """For each array, the integers whose only definition is its MAXVAL."""
        found: dict[str, list[tuple[str, Leaf, Expr]]] = {}
        for writes in self._writes.values():
            match writes[0].leaf.what:
                case Assign(
                    target=Ref(name=name, args=None),
                    value=Ref(name="maxval", args=(Ref() | Component() as array,)) as value,
                    pointer=False,
                ) if len(writes) == 1 and array.args is None and _is_function("maxval", self.scope):
                    symbol, of = symbol_named(name, self.scope), designator_name(array)
                    if symbol is None or of is None or not is_plain_integer(symbol):
                        continue
                    if not self._changed_elsewhere(name) and is_integer(array, self.scope):
                        found.setdefault(of, []).append((name, writes[0].leaf, value))
        return found

    def executed_before(self, leaf: Leaf, at: Leaf) -> bool:
        """Whether ``leaf`` is executed on every path to ``at``."""
        here, there = self._places[id(leaf)], self._places[id(at)]
        parent = here.path[:-1]
        if there.path[: len(parent)] != parent or self._jumps is None:
            return False
        skips = (source < here.position < to <= there.position for source, to in self._jumps)
        return here.position < there.position and not any(skips)

    def _stays(self, value: Arg, defined: _Place, by: Leaf | None = None) -> bool:
        """Whether nothing in ``value`` changes behind its assignment, but by ``by``."""
        value, asked = without_inquiries(value, self.scope)
        if not all(self._keeps_shape(array, defined) for array in asked):
            return False
        for name in designators_in(value):
            if _is_function(name, self.scope):
                continue
            writes = self._writes_of_object(name)
            if writes is None:
                return False
            later = [access for access in writes if self._may_follow(access, defined)]
            if any(access.leaf is not by or defined.loops for access in later):
                return False
        return True

    def _may_follow(self, access: Access, defined: _Place) -> bool:
        place, around = self._places[id(access.leaf)], defined.outermost_loop
        same_loop = around is not None and place.outermost_loop is around
        return place.position >= defined.position or same_loop

    def _keeps_shape(self, array: str, defined: _Place) -> bool:
        """Whether nothing behind a place may give an array another shape."""
        writes = self._writes.get(storage_of(array, self.scope), ())
        later = (write for write in writes if self._may_follow(write, defined))
        return not self._changed_elsewhere(array) and keeps_shape(array, later, self.scope)

    def _writes_of_object(self, name: str) -> tuple[Access, ...] | None:
        """Every access that may write an object of this designator; None: some are not seen."""
        if self._changed_elsewhere(name.split("%")[0]):
            return None
        if "%" not in name:
            return tuple(self._writes.get(storage_of(name, self.scope), ()))
        part = designator(name)
        storage = component_storage(part, self.scope) if isinstance(part, Component) else None
        if storage is None:
            return None
        return tuple(a for a in self.writes_of(storage) if not self._passes_by(a, name))

    def _passes_by(self, access: Access, name: str) -> bool:
        """Whether an access is that of a call to which a structure is passed, and the procedure
        does not define the component of this designator."""
        what = access.leaf.action
        if not isinstance(what, Call) or not self._is_seen_as_argument_alone(name):
            return False
        return not may_define(what, name, self.scope)

    def _is_seen_as_argument_alone(self, name: str) -> bool:
        """Whether called procedures have access to a variable only where it is passed to them."""
        root = name.split("%")[0]
        symbol = self.scope.lookup(root)
        own = symbol is not None and symbol.origin in (Origin.LOCAL, Origin.DUMMY)
        return own and not named_inside(root, self.scope)

    def set_in_iteration(self, name: str, at: Leaf) -> Leaf | None:
        """The statement that gave a scalar the value that it has at ``at``, in the same iteration
        of all loops around that statement; None: not known."""
        if self._changed_elsewhere(name) or self.backward_jumps or id(at) not in self._places:
            return None
        writes = self._writes.get(storage_of(name, self.scope), [])
        before = [write.leaf for write in writes if self.executed_before(write.leaf, at)]
        if not before:
            return None
        setting = max(before, key=self.position)
        return setting if self.keeps_between(name, setting, at) else None

    def keeps_between(self, name: str, leaf: Leaf, at: Leaf) -> bool:
        """Whether a variable keeps its value from behind ``leaf`` to ``at``, which comes later in
        the same iteration of all loops around ``leaf``."""
        *parent, first = self._places[id(leaf)].path
        level = len(parent)
        end = self._places[id(at)].path[level]
        paths = (
            self._places[id(write.leaf)].path
            for write in self._writes.get(storage_of(name, self.scope), ())
        )
        return not self._changed_elsewhere(name) and not any(
            list(path[:level]) == parent and first < path[level] <= end for path in paths
        )

    def path(self, leaf: Leaf) -> tuple[int, ...]:
        """Where a statement stands: its number in the list of statements around it, behind that of
        each construct around.  The head of a construct stands where the construct does."""
        return self._places[id(leaf)].path

    def all_writes(self, name: str) -> list[Leaf] | None:
        """The statements that may change a scalar; None: they are not known, or not in order."""
        if self._changed_elsewhere(name) or self._jumps != ():
            return None
        return [w.leaf for w in self._writes.get(storage_of(name, self.scope), ())]

    def may_jump(self, loop: Do) -> bool:
        """Whether something in a loop may leave it, or the rest of an iteration out."""
        own = {id(leaf) for leaf in leaves(loop)}
        return any(
            effect.kind is EffectKind.JUMP and id(effect.leaf) in own
            for effect in self.footprint.effects
        )

    def loops_around(self, leaf: Leaf) -> tuple[Do, ...]:
        """The loops around a statement in the unit; of the head of a loop, with this one."""
        return self._places[id(leaf)].loops

    def unchanged_until(self, names: Iterable[str], allocation: Leaf) -> bool:
        """Whether none of the objects with these designators is defined after the statement
        ``allocation``."""
        if self.backward_jumps:
            return False
        place = self._places[id(allocation)]
        return all(self._stays(designator(name), place) for name in names)

    def stays_as_left(self, left: Left, leaf: Leaf) -> bool:
        """Whether the values that a statement leaves behind do not change later."""
        if self.backward_jumps:
            return False
        place = self._places[id(leaf)]
        fixed = (self._stays(designator(name), place) for name in left.fixed(self.scope))
        passed = (self._stays(designator(name), place, leaf) for name in left.passed)
        return all(fixed) and all(passed)

    def writes_of(self, storage: str) -> tuple[Access, ...]:
        """Every access of the unit that may write a storage, or a component of one."""
        root = storage.split("%")[0]
        return tuple(a for a in self._writes.get(root, ()) if a.touches(storage))


def is_plain_integer(symbol: Symbol) -> bool:
    """Whether a variable is a local integer scalar."""
    return (
        symbol.origin is Origin.LOCAL
        and symbol.dims is None
        and symbol.type is not None
        and symbol.type.base == "integer"
    )


def _begins_undefined(symbol: Symbol) -> bool:
    """Whether a local variable is undefined before its first definition in the unit."""
    return symbol.initial is None and not symbol.attrs & {"save", "data"}


def _is_function(name: str, scope: Scope) -> bool:
    symbol = scope.lookup(name)
    return symbol is not None and symbol.origin is Origin.INTRINSIC


def is_integer(expr: Arg, scope: Scope) -> bool:
    """Whether an expression is certainly of integer type and references no function of the user."""
    match expr:
        case Lit(kind=kind):
            return kind == "integer"
        case Ref(name=name, args=args):
            symbol = scope.lookup(name)
            if symbol is None:
                return False
            if symbol.origin is Origin.INTRINSIC:
                if name == "merge" and args is not None and len(args) == 3:
                    return all(is_integer(a, scope) for a in args[:2])
                if name not in _INTEGER_FUNCTIONS or not is_pure_function(name):
                    return False
                return is_inquiry(name) or all(is_integer(a, scope) for a in args or ())
            if args is not None and symbol.dims is None:
                return False
            typed = symbol.type is not None and symbol.type.base == "integer"
            return typed and all(is_integer(a, scope) for a in args or ())
        case Component(args=None):
            part = symbol_named(designator_name(expr) or "", scope)
            return part is not None and part.type is not None and part.type.base == "integer"
        case Op(op=op, operands=operands):
            return op in ("()", "+", "-", "*", "/") and all(is_integer(o, scope) for o in operands)
        case Keyword(value=value):
            return is_integer(value, scope)
        case Section():
            return False
    return False
