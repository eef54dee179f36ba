"""Dimensions that programs spell out in one subscript: delinearisation.

    s(nb*m*q + nb*(k - 1) + j)                     ! q >= 0, 1 <= k <= m, 1 <= j <= nb

is element ``(j, k, q)`` of an array with the extents ``nb``, ``m`` and more.  The coefficients of
the loop variables are the strides of such dimensions, if each divides the next one.  Whoever asks
has to prove that the index of each dimension but the last one stays in it: only then is the element
of other indices another one (Maslov 1992; Grosser et al. 2015).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr
from asphalt.ir.records import record

_ONE = Poly.constant(1)

Ends = tuple[Poly | None, Poly | None]
"""The least and the greatest value of a loop variable; None: unknown."""


@record
class FlatDimensions:
    """The strides of the dimensions, in elements, the fastest one first: 1, and multiples of each
    other."""

    strides: tuple[Poly, ...]

    @property
    def extents(self) -> tuple[Poly, ...]:
        """The extents of all dimensions but the last one, which has no known end."""
        found = [
            big.divided_by(small)
            for small, big in zip(self.strides, self.strides[1:], strict=False)
        ]
        return tuple(extent for extent in found if extent is not None)

    def indices(self, value: Poly, ends: Mapping[Expr, Ends]) -> tuple[Poly, ...] | None:
        """The index in each dimension, from 0, of the element with a flat index from 0; None: the
        flat index is not linear in the loop variables.

        ``ends``: the loop variables, with their least and greatest values, if known.
        The indices add up to the flat index; that they stay in their dimensions is likely only.
        """
        indices = [Poly()] * len(self.strides)
        rest = value
        begin = Poly()
        for variable, (least, greatest) in sorted(ends.items(), key=repr):
            powers = rest.coefficients(variable)
            if not powers.keys() <= {0, 1}:
                return None
            factor = powers.get(1, Poly())
            if factor.atoms & ends.keys():
                return None
            low = (greatest if _is_negative(factor) else least) or Poly()
            rest = powers.get(0, Poly())
            number, times = self._dimension(factor)
            moved = Poly.atom(variable) - low
            indices[number] += times * moved
            begin += factor * low
        for number in range(len(self.strides) - 1, 0, -1):
            whole, rest_of = _divided(rest + begin, self.strides[number])
            indices[number] += whole
            rest, begin = rest_of, Poly()
        indices[0] += rest + begin
        return tuple(indices)

    def run(self, length: Poly) -> tuple[int, Poly]:
        """The slowest dimension of which a run of elements can be whole steps, and their number."""
        number, steps = self._dimension(length)
        return number, steps

    def _dimension(self, factor: Poly) -> tuple[int, Poly]:
        """The slowest dimension whose stride divides a factor, and the quotient."""
        for number in range(len(self.strides) - 1, 0, -1):
            times = factor.divided_by(self.strides[number])
            if times is not None:
                return number, times
        return 0, factor


def flat_dimensions(
    values: Iterable[tuple[Poly, Iterable[Expr]]], block: Poly | None
) -> FlatDimensions | None:
    """The dimensions that the coefficients of loop variables in some flat indices show; None: they
    do not divide each other, or there is one dimension only.

    ``block``: a stride beyond which the indices are not told apart.
    """
    found: set[Poly] = set()
    for value, variables in values:
        for variable in variables:
            powers = value.coefficients(variable)
            if not powers.keys() <= {0, 1}:
                return None
            factor = powers.get(1, Poly())
            if factor.terms:
                found.add(-factor if _is_negative(factor) else factor)
    if block is not None and any(one.divided_by(block) is not None for one in found):
        found = {one for one in found if one.divided_by(block) is None} | {block}
    chain: list[Poly] = [_ONE]
    left = found - {_ONE}
    while left:
        least = [a for a in left if all(b.divided_by(a) is not None for b in left)]
        if not least or least[0].divided_by(chain[-1]) is None:
            return None
        chain.append(least[0])
        left -= {least[0]}
    return FlatDimensions(tuple(chain)) if len(chain) > 1 else None


def _is_negative(poly: Poly) -> bool:
    return all(coefficient < 0 for _, coefficient in poly.terms)


def _divided(value: Poly, stride: Poly) -> tuple[Poly, Poly]:
    """A quotient and a rest; where both are numbers, the rest is at least 0 and less than the
    stride."""
    exact = value.divided_by(stride)
    if exact is not None:
        return exact, Poly()
    whole = Poly()
    for monomial, factor in value.terms:
        part = Poly.of({monomial: factor})
        quotient = part.divided_by(stride)
        if quotient is None and not monomial and stride.value:
            quotient = Poly.constant(factor // stride.value)
        whole += quotient or Poly()
    rest = value - whole * stride
    if (rest.value or 0) < 0 and stride.value is None:
        return whole - _ONE, rest + stride
    return whole, rest
