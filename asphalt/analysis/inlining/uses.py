"""Uses of arrays that would differ for an array with other bounds."""

from __future__ import annotations

from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Arg, ImpliedDo, Keyword, OpaqueExpr, Ref, Section, children, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Node, leaves


@record
class ArrayUses:
    """``names``: all names in the body; ``whole``: arrays without subscripts, but not where only
    their address counts; ``passed``: those that other procedures than MPI's get; ``open_ends``:
    dimensions (from 0) of which a section is taken that ends where they do; ``bounds``: arrays that
    an inquiry asks about."""

    names: frozenset[str]
    whole: frozenset[str]
    passed: frozenset[str]
    open_ends: frozenset[tuple[str, int]]
    bounds: frozenset[str]


def array_uses(body: tuple[Node, ...], scope: Scope) -> ArrayUses:
    """How some statements of a unit use its arrays."""
    found = _Found(scope)
    for node in body:
        for leaf in leaves(node):
            for what in actions(leaf.what):
                if isinstance(what, Call):
                    found.call(what)
                else:
                    for expr in expressions_of(what):
                        found.expression(expr)
    return ArrayUses(
        frozenset(found.names),
        frozenset(found.whole),
        frozenset(found.passed),
        frozenset(found.open_ends),
        frozenset(found.bounds),
    )


class _Found:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.names: set[str] = set()
        self.whole: set[str] = set()
        self.passed: set[str] = set()
        self.open_ends: set[tuple[str, int]] = set()
        self.bounds: set[str] = set()

    def call(self, call: Call) -> None:
        mpi = mpi_call(call, self.scope)
        buffers = (
            []
            if mpi is None
            else [actual for parameter, actual in mpi.bound() if parameter.kind == "BUFFER"]
        )
        for arg in call.args:
            value = arg.value if isinstance(arg, Keyword) else arg
            if isinstance(value, Ref) and value.args is None:
                self.names.add(value.name)
                if any(value is buffer for buffer in buffers):
                    continue
                self.whole.add(value.name)
                if mpi is None:
                    self.passed.add(value.name)
            else:
                self.expression(arg)
                if mpi is None and isinstance(value, Ref):
                    self.passed.add(value.name)  # an element, and what follows it

    def expression(self, expr: Arg) -> None:
        match expr:
            case Ref(name=name, args=None):
                self.names.add(name)
                self.whole.add(name)
            case Ref(name=name, args=tuple(args)):
                self.names.add(name)
                for number, arg in enumerate(args):
                    if isinstance(arg, Section) and (arg.lower is None or arg.upper is None):
                        self.open_ends.add((name, number))
                if name in ("lbound", "ubound"):
                    self.bounds |= {n for arg in args for n in names_in(arg)}
            case OpaqueExpr(names=names) | ImpliedDo(names=names):
                self.names |= names
                self.whole |= names
        for part in children(expr):
            self.expression(part)
