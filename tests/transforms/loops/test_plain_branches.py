"""New branches: negated relations turn round, and those with one condition are joined."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.ir.tree import Unit
from asphalt.transforms.loops.plain_branches import with_joined_branches, without_negations
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse
from support.stepping import Stepped

_UNIT = """\
subroutine swap(u, ranks, up)
  use mpi
  implicit none
  integer, intent(in) :: up
  integer, intent(inout) :: ranks
  real(8), intent(inout) :: u(10)
  integer :: request, ierr
  logical, external :: odd
{body}end subroutine swap
"""
_FIRST = "    u(1) = 1\n"
_SECOND = "    u(2) = u(1)\n"


def _made(form: Callable[[UnitFacts, Unit], Unit], folder: Path, body: str, given: str = "") -> str:
    """The statements of a unit after a form; ``given``: those that the user wrote."""
    before = Stepped.of(folder / "given", {"a.f90": _UNIT.format(body=given)})
    stepped = Stepped.of(folder / "new", {"a.f90": _UNIT.format(body=body)})
    (facts,) = stepped.facts()
    unit = form(facts, before.facts()[0].unit)
    path = facts.located.path
    text = unparse(replace_unit(stepped.tree.file(path), facts.unit, unit))
    return text.partition("odd\n")[2].removesuffix("end subroutine swap\n")


def _if(body: str, condition: str = "ranks > 1", end: str = "  end if\n") -> str:
    return f"  if ({condition}) then\n{body}{end}"


def test_branches_are_joined(tmp_path: Path) -> None:
    text = _if(_FIRST) + "  ! why\n" + _if(_SECOND, "RANKS > 1") + _if(_FIRST)
    assert _made(with_joined_branches, tmp_path, text) == _if(f"{_FIRST}  ! why\n{_SECOND}{_FIRST}")


def test_inner_branches_are_joined(tmp_path: Path) -> None:
    inner = _if(_FIRST) + _if(_SECOND)
    loop = "  do ierr = 1, 2\n{}  end do\n"
    made = _made(with_joined_branches, tmp_path, loop.format(inner))
    assert made == loop.format(_if(_FIRST + _SECOND))


_TWICE = _if(_FIRST) + _if(_SECOND)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (_TWICE, _TWICE),  # the user wrote it so
        (_if("    ranks = 1\n") + _if(_SECOND), ""),
        (_if("    call MPI_Recv(ranks, 1, MPI_INTEGER, up, 1, MPI_COMM_WORLD, "
             "MPI_STATUS_IGNORE, ierr)\n") + _if(_SECOND), ""),
        ("  call MPI_Irecv(ranks, 1, MPI_INTEGER, up, 1, MPI_COMM_WORLD, request, ierr)\n"
         + _if("    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n") + _if(_SECOND), ""),
        (_if(_FIRST, "odd(up)") + _if(_SECOND, "odd(up)"), ""),
        (_if(_FIRST) + _if(_SECOND, "ranks > 2"), ""),
        (_if(f"{_FIRST}  else\n{_SECOND}") + _if(_SECOND), ""),
        (_if(_FIRST) + "  ierr = 0\n" + _if(_SECOND), ""),
        (_if(_FIRST) + "10 " + _if(_SECOND).lstrip(), ""),
        (_if(_FIRST) + "  !$omp parallel\n" + _if(_SECOND) + "  !$omp end parallel\n", ""),
        (_if(_FIRST, end="  end if  ! of the first\n") + _if(_SECOND), ""),
        (_if(_FIRST) + "  one: " + _if(_SECOND, end="  end if one\n").lstrip(), ""),
    ],
    ids=["given", "set", "received", "completed", "function", "other", "else", "between", "label",
         "directive", "comment", "named"],
)  # fmt: skip
def test_branches_that_stay(text: str, given: str, tmp_path: Path) -> None:
    assert _made(with_joined_branches, tmp_path, text, given) == text


def test_negations_turn_round(tmp_path: Path) -> None:
    text = _if(_FIRST, ".not. (ranks == 1)") + "  if (.not. (up >= 0)) u(1) = 2\n"
    assert _made(without_negations, tmp_path, text) == (
        _if(_FIRST, "ranks /= 1") + "  if (up < 0) u(1) = 2\n"
    )


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (_if(_FIRST, ".not. (ranks == 1)"), "  if (.not. (RANKS == 1)) ierr = 0\n"),
        (_if(_FIRST, ".not. (u(1) < 0)"), ""),
        (_if(_FIRST, ".not. odd(up)"), ""),
        (_if(_FIRST, ".not. & ! why\n    (ranks == 1)"), ""),
    ],
    ids=["given", "real", "function", "comment"],
)
def test_negations_that_stay(text: str, given: str, tmp_path: Path) -> None:
    assert _made(without_negations, tmp_path, text, given) == text
