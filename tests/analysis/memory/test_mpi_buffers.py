"""The elements that a message may access, and the loops that access none of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.tree import Do
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

_PROGRAM = """\
program strips
  use mpi
  implicit none
  integer, parameter :: n = 60000
  real(8) :: {a}, w(n), s(5000)
{declared}  integer :: rank, ranks, ierr, i, m, request
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  read *, m
{filled}  s = rank + 2
  w = 0
{received}{loop}  print *, rank, w(4990:5010), sum(w), sum(s)
  call MPI_Finalize(ierr)
end program strips
"""
_RECEIVE = """\
  call MPI_Irecv({buffer}, {count}, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 1, &
                 MPI_COMM_WORLD, request, ierr)
  call MPI_Send(s, 5000, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 1, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
"""


def _text(
    loop: str, a: str = "a(n)", buffer: str = "a(1)", count: str = "5000", declared: str = ""
) -> str:
    received = _RECEIVE.format(buffer=buffer, count=count)
    filled = "  a = rank\n" if declared == "" else ""
    return _PROGRAM.format(a=a, declared=declared, received=received, loop=loop, filled=filled)


def _loop(bounds: str, value: str = "a(i) + i") -> str:
    return f"  do i = {bounds}\n    w(i) = sqrt({value})\n  end do\n"


def _commutes(tmp_path: Path, text: str) -> bool:
    """Whether the first loop may come before the wait."""
    path = tmp_path / "strips.f90"
    path.write_text(text)
    tree = load_tree([path], Settings(cache=False, jobs=1))
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    facts = UnitFacts(tree.units_of(str(path))[0], effects, "\n", uniformity)
    messages = facts.once(Messages)
    (wait,) = (leaf for leaf, call in messages.own_calls() if call.procedure.name == "mpi_wait")
    loop = next(node for node in facts.unit.body if isinstance(node, Do))
    return facts.once(Independence.of).why_not(wait, loop) is None


@pytest.mark.parametrize(
    "text",
    [
        _text(_loop("6000, n")),
        _text(_loop("5001, 50000")),
        _text(_loop("5001, n, 7")),
        _text(_loop("1, 999"), buffer="a(1000)"),
        _text(_loop("1, n", "a(i,2) + i"), a="a(n,4)", buffer="a(1,3)", count="n"),
        _text(_loop("1, n", "a(i,2) + i"), a="a(n,4)", buffer="a(1,3)", count="2*n"),
    ],
)
def test_a_loop_over_other_elements_may_come_first(text: str, tmp_path: Path) -> None:
    assert _commutes(tmp_path, text)


@pytest.mark.parametrize(
    ("given", "free"),
    [
        ("kind = MPI_REAL8", True),
        ("if (m > 3) then\n    kind = MPI_REAL\n  else\n    kind = MPI_REAL8\n  end if", True),
        ("kind = MPI_REAL8\n  if (m > 3) kind = MPI_DOUBLE_COMPLEX", False),  # longer elements
        ("kind = MPI_REAL8\n  if (m > 3) kind = MPI_2REAL", True),
        ("kind = MPI_REAL8\n  if (m > 3) kind = MPI_DOUBLE_INT", False),  # with gaps
        ("kind = MPI_REAL8\n  if (m > 3) kind = m", False),
    ],
)
def test_a_datatype_in_a_variable(given: str, free: bool, tmp_path: Path) -> None:
    """It may be one of several that are not longer than an element."""
    text = _text(_loop("5001, n")).replace(
        "5000, MPI_DOUBLE_PRECISION, modulo(rank -", "5000, kind, modulo(rank -"
    )
    text = text.replace("rank, ranks, ierr", "rank, ranks, kind, ierr")
    assert _commutes(tmp_path, text.replace("  read *, m\n", f"  read *, m\n  {given}\n")) is free


_COMMON = "  common /grid/ a, b\n  real(8) :: b(n)\n"
_GRIDS = """\
module grids
  implicit none
  real(8) :: a(2000), b(60000)
  common /grid/ a, b
end module grids
"""
_EQUIVALENCE = "  real(8) :: big(n)\n  equivalence (a(1), big(1))\n"
_TILE = "  type tile\n    real(8) :: a(2000), b(n)\n  end type\n  type(tile) :: t\n"


@pytest.mark.parametrize(
    "text",
    [
        _text(_loop("5000, n")),  # one element
        _text(_loop("m, n")),
        _text(_loop("5001, m, -1")),
        _text(_loop("100, n, 4900")),
        _text(_loop("5001, n", "a(i - 1) + i")),
        _text(_loop("5001, n", "other(a, i)")).replace(
            "end program strips\n",
            "contains\n  real(8) function other(a, i)\n    real(8) :: a(n)\n    integer :: i\n"
            "    other = a(i - 5000)\n  end function\nend program strips\n",
        ),
        *(
            _text(_loop("1, 999", f"other(a(i), {size})"), buffer="a(1000)").replace(
                "end program strips\n",
                "contains\n  real(8) function other(a, k)\n    integer :: k\n"
                f"    real(8) :: a({bounds})\n    other = a({read})\n"
                "  end function\nend program strips\n",
            )
            for bounds, read, size in (  # the first two are arrays of any size in FORTRAN 66
                ("1", "2000", "1"),
                ("1,1", "1,2000", "1"),
                ("k", "2000", "2000"),
            )
        ),
        _text(_loop("5001, n"), count="m"),
        _text(_loop("1, n", "a(i,2) + i"), a="a(n,4)", buffer="a(1,1)", count="n + 1"),
        _text(_loop("5001, n", "b(i - 5000) + i"), a="a(2000)", declared=_COMMON),
        _text(_loop("5001, n", "b(i - 5000) + i"), a="v(2)", declared="  ! a, b\n").replace(
            "  implicit none\n", "  use grids\n  implicit none\n"
        )
        + _GRIDS,
        _text(_loop("5000, n", "big(i) + i"), a="a(2000)", declared=_EQUIVALENCE),
        _text(_loop("1, n", "t%b(i) + i"), a="u(2)", buffer="t%a(1)", declared=_TILE),
    ],
)
def test_a_loop_over_elements_that_may_be_received_stays(text: str, tmp_path: Path) -> None:
    assert not _commutes(tmp_path, text)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=lambda mpi: mpi.name)
def test_the_results_are_the_same(mpi: Mpi, tmp_path: Path) -> None:
    text = _text(_loop("5001, n") + _loop("1, 5000")).replace("read *, m", "m = 1")
    source = tmp_path / "source"
    source.mkdir()
    (source / "strips.f90").write_text(text)
    own = replace(Settings(cache=False, jobs=1), passes=tuple(TRANSFERS))
    (change,) = Project(source, settings=own).outcome().changes
    after = change.after.decode()
    assert after.index("do i = 5001, n") < after.index("call MPI_Wait") < after.index("do i = 1,")
    said: list[list[str]] = []
    for name, content in (("before", change.before), ("after", change.after)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "strips.f90").write_bytes(content)
        program = build(mpi, [*RUNTIME, folder / "strips.f90"], folder)
        said.append(
            [line for n in (1, 3) for line in sorted(run(mpi, program, n).stdout.split("\n"))]
        )
    assert said[0] == said[1]
