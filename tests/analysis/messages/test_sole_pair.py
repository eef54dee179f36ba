"""Whether messages with some tags match none but a unit's own statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.messages.sole_pair import SolePair
from support.analysed import e
from support.stepping import Stepped

_MAIN = """\
program main
  use mpi
  implicit none
  integer :: ierr, k
  call MPI_Init(ierr)
  call MPI_Send(k, 1, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
{contains}end program main
"""
_OTHER = """\
subroutine other
  use mpi
  implicit none
  integer :: ierr, k
  call MPI_Recv(k, 1, MPI_INTEGER, 0, {tag}, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end subroutine other
"""
_CALLS = "subroutine caller\n  call other\nend subroutine caller\n"


def why_not(folder: Path, more: str = "", contains: str = "", **included: str) -> str | None:
    """Why a message with tag 5 may match statements other than the sends of the main program."""
    files = {f"{name}.inc": f"! do not edit\n{text}" for name, text in included.items()}
    files["a.f90"] = _MAIN.format(contains=contains) + more
    (facts, *_) = Stepped.of(folder, files).facts()
    own = [leaf for leaf, _ in Messages(facts).own_calls()]
    return SolePair(facts).why_not([e("5")], own)


@pytest.mark.parametrize(("tag", "alone"), [("6", True), ("5", False), ("MPI_ANY_TAG", False)])
def test_other_tags(tag: str, alone: bool, tmp_path: Path) -> None:
    contains = "contains\n  subroutine inner\n    call other\n  end subroutine inner\n"
    main_calls = contains.replace("contains\n", "  call inner\ncontains\n")
    assert (why_not(tmp_path, _OTHER.format(tag=tag), main_calls) is None) is alone


def test_a_procedure_that_nothing_names_does_not_count(tmp_path: Path) -> None:
    assert why_not(tmp_path, _OTHER.format(tag=5)) is None


def test_a_procedure_that_included_text_names_counts(tmp_path: Path) -> None:
    other, include = _OTHER.format(tag=5), "include 'p.inc'\n"
    assert why_not(tmp_path, other, f"contains\n{include}", p="call nothing\n") is None
    assert "in line 15" in str(why_not(tmp_path, other, f"contains\n{include}", p=_CALLS))
    assert "in line 13" in str(why_not(tmp_path, other + include, p=_CALLS))


def test_included_messages_count(tmp_path: Path) -> None:
    found = why_not(tmp_path, contains="contains\ninclude 'p.inc'\n", p=_OTHER.format(tag=6))
    assert found is not None


_MODULE = """\
module apart
  implicit none
  private
  public :: other
contains
  subroutine other{head}
    use mpi
    integer :: ierr, k
    call MPI_Recv(k, 1, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    {inside}
  end subroutine other
end module apart
subroutine caller
  use apart, only: {item}
  {call}
end subroutine caller
"""


@pytest.mark.parametrize(
    ("changes", "alone"),
    [
        ({}, True),
        ({"call": "call other"}, False),
        ({"item": "x => other", "call": "call x"}, False),
        ({"inside": "entry another"}, False),
        ({"head": "() bind(c, name='another')"}, False),
        ({"call": "include 'calls.inc'"}, False),
    ],
    ids=["only known", "called", "renamed", "entry", "from C", "included"],
)
def test_a_procedure_that_is_only_made_known_does_not_count(
    changes: dict[str, str], alone: bool, tmp_path: Path
) -> None:
    usual = {"head": "", "inside": "", "item": "other", "call": ""}
    more = _MODULE.format(**{**usual, **changes})
    contains = "contains\n  subroutine inner\n    call caller\n  end subroutine inner\n"
    called = contains.replace("contains\n", "  call inner\ncontains\n")
    assert (why_not(tmp_path, more, called, calls="call other\n") is None) is alone
