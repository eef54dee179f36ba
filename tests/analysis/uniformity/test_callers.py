"""Which calls of a procedure are known: by other names, beside things of its name, and none."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.uniformity.uniformity import Judgement, Level
from asphalt.ir.tree import leaves
from support.stepping import Stepped

_MAIN = """\
program main
  use mpi
{used}  implicit none
  integer :: ierr, me, n
  real :: x(9), y(9)
  integer :: k(9), l(9)
{declared}
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
{body}
  call MPI_Finalize(ierr)
end program main
"""
_PROCEDURE = """\
subroutine {name}(x, y)
  use mpi
  implicit none
  real, intent(in) :: x(9)
  real, intent(out) :: y(9)
  integer :: ierr
  call MPI_Allreduce(x, y, 9, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, ierr)
end subroutine {name}
"""
_OTHER = """\
subroutine other(x, y)
  integer, intent(in) :: x(9)
  integer, intent(out) :: y(9)
  y = x
end subroutine other
"""


def _module(before: str = "", name: str = "peak") -> str:
    return f"module tools\n{before}contains\n{_PROCEDURE.format(name=name)}{_OTHER}end module\n"


def _reached(
    folder: Path, main: str = "", declared: str = "", used: str = "", **files: str
) -> Judgement:
    """Whether all ranks reach the reduction."""
    texts = {name.replace("_", ".", 1): text for name, text in files.items()}
    texts.setdefault("main.f90", _MAIN.format(body=main, declared=declared, used=used))
    for facts in (stepped := Stepped.of(folder, texts)).facts():
        for leaf in (leaf for node in facts.unit.body for leaf in leaves(node)):
            call = leaf.call
            if call is not None and "allreduce" in repr(call.procedure).lower():
                stepped.uniform = True
                here = facts.located.path, facts.unit.name
                again = next(f for f in stepped.facts() if (f.located.path, f.unit.name) == here)
                assert again.uniformity is not None
                (own,) = (one for one in _all(again.unit.body) if one.span == leaf.span)
                return again.uniformity.reached(again.scope, own, None)
    raise AssertionError("there is no reduction")


def _all(nodes: tuple[object, ...]) -> list[object]:
    return [leaf for node in nodes for leaf in leaves(node)]  # type: ignore[arg-type]


_BLOCK = "  interface largest\n    module procedure peak, other\n  end interface\n"
_USE = "  use tools\n"
_IF = "  if (me == 0) "


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ("  call largest(x, y)", Level.UNIFORM),
        (f"{_IF}call largest(x, y)", Level.VARYING),  # the nearest one that is not
        (f"  call largest(x, y)\n{_IF}call largest(k, l)", Level.UNIFORM),  # the other specific
        (f"  call largest(k, l)\n{_IF}call peak(x, y)", Level.VARYING),  # by its own name, too
        (f"{_IF}call largest(x(1:9), y)", Level.VARYING),
        (f"{_IF}call largest([1.0, 2.0], y)", Level.VARYING),  # it may be this one
    ],
)
def test_generic_names(body: str, level: Level, tmp_path: Path) -> None:
    assert _reached(tmp_path, body, used=_USE, tools_f90=_module(_BLOCK)).level is level


@pytest.mark.parametrize(
    ("other", "level"),
    [
        ("integer", Level.VARYING),
        ("real(16)", Level.VARYING),  # none of the two fits: it may be this one
        ("real", Level.UNIFORM),  # the nearest one: the other fits, and nothing calls this one
    ],
)
def test_kinds_that_an_option_of_the_compiler_sets(
    other: str, level: Level, tmp_path: Path
) -> None:
    """``-fdefault-real-8`` makes a default REAL fit, which no procedure of the name takes."""
    peak = _PROCEDURE.format(name="peak").replace("real,", "real(8),")
    tools = f"module tools\n{_BLOCK}contains\n{peak}{_OTHER.replace('integer', other)}end module\n"
    body = f"{_IF}call largest(x, y)"
    assert _reached(tmp_path, body, used=_USE, tools_f90=tools).level is level


def test_generic_names_of_other_modules(tmp_path: Path) -> None:
    more = "module more\n  use tools\n  interface largest\n    module procedure peak\n"
    more += "  end interface\nend module more\n"
    given = {"used": "  use more\n", "tools_f90": _module(), "zmore_f90": more}
    assert _reached(tmp_path / "all", "  call largest(x, y)", **given).level is Level.UNIFORM
    found = _reached(tmp_path / "one", f"{_IF}call largest(x, y)", **given)
    assert found.level is Level.VARYING


def test_interfaces_of_external_procedures(tmp_path: Path) -> None:
    block = "  interface largest\n    subroutine peak(x, y)\n    real, intent(in) :: x(9)\n"
    block += "    real, intent(out) :: y(9)\n    end subroutine\n  end interface\n"
    external = _PROCEDURE.format(name="peak")
    for folder, body, level in (
        ("all", "  call largest(x, y)", Level.UNIFORM),
        ("one", f"  call peak(x, y)\n{_IF}call largest(x, y)", Level.VARYING),
    ):
        found = _reached(tmp_path / folder, body, declared=block, peak_f90=external)
        assert found.level is level


@pytest.mark.parametrize(
    ("before", "used"),
    [
        (_BLOCK, "  use tools, only: best => largest\n"),
        ("  interface operator(.of.)\n    module procedure peak\n  end interface\n", _USE),
        (f"{_BLOCK}  type t\n  contains\n    procedure, nopass :: peak\n  end type\n", _USE),
    ],
)
def test_other_ways_are_not_followed(before: str, used: str, tmp_path: Path) -> None:
    found = _reached(tmp_path, "  n = 1", used=used, tools_f90=_module(before))
    assert found.level is Level.UNKNOWN


_COMPONENT = "module shapes\n  type shape\n    real :: peak = 1, other\n  end type\n"
_BINDING = (
    "module shapes\n  type shape\n  contains\n    procedure, nopass :: peak => flat\n"
    "  end type\ncontains\n  subroutine flat\n  end subroutine\n"
)
_POINTER = (
    "module shapes\n  type shape\n    procedure(flat), pointer, nopass :: peak => null()\n"
    "  end type\ncontains\n  subroutine flat\n  end subroutine\n"
)
_VARIABLE = (
    "module shapes\ncontains\n  subroutine flat(z)\n    real :: z, peak\n    real :: a(9)\n"
    "    peak = 2\n    z = a(int(peak))\n  end subroutine\n"
)
_ARRAY = (
    "module shapes\ncontains\n  subroutine flat(z)\n    real :: z, peak(3)\n"
    "    peak(1) = 2\n    z = peak(2)\n  end subroutine\n"
)


@pytest.mark.parametrize("beside", [_COMPONENT, _BINDING, _POINTER, _VARIABLE, _ARRAY])
def test_other_things_of_the_same_name(beside: str, tmp_path: Path) -> None:
    given = {"used": _USE, "tools_f90": _module(), "shapes_f90": f"{beside}end module shapes\n"}
    assert _reached(tmp_path / "all", "  call peak(x, y)", **given).level is Level.UNIFORM
    assert _reached(tmp_path / "one", f"{_IF}call peak(x, y)", **given).level is Level.VARYING


@pytest.mark.parametrize(
    "beside",
    [
        # these may call it: by a binding, a pointer, an actual argument
        "module shapes\n  use tools\n  type shape\n  contains\n    procedure, nopass :: f => peak\n"
        "  end type\nend module\n",
        "module shapes\n  use tools\n  procedure(peak), pointer :: p => peak\nend module\n",
        "subroutine s\n  use tools\n  procedure(peak), pointer :: p\n  p => peak\nend subroutine\n",
        "subroutine s\n  use tools\n  call apply(peak)\nend subroutine\n",
    ],
)
def test_uses_of_the_procedure_itself(beside: str, tmp_path: Path) -> None:
    given = {"used": _USE, "tools_f90": _module(), "shapes_f90": beside}
    assert _reached(tmp_path, "  call peak(x, y)", **given).level is Level.UNKNOWN


@pytest.mark.parametrize("name", ["verify", "scan", "index", "sum", "merge"])
def test_names_of_intrinsic_functions(name: str, tmp_path: Path) -> None:
    given = {"peak_f90": _PROCEDURE.format(name=name)}
    found = _reached(tmp_path / "all", f"  call {name}(x, y)", **given)
    assert found.level is Level.UNIFORM
    found = _reached(tmp_path / "one", f"{_IF}call {name}(x, y)", **given)
    assert found.level is Level.VARYING


def test_intrinsic_subroutines_have_no_other_meaning(tmp_path: Path) -> None:
    given = {"peak_f90": _PROCEDURE.format(name="random_number")}
    found = _reached(tmp_path, "  call random_number(x)", **given)
    assert found.level is not Level.UNIFORM or "nothing calls" in found.evidence


def test_what_nothing_calls_is_never_executed(tmp_path: Path) -> None:
    found = _reached(tmp_path, "  n = 1", used=_USE, tools_f90=_module())
    assert found.level is Level.UNIFORM
    assert found.evidence == "nothing calls peak"


_BY_ANOTHER = "subroutine idle(x, y)\n  use tools\n  real :: x(9), y(9)\n  call peak(x, y)\nend\n"


def test_nor_is_what_only_that_calls(tmp_path: Path) -> None:
    found = _reached(tmp_path, "  n = 1", tools_f90=_module(), idle_f90=_BY_ANOTHER)
    assert found.level is Level.UNIFORM


@pytest.mark.parametrize(
    "given",
    [
        {"second_f90": "program second\nend program second\n"},  # two programs
        {"c_c": "void peak_(float *x, float *y);\nint f() { peak_(0, 0); }\n"},
        {"c_c": "void peak(float *x, float *y);\nint f() { peak(0, 0); }\n"},
        {"call_f90": "subroutine s\n  use tools\n  call apply(peak)\nend subroutine\n"},
    ],
)
def test_it_may_be_called_after_all(given: dict[str, str], tmp_path: Path) -> None:
    found = _reached(tmp_path, "  n = 1", tools_f90=_module(), **given)
    assert found.level is Level.UNKNOWN


_POINTER = (
    "subroutine s\n  use tools\n  procedure(peak), pointer :: f\n  f => peak\nend subroutine\n"
)
_FINAL = "  type t\n  contains\n    final :: peak\n  end type\n"
_ASSIGNMENT = "  interface assignment(=)\n    module procedure peak\n  end interface\n"
_CALLBACK = "  procedure(peak), pointer :: f => peak\n"


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("", {"point_f90": _POINTER}),
        (_CALLBACK, {}),
        (_FINAL, {}),
        (_ASSIGNMENT, {}),
    ],
)
def test_it_may_be_called_by_other_means(
    before: str, given: dict[str, str], tmp_path: Path
) -> None:
    found = _reached(tmp_path, "  n = 1", used=_USE, tools_f90=_module(before), **given)
    assert found.level is Level.UNKNOWN


def test_what_is_bound_to_c_may_be_called(tmp_path: Path) -> None:
    text = _module().replace("subroutine peak(x, y)\n", "subroutine peak(x, y) bind(c)\n")
    assert _reached(tmp_path, "  n = 1", used=_USE, tools_f90=text).level is Level.UNKNOWN


def test_a_library_is_called_from_elsewhere(tmp_path: Path) -> None:
    """There is no main program."""
    given = {"main_f90": "subroutine main\nend subroutine main\n"}
    found = _reached(tmp_path, tools_f90=_module(), **given)
    assert found.level is Level.UNKNOWN


def test_an_entry_may_be_called(tmp_path: Path) -> None:
    text = _module().replace("  integer :: ierr\n", "  integer :: ierr\n  entry top(x, y)\n", 1)
    found = _reached(tmp_path, "  call top(x, y)", used=_USE, tools_f90=text)
    assert found.level is Level.UNKNOWN


_PARENT = """\
module tools
  interface {generic}
    module subroutine peak(x, y)
      real, intent(in) :: x(9)
      real, intent(out) :: y(9)
    end subroutine
  end interface
contains
  subroutine other(x, y)
    real :: x(9), y(9)
{other}
  end subroutine
end module tools
"""


@pytest.mark.parametrize(
    ("body", "generic", "other", "level"),
    [
        ("  call peak(x, y)", "", "", Level.UNIFORM),
        ("  call largest(x, y)", "largest", "", Level.UNIFORM),
        ("  call other(x, y)", "", "    call peak(x, y)", Level.UNIFORM),
        (f"{_IF}call peak(x, y)", "", "", Level.VARYING),
        (f"  call peak(x, y)\n{_IF}call largest(x, y)", "largest", "", Level.VARYING),
        (f"  call peak(x, y)\n{_IF}call other(x, y)", "", "    call peak(x, y)", Level.VARYING),
        ("", "", "", Level.UNIFORM),  # nothing calls it
    ],
)
def test_a_procedure_of_a_submodule_is_called_by_its_interface(
    tmp_path: Path, body: str, generic: str, other: str, level: Level
) -> None:
    own = _PROCEDURE.format(name="peak").replace("subroutine peak(", "module subroutine peak(", 1)
    below = f"submodule (tools) inner\ncontains\n{own}end submodule inner\n"
    text = _PARENT.format(generic=generic, other=other)
    found = _reached(tmp_path, body, used=_USE, tools_f90=text, inner_f90=below)
    assert found.level is level


def test_a_procedure_of_a_submodule_may_be_called_by_an_unseen_interface(tmp_path: Path) -> None:
    own = _PROCEDURE.format(name="peak").replace("subroutine peak(", "module subroutine peak(", 1)
    below = f"submodule (tools) inner\ncontains\n{own}end submodule inner\n"
    for body in ("  call peak(x, y)", ""):
        found = _reached(tmp_path, body, used=_USE, inner_f90=below)
        assert found.level is Level.UNKNOWN


def test_two_procedures_of_one_name(tmp_path: Path) -> None:
    twice = _PROCEDURE.format(name="peak")
    other = twice.replace("MPI_Allreduce(x, y, 9, MPI_REAL, MPI_MAX, ", "MPI_Barrier(")
    found = _reached(tmp_path, f"{_IF}call peak(x, y)", a_f90=twice, b_f90=other)
    assert found.level is not Level.UNIFORM


def test_a_function_may_be_called_by_a_declaration(tmp_path: Path) -> None:
    size = "module tools\ncontains\n  pure integer function peak(n)\n    integer, intent(in) :: n\n"
    size += "    peak = n\n  end function\nend module\n"
    text = (
        "subroutine work(n)\n  use mpi\n  use tools\n  integer :: n, ierr\n"
        "  real :: a(peak(n)), b(9)\n"
        "  if (size(a) > 3) call MPI_Allreduce(MPI_IN_PLACE, b, 9, MPI_REAL, MPI_MAX, &\n"
        "    MPI_COMM_WORLD, ierr)\nend subroutine\n"
    )
    found = _reached(tmp_path, "  call work(me)", tools_f90=size, work_f90=text)
    assert found.level is Level.VARYING


@pytest.mark.parametrize(
    ("old", "new", "body"),
    [
        ("real, intent(in) :: x(9)", "type(*), intent(in) :: x(..)", "call largest(k, y)"),
        ("real, intent(in) :: x(9)", "class(*), intent(in) :: x(9)", "call largest(k, y)"),
    ],
)
def test_dummies_that_take_any_type(old: str, new: str, body: str, tmp_path: Path) -> None:
    block = "  interface largest\n    module procedure peak\n  end interface\n"
    text = _module(block).replace(old, new, 1)
    given = {"used": _USE, "tools_f90": text}
    assert _reached(tmp_path, f"{_IF}{body}", **given).level is not Level.UNIFORM


def test_a_procedure_for_c_may_be_called(tmp_path: Path) -> None:
    text = _module().replace("subroutine peak(x, y)", "subroutine peak(x, y) bind(c)", 1)
    assert _reached(tmp_path, "  n = 1", tools_f90=text).level is Level.UNKNOWN


def test_a_library_is_called(tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"tools.f90": _module()})
    stepped.uniform = True
    (facts,) = (facts for facts in stepped.facts() if facts.unit.name == "peak")
    assert facts.uniformity is not None
    leaf = next(leaf for leaf in _all(facts.unit.body) if leaf.call is not None)  # type: ignore[attr-defined]
    assert facts.uniformity.reached(facts.scope, leaf, None).level is Level.UNKNOWN  # type: ignore[arg-type]


_COUNTING = """\
subroutine count(its, last, x, y)
  use mpi
  implicit none
  integer :: its
  integer, intent(in) :: last
  real, intent(in) :: x(9)
  real, intent(out) :: y(9)
  integer :: ierr
{before}  do its = 1, last
    if (its > 1) call MPI_Allreduce(x, y, 9, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, ierr)
  end do
end subroutine count
"""


@pytest.mark.parametrize(
    ("before", "last", "level"),
    [
        ("", "3", Level.UNIFORM),
        ("", "me", Level.VARYING),
        ("if (its < 0) return\n", "3", Level.UNKNOWN),  # what the caller has given
    ],
)
def test_a_loop_defines_its_variable_also_if_it_is_an_argument(
    tmp_path: Path, before: str, last: str, level: Level
) -> None:
    found = _reached(
        tmp_path, f"  call count(n, {last}, x, y)\n", count_f90=_COUNTING.format(before=before)
    )
    assert found.level is level, found
