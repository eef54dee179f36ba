"""Procedures that only wrap an exchange: each call of a wrapper is treated as the exchange.

    subroutine my_alltoall(s, r, n, comm)          call my_alltoall(a, b, 3*m, world)
      call MPI_Alltoall(s, n, MPI_REAL, r, n,  -->   is judged as
                        MPI_REAL, comm, ierr)        call MPI_Alltoall(a, 3*m, MPI_REAL, b, ...)

A wrapper sends a dummy argument that it does not define.  asphalt judges and transforms a call of
it like a call of MPI if the caller can write the arguments of the exchange, and the wrapper does
nothing else that the tiled exchange would omit.  Wrappers of wrappers are treated alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.site import Exchange, at_calls, statements
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.generic_names import generic_names, means
from asphalt.analysis.names.references import bind, expressions_of, passed_on
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.verdicts.verdict import Mark
from asphalt.ir.conditionals import is_conditional
from asphalt.ir.expr import Arg, Component, Expr, Lit, Op, Ref, names_in
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import OF_THE_PREPROCESSOR, TriviaKind
from asphalt.ir.stmt import Assign, Call, Guarded, Jump, JumpKind, Plain, UnitHead
from asphalt.ir.tree import Branch, Leaf, Node, leaves


@record
class OpaqueWrapper:
    """Why the exchange of a wrapper cannot be judged at a call of it."""

    reason: str
    leaf: Leaf | None = None


@record
class _Arguments:
    """The arguments of an exchange in the caller's terms; ``constants``: the MPI constants among
    them, by their names in the procedure that calls MPI."""

    given: dict[str, Expr]
    constants: frozenset[str]


def wrapped_exchanges(found: tuple[Exchange, ...], effects: Effects) -> Iterator[Exchange]:
    """The calls of procedures that only wrap one of the exchanges ``found``, and of those that
    wrap these in turn, each call once."""
    seen: set[int] = set()
    level = found
    while level:
        outer = [e for inner in level if _passes_on(inner) for e in _callers(inner, effects)]
        # a generic name may mean several wrappers, of which at most one is seen through
        outer.sort(key=lambda exchange: exchange.opaque is None)
        level = tuple({id(e.leaf): e for e in outer if id(e.leaf) not in seen}.values())
        seen |= {id(e.leaf) for e in level}
        yield from level


def _passes_on(exchange: Exchange) -> bool:
    """Whether an exchange sends a dummy argument that its procedure does not define."""
    arguments = exchange.call.procedure.exchange
    unit = exchange.located.unit
    if arguments is None or unit.kind != "subroutine" or not unit.name:
        return False
    actual = exchange.call.args.get(arguments.send or "")
    if not isinstance(actual, Ref):
        return False
    symbol = exchange.scope.lookup(actual.name)
    if symbol is None or symbol.origin is not Origin.DUMMY:
        return False
    storage = exchange.names.storage(actual.name)
    return all(a.leaf is exchange.leaf for a in exchange.values.writes_of(storage))


def _callers(inner: Exchange, effects: Effects) -> Iterator[Exchange]:
    """The calls of the procedure that contains an exchange."""
    wrapper, program = inner.located, inner.scope.program
    generic = generic_names(wrapper)
    mentioning: dict[int, Located] = {}
    for name in (wrapper.unit.name, *generic):
        for caller in program.mentions(name):
            mentioning[id(caller.unit)] = caller
    found: list[Exchange] = []
    for caller in mentioning.values():
        scope = effects.scopes.of(caller)
        calls = [
            (leaf, inner.call, isinstance(leaf.what, Guarded), place)
            for leaf, place in statements(caller.unit.body)
            if (call := leaf.call) is not None
            and leaf.span is not None
            and isinstance(call.procedure, Ref)
            and _means(call, wrapper, generic, scope)
        ]
        found += at_calls(caller, effects, calls)
    sole = len(found) == 1 and _is_only_mention(found[0], wrapper, mentioning)
    for outer in found:
        call = outer.leaf.call
        assert call is not None
        yield _at_caller(inner, call, replace(outer, sole=sole))


def _is_only_mention(call: Exchange, wrapper: Located, mentioning: Mapping[int, Located]) -> bool:
    """Whether a call is the only reference to a procedure."""
    name = wrapper.unit.name
    if len(mentioning) != 1 or passed_on(call.located, name):
        return False
    return not any(
        name in names_in(expr)
        for node in call.located.unit.body
        for leaf in leaves(node)
        if leaf is not call.leaf
        for expr in expressions_of(leaf.what)
    )


def _means(call: Call, wrapper: Located, generic: tuple[str, ...], scope: Scope) -> bool:
    """Whether a call is by the name of the wrapper, or by a generic one that may mean it."""
    procedure = call.procedure
    assert isinstance(procedure, Ref)
    if procedure.name in generic:
        return _is_generic(procedure, scope) and (
            means(call, wrapper, scope, scope.scopes) is not False
        )
    target = procedure_named(procedure, scope)
    if target is None:
        return False
    names = tuple(unit.name for unit in wrapper.chain)
    return target.path == wrapper.path and tuple(unit.name for unit in target.chain) == names


def _is_generic(procedure: Ref, scope: Scope) -> bool:
    symbol = scope.lookup(procedure.name)
    return symbol is None or "generic" in symbol.attrs


def _at_caller(inner: Exchange, call: Call, outer: Exchange) -> Exchange:
    """The exchange at a call of the procedure that contains it."""
    assert isinstance(call.procedure, Ref)
    step = Mark(inner.span, "path", f"{inner.located.unit.name} exchanges here")
    outer = replace(
        outer,
        wrapper=call.procedure.spelled,
        via=(step, *inner.via),
        through=(inner.located, *inner.through),
    )
    if inner.opaque is not None:
        return _unseen(inner, call, outer, inner.opaque)
    generic = call.procedure.name in generic_names(inner.located)
    if generic and not means(call, inner.located, outer.scope, outer.effects.scopes):
        message = f"{call.procedure.spelled} is a generic name that may mean several procedures"
        return _unseen(inner, call, outer, message)
    args = _substituted(inner, call, outer.scope)
    if isinstance(args, OpaqueWrapper):
        if args.leaf is not None and args.leaf.span is not None and args.leaf is not inner.leaf:
            offending = Mark(args.leaf.span, "path", args.reason)
            outer = replace(outer, via=(offending, *outer.via))
        return _unseen(inner, call, outer, args.reason)
    substituted = replace(inner.call, args=args.given, error=args.given.get("ierror"))
    home = inner.home or inner.scope
    return replace(
        outer,
        call=substituted,
        constants=args.constants,
        home=home,
        unnamed=_unnamed(args, home, outer),
    )


def _unnamed(args: _Arguments, home: Scope, outer: Exchange) -> str | None:
    """Why the caller cannot name an MPI constant of the exchange; None: it can name all."""
    for name in sorted(args.constants):
        constant = args.given[name]
        if isinstance(constant, Ref) and not _is_same_constant(constant, home, outer.scope):
            return f"{constant.spelled} is not known in {outer.located.unit.name or 'the program'}"
    return None


def _unseen(inner: Exchange, call: Call, outer: Exchange, reason: str) -> Exchange:
    """An exchange of which only the arguments that are passed on are known."""
    head = inner.located.unit.head
    dummies = head.what.args if head is not None and isinstance(head.what, UnitHead) else ()
    actuals = bind(call.args, dummies) or {}
    args = {
        parameter: actuals[actual.name]
        for parameter, actual in inner.call.args.items()
        if isinstance(actual, Ref) and actual.name in actuals
    }
    return replace(outer, opaque=reason, call=replace(inner.call, args=args, error=None))


def _substituted(inner: Exchange, call: Call, scope: Scope) -> _Arguments | OpaqueWrapper:
    """The arguments of the exchange in the terms of the caller."""
    unit = inner.located.unit
    head = unit.head.what if unit.head is not None else None
    if not isinstance(head, UnitHead):
        return OpaqueWrapper("asphalt does not understand the procedure")
    actuals = bind(call.args, head.args)
    if actuals is None:
        return OpaqueWrapper(f"the arguments do not fit {unit.name}")
    fault = _only_exchanges(inner)
    if fault is not None:
        return fault
    arguments = inner.call.procedure.exchange
    assert arguments is not None
    if inner.call.procedure.timing is not Timing.BLOCKING:
        return OpaqueWrapper(
            f"{inner.call.procedure.spelled} is not a blocking exchange", inner.leaf
        )
    args: dict[str, Expr] = {}
    constants: set[str] = set()
    for parameter, actual in inner.call.bound():
        if parameter.kind == "BUFFER":
            answer = _buffer(inner, actual, actuals)
        elif parameter.kind == "ERROR_CODE":
            if isinstance(actual, Ref) and _only_locals(frozenset({actual.name}), inner):
                continue  # of the wrapper alone
            answer = _error_code(actual, inner, actuals, scope)
        elif _is_list(actual, inner):
            answer = _whole_array(actual, inner, actuals)
        elif parameter.is_count:
            value = inner.values.polynomial(actual, inner.leaf)
            answer = _in_terms_of(value.expression(), inner, actuals, scope)
        elif parameter.name in inner.constants or mpi_constant(actual, inner.scope) is not None:
            answer = actual
            constants.add(parameter.name)
        else:
            answer = _in_terms_of(actual, inner, actuals, scope)
        if answer is None:
            message = f"the {parameter.name} of the exchange is not known in the caller"
            return OpaqueWrapper(message, inner.leaf)
        args[parameter.name] = answer
    return _Arguments(args, frozenset(constants))


def _buffer(inner: Exchange, actual: Expr, actuals: Mapping[str, Expr]) -> Expr | None:
    """The caller's buffer: the dummy from its first element on is what was passed, from its first
    element on."""
    if not isinstance(actual, Ref) or actual.name not in actuals:
        return None
    arguments = inner.call.procedure.exchange
    assert arguments is not None
    for argument in (arguments.send, arguments.receive):
        if inner.call.args.get(argument or "") is actual:
            buffer = buffer_of(inner, argument)
            if buffer is None or buffer.origin is not None:
                return None
    symbol = inner.scope.lookup(actual.name)
    unusual = {"pointer", "allocatable", "value", "optional", "volatile", "asynchronous"}
    if symbol is None or symbol.attrs & unusual or symbol.dims is None:
        return None
    passed = actuals[actual.name]
    return passed if isinstance(passed, Ref | Component) else None


def _error_code(
    actual: Expr, inner: Exchange, actuals: Mapping[str, Expr], scope: Scope
) -> Expr | None:
    """The caller's variable for the error code, which others than the wrapper may read."""
    if not isinstance(actual, Ref) or actual.args is not None:
        return None
    return actuals.get(actual.name) or (actual if _is_shared(actual, inner, scope) else None)


def _is_shared(ref: Ref, inner: Exchange, scope: Scope) -> bool:
    """Whether a name is the same scalar of a module or host in the wrapper and in the caller."""
    symbol, seen = inner.scope.lookup(ref.name), scope.lookup(ref.name)
    if symbol is None or seen is None or symbol.identity != seen.identity:
        return False
    plain = symbol.dims is None and not symbol.attrs & {"pointer", "target", "volatile"}
    return plain and symbol.origin in (Origin.MODULE, Origin.HOST)


def _is_list(actual: Expr, inner: Exchange) -> bool:
    """Whether an argument is an array, such as the counts of MPI_ALLTOALLV."""
    if not isinstance(actual, Ref) or mpi_constant(actual, inner.scope) is not None:
        return False
    symbol = inner.scope.lookup(actual.name)
    return symbol is not None and symbol.dims is not None


def _whole_array(actual: Expr, inner: Exchange, actuals: Mapping[str, Expr]) -> Expr | None:
    """The caller's array for a dummy of one dimension that the wrapper passes on and leaves as it
    is: the same elements from the first on."""
    if not isinstance(actual, Ref) or actual.args is not None:
        return None
    symbol, passed = inner.scope.lookup(actual.name), actuals.get(actual.name)
    if symbol is None or symbol.origin is not Origin.DUMMY or len(symbol.dims or ()) != 1:
        return None
    if symbol.attrs & {"optional", "pointer", "target", "allocatable", "volatile"}:
        return None
    storage = inner.names.storage(actual.name)
    if any(a.leaf is not inner.leaf for a in inner.values.writes_of(storage)):
        return None
    return passed if isinstance(passed, Ref) and passed.args is None else None


def _in_terms_of(
    expr: Expr, inner: Exchange, actuals: Mapping[str, Expr], scope: Scope
) -> Expr | None:
    """An expression of the wrapper in the caller's terms: of dummies that the wrapper does not
    change, of literals, and of constants of MPI that the caller has by the same name."""
    match expr:
        case Lit(kind="integer", text=text):
            return expr if text.isdecimal() else None  # its kind may have a name
        case Op(op="+" | "-" | "*" | "/" | "**" | "()", operands=operands):
            parts = [_in_terms_of(part, inner, actuals, scope) for part in operands]
            if any(part is None for part in parts):
                return None
            return replace(expr, operands=tuple(part for part in parts if part is not None))
        case Ref(name="size", args=(Ref(name=array, args=None), *rest)):
            # of an assumed shape, which is that of the actual argument
            symbol, passed = inner.scope.lookup(array), actuals.get(array)
            if not isinstance(passed, Ref) or passed.args is not None or symbol is None:
                return None
            if any(dim.kind != "assumed_shape" for dim in symbol.dims or ()) or not symbol.dims:
                return None
            if not all(isinstance(arg, Lit) for arg in rest):
                return None
            if not all(_is_intrinsic("size", place) for place in (inner.scope, scope)):
                return None
            return replace(expr, args=(passed, *rest))
        case Ref(name=name, args=None):
            constant = mpi_constant(expr, inner.scope)
            if constant is not None:
                return expr if _is_same_constant(expr, inner.scope, scope) else None
            symbol = inner.scope.lookup(name)
            if _is_shared(expr, inner, scope):
                unchanged = not inner.values.writes_of(inner.names.storage(name))
                return expr if unchanged else None
            if symbol is None or name not in actuals:
                return None
            plain = symbol.dims is None and not symbol.attrs & {"optional", "pointer", "target"}
            if symbol.origin is not Origin.DUMMY or not plain:
                return None
            storage = inner.names.storage(name)
            if any(a.leaf is not inner.leaf for a in inner.values.writes_of(storage)):
                return None
            return _parenthesised(actuals[name])
    return None


def _is_same_constant(ref: Ref, inner: Scope, outer: Scope) -> bool:
    """Whether a name is the same MPI constant, of the same type, in both units."""
    symbols = [scope.lookup(ref.name) for scope in (inner, outer)]
    typed = [symbol is not None and symbol.owner == "mpi_f08" for symbol in symbols]
    return mpi_constant(ref, inner) == mpi_constant(ref, outer) and typed[0] == typed[1]


def _is_intrinsic(name: str, scope: Scope) -> bool:
    symbol = scope.lookup(name)
    return symbol is None or symbol.origin is Origin.INTRINSIC


def _parenthesised(actual: Expr) -> Expr:
    return Op("()", (actual,)) if isinstance(actual, Op) and actual.op != "()" else actual


def _only_exchanges(inner: Exchange) -> OpaqueWrapper | None:
    """Why a procedure does more than the exchange; None: it does not.

    It may also assign local scalars, define them by inquiries of MPI, and test the error code of
    the exchange.
    """
    unit = inner.located.unit
    for leaf in leaves(unit):
        kinds = {trivia.kind for trivia in leaf.lead if not is_conditional(trivia)}
        if leaf.frozen or kinds & (OF_THE_PREPROCESSOR | {TriviaKind.CONDITIONAL}):
            return OpaqueWrapper(f"{unit.name} depends on the preprocessor", leaf)
    if len(inner.place.levels) != 1 or inner.guarded:
        return OpaqueWrapper(f"{unit.name} exchanges under a condition or in a loop", inner.leaf)
    position = inner.place.position
    for number, node in enumerate(unit.body):
        if number == position:
            continue
        if not _harmless(node, inner, number > position):
            first = next(iter(leaves(node)))
            return OpaqueWrapper(f"{unit.name} does more than the exchange", first)
    return None


def _harmless(node: Node, inner: Exchange, behind: bool) -> bool:
    match node:
        case Branch(kind="if", arms=(arm,)) if behind:
            return _is_error_check(getattr(arm.head.what, "exprs", ()), inner)
        case Leaf(what=Guarded(condition=condition)) if behind:
            return _is_error_check((condition,), inner)
        case Leaf(what=Plain(keyword="continue"), label=None):
            return True
        case Leaf(what=Jump(kind=JumpKind.RETURN), label=None):
            return behind and node is inner.located.unit.body[-1]
        case Leaf(what=Assign(pointer=False), label=None):
            footprint = examine((node,), inner.names)
            return not footprint.effects and _only_locals(footprint.written(), inner)
        case Leaf(what=Call() as call, label=None):
            found = mpi_call(call, inner.scope)
            if found is None or not found.procedure.local or found.procedure.exchange is not None:
                return False
            effects = {effect.kind for effect in examine((node,), inner.names).effects}
            written = examine((node,), inner.names).written()
            asks = found.procedure.functional or _only_asks(found)
            return asks and effects <= {EffectKind.MPI} and _only_locals(written, inner)
    return False


def _only_asks(call: MpiCall) -> bool:
    """Whether a call is an inquiry about a communicator or a datatype."""
    return all(
        parameter.direction.value == "in" or parameter.kind in ("RANK", "COMM_SIZE", "ERROR_CODE")
        for parameter in call.procedure.parameters
    )


def _only_locals(storages: frozenset[str], inner: Exchange) -> bool:
    for storage in storages:
        symbol = inner.scope.lookup(storage)
        if symbol is None or symbol.origin is not Origin.LOCAL or symbol.dims is not None:
            return False
        if symbol.attrs & {"save", "pointer", "target", "volatile"} or symbol.equivalenced:
            return False
    return True


def _is_error_check(conditions: tuple[Arg, ...], inner: Exchange) -> bool:
    """Whether it is ``ierr /= MPI_SUCCESS``, which is false after a successful exchange."""
    error = inner.call.error
    if not isinstance(error, Ref) or len(conditions) != 1:
        return False
    match conditions[0]:
        case Op(op="/=", operands=(Ref(name=name, args=None), other)) if name == error.name:
            return _is_success(other, inner)
        case Op(op="/=", operands=(other, Ref(name=name, args=None))) if name == error.name:
            return _is_success(other, inner)
    return False


def _is_success(expr: Expr, inner: Exchange) -> bool:
    if isinstance(expr, Lit):
        return expr.integer == 0
    return mpi_constant(expr, inner.scope) == "mpi_success"
