"""Uniformity against real runs: in whole random programs, every variable that is proved uniform at
a place has the same value on all ranks there.

The programs are compiled together and run on three ranks, with several inputs; each records all its
variables wherever it looks at them.  Half of the inputs differ between ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.uniformity.uniformity import Level, Uniform, Uniformity
from asphalt.ir.expr import Lit, Ref
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, leaves
from support.fortran_program import FortranProgram
from support.mpi_run import OPENMPI, build, installed, run

RANKS = 3
INPUTS = ([1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5], [4, -1, 3, 0, 7, 2])
LOCALS = ("a", "b", "c", "k")
SEEN = (*LOCALS, "g", "h", "e(1)", "e(2)", "t%x", "t%y", "d")

FEW = """
module few
  use mpi, only: MPI_Comm_rank, MPI_Comm_size, MPI_Comm_split, MPI_Comm_dup, &
    MPI_Bcast, MPI_Allreduce, MPI_Sendrecv, MPI_Scan, &
    MPI_Reduce, MPI_COMM_WORLD, MPI_INTEGER, MPI_MAX, MPI_SUM, &
    MPI_STATUS_IGNORE, MPI_IN_PLACE
  type pair
    integer :: x, y
  end type
end module
"""
LOOK = "subroutine look(place, {0})\n  integer, intent(in) :: place, {0}\nend subroutine\n".format(
    ", ".join(f"v{number}" for number in range(len(SEEN)))
)
RECORDER = LOOK.replace(
    "end subroutine",
    "  write(20, *) place, " + ", ".join(f"v{n}" for n in range(len(SEEN))) + "\nend subroutine",
)


@dataclass(slots=True)
class Writer:
    """Writes one random module.  Collectives stand where all ranks come by, so that it never hangs;
    loops are short, numbers stay small.  ``alike``: nothing in it differs between ranks."""

    random: Random
    number: int
    alike: bool
    places: int = 0
    loops: int = 0
    labels: int = 10

    def module(self) -> str:
        number = self.number
        used = "\n".join(["call inside()", "call change(a, 1, b, k)", "call store(1)"])
        body = "\n".join([*self.statements(self.random.randint(5, 9), 0), self.look(), used])
        inner = "\n".join(self.quiet(2))
        helper = "\n".join(self.quiet(2))
        me = "np" if self.alike else "me"
        return f"""
module m{number}
  use few
  implicit none
  integer :: g = 2
contains
  subroutine case{number}()
    integer :: h, hh
    common /block{number}/ h, hh
    type(pair) :: t, u
    integer :: a, b, c, d, k, e(2), me, np, ierr, i1, i2, i3, row, part, other, copy
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, min(me, 1), 0, row, ierr)
    call MPI_Comm_split(row, modulo(me, 2), 0, part, ierr)
    call MPI_Comm_dup(row, copy, ierr)
    call made(modulo(me, 2), other)
    call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
    a = 1
    b = np
    c = {me}
    d = 3
    k = 0
    i1 = 0
    i2 = 0
    i3 = 0
    e = 1
    h = 2
    hh = 5
    t = pair(np, 1)
    u = pair(2, {me})
{body}
  contains
    subroutine inside()
{inner}
    end subroutine
  end subroutine
  subroutine change(a, b, c, k)
    integer, intent(inout) :: a
    integer, value :: b
    integer :: c, k, d, h, e(2), np, me
    type(pair) :: t
    d = 4
    h = 1
    np = 1
    me = a
    e = 2
    t = pair(1, 2)
{helper}
  end subroutine
  subroutine agree(comm, a, b)
    integer, intent(in) :: comm
    integer :: a, b, ierr
    integer, save :: kept = 0
    b = modulo(b + kept, 7)
    call MPI_Allreduce(a, kept, 1, MPI_INTEGER, MPI_MAX, comm, ierr)
  end subroutine
  subroutine given(comm, a, b)
    integer, intent(in) :: comm
    integer :: a, b, ierr
    call MPI_Allreduce(a, b, 1, MPI_INTEGER, MPI_MAX, comm, ierr)
  end subroutine
  subroutine made(color, comm)
    integer, intent(in) :: color
    integer, intent(out) :: comm
    integer :: ierr
    call MPI_Comm_split(MPI_COMM_WORLD, color, 0, comm, ierr)
  end subroutine
  subroutine early(a, b)
    integer :: a, b
    if (b > 1) return
    a = 7
  end subroutine
  subroutine store(a)
    integer, intent(in) :: a
    integer :: h, hh
    common /block{number}/ h, hh
    g = modulo(a, 5)
    if (a > 2) hh = a
  end subroutine
  integer function counted(a)
    integer, intent(in) :: a
    integer, save :: calls = 0
    calls = modulo(calls + 1, 9)
    counted = a + calls
  end function
  integer function twice(a)
    integer, intent(in) :: a
    twice = modulo(2*a, 17)
  end function
  recursive integer function down(a) result(b)
    integer, intent(in) :: a
    b = 0
    if (a > 0 .and. a < 9) b = down(a - 1) + 1
  end function
  integer function most(a)
    integer, intent(in) :: a
    integer :: ierr
    most = a
    call MPI_Allreduce(a, most, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    most = modulo(most, 7)
  end function
  integer function partial(a, b) result(c)
    integer, intent(in) :: a, b
    integer :: ierr
    call MPI_Allreduce(a, c, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (b > 1) c = a
  end function
  subroutine reduced(a, b)
    integer, intent(in) :: a
    integer, intent(out) :: b
    integer :: ierr
    b = a
    call MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  end subroutine
end module
"""

    def quiet(self, count: int) -> list[str]:
        """Statements without collectives, jumps and records, of a small procedure."""
        found = []
        for _ in range(count):
            line = f"{self.variable()} = {self.expression(plain=True)}"
            if self.random.random() < 0.5:
                line = f"if ({self.expression(plain=True)} > {self.random.randint(0, 3)}) {line}"
            found.append(line)
        return found

    def statements(self, count: int, depth: int) -> list[str]:
        return [line for _ in range(count) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        kinds = ["assign"] * 5 + ["call"] * 4 + ["if"] * 3 + ["do"] * 2 + ["select", "while"]
        kinds += ["look", "struct", *([] if self.alike else ["read", "hidden"])]
        kinds += ["leave"] * 2 if self.loops else []
        kinds += ["shared"] * 3 + ["goto", "split"] if depth == 0 else []
        kinds += ["moved"] * 2 if depth == 0 and not self.alike else []
        match self.random.choice(kinds):
            case "assign":
                return [f"{self.variable()} = {self.expression()}"]
            case "struct":
                return [self.random.choice(["t = u", "u = t", "e = a"])]
            case "call":
                return [self.call()]
            case "if":
                lines = [f"if ({self.condition()}) then", *self.statements(2, depth + 1)]
                if self.random.random() < 0.3:
                    lines += [f"else if ({self.condition()}) then", *self.statements(1, depth + 1)]
                if self.random.random() < 0.4:
                    lines += ["else", *self.statements(1, depth + 1)]
                return [*lines, "end if"]
            case "do" if self.loops < 3:
                self.loops += 1
                head = f"do i{self.loops} = 1, modulo({self.expression()}, 4)"
                lines = [head, *self.statements(self.random.randint(1, 3), depth + 1), "end do"]
                self.loops -= 1
                return lines
            case "while" if self.loops < 3:
                self.loops += 1
                counter = f"i{self.loops}"
                condition = f"{counter} < 4 .and. {self.condition()}"
                inner = self.statements(1, depth + 1)
                lines = [f"{counter} = 0", f"do while ({condition})", f"{counter} = {counter} + 1"]
                self.loops -= 1
                return [*lines, *inner, "end do"]
            case "leave":
                return [f"if ({self.condition()}) {self.random.choice(['exit', 'cycle'])}"]
            case "select":
                return [
                    f"select case ({self.expression()})",
                    "case (:1)",
                    *self.statements(1, depth + 1),
                    "case (2)",
                    *self.statements(1, depth + 1),
                    "case default",
                    *self.statements(1, depth + 1),
                    "end select",
                ]
            case "goto":
                self.labels += 10
                label = self.labels
                inner = self.statements(2, 1)
                return [f"if ({self.condition()}) goto {label}", *inner, f"{label} continue"]
            case "read":
                return ["rewind(9)", f"read(9, *) {self.variable()}"]
            case "hidden":
                return [f"!$ {self.variable()} = {self.expression()}"]
            case "shared":
                return [self.shared(self.variable())]
            case "split":
                name = self.random.choice(["other", "other", "other", "row"])
                return [f"call made(modulo(me + {self.random.randint(0, 1)}, 2), {name})"]
            case "moved":
                return [self.moved(self.variable(), self.atom())]
            case "look":
                return [self.look()]
            case _:
                return [f"{self.variable()} = {self.random.randint(0, 3)}"]

    def shared(self, variable: str) -> str:
        return self.random.choice(
            [
                f"call MPI_Bcast({variable}, 1, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)",
                f"call MPI_Allreduce({self.atom()}, {variable}, 1, MPI_INTEGER, MPI_MAX, &\n"
                "  MPI_COMM_WORLD, ierr)",
                f"call MPI_Allreduce({self.atom()}, {variable}, 1, MPI_INTEGER, MPI_MAX, &\n"
                f"  {self.communicator()}, ierr)",
                f"call given({self.communicator()}, {self.atom()}, {variable})",
                f"call agree({self.communicator()}, {self.atom()}, {variable})",
                f"{variable} = most({self.atom()})",
                f"{variable} = partial({self.atom()}, {self.atom()})",
                f"call reduced({self.atom()}, {variable})",
            ]
        ).replace(f"{variable}, {variable}", f"np, {variable}")

    def communicator(self) -> str:
        return self.random.choice(["row", "row", "copy", "part", "other", "MPI_COMM_WORLD"])

    def moved(self, variable: str, sent: str) -> str:
        sent = "me" if sent == variable else sent
        return self.random.choice(
            [
                f"call MPI_Sendrecv({sent}, 1, MPI_INTEGER, modulo(me + 1, np), 0, &\n"
                f"  {variable}, 1, MPI_INTEGER, modulo(me - 1, np), 0, &\n"
                "  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)",
                f"call MPI_Scan({sent}, {variable}, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)",
                f"call MPI_Reduce({sent}, {variable}, 1, MPI_INTEGER, MPI_SUM, 0, &\n"
                "  MPI_COMM_WORLD, ierr)",
            ]
        )

    def look(self) -> str:
        self.places += 1
        return f"call look({self.number}*100 + {self.places}, {', '.join(SEEN)})"

    def call(self) -> str:
        first, second, third = self.random.sample(LOCALS, 3)
        return self.random.choice(
            [
                f"call change({first}, {self.expression()}, {second}, {third})",
                f"call early({first}, {second})",
                f"call store({self.expression()})",
                "call inside()",
            ]
        )

    def variable(self) -> str:
        return self.random.choice((*LOCALS, "g", "e(1)", "e(2)", "t%x", "t%y", "d", "h"))

    def atom(self, plain: bool = False) -> str:
        atoms = [*LOCALS, *LOCALS, "g", "e(2)", "t%x", "np", str(self.random.randint(0, 4))]
        atoms += ["np" if self.alike else "me"]
        if not plain:
            atoms += ["h", "d", *(f"i{k}" for k in range(1, self.loops + 1))]
        return self.random.choice(atoms)

    def expression(self, plain: bool = False) -> str:
        forms = ["{}", "{}", "{}", "modulo({} + {}, 9)", "modulo({} - {}, 7)", "max({}, {})"]
        forms += ["twice({})", "merge({}, {}, a > 1)", "size(e) + {}", "down({})"]
        forms += [] if plain else ["counted({})"]
        return self.random.choice(forms).format(self.atom(plain), self.atom(plain))

    def condition(self) -> str:
        return f"{self.expression()} {self.random.choice(['>', '==', '<'])} {self.atom()}"


@dataclass(frozen=True, slots=True)
class Claims:
    """What is claimed about one program: by place, the level of the way to it and, in the order of
    ``SEEN``, of the values there.  ``of_row``: the same over the communicator of ranks 1 and 2."""

    places: dict[int, tuple[Level, tuple[Level, ...]]]
    of_row: dict[int, tuple[Level, tuple[Level, ...]]]
    alike: bool
    text: str


def claims(number: int, alike: bool, module: str) -> Claims:
    main = (
        f"program p\nuse mpi\nuse m{number}\ninteger :: ierr\ncall MPI_Init(ierr)\n"
        f"call case{number}()\ncall MPI_Finalize(ierr)\nend program\n"
    )
    program = FortranProgram(main, module, FEW, LOOK)
    scopes = Scopes(program)
    uniformity = Uniformity(scopes)
    located = program.at(f"m{number}", f"case{number}")
    scope = scopes.of(located)
    looks = [leaf for node in located.unit.body for leaf in leaves(node) if _is_look(leaf)]
    found, of_row = (
        {_place(leaf): _levels(leaf, scope, uniformity, Ref(comm, comm)) for leaf in looks}
        for comm in ("mpi_comm_world", "row")
    )
    return Claims(found, of_row, alike, module)


def _is_look(leaf: Leaf) -> bool:
    return isinstance(leaf.what, Call) and leaf.what.procedure == Ref("look", "look")


def _place(leaf: Leaf) -> int:
    assert isinstance(leaf.what, Call)
    place = leaf.body.split("+")[1].split(",")[0] if leaf.body else ""
    return int(place)


def _levels(
    leaf: Leaf, scope: Scope, uniformity: Uniformity, comm: Ref
) -> tuple[Level, tuple[Level, ...]]:
    assert isinstance(leaf.what, Call)
    levels = []
    for arg in leaf.what.args[1:]:
        assert not isinstance(arg, Lit)
        found = uniformity.value(arg, scope, leaf, comm)  # type: ignore[arg-type]
        levels.append(Level.UNIFORM if isinstance(found, Uniform) else found.level)
    return uniformity.reached(scope, leaf, comm).level, tuple(levels)


def driver(numbers: range) -> str:
    lines = ["program driver", "use mpi"]
    lines += [f"use m{number}, only: case{number}" for number in numbers]
    lines += [
        "integer :: me, ierr",
        "character(len=8) :: name",
        "call MPI_Init(ierr)",
        "call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)",
        "write(name, '(a,i0)') 'out', me",
        "open(20, file=name, status='replace')",
        "write(name, '(a,i0)') 'in', me",
        "open(9, file=name, status='old')",
        *(f"call case{number}()" for number in numbers),
        "close(20)",
        "call MPI_Finalize(ierr)",
        "end program",
    ]
    return "\n".join([*lines, ""])


Record = dict[int, list[tuple[int, ...]]]


def recorded(path: Path) -> Record:
    """What one rank saw: by place, its values at each visit."""
    words = [int(word) for word in path.read_text().split()]
    found: Record = {}
    width = len(SEEN) + 1
    for start in range(0, len(words), width):
        place, *values = words[start : start + width]
        found.setdefault(place, []).append(tuple(values))
    return found


def runs(source: Path, folder: Path) -> Iterator[list[Record]]:
    """What the ranks see, for each of the inputs."""
    program = build(OPENMPI, [source], folder, ["-O0", "-fopenmp", "-w"])
    for values in INPUTS:
        for rank in range(RANKS):
            (folder / f"in{rank}").write_text(f"{values[rank]}\n")
        outcome = run(OPENMPI, program, RANKS)
        assert outcome.code == 0, outcome.stderr
        yield [recorded(folder / f"out{rank}") for rank in range(RANKS)]


@dataclass(slots=True)
class Share:
    """How many values are the same on all ranks wherever they are seen, and how many of these are
    proved to be; of them, those of programs in which nothing differs.  ``proved_of_row``: to be the
    same on two of the ranks."""

    same: int = 0
    proved: int = 0
    alike: int = 0
    alike_proved: int = 0
    proved_of_row: int = 0


def _check(
    claimed: tuple[Level, tuple[Level, ...]],
    seen: list[list[list[tuple[int, ...]]]],
    where: str,
    alike: bool,
    share: Share,
    all_ranks: bool,
) -> None:
    """Assert what is claimed about one place, where some ranks have seen its values."""
    reached, levels = claimed
    together = all(len({len(visits) for visits in ranks}) == 1 for ranks in seen)
    assert together or reached is not Level.UNIFORM, where
    for index, level in enumerate(levels):
        # without a common order of visits, at least all values of a single visit
        values = [[[v[index] for v in visits] for visits in ranks] for ranks in seen]
        single = all(len(visits) <= 1 for ranks in values for visits in ranks)
        if together:
            same = all(ranks[0] == other for ranks in values for other in ranks)
        elif single:
            same = all(len({v[0] for v in ranks if v}) <= 1 for ranks in values)
        else:
            continue
        assert same or level is not Level.UNIFORM, f"{SEEN[index]}: {where}"
        if not all_ranks:
            share.proved_of_row += level is Level.UNIFORM
            continue
        share.same += same
        share.proved += level is Level.UNIFORM
        share.alike += alike
        share.alike_proved += alike and level is Level.UNIFORM


def compare(seed: int, programs: int, folder: Path) -> Share:
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(1, programs + 1)
    random = Random(seed)
    modules = [Writer(random, number, number % 3 == 0).module() for number in numbers]
    claimed = [claims(n, n % 3 == 0, text) for n, text in zip(numbers, modules, strict=True)]
    source = folder / "driver.f90"
    source.write_text("\n".join([FEW, *modules, RECORDER, driver(numbers)]))
    all_runs = list(runs(source, folder))
    share = Share()
    for number, claim in zip(numbers, claimed, strict=True):
        for places, ranks in ((claim.places, (0, 1, 2)), (claim.of_row, (1, 2))):
            for place, claimed_there in places.items():
                key = number * 100 + place
                seen = [[one_run[rank].get(key, []) for rank in ranks] for one_run in all_runs]
                where = f"seed {seed}, look {place}, ranks {ranks}: {seen}\n{claim.text}"
                _check(claimed_there, seen, where, claim.alike, share, len(ranks) == RANKS)
    return share


needs_mpi = pytest.mark.skipif(not installed(OPENMPI), reason="needs Open MPI")


@needs_mpi
def test_values_proved_uniform_are_the_same(tmp_path: Path) -> None:
    share = compare(1, 30, tmp_path)
    # what is the same by chance cannot be proved
    assert share.proved > share.same // 4, share
    assert share.alike_proved > share.alike * 3 // 4, share
    assert share.proved_of_row > share.proved, share


@pytest.mark.wide
@needs_mpi
@settings(
    max_examples=12,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32))
def test_values_of_many_programs(seed: int, tmp_path: Path) -> None:
    compare(seed, 40, tmp_path / str(seed))
