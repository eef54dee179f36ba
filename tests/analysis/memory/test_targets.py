"""Targets that are named directly are different storage; pointers may reach each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

_FIELDS = """\
module fields
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: n = 1000
{declared}contains
{procedures}end module fields
"""
_STEP = """\
  subroutine step({dummies})
    use mpi
{own}    real(8) :: w(n), s(n)
    integer :: rank, ranks, ierr, i, request
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    s = rank
    w = 0
{before}    call MPI_Irecv({buffer}, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 1, &
                   MPI_COMM_WORLD, request, ierr)
    call MPI_Send(s, n, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 1, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
{behind}    print *, rank, sum(w), sum(s)
{inner}  end subroutine step
"""
_MAIN = """\
program main
  use mpi
  use fields
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
{call}  call MPI_Finalize(ierr)
end program main
"""
TWO = "real(8), target :: a(n), b(n)\nreal(8), pointer :: p(:), q(:)\n"
ALLOCATED = "real(8), target, allocatable :: a(:), b(:)\nreal(8), pointer :: p(:)\n"
STATES = """\
type state
  real(8) :: u(1000), t(1000)
  real(8), pointer :: v(:)
end type state
type(state), target :: a, b, all(3)
type(state), pointer :: p
real(8), target :: c(n)
"""


def _lines(text: str, indent: int) -> str:
    return "".join(f"{' ' * indent}{line}\n" for line in text.splitlines())


def _read(element: str) -> str:
    return f"do i = 1, n\n  w(i) = sqrt({element})\nend do\n"


def _procedure(name: str, *body: str, declared: str = "") -> str:
    lines = "".join(f"  {line}\n" for line in body)
    return f"subroutine {name}\n  integer :: k\n{declared}{lines}end subroutine\n"


def _why_not(
    tmp_path: Path,
    declared: str,
    behind: str,
    before: str = "p => a",
    buffer: str = "a, n",
    *,
    beside: str = "",
    inner: str = "",
    own: str = "",
    dummies: str = "",
    call: str = "call step()",
) -> str | None:
    """Why the statement behind the wait may not come first."""
    step = _STEP.format(
        dummies=dummies,
        own=_lines(own, 4),
        before=_lines(before, 4),
        buffer=buffer,
        behind=_lines(behind, 4),
        inner=_lines("contains\n" + inner if inner else "", 2),
    )
    path = tmp_path / "step.f90"
    fields = _FIELDS.format(declared=_lines(declared, 2), procedures=_lines(beside, 2) + step)
    path.write_text(fields + _MAIN.format(call=_lines(call, 2)))
    tree = load_tree([path], Settings(cache=False, jobs=1))
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    unit = next(u for u in tree.units_of(str(path)) if u.unit.name == "step")
    facts = UnitFacts(unit, effects, "\n", uniformity)
    messages = facts.once(Messages)
    (wait,) = (leaf for leaf, call in messages.own_calls() if call.procedure.name == "mpi_wait")
    body = list(facts.unit.body)
    at = next(number for number, node in enumerate(body) if node is wait)
    return facts.once(Independence.of).why_not(wait, body[at + 1])


SETS_B = _procedure("other()", "do k = 1, n", "  b(k) = sqrt(b(k)) + 1", "end do")
F_OF_B = "real(8) function f(k)\n  integer :: k\n  f = b(k)\nend function\n"


@pytest.mark.parametrize(
    "given",
    [
        {"declared": TWO, "behind": _read("b(i)")},
        {"declared": TWO, "behind": "b = 1"},
        {"declared": "", "own": TWO, "behind": _read("b(i)")},
        {"declared": TWO, "own": "real(8), target, save :: a(n)", "behind": _read("b(i)")},
        {"declared": TWO, "behind": "w(501:) = a(501:)", "buffer": "a(1), 500"},
        {
            "declared": "real(8), target :: a(n,4)\nreal(8), pointer :: p(:,:)\n",
            "behind": _read("a(i,3)"),
            "buffer": "a(1,2), n",
        },
        {
            "declared": ALLOCATED,
            "behind": _read("b(i)"),
            "before": "allocate(a(n), b(n))\np => a",
        },
        {"declared": STATES, "behind": _read("b%u(i)"), "buffer": "a%u, n"},
        {"declared": STATES, "behind": _read("all(i)%u(i)"), "buffer": "a%u, n"},
        {"declared": STATES, "behind": _read("a%t(i)"), "buffer": "a%u, 1000"},
        {"declared": STATES, "behind": _read("a%u(i)").replace("1, n", "6, 1000")}
        | {"buffer": "a%u(1), 5"},
        {"declared": TWO, "behind": "call other()", "beside": SETS_B},
        {"declared": TWO, "behind": _read("f(i)"), "beside": F_OF_B},
        {
            "declared": "",
            "own": TWO,
            "behind": "call inside()",
            "inner": _procedure("inside()", "b = b + 1"),
        },
        {
            # the buffer is no target: what the procedure defines through a pointer is not in it
            "declared": TWO,
            "own": "real(8) :: mine(n)",
            "buffer": "mine, n",
            "behind": "call other()",
            "beside": _procedure("other()", "p(1) = 1"),
        },
    ],
)
def test_another_target_is_other_storage(given: dict[str, str], tmp_path: Path) -> None:
    assert _why_not(tmp_path, **given) is None


CONTIGUOUS = "real(8), target :: a(n)\nreal(8), pointer, contiguous :: p(:), q(:)\n"
DUMMIES = {"declared": TWO, "before": "", "own": "real(8), target :: x(:), y(:)"}
DUMMIES |= {"dummies": "x, y", "call": "call step(b, b)", "buffer": "x, n"}


@pytest.mark.parametrize(
    "given",
    [
        # through a pointer, whatever leads to it
        {"declared": TWO, "behind": _read("p(i)")},
        {"declared": TWO, "behind": "p(1) = 1"},
        {"declared": TWO, "behind": _read("p(i)"), "before": "p => a(501:)", "buffer": "a(1), 500"},
        {"declared": CONTIGUOUS, "behind": _read("a(i)"), "buffer": "p, n"},
        {"declared": CONTIGUOUS, "behind": _read("q(i)"), "before": "p => a\nq => a"}
        | {"buffer": "p, n"},
        {"declared": TWO.replace("q(:)", "q(:) => a"), "behind": _read("q(i)"), "before": ""},
        {"declared": STATES, "behind": _read("a%v(i)"), "before": "a%v => c", "buffer": "c, n"},
        {"declared": STATES, "behind": "w = all(2)%v", "before": "all(2)%v => c", "buffer": "c, n"},
        {"declared": STATES, "behind": _read("p%u(i)"), "before": "p => a", "buffer": "a%u, n"},
        {"declared": STATES, "behind": _read("p%t(i)"), "before": "p => a", "buffer": "a%u, n"},
        {"declared": STATES, "behind": _read("a%u(i)").replace("1, n", "5, n")}
        | {"buffer": "a%u(1), 5"},
        {"declared": STATES, "behind": _read("all(2)%u(i)"), "buffer": "all(1)%u, n"},
        {"declared": STATES, "behind": "b = a", "buffer": "a%u, n"},
        {"declared": STATES, "behind": "call other(a)", "buffer": "a%u, n"}
        | {"beside": _procedure("other(x)", "x%u = 1", declared="  type(state) :: x\n")},
        {"declared": STATES, "behind": "call other()", "buffer": "a%u, n"}
        | {"beside": _procedure("other()", "a%u = 1")},
        {"declared": STATES, "behind": "call other(a%u)", "buffer": "a%u, n"}
        | {"beside": _procedure("other(x)", "x = 1", declared="  real(8) :: x(n)\n")},
        {"declared": STATES, "behind": _read("p%v(i)"), "before": "p => b", "buffer": "c, n"},
        {"declared": TWO, "behind": _read("q(i)")}
        | {"before": "call c_f_pointer(c_loc(a), q, [n])"},
        {"declared": "", "own": "real(8), target :: a(1000)\nreal(8) :: z(1000)\npointer (ip, z)"}
        | {"behind": _read("z(i)"), "before": "ip = loc(a)"},
        {"declared": TWO, "behind": "associate (z => a)\n  w = z\nend associate"},
        {"declared": TWO, "behind": "associate (z => p)\n  w = z\nend associate"},
        # one variable, under one name or several
        {"declared": TWO, "behind": "w(500:) = a(500:)", "buffer": "a(1), 500"},
        {"declared": TWO + "equivalence (a, b)\n", "behind": _read("b(i)")},
        {"declared": "", "own": TWO + "common /c/ a, b", "behind": _read("b(i)")}
        | {"buffer": "a, 2*n"},
        {"declared": TWO, "own": "real(8), target :: x(:)", "before": "", "dummies": "x"}
        | {"behind": _read("b(i)"), "buffer": "x, n", "call": "call step(b)"},
        DUMMIES | {"behind": _read("y(i)")},
        DUMMIES | {"behind": "call inside()", "inner": _procedure("inside()", "y = 1")},
        DUMMIES | {"behind": "call inside()", "inner": _procedure("inside()", "b = 1")},
        {"declared": TWO + "bind(c, name='one') :: a\nbind(c, name='one') :: b\n"}
        | {"behind": _read("b(i)")},
        # what procedures do
        {"declared": TWO, "behind": "call other()", "beside": _procedure("other()", "p = 1")},
        {"declared": TWO, "behind": "call other()", "beside": _procedure("other()", "a = 1")},
        {"declared": TWO, "behind": "call other()"}
        | {"beside": _procedure("other()", "call more()") + _procedure("more()", "p(1) = 1")},
        {"declared": "", "own": TWO, "behind": "call inside()"}
        | {"inner": _procedure("inside()", "p = 1")},
        {"declared": "", "own": TWO, "behind": "call inside()"}
        | {"inner": _procedure("inside()", "a = 1")},
        {"declared": TWO, "behind": "call other(p)"}
        | {"beside": _procedure("other(x)", "x = 1", declared="  real(8) :: x(:)\n")},
        {"declared": TWO, "behind": "call other(p(11:20))"}
        | {"beside": _procedure("other(x)", "x = 1", declared="  real(8) :: x(10)\n")},
        {"declared": STATES, "behind": "call other(b)", "before": "b%v => c", "buffer": "c, n"}
        | {"beside": _procedure("other(x)", "x%v = 1", declared="  type(state) :: x\n")},
        {"declared": TWO, "behind": "call c_step()", "before": "call c_keep(c_loc(a))"}
        | {
            "own": "interface\n  subroutine c_step() bind(c)\n  end subroutine\n"
            "  subroutine c_keep(x) bind(c)\n    import c_ptr\n    type(c_ptr), value :: x\n"
            "  end subroutine\nend interface"
        },
        # an allocation
        {"declared": ALLOCATED, "behind": "call move_alloc(a, b)", "before": "allocate(a(n))"},
        {"declared": ALLOCATED, "behind": "deallocate(a)", "before": "allocate(a(n))"},
        {"declared": ALLOCATED, "behind": "a = b", "before": "allocate(a(n), b(2*n))"},
        {"declared": ALLOCATED, "behind": "call other()", "before": "allocate(a(n))"}
        | {"beside": _procedure("other()", "deallocate(a)")},
    ],
)
def test_one_storage_stays_one(given: dict[str, str], tmp_path: Path) -> None:
    assert _why_not(tmp_path, **given) is not None


def test_another_element_of_two_pointers_may_be_the_same(tmp_path: Path) -> None:
    """Sections of two pointers do not tell their targets apart."""
    uses = _procedure("other(x, r)", "r = x", declared="  real(8) :: x(10), r(10)\n")
    source = TWO + "real(8) :: kept(n)\n"
    texts = "call other(kept(1:10), p(11:20))", "call other(q(1:10), w(1:10))"
    why = _why_not(
        tmp_path, source, "\n".join(texts), "p => a\nq => a(11:)", "kept, n", beside=uses
    )
    assert why is not None
    facts = _unit(tmp_path / "step.f90")
    calls = [node for node in facts.unit.body if facts.footprint(node).of("w")][-2:]
    first = list(facts.unit.body).index(calls[0]) - 1
    one, two = facts.unit.body[first], facts.unit.body[first + 1]
    assert facts.once(Independence.of).why_not(one, two) is not None


@pytest.mark.parametrize(
    ("attribute", "behind", "free"),
    [
        ("target", "w = kept", False),
        ("save", "w = kept", False),
        ("target", "w = other", True),
        ("save", "w = other", True),
    ],
)
@pytest.mark.parametrize("moves", ["call move_alloc({}, kept)", "call give({})"])
def test_memory_that_another_variable_gets_before_the_wait(
    moves: str, attribute: str, behind: str, free: bool, tmp_path: Path
) -> None:
    """What is received into ``a`` is then read as ``kept``; what ``c`` had is no message."""
    given = "a" if not free else "c"
    declared = f"real(8), allocatable, {attribute} :: a(:), c(:), kept(:), other(:)\n"
    beside = _procedure(
        "give(x)",
        "call move_alloc(x, kept)",
        declared="  real(8), allocatable, intent(inout) :: x(:)\n",
    )
    before = "allocate(a(n), c(n), other(n))"
    _why_not(tmp_path, declared, behind, before, beside=beside)
    path = tmp_path / "step.f90"
    end = "    call MPI_Wait("
    path.write_text(path.read_text().replace(end, f"    {moves.format(given)}\n{end}"))
    facts = _unit(path)
    wait = next(leaf for leaf, _ in facts.once(Messages).own_calls() if "Wait" in leaf.body)
    next_one = facts.unit.body[list(facts.unit.body).index(wait) + 1]
    assert (facts.once(Independence.of).why_not(wait, next_one) is None) is free


@pytest.mark.parametrize("change", ["", "k = k + 100"])
def test_an_element_is_the_one_at_the_start(change: str, tmp_path: Path) -> None:
    """A subscript of a target may change before the wait."""
    declared = "real(8), target :: a(n)\nreal(8), pointer :: p(:)\ninteger :: k\n"
    before = "p => a\nk = 5"
    _why_not(tmp_path, declared, "w(1) = a(k+1)", before, "a(k), 1")
    path = tmp_path / "step.f90"
    end = "    call MPI_Wait("
    path.write_text(path.read_text().replace(end, f"    {change}\n{end}"))
    facts = _unit(path)
    wait = next(leaf for leaf, _ in facts.once(Messages).own_calls() if "Wait" in leaf.body)
    behind = facts.unit.body[list(facts.unit.body).index(wait) + 1]
    assert (facts.once(Independence.of).why_not(wait, behind) is None) is (change == "")


def test_sizes_that_must_be_positive(tmp_path: Path) -> None:
    """Of elements of a target, as of those of any other array."""
    declared = "real(8), target :: a(0:n+1)\nreal(8), pointer :: p(:)\n"
    assert _why_not(tmp_path, declared, "w(1) = a(1)", buffer="a(n+1), 1") is not None
    facts = _unit(tmp_path / "step.f90")
    wait = next(leaf for leaf, _ in facts.once(Messages).own_calls() if "Wait" in leaf.body)
    behind = facts.unit.body[list(facts.unit.body).index(wait) + 1]
    assert facts.once(Independence.of).sizes_for(wait, behind) == {"n"}


def _unit(path: Path) -> UnitFacts:
    tree = load_tree([path], Settings(cache=False, jobs=1))
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    unit = next(u for u in tree.units_of(str(path)) if u.unit.name == "step")
    return UnitFacts(unit, effects, "\n", uniformity)


@pytest.mark.parametrize("statement", ["r = y", "y = r"])
def test_a_common_variable_under_another_name_in_a_procedure(
    statement: str, tmp_path: Path
) -> None:
    """EQUIVALENCE gives it one there, of which other units that declare the block know nothing."""
    declared = "  real(8) :: r(n), z(n), y(n)\n  common /block/ z\n  equivalence (z, y)\n"
    beside = _procedure("other(r)", statement, declared=declared)
    own = "real(8) :: mine(n)\ncommon /block/ mine"
    given = {"behind": "call other(w)", "before": "", "buffer": "mine, n", "beside": beside}
    assert _why_not(tmp_path, TWO, own=own, **given) is not None


_LEVELS = """\
module levels
  implicit none
  integer, parameter :: n = 300
  real(8), target :: one(0:n+1,n), two(0:n+1,n), work(n,n)
  real(8), pointer :: old(:,:), new(:,:), kept(:,:)
contains
  subroutine swap()
    kept => old
    old => new
    new => kept
  end subroutine swap
  subroutine forces(step)
    integer, intent(in) :: step
    integer :: i, j
    do j = 1, n
      do i = 1, n
        work(i,j) = sin(real(i*j, 8)) + step
      end do
    end do
  end subroutine forces
end module levels
program main
  use mpi
  use levels
  implicit none
  integer :: rank, ranks, ierr, i, step
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  do i = 0, n + 1
    one(i,:) = i + rank
    two(i,:) = -i
  end do
  old => one
  new => two
  do step = 1, 6
    call MPI_Sendrecv(one(1,n), n, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 1, &
                      one(1,1), n, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call forces(step)
    new(1:n,:) = 0.5d0*(old(0:n-1,:) + old(2:n+1,:)) + 1d-3*work
    call swap()
  end do
  print *, rank, sum(one), sum(two), one(5,1), two(7,n)
  call MPI_Finalize(ierr)
end program main
"""


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=lambda mpi: mpi.name)
def test_time_levels_to_which_pointers_point(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "levels.f90").write_text(_LEVELS)
    own = replace(Settings(cache=False, jobs=1), passes=tuple(TRANSFERS), assume=("fatal",))
    (change,) = Project(source, settings=own).outcome().changes
    after = change.after.decode()
    step = after[after.index("do step = 1, 6") :]
    assert step.index("call forces(step)") < step.index("asphalt_wait") < step.index("new(1:n,:)")
    said: list[list[str]] = []
    for name, content in (("before", change.before), ("after", change.after)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "levels.f90").write_bytes(content)
        program = build(mpi, [*RUNTIME, folder / "levels.f90"], folder)
        said.append(
            [
                line
                for ranks in (1, 4)
                for line in sorted(run(mpi, program, ranks).stdout.split("\n"))
            ]
        )
    assert said[0] == said[1]
