"""Affine expressions as text for isl, over parameters named by their meaning."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from asphalt.analysis.symbolic.polynomials import Monomial, Poly
from asphalt.ir.expr import Expr, Ref

Parameters = tuple[tuple[str, Monomial], ...]


@dataclass(slots=True)
class Affine:
    """Translates polynomials to isl text over named parameters, and records what these mean.

    ``varying`` are the variables of loops: a product with one of them is not affine.  The name of a
    parameter follows from its meaning, so that parameters of two sets with the same meaning are the
    same parameter.
    """

    varying: frozenset[str] = frozenset()
    parameters: dict[str, Monomial] = field(default_factory=dict)

    def text(self, poly: Poly) -> str | None:
        """The polynomial as isl text; None: not affine."""
        parts = ["0"]
        for monomial, coefficient in poly.in_order:
            if not monomial:
                parts.append(str(coefficient))
                continue
            if len(monomial) > 1 and any(self._varies(atom) for atom in monomial):
                return None
            parts.append(f"{coefficient}*{self.name(monomial)}")
        return " + ".join(parts)

    def _varies(self, atom: Expr) -> bool:
        return isinstance(atom, Ref) and atom.args is None and atom.name in self.varying

    def name(self, monomial: Monomial) -> str:
        """The name of the parameter that stands for a product of atoms."""
        name = "p" + hashlib.blake2b(repr(monomial).encode(), digest_size=8).hexdigest()
        self.parameters[name] = monomial
        return name
