"""The values of integer variables that the cost model may use; no proof rests on them.

A value is given by the user, or all calls of a procedure pass the same one for a dummy argument, or
a local variable has one definition, of known values:

    call relax(512, u)                       ! of relax(n, u), n is 512
    ...
    half = n/2                               ! 256
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from asphalt.analysis.call_graph.call_sites import MANY_UNITS
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.cost.trip_counts import TripCount
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.forward_substitution import constants_in, is_plain_integer
from asphalt.analysis.names.designators import designator_name, object_named
from asphalt.analysis.names.generic_names import generic_names
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.symbol import Origin, Symbol
from asphalt.config.sizes import Size
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.expr import Arg, Component, Expr, Lit, Op, Ref
from asphalt.ir.program import Located
from asphalt.ir.stmt import Assign, UnitHead
from asphalt.ir.tree import Leaf, Unit, leaves, once

Constants = dict[tuple[str, tuple[str, ...]], dict[str, int]]
"""What all calls of a procedure pass for its dummy arguments, by its file and its name and those of
its hosts."""


@dataclass
class Sizes:
    """The known values of variables.

    ``given``: by the user, one for each variable; those of one owner count first.  ``tree``,
    ``facts_of``: where calls are looked for, and what is known of units there, maybe of the
    same ones in another text of the program; None: nowhere.  ``constants``: what was found there,
    which is the same for all texts of a unit that is optimised.
    """

    given: tuple[Size, ...] = ()
    tree: Tree | None = None
    facts_of: Callable[[Located], UnitFacts] | None = None
    constants: Constants = field(default_factory=dict)
    _values: dict[tuple[int, str], tuple[Scope, int | None]] = field(default_factory=dict)
    _asked: list[tuple[Scope, dict[str, int | None]]] = field(default_factory=list)

    def in_numbers(self, expr: Expr, scope: Scope) -> Expr:
        """An expression of a unit with known values in place of variables."""
        match expr:
            case Ref(args=None) | Component(args=None):
                value = self._value(expr, scope)
                return expr if value is None else _literal(value)
            case Ref(args=tuple(args)):
                return replace(expr, args=tuple(self._argument(arg, scope) for arg in args))
            case Op(operands=operands):
                return replace(expr, operands=tuple(self.in_numbers(o, scope) for o in operands))
        return expr

    def trips(self, trips: TripCount | None, scope: Scope) -> TripCount | None:
        """A trip count with known values in place of variables."""
        return None if trips is None else replace(trips, count=self.in_numbers(trips.count, scope))

    def _argument(self, arg: Arg, scope: Scope) -> Arg:
        return self.in_numbers(arg, scope) if isinstance(arg, Ref | Component | Op) else arg

    def _value(self, variable: Ref | Component, scope: Scope) -> int | None:
        """The value of an integer variable; None: it is none, or has no known one."""
        name = designator_name(variable)
        if name is None:
            return None
        return self.value(name, scope)

    def value(self, name: str, scope: Scope) -> int | None:
        """The value of the integer variable with a designator; None: it is none, or has no known
        one."""
        key = id(scope), name
        if key not in self._values:
            self._values[key] = scope, None  # while one that depends on itself is looked at
            self._values[key] = scope, self._found(name, scope)
        found = self._values[key][1]
        for unit, asked in self._asked:
            if unit is scope:
                asked[name] = found
        return found

    @contextmanager
    def asked(self, scope: Scope) -> Iterator[dict[str, int | None]]:
        """Collect the values in a unit that are asked for until the end."""
        mine: dict[str, int | None] = {}
        self._asked.append((scope, mine))
        try:
            yield mine
        finally:
            self._asked.pop()

    def _found(self, name: str, scope: Scope) -> int | None:
        one = object_named(name, scope)
        root = scope.lookup(name.split("%")[0])
        if one is None or root is None or not is_integer_scalar(one.symbol):
            return None
        declared = "%".join((root.name, *one.path))
        own = [size for size in self.given if size.name == declared]
        for owner in (root.owner, None):
            for size in own:
                if size.owner == owner:
                    return size.value
        if root.origin is Origin.DUMMY and not one.path:
            return self._passed(scope.located).get(name)
        return self._assigned(name, scope) if is_plain_integer(one.symbol) else None

    def _assigned(self, name: str, scope: Scope) -> int | None:
        """The value of a local variable by its one definition; None: not known."""
        own = once(scope.unit, _assignments).get(name, ())
        known = self._known(own[0], scope) if len(own) == 1 else None
        if known is None or self.facts_of is None:
            return None
        facts = self.facts_of(scope.located)
        *_, last = (leaf for node in facts.unit.body for leaf in leaves(node))
        variable = Ref(name, name)  # other statements may define it, too
        value = facts.values.polynomial(variable, last).expression()
        return None if value == variable else self._known(value, scope)

    def _passed(self, procedure: Located) -> dict[str, int]:
        """The known values that all calls of a procedure pass, by dummy argument."""
        key = procedure.path, tuple(unit.name for unit in procedure.chain)
        if key not in self.constants:
            self.constants[key] = {}  # while a procedure that calls itself is looked at
            calls = list(self._calls(procedure))
            names = calls[0] if calls else {}
            self.constants[key] = {
                name: value
                for name, value in names.items()
                if value is not None and all(call.get(name) == value for call in calls)
            }
        return self.constants[key]

    def _calls(self, procedure: Located) -> Iterator[dict[str, int | None]]:
        """For each CALL statement of a procedure, the known values of its actual arguments."""
        head = None if procedure.unit.head is None else procedure.unit.head.what
        if self.tree is None or self.facts_of is None or not isinstance(head, UnitHead):
            return
        for name in (procedure.unit.name, *generic_names(procedure)):
            if self.tree.mention_count(name) > MANY_UNITS:
                continue
            for located in self.tree.mentions(name):
                if located.is_unread:
                    continue
                facts = self.facts_of(located)
                for leaf in (leaf for node in facts.unit.body for leaf in leaves(node)):
                    found = None if leaf.call is None else invoked(leaf.call, facts.scope)
                    if found is None or not _is_same(found[0], procedure):
                        continue
                    bound = bind(found[1].args, head.args) or {}
                    yield {
                        dummy: self._number(bound[dummy], leaf, facts) if dummy in bound else None
                        for dummy in head.args
                    }

    def _number(self, actual: Expr, leaf: Leaf, facts: UnitFacts) -> int | None:
        """The value of an actual argument of a statement; None: not known."""
        value = self._known(actual, facts.scope)
        if value is None:  # a variable may have another one at each statement
            value = self._known(facts.values.polynomial(actual, leaf).expression(), facts.scope)
        return value

    def _known(self, expr: Expr, scope: Scope) -> int | None:
        return constants_in(self.in_numbers(expr, scope), scope).value


def is_integer_scalar(symbol: Symbol) -> bool:
    """Whether a symbol is an integer variable that is no array."""
    type_ = symbol.type
    plain = symbol.origin.is_variable and symbol.dims is None
    return plain and type_ is not None and type_.base == "integer"


def _assignments(unit: Unit) -> dict[str, tuple[Expr, ...]]:
    """What the assignments of a unit give to scalar variables."""
    found: dict[str, tuple[Expr, ...]] = {}
    for leaf in (leaf for node in unit.body for leaf in leaves(node)):
        what = leaf.action
        if isinstance(what, Assign) and isinstance(what.target, Ref) and what.target.args is None:
            found[what.target.name] = (*found.get(what.target.name, ()), what.value)
    return found


def _is_same(one: Located, other: Located) -> bool:
    names = [tuple(unit.name for unit in each.chain) for each in (one, other)]
    return one.path == other.path and names[0] == names[1]


def _literal(value: int) -> Expr:
    number = Lit("integer", str(abs(value)))
    return number if value >= 0 else Op("()", (Op("-", (number,)),))
