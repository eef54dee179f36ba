"""Loop nests over an array ``s``: what the analysis sees, and every iteration by enumeration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.names.scopes import Scopes
from asphalt.ir.expr import Expr, Section
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do
from support.fortran_program import FortranProgram
from support.fortran_values import iterations, value

UNIT = """
subroutine unit(n, m, a)
  integer, intent(in) :: n, m
  real :: s(10,10), a(10,10)
  integer :: i, z
{body}
end subroutine unit
"""


@dataclass(frozen=True, slots=True)
class Nests:
    """The statements of a unit: their accesses to ``s``, and the region that they are."""

    accesses: tuple[Access, ...]
    region: Region

    @property
    def writes(self) -> tuple[Access, ...]:
        return tuple(access for access in self.accesses if access.writes)

    @property
    def reads(self) -> tuple[Access, ...]:
        return tuple(access for access in self.accesses if not access.writes)


def nests(body: str) -> Nests:
    program = FortranProgram(UNIT.format(body=body))
    scopes = Scopes(program)
    scope = scopes.of(program.at("unit"))
    effects = Effects(scopes)
    footprint = examine(scope.unit.body, effects.names(scope))
    first = scope.unit.body[0]
    assert isinstance(first, Do)
    region = Region(Values(scope, effects.names(scope)), first.head, footprint.written())
    return Nests(footprint.of("s"), region)


def points(
    access: Access, sizes: Mapping[str, int]
) -> Iterator[tuple[Mapping[str, int], tuple[int, ...]]]:
    """Every iteration of the loops around an access, with every element that it touches then."""

    def enter(loops: tuple[Do, ...], at: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        if not loops:
            yield at
            return
        head = loops[0].head.what
        assert isinstance(head, DoHead)
        assert head.first is not None
        assert head.last is not None
        step = 1 if head.step is None else value(head.step, at)
        name = loop_variable(loops[0])
        assert name is not None
        try:
            numbers = iterations(value(head.first, at), value(head.last, at), step)
        except ZeroDivisionError:
            return
        for number in numbers:
            yield from enter(loops[1:], {**at, name: number})

    assert access.subscripts is not None
    for at in enter(access.loops, sizes):
        try:
            ranges = [_numbers(subscript, at) for subscript in access.subscripts]
        except ZeroDivisionError:
            continue
        for element in product(*ranges):
            yield at, element


def _numbers(subscript: Expr | Section, at: Mapping[str, int]) -> list[int]:
    if isinstance(subscript, Section):
        lower = 1 if subscript.lower is None else value(subscript.lower, at)
        upper = 10 if subscript.upper is None else value(subscript.upper, at)
        step = 1 if subscript.stride is None else value(subscript.stride, at)
        return list(iterations(lower, upper, step)) if abs(upper - lower) < 100 else []
    return [value(subscript, at)]
