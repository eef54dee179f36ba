"""What replaces the dummy arguments of a procedure at one of its calls (F2018 15.5.2).

A variable of the same type and shape replaces its dummy argument.  So does an array with other
bounds, if its leading extents are those of the dummy argument: element i of the dummy argument is
then element i + shift, and a whole dimension is one.  An expression is evaluated once, before the
call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from asphalt.analysis.effects.shared_storage import storages_in
from asphalt.analysis.inlining.array_arguments import ArrayArgument
from asphalt.analysis.inlining.call_context import CallContext
from asphalt.analysis.inlining.codes import ARGUMENT, TWICE, RefusedError
from asphalt.analysis.inlining.replacement import Renamed, Replacement, Standing
from asphalt.analysis.inlining.uses import ArrayUses
from asphalt.analysis.memory.accesses import ALIASED, may_be_one
from asphalt.analysis.memory.forward_substitution import constants_in, is_integer
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.storage import storage_of, storage_with_target
from asphalt.analysis.names.compile_time_errors import may_fail
from asphalt.analysis.names.designators import designator_name, object_named, symbol_named
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.analysis.names.type_equality import expression_key, symbol_key
from asphalt.analysis.symbolic.polynomials import folded_expr
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Keyword,
    Lit,
    Op,
    Ref,
    Section,
    root_name,
    walk,
)
from asphalt.ir.records import record
from asphalt.ir.tree import leaves

_SAME = ("allocatable", "target", "volatile", "asynchronous")
# no pointer reaches the variable through such a dummy (F2018 15.5.2.13)
_ACTUAL_ALONE = ("allocatable", "target")
_NUMBERS = ("integer", "real", "double_precision", "complex", "double_complex", "logical")


@record
class InlinedArguments:
    """``names``: the replacement of each dummy; ``before``: new variables with their values, by
    dummy; ``absent``: optional dummies without an actual argument; ``given``: those with one."""

    names: Mapping[str, Replacement]
    before: tuple[tuple[str, Expr], ...]
    given: frozenset[str]


@dataclass
class Passed:
    """The arguments of one call."""

    context: CallContext
    uses: ArrayUses
    _names: dict[str, Replacement] = field(default_factory=dict)
    _before: list[tuple[str, Expr]] = field(default_factory=list)

    def found(self) -> InlinedArguments:
        """The replacements of the dummies.

        Raises:
            RefusedError: an argument is not simply its dummy.
        """
        given = set()
        for dummy in self.context.summary.dummies:
            symbol = self.context.callee.lookup(dummy)
            if symbol is None or symbol.type is None or symbol.attrs & {"external", "procedure"}:
                raise RefusedError(ARGUMENT, f"{dummy} is not declared as a variable")
            actual = self.context.bound.get(dummy)
            passed_on = self._optional(actual)
            if "optional" in symbol.attrs:
                if actual is not None and passed_on is None:
                    given.add(dummy)
                elif actual is None and dummy not in self.uses.names:
                    continue
            if actual is None:
                raise RefusedError(ARGUMENT, f"nothing is passed for {dummy}")
            self._check_attributes(dummy, symbol, actual)
            if symbol.dims is None:
                self._scalar(dummy, symbol, actual)
            else:
                self._array(dummy, symbol, actual)
            kept = "optional" in symbol.attrs and isinstance(self._names.get(dummy), Renamed)
            if passed_on is not None and not kept:
                raise RefusedError(ARGUMENT, f"{passed_on}, passed for {dummy}, is optional")
        self._check_twice()
        return InlinedArguments(self._names, tuple(self._before), frozenset(given))

    def _optional(self, actual: Expr | None) -> str | None:
        """The optional dummy of the caller that is passed on, or part of it; None: it is none."""
        root = None if actual is None else root_name(actual)
        outer = None if root is None else self.context.caller.lookup(root)
        return outer.spelled if outer is not None and "optional" in outer.attrs else None

    def _check_attributes(self, dummy: str, symbol: Symbol, actual: Expr) -> None:
        if "pointer" in symbol.attrs or (symbol.type and symbol.type.base == "class"):
            raise RefusedError(ARGUMENT, f"{dummy} is a pointer or polymorphic")
        outer = self.context.caller.lookup(actual.name) if isinstance(actual, Ref) else None
        attrs = frozenset() if outer is None else outer.attrs
        for attr in _SAME:
            if attr in _ACTUAL_ALONE and attr not in symbol.attrs:
                continue
            if (attr in symbol.attrs) != (attr in attrs):
                raise RefusedError(
                    ARGUMENT,
                    f"only one of {dummy} and its actual argument has the attribute {attr}",
                )
        derived = symbol.type is not None and symbol.type.base == "type"
        if symbol.intent == "out" and (derived or "allocatable" in symbol.attrs):
            raise RefusedError(
                ARGUMENT, f"{dummy} has INTENT(OUT), which finalizes or deallocates it"
            )

    # scalars

    def _scalar(self, dummy: str, symbol: Symbol, actual: Expr) -> None:
        key = symbol_key(symbol, self.context.callee)
        written = dummy in self.context.summary.written or (
            self.context.unseen and symbol.intent != "in"
        )
        own = expression_key(actual, self.context.caller)
        if key is None or key != own:
            raise RefusedError(ARGUMENT, f"{dummy} does not have the type of its actual argument")
        if not is_scalar(actual, self.context.caller):
            raise RefusedError(ARGUMENT, f"{dummy} is a scalar, but an array may be passed")
        copied = "value" in symbol.attrs
        if isinstance(actual, Component) and is_object(actual, self.context.caller) and not copied:
            self._names[dummy] = Standing(actual)
            return
        if isinstance(actual, Ref) and self._is_variable(actual) and not copied:
            if actual.args is None:
                self._names[dummy] = Renamed(self.context.spelled(actual))
                return
            if self.context.stays(actual.args) and (written or self.context.stays((actual,))):
                self._names[dummy] = Standing(actual)
                return
        if written and not copied and isinstance(actual, Component):
            reason = "passed for it is a component of an element, or of a pointer's target"
            raise RefusedError(ARGUMENT, f"the procedure changes {dummy}, and what is {reason}")
        if written and not copied:
            raise RefusedError(ARGUMENT, f"the procedure changes {dummy}, but a value is passed")
        value = self._constant(actual)
        if value is not None and not copied and not self._may_fail(dummy):
            self._names[dummy] = Standing(value)
        elif self._is_next(actual) and self.context.stays((actual,)) and not copied:
            self._names[dummy] = Standing(Op("()", (actual,)))
        elif symbol.type is not None and symbol.type.base in _NUMBERS:
            if not copied and not self.context.stays((actual,)):
                message = f"the procedure changes an operand of what is passed for {dummy}"
                raise RefusedError(ARGUMENT, message)
            self._before.append((dummy, actual))
        else:
            raise RefusedError(ARGUMENT, f"the value for {dummy} cannot be stored in a variable")

    def _may_fail(self, dummy: str) -> bool:
        """Whether a compiler may reject a statement with a constant in place of a dummy, although
        no call with that constant executes it."""
        scope = self.context.callee
        statements = (leaf.what for node in scope.unit.body for leaf in leaves(node))
        return any(may_fail(what, dummy, scope) for what in statements)

    def _constant(self, actual: Expr) -> Expr | None:
        """The expression if it is an integer or logical constant."""
        match actual:
            case Lit(kind="integer" | "logical"):
                return actual
            case Op(op="-", operands=(Lit(kind="integer"),)):
                return actual
            case Op(op="+", operands=(Lit(kind="integer") as value,)):
                return value
            case Ref(args=None) if not self._is_variable(actual):
                symbol = self.context.caller.lookup(actual.name)
                scalar = symbol is not None and symbol.dims is None
                return actual if scalar else None
        return None

    def _is_next(self, actual: Expr) -> bool:
        """Whether an expression is a variable plus or minus a number, as cheap as a variable."""
        match actual:
            case Op(op="+" | "-", operands=(Ref(args=None) as ref, Lit(kind="integer", text=text))):
                return self._is_variable(ref) and "_" not in text
        return False

    def _is_variable(self, ref: Ref) -> bool:
        symbol = self.context.caller.lookup(ref.name)
        return (
            symbol is not None
            and symbol.origin.is_variable
            and (ref.args is None or symbol.dims is not None)
        )

    # arrays

    def _array(self, dummy: str, symbol: Symbol, actual: Expr) -> None:
        name = designator_name(actual)
        outer = None if name is None else symbol_named(name, self.context.caller)
        if not isinstance(actual, Ref | Component) or outer is None or outer.dims is None:
            raise RefusedError(ARGUMENT, f"{dummy} is an array, but {_passed(actual, outer)}")
        key = symbol_key(symbol, self.context.callee)
        if key is None or key != symbol_key(outer, self.context.caller):
            raise RefusedError(ARGUMENT, f"{dummy} does not have the type of {outer.spelled}")
        if "pointer" in outer.attrs:
            raise RefusedError(ARGUMENT, f"{outer.spelled} is a pointer")
        shape = self.context.here.shape(name or "")
        if shape is None:
            raise RefusedError(ARGUMENT, f"the shape of {outer.spelled} is not known")
        self._names[dummy] = ArrayArgument(
            self.context, self.uses, dummy, symbol, actual, shape
        ).found()

    # one variable under two names

    def _check_twice(self) -> None:
        roots: dict[str, list[str]] = {}
        objects: dict[object, list[str]] = {}
        for dummy, actual in self.context.bound.items():
            if isinstance(actual, Ref) and self._is_variable(actual):
                storage = storage_of(actual.name, self.context.caller)
                reached = storage_with_target(actual.name, self.context.caller)
                roots.setdefault(reached, []).append(dummy)
                own = self._declared_apart(actual.name) if storage == ALIASED else None
                objects.setdefault(own or storage, []).append(dummy)
        for dummies in objects.values():
            for one, other in _pairs(dummies):
                changed = {one, other} & set(self.context.summary.written)
                if changed and not _apart(
                    self.context.bound[one], self.context.bound[other], self.context.caller
                ):
                    name = names_of(self.context.bound[one])
                    raise RefusedError(TWICE, f"{name} is passed as {one} and as {other}")
        for shared in sorted(
            self.context.summary.shared_read | self.context.summary.shared_written, key=repr
        ):
            storages = storages_in(shared, self.context.caller)
            for storage, dummies in roots.items():
                if storages is not None and not any(may_be_one(storage, s) for s in storages):
                    continue
                for dummy in dummies:
                    if storages is None and self._is_own(self.context.bound[dummy]):
                        continue
                    if (
                        shared in self.context.summary.shared_written
                        or dummy in self.context.summary.written
                    ):
                        name = names_of(self.context.bound[dummy])
                        message = f"{name} is passed as {dummy}, and the procedure also names it"
                        raise RefusedError(TWICE, message)

    def _declared_apart(self, name: str) -> object:
        """What tells a variable that pointers may reach from all other variables; None: it may be
        one with another."""
        symbol = self.context.caller.lookup(name)
        if symbol is None or symbol.equivalenced or "pointer" in symbol.attrs:
            return None
        if name in self.context.caller.shadowed or "cray_pointer" in symbol.attrs:
            return None
        return symbol.identity if symbol.origin in (Origin.LOCAL, Origin.MODULE) else None

    def _is_own(self, actual: Expr) -> bool:
        symbol = self.context.caller.lookup(actual.name) if isinstance(actual, Ref) else None
        return symbol is not None and symbol.origin is Origin.LOCAL


def is_object(actual: Component, scope: Scope) -> bool:
    """Whether a component is always the same object: without subscripts and pointers."""
    found = object_named(designator_name(actual) or "", scope) if actual.args is None else None
    return found is not None and not found.symbol.attrs & {"pointer", "allocatable"}


def _pairs(names: list[str]) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(names):
        for other in names[number + 1 :]:
            yield one, other


def _apart(one: Expr, other: Expr, scope: Scope) -> bool:
    """Whether two elements of an array are certainly different."""
    if not isinstance(one, Ref) or not isinstance(other, Ref):
        return False
    if one.args is None or other.args is None or len(one.args) != len(other.args):
        return False
    return any(_differ(a, b, scope) for a, b in zip(one.args, other.args, strict=True))


def _differ(one: Arg, other: Arg, scope: Scope) -> bool:
    """Whether two subscripts are at a constant distance, such as ``n + 1`` and ``n + 2``."""
    if isinstance(one, Section | Keyword | AltReturn):
        return False
    if isinstance(other, Section | Keyword | AltReturn):
        return False
    if not is_integer(one, scope) or not is_integer(other, scope):
        return False
    values = [constants_in(folded_expr(e), scope) for e in (one, other)]
    if any(not isinstance(a, Ref) or a.args is not None for value in values for a in value.atoms):
        return False
    return (values[0] - values[1]).value not in (None, 0)


def names_of(expr: Expr) -> str:
    """The variable that is passed, as messages name it."""
    return next((p.spelled for p in walk(expr) if isinstance(p, Ref)), "a variable")


def _passed(actual: Expr, known: Symbol | None) -> str:
    """What is passed in place of an array whose designator names one object."""
    if not isinstance(actual, Ref | Component):
        return "an expression is passed, not a variable"
    if isinstance(actual, Component) and known is None:
        return "a component is passed that is not always the same object"
    return "no array is passed"
