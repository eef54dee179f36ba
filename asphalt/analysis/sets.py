"""Integer sets: the one place where isl is used.

A *problem* is a conjunction of affine constraints over integer variables and symbolic parameters;
``sample`` answers whether it has a solution.  What isl cannot decide within its budget is
``UndecidedError``, which every caller must treat as "not proved".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from asphalt.analysis.algebra import Poly
from asphalt.ir.expr import Expr

_BUDGET = 200_000  # isl operations for one question


class UndecidedError(Exception):
    """isl ran out of its budget: nothing is proved."""


@dataclass(slots=True)
class Problem:
    """Affine constraints over named integer variables.

    Variables are named freely by the caller; atoms of polynomials that are not variables become
    parameters.  A constraint that is not affine is left out by ``add``, which says so: leaving out
    makes the set larger, which is sound wherever an empty set is what proves something.
    """

    variables: dict[str, str] = field(default_factory=dict)
    _parameters: dict[Expr | str, str] = field(default_factory=dict)
    _constraints: list[str] = field(default_factory=list)
    _preferred: list[str] = field(default_factory=list)

    def variable(self, name: str) -> str:
        """Declare a variable; gives the name it has inside (isl reserves some words)."""
        return self.variables.setdefault(name, f"v{len(self.variables)}")

    def affine(self, poly: Poly, bound: Mapping[Expr, str]) -> str | None:
        """The polynomial as isl text, with the atoms in ``bound`` as variables.

        A product without bound atoms is a parameter of its own.  None: not affine.
        """
        parts = ["0"]
        for monomial, coefficient in sorted(poly.terms, key=repr):
            inside = [atom for atom in monomial if atom in bound]
            if not monomial:
                parts.append(str(coefficient))
            elif not inside:
                key: Expr | str = monomial[0] if len(monomial) == 1 else repr(monomial)
                parts.append(f"{coefficient}*{self._parameter(key)}")
            elif len(monomial) == 1:
                parts.append(f"{coefficient}*{self.variable(bound[monomial[0]])}")
            else:
                return None
        return " + ".join(parts)

    def _parameter(self, key: Expr | str) -> str:
        if key not in self._parameters:
            self._parameters[key] = f"p{len(self._parameters)}"
            self._preferred.append(f"1 <= {self._parameters[key]} <= 6")
        return self._parameters[key]

    def add(self, left: Poly, relation: str, right: Poly, bound: Mapping[Expr, str]) -> bool:
        """Add ``left relation right`` (``= < <= > >=``); False: not affine, left out."""
        text = self.affine(left - right, bound)
        if text is None:
            return False
        self._constraints.append(f"{text} {relation} 0")
        return True

    def compare(self, left: str, relation: str, right: str, offset: int = 0) -> None:
        """Add ``left relation right + offset`` between two variables."""
        self._constraints.append(
            f"{self.variable(left)} {relation} {self.variable(right)} + {offset}"
        )

    def sample(self) -> dict[str, int] | None:
        """A solution (values of the variables), or None if there is none.

        Small parameters are preferred, for the reader's sake.  Raises UndecidedError.
        """
        solution = self._solve([*self._constraints, *self._preferred])
        return solution if solution is not None else self._solve(self._constraints)

    def _solve(self, constraints: Sequence[str]) -> dict[str, int] | None:
        context = isl.Context()
        context.set_max_operations(_BUDGET)
        names = list(self.variables.values())
        unknowns = [*self._parameters.values(), *names]
        body = " and ".join(constraints) or "1 = 1"
        try:
            found = isl.Set(f"{{ [{', '.join(unknowns)}] : {body} }}", context)
            if found.is_empty():
                return None
            point = found.sample_point()
            values = {
                name: int(point.get_coordinate_val(isl.dim_type.set, i).to_python())
                for i, name in enumerate(unknowns)
            }
        except isl.Error as error:
            raise UndecidedError(str(error)) from error
        return {name: values[inside] for name, inside in self.variables.items()}
