"""The text of a program: its procedures, modules and main program, in one file."""

from __future__ import annotations

from dataclasses import dataclass

from fuzz.body import MAIN_START, body, initial
from fuzz.names import Names
from fuzz.oddities import ODDITIES
from fuzz.program import Procedure, Program
from fuzz.storage import (
    allocations,
    declarations,
    effective_storage,
    extra_words,
    helpers,
    modules,
    passed,
)
from fuzz.text import fixed_form, free_form


@dataclass(frozen=True)
class Source:
    """A file of a program: ``name`` with its suffix."""

    name: str
    text: str


def render(program: Program, tag: str) -> Source:
    """The whole program ``tag``; all its global names begin with that."""
    units = [_unit(program, procedure, tag, k) for k, procedure in enumerate(program.procedures)]
    lines: list[str] = []
    for unit in units:
        for names in unit.names:
            lines += modules(names, program)
    in_module = [unit for unit in units if unit.home == "module"]
    if in_module:
        lines += [f"module {tag}_planes", "implicit none", "contains"]
        for unit in in_module:
            lines += unit.lines
        lines += [f"end module {tag}_planes"]
    for unit in units:
        for names in unit.names:
            lines += helpers(names)
            oddity = ODDITIES[names.exchange.odd]
            lines += _formatted(oddity.units, names)
        if unit.home == "procedure":
            lines += unit.lines
    lines += _main(program, units, tag)
    form = fixed_form if program.fixed else free_form
    return Source(f"{tag}{'.f' if program.fixed else '.f90'}", form(lines, program.upper))


@dataclass(frozen=True)
class _Unit:
    home: str
    lines: list[str]
    names: list[Names]
    call: list[str]
    declared: list[str]
    allocated: list[str]
    contained: list[str]


def known_sizes(program: Program) -> bool:
    """Whether n and nz are constants."""
    return program.known or any(
        e.storage in ("fixed", "common") or ODDITIES[e.odd].known for e in program.exchanges
    )


def _home(procedure: Procedure) -> str:
    explicit = any(e.storage == "assumed" for e in procedure.exchanges)
    return "module" if procedure.home == "procedure" and explicit else procedure.home


def _unit(program: Program, procedure: Procedure, tag: str, number: int) -> _Unit:
    home, known = _home(procedure), known_sizes(program)
    names: list[Names] = []
    for k, exchange in enumerate(procedure.exchanges):
        q = 1 + k + 4 * number
        storage = effective_storage(exchange, home)
        names.append(Names(tag, q, exchange, storage, extra_words(program, exchange, tag, q)))
    declared = [line for one in names for line in declarations(one, home)]
    allocated = [line for one in names for line in allocations(one, home)]
    text = [*allocated, *initial(names), *body(procedure, names, tag, number)]
    contained = [line for one in names for line in _contained(one)]
    if home == "main":
        return _Unit(home, text, names, [], declared, [], contained)
    dummies = [dummy for one in names for dummy in passed(one)[0]]
    actuals = [actual for one in names for actual in passed(one)[1]]
    sizes = ["np", "me"] if known else ["n", "nz", "np", "me"]
    name = f"{tag}_unit{number}"
    head = [f"subroutine {name}({', '.join([*sizes, *dummies])})", *_uses(program, names)]
    head += [f"integer, intent(in) :: {', '.join(sizes)}"]
    if known:
        head += [f"integer, parameter :: n = {program.n}, nz = {program.nz}"]
    lines = [*head, *_scalars(program, [number]), *declared, *text]
    if contained and home != "internal":
        lines += ["contains", *contained]
    lines += [f"end subroutine {name}"]
    call = [f"call {name}({', '.join([*sizes, *actuals])})"]
    outside = [line for one in names for line in passed(one)[2]]
    before = [line for one in names for line in passed(one)[3]]
    return _Unit(home, lines, names, [*before, *call], outside, before, [])


def _contained(names: Names) -> list[str]:
    return _formatted(ODDITIES[names.exchange.odd].contained, names)


def _formatted(lines: tuple[str, ...], names: Names) -> list[str]:
    return [part for line in lines for part in line.format(**names.known()).split("\n")]


def _uses(program: Program, names: list[Names], more: tuple[str, ...] = ()) -> list[str]:
    lines = [] if program.binding == "mpif.h" else [program.binding]
    for one in names:
        if one.storage == "module":
            lines.append(f"use {one.tag}_data{one.q}, only: s{one.q}, r{one.q}")
        if one.storage == "component":
            lines.append(f"use {one.tag}_types{one.q}, only: {one.tag}_box{one.q}")
    lines += more
    lines.append("implicit none")
    return [*lines, "include 'mpif.h'"] if program.binding == "mpif.h" else lines


def _scalars(program: Program, units: list[int]) -> list[str]:
    request = "type(MPI_Request)" if program.binding == "use mpi_f08" else "integer"
    return [
        "integer :: i, j, z, p, c, m, cnt, step, ierr, ix(16), iz(64)",
        f"real(8) :: x, y, u, v({'16' if not known_sizes(program) else 'n'})",
        *(f"{request} :: req{number}(2)" for number in units),
    ]


def _main(program: Program, units: list[_Unit], tag: str) -> list[str]:
    known = known_sizes(program)
    inside = [names for unit in units if unit.home == "main" for names in unit.names]
    modules_used = [f"use {tag}_planes"] if any(unit.home == "module" for unit in units) else []
    lines = [f"program {tag}", *_uses(program, inside, tuple(modules_used))]
    here = any(unit.home == "main" for unit in units)
    lines += ["integer :: np, me" if here else "integer :: np, me, ierr"]
    if known:
        lines += [f"integer, parameter :: n = {program.n}, nz = {program.nz}"]
    else:
        lines += ["integer :: n, nz"]
    own = [number for number, unit in enumerate(units) if unit.home == "main"]
    if own:
        lines += _scalars(program, own)
    for unit in units:
        lines += unit.declared
    lines += MAIN_START
    if not known:
        lines += [f"n = {program.n}", f"nz = {program.nz}"]
    for unit in units:
        repeat = program.twice and unit.home != "main"
        calls = unit.lines if unit.home == "main" else unit.call
        lines += calls
        if repeat:
            lines += [unit.call[-1]]
    lines += ["call MPI_Finalize(ierr)"]
    internal = [line for unit in units if unit.home == "internal" for line in unit.lines]
    contained = [line for unit in units for line in unit.contained]
    if internal or contained:
        lines += ["contains", *internal, *contained]
    return [*lines, f"end program {tag}"]
