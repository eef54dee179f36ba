"""What a name means, from every kind of declaration and from every place it may come from."""

from __future__ import annotations

import pytest

from asphalt.analysis.names.scopes import (
    Absence,
    Origin,
    Scope,
    Scopes,
    Symbol,
    constant,
    element_bytes,
    scope_of,
)
from asphalt.ir.expr import Expr, Lit, Ref
from asphalt.ir.stmt import Assign
from support.fortran_program import FortranProgram


def scope(program: FortranProgram, *chain: str) -> Scope:
    return scope_of(program.at(*chain), program)


def known(scope: Scope, name: str) -> Symbol:
    found = scope.lookup(name)
    assert found is not None, name
    return found


def value(scope: Scope, name: str) -> int | None:
    return constant(Ref(name, name), scope)


def bytes_of(scope: Scope, name: str) -> int | None:
    return element_bytes(known(scope, name), scope)


SCATTERED = FortranProgram(
    """
    subroutine work(n, a, b, c, p)
      implicit none
      integer n, i
      real*8 a, x, y, z
      dimension a(n, 0:n), y(10)
      common /block/ x, z(3)
      common lone
      integer lone
      parameter (i = 3)
      complex(8), intent(in) :: b(:, 2:)
      real, pointer :: c(:)
      real, allocatable :: d(:, :)
      save y
      real, target :: e(4)
      real f(4), g
      equivalence (f(2), g)
      logical :: done = .false.
      double precision, external :: h
      external p
      character(len=i), parameter :: text = 'abc'
      f(1) = 0
    end subroutine
    """
)


def test_all_statements_about_a_name_are_combined() -> None:
    at = scope(SCATTERED, "work")
    a = known(at, "a")
    assert a.origin is Origin.DUMMY
    assert a.dims is not None
    assert [d.kind for d in a.dims] == ["explicit", "explicit"]
    assert a.dims[1].lower == Lit("integer", "0")
    assert bytes_of(at, "a") == 8
    assert known(at, "y").attrs >= {"save"}
    assert known(at, "y").is_array
    x, z, lone = known(at, "x"), known(at, "z"), known(at, "lone")
    assert (x.origin, x.common_block) == (Origin.COMMON, "block")
    assert z.is_array
    assert (lone.origin, lone.common_block) == (Origin.COMMON, "")
    assert at.declared.commons == {"block": ["x", "z"], "": ["lone"]}


def test_origins_and_attributes() -> None:
    at = scope(SCATTERED, "work")
    assert known(at, "n").origin is Origin.DUMMY
    assert known(at, "i").is_parameter
    assert known(at, "b").intent == "in"
    assert known(at, "b").dims is not None
    assert [d.kind for d in known(at, "b").dims or ()] == ["assumed_shape", "assumed_shape"]
    assert [d.kind for d in known(at, "c").dims or ()] == ["deferred"]
    assert [d.kind for d in known(at, "d").dims or ()] == ["deferred", "deferred"]
    assert known(at, "d").origin is Origin.LOCAL
    assert "target" in known(at, "e").attrs
    assert known(at, "g").equivalenced
    assert known(at, "f").equivalenced
    assert not known(at, "e").equivalenced
    assert "save" in known(at, "done").attrs
    assert known(at, "h").origin is Origin.PROCEDURE
    assert known(at, "p").origin is Origin.DUMMY
    assert "external" in known(at, "p").attrs
    assert known(at, "a").owner == "work"


def test_nothing_is_guessed_under_implicit_none() -> None:
    at = scope(SCATTERED, "work")
    assert at.lookup("nothere") is None
    assert at.resolve("nothere") is Absence.ABSENT


def test_intrinsics_are_known_unless_declared() -> None:
    at = scope(SCATTERED, "work")
    assert known(at, "sin").origin is Origin.INTRINSIC
    own = FortranProgram("subroutine s\nimplicit none\nreal sin(3)\nend\n")
    assert known(scope(own, "s"), "sin").is_array


def test_implicit_typing() -> None:
    program = FortranProgram(
        """
        subroutine s
          implicit real*8 (a-h, o-z), logical (l)
          index = 3
          x = sqrt(y)
          i = max(1, 2)
        end
        subroutine t
          x = 1
        end
        """
    )
    at = scope(program, "s")
    assert known(at, "x").attrs == {"implicit"}
    assert bytes_of(at, "x") == 8
    flag = known(at, "l1").type
    assert flag is not None
    assert flag.base == "logical"
    integer = known(at, "i").type
    assert integer is not None
    assert integer.base == "integer"
    assert known(at, "index").origin is Origin.LOCAL
    assert known(at, "max").origin is Origin.INTRINSIC
    assert bytes_of(scope(program, "t"), "x") == 4


def test_implicitly_typed_dummies_and_common() -> None:
    program = FortranProgram(
        "      subroutine s(n, a)\n      dimension a(n)\n      common /c/ x, k(3)\n      end\n",
        suffix=".f",
    )
    at = scope(program, "s")
    assert bytes_of(at, "a") == 4
    assert known(at, "n").type is not None
    assert bytes_of(at, "k") == 4
    assert known(at, "k").is_array


def test_functions_and_their_results() -> None:
    program = FortranProgram(
        """
        real(8) function f(x)
          real(8), intent(in) :: x
          f = x
        end function
        function g(x) result(y)
          real, intent(in) :: x
          real :: y
          y = x
        end function
        """
    )
    assert known(scope(program, "f"), "f").origin is Origin.RESULT
    assert bytes_of(scope(program, "f"), "f") == 8
    assert known(scope(program, "g"), "y").origin is Origin.RESULT


MODULES = FortranProgram(
    """
    module base
      use, intrinsic :: iso_fortran_env, only: wp => real64
      implicit none
      integer, parameter :: n = 4*2
      real(wp) :: field(n)
      integer, private :: hidden
      integer :: counter = 0
    contains
      subroutine reset
        counter = 0
      end subroutine
    end module
    module middle
      use base, renamed => counter
      implicit none
      private
      public :: field, renamed, own
      integer :: own, secret
    end module
    module user
      use middle
      implicit none
      integer :: n
    contains
      subroutine work(a)
        use base, only: m => n, counter
        real, intent(inout) :: a(m)
        integer :: i
        a = 0
      contains
        subroutine inner
          integer :: k
          k = i
        end subroutine
      end subroutine
    end module
    """
)


def test_use_association() -> None:
    at = scope(MODULES, "user", "work")
    assert value(at, "m") == 8
    counter, renamed = known(at, "counter"), known(at, "renamed")
    assert counter.identity == renamed.identity
    assert counter.origin is Origin.MODULE
    assert renamed.name == "counter"
    assert renamed.owner == "base"
    assert bytes_of(at, "field") == 8
    assert known(at, "own").owner == "middle"
    assert at.lookup("secret") is None
    assert at.lookup("hidden") is None
    assert at.resolve("hidden") is Absence.ABSENT


def test_the_home_of_a_symbol_sees_what_its_user_does_not() -> None:
    at = scope(MODULES, "user", "work")
    field = known(at, "field")
    assert at.lookup("wp") is None
    assert field.home is not None
    assert value(at, "wp") is None
    assert field.dims is not None
    assert constant(field.dims[0].upper, field.home) == 8
    assert constant(field.dims[0].upper, at) is None  # here, n is the variable of module user


def test_host_association() -> None:
    at = scope(MODULES, "user", "work", "inner")
    assert known(at, "i").origin is Origin.HOST
    assert known(at, "i").owner == "work"
    assert known(at, "a").origin is Origin.HOST
    assert "dummy" in known(at, "a").attrs
    assert known(at, "n").origin is Origin.MODULE
    assert known(at, "k").origin is Origin.LOCAL
    assert known(at, "work").origin is Origin.PROCEDURE
    reset = known(scope(MODULES, "base", "reset"), "reset")
    assert reset.origin is Origin.PROCEDURE


def test_local_declarations_hide_those_of_hosts_and_modules() -> None:
    at = scope(MODULES, "user", "work")
    assert known(at, "n").owner == "user"
    assert not known(at, "n").is_parameter


def test_what_is_not_in_the_tree_is_unknown() -> None:
    program = FortranProgram(
        """
        subroutine s
          use elsewhere
          integer :: known
          known = there
        end
        subroutine t
          use elsewhere, only: there, here => that
          x = there
        end
        subroutine u
          implicit none
          include 'missing.inc'
          integer :: known
          known = 1
        end
        """
    )
    at = scope(program, "s")
    assert known(at, "known").origin is Origin.LOCAL
    assert at.resolve("there") is Absence.UNKNOWN
    assert at.resolve("sin") is Absence.UNKNOWN
    at = scope(program, "t")
    assert at.resolve("there") is Absence.UNKNOWN
    assert at.resolve("here") is Absence.UNKNOWN
    assert known(at, "x").origin is Origin.LOCAL
    at = scope(program, "u")
    assert at.resolve("any") is Absence.UNKNOWN
    assert known(at, "known").origin is Origin.LOCAL


def test_include_files_declare_names() -> None:
    program = FortranProgram(
        """
        subroutine s
          implicit none
          include 'sizes.inc'
          include 'mpif.h'
          x = n
        end
        """,
        includes={"sizes.inc": "integer n\nparameter (n = 12)\nreal x\ncommon /c/ x\n"},
    )
    at = scope(program, "s")
    assert value(at, "n") == 12
    assert known(at, "x").common_block == "c"
    assert known(at, "mpi_comm_world").origin is Origin.MPI
    assert known(at, "mpi_comm_world").owner == "mpif.h"
    assert at.resolve("other") is Absence.ABSENT


def test_two_modules_with_the_same_name() -> None:
    program = FortranProgram(
        "module a\ninteger :: x, y\nend module\n",
        "module b\nuse a, only: y\ninteger :: x\nend module\n",
        "subroutine s\nuse a\nuse b\ny = 1\nend\n",
    )
    at = scope(program, "s")
    assert at.resolve("x") is Absence.UNKNOWN
    assert known(at, "y").owner == "a"


def test_modules_that_use_each_other_end() -> None:
    program = FortranProgram(
        "module a\nuse b\nend module\n",
        "module b\nuse a\ninteger :: x\nend module\n",
        "subroutine s\nuse a\nx = 1\nend\n",
    )
    at = scope(program, "s")
    assert known(at, "x").owner == "b"
    assert at.resolve("z") is not Absence.UNKNOWN


def test_names_bound_by_constructs_are_unknown() -> None:
    program = FortranProgram(
        """
        subroutine s(a)
          implicit none
          real :: a(10), b, c, d
          associate (b => a(1))
            b = 1
          end associate
          block
            integer :: c
            c = 1
          end block
          d = 1
        end subroutine
        """
    )
    at = scope(program, "s")
    assert at.shadowed == {"b", "c"}
    assert at.lookup("b") is None
    assert at.lookup("c") is None
    assert known(at, "d").origin is Origin.LOCAL


def test_names_of_interfaces_and_types() -> None:
    program = FortranProgram(
        """
        module m
          implicit none
          type point
            real :: x, y
          end type
          interface swap
            module procedure swap_real
          end interface
          interface
            subroutine outside(n)
              integer :: n
            end subroutine
          end interface
          enum, bind(c)
            enumerator :: red = 4, green
          end enum
        contains
          subroutine swap_real(a)
            real :: a
          end subroutine
        end module
        """
    )
    at = scope(program, "m")
    assert at.lookup("x") is None
    assert "generic" in known(at, "swap").attrs
    assert known(at, "outside").origin is Origin.PROCEDURE
    assert at.lookup("n") is None
    assert value(at, "red") == 4
    assert value(at, "green") == 5


def test_entries_make_local_names_unknown() -> None:
    program = FortranProgram(
        """
        subroutine s(a)
          real a, b
          a = 1
          return
          entry t(b)
          b = 1
        end
        """
    )
    at = scope(program, "s")
    assert known(at, "a").origin is Origin.DUMMY
    assert at.lookup("b") is None


KINDS = """
subroutine s
  use iso_c_binding, only: c_double, c_int
  use, intrinsic :: iso_fortran_env
  use mpi
  implicit none
  integer, parameter :: dp = kind(1.d0), sp = kind(1.0), ep = selected_real_kind(15, 307)
  integer, parameter :: ik = selected_int_kind(r=12), lk = kind(.true.), own = dp
  integer, parameter :: size1 = 2**3 - 10/(-4)*1 + mod(-7, 4) + max(1, 2, 3)
  integer, parameter :: i64 = int64
  real(dp) :: a
  real(kind=c_double) :: b
  complex(own) :: c
  integer(ik) :: d
  real*8 :: e
  complex*16 :: f
  double complex :: g
  integer(mpi_address_kind) :: h
  character(len=2*dp) :: i
  type(point) :: j
  real(unknown) :: k
  logical :: l
  real(10) :: m
  complex(kind(a)) :: n
  integer(kind=int64) :: o
  logical :: is_parameter_false
end subroutine
"""


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("a", 8),
        ("b", 8),
        ("c", 16),
        ("d", 8),
        ("e", 8),
        ("f", 16),
        ("g", 16),
        ("h", 8),
        ("i", 16),
        ("j", None),
        ("k", None),
        ("l", 4),
        ("m", 16),
        ("n", 16),
        ("o", 8),
    ],
)
def test_sizes_of_elements(name: str, size: int | None) -> None:
    assert bytes_of(scope(FortranProgram(KINDS), "s"), name) == size


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("dp", 8),
        ("sp", 4),
        ("ep", 8),
        ("ik", 8),
        ("lk", 4),
        ("own", 8),
        ("size1", 8 + 2 - 3 + 3),
        ("i64", 8),
        ("a", None),
        ("output_unit", None),
    ],
)
def test_integer_constants(name: str, number: int | None) -> None:
    assert value(scope(FortranProgram(KINDS), "s"), name) == number


def right_side(text: str) -> tuple[Expr, Scope]:
    program = FortranProgram(f"subroutine s\nimplicit none\ninteger :: i, a(3)\ni = {text}\nend\n")
    assign = program.at("s").unit.body[0]
    what = assign.what if hasattr(assign, "what") else None
    assert isinstance(what, Assign)
    return what.value, scope(program, "s")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("(-7)/2", -3),
        ("-7/2", -3),
        ("modulo(-7, 4)", 1),
        ("2**(-1)", None),
        ("1/0", None),
        ("i + 1", None),
        ("a(1)", None),
        ("int(3)", 3),
        ("abs(-3)", 3),
        ("kind(1_8)", 8),
        ("min(4, 2)", 2),
    ],
)
def test_constant_expressions(text: str, number: int | None) -> None:
    assert constant(*right_side(text)) == number


def test_scopes_are_built_once() -> None:
    scopes = Scopes(MODULES)
    located = MODULES.at("user", "work")
    assert scopes.of(located) is scopes.of(located)
    assert scopes.module("base") is scopes.module("base")
    assert scopes.module("nowhere") is None


PREFIXED = FortranProgram(
    """
    module kinds
      use mpi, only: MPI_REAL
      implicit none
      integer, parameter, public :: MPI_MY_REAL = MPI_REAL
    end module kinds
    module other_kinds
      use mpi
      implicit none
      integer, parameter :: MPI_MY_REAL = MPI_DOUBLE_PRECISION
    end module other_kinds
    subroutine one
      use mpi
      use kinds
    end subroutine one
    subroutine both
      use mpi
      use kinds
      use other_kinds
    end subroutine both
    module renamed
      use mpi, only: MPI_REAL_OF => MPI_DOUBLE_PRECISION
    end module renamed
    module again
      use mpi, only: MPI_REAL_OF => MPI_REAL
    end module again
    subroutine given
      use mpi
      use renamed
    end subroutine given
    subroutine twice
      use renamed
      use again
    end subroutine twice
    module host
      use renamed
      implicit none
      integer :: mpi_rank, mpi_real, mpi_err_of
    contains
      subroutine inside
        use mpi
      end subroutine inside
      subroutine plain
        use mpi, only: mpi_integer
      end subroutine plain
    end module host
    """
)


def test_a_name_of_a_module_is_not_taken_for_one_of_mpi() -> None:
    """A reference would not be valid if the module ``mpi`` had the name, too."""
    found = known(scope(PREFIXED, "one"), "mpi_my_real")
    assert (found.origin, found.owner) == (Origin.PARAMETER, "kinds")
    assert known(scope(PREFIXED, "one"), "mpi_real").origin is Origin.MPI


def test_a_name_that_a_module_gives_a_constant_of_mpi() -> None:
    """It is none of the module ``mpi`` itself, which would have two things of one name then."""
    found = known(scope(PREFIXED, "given"), "mpi_real_of")
    assert (found.origin, found.name) == (Origin.MPI, "mpi_double_precision")
    assert known(scope(PREFIXED, "given"), "mpi_real").name == "mpi_real"
    assert scope(PREFIXED, "twice").resolve("mpi_real_of") is Absence.UNKNOWN


def test_a_variable_of_a_host_that_is_named_like_something_of_mpi() -> None:
    """It is no constant that MPI's modules have: these would hide the host's."""
    inside = scope(PREFIXED, "host", "inside")
    assert known(inside, "mpi_rank").origin is Origin.MODULE
    assert known(inside, "mpi_real_of").name == "mpi_double_precision"
    for name in ("mpi_real", "mpi_err_of", "mpi_comm_rank", "mpi_send"):
        assert known(inside, name).origin is Origin.MPI
    plain = scope(PREFIXED, "host", "plain")
    assert known(plain, "mpi_real").origin is Origin.MODULE


def test_names_of_two_modules_stay_unknown() -> None:
    assert scope(PREFIXED, "both").resolve("mpi_my_real") is Absence.UNKNOWN


@pytest.mark.parametrize(
    ("header", "hidden"), [("fftw3.f", {"fftw_estimate"}), ("fftw4.f", {"fftw_estimate", "near"})]
)
def test_a_header_of_a_library_declares_names_that_begin_alike(
    header: str, hidden: set[str]
) -> None:
    program = FortranProgram(
        f"""
        module plans
          include '{header}'
        end module plans
        module near
          integer :: n
        contains
          subroutine s(a)
            use plans
            integer :: a
            a = n
          end subroutine s
        end module near
        """
    )
    here = scope(program, "near", "s")
    names = {"fftw_estimate": "fftw_estimate", "near": "n"}
    assert {key for key, name in names.items() if here.visible(name) is Absence.UNKNOWN} == hidden
