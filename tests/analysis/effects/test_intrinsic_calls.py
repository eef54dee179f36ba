"""Intrinsic procedures with effects of their own, also those that compilers add."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.effects.error_handlers import doubt
from asphalt.analysis.effects.whole_program import is_closed
from asphalt.analysis.memory.accesses import EffectKind, Footprint
from asphalt.analysis.memory.statement_accesses import examine
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
{used}  implicit none
  integer :: ierr, n, values(8), i
  real(8) :: x, y(4)
  real :: t, pair(2)
  character(len=9) :: text, other
  logical :: found
  integer, allocatable :: a(:), b(:)
{declared}
  call MPI_Init(ierr)
  {statement}
  call MPI_Finalize(ierr)
end program main
"""


def _of(
    folder: Path, statement: str, declared: str = "", used: str = "", **more: str
) -> tuple[Footprint, Stepped]:
    text = _PROGRAM.format(statement=statement, declared=declared, used=used)
    files = {"main.f90": text, **{name.replace("_", "."): body for name, body in more.items()}}
    stepped = Stepped.of(folder, files)
    (facts,) = (facts for facts in stepped.facts() if facts.unit.kind == "program")
    return examine(facts.unit.body, facts.effects.names(facts.scope)), stepped


def _is_closed(stepped: Stepped) -> bool:
    return is_closed(stepped.facts()[0].effects)


@pytest.mark.parametrize(
    "statement",
    [
        "call random_number(y)",
        "call random_seed(size=n)",
        "call random_init(.true., .false.)",
        "call cpu_time(t)",
        "call system_clock(count_rate=n)",
        "call date_and_time(text, values=values)",
        "call get_command_argument(1, text, status=n)",
        "call get_environment_variable('HOME', value=text)",
        "call execute_command_line(text, wait=found, exitstat=n)",
        "call flush(6)",
        "call getarg(1, text)",
        "call sleep(1)",
        "call system('true')",
        "call etime(pair, t)",
    ],
)
def test_they_are_known_and_stay_in_order(statement: str, tmp_path: Path) -> None:
    found, stepped = _of(tmp_path, statement)
    kinds = {effect.kind for effect in found.effects}
    assert kinds & {EffectKind.SYSTEM, EffectKind.CLOCK}
    assert EffectKind.UNKNOWN_CALL not in kinds
    assert _is_closed(stepped)


@pytest.mark.parametrize("statement", ["call exit(2)", "call abort()", "if (n > 1) call exit"])
def test_some_end_the_program(statement: str, tmp_path: Path) -> None:
    found, stepped = _of(tmp_path, statement)
    assert EffectKind.STOP in {effect.kind for effect in found.effects}
    assert _is_closed(stepped)


def test_arguments_are_read_or_defined(tmp_path: Path) -> None:
    found, _ = _of(tmp_path, "call get_command_argument(n, text, length=i)")
    written = {access.storage for access in found.accesses if access.writes}
    assert {"text", "i"} <= written
    assert "n" not in written
    assert "n" in {access.storage for access in found.accesses if not access.writes}


def test_an_allocation_moves(tmp_path: Path) -> None:
    found, _ = _of(tmp_path, "call move_alloc(a, b)")
    assert EffectKind.ALLOCATION in {effect.kind for effect in found.effects}
    assert {"a", "b"} <= {access.storage for access in found.accesses if access.writes}


def test_functions_too(tmp_path: Path) -> None:
    found, stepped = _of(tmp_path, "n = command_argument_count() + iargc()", "integer :: iargc")
    assert {effect.kind for effect in found.effects} == {EffectKind.MPI}
    assert _is_closed(stepped)


_OWN = "subroutine flush(unit)\n  integer :: unit\n  call somewhere(unit)\nend subroutine flush\n"
_C = "void flush_(int *unit) { MPI_Barrier(MPI_COMM_WORLD); }\n"


@pytest.mark.parametrize(
    "given",
    [
        {"statement": "call flush(6)", "own_f90": _OWN},  # a procedure of the program
        {"statement": "call flush(6)", "own_c": _C},
        {"statement": "call flush(6)", "declared": "external flush"},
        {"statement": "call flush(6)", "used": "  use elsewhere\n"},
        {"statement": "call random_number(y)", "used": "  use elsewhere\n"},
        {"statement": "call random_number(y)", "declared": "external random_number"},
        {"statement": "call flush(6, 7, 8)"},  # no such intrinsic
        {"statement": "call co_sum(x)"},  # the storage of other images
        {"statement": "call signal(2, handler)", "declared": "external handler"},
    ],
)
def test_others_may_do_anything(given: dict[str, str], tmp_path: Path) -> None:
    _, stepped = _of(tmp_path, **given)
    assert not _is_closed(stepped)


_MODULE = "module own\ncontains\n{}end module own\n"
_CHANGES = """\
subroutine second(x)
  real(8), intent(inout) :: x(4)
  x = 2*x
end subroutine second
"""


@pytest.mark.parametrize("inside", [False, True])
def test_a_module_or_host_may_have_a_procedure_of_that_name(inside: bool, tmp_path: Path) -> None:
    if inside:
        main = _PROGRAM.format(statement="call second(y)", declared="", used="")
        end = "end program main\n"
        files = {"main.f90": main.replace(end, f"contains\n{_CHANGES}{end}")}
    else:
        main = _PROGRAM.format(statement="call second(y)", declared="", used="  use own\n")
        files = {"main.f90": main, "own.f90": _MODULE.format(_CHANGES)}
    facts = next(f for f in Stepped.of(tmp_path, files).facts() if f.unit.kind == "program")
    found = examine(facts.unit.body, facts.effects.names(facts.scope))
    assert {access.writes for access in found.of("y")} == {False, True}
    assert not any(effect.kind is EffectKind.SYSTEM for effect in found.effects)


@pytest.mark.parametrize(
    ("statement", "used", "declared"),
    [
        ("call dgesv(4, 1, y, 4, values, y, 4, n)", "", ""),
        ("call zheevd('V', 'U', 4, y, 4, y, y, 8, y, 8, values, 8, n)", "", ""),
        ("call dfftw_execute(i)", "", ""),
        ("call h5open_f(n)", "  use hdf5\n", ""),
        ("n = nf90_close(i)", "  use netcdf\n", ""),
        ("call random_number(y)", "  use hdf5\n", ""),  # a library redefines no intrinsic
        ("t = slange('M', 2, 2, pair, 2, pair)", "", "real, external :: slange"),
    ],
)
def test_libraries_set_no_error_handler(
    statement: str, used: str, declared: str, tmp_path: Path
) -> None:
    _, stepped = _of(tmp_path, statement, declared, used)
    assert doubt(stepped.facts()[0].effects) is None


@pytest.mark.parametrize(
    "given",
    [
        {"statement": "call dgesv_all(y)"},
        {"statement": "call h5helper(y)"},
        {"statement": "call dgemm(y)", "own_c": "void dgemm_(double *y) {}\n"},
        {"statement": "call h5open_f(n)", "used": "  use tools\n"},
        # the procedure that is passed may do anything
        {"statement": "call dgees('V', 'S', choose, 4, y)", "declared": "external choose"},
    ],
)
def test_names_that_only_look_so_may(given: dict[str, str], tmp_path: Path) -> None:
    _, stepped = _of(tmp_path, **given)
    found = doubt(stepped.facts()[0].effects)
    assert found is not None
    assert found.lifted


_TYPES = """\
module types
  type box
    integer :: n
  contains
    {}
  end type
contains
  subroutine gone(self)
    type(box), intent(inout) :: self
  end subroutine gone
  subroutine shown(self, unit, iotype, list, iostat, iomsg)
    class(box), intent(in) :: self
    integer, intent(in) :: unit, list(:)
    character(len=*), intent(in) :: iotype
    integer, intent(out) :: iostat
    character(len=*), intent(inout) :: iomsg
  end subroutine shown
end module types
"""
_SHOWN = "procedure :: shown\n    generic :: write(formatted) => shown"


def test_variables_may_have_names_like_keywords(tmp_path: Path) -> None:
    names = ("final", "formatted", "unformatted", "assignment", "operator", "read", "write")
    body = "\n  ".join(f"{name} = {number}" for number, name in enumerate(names))
    _, stepped = _of(tmp_path, body, f"  integer :: {', '.join(names)}\n")
    assert doubt(stepped.facts()[0].effects) is None


@pytest.mark.parametrize(("bound", "line"), [("final :: gone", 5), (_SHOWN, 6)])
def test_what_is_called_without_its_name_may_set_one(bound: str, line: int, tmp_path: Path) -> None:
    _, stepped = _of(tmp_path, "n = 1", types_f90=_TYPES.format(bound))
    found = doubt(stepped.facts()[0].effects)
    assert found is not None
    assert f"types.f90:{line} defines what is called without its name" in found.why


def test_the_call_is_named(tmp_path: Path) -> None:
    deep = "subroutine deep\n  call unseen(3)\nend subroutine deep\n"
    _, stepped = _of(tmp_path, "call deep", deep_f90=deep)
    found = doubt(stepped.facts()[0].effects)
    assert found is not None
    assert "what unseen does is not known" in found.why
    assert "deep.f90:2)" in found.why


def test_macros_of_the_preprocessor_are_constants(tmp_path: Path) -> None:
    _, stepped = _of(tmp_path, "print *, __FILE__, __LINE__, __DATE__")
    assert _is_closed(stepped)


@pytest.mark.parametrize("construct", ["associate (z => y)", "block"])
def test_what_stands_in_constructs_is_seen(construct: str, tmp_path: Path) -> None:
    end = construct.split()[0]
    inside = "z(1) = z(2) + 1" if end == "associate" else "y(1) = 2"
    _, stepped = _of(tmp_path, f"{construct}\n  {inside}\n  end {end}")
    assert doubt(stepped.facts()[0].effects) is None
    _, stepped = _of(tmp_path / "call", f"{construct}\n  call unseen(y)\n  end {end}")
    assert doubt(stepped.facts()[0].effects) is not None
