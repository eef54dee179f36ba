"""Modules list names as public that they kept to themselves, where nobody can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.options import Options
from asphalt.optimiser.phases import PHASES
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.inlining import inline
from asphalt.transforms.rewriting.step import Phase
from support.mpi_run import OPENMPI, Mpi, compile_source, installed
from support.stepping import Stepped

_MODULE = """\
module faces
  use mpi
  implicit none
  private
  public :: exchange
  integer, parameter :: most = 10
  real, save :: incoming(most)
  integer :: request

contains

  subroutine exchange(u)
    real, intent(inout) :: u(most)

    call ready()
    call MPI_Send(u, most, MPI_REAL, 0, 1, MPI_COMM_WORLD, request)
  end subroutine exchange

  subroutine ready()
    integer :: ierr

    call MPI_Irecv(incoming, most, MPI_REAL, 0, 1, MPI_COMM_WORLD, request, ierr)
  end subroutine ready

end module faces
"""
_MAIN = """\
program steps
  use faces, only: exchange
  use mpi
  implicit none
  real :: u(10)

  call exchange(u)
end program steps
"""
_OTHER = "subroutine other\n  use faces{}\nend subroutine other\n"
_NAMING = "subroutine other\n  use faces\n  implicit none\n  real :: ready\nend subroutine other\n"
_AGAIN = """\
module again
  use faces
end module again
subroutine other
  use again
  implicit none
  integer :: request
end subroutine other
"""


def _refused(tmp_path: Path, **files: str) -> list[str]:
    stepped = Stepped.of(tmp_path, {f"{name}.f90": text for name, text in files.items()})
    main = next(facts for facts in stepped.facts() if facts.unit.kind == "program")
    return [f.message for f in inline.check(main) if isinstance(f, Refused)]


def test_others_may_use_a_module_of_a_library(tmp_path: Path) -> None:
    library = _MAIN.replace("program", "subroutine").replace(", only: exchange", "")
    stepped = Stepped.of(tmp_path, {"a.f90": _MODULE + library})
    caller = next(facts for facts in stepped.facts() if facts.unit.name == "steps")
    (refused,) = [f for f in inline.check(caller) if isinstance(f, Refused)]
    assert "is private" in refused.message


def _prepared(tmp_path: Path, text: str) -> str:
    path = tmp_path / "steps.f90"
    path.write_text(text)
    tree = load_tree([path], Settings(cache=False, jobs=1))
    shop = Workshop(tree, str(path), ("steps",), Options())
    prepared = shop.closure(UnitState(tree, ()), PHASES[Phase.PREPARATION])
    return prepared.tree.content(str(path)).decode()


def test_private_variables_and_procedures_are_listed(tmp_path: Path) -> None:
    text = _prepared(tmp_path, _MODULE + _MAIN)
    shown = (
        "  ! asphalt: for what stands in other units\n  public :: ready, most, request, incoming\n"
    )
    assert text.count("public ::") == 2
    assert shown in text
    assert "use faces, only: exchange\n" in text
    assert "call exchange" not in text.split("program steps")[1]
    for line in _MODULE.splitlines():
        assert line in text


@pytest.mark.parametrize("mpi", installed(OPENMPI), ids=str)
@pytest.mark.parametrize("used", [", only: exchange", ""], ids=["ONLY", "all"])
def test_compilers_agree(tmp_path: Path, mpi: Mpi, used: str) -> None:
    source = tmp_path / "made.f90"
    text = _MODULE + _MAIN.replace(", only: exchange", used) + _AGAIN.replace("request", "given")
    source.write_text(_prepared(tmp_path, text))
    assert "call exchange" not in source.read_text().split("program steps")[1]
    outcome = compile_source(mpi, source, tmp_path)
    assert outcome.code == 0, outcome.stderr


@pytest.mark.parametrize(
    "files",
    [
        {"a": _MODULE + _MAIN + _OTHER.format(", only: exchange")},
        {"a": _MODULE + _MAIN, "b": _OTHER.format(", only: swap => exchange")},
        {"a": _MODULE.replace("  private\n", "  public\n") + _MAIN},
        # a module of another file
        {"a": _MODULE, "b": _MAIN},
        # who uses all names contains none of the new ones
        {"a": _MODULE + _MAIN, "b": _OTHER.format("")},
        {"a": _MODULE + _MAIN.replace(", only: exchange", "")},
        {"a": _MODULE + _MAIN, "b": _AGAIN.replace("request", "requests")},
    ],
)
def test_names_that_may_be_shown(tmp_path: Path, files: dict[str, str]) -> None:
    assert not _refused(tmp_path, **files)


@pytest.mark.parametrize(
    "files",
    [
        # who uses all names would get new ones, and has some of them already
        {"a": _MODULE + _MAIN, "b": _NAMING},
        {"a": _MODULE + _MAIN, "b": _NAMING.replace("faces", "faces, swap => exchange")},
        {"a": _MODULE + _MAIN, "b": _AGAIN},
        {"a": _MODULE + _MAIN.replace(", only: exchange", "").replace("u(10)", "u(10), most")},
        # names that are private by themselves
        {"a": _MODULE.replace("  private\n", "  private\n  private :: ready\n") + _MAIN},
    ],
)  # fmt: skip
def test_names_that_stay_private(tmp_path: Path, files: dict[str, str]) -> None:
    assert len(_refused(tmp_path, **files)) == 1


@pytest.mark.parametrize(
    "declared",
    ["integer, private :: request", "integer, protected :: request", "type(t) :: request"],
)
def test_variables_that_stay_private(tmp_path: Path, declared: str) -> None:
    text = _MODULE.replace("integer :: request", declared)
    text = text.replace(
        "  integer, parameter", "  type t\n    integer :: n\n  end type t\n  integer, parameter", 1
    )
    body = text.replace("call ready()", "call MPI_Recv(u, most, MPI_REAL, 0, 1, MPI_COMM_WORLD, &\n"
                        "                  MPI_STATUS_IGNORE, request)")  # fmt: skip
    assert _refused(tmp_path, a=body + _MAIN)
