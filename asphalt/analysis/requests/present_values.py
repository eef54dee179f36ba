"""Request arrays whose subscripts are named constants: ``r(west)``, ``r(east)``.

A proof holds for any values of the constants.  Where two starts have different elements now, other
values that make them one element lose the first request while its operation is in progress, so that
nothing can complete it.  Where one completion has the request of a start now, other values under
which it has not leave the operation incomplete, if no other call may have the request.  Either
makes the program erroneous: a process completes all operations before it calls MPI_FINALIZE
(MPI-4.0 section 11.2.2).  So the present values decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.mpi.library_effects import Quantity
from asphalt.analysis.names.constants import value_now
from asphalt.analysis.requests.operations import Does, Operation
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Expr, Lit


def is_not_zero_now(values: Values, distance: Poly | None) -> bool:
    """Whether a difference of subscripts is another number than 0, by the present values of named
    constants."""
    return distance is not None and _now(values, distance) not in (None, 0)


def alone_complete_now(values: Values, start: Operation, ends: Sequence[Operation]) -> bool:
    """Whether calls that complete the same requests of an array have that of a start, by the
    present values of named constants; ``ends``: all calls that may have it."""
    element = _element_now(values, start)
    if element is None or start.does is not Does.START or not ends:
        return False
    ranges = {_range(values, end) for end in ends}
    if len(ranges) != 1 or None in ranges:
        return False
    return all(_has_now(values, element, end) for end in ends)


def _element_now(values: Values, operation: Operation) -> int | None:
    """The number of the one element that an operation has now; None: it has no such."""
    if operation.first is None or operation.count is not None or operation.storage is None:
        return None
    return _now(values, values.polynomial(operation.first, operation.leaf))


def _range(values: Values, end: Operation) -> tuple[Poly, Poly] | None:
    """The first request and the number of requests of a call that certainly completes them."""
    sure = end.does is Does.COMPLETE and end.certain and end.quantity is Quantity.ALL
    if not sure or end.first is None:
        return None
    low = values.polynomial(end.first, end.leaf)
    if end.count is None:
        return low, Poly.constant(1)
    return low, values.polynomial(end.count, end.leaf)


def _has_now(values: Values, element: int, end: Operation) -> bool:
    found = _range(values, end)
    assert found is not None
    low, count = (_now(values, one) for one in found)
    return low is not None and count is not None and low <= element < low + count


def _now(values: Values, number: Poly) -> int | None:
    """The number that a polynomial is with the present values of named constants."""

    def present(part: Expr) -> Expr | None:
        value = value_now(part, values.scope)
        return None if value is None else Lit("integer", str(value))

    return poly(number.expression(), present).value
