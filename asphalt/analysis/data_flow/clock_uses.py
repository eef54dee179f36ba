"""What the statements of one unit do with variables that hold readings of a clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.clock_escapes import (
    calls_without_name,
    is_plain_assignment,
    may_call,
    why_read_back,
)
from asphalt.analysis.effects.clocks import clock_arguments
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.derived_types import may_be_pointer
from asphalt.analysis.names.openmp_sentinels import hidden_statements
from asphalt.analysis.names.references import bind, expressions_of, named_by
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import (
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
from asphalt.ir.stmt import (
    IO,
    Allocation,
    Assign,
    Call,
    Decl,
    Guarded,
    Opaque,
    Plain,
    Raw,
    StatementFunction,
    What,
)
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves, once

_BUFFERS = frozenset({"buffer", "sendbuf", "recvbuf"})
_OUTPUT = ("print", "write", "flush")


class ObservedReadingError(Exception):
    """A reading reaches something that decides what the program does; the text says what."""


@record
class Flow:
    """A value reaches the variable ``name``, of the unit itself or a dummy of ``callee``.

    ``only_decided``: the line in which a reading only decides whether the variable gets it.
    """

    name: str | None
    callee: Located | None = None
    only_decided: int | None = None


@record
class Tainted:
    """A unit, and the names in it that have values which depend on readings."""

    scope: Scope
    names: frozenset[str]

    def any_in(self, *exprs: Arg | None) -> bool:
        """Whether an expression names one of them."""
        return any(expr is not None and names_in(expr) & self.names for expr in exprs)

    def may_concern(self, node: Node) -> bool:
        """Whether a statement or construct may name one of them."""
        named = once(node, _names_below)
        return named is None or not named.isdisjoint(self.names)


def flows_of(tainted: Tainted) -> Iterator[Flow]:
    """The variables that get values from such names; raises ObservedReadingError."""
    unit = tainted.scope.unit
    for leaf in (leaf for node in unit.spec for leaf in leaves(node)):
        _declares(leaf, tainted)
    yield from _of_nodes(unit.body, tainted, False)


def _declares(leaf: Leaf, tainted: Tainted) -> None:
    """Check that a declaration only declares such names themselves."""
    match leaf.what:
        case Decl(kind="equivalence" | "cray_pointer"):
            depends = bool((named_by(leaf.what) or frozenset()) & tainted.names)
        case Decl(entities=entities, dims=dims, type=spec):
            bounds = [b for e in entities for d in e.dims or () for b in (d.lower, d.upper)]
            bounds += [b for d in dims or () for b in (d.lower, d.upper)]
            more = [spec.length, spec.kind] if spec is not None else []
            parts = [*bounds, *more, *(e.length for e in entities), *(e.initial for e in entities)]
            depends = tainted.any_in(*parts)
        case StatementFunction(value=value):
            depends = tainted.any_in(value)
        case Opaque(names=names):
            depends = bool(names & tainted.names)
        case Raw():
            depends = True
        case _:
            depends = False
    if depends:
        raise ObservedReadingError(f"the declaration in line {leaf.line} depends on it")


def _of_nodes(nodes: Iterable[Node], tainted: Tainted, decided: bool) -> Iterator[Flow]:
    """``decided``: whether a reading decides about these statements."""
    for node in nodes:
        if not decided and not tainted.may_concern(node):
            continue
        match node:
            case Leaf():
                yield from _of_leaf(node, tainted, decided)
            case Do(head=head, body=body):
                if tainted.any_in(*_bounds(head)):
                    raise ObservedReadingError(f"the loop in line {head.line} depends on it")
                yield from _of_nodes((head,), tainted, decided)
                yield from _of_nodes(body, tainted, decided)
            case Branch(arms=arms):
                tested = decided
                for arm in arms:
                    exprs = expressions_of(arm.head.what)
                    yield from _into_functions(exprs, arm.head, tainted)
                    _check_decided(tested, None, exprs, arm.head, tainted)
                    tested = tested or tainted.any_in(*exprs)
                for arm in arms:
                    _check_lead(arm.head, tainted)
                    yield from _of_nodes(arm.body, tainted, tested)
            case Block() | Unit():
                if any(_mentions(leaf, tainted) for leaf in leaves(node)) or decided:
                    raise ObservedReadingError(f"line {next(leaves(node)).line} is not followed")


def _names_below(node: Node) -> frozenset[str] | None:
    """All names in the statements of a construct, and in lines for OpenMP before them; None: some
    are not known."""
    if isinstance(node, Leaf):
        named = named_by(node.what)
        hidden = [one.names for one in hidden_statements(node)] if named is not None else []
        return named.union(*hidden) if named is not None and hidden else named
    found = [once(leaf, _names_below) for leaf in leaves(node)]
    known = [names for names in found if names is not None]
    return frozenset[str]().union(*known) if len(known) == len(found) else None


def _bounds(head: Leaf) -> tuple[Arg, ...]:
    exprs = expressions_of(head.what)
    var = getattr(head.what, "var", None)
    return tuple(expr for expr in exprs if expr is not var)


def _mentions(leaf: Leaf, tainted: Tainted) -> bool:
    named = named_by(leaf.what)
    return named is None or bool(named & tainted.names)


def _check_lead(leaf: Leaf, tainted: Tainted) -> None:
    if any(hidden.names & tainted.names for hidden in hidden_statements(leaf)):
        raise ObservedReadingError(f"a line for OpenMP before line {leaf.line} names it")


def _of_leaf(leaf: Leaf, tainted: Tainted, decided: bool) -> Iterator[Flow]:
    _check_lead(leaf, tainted)
    if not decided and not _mentions(leaf, tainted):
        return
    what: What = leaf.what
    while isinstance(what, Guarded):
        yield from _into_functions((what.condition,), leaf, tainted)
        _check_decided(decided, None, (what.condition,), leaf, tainted)
        decided = decided or tainted.any_in(what.condition)
        what = what.action
    if decided and not _only_stores(what, tainted.scope):
        raise ObservedReadingError(f"a condition in line {leaf.line} depends on it")
    yield from _into_functions(expressions_of(what), leaf, tainted)
    _check_decided(decided, what, expressions_of(what), leaf, tainted)
    match what:
        case Assign(target=target, value=value, pointer=pointer):
            _check_subscripts(target, leaf, tainted)
            if decided or tainted.any_in(value):
                if pointer or _is_elsewhere(target, tainted.scope):
                    raise ObservedReadingError(f"a pointer in line {leaf.line} has it")
                if not is_plain_assignment(what, tainted.scope):
                    raise ObservedReadingError(f"line {leaf.line} may call a procedure with it")
                only = leaf.line if not tainted.any_in(value) else None
                yield Flow(root_name(target), only_decided=only)
        case IO(kind=kind, reads=reads, writes=writes):
            if decided or tainted.any_in(*reads):
                back = why_read_back(what, tainted.scope) if kind == "write" else None
                if back is not None:
                    raise ObservedReadingError(f"line {leaf.line} writes it, and {back}")
            if tainted.any_in(*reads):
                if kind not in _OUTPUT:
                    raise ObservedReadingError(
                        f"the {kind.upper()} in line {leaf.line} depends on it"
                    )
                yield from (Flow(name) for name in _internal_files(writes, tainted.scope))
            if decided:  # whether an internal file gets it, and whether a status is defined
                found = (root_name(one) for one in writes if isinstance(one, Ref | Component))
                yield from (Flow(name, only_decided=leaf.line) for name in found)
        case Allocation(objects=objects, options=options):
            shapes = [a for o in objects if isinstance(o, Ref | Component) for a in o.args or ()]
            if tainted.any_in(*shapes, *options):
                raise ObservedReadingError(f"an allocation in line {leaf.line} depends on it")
        case Call():
            yield from _of_call(what, leaf, tainted)
        case Plain(keyword="entry") | Raw():
            raise ObservedReadingError(f"line {leaf.line} is not followed")
        case Plain():
            pass
        case Opaque(names=names):
            if names & tainted.names:
                raise ObservedReadingError(f"line {leaf.line} is not followed")
        case _:
            if tainted.any_in(*_bounds(leaf)):
                raise ObservedReadingError(f"line {leaf.line} depends on it")


def _check_decided(
    decided: bool, what: What | None, exprs: Iterable[Arg], leaf: Leaf, tainted: Tainted
) -> None:
    """Check that a reading does not decide whether a procedure is called."""
    if decided and may_call(what, exprs, tainted.scope):
        raise ObservedReadingError(f"a call in line {leaf.line} depends on it")


def _only_stores(what: What, scope: Scope) -> bool:
    """Whether a statement does nothing but store or write."""
    match what:
        case Assign(pointer=False):
            return True
        case IO(kind=kind, labels=()):
            return kind in _OUTPUT
        case Call():
            return clock_arguments(what, scope) is not None
        case Plain():
            return True
    return False


def _internal_files(written: Iterable[Arg], scope: Scope) -> Iterator[str]:
    """The character variables that an output statement defines; it also defines status variables,
    and those of implied loops."""
    for item in written:
        name = root_name(item) if isinstance(item, Ref | Component) else None
        symbol = None if name is None else scope.lookup(name)
        kind = None if symbol is None or symbol.type is None else symbol.type.base
        if name is not None and kind in (None, "character", "type", "class"):
            yield name


def _is_elsewhere(target: Expr, scope: Scope) -> bool:
    """Whether an assignment changes the target of a pointer."""
    path: list[str] = []
    base = target
    while isinstance(base, Component):
        path.append(base.name)
        base = base.base
    symbol = scope.lookup(base.name) if isinstance(base, Ref) else None
    return symbol is None or bool(path and may_be_pointer(symbol, tuple(reversed(path))))


def _check_subscripts(target: Arg, leaf: Leaf, tainted: Tainted) -> None:
    """A subscript of something that is defined may not depend on a reading."""
    for part in walk(target):
        if isinstance(part, Ref | Component) and tainted.any_in(*(part.args or ())):
            raise ObservedReadingError(f"a subscript in line {leaf.line} depends on it")


def _into_functions(exprs: Iterable[Arg], leaf: Leaf, tainted: Tainted) -> Iterator[Flow]:
    """The dummies of functions that get such values."""
    scope = tainted.scope
    exprs = tuple(exprs)
    if any(tainted.any_in(part) for part in calls_without_name(exprs, scope)):
        raise ObservedReadingError(f"line {leaf.line} may call a procedure with it")
    for part in (part for expr in exprs for part in walk(expr)):
        if isinstance(part, Unstructured) and part.names & tainted.names:
            named = (procedure_named(Ref(n, n), scope) for n in part.names - tainted.names)
            if any(found is not None for found in named):
                raise ObservedReadingError(f"an expression in line {leaf.line} is not understood")
        if not isinstance(part, Ref) or part.args is None or not tainted.any_in(*part.args):
            continue
        symbol = scope.lookup(part.name)
        if symbol is not None and (symbol.origin.is_variable or symbol.origin is Origin.INTRINSIC):
            continue
        yield from _into(Call(Ref(part.name, part.spelled), part.args), leaf, tainted)


def _of_call(call: Call, leaf: Leaf, tainted: Tainted) -> Iterator[Flow]:
    if not tainted.any_in(*call.args) and not tainted.any_in(call.procedure):
        return
    mpi = mpi_call(call, tainted.scope)
    if mpi is not None:
        yield from _of_message(mpi, leaf, tainted)
    elif clock_arguments(call, tainted.scope) is None:
        yield from _into(call, leaf, tainted)


def _of_message(call: MpiCall, leaf: Leaf, tainted: Tainted) -> Iterator[Flow]:
    """Collective operations that only pass values on between the ranks."""
    known = call.procedure.collective and call.procedure.timing is Timing.BLOCKING
    used = [name for name, arg in call.args.items() if tainted.any_in(arg)]
    operation = call.args.get("op")
    if operation is not None and mpi_constant(operation, tainted.scope) is None:
        raise ObservedReadingError(f"a reduction in line {leaf.line} is the user's")
    if not known or not set(used) <= _BUFFERS:
        raise ObservedReadingError(f"{call.operation} in line {leaf.line} sends or uses it")
    for name, arg in call.args.items():
        if name in _BUFFERS:
            _check_subscripts(arg, leaf, tainted)
            symbol = tainted.scope.lookup(root_name(arg) or "")
            if symbol is None or symbol.origin.is_variable:
                yield Flow(root_name(arg))


def _into(call: Call, leaf: Leaf, tainted: Tainted) -> Iterator[Flow]:
    """The dummies of a procedure of the tree that get such values."""
    found = invoked(call, tainted.scope)
    head = found[0].unit.head if found is not None else None
    dummies = getattr(head.what, "args", None) if head is not None else None
    bound = bind(found[1].args, dummies) if found is not None and dummies is not None else None
    if found is None or bound is None:
        raise ObservedReadingError(f"line {leaf.line} passes it to a procedure that is not seen")
    for dummy, actual in bound.items():
        if _is_variable(actual, tainted.scope):
            _check_subscripts(actual, leaf, tainted)
        if tainted.any_in(actual):
            yield Flow(dummy, found[0])


def _is_variable(expr: Expr, scope: Scope) -> bool:
    symbol = scope.lookup(root_name(expr) or "")
    return symbol is not None and symbol.origin.is_variable
