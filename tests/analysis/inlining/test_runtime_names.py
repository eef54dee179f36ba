"""Units that have a name of asphalt's run-time modules for something of their own stay as they
are, with the line that has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.analysis.inlining.runtime_names import PUBLIC, clashing_name
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.analysis.names.scopes import Scopes
from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.project import Project
from support.analysed import Analysed
from support.places import GOLDEN, RUNTIME


def test_all_public_names_are_known() -> None:
    found = set(RUNTIME_MODULES)
    for path in RUNTIME.glob("asphalt_*.f90"):
        text = re.sub(r"&\s*\n\s*", "", path.read_text())
        for line in re.findall(r"^\s*public :: (.*)", text, re.M):
            found |= {name.strip() for name in line.split(",") if "asphalt_" in name}
    assert found == PUBLIC


UNIT = """\
subroutine host(n)
{use}  integer, intent(inout) :: n
{declare}{call}  n = n + 1
{inner}end subroutine host
"""
TOOLS = """\
module tools
{}contains
  subroutine asphalt_wait(n)
    integer, intent(inout) :: n
    n = 1
  end subroutine asphalt_wait
end module tools
"""
INNER = """\
contains
  subroutine asphalt_wait(n)
    integer, intent(inout) :: n
    n = 1
  end subroutine asphalt_wait
"""
MENTIONING = """\
contains
  subroutine inner
    call asphalt_wait(n)
  end subroutine inner
"""


def _clash(*others: str, use: str = "", declare: str = "", call: str = "", inner: str = "") -> str:
    unit = UNIT.format(use=use, declare=declare, call=call, inner=inner)
    return clashing_name(Analysed(unit, *others, chain=("host",)).scope) or ""


def test_names_of_the_unit_clash() -> None:
    line = "has the name asphalt_wait, which asphalt needs"
    assert _clash(call="  call asphalt_wait(n)\n") == f"line 3 {line}"
    assert _clash(declare="  integer :: asphalt_wait\n") == f"line 3 {line}"
    assert _clash(inner=INNER) == f"line 5 {line}"
    assert _clash(inner=MENTIONING) == f"line 6 {line}"
    assert _clash(use="  use asphalt_wait, only: one\n") == f"line 2 {line}"
    assert _clash(use="  use other, asphalt_wait => one\n") == f"line 2 {line}"


def test_names_from_modules_clash() -> None:
    assert "a module that it uses has the name asphalt_wait" in _clash(
        TOOLS.format(""), use="  use tools\n"
    )
    assert _clash(TOOLS.format(""), use="  use tools, only: other => asphalt_wait\n") != ""
    assert _clash(TOOLS.format("  private\n"), use="  use tools\n") == ""
    assert _clash(TOOLS.format("")) == ""


def test_what_comes_from_the_run_time_module_does_not() -> None:
    used = "  use asphalt_transfers, only: asphalt_wait\n"
    assert _clash(use=used, call="  call asphalt_wait(n, n)\n") == ""
    assert _clash(use=used, inner=MENTIONING) == ""
    assert _clash(use=used, call="  call asphalt_isend(n)\n") != ""
    assert _clash("module tools\n" + used + "end module tools\n", use="  use tools\n") == ""


PROGRAM = """\
program main
  use mpi
{use}  implicit none
  integer :: ierr, me, np, i
  real(8) :: a(1000), b(1000), c(1000)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  call MPI_Sendrecv(a, 1000, MPI_DOUBLE_PRECISION, modulo(me+1,np), 1, b, 1000, &
    MPI_DOUBLE_PRECISION, modulo(me-1,np), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  do i = 1, 1000
    c(i) = sin(dble(i)) + 1
  end do
{call}  print *, sum(b) + sum(c)
  call MPI_Finalize(ierr)
end program main
"""
EXTERNAL = "subroutine asphalt_wait(x)\n  real(8) :: x\n  x = 1\nend subroutine asphalt_wait\n"
MODULE = "module asphalt_wait\n  real(8) :: one = 1\nend module asphalt_wait\n"
USED = "  use asphalt_wait, only: one\n"


@pytest.mark.parametrize(
    ("other", "use", "call", "line"),
    [
        (EXTERNAL, "", "", 0),
        (EXTERNAL, "", "  call asphalt_wait(c(1))\n", 15),
        (MODULE, USED, "  c(1) = one\n", 3),
    ],
    ids=["elsewhere", "called", "module"],
)
def test_transfers_stay_where_a_name_clashes(
    other: str, use: str, call: str, line: int, tmp_path: Path
) -> None:
    (tmp_path / "main.f90").write_text(PROGRAM.format(use=use, call=call))
    (tmp_path / "other.f90").write_text(other)
    settings = Settings(cache=False, jobs=1, passes=TRANSFERS)
    project = Project(tmp_path, settings=settings)
    changes = project.transform()
    assert [change.path.name for change in changes] == ([] if line else ["main.f90"])
    if line:
        (told,) = project.not_overlapped(changes)
        assert told.code == "ASP026"
        assert f"line {line} has the name asphalt_wait" in told.message


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.after.*")), ids=lambda path: path.name)
def test_what_asphalt_declares_clashes_with_nothing(path: Path) -> None:
    """Transfers of a unit become non-blocking where an exchange of it has been prepushed."""
    tree = load_tree((path,), Settings(cache=False, jobs=1))
    scopes = Scopes(tree)
    found = [clashing_name(scopes.of(unit)) for unit in tree.units_of(str(path))]
    assert found
    assert not any(found)
