"""Conditions that all ranks of a split communicator have in common, by its colour or by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.uniformity.uniformity import Level
from asphalt.ir.stmt import Call
from asphalt.ir.tree import leaves
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer :: me, ierr, comm, color, other
  logical :: active, first
  real :: x, y
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  x = me
{before}  call MPI_Comm_split(MPI_COMM_WORLD, color, me, comm, ierr)
{behind}  if ({condition}) then
    call MPI_Allreduce(x, y, 1, MPI_REAL, MPI_MAX, {comm}, ierr)
    print *, y
  end if
  call MPI_Finalize(ierr)
end program main
"""
_FLAG = "  active = me < 4\n"
_MERGED = f"{_FLAG}  color = merge(0, 1, active)\n"
_SOME = "  color = MPI_UNDEFINED\n  if (me < 4) color = 0\n"
_VALID = "comm /= MPI_COMM_NULL"


def _is_common(
    folder: Path, before: str, condition: str, behind: str = "", comm: str = "comm"
) -> bool:
    """Whether it is proved that all ranks of the communicator reach the reduction."""
    text = _PROGRAM.format(before=before, condition=condition, behind=behind, comm=comm)
    return _reached(folder, {"main.f90": text})


def _reached(folder: Path, files: dict[str, str]) -> bool:
    stepped = Stepped.of(folder, files)
    stepped.uniform = True
    facts = next(one for one in stepped.facts() if one.unit.kind == "program")
    assert facts.uniformity is not None
    for leaf in (leaf for node in facts.unit.body for leaf in leaves(node)):
        call = mpi_call(leaf.what, facts.scope) if isinstance(leaf.what, Call) else None
        if call is not None and call.operation == "mpi_allreduce":
            judged = facts.uniformity.reached(facts.scope, leaf, call.args["comm"])
            return judged.level is Level.UNIFORM
    raise AssertionError("there is no reduction")


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        (_MERGED, "active"),
        (_MERGED, ".not. active"),
        (f"{_FLAG}  color = merge(MPI_UNDEFINED, 3, .not. active)\n", "active"),
        (_SOME, _VALID),
        (_SOME, f".not. ({_VALID.replace('/=', '==')})"),
        (_MERGED, f"active .and. {_VALID}"),
    ],
)
def test_what_the_ranks_of_a_split_share(before: str, condition: str, tmp_path: Path) -> None:
    assert _is_common(tmp_path, before, condition)


@pytest.mark.parametrize(
    ("before", "condition", "behind", "comm"),
    [
        (f"{_FLAG}  color = merge(1, 1, active)\n", "active", "", "comm"),  # one colour for both
        (f"{_FLAG}  color = merge(0, me, active)\n", "active", "", "comm"),
        (_MERGED, "active", "  if (me == 2) active = .true.\n", "comm"),
        (_MERGED, "active", "", "MPI_COMM_WORLD"),
        (_MERGED.replace("active)", "me > 1 .and. active)"), "active", "", "comm"),
        (_MERGED, "first", "  first = me > 2\n", "comm"),
        (_SOME, _VALID, "  if (me == 2) call MPI_Comm_free(comm, ierr)\n", "comm"),
        (_SOME, _VALID, "  if (me == 2) comm = MPI_COMM_NULL\n", "comm"),
        (_SOME, _VALID, "", "MPI_COMM_WORLD"),
        (_SOME, "comm > 3", "", "comm"),  # a handle may be another number on each rank
        (
            "  color = me/2\n  call MPI_Comm_split(MPI_COMM_WORLD, &\n"
            "    merge(MPI_UNDEFINED, 0, me == 2), me, other, ierr)\n",
            "other /= MPI_COMM_NULL",
            "",
            "comm",
        ),
        (f"  do other = 1, 2\n{_SOME}", _VALID, "  end do\n", "comm"),
    ],
)
def test_what_may_differ_among_the_ranks_of_a_split(
    before: str, condition: str, behind: str, comm: str, tmp_path: Path
) -> None:
    assert not _is_common(tmp_path, before, condition, behind, comm)


_TEAM = (
    "module teams\ntype team\ninteger :: color{}, comm\nlogical :: active{}\nend type\n"
    "type(team), save :: own\nend module teams\n"
)
_CHOSEN = "  own%active = me < 4\n  own%color = MPI_UNDEFINED\n  if (own%active) own%color = 0\n"
_ARMS = "  if (me < 4) then\n    own%active = .true.\n  else\n    own%active = .false.\n  end if\n"


@pytest.mark.parametrize("first", [("", ""), (" = 0", " = .false.")])
@pytest.mark.parametrize(
    ("before", "behind", "expected"),
    [
        (_CHOSEN, "", True),
        ("  own%active = me < 4\n  own%color = merge(0, 1, own%active)\n", "", True),
        ("  own%color = me/4\n", "  own%active = own%color == 0\n", True),
        (_CHOSEN, "  if (me == 1) own%active = .false.\n", False),  # it has another value now
        (f"  own%color = 1\n{_CHOSEN}", "  own%active = me < 2\n", False),
        (_ARMS + _CHOSEN.partition("\n")[2], "", False),  # two statements define it
        (_CHOSEN, "  own = team(0, comm, me < 2)\n", False),
        (_CHOSEN.replace("if (own%active)", "if (me == 2)"), "", False),
    ],
)
def test_a_component_that_the_ranks_of_a_split_share(
    first: tuple[str, str], before: str, behind: str, expected: bool, tmp_path: Path
) -> None:
    assert _is_common_in_a_team(tmp_path, first, before, behind) is expected


@pytest.mark.parametrize(("first", "expected"), [(("", ""), True), (("", " = .false."), False)])
def test_an_initial_value_that_some_ranks_keep(
    first: tuple[str, str], expected: bool, tmp_path: Path
) -> None:
    before = (
        "  own%color = 2\n  if (me > 9) own%active = me < 20\n  if (own%active) own%color = 0\n"
    )
    assert _is_common_in_a_team(tmp_path, first, before, "") is expected


@pytest.mark.parametrize(
    "tested",
    [
        "  own%color = merge(0, 1, own%active)\n",
        "  own%color = 1\n  if (own%active) own%color = 0\n",
    ],
)
def test_an_initial_value_that_is_tested_before_it_changes(tested: str, tmp_path: Path) -> None:
    flag = "  own%active = me < 2\n"
    first = ("", " = .false.")
    (tmp_path / "behind").mkdir()
    assert not _is_common_in_a_team(tmp_path / "behind", first, tested + flag, "")
    (tmp_path / "before").mkdir()
    assert _is_common_in_a_team(tmp_path / "before", first, flag + tested, "")


@pytest.mark.parametrize(("first", "expected"), [(("", ""), True), ((" = 2", ""), False)])
def test_an_initial_colour_that_some_ranks_keep(
    first: tuple[str, str], expected: bool, tmp_path: Path
) -> None:
    before = "  own%active = me < 4\n  if (me > 9) own%color = merge(0, 1, own%active)\n"
    assert _is_common_in_a_team(tmp_path, first, before, "") is expected


_BLOCK_DATA = (
    "block data first\nlogical :: active\ninteger :: color\ncommon /own/ color, active\n"
    "data color, active /2, .false./\nend block data first\n"
)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (_MERGED, True),
        ("  if (me > 9) active = me < 20\n  color = merge(0, 1, active)\n", False),
        ("  color = merge(0, 1, active)\n  active = me < 2\n", False),
        ("  active = me < 4\n  if (me > 9) color = merge(0, 1, active)\n", False),
    ],
)
def test_a_block_data_may_give_initial_values(before: str, expected: bool, tmp_path: Path) -> None:
    text = _PROGRAM.format(before=before, condition="active", behind="", comm="comm")
    text = text.replace("  real :: x, y\n", "  real :: x, y\n  common /own/ color, active\n")
    assert _reached(tmp_path, {"main.f90": text + _BLOCK_DATA}) is expected


def _is_common_in_a_team(folder: Path, first: tuple[str, str], before: str, behind: str) -> bool:
    """``_is_common`` for the components of a structure in a module."""
    text = _PROGRAM.format(
        before=before, behind=behind, condition="own%active", comm="own%comm"
    ).replace("use mpi\n", "use mpi\n  use teams\n")
    text = text.replace(
        "MPI_COMM_WORLD, color, me, comm", "MPI_COMM_WORLD, own%color, me, own%comm"
    )
    return _reached(folder, {"teams.f90": _TEAM.format(*first), "main.f90": text})
