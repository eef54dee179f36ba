"""Guards that need not be written: they follow from others, or the runtime checks them itself.

An equality is left out if it is one of the equalities that the runtime checks once the guards that
stay hold: each of these gives the value of one name in terms of others, and with these values both
equalities are the same polynomial.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Contiguous, Divides, Guard
from asphalt.ir.expr import Expr, Ref

AnyGuard = Guard | Divides | Contiguous
_ONE = Poly.constant(1)


def written_guards(
    guards: Iterable[AnyGuard],
    known: Iterable[Poly],
    checked: Sequence[Poly],
    divided: tuple[Poly, Poly] | None,
) -> tuple[AnyGuard, ...]:
    """The guards without those that follow.

    ``known``: polynomials that other guards find to be 0.  ``checked``: those that the runtime
    finds to be 0.  ``divided``: two numbers of which it checks that the second divides the first,
    both of them positive.
    """
    known = tuple(known)
    kept = list(dict.fromkeys(guards))
    for guard in tuple(kept):
        others = [other for other in kept if other is not guard]
        match guard:
            case Divides(count=count, unit=unit) if (count, unit) == divided:
                kept = others
            case Guard(left=left, relation="==", right=right):
                equal = (
                    one.left - one.right
                    for one in others
                    if isinstance(one, Guard) and one.relation == "=="
                )
                values = _values((*known, *equal))
                found = _with(left - right, values)
                zeros = [Poly(), *(_with(one, values) for one in checked)]
                if any(found in (zero, -zero) for zero in zeros):
                    kept = others
            case _:
                pass
    return tuple(kept)


def with_upper_bounds(size: Poly) -> Poly:
    """The size with UBOUND of a dimension in place of LBOUND + SIZE - 1, which it is (F2018
    16.9.196)."""
    for atom in sorted(size.atoms, key=repr):
        if not isinstance(atom, Ref) or atom.name != "lbound":
            continue
        extent = Ref("size", "size", atom.args)
        rest = size - Poly.atom(atom) - Poly.atom(extent) + _ONE
        if not rest.atoms & {atom, extent}:
            return with_upper_bounds(rest + Poly.atom(Ref("ubound", "ubound", atom.args)))
    return size


def _equalities(guards: Iterable[AnyGuard]) -> Iterator[Poly]:
    """What equalities say to be 0."""
    for guard in guards:
        if isinstance(guard, Guard) and guard.relation == "==":
            yield guard.left - guard.right


def _values(zeros: Iterable[Poly]) -> list[tuple[Expr, Poly]]:
    """The values of names that follow from polynomials that are 0."""
    found: list[tuple[Expr, Poly]] = []
    for given in zeros:
        zero = _with(given, found)
        for atom in sorted(zero.atoms, key=repr):
            powers = zero.coefficients(atom)
            if powers.keys() <= {0, 1} and powers[1] in (_ONE, -_ONE):
                rest = powers.get(0, Poly())
                found.append((atom, -rest if powers[1] == _ONE else rest))
                break
    return found


def _with(size: Poly, values: Iterable[tuple[Expr, Poly]]) -> Poly:
    """The polynomial with the values of names in their place, in this order."""
    for atom, value in values:
        total, power = Poly(), _ONE
        powers = size.coefficients(atom)
        for number in range(max(powers, default=0) + 1):
            total += powers.get(number, Poly()) * power
            power = power * value
        size = total
    return size
