"""Sizes that a step needs to be positive, checked by the compiler.

A proof may need a named constant to be positive.  Users may change the constant and build again
without running asphalt.  So such a step adds a declaration that does not compile otherwise::

    integer(merge(kind(0), -1, nx > 0)), parameter :: asphalt_checked_1 = 0

Where proofs rest on the values of constants, the declaration compares them with these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Expr, Op, Ref, TypeSpec
from asphalt.ir.insertion import last_declaration, takes_declarations
from asphalt.ir.stmt import Decl, Entity, Include
from asphalt.ir.tree import Leaf, Unit
from asphalt.transforms.rewriting.declare import column_of, insert_behind
from asphalt.transforms.rewriting.make import Maker, compare, fn, num, respelled
from asphalt.transforms.rewriting.new_names import next_number

_PREFIX = "asphalt_checked_"
_FUNCTIONS = ("kind", "merge")


def can_check(facts: UnitFacts) -> bool:
    """Whether such declarations can be added to a unit."""
    return facts.once(_can_check)


def are_intrinsic(names: Collection[str], facts: UnitFacts) -> bool:
    """Whether these names are certainly the intrinsic functions in a unit: a variable of its own
    would hide one (F2018 19.5.1.4)."""
    found = (facts.scope.lookup(name) for name in names)
    return all(symbol is not None and symbol.origin is Origin.INTRINSIC for symbol in found)


def _can_check(facts: UnitFacts) -> bool:
    program = facts.scope.program
    if not takes_declarations(facts.unit) or not are_intrinsic(_FUNCTIONS, facts):
        return False
    return all(
        program.include(facts.located, node.what.path) is not None
        for node in facts.unit.spec
        if isinstance(node, Leaf) and isinstance(node.what, Include)
    )


def with_checked_sizes(unit: Unit, sizes: Collection[str], facts: UnitFacts) -> Unit:
    """The unit with a check that these named constants are positive, where it has none."""
    number = next_number(facts, _PREFIX)
    make = Maker(column_of(unit, facts.located.form), 2, facts.free, facts.eol)
    for name in sorted(sizes):
        kind = _checked_kind(name, facts)
        if _is_checked(unit, kind):
            continue
        checked = f"{_PREFIX}{number}"
        number += 1
        entity = Entity(checked, checked, None, None, num(0))
        what = Decl("type", TypeSpec("integer", kind), ("parameter",), None, (entity,))
        text = f"asphalt: the order of statements needs {name} > 0, which is checked here"
        unit = insert_behind(unit, last_declaration(unit), (make.leaf(what, text),))
    return unit


def is_checked(name: str, facts: UnitFacts) -> bool:
    """Whether a unit has a check that this named constant is positive."""
    return _is_checked(facts.unit, _checked_kind(name, facts))


def with_checked_values(unit: Unit, values: Mapping[str, int], facts: UnitFacts) -> Unit:
    """The unit with a check that named constants have these values, of which there is one."""
    make = Maker(column_of(unit, facts.located.form), 2, facts.free, facts.eol)
    same = (_compared(name, "==", value, facts) for name, value in values.items())
    kind = _kind_if(reduce(lambda one, other: Op(".and.", (one, other)), same))
    checked = f"{_PREFIX}{next_number(facts, _PREFIX)}"
    what = Decl(
        "type",
        TypeSpec("integer", kind),
        ("parameter",),
        None,
        (Entity(checked, checked, None, None, num(0)),),
    )
    text = "asphalt: the order of statements needs these values, which are checked here"
    return insert_behind(unit, last_declaration(unit), (make.leaf(what, text),))


def _checked_kind(name: str, facts: UnitFacts) -> Expr:
    """A kind that exists exactly if a constant is positive."""
    return _kind_if(_compared(name, ">", 0, facts))


def _compared(name: str, operator: str, value: int, facts: UnitFacts) -> Expr:
    size = respelled(Ref(name, name), facts.scope)
    assert isinstance(size, Ref)
    return compare(size, operator, num(value))


def _kind_if(condition: Expr) -> Expr:
    """A kind that exists exactly if a condition holds."""
    return fn("merge", fn("kind", num(0)), Op("-", (num(1),)), condition)


def _is_checked(unit: Unit, kind: Expr) -> bool:
    return any(_checks(node, kind) for node in unit.spec if isinstance(node, Leaf))


def _checks(leaf: Leaf, kind: Expr) -> bool:
    what = leaf.what
    if not isinstance(what, Decl) or what.type is None:
        return False
    first = what.entities[:1]
    own = bool(first) and first[0].name.startswith(_PREFIX)
    return own and what.type.kind is not None and folded(what.type.kind) == folded(kind)
