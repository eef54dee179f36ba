"""Whether a call of a procedure can be two calls, one behind the other, of procedures beside it.

Each of the two evaluates the actual arguments again, and both get the same variables.
"""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.aliased_arguments import passed_under_two_names
from asphalt.analysis.inlining.codes import ARGUMENT, MEANING, TEXT, TWICE, RefusedError
from asphalt.analysis.inlining.external_functions import check_undeclared_externals
from asphalt.analysis.memory.accesses import ALIASED, NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.parallel_loops import why_threaded
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.visibility import has_interface, is_private
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Ref,
    Unstructured,
    names_in,
    root_name,
    walk,
)
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import Call, UnitHead, Use
from asphalt.ir.tree import Leaf, leaves

_OWN_LINES = (TriviaKind.BLANK, TriviaKind.COMMENT)
_DESCRIBED = frozenset(
    {"allocatable", "pointer", "target", "optional", "value", "asynchronous", "volatile"}
)
"""Attributes of dummy arguments of which a caller must see the declaration (F2018 15.4.2.2)."""


@record
class NewNames:
    """What lets a caller name another procedure that stands beside the one that it calls.

    ``listed``: the USE statement of the caller whose list needs the name, if one does.
    ``published``: the module that has to make it public, if it is private there by default.
    """

    listed: Leaf | None = None
    published: str | None = None


def check_call(facts: UnitFacts, leaf: Leaf, inside: UnitFacts) -> None:
    """Check that a call can be two of them; ``inside``: its procedure.

    Raises:
        RefusedError: it cannot, or it is not known.
    """
    call = leaf.what
    if not isinstance(call, Call) or not isinstance(call.procedure, Ref):
        raise RefusedError(TEXT, "the call is not a statement of its own, or names an object")
    if leaf.frozen or leaf.span is None or leaf.label is not None or leaf.macros:
        raise RefusedError(TEXT, "the call has a label, or the preprocessor changes it")
    if leaf.joined or ";" in leaf.trail.split("!")[0]:
        raise RefusedError(TEXT, "the call shares its line with other statements")
    if any(entry.kind not in _OWN_LINES for entry in leaf.lead):
        raise RefusedError(TEXT, "a directive or a preprocessor line stands before the call")
    threads = why_threaded(leaf, facts.unit)
    if threads is not None:
        raise RefusedError(TEXT, threads)
    _check_arguments(facts, leaf, call, inside)


def _check_arguments(facts: UnitFacts, leaf: Leaf, call: Call, inside: UnitFacts) -> None:
    scope, head = facts.scope, inside.unit.head
    assert head is not None
    assert isinstance(head.what, UnitHead)
    bound = bind(call.args, head.what.args)
    if bound is None or any(isinstance(arg, AltReturn) for arg in call.args):
        raise RefusedError(ARGUMENT, "the actual arguments do not correspond to its dummies")
    written = facts.footprint(leaf).written()
    for actual in bound.values():
        for part in walk(actual):
            if isinstance(part, Unstructured) or not _is_value(part, scope):
                raise RefusedError(ARGUMENT, "an actual argument may call a function")
        for name in sorted(evaluated(actual, scope)):
            storage = facts.names.storage(name)
            if storage in written or storage == ALIASED:
                raise RefusedError(ARGUMENT, f"an actual argument depends on {name}")
    twice = passed_under_two_names(inside.scope, inside.located)
    if not twice.no:
        raise RefusedError(TWICE, twice.reason)
    own = {a.storage for node in inside.unit.body for a in inside.footprint(node).accesses}
    roots = [facts.names.storage(r) for e in bound.values() if (r := root_name(e)) is not None]
    for root in roots:
        if root in written and (roots.count(root) > 1 or root in own - inside.scope.own.keys()):
            raise RefusedError(TWICE, f"it may change {root}, which has two names there")


def _is_value(part: Arg, scope: Scope) -> bool:
    """Whether a part of an actual argument calls no procedure."""
    if not isinstance(part, Ref):
        return True
    kinds = (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.PURE_FUNCTION, NameKind.INQUIRY)
    return name_kind(part.name, part.args is not None, scope) in kinds


def evaluated(actual: Expr, scope: Scope) -> frozenset[str]:
    """The variables whose values decide what an actual argument is: those in subscripts, or all
    of an expression."""
    found: set[str] = set()
    here: Arg = actual
    while isinstance(here, Component):
        found |= {name for arg in here.args or () for name in names_in(arg)}
        here = here.base
    if isinstance(here, Ref) and name_kind(here.name, False, scope) is NameKind.VARIABLE:
        found |= {name for arg in here.args or () for name in names_in(arg)}
    else:
        found |= names_in(here)
    return frozenset(n for n in found if name_kind(n, False, scope) is NameKind.VARIABLE)


def access(facts: UnitFacts, callee: Located, names: tuple[str, ...]) -> NewNames:
    """How the caller can name procedures that stand beside the one that it calls.

    Raises:
        RefusedError: it cannot, or it is not known.
    """
    if len(callee.chain) == 1:
        _check_implicit_interface(facts, callee)
        return NewNames()
    host = callee.chain[-2]
    if any(unit is host for unit in facts.located.chain):
        return NewNames()
    if host.kind != "module" or len(callee.chain) != 2:
        raise RefusedError(MEANING, f"{callee.unit.name} is not a procedure of a module")
    inside = facts.effects.scopes.module(host.name)
    if inside is None or inside.unit is not host:
        raise RefusedError(MEANING, f"{callee.unit.name} is in a module that is not known")
    published = host.name if is_private(names[0], inside) else None
    return NewNames(_list_of(facts, host.name), published)


def _list_of(facts: UnitFacts, module: str) -> Leaf | None:
    """The USE statement of a caller whose list needs another name of a module; None: none does."""
    found = [
        (leaf, leaf.what)
        for unit in facts.located.chain
        for node in unit.spec
        for leaf in leaves(node)
        if isinstance(leaf.what, Use) and leaf.what.module == module
    ]
    if any(not use.only for _, use in found):
        return None
    own = {id(leaf) for node in facts.unit.spec for leaf in leaves(node)}
    for leaf, _ in found:
        if id(leaf) in own and not (leaf.frozen or leaf.macros or leaf.joined):
            return leaf
    raise RefusedError(MEANING, f"the caller has no USE statement of {module}")


def _check_implicit_interface(facts: UnitFacts, callee: Located) -> None:
    """Check that an external procedure can be called without an interface."""
    name = callee.unit.name
    if has_interface(name, facts.scope):
        raise RefusedError(MEANING, f"the caller has an interface of {name}")
    head = callee.unit.head
    assert head is not None
    assert isinstance(head.what, UnitHead)
    scope = facts.effects.scopes.of(callee)
    for dummy in head.what.args:
        symbol = scope.lookup(dummy)
        shapes = () if symbol is None else symbol.dims or ()
        described = any(dim.kind in ("assumed_shape", "assumed_rank") for dim in shapes)
        if symbol is None or symbol.attrs & _DESCRIBED or described:
            raise RefusedError(MEANING, f"a call of {name} needs its interface")
    check_undeclared_externals(facts.located.chain)
