"""Whether statements compute the same bits however a compiler vectorises the enclosing loop.

A sum, difference, product or quotient, and a square root, is rounded correctly (IEEE 754), and a
square is one product: scalar and vector instructions give the same.  Other functions and powers
have vector versions that differ in the last digit (see ``conditions/same_bits``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.argument_accesses import bound_arguments
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.summary import dummies_of
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.mpi.call import mpi_function
from asphalt.analysis.names.constants import is_open
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    ImpliedDo,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
    names_in,
    walk,
)
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import ArmHead, Assign, Call, DoHead, Guarded, What
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves
from asphalt.support.word_sets import words

_DEPTH = 6  # calls that are followed
_UNROLLED = 128  # iterations of loops that may be unrolled entirely
ANY: Literal["any"] = "any"
Value = int | None | Literal["any"]
"""A bound of a loop: known, not known to anybody, or any that a compiler may know."""
_EXACT = words(
    """
    abs aimag aint all allocated anint any associated btest ceiling cmplx conjg count dble dconjg
    dcmplx dim dot_product epsilon floor huge iabs iachar iand ibclr ibits ibset ieor index int ior
    ishft ishftc kind lbound len len_trim max maxloc maxval merge min minloc minval mod modulo nint
    not present product real sign size sqrt sum tiny transfer ubound
    """
)
"""Each has one value; sums and products are made in the order of their elements."""


def why_other_digits(
    loops: Iterable[Do], body: Iterable[Node], facts: UnitFacts, region: Region
) -> str | None:
    """A description of what in a body may round differently if the given enclosing loops get other
    bounds; None: nothing."""
    nodes = tuple(body)
    if all(keeps_a_loop(nodes, str(loop_variable(loop)), region) for loop in loops):
        return None
    return inexact(nodes, facts.scope, facts.effects)


def keeps_a_loop(nodes: Iterable[Node], along: str, region: Region) -> bool:
    """Whether the body of a loop over ``along`` contains a loop, itself or in a called procedure,
    that a compiler neither unrolls completely nor interchanges with it."""

    def value(expr: Expr) -> Value:
        if is_open_value(expr, region.values.scope):
            return ANY
        found = region.value(expr, ())
        return None if found is None else found.value

    body = tuple(nodes)
    if any(remains(node, value, 1, along) for node in body):
        return True
    calls = (leaf.what for node in body for leaf in leaves(node) if isinstance(leaf.what, Call))
    return any(_keeps_called_loop(call, along, region.values.scope, value) for call in calls)


def _keeps_called_loop(
    call: Call, along: str, scope: Scope, value: Callable[[Expr], Value]
) -> bool:
    """Whether the called procedure has a loop that goes along columns of arrays, and a calling loop
    over ``along`` across them, with more iterations than are unrolled or an unknown number.

    Nothing but where these columns begin may depend on ``along``.  ``value``: of an expression in
    the calling loop.
    """
    found = invoked(call, scope)
    counter = scope.lookup(along)
    if found is None or counter is None or counter.origin is not Origin.LOCAL:
        return False
    located, call = found
    inside = scope.scopes.of(located)
    bound = bound_arguments(call, dummies_of(inside))
    if bound is None or _may_be_vectorised(inside, along):
        return False
    columns: set[str] = set()
    for dummy, actual in bound.items():
        if along in names_in(actual):
            symbol = inside.lookup(dummy)
            if symbol is None or symbol.dims is None or not _is_column(actual, along):
                return False
            columns.add(dummy)

    def inner(expr: Expr) -> Value:
        symbol = inside.lookup(expr.name) if isinstance(expr, Ref) and expr.args is None else None
        if symbol is not None and symbol.name in bound and symbol.intent == "in":
            return value(bound[symbol.name])
        known = None if is_open_value(expr, inside) else constants_in(expr, inside).value
        return ANY if known is None else known

    loops = (node for node in located.unit.body if isinstance(node, Do))
    return any(_goes_along(loop, columns) and remains(loop, inner, 1) for loop in loops)


def _may_be_vectorised(inside: Scope, along: str) -> bool:
    """Whether a procedure has directives to its compiler, or may know the variable of the calling
    loop as one of its host."""
    unit = inside.unit
    for node in (*unit.spec, *unit.body):
        for leaf in leaves(node):
            if any(trivia.kind is TriviaKind.DIRECTIVE for trivia in leaf.lead):
                return True
    if unit.head is None or any(t.kind is TriviaKind.DIRECTIVE for t in unit.head.lead):
        return True
    symbol = inside.lookup(along)
    return symbol is not None and symbol.origin is Origin.HOST


def _is_column(actual: Expr, along: str) -> bool:
    """Whether an array is passed from an element on that another value of ``along`` moves to
    another column, or as a section of whole columns."""
    if not isinstance(actual, Ref | Component) or not actual.args:
        return False
    first, *others = (names_in(arg) for arg in actual.args)
    leading = actual.args[0]
    whole = not isinstance(leading, Section) or leading.stride is None
    return whole and along not in first and along in frozenset[str]().union(*others)


def _goes_along(loop: Do, columns: set[str]) -> bool:
    """Whether loops go through the first dimension of an array of ``columns``, element by element,
    and through none in other steps."""
    heads = [leaf.what for leaf in leaves(loop) if isinstance(leaf.what, DoHead)]
    inner = {head.var.name for head in heads if isinstance(head.var, Ref)}
    along = False
    for leaf in leaves(loop):
        if isinstance(leaf.action, Call):
            return False
        for expr in evaluated(leaf.what):
            for part in walk(expr):
                if not isinstance(part, Ref) or not part.args or part.name not in columns:
                    continue
                first, *others = part.args
                if any(names_in(arg) & inner for arg in others):
                    return False
                used = names_in(first) & inner
                if used and not (isinstance(first, Lit | Ref | Op) and _is_step(first, used)):
                    return False
                along = along or bool(used)
    return along


def _is_step(subscript: Expr, used: frozenset[str]) -> bool:
    """Whether a subscript is one of these loop variables plus a constant."""
    return any((poly(subscript) - Poly.atom(Ref(name, name))).value is not None for name in used)


def inexact(
    nodes: Iterable[Node], scope: Scope, effects: Effects, depth: int = _DEPTH
) -> str | None:
    """A description of what in some statements may round differently; None: nothing."""
    for node in nodes:
        for leaf in leaves(node):
            for part in (p for expr in _expressions(leaf.what) for p in walk(expr)):
                found = _inexact(part, scope, effects, depth)
                if found is not None:
                    return found
            call = leaf.action
            if isinstance(call, Call):
                found = _called(call, "a procedure", scope, effects, depth)
                if found is not None:
                    return found
    return None


def _expressions(what: What) -> tuple[Arg, ...]:
    match what:
        case Guarded(condition=condition, action=action):
            return (condition, *_expressions(action))
        case Call(args=args):
            return args
        case ArmHead(exprs=exprs):
            return exprs
        case DoHead(first=first, last=last, step=step):
            return tuple(part for part in (first, last, step) if part is not None)
    return evaluated(what)


def _inexact(part: Arg, scope: Scope, effects: Effects, depth: int) -> str | None:
    match part:
        case Op(op="**", operands=(_, Lit(kind="integer") as power)) if power.integer == 2:
            return None
        case Component(spelled=spelled) if effects.names(scope).may_be_function(part):
            return spelled
        case Ref(spelled=spelled, args=tuple(args)) if inexact_part(part, scope) is not None:
            symbol = scope.lookup(part.name)
            if symbol is not None and symbol.origin is Origin.INTRINSIC:
                return spelled
            value = effects.names(scope).written_out(part)
            if value is not None:  # a statement function
                inside = (_inexact(inner, scope, effects, depth) for inner in walk(value))
                return next((found for found in inside if found is not None), None)
            call = Call(Ref(part.name, spelled), args)
            return _called(call, spelled, scope, effects, depth)
    return inexact_part(part, scope)


def _called(call: Call, name: str, scope: Scope, effects: Effects, depth: int) -> str | None:
    """A description of what in a called procedure may round differently; the procedure itself if it
    is unknown."""
    found = invoked(call, scope) if depth else None
    if found is None:
        return name
    located, _ = found
    return inexact(located.unit.body, scope.scopes.of(located), effects, depth - 1)


def is_open_value(expr: Expr, scope: Scope) -> bool:
    """Whether a value is to be proved for any sizes, and compilers will know them."""
    return any(is_open(part, scope) for part in walk(expr))


def remains(
    node: Node, value: Callable[[Expr], Value], times: int, along: str | None = None
) -> bool:
    """Whether a statement that is repeated ``times`` times in unrolled code contains a loop with
    more iterations than are unrolled, or an unknown number; with ``along``: which also prevents the
    vectorisation of the enclosing loop over this variable."""
    match node:
        case Do(head=Leaf(what=DoHead() as head), body=body):
            count = _trip_count(head, value)
            if count is None or times * count > _UNROLLED:
                return along is None or _goes_across(node, along)
            return any(remains(child, value, times * count, along) for child in body)
        case Branch(arms=arms):
            return any(remains(child, value, times, along) for arm in arms for child in arm.body)
        case Block(body=body):
            return any(remains(child, value, times, along) for child in body)
    return False


def _goes_across(loop: Do, along: str) -> bool:
    """Whether the enclosing loop over ``along`` crosses the columns of an array in a loop, and runs
    along those of none that both loops access.

    GCC does not vectorise the outer loop, or interchange the two, if the elements are not adjacent.
    """
    inner = {along}
    across = False
    for leaf in leaves(loop):
        what = leaf.what
        if isinstance(what, DoHead) and isinstance(what.var, Ref):
            inner.add(what.var.name)
    for leaf in leaves(loop):
        for expr in evaluated(leaf.what):
            for part in walk(expr):
                if not isinstance(part, Ref | Component) or not part.args:
                    continue
                first, *others = (names_in(arg) for arg in part.args)
                later = frozenset[str]().union(*others)
                if along in first and later & inner:
                    return False
                across = across or (along in later and along not in first)
    return across


def _trip_count(head: DoHead, value: Callable[[Expr], Value]) -> int | None:
    """The trip count of a counted loop; None: unknown, also to a compiler."""
    if head.first is None or head.last is None:
        return None
    step = 1 if head.step is None else value(head.step)
    first, last = value(head.first), value(head.last)
    if first == ANY or last == ANY or step == ANY:
        return 0  # the least
    if first is None or last is None or not step:
        return None
    return max(0, (last - first + step) // step)


def repeated(nodes: Iterable[Node], scope: Scope, in_loop: bool) -> Iterator[Leaf]:
    """The lines of statements that are in a loop, or work on arrays, without calls; ``in_loop``:
    all of them are in one."""
    for node in nodes:
        match node:
            case Leaf(action=action):
                array = isinstance(action, Assign) and not is_scalar(action.target, scope)
                if node.call is None and (in_loop or array):
                    yield node
            case Do(body=body):
                yield node.head
                yield from repeated(body, scope, True)
            case Branch(arms=arms):
                for arm in arms:
                    yield from repeated((arm.head, *arm.body), scope, in_loop)
            case Block(body=body):
                yield from repeated(body, scope, in_loop)


def evaluated(what: What) -> tuple[Arg, ...]:
    """The expressions of an assignment or a call."""
    match what:
        case Assign(target=target, value=value):
            return (target, value)
        case Guarded(condition=condition, action=action):
            return (condition, *evaluated(action))
        case Call(procedure=procedure, args=args):
            return (procedure, *args)
    return ()


def inexact_part(part: Arg, scope: Scope) -> str | None:
    """A description of the function or operation without correct rounding; None: there is none."""
    match part:
        case Op(op="**"):
            return "a power"
        case OpaqueExpr(text=text):
            return text
        case ImpliedDo(values=values, bounds=bounds):
            inside = (inexact_part(one, scope) for e in (*values, *bounds) for one in walk(e))
            return next((one for one in inside if one is not None), None)
        case Ref(name=name, spelled=spelled, args=args) if args is not None:
            symbol = scope.lookup(name)
            if symbol is not None and symbol.origin is Origin.INTRINSIC and name not in _EXACT:
                return spelled.upper()
            if symbol is None or (symbol.dims is None and symbol.origin is not Origin.INTRINSIC):
                return None if mpi_function(part, scope) is not None else spelled
    return None
