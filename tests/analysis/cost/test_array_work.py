"""Statements for whole arrays and sections: they take time, and move only where no element that
they define or read is another statement's."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.cost.array_work import works_on_arrays
from asphalt.analysis.memory.statement_accesses import concurrent_indexes
from asphalt.analysis.names.scopes import Scopes
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.gain.work import Work
from asphalt.ir.expr import OpaqueExpr
from asphalt.ir.tree import leaves
from asphalt.machine.machine import load_machine
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.transforms.charging.program import Costs
from support.analysed import Analysed
from support.mpi_run import Mpi, installed, runtime_texts
from support.stepping import Stepped

_KINDS = """\
module kinds
  integer, parameter :: space = 3, long = 500
  real :: point(space), field(long)
  type cell
    real :: at(3), of(long)
    real, allocatable :: more(:)
  end type cell
end module kinds
subroutine s(n, q)
  use kinds
  integer :: n, i, few(4), many(n)
  real :: b(n), c(space, space), d(long, space), q(:), t
  real, allocatable :: grown(:)
  type(cell) :: f, g(n), h(2)
  character(80) :: line
  logical :: mask(n)
{line}
end subroutine s
"""


@pytest.mark.parametrize("any_sizes", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        "b = 0",
        "d(:,1) = 1",
        "q = 1",
        "field = 0",
        "grown = 0",
        "grown = b",
        "grown = [(i*1.0, i = 1, n)]",
        "f%of = 0",
        "f%more = 1",
        "g%at(1) = 0",
        "t = sum(b)",
        "t = maxval(f%of)",
        "b(many) = 1",
        "where (mask) b = 0",
        "where (mask)\n b = 0\n end where",
        "if (any(mask)) t = 1",
        "if (n > 0) b = 1",
        "forall (i = 1:n) b(i) = i",
        "d = matmul(d, c)",
    ],
)
def test_many_elements_take_time(line: str, any_sizes: bool) -> None:
    assert _takes_time(line, any_sizes)


@pytest.mark.parametrize("any_sizes", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        "t = b(3)",
        "b(1) = 1",
        "b(2:3) = b(1)",
        "c = 0",
        "point = 0",
        "d(1:2,:) = 1",
        "b(few) = 1",
        "few = [1, 2, 3, 4]",
        "grown = [1.0, 2.0]",
        "f%at = 0",
        "h(1:2)%at(1) = 0",
        "f = g(1)",
        "t = sum(c)",
        "i = size(b)",
        "i = ubound(b, 1)",
        "line(1:3) = 'x'",
        "if (n > 0) t = 1",
        "if (all(c > 0)) t = 1",
    ],
)
def test_few_elements_do_not(line: str, any_sizes: bool) -> None:
    assert not _takes_time(line, any_sizes)


def _takes_time(line: str, any_sizes: bool) -> bool:
    unit = Analysed(_KINDS.format(line=line), chain=("s",))
    scope = Scopes(unit.program, any_sizes).of(unit.located)
    found = [leaf for node in unit.body for leaf in leaves(node)]
    return any(works_on_arrays(leaf.what, scope) for leaf in found)


@pytest.mark.parametrize(
    ("header", "indexes"),
    [
        ("(i = 1:n)", {"i"}),
        ("(I = 1:n, j = f(k=2, m=[1]):m:2, a(i,j) == 3 .and. k >= 2)", {"i", "j"}),
        ("(integer(long) :: i = 1:n, j = 1:m)", {"i", "j"}),
        ("(i = 1:n, s(i) /= ') , b = 3' .or. t(i) == \"it''s, c = (\")", {"i"}),
        ("(i = 1:n) local(k) shared(a)", {"i"}),
    ],
)
def test_the_indexes_of_a_header(header: str, indexes: set[str]) -> None:
    assert concurrent_indexes(OpaqueExpr(header, frozenset())) == indexes


_PRICED = """\
subroutine s(n, m)
  integer, parameter :: k = 1000, l = 500
  integer :: n, m, i, j
  {declaration}
{lines}
end subroutine s
"""


def _loops(body: str, first: str, second: str) -> str:
    return f"do j = {second}\ndo i = {first}\n{body}\nend do\nend do"


@pytest.mark.parametrize(
    ("declaration", "statement", "loops"),
    [
        ("real :: b(k,l)", "b = sqrt(b) + 2.0", ("b(i,j) = sqrt(b(i,j)) + 2.0", "1, k", "1, l")),
        ("real :: b(n,m)", "b = sqrt(b) + 2.0", ("b(i,j) = sqrt(b(i,j)) + 2.0", "1, n", "1, m")),
        ("real :: b(n,0:l)", "b(:,1:) = b(:,1:) + 2.0", ("b(i,j) = b(i,j) + 2.0", "1, n", "1, l")),
        (
            "real, allocatable :: b(:,:)\n  allocate(b(k,0:l))",
            "b = sqrt(b) + 2.0",
            ("b(i,j) = sqrt(b(i,j)) + 2.0", "1, k", "0, l"),
        ),
    ],
)
def test_the_price_is_that_of_loops(
    declaration: str, statement: str, loops: tuple[str, str, str]
) -> None:
    one, other = (_seconds(declaration, lines) for lines in (statement, _loops(*loops)))
    assert one == pytest.approx(other, rel=0.25)


def _seconds(declaration: str, lines: str) -> float:
    unit = Analysed(_PRICED.format(declaration=declaration, lines=lines))
    machine = load_machine()
    work = Work(Costs(machine.seconds, machine.latency, machine.window), lambda call, scope: None)
    return work.seconds(unit.body, unit.scope)


_PROGRAM = """\
module shared
  implicit none
  integer, parameter :: n = 200
  real(8), target :: held(n) = 1
  real(8) :: total = 0, kept(n) = 3
  type cell
    real(8) :: at(n) = 2
    real(8), allocatable :: more(:)
  end type cell
contains
  impure elemental real(8) function counted(z)
    real(8), intent(in) :: z
    total = total + z
    counted = 0.5d0*z
  end function counted
  pure real(8) function has(place)
    integer, intent(in) :: place
    has = kept(place)
  end function has
  pure function pair(first)
    integer, intent(in) :: first
    integer :: pair(2)
    pair = [first, first + 1]
  end function pair
end module shared
{more}program main
  use mpi
  use shared
{uses}  implicit none
  real(8) :: a(n), b(n), c(n), d(n), s, t, table(3,4), even(n), odd(n)
  real(8), allocatable :: grown(:)
  real(8), pointer :: points(:)
  integer :: ierr, me, np, i, k, q, p(n)
  type(cell) :: f, g, cells(n), others(n)
  equivalence (even, odd)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  k = 2 + me/100
  p = [(n + 1 - i, i = 1, n)]
  b = me
  a = 0
  c = [(0.5d0*i, i = 1, n)]
  d = 0.25d0*c
  table = 1
  even = 0
  grown = c
  points => held
  f%more = c
  g%more = d
  s = 1
  t = 2
  do k = k, k + 1
    call MPI_Sendrecv(b, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, &
                      a, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{body}
  end do
  print '(i3,15f14.4)', me, s, t, sum(a), sum(b), sum(c), sum(d), sum(table), sum(even), sum(p*c), &
        sum(grown), sum(points), sum(f%more), sum(f%at), total, sum(kept)
  call MPI_Finalize(ierr)
end program main
"""


_CLOSED = """\
module closing
  use shared, only: n, kept
  implicit none
  type closed
    real(8) :: at(n) = 4
  contains
    final :: closes
  end type closed
  type(closed) :: x(3), y(3)
contains
  impure elemental subroutine closes(one)
    type(closed), intent(inout) :: one
    kept = kept + one%at
  end subroutine closes
end module closing
"""


def _program(*lines: str) -> str:
    """The program with some statements behind the exchange; types with final subroutines where
    these assign such a type."""
    closed = "x = y" in lines
    more, uses = (_CLOSED, "  use closing, only: x, y\n") if closed else ("", "")
    body = "\n".join(f"    {line}" for line in lines)
    return _PROGRAM.format(body=body, more=more, uses=uses)


def _optimised(folder: Path, text: str) -> Optimised:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([folder])
    unit = next(one for one in tree.units_of(str(path)) if one.unit.kind == "program")
    return optimise(tree, unit)


def _executed(found: Optimised) -> list[str]:
    """What stands behind the start of the receive, in short."""
    assert found.content is not None
    lines = [line.strip() for line in found.content.decode().splitlines()]
    start = next(n for n, line in enumerate(lines) if "asphalt_irecv(" in line)
    end = next(n for n, line in enumerate(lines) if line.startswith("print "))
    inside = (line for line in lines[start + 1 : end - 1] if not line.startswith("!"))
    short = []
    for line in inside:
        waits = line.startswith("call asphalt_wait(")
        if not waits or line.endswith(", a)"):
            short.append("wait" if waits else line)
    return [line for line in short if not line.startswith(("call asphalt_isend", "end do", "MPI"))]


MOVING = {
    "whole": ("d = sqrt(d) + 2",),
    "section": ("d(2:n) = d(1:n-1)*0.5d0",),
    "masked": ("where (d > 3) d = 3",),
    "masked construct": ("where (d > 3)", "d = 3", "elsewhere", "d = d + 1", "end where"),
    "reduction": ("s = sum(d*d)",),
    "condition": ("if (any(d > 3)) d = d*0.5d0",),
    "allocated by it": ("grown = d(1:n/2)",),
    "component": ("f%at = 0.5d0*f%at",),
    "component allocated by it": ("f%more = d",),
    "structures": ("cells = others",),
    "vector": ("d(p) = d",),
    "forall": ("forall (i = 1:n, d(i) > 0) d(i) = 0.5d0*d(i)",),
    "concurrent": ("do concurrent (i = 1:n)", "d(i) = d(i) + i*0.5d0", "end do"),
    "concurrent with loops": (
        "do concurrent (q = 1:n)",
        "do i = 1, q",
        "if (q > 3) d(q) = d(q)*0.5d0 + i",
        "end do",
        "end do",
    ),
    "product": ("d = matmul(d, spread(d, 2, n))",),
}
_NEEDS = "c = c + a"


@pytest.mark.parametrize("name", MOVING)
def test_it_comes_beside_a_transfer(name: str, tmp_path: Path) -> None:
    """Also past a statement that needs what is received."""
    for lines in ((*MOVING[name], _NEEDS), (_NEEDS, *MOVING[name])):
        found = _optimised(tmp_path, _program(*lines))
        executed = _executed(found)
        assert executed.index("wait") > executed.index(MOVING[name][0])
        assert executed.index(_NEEDS) > executed.index("wait")


STAYING = {
    "reads it": (_NEEDS, "d = d + a(1)"),
    "overlaps": ("c(1:n-1) = a(1:n-1)", "c(2:n) = 1"),
    "strides": ("c(1:n:2) = a(1:n:2)", "c(1:n:3) = 1"),
    "backwards": ("c(n:1:-2) = a(1:n:2)", "c(2:n:2) = 1"),
    "vector": ("c(p) = a", "c(p) = 1"),
    "part of a vector": ("c(p(2:n)) = a(2:n)", "c(p(2:n) + 1) = 1"),
    "function with an array": ("c(pair(k)) = a(k:k+1)", "c(pair(k) + 1) = 1"),
    "shape of an array": ("c(shape(table)) = a(1:2)", "c(shape(table) + 1) = 1"),
    "another shape": ("c(1) = a(1)*size(grown)", "grown = d(1:n/k)"),
    "another bound": ("c(ubound(grown)) = a(1)", "grown = d(1:n/k)"),
    "mask": ("where (a > 0.5d0) c = 1", "c = c*0.5d0"),
    "mask read": ("c = a", "where (c > 0.5d0) d = 1"),
    "pointer": ("points = a", "held = 0.5d0*held"),
    "equivalence": ("even(1:n) = a", "odd(1:n) = odd(1:n)*0.5d0"),
    "component": ("f%at = a", "f = g"),
    "component of all": ("f = g", "f%more = a", "g%more = f%more"),
    "function that changes": ("total = total + a(1)", "d = counted(d)"),
    "forall": ("c = a", "forall (i = 2:n) c(i) = 1"),
    "concurrent": ("c = a", "do concurrent (i = 1:n)", "d(i) = d(i) + c(i)", "end do"),
    "concurrent with loops": (
        "c(n) = a(1)",
        "do concurrent (q = 1:n)",
        "do i = 1, q",
        "if (q > 3) c(q) = c(q)*0.5d0 + i",
        "end do",
        "end do",
    ),
    "concurrent with a function": (
        "kept = kept + a", "do concurrent (i = 1:n)", "d(i) = d(i) + has(i)", "end do",
    ),
    "index of a loop around": ("c = a", "do concurrent (k = 1:n)", "d(k) = 1", "end do"),
    "final": ("kept = kept + a*kept", "x = y"),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYING)
def test_it_stays_where_others_need_its_elements(name: str, tmp_path: Path) -> None:
    """The last statement stays behind those before it, all of which need what is received, or
    what these leave."""
    found = _optimised(tmp_path, _program(*STAYING[name]))
    if found.content is not None:
        executed = _executed(found)
        last = next(line for line in reversed(STAYING[name]) if line != "end do")
        assert executed.index("wait") < executed.index(last)


def test_sections_that_lie_apart_do_not_meet(tmp_path: Path) -> None:
    for first, second in (
        ("c(1:n:2) = a(1:n:2)", "c(2:n:2) = 1"),
        ("c(n:2:-2) = a(1:n:2)", "c(n-1:1:-2) = 1"),
        ("c(:k) = a(:k)", "c(k+1:) = 1"),
    ):
        executed = _executed(_optimised(tmp_path, _program(first, second)))
        assert executed.index(second) < executed.index("wait") < executed.index(first)


def test_the_text_that_is_made(tmp_path: Path) -> None:
    lines = ("! what is our own", "d = sqrt(d) + 2   ! all of it", "where (a > 0)", "  c = c + a",
             "end where", "b = c*0.5d0")  # fmt: skip
    found = _optimised(tmp_path, _program(*lines))
    assert found.content is not None
    text = found.content.decode()
    begin = text.index("    ! asphalt: MPI_Sendrecv")
    assert (
        text[begin : text.index("  print ")]
        == """\
    ! asphalt: MPI_Sendrecv made non-blocking
    call asphalt_irecv(a, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, MPI_COMM_WORLD, &
                       asphalt_request_1)
    call asphalt_isend(b, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, MPI_COMM_WORLD, &
                       asphalt_request_2)
    ! what is our own
    d = sqrt(d) + 2   ! all of it
    call asphalt_wait(asphalt_request_1, a)
    where (a > 0)
      c = c + a
    end where
    call asphalt_wait(asphalt_request_2, b)
    b = c*0.5d0
  end do
"""
    )


def _prints(folder: Path, text: str, ranks: int, mpi: Mpi) -> list[str]:
    files = {**runtime_texts(text), "main.f90": text}
    said = Stepped.of(folder, files).result(mpi, folder / "run", list(files), ranks)
    return sorted(said.splitlines())


def _same_bits(lines: tuple[str, ...], folder: Path, ranks: tuple[int, ...], mpi: Mpi) -> None:
    text = _program(*lines)
    found = _optimised(folder / "source", text)
    made = text if found.content is None else found.content.decode()
    for number in ranks:
        before = _prints(folder / f"before{number}", text, number, mpi)
        assert len(before) == number
        assert _prints(folder / f"after{number}", made, number, mpi) == before


def test_the_bits_are_the_same(tmp_path: Path) -> None:
    """Of a program with all that moves, and all that stays."""
    if not installed():
        pytest.skip("no MPI")
    mpi = installed()[0]
    moving = [line for lines in MOVING.values() for line in (*lines, _NEEDS, "b = b*0.5d0 + 1")]
    staying = [line for lines in STAYING.values() for line in lines]
    _same_bits((*moving, *staying), tmp_path, (3,), mpi)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(), ids=str)
@pytest.mark.parametrize("name", [*MOVING, *STAYING])
def test_the_bits_are_the_same_everywhere(name: str, mpi: Mpi, tmp_path: Path) -> None:
    _same_bits({**MOVING, **STAYING}[name], tmp_path, (1, 2, 4), mpi)
