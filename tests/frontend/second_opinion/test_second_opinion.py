"""What fparser thinks of statements, beside what we think."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.analysis.tiling.plan import Plan
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.settings import Settings
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.driver.sites import Site, seconded
from asphalt.frontend.lexical.source_text import read_source, source_text
from asphalt.frontend.lexical.split import split
from asphalt.frontend.second_opinion.second_opinion import (
    CONVERSIONS,
    DEEPEST,
    LONGEST,
    Opinions,
    disagreements,
    meaning,
    opinions,
)
from asphalt.frontend.source_tree.index import FileIndex
from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.frontend.statements.statements import statement
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.expr import Lit, Op
from asphalt.ir.source import Form
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    DoHead,
    Guarded,
    Jump,
    JumpKind,
    Use,
    UseItem,
    What,
)
from asphalt.ir.tree import Do, File, Leaf, Unit, leaves
from asphalt.project import Project
from support.places import KERNELS

AGREED = [
    "a(i, k:n:2) = -b**2*c + F(x)/(d - 1.0_dp)",
    "A%b(i)%c = x%f(1, key=2)",
    "a(i)(1:2) = 'it''s' // CK_'X'",
    "z = (1.0, -2.0D0) * conjg(z)",
    "l = .NOT. a .lt. b .and. (c >= d .or. e) .eqv. .true.",
    "v = [real(dp) :: 1, (i*x, i=1,n)]",
    "m = max(1, n) + b'101'",
    "do = 3",
    "p => q(1:n)",
    "x(i)%p(0:) => null()",
    "call s",
    "CALL MPI_Alltoall(s(1,1), n*nz, MPI_REAL, r, n*nz, MPI_REAL, comm, ierr)",
    "call x(i)%y%p(a(:,1), Key=-1, *10)",
    "do i = 1, n",
    "DO 10, I = N, 1, -1",
    "do while (a(i) > 0)",
    "do",
    "do concurrent (i = 1:n, j = 1:m, i /= j)",
    "if (a .eq. b) then",
    "else if (x%ok()) then",
    "else",
    "select case (mod(i, 2))",
    "case (1, 3:5, :0)",
    "case default",
    "select type (y => x%z)",
    "type is (real(8))",
    "class default",
    "where (m > 0)",
    "elsewhere (n > 0)",
    "elsewhere",
    "forall (i = 1:n, i /= k)",
    "associate (a => b%c, d => e(i) + 1)",
    "block",
    "if (ierr /= 0) call abort_all(ierr)",
    "if (a) write (*, '(i4)') i",
    "where (m) a = b*2",
    "forall (i = 1:n) a(i) = b(n - i)",
    "goto 10",
    "go to (10, 20), i + 1",
    "if (x - y) 10, 20, 30",
    "cycle",
    "exit Outer",
    "return",
    "stop 'no input'",
    "error stop 3",
    "continue",
    "read (5, *, iostat = ios, end = 10) x, (a(i), i = 1, n)",
    "read *, x",
    "write (unit = u, fmt = form(k), err = 20) x(1:3)%y, 'a'",
    "write (s, '(a)') t",
    "write (6, nml = group)",
    "print 100, ((a(i,j), i = 1, n), j = 1, m, 2)",
    "open (newunit = u, file = trim(name), iostat = ios)",
    "close (10, status = 'delete')",
    "rewind u",
    "backspace (u, err = 10)",
    "endfile u",
    "flush (6)",
    "wait (10, id = i)",
    "inquire (file = 'x', exist = there, opened = l)",
    "inquire (iolength = n) a, b",
    "allocate (a(n, 0:m), x%b(3), stat = ios)",
    "allocate (character(len = n) :: s)",
    "deallocate (a, x(i)%b, stat = ios)",
    "nullify (p, x%q)",
    "real(dp), dimension(n, 0:m), intent(IN OUT) :: a, b(3)",
    "real*8 a(n, *), b(2:*), c",
    "double precision, allocatable, save :: a(:,:)",
    "integer, parameter :: n = 2*k, m(2) = [1, 2]",
    "character(len = *), parameter :: s = 'x'",
    "character*(*) c, d*8",
    "type(T), pointer :: p(:) => null()",
    "class(*), intent(in) :: x",
    "complex(kind = kind(1.d0)) :: z",
    "dimension a(n), b(0:m)",
    "common a, b(3) /blk/ c // d",
    "parameter (a = 1, b = 2*n)",
    "equivalence (a, b(1)), (c, d)",
    "namelist /g/ x, y /h/ z",
    "save a, /blk/",
    "external f, g",
    "target :: a, b(3)",
    "intent(in) :: a",
    "use mpi",
    "USE, INTRINSIC :: iso_c_binding, ONLY : c_int, d => c_long, operator(+)",
    "use m, a => b",
]

ONLY_OURS = [
    "a(i)[2] = b",
    "call s(%val(a))",
    "x = epsilon(1, 2, i)",  # an array that has the name of an intrinsic
    "a = b * -c",
    "integer x /1/",
    "real :: x[*]",
    "do concurrent (i = 1:n) local(t)",
    "print *, 3habc",
]

NOTHING = FileIndex((), frozenset())  # what fortls knows of a file that it cannot read


def _leaf(code: str, in_spec: bool = False) -> Leaf:
    (leaf,), _ = split(source_text("a.f90", f"  {code}  ! so\n".encode(), Form.FREE))
    return replace(leaf, what=statement(code, in_spec))


def _opinion(code: str) -> Opinions:
    return opinions([_leaf(code)], Form.FREE)


@pytest.mark.parametrize("code", AGREED)
def test_both_understand_a_statement_alike(code: str) -> None:
    assert _opinion(code) == Opinions(agreed=1, silent=0, disagreements=())


def test_every_conversion_is_in_the_table() -> None:
    asked = {rule for rule in CONVERSIONS for code in AGREED if meaning(code, rule) is not None}
    untried = set(CONVERSIONS) - asked
    assert untried == {  # like `external`, `target` and `block`
        "Intrinsic_Stmt", "Asynchronous_Stmt", "Volatile_Stmt", "Optional_Stmt", "Value_Stmt",
        "Pointer_Stmt", "Allocatable_Stmt", "Critical_Stmt",
    }  # fmt: skip


@pytest.mark.parametrize("code", ONLY_OURS)
def test_a_statement_that_fparser_rejects_is_no_disagreement(code: str) -> None:
    assert _opinion(code) == Opinions(agreed=0, silent=1, disagreements=())


@pytest.mark.parametrize("code", ["contains", "implicit none", "include 'a.inc'", "end do", "@"])
def test_statements_that_do_nothing_or_anything_are_not_asked_about(code: str) -> None:
    assert _opinion(code) == Opinions(agreed=0, silent=0, disagreements=())


N, M = e("n"), e("m")

DOCTORED: list[tuple[str, What]] = [
    ("a(i) = b - c", Assign(e("a(i)"), e("b + c"))),
    ("a(i) = b - c - d", Assign(e("a(i)"), Op("-", (e("b"), e("c - d"))))),
    ("a(i) = b", Assign(e("a(j)"), e("b"))),
    ("a(i) = b", Assign(e("a(i)%x"), e("b"))),
    ("a(1:n) = b", Assign(e("a(1:n:2)"), e("b"))),
    ("a = (b)", Assign(e("a"), e("b"))),
    ("a = 1.0", Assign(e("a"), Lit("real", "1.0d0"))),
    ("a = 'x'", Assign(e("a"), Lit("character", "'X'"))),
    ("a = [n, 2]", Assign(e("a"), e("[m, 2]"))),
    ("call s(a, n)", Call(e("s"), (e("n"), e("a")))),
    ("call s(a, n)", Call(e("t"), (e("a"), N))),
    ("call s(k=n)", Call(e("s"), (N,))),
    ("do i = 1, n", DoHead("count", e("i"), e("1"), M)),
    ("do i = 1, n, 2", DoHead("count", e("i"), e("1"), N)),
    ("do 10 i = 1, n", DoHead("count", e("i"), e("1"), N, label=20)),
    ("do", DoHead("while", condition=N)),
    ("if (n > m) then", ArmHead("if", (e("n >= m"),))),
    ("case (1:2)", ArmHead("case", (e("1"), e("2")))),
    ("if (a) b = c", Guarded(e("b"), Assign(e("b"), e("c")))),
    ("if (a) b = c", Guarded(e("a"), Assign(e("c"), e("b")))),
    ("goto 10", Jump(JumpKind.GOTO, (20,))),
    ("exit outer", Jump(JumpKind.EXIT, construct="inner")),
    ("read (5, *) x, y", IO("read", (e("5"),), (e("x"),))),
    ("read (5, *, end=10) x", IO("read", (e("5"),), (e("x"),))),
    ("write (6, *) x", IO("write", (e("6"),), (e("x"),))),
    ("write (s, *) x", IO("write", (e("s"), e("x"), e("y")), ())),
    ("allocate (a(n))", Allocation("allocate", (e("a(m)"),))),
    ("deallocate (a)", Allocation("deallocate", (e("b"),))),
]


@pytest.mark.parametrize(("code", "what"), DOCTORED)
def test_an_altered_meaning_is_found(code: str, what: What) -> None:
    leaf = replace(_leaf(code), what=what)
    (found,) = disagreements([_leaf("x = y"), leaf], Form.FREE)
    assert (found.leaf, found.code, found.ours, found.line) == (leaf, code, what, 1)
    assert found.theirs == meaning(code, next(iter(_rules_of(code))))


def _rules_of(code: str) -> Iterator[str]:
    return (rule for rule in CONVERSIONS if meaning(code, rule) is not None)


def _altered(decl: Decl) -> Iterator[Decl]:
    first, *others = decl.entities
    assert first.dims is not None
    assert decl.type is not None
    wider = replace(first.dims[0], upper=M)
    yield replace(decl, entities=(replace(first, name="b"), *others))
    yield replace(decl, entities=(replace(first, dims=(wider, *first.dims[1:])), *others))
    yield replace(decl, entities=(replace(first, dims=first.dims[:1]), *others))
    yield replace(decl, entities=(replace(first, initial=N), *others))
    yield replace(decl, entities=(first,))
    yield replace(decl, attrs=())
    yield replace(decl, attrs=("save",))
    yield replace(decl, dims=first.dims)
    yield replace(decl, type=replace(decl.type, kind=None))
    yield replace(decl, type=replace(decl.type, base="integer"))


def test_an_altered_declaration_is_found() -> None:
    leaf = _leaf("real(dp), target :: a(n, 0:*), x", in_spec=True)
    assert disagreements([leaf], Form.FREE) == ()
    assert isinstance(leaf.what, Decl)
    for decl in _altered(leaf.what):
        assert len(disagreements([replace(leaf, what=decl)], Form.FREE)) == 1, decl


@pytest.mark.parametrize(
    ("code", "items"),
    [
        ("use m, only: a => b", (UseItem("a", "c"),)),
        ("use m, only: a, b", (UseItem("a", "a"),)),
    ],
)
def test_an_altered_use_is_found(code: str, items: tuple[UseItem, ...]) -> None:
    leaf = _leaf(code, in_spec=True)
    assert isinstance(leaf.what, Use)
    altered = replace(leaf, what=replace(leaf.what, items=items))
    (found,) = disagreements([leaf, altered], Form.FREE)
    assert found.leaf is altered


def test_names_that_declarations_explain_are_no_disagreement() -> None:
    text = """\
subroutine s
  character(80) :: line
  integer :: x, y
  namelist /group/ x, y
  write (line, *) x
  read (5, group)
  write (6, nml=group)
  if (x > 0) read (5, nml=group)
end subroutine s
"""
    file = parse_file(source_text("a.f90", text.encode()))
    unit = interpret_unit(file.units[0])
    resolved = next(n.what for n in unit.body if isinstance(n, Leaf))
    assert isinstance(resolved, IO)
    assert resolved.writes == (e("line"),)
    assert opinions(leaves(unit), Form.FREE) == Opinions(7, 0, ())


def test_text_that_is_not_what_the_leaf_means_gets_no_opinion() -> None:
    leaf = replace(_leaf("a = b"), what=Assign(e("a"), e("c")))
    for silent in (replace(leaf, body=None), replace(leaf, frozen=True)):
        assert opinions([silent], Form.FREE) == Opinions(0, 1, ())


# -- fparser may take very long, or worse ---------------------------------------------------------


def test_an_endless_search_is_cut_off() -> None:
    nested = f"a = {'f(' * 12}%val(x){')' * 12}"
    assert meaning(nested, "Assignment_Stmt") is None
    assert sys.getprofile() is None
    assert meaning("a = f(g(x))", "Assignment_Stmt") == Assign(e("a"), e("f(g(x))"))


@pytest.mark.parametrize(
    "code",
    [
        f"a = {'(' * (DEEPEST + 1)}x{')' * (DEEPEST + 1)}",
        f"a = {' + '.join(['x'] * LONGEST)}",
    ],
    ids=["deep", "long"],
)
def test_what_is_too_long_or_too_deep_gets_no_opinion(code: str) -> None:
    assert _opinion(code).silent == 1


def test_there_is_no_limit_under_a_profiler() -> None:
    events: list[str] = []
    sys.setprofile(lambda frame, event, arg: events.append(event))
    try:
        found = meaning("b = f(g(y))", "Assignment_Stmt")
        active = sys.getprofile()
    finally:
        sys.setprofile(None)
    assert active is not None
    assert events
    assert found == Assign(e("b"), e("f(g(y))"))


@given(st.text(alphabet="ab1 (),=%:*+'.[]/\"", max_size=20), st.sampled_from(sorted(CONVERSIONS)))
def test_no_text_is_an_error(code: str, rule: str) -> None:
    meaning(code, rule)


# -- real programs --------------------------------------------------------------------------------


def _read(path: Path) -> File:
    file = parse_file(read_source(path))
    return replace(file, units=tuple(interpret_unit(unit, deep=True) for unit in file.units))


SOURCES = sorted(p for p in KERNELS.glob("*/*") if p.suffix in (".f", ".f90"))


@pytest.mark.parametrize("path", SOURCES, ids=[f"{p.parent.name}-{p.name}" for p in SOURCES])
def test_the_kernels_are_read_alike(path: Path) -> None:
    file = _read(path)
    found = opinions(leaves(file), file.form, file.width)
    assert (found.silent, found.disagreements) == (0, ())
    assert found.agreed > 0


PROGRAM = """\
program exchange
  use mpi
  integer, parameter :: n = 3, nz = 8
  integer :: i, z, p, me, np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  do z = 1, nz
    do p = 1, np
      do i = 1, n
        s(i,z,p) = dble(i*z) + p*me
      end do
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    path = tmp_path / "exchange.f90"
    path.write_text(PROGRAM)
    (found,) = Project(path, settings=Settings(cache=False, jobs=1)).sites()
    return found


def test_the_opinion_is_part_of_the_evidence(site: Site) -> None:
    assert site.report.verdict == "proved"
    assert site.report.evidence[-1] == "two parsers agree about 9 of 9 statements, differ on none"


def _with_unit(plan: Plan, unit: Unit) -> Plan:
    exchange = plan.exchange
    located = replace(exchange.located, chain=(unit,))
    producer = replace(plan.producer, exchange=replace(exchange, located=located))
    return replace(plan, producer=producer)


def test_a_plan_that_depends_on_a_misread_declaration_is_refused(site: Site) -> None:
    plan = site.judgement
    assert isinstance(plan, Plan)
    unit = plan.exchange.located.unit
    *others, last = unit.spec
    assert isinstance(last, Leaf)
    assert isinstance(last.what, Decl)
    altered = replace(last, what=replace(last.what, attrs=()))
    refused = seconded(_with_unit(plan, replace(unit, spec=(*others, altered))), 132, NOTHING)
    assert isinstance(refused, Refused)
    assert refused.code.id == "ASP005"
    assert refused.code in ALL_CODES.values()
    assert refused.message == "two parsers disagree about a statement, in line 5"
    assert refused.witness == "real(8), allocatable :: s(:,:,:), r(:,:,:)"
    assert isinstance(seconded(_with_unit(plan, unit), 132, NOTHING), Plan)


def test_a_plan_that_moves_a_misread_statement_is_refused(site: Site) -> None:
    plan = site.judgement
    assert isinstance(plan, Plan)
    place = plan.exchange.place
    nest = place.siblings[plan.producer.start]
    assert isinstance(nest, Do)
    head = replace(nest.head, what=DoHead("count", e("z"), e("1"), e("nz - 1")))
    siblings = tuple(replace(nest, head=head) if n is nest else n for n in place.siblings)
    levels = (*place.levels[:-1], replace(place.levels[-1], nodes=siblings))
    exchange = replace(plan.exchange, place=replace(place, levels=levels))
    refused = seconded(
        replace(plan, producer=replace(plan.producer, exchange=exchange)), 132, NOTHING
    )
    assert isinstance(refused, Refused)
    assert refused.witness == "do z = 1, nz"
