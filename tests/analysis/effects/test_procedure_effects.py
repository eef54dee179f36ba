"""What a call does to its caller, by the summary of the procedure."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.accesses import EffectKind
from support.analysed import Analysed, described

CALLER = """
subroutine caller(n, s, x, y, k)
  use state, only: shared, table, {use}
  integer, intent(in) :: n
  real :: s(n, 4, 5), x, y
  integer :: k, m
  {call}
end subroutine caller
"""
STATE = """
module state
  real :: shared, table(10)
  real, save :: hidden
contains
  subroutine {name}{text}
  end subroutine {name}
end module state
"""


def called(call: str, procedure: str, more: str = "") -> Analysed:
    name = procedure.split("(")[0].strip()
    texts = CALLER.format(use=name, call=call), STATE.format(name=name, text=procedure[len(name) :])
    return Analysed(*texts, *([more] if more else []), chain=("caller",))


def accesses(found: Analysed) -> set[str]:
    return {described(access) for access in found.footprint.accesses}


def effects(found: Analysed) -> set[EffectKind]:
    return {effect.kind for effect in found.footprint.effects}


def test_scalars_by_what_happens_to_them() -> None:
    found = called(
        "call work(x, y, k)",
        "work(a, b, c)\nreal :: a, b\ninteger :: c\nb = a\nif (c > 0) c = 0\n",
    )
    assert accesses(found) == {"reads x", "writes y", "reads k", "may write k"}
    assert effects(found) == set()


def test_keywords() -> None:
    found = called("call work(b=x, a=y)", "work(a, b)\nreal :: a, b\nb = a\n")
    assert accesses(found) == {"reads y", "writes x"}


def test_a_value_that_is_read_after_it_is_defined_does_not_come_from_outside() -> None:
    found = called("call work(x)", "work(a)\nreal :: a\na = 1\na = a + 1\n")
    assert accesses(found) == {"writes x"}


def test_a_way_out_leaves_the_argument_as_it_was() -> None:
    found = called(
        "call work(x, k)", "work(a, c)\nreal :: a\ninteger :: c\nif (c > 0) return\na = 1\n"
    )
    assert "may write x" in accesses(found)
    assert "writes x" not in accesses(found)


@pytest.mark.parametrize(
    ("actual", "shape", "expected"),
    [
        ("s(:,k,1)", "(n)", "may write s(:,k,1)"),
        ("s(1,k,1)", "(n)", "may write s(:,k,1)"),
        ("s(1,1,k)", "(n,4)", "may write s(:,:,k)"),
        ("s(1,1,k)", "(4*n)", "may write s(:,:,k)"),
        ("s(1,k,1)", "(2*n)", "may write s"),  # two planes
        ("s(2,k,1)", "(n)", "may write s"),  # ends in the next plane
        ("s(1,k,1)", "(*)", "may write s"),  # nobody knows how much
        ("s(1,k,1)", "(n-1)", "may write s"),
        ("s", "(n)", "may write s"),
    ],
)
def test_the_part_that_an_array_argument_stands_for(actual: str, shape: str, expected: str) -> None:
    found = called(
        f"call work({actual}, n)", f"work(a, n)\ninteger :: n\nreal :: a{shape}\na(1) = 0\n"
    )
    assert {text for text in accesses(found) if " s" in text} == {expected}


def test_an_element_for_a_scalar() -> None:
    found = called("call work(s(k,1,1))", "work(a)\nreal :: a\na = 1\n")
    assert {text for text in accesses(found) if " s" in text} == {"may write s(k,1,1)"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("print *, a", EffectKind.IO),
        ("if (a > 0) stop", EffectKind.STOP),
        ("call elsewhere(a)", EffectKind.UNKNOWN_CALL),
        ("vendor extension", EffectKind.OPAQUE),
        ("call mpi_barrier(0, i)", EffectKind.MPI),
    ],
)
def test_wider_effects_reach_the_caller(body: str, kind: EffectKind) -> None:
    found = called("call work(x)", f"work(a)\nuse mpi\nreal :: a\ninteger :: i\n{body}\n")
    assert kind in effects(found)


def test_saved_variables_are_state() -> None:
    found = called("call work(x)", "work(a)\nreal :: a\ninteger :: calls = 0\ncalls = calls + 1\n")
    assert effects(found) == {EffectKind.STATE}


def test_module_variables_may_be_read() -> None:
    found = called("call work(x)", "work(a)\nreal :: a\na = shared\n")
    assert effects(found) == set()
    assert "reads state::shared" in accesses(found)


def test_allocations_of_locals_are_no_effect() -> None:
    found = called(
        "call work(x)",
        "work(a)\nreal :: a\nreal, allocatable :: t(:)\nallocate(t(3))\nt = a\ndeallocate(t)\n",
    )
    assert effects(found) == set()


def test_effects_come_through_procedures_in_between() -> None:
    deep = "subroutine between(a)\n  real :: a\n  print *, a\nend subroutine between\n"
    found = called("call work(x)", "work(a)\nreal :: a\ncall between(a)\n", deep)
    assert effects(found) == {EffectKind.IO}


def test_recursion_does_what_its_statements_do() -> None:
    found = called("call work(x)", "work(a)\nreal :: a\nif (a > 0) call work(a)\n")
    assert accesses(found) == {"reads x"}
    assert effects(found) == set()


def test_arguments_that_change_places_in_a_recursion_are_all_written() -> None:
    """What calls a recursive procedure does what this does when nothing changes any more."""
    text = "work(a, b, n)\nreal :: a(3), b(3)\ninteger :: n\n"
    found = called(
        "call between(table, s, k)",
        text + "if (n > 0) call work(b, a, n - 1)\na(1) = 1\n",
        "subroutine between(u, v, n)\n  use state, only: work\n  real :: u(3), v(3)\n"
        "  integer :: n\n  call work(u, v, n)\nend subroutine between\n",
    )
    assert {one.split("(")[0] for one in accesses(found) if "write" in one} == {
        "may write s",
        "may write state::table",
    }


def test_effects_of_what_is_called_under_a_condition() -> None:
    other = "subroutine other(a)\n  real :: a\n  a = 1\n  call work(a)\n  print *, a\nend\n"
    found = called(
        "call work(x)", "work(a)\nreal :: a\nif (a > 0) then\n  call other(a)\nend if\n", other
    )
    # ``other`` is external and calls another ``work``, which is not in the tree
    assert effects(found) == {EffectKind.IO, EffectKind.UNKNOWN_CALL}


def test_module_variables_that_are_written_have_names() -> None:
    for body, name in (("shared = a", "shared"), ("hidden = a", "hidden")):
        found = called("call work(x)", f"work(a)\nreal :: a\n{body}\n")
        assert effects(found) == set()
        assert f"writes state::{name}" in accesses(found)


def test_components_of_module_variables_keep_their_names() -> None:
    kinds = "type pair\n real, allocatable :: one(:), two(:)\nend type\n"
    text = STATE.format(name="work", text="\nboth%one(1) = many(2)%two(1)\n")
    text = text.replace("real :: shared", kinds + "type(pair) :: both, many(3)\nreal :: shared")
    found = Analysed(CALLER.format(use="work", call="call work"), text, chain=("caller",))
    assert accesses(found) == {"may write state::both%one", "reads state::many%two"}
    assert effects(found) == set()


def test_procedure_arguments_might_be_called() -> None:
    found = called("call work(x, mpi_init)", "work(a, f)\nreal :: a\nexternal :: f\ncall f(a)\n")
    assert EffectKind.UNKNOWN_CALL in effects(found)


def test_arguments_that_do_not_fit() -> None:
    found = called("call work(x, y, k)", "work(a)\nreal :: a\na = 1\n")
    assert EffectKind.UNKNOWN_CALL in effects(found)


def test_mpi_reads_and_writes_its_arguments() -> None:
    text = """
    subroutine caller(s, r)
      use mpi
      real :: s(10), r(10)
      integer :: ierr
      call MPI_Allreduce(s, r, 10, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
      if (MPI_Wtime() > 0) s(1) = 0
    end subroutine caller
    """
    found = Analysed(text)
    assert {"reads s", "may write r", "writes ierr"} <= accesses(found)
    assert [effect.kind for effect in found.footprint.effects] == [EffectKind.MPI, EffectKind.CLOCK]


BOUND = """\
module functions
  implicit none
  integer :: calls = 0
  type :: table
    real :: x(9)
    procedure(real), pointer, nopass :: p => null()
  contains
    procedure :: f
    procedure, nopass :: g
  end type table
contains
  real function f(self, i)
    class(table), intent(in) :: self
    integer, intent(in) :: i
    calls = calls + 1
    f = self%x(i)
  end function f
  real function g(i)
    integer, intent(in) :: i
    calls = calls + 1
    g = i
  end function g
end module functions
program caller
  use functions
  implicit none
  type(table), target :: t
  real :: a(9)
  integer :: i
  {statement}
end program caller
"""


@pytest.mark.parametrize(
    "statement",
    [
        "a(1) = t%f(2)",
        "a(1) = t%g(2)",
        "a(1) = t%p(2)",
        "a(int(t%g(2))) = 1",
        "i = size(a(:int(t%f(1))))",
        "call sin_of(t%f(1))",
    ],
)
def test_functions_bound_to_a_type_are_called(statement: str) -> None:
    found = Analysed(BOUND.format(statement=statement), chain=("caller",))
    assert EffectKind.UNKNOWN_CALL in effects(found) or "may write functions::calls" in accesses(
        found
    )


def test_components_are_not_functions() -> None:
    found = Analysed(BOUND.format(statement="a(1) = t%x(2)"), chain=("caller",))
    assert effects(found) == set()


@pytest.mark.parametrize(
    ("actual", "dummy", "found"),
    [
        ("s(1:n:2, 1, 1)", "real :: a(8)\n", {"reads s(1:n:2,1,1)"}),
        ("s(1:n:2, 1, 1)", "real, contiguous :: a(:)\n", {"reads s(1:n:2,1,1)"}),
        ("s(1:n:2, 1, 1)", "real, intent(in) :: a(8)\n", set()),
        ("s(1:n:2, 1, 1)", "real :: a(:)\n", set()),
        ("s(1:n, 1, 1)", "real :: a(8)\n", set()),
        ("s(1, 1, 1)", "real :: a(8)\n", set()),
        ("s", "real :: a(8)\n", set()),
    ],
)
def test_an_argument_that_may_be_copied_is_accessed_though_the_procedure_leaves_it(
    actual: str, dummy: str, found: set[str]
) -> None:
    # the copy of a buffer in which a message arrives would be written back over it
    assert accesses(called(f"call work({actual})", f"work(a)\n{dummy}")) - {"reads n"} == found


def test_all_of_a_copy_is_written_back() -> None:
    found = called("call work(s(1:n:2, 1, 1))", "work(a)\nreal :: a(8)\na(1) = 0\n")
    assert accesses(found) - {"reads n"} == {"reads s(1:n:2,1,1)", "may write s(1:n:2,1,1)"}
