"""The flow of values against real runs: what is proved uniform is the same on all ranks.

Random programs are judged, then all of them run on three ranks, which record what they see at the
statement that was asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from asphalt.analysis.names.scopes import Scopes
from asphalt.analysis.uniformity.uniformity import Level, Uniform, Uniformity
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.stmt import Call
from asphalt.ir.tree import leaves
from support.fortran_program import FortranProgram
from support.mpi_run import OPENMPI, build, installed, run

RANKS = 3
PROGRAMS = 60
SITE = "subroutine site(n)\ninteger, intent(in) :: n\nend subroutine\n"


# One small module instead of the large one in every program: that is what takes compilers long.
FEW = """
module few
  use mpi, only: MPI_Comm_rank, MPI_Comm_size, MPI_Bcast, MPI_Allreduce, MPI_COMM_WORLD, &
    MPI_INTEGER, MPI_MAX
  type pair
    integer :: x, y
  end type
end module
"""


class Writer:
    """Writes one random subroutine; it never blocks: collectives stand where all ranks come by."""

    VARIABLES = ("a", "b", "c", "n", "t%x", "t%y", "u%x")

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.seed = seed
        self.label = 10
        self.sites = 0
        self.loops = 0

    def module(self) -> str:
        body = "\n".join(self.statements(self.random.randint(3, 7), 0))
        if not self.sites:
            body += f"\n{self.site()}"
        return f"""
module k{self.seed}
  use few
  implicit none
  integer :: g = 2
contains
  subroutine set(x, y)
    integer :: x
    integer, intent(in) :: y
    x = y + 1
  end subroutine
  subroutine maybe(x, y)
    integer :: x, y
    if (y > 1) return
    x = 7
  end subroutine
  subroutine keep(x)
    integer, intent(in) :: x
    g = mod(x, 5)
  end subroutine
  integer function twice(x)
    integer, intent(in) :: x
    twice = 2*x
  end function
  subroutine case{self.seed}()
    type(pair) :: t, u
    integer :: a, b, c, n, me, np, i1, i2, i3, ierr
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
    a = 1
    b = 2
    c = np
    n = 3
    t = pair(np, 1)
    u = pair(2, np)
{body}
  end subroutine
end module
"""

    def statements(self, count: int, depth: int) -> list[str]:
        return [line for _ in range(count) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        kinds = ["copy"] + ["assign"] * 5 + ["call"] * 3 + ["if"] * 3 + ["do"] * 2 + ["site"] * 2
        kinds += ["leave"] * 2 if self.loops else ["shared"] * 2 if depth == 0 else []
        kinds += ["goto"] if depth == 0 else []
        match self.random.choice(kinds):
            case "assign":
                return [f"{self.variable()} = {self.expression()}"]
            case "copy":
                return [self.random.choice(["t = u", "u = t"])]
            case "call":
                return [self.call()]
            case "if":
                return [
                    f"if ({self.condition()}) then",
                    *self.statements(self.random.randint(1, 2), depth + 1),
                    *(
                        ["else", *self.statements(1, depth + 1)]
                        if self.random.random() < 0.4
                        else []
                    ),
                    "end if",
                ]
            case "do" if self.loops < 3:
                last = f"modulo({self.expression()}, 4)"
                self.loops += 1
                head = f"do i{self.loops} = 1, {last}"
                lines = [head, *self.statements(self.random.randint(1, 3), depth + 1), "end do"]
                self.loops -= 1
                return lines
            case "leave":
                jump = self.random.choice(["exit", "cycle"])
                return [f"if ({self.condition()}) {jump}"]
            case "goto":
                self.label += 10
                return [
                    f"if ({self.condition()}) goto {self.label}",
                    *self.statements(self.random.randint(1, 2), 1),
                    f"{self.label} continue",
                ]
            case "shared":
                variable = self.variable()
                return [
                    self.random.choice(
                        [
                            f"call MPI_Bcast({variable}, 1, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)",
                            f"call MPI_Allreduce(me, {variable}, 1, MPI_INTEGER, MPI_MAX, &\n"
                            "  MPI_COMM_WORLD, ierr)",
                        ]
                    )
                ]
            case "site" if not self.sites:
                return [self.site()]
            case _:
                return [f"{self.variable()} = {self.random.randint(0, 3)}"]

    def site(self) -> str:
        self.sites += 1
        return f"call site({self.expression()})"

    def call(self) -> str:
        first, second = self.random.sample(self.VARIABLES, 2)
        return self.random.choice(
            [
                f"call set({first}, {self.expression()})",
                f"call maybe({first}, {second})",
                f"call keep({self.expression()})",
            ]
        )

    def variable(self) -> str:
        return self.random.choice(self.VARIABLES)

    def atom(self) -> str:
        atoms = [*self.VARIABLES, *self.VARIABLES, "np", "g", "me", str(self.random.randint(0, 4))]
        atoms += [f"i{k}" for k in range(1, self.loops + 1)]
        return self.random.choice(atoms)

    def expression(self) -> str:
        form = self.random.choice(["{}", "{}", "{} + {}", "{} - {}", "twice({})", "max({}, {})"])
        return form.format(self.atom(), self.atom())

    def condition(self) -> str:
        return f"{self.expression()} {self.random.choice(['>', '==', '<'])} {self.atom()}"


@dataclass(frozen=True, slots=True)
class Judged:
    """What is claimed about the site of one program."""

    value: bool
    reached: Level
    text: str


def judged(number: int, module: str) -> Judged:
    main = (
        f"program p\nuse mpi\nuse k{number}\ninteger :: ierr\ncall MPI_Init(ierr)\n"
        f"call case{number}()\ncall MPI_Finalize(ierr)\nend program\n"
    )
    program = FortranProgram(main, module, FEW, SITE)
    scopes = Scopes(program)
    uniformity = Uniformity(scopes)
    located = program.at(f"k{number}", f"case{number}")
    world = Ref("mpi_comm_world", "MPI_COMM_WORLD")
    scope = scopes.of(located)
    for node in located.unit.body:
        for leaf in leaves(node):
            what = leaf.what
            if isinstance(what, Call) and what.procedure == Ref("site", "site"):
                argument = what.args[0]
                assert isinstance(argument, Expr)
                value = uniformity.value(argument, scope, leaf, world)
                reached = uniformity.reached(scope, leaf, world)
                return Judged(isinstance(value, Uniform), reached.level, module)
    raise AssertionError("no site")


RECORDER = """
subroutine site(n)
  integer, intent(in) :: n
  write(20, *) n
end subroutine
"""


def driver(numbers: range) -> str:
    lines = ["program driver", "use mpi"]
    lines += [f"use k{number}, only: case{number}" for number in numbers]
    lines += [
        "integer :: me, ierr",
        "character(len=8) :: name",
        "call MPI_Init(ierr)",
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)",
        "write(name, '(a,i0)') 'out', me",
        "open(20, file=name, status='replace')",
    ]
    for number in numbers:
        lines += [f"call case{number}()", "write(20, *) 'end'"]
    return "\n".join([*lines, "call MPI_Finalize(ierr)", "end program", ""])


def recorded(folder: Path, rank: int) -> list[list[int]]:
    """What one rank saw, by program."""
    found: list[list[int]] = [[]]
    for line in (folder / f"out{rank}").read_text().split():
        if line == "end":
            found.append([])
        else:
            found[-1].append(int(line))
    return found[:-1]


@pytest.mark.skipif(not installed(OPENMPI), reason="needs Open MPI")
def test_what_is_proved_uniform_is_the_same_on_all_ranks(tmp_path: Path) -> None:
    numbers = range(PROGRAMS)
    modules = [Writer(number).module() for number in numbers]
    claims = [judged(number, module) for number, module in zip(numbers, modules, strict=True)]
    text = "\n".join([FEW, *modules, RECORDER, driver(numbers)])
    source = tmp_path / "driver.f90"
    source.write_text(text)
    outcome = run(OPENMPI, build(OPENMPI, [source], tmp_path, ["-O0"]), RANKS)
    assert outcome.code == 0, outcome.stderr
    ranks = [recorded(tmp_path, rank) for rank in range(RANKS)]
    assert all(len(rank) == PROGRAMS for rank in ranks)
    for number, claim in zip(numbers, claims, strict=True):
        seen = [rank[number] for rank in ranks]
        if claim.reached is Level.UNIFORM:
            assert len({len(values) for values in seen}) == 1, f"{seen}\n{claim.text}"
            assert not claim.value or seen[0] == seen[1] == seen[2], f"{seen}\n{claim.text}"
        elif claim.value and all(len(values) <= 1 for values in seen):
            assert len({values[0] for values in seen if values}) <= 1, f"{seen}\n{claim.text}"
    # The generator is no proof of anything unless it covers both answers.
    assert sum(claim.value for claim in claims) > PROGRAMS // 8
    assert sum(not claim.value for claim in claims) > PROGRAMS // 8
    assert sum(claim.reached is Level.UNIFORM for claim in claims) > PROGRAMS // 8
    assert sum(claim.reached is Level.VARYING for claim in claims) > PROGRAMS // 20
