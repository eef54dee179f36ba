"""Bit for bit: a compiler must not compute other last digits because a loop is cut into tiles.

The order of operations in the source is preserved.  But where the tiled loop is innermost, its trip
count becomes the tile's, and a compiler that vectorises it calls a vector version of a function for
some elements and the scalar one for others; the two differ in the last digit.  Operations that
IEEE 754 rounds correctly (+ - * / and the square root) give the same bits either way.
"""

from __future__ import annotations

from asphalt.analysis.invoked import invoked
from asphalt.analysis.libraries import is_library_call
from asphalt.analysis.nest import Phase, Producer
from asphalt.analysis.symbols import Origin, Scope
from asphalt.analysis.verdict import Answer, Code, Holds
from asphalt.analysis.words import words
from asphalt.assumptions import BITS
from asphalt.ir.expr import Arg, Op, OpaqueExpr, Ref, walk
from asphalt.ir.stmt import Assign, Call, DoHead, Guarded, What
from asphalt.ir.tree import leaves

LAST_DIGITS = Code(
    "ASP903",
    "last digits may change",
    "The tiled loop is the innermost one and evaluates functions such as SIN or EXP, or a power.  "
    "With a tile's trip count a compiler may use their vector versions for other elements than "
    "before, which changes last digits.",
    "Put a loop inside (tile an outer loop), switch the vectorisation of this file off, or accept "
    "it with `--assume bits` or a directive `!$asphalt assume(bits)` in front of the call.",
    9,
)

CODES = (LAST_DIGITS,)
_DEPTH = 6  # calls that are followed
_EXACT = words(
    """
    abs aimag aint anint ceiling cmplx conjg dble dconjg dcmplx dim floor iabs iachar iand ibclr
    ibits ibset ieor int ior ishft lbound max merge min mod modulo nint not real sign size sqrt
    ubound
    """
)


def check(producer: Producer) -> Answer:
    """Whether no phase has an innermost tiled loop with functions that are not exactly rounded."""
    for phase in producer.phases:
        if has_loop(phase):
            continue
        name = _inexact(phase, producer.exchange.scope)
        if name is not None:
            message = (
                f"the loop over {phase.variable} is innermost and evaluates {name}: last digits "
                "may change with the length of a tile"
            )
            return Holds(message, (BITS.word,))
    return Holds("cutting the loops into tiles leaves no operation another choice of rounding")


def _inexact(phase: Phase, scope: Scope) -> str | None:
    for node in phase.tiled.body:
        for leaf in leaves(node):
            if isinstance(leaf.what, Call) and not _loops(leaf.what, scope):
                return "a procedure that may be expanded in place"
            for expr in _evaluated(leaf.what):
                for part in walk(expr):
                    found = _inexact_part(part, scope)
                    if found is not None:
                        return found
    return None


def has_loop(phase: Phase) -> bool:
    """Whether the tiled loop has a loop inside, here or in a procedure that it calls."""
    return any(isinstance(leaf.what, DoHead) for node in phase.tiled.body for leaf in leaves(node))


def _loops(call: Call, scope: Scope, depth: int = _DEPTH) -> bool:
    """Whether a procedure has a loop, or calls one that has."""
    found = invoked(call, scope)
    if found is None or depth == 0:
        return is_library_call(call, scope)  # compiled elsewhere: never expanded in place
    located, _ = found
    inside = scope.scopes.of(located)
    actions = [leaf.what for node in located.unit.body for leaf in leaves(node)]
    return any(isinstance(what, DoHead) for what in actions) or any(
        isinstance(what, Call) and _loops(what, inside, depth - 1) for what in actions
    )


def _evaluated(what: What) -> tuple[Arg, ...]:
    match what:
        case Assign(target=target, value=value):
            return (target, value)
        case Guarded(condition=condition, action=action):
            return (condition, *_evaluated(action))
        case Call(procedure=procedure, args=args):
            return (procedure, *args)
    return ()


def _inexact_part(part: Arg, scope: Scope) -> str | None:
    match part:
        case Op(op="**"):
            return "a power"
        case OpaqueExpr(text=text):
            return text
        case Ref(name=name, spelled=spelled, args=args) if args is not None:
            symbol = scope.lookup(name)
            if symbol is not None and symbol.origin is Origin.INTRINSIC and name not in _EXACT:
                return spelled.upper()
            if symbol is None or (symbol.dims is None and symbol.origin is not Origin.INTRINSIC):
                return spelled
    return None
