"""Single waits that stayed in one place are one wait for several operations again."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.nonblocking.joined_waits import with_joined_waits
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse
from support.stepping import Stepped

_UNIT = """\
subroutine finish(r, s, n, ranks)
  use {module}
  implicit none
  integer, intent(in) :: n, ranks
  integer, intent(inout) :: r(:), s(8)
  integer :: ierr, other, status(MPI_STATUS_SIZE)
{body}end subroutine finish
"""


def _wait(element: object, error: str = ", ierr", status: str = "MPI_STATUS_IGNORE") -> str:
    return f"  call MPI_Wait(r({element}), {status}{error})\n"


_BOTH = _wait(1) + _wait(2)


def _made(folder: Path, body: str, given: str = "", module: str = "mpi") -> str:
    """The statements of a unit after the form; ``given``: those that the user wrote."""
    texts = (_UNIT.format(body=text, module=module) for text in (given, body))
    before, stepped = (
        Stepped.of(folder / name, {"a.f90": text})
        for name, text in zip(("given", "new"), texts, strict=True)
    )
    (facts,) = stepped.facts()
    unit = with_joined_waits(facts, before.facts()[0].unit)
    text = unparse(replace_unit(stepped.tree.file(facts.located.path), facts.unit, unit))
    return text.partition("STATUS_SIZE)\n")[2].removesuffix("end subroutine finish\n")


def test_neighbours_are_joined(tmp_path: Path) -> None:
    loop = "  do other = 1, n\n  {}  end do\n"
    body = _wait(7) + _wait(3) + _wait(2) + _wait(4) + _wait(8) + loop.format(_wait(5)) + _wait(6)
    body += _wait(7)
    assert _made(tmp_path, f"  ! all of them\n{body}") == (
        "  ! all of them\n"
        "  call MPI_Waitall(3, r(2:4), MPI_STATUSES_IGNORE, ierr)\n"
        "  call MPI_Waitall(2, r(7:8), MPI_STATUSES_IGNORE, ierr)\n"
        f"{loop.format(_wait(5))}"
        "  call MPI_Waitall(2, r(6:7), MPI_STATUSES_IGNORE, ierr)\n"
    )


@pytest.mark.parametrize(
    ("change", "joined"),
    [
        (str.upper, "  call MPI_WAITALL(2, R(1:2), MPI_STATUSES_IGNORE, IERR)\n"),
        (str.lower, "  call mpi_waitall(2, r(1:2), mpi_statuses_ignore, ierr)\n"),
    ],
    ids=["upper", "lower"],
)
def test_letters_stay(change: object, joined: str, tmp_path: Path) -> None:
    assert callable(change)
    assert _made(tmp_path, change(_BOTH)) == joined


@pytest.mark.parametrize(
    ("body", "given", "module"),
    [
        (_BOTH, _BOTH, "mpi"),  # the user wrote them so
        (_wait(1) + _wait(3), "", "mpi"),
        (_wait(1) + _wait("n"), "", "mpi"),
        (_wait(1) + _wait(1), "", "mpi"),
        (_wait(1) + "  other = n\n" + _wait(2), "", "mpi"),
        (_wait(1) + "  ! of the second\n" + _wait(2), "", "mpi"),
        (_wait(1) + _wait(2, ", other"), "", "mpi"),
        (_BOTH + "  if (ierr /= 0) print *, ierr\n", "", "mpi"),
        (_wait(1) + _wait(2).replace("\n", "  ! the second\n"), "", "mpi"),
        (_wait(1) + _wait(2, status="status"), "", "mpi"),
        (_wait(1) + _wait(2).replace("r(", "s("), "", "mpi"),
        (_wait(1) + "10" + _wait(2)[2:], "", "mpi"),
        (_wait(1) + "  if (ranks > 1)" + _wait(2)[1:], "", "mpi"),
        (_wait(1, ""), "", "mpi"),
        (
            _BOTH,
            "",
            "mpi, only: MPI_Wait, MPI_STATUS_IGNORE, MPI_STATUS_SIZE, MPI_Waitall => MPI_Waitany",
        ),
        (_BOTH, "", "mpi, only: MPI_Wait, MPI_STATUS_IGNORE, MPI_STATUS_SIZE"),
    ],
    ids=["given", "gap", "variable", "same", "between", "comment", "code", "read",
         "trail", "status", "array", "label", "condition", "single", "other", "not imported"],
)  # fmt: skip
def test_they_stay(body: str, given: str, module: str, tmp_path: Path) -> None:
    assert _made(tmp_path, body, given, module) == body
