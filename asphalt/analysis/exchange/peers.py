"""The ranks that a loop visits: each one of a communicator once, with or without its own.

    do step = 1, ranks - 1                         do p = 0, ranks - 1
      p = modulo(me + step, ranks)                   if (p == me) cycle

The peer of a message is a function of the loop variable.  It takes every value from 0 to
``ranks - 1`` once if it is the variable itself (shifted), or the variable plus or minus an
invariant modulo the number of iterations; with one iteration less, it leaves out the rank itself.
The run checks that ``ranks`` is the size of the communicator, and that the rank is its own.
"""

from __future__ import annotations

from asphalt.analysis.symbolic.polynomials import Poly, folded_expr, poly
from asphalt.ir.expr import Expr, Op, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do

_ONE = Poly.constant(1)
_CYCLIC = ("modulo", "mod")


@record
class Peers:
    """The ranks 0 to ``ranks - 1``, each once, without ``left_out``.

    ``left_out`` None: all of them.  ``own``: what has to be the number of the rank itself; None: it
    does not matter.
    """

    ranks: Poly
    left_out: Poly | None
    own: Poly | None


def is_over_ranks(peer: Expr) -> bool:
    """Whether an expression for a rank goes around a ring of ranks (``modulo(me + step, n)``)."""
    inner = folded_expr(peer)
    return isinstance(inner, Ref) and inner.name in _CYCLIC and len(inner.args or ()) == 2


def peers_of(loop: Do, peer: Expr, own: Poly | None) -> Peers | str:
    """The ranks that ``peer`` is in the iterations of a loop; else why it is not known.

    ``own``: the value that a condition around the messages leaves out, if there is one.
    """
    head = loop.head.what
    assert isinstance(head, DoHead)
    if head.var is None or head.first is None or head.last is None or head.step is not None:
        return "the loop over the ranks does not count from the first to the last one"
    variable = folded_expr(head.var)
    first, last = poly(head.first), poly(head.last)
    trips = last - first + _ONE
    folded = folded_expr(peer)
    if isinstance(folded, Ref) and folded.name in _CYCLIC and is_over_ranks(folded):
        return _around(folded, variable, first, trips, own)
    value = poly(folded) - Poly.atom(variable)
    if _varies(value, variable) or (value + first).value != 0:
        return "the ranks do not begin with 0, or one is left out between them"
    return Peers(trips, own, own)


def _around(peer: Ref, variable: Expr, first: Poly, trips: Poly, own: Poly | None) -> Peers | str:
    """The ranks ``modulo(value, ranks)`` with a value that follows the loop variable."""
    value, ranks = (poly(arg) for arg in peer.args or ())  # type: ignore[arg-type]
    powers = value.coefficients(variable)
    slope = powers.get(1, Poly()).value
    if powers.keys() - {0, 1} or slope not in (1, -1) or _varies(ranks, variable):
        return "the rank does not follow the loop variable"
    missing = (ranks - trips).value
    if missing not in (0, 1):
        return "the loop does not visit every rank"
    beginning = powers.get(0, Poly()) + Poly.constant(slope) * (first - Poly.constant(missing))
    rank, rounds = _within(beginning, ranks)  # in the turn that is left out, or in the first one
    if peer.name == "mod" and rounds < (0 if slope > 0 else 1):
        return "MOD of a difference may be negative; MODULO is not"
    if missing == 0:
        return Peers(ranks, own, rank if own is None and peer.name == "mod" else own)
    if own is not None and own != rank:
        return "the loop leaves out two ranks"
    return Peers(ranks, rank, rank)


def _within(value: Poly, ranks: Poly) -> tuple[Poly, int]:
    """A value without the multiples of ``ranks`` in it, and their number."""
    monomials = dict(ranks.terms)
    if len(monomials) != 1:
        return value, 0
    ((monomial, factor),) = monomials.items()
    rounds = dict(value.terms).get(monomial, 0) // factor
    return value - Poly.constant(rounds) * ranks, rounds


def _varies(value: Poly, variable: Expr) -> bool:
    return any(_mentions(atom, variable) for atom in value.atoms)


def _mentions(atom: Expr, variable: Expr) -> bool:
    return isinstance(variable, Ref) and variable.name in names_in(atom)


def unequal(condition: Expr) -> tuple[Expr, Expr] | None:
    """The two sides of ``a /= b`` or ``.not. a == b``; None for other expressions."""
    match condition:
        case Op(op="()", operands=(inner,)):
            return unequal(inner)
        case Op(op="/=", operands=(a, b)):
            return a, b
        case Op(op=".not.", operands=(inner,)):
            return equal(inner)
    return None


def equal(condition: Expr) -> tuple[Expr, Expr] | None:
    """The two sides of ``a == b``; None for other expressions."""
    match condition:
        case Op(op="()", operands=(inner,)):
            return equal(inner)
        case Op(op="==", operands=(a, b)):
            return a, b
    return None
