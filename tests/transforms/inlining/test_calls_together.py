"""Several calls that are inlined at once: the text of one after the other, and what stays apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.inlining import calls_together, inline
from support.stepping import Stepped
from support.taken_together import taken_together

PROGRAM = """\
module halo
  use mpi
  implicit none
contains
  subroutine give(u, to)
    integer, intent(inout) :: u(5)
    integer, intent(in) :: to
    integer :: i, ierr
    integer :: packed(5)
    do i = 1, 5
      packed(i) = u(i)
    end do
    call MPI_Send(packed, 5, MPI_INTEGER, to, 1, MPI_COMM_WORLD, ierr)
  end subroutine give
  subroutine take(u, from)
    integer, intent(inout) :: u(5)
    integer, intent(in) :: from
    integer :: i, ierr
    integer :: packed(5){declared}
    call MPI_Recv(packed, 5, MPI_INTEGER, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do i = 1, 5
      u(i) = packed(i)
    end do{more}
  end subroutine take
  subroutine tell(to)
    integer, intent(in) :: to
    integer :: ierr
    external :: i
    call i()
    call MPI_Send(to, 1, MPI_INTEGER, to, 1, MPI_COMM_WORLD, ierr)
  end subroutine tell
end module halo
subroutine step(v, w, left, right)
  use halo
  implicit none
  integer :: v(5), w(5), left, right
  call give(v, left)
  if (right > 0) then
    call give(w, right)
    call take(v, left)
  end if
  call take(w, right){last}
end subroutine step
"""


def stepped(folder: Path, declared: str = "", more: str = "", last: str = "") -> Stepped:
    text = PROGRAM.format(declared=declared, more=more, last=last)
    return Stepped.of(folder, {"halo.f90": text})


def test_the_text_is_that_of_one_after_the_other(tmp_path: Path) -> None:
    one_by_one = stepped(tmp_path / "one")
    assert one_by_one.applied(inline, unit="step") == 4
    sizes, text = taken_together(stepped(tmp_path / "all"), calls_together.TRANSFORMATION, "step")
    assert sizes == [4]
    assert text == one_by_one.text("halo.f90")
    assert text.count("asphalt: take of halo.f90 stands here") == 2
    assert "asphalt_packed_3" in text  # each call has variables of its own


@pytest.mark.parametrize(
    ("change", "sizes"),
    [
        # the variable that other calls declare would be the procedure that this one calls
        ({"last": "\n  call tell(left)"}, [4]),
        # a label would stand twice
        ({"more": "\n    if (u(1) > 0) goto 10\n    u(1) = 1\n10  continue"}, [2, 1, 1]),
        # a construct may be left by its name, which has to be free
        ({"more": "\n    outer: do i = 1, 2\n    end do outer"}, [2, 1]),
        # the call is where a jump leads to
        ({"last": "\n  if (v(1) > 0) goto 20\n20 call take(v, left)"}, [4, 1]),
    ],
    ids=["procedure", "label", "construct-name", "labelled-call"],
)
def test_what_shares_more_than_variables_is_made_alone(
    change: dict[str, str], sizes: list[int], tmp_path: Path
) -> None:
    one_by_one = stepped(tmp_path / "one", **change)
    assert one_by_one.applied(inline, unit="step") == sum(sizes)
    tree = stepped(tmp_path / "all", **change)
    found, text = taken_together(tree, calls_together.TRANSFORMATION, "step")
    assert found == sizes
    assert text == one_by_one.text("halo.f90")
