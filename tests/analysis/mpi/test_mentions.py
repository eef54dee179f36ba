"""Which calls of names that begin with MPI_ may be calls of MPI (MPI-4.0 section 2.6.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.mpi.mentions import mpi_mentions, unknown_operation
from asphalt.analysis.names.scopes import Origin, Scopes
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree

_MAIN = """\
program main
  use grid
  use mpi
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
  call mpi_setup
  call MPI_Finalize(ierr)
end program main
"""
_GRID = """\
module grid
  implicit none
contains
  subroutine other
  end subroutine other
end module grid
"""
_SETUP = """\
subroutine mpi_setup
  use mpi
  integer :: ierr
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
end subroutine mpi_setup
"""
_HIDDEN = "#ifdef DEBUG\n{}\n#endif\n"
_IN_MODULE = "module grid\ncontains\n" + _SETUP + "end module grid\n"
_WATCHED = _IN_MODULE.replace("  call", _HIDDEN.format("call mpi_watch") + "  call")
_DEFINED = _HIDDEN.format("subroutine mpi_watch\nend subroutine")
_GENERIC = """\
module grid
  interface mpi_setup
    module procedure :: one
  end interface
contains
  subroutine one
  end subroutine
end module grid
"""
_PROFILED = _IN_MODULE.replace("call MPI_B", "call PMPI_setup;call MPI_B")
_ALONE = "subroutine alone\nuse mpi\ncall mpi_setup\nend subroutine\n"


def _scopes(folder: Path, texts: dict[str, str]) -> Scopes:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return Scopes(load_tree([folder], Settings()))


@pytest.mark.parametrize(
    "texts",
    [
        {"main.f90": _MAIN, "grid.f90": _IN_MODULE},
        {"main.f90": _MAIN, "grid.f90": _GRID, "setup.f90": _SETUP},
        {
            "main.f90": _MAIN.replace("use grid", "use unseen, only: other"),
            "grid.f90": _SETUP,
        },
        {
            "main.f90": _MAIN.replace("end program", "contains\n" + _SETUP + "end program"),
            "grid.f90": _GRID,
        },
        {"main.f90": _MAIN.replace("use grid", "use unseen\n  use grid"), "grid.f90": _IN_MODULE},
        {"main.F90": _MAIN, "grid.F90": _WATCHED.replace("end module", _DEFINED + "end module")},
    ],
    ids=[
        "module",
        "external",
        "external, unseen module",
        "internal",
        "beside an unseen module",
        "removed with its calls",
    ],
)
def test_a_procedure_of_the_program_is_none_of_mpi(texts: dict[str, str], tmp_path: Path) -> None:
    scopes = _scopes(tmp_path, texts)
    assert unknown_operation(scopes) is None
    called = {mention.operation for mention in mpi_mentions(scopes)}
    assert called == {"mpi_init", "mpi_barrier", "mpi_finalize"}


@pytest.mark.parametrize(
    ("texts", "unknown"),
    [
        ({"main.f90": _MAIN, "grid.f90": _GRID}, "mpi_setup"),
        # one unit has it from MPI
        ({"main.f90": _MAIN, "grid.f90": _IN_MODULE, "alone.f90": _ALONE}, "mpi_setup"),
        # the module that gives the name is not seen
        (
            {"main.f90": _MAIN.replace("use grid", "use unseen"), "grid.f90": _IN_MODULE},
            "mpi_setup",
        ),
        # a module that is not seen gives the name of a procedure that is
        (
            {"main.f90": _MAIN.replace("grid", "unseen, only: mpi_setup"), "grid.f90": _SETUP},
            "mpi_setup",
        ),
        # behind the profiling name stands MPI's
        (
            {"main.f90": _MAIN, "grid.f90": _PROFILED},
            "mpi_setup",
        ),
        # a generic name may mean MPI's procedure, too
        ({"main.f90": _MAIN, "grid.f90": _GENERIC}, "mpi_setup"),
        # another configuration calls what none of the given text defines
        ({"main.F90": _MAIN, "grid.F90": _WATCHED}, "mpi_watch"),
    ],
    ids=[
        "undefined",
        "elsewhere MPI's",
        "from an unseen module",
        "named there",
        "profiling",
        "generic",
        "removed",
    ],
)
def test_another_name_may_be_of_mpi(texts: dict[str, str], unknown: str, tmp_path: Path) -> None:
    assert unknown_operation(_scopes(tmp_path, texts)) == unknown


def test_a_procedure_of_the_program_with_a_known_name_counts_as_mpis(tmp_path: Path) -> None:
    own = _SETUP.replace("mpi_setup", "mpi_win_fence(a, b, c)", 1)
    main = _MAIN.replace("mpi_setup", "MPI_Win_fence(0, 1, ierr)")
    scopes = _scopes(tmp_path, {"main.f90": main, "grid.f90": _GRID + own})
    assert "mpi_win_fence" in {mention.operation for mention in mpi_mentions(scopes)}


def test_what_another_configuration_calls_is_nothing_where_there_is_one(tmp_path: Path) -> None:
    _scopes(tmp_path, {"main.F90": _MAIN, "grid.F90": _WATCHED})
    assert unknown_operation(Scopes(load_tree([tmp_path], Settings()))) == "mpi_watch"
    alone = Settings(one_configuration=True)
    assert unknown_operation(Scopes(load_tree([tmp_path], alone))) is None


_INSIDE = """\
module work
  use grid, only: {name}
  implicit none
contains
  subroutine step(ierr)
    use mpi
    integer, intent(out) :: ierr
    call {call}
    ierr = MPI_SUCCESS
  end subroutine step
end module work
"""


@pytest.mark.parametrize(
    ("name", "call", "own"),
    [
        ("mpi_setup", "mpi_setup", True),
        ("mpi_setup", "mpi_set_up", False),  # another name, which only MPI can give
        ("mpi_barrier", "mpi_barrier", False),  # MPI has one, which hides that of the host
        ("mpi_err_setup", "mpi_err_setup", False),  # of a family of MPI's names
        ("mpi_type_lb", "mpi_type_lb", False),  # libraries may still have it
    ],
)
def test_use_of_mpi_does_not_hide_what_mpi_does_not_have(
    name: str, call: str, own: bool, tmp_path: Path
) -> None:
    """A host has the name by USE, and the procedure inside of it uses MPI's module."""
    grid = _IN_MODULE.replace("mpi_setup", name)
    scopes = _scopes(tmp_path, {"grid.f90": grid, "work.f90": _INSIDE.format(name=name, call=call)})
    (step,) = (one for one in scopes.program.mentions(call) if one.unit.name == "step")
    symbol = scopes.of(step).lookup(call)
    assert symbol is not None
    assert (symbol.origin is not Origin.MPI) is own
    assert (call in {mention.operation for mention in mpi_mentions(scopes)}) is not own
