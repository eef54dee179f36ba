"""Declarations that nothing uses any more are left out, and none that something may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.program import Located
from asphalt.ir.stmt import Decl
from asphalt.ir.tree import Unit, leaves
from asphalt.optimiser.optimise import optimise
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.transforms.rewriting.tidying import without_unused
from asphalt.unparse.unparse import unparse

_PROGRAM = """\
program main
  implicit none
{declared}
  integer :: x, y
{before}  x = 1
{body}
  y = x
{inside}end program main
"""
_BROUGHT = ("p", "q", "n", "rk")


def program(
    declared: str, body: str = "  y = 2", *, before: str = "", inside: str = "", head: str = ""
) -> str:
    return head + _PROGRAM.format(declared=declared, body=body, before=before, inside=inside)


def _tidied(folder: Path, text: str, name: str = "main.f90") -> tuple[Located, Unit]:
    path = folder / name
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    located = next(one for one in tree.units_of(str(path)) if one.unit.kind == "program")
    return located, without_unused(located, _BROUGHT, tree)


def _declared(unit: Unit) -> set[str]:
    types = (
        leaf.what
        for node in unit.spec
        for leaf in leaves(node)
        if isinstance(leaf.what, Decl) and leaf.what.kind == "type"
    )
    return {entity.name for what in types for entity in what.entities} & set(_BROUGHT)


GOING: dict[str, tuple[str, str]] = {
    "nothing names it": (program("  integer :: p"), ""),
    "one of two": (program("  integer :: p, q", "  y = q"), "q"),
    "only what goes names it": (
        program("  integer, parameter :: n = 2\n  real :: p(n)\n  real(kind(p)) :: q(n)"),
        "",
    ),
    "its name is that of a component": (
        program("  type t\n    integer :: p\n  end type t\n  type(t) :: z\n  integer :: q",
                "  z%p = 1"),
        "p",  # declared by the type
    ),
    "a keyword": (program("  integer :: n\n  real :: q(3)", "  y = size(array=q)"), "q"),
    "a comment": (program("  integer :: p", "  ! p = 1"), ""),
    "a string": (program("  integer :: p", "  print '(a)', 'p'"), ""),
    "a directive of ours": (program("  integer :: p", "  !$asphalt skip\n  y = 3"), ""),
    "a directive that names others": (
        program("  integer :: p, q", "  !$omp parallel private(q)\n  y = 2\n  !$omp end parallel"),
        "q",
    ),
    "comments in front": (program("  ! what counts\n\n  integer :: p"), ""),
}  # fmt: skip
STAYING = {
    "a name that is split": program("  integer :: q\n  integer :: rk",
                                    "  r&\n  &k = 1\n  q = r&\n  &k"),
    "the bounds of another": program("  integer, parameter :: n = 2\n  real :: z(n)"),
    "a length": program("  integer, parameter :: n = 2\n  character(n) :: z"),
    "a length of its own": program("  integer, parameter :: n = 2\n  character :: z*(n)"),
    "a kind": program("  integer, parameter :: rk = 8\n  real(rk) :: z"),
    "the kind of a constant": program("  integer, parameter :: rk = 8", "  print *, 1.0e5_rk"),
    "the kinds of a complex constant": program("  integer, parameter :: rk = 8",
                                               "  print *, (1.0, 2.0e3_rk)"),
    "the kind of a string": program("  integer, parameter :: rk = 1", "  print *, rk_'abc'"),
    "the kind of an initial value": program("  integer, parameter :: rk = 8\n"
                                            "  real(8) :: z = 1.0_rk"),
    "an initial value": program("  integer, parameter :: n = 2\n  integer :: z = n"),
    "a statement function": program("  integer :: p, z\n  z(x) = x + p"),
    "a namelist": program("  integer :: p\n  namelist /group/ p"),
    "DATA": program("  integer :: p\n  data p /1/"),
    "the values of DATA": program("  integer, parameter :: n = 2\n  integer :: z(2)\n"
                                  "  data z /n*0/"),
    "EQUIVALENCE": program("  integer :: p, z\n  equivalence (p, z)"),
    "COMMON": program("  integer :: p\n  common /block/ p"),
    "SAVE": program("  integer :: p\n  save p"),
    "DIMENSION": program("  integer, parameter :: n = 2\n  real z\n  dimension z(n)"),
    "PARAMETER": program("  integer n, p\n  parameter (n = 2)\n  parameter (p = n)"),
    "the bounds of a component": program(
        "  integer, parameter :: n = 2\n  type t\n    real :: z(n)\n  end type t"
    ),
    "a branch": program("  integer :: p", "  if (p > 1) y = 2"),
    "the action of a one-line IF": program("  integer :: p", "  if (x > 1) p = 2"),
    "a loop": program("  integer :: p", "  do p = 1, 2\n  end do"),
    "a subscript of a component": program(
        "  integer :: p\n  type t\n    real :: z(3)\n  end type t\n  type(t) :: a",
        "  a%z(p) = 1",
    ),
    "a function": program("  integer, external :: p", "  y = p(1)"),
    "an implied loop": program("  integer :: p", "  print *, (x, p = 1, 2)"),
    "an array constructor": program("  integer :: p", "  print *, [(x, p = 1, 2)]"),
    "a type in ALLOCATE": program(
        "  integer, parameter :: rk = 8\n  class(*), allocatable :: z",
        "  allocate(real(rk) :: z)",
    ),
    "a construct": program("  integer :: p", "  associate (z => p)\n    y = z\n  end associate"),
    "a type of an arm": program(
        "  integer, parameter :: rk = 8\n  class(*), allocatable :: z",
        "  select type (z)\n  type is (real(rk))\n    y = 2\n  end select",
    ),
    "a parameter of a type": program(
        "  integer, parameter :: n = 2\n  type t(k)\n    integer, kind :: k\n  end type t\n"
        "  type(t(n)) :: z"
    ),
    "a parameter of a component's type": program(
        "  integer, parameter :: n = 2\n  type t(k)\n    integer, kind :: k\n  end type t\n"
        "  type s\n    type(t(n)) :: z\n  end type s"
    ),
    "a parameter of a result's type": program(
        "  integer, parameter :: n = 2\n  type t(k)\n    integer, kind :: k\n  end type t\n",
        inside="contains\n  type(t(n)) function z()\n    y = 2\n  end function z\n",
    ),
    "the images of a coarray": program("  integer, parameter :: n = 2\n  integer :: z[n,*]"),
    "the images of a coarray inside": program(
        "  integer, parameter :: n = 2",
        inside="contains\n  subroutine s\n    integer, save :: z[n,*]\n  end subroutine s\n",
    ),
    "a Cray pointer": program("  integer(8) :: p\n  integer :: z\n  pointer (p, z)"),
    "a parallel loop": program("  integer :: p", "  do concurrent (p = 1:2)\n  end do"),
    "a procedure inside": program(
        "  integer :: p", inside="contains\n  subroutine s\n    p = 1\n  end subroutine s\n"
    ),
    "a procedure inside, in two lines": program(
        "  integer :: rk",
        inside="contains\n  subroutine s\n    r&\n    &k = 1\n  end subroutine s\n",
    ),
    "a directive": program("  integer :: p", "  !$omp parallel private(p)\n  y = 2\n"
                           "  !$omp end parallel"),
    "a conditional line": program("  integer :: p", "  !$ p = 1\n  y = 3"),
    "an INCLUDE file": program("  integer, parameter :: n = 2\n  include 'more.inc'"),
    "an INCLUDE file that is not there": program("  integer :: p\n  include 'none.inc'"),
    "a statement that nobody understands": program("  integer :: p", "  frobnicate p over y"),
    "two statements on a line": program("  integer :: p; integer :: q"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOING)
def test_what_nothing_uses_goes(name: str, tmp_path: Path) -> None:
    text, left = GOING[name]
    before, after = _tidied(tmp_path, text)
    assert _declared(before.unit) - {left}
    assert _declared(after) == set(left.split())


@pytest.mark.parametrize("name", STAYING)
def test_what_may_be_used_stays(name: str, tmp_path: Path) -> None:
    (tmp_path / "more.inc").write_text("  real :: z(n)\n")
    before, after = _tidied(tmp_path, STAYING[name])
    assert _declared(before.unit)
    assert _declared(after) == _declared(before.unit)


@pytest.mark.parametrize("line", ["#ifdef OTHER\n  p = 2\n#endif\n", "  y = VALUE\n"])
def test_what_other_compilations_see_may_use_it(line: str, tmp_path: Path) -> None:
    text = program("  integer :: p", line + "  y = 3")
    define = "#define VALUE 4\n" if "VALUE" in line else ""
    _, after = _tidied(tmp_path, define + text, "main.F90")
    assert _declared(after) == {"p"}


def test_comments_of_a_declaration_stay(tmp_path: Path) -> None:
    text = program("  ! what counts\n  integer :: p\n  ! and where\n  integer :: q, n", "  y = n")
    path = tmp_path / "main.f90"
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (located,) = tree.units_of(str(path))
    after = without_unused(located, _BROUGHT, tree)
    found = unparse(replace_unit(tree.file(str(path)), located.unit, after))
    assert "  ! what counts\n  ! and where\n  integer :: n\n" in found
    assert "integer :: p" not in found


_CALLER = """\
program main
  use mpi
  implicit none
  real(8) :: a(1000), c(800000)
  integer :: ierr, i
  call MPI_Init(ierr)
  a = 0
  call first(a, 1000, MPI_PROC_NULL)
  do i = 1, 800000
    c(i) = sqrt(dble(i))
  end do
  print *, c(1), a(1)
  call MPI_Finalize(ierr)
end program main

subroutine first(a, n, left)
  use mpi
  implicit none
  integer, intent(in) :: n, left
  real(8), intent(inout) :: a(n)
  integer :: ier
  real(8) :: factor
  fac&
  &tor = 2
  call MPI_Recv(a, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ier)
  a(1) = a(1)*fac&
  &tor
end subroutine first
"""


def test_an_inlined_name_may_go_on_in_the_next_line(tmp_path: Path) -> None:
    path = tmp_path / "main.f90"
    path.write_text(_CALLER)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    found = optimise(tree, tree.units_of(str(path))[0])
    assert found.content is not None
    assert "real(8) :: factor" in found.content.decode().split("end program")[0]
