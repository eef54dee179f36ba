"""Two names of one COMMON block in one scope, and Cray pointers: what looks like two variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise

_WAIT = re.compile(r"call asphalt_wait\(asphalt_request_\d+, s\)")
_KIND = "MPI_DOUBLE_PRECISION"
_MODULE = """\
module block
  implicit none
  real(8) :: s(300), r(300)
  common /cc/ s, r
end module block
"""
_EXCHANGE = f"""\
    call MPI_Sendrecv(s, 300, {_KIND}, 1, 1, r, 300, {_KIND}, 1, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    do i = 1, 300
      b(i) = b(i) + sqrt(b(i))
    end do
"""
_LAST = "    do i = 1, 300\n      a(i) = r(i) + s(301-i)\n    end do\n"
_PROGRAM = """\
program main
  use mpi
  {used}
  implicit none
  real(8) :: a(300), b(300){more}
  integer :: i, ierr
  {declared}
  call MPI_Init(ierr)
  a = 0
  b = 1
{body}
  print *, a, b
  call MPI_Finalize(ierr)
{contained}end program main
"""
_OWN = "real(8) :: x(600)\n  common /cc/ x"
_INSIDE = f"""\
contains
  subroutine step()
    real(8) :: x(600)
    common /cc/ x
    integer :: i
{_EXCHANGE}    x(4) = 3
{_LAST}  end subroutine step
"""
_TOUCH = """\
subroutine touch()
  implicit none
  real(8) :: x(600)
  common /cc/ x
  x(4) = 3
end subroutine touch
"""
_BY_MODULE = """\
subroutine touch()
  use block, only: s
  implicit none
  s(4) = 3
end subroutine touch
"""


def _program(
    body: str, used: str = "", declared: str = "", contained: str = "", more: str = ""
) -> str:
    return _PROGRAM.format(body=body, used=used, declared=declared, contained=contained, more=more)


@pytest.mark.parametrize(
    ("files", "touching"),
    [
        pytest.param(
            (_MODULE, _program(_EXCHANGE + "    x(4) = 3\n" + _LAST, "use block", _OWN)),
            "x(4) = 3",
            id="used and declared",
        ),
        pytest.param(
            (_program("  call step()", "", "common /cc/ s, r", _INSIDE, ", s(300), r(300)"),),
            "x(4) = 3",
            id="of the host and declared",
        ),
        pytest.param(
            (_MODULE, _program(_EXCHANGE + "    call touch()\n" + _LAST, "use block"), _TOUCH),
            "call touch()",
            id="used, and declared by what is called",
        ),
        pytest.param(
            (
                _MODULE,
                _program(
                    _EXCHANGE + "    call touch()\n" + _LAST,
                    "",
                    "real(8) :: s(300), r(300)\n  common /cc/ s, r",
                ),
                _BY_MODULE,
            ),
            "call touch()",
            id="declared, and used by what is called",
        ),
        pytest.param(
            (
                _MODULE,
                _program(_EXCHANGE + "    x(4) = 3\n" + _LAST, "use block, only: s, r, x => s"),
            ),
            "x(4) = 3",
            id="renamed",
        ),
        pytest.param(
            (
                _program(
                    "  address = loc(s)\n" + _EXCHANGE + "    x(4) = 3\n" + _LAST,
                    "",
                    "real(8) :: s(300), r(300), x(300)\n  pointer (address, x)",
                ),
            ),
            "x(4) = 3",
            id="Cray pointer",
        ),
    ],
)
def test_what_is_sent_is_changed_behind_its_wait(
    tmp_path: Path, files: tuple[str, ...], touching: str
) -> None:
    """The send is over before the buffer changes under its other name."""
    for number, text in enumerate(files):
        (tmp_path / f"file{number}.f90").write_text(text)
    tree = load_tree([tmp_path])
    for entry in tree.files:
        for located in tree.units_of(entry.path):
            found = optimise(tree, located)
            if found.content is not None:
                lines = [line.strip() for line in found.content.decode().splitlines()]
                (wait,) = (n for n, line in enumerate(lines) if _WAIT.fullmatch(line))
                assert lines.index("b(i) = b(i) + sqrt(b(i))") < wait < lines.index(touching)


def test_a_block_that_is_seen_once_keeps_nothing_back(tmp_path: Path) -> None:
    """The work on another array comes beside the message, as if there were no COMMON."""
    (tmp_path / "block.f90").write_text(_MODULE)
    work = "    a(2) = 3\n    do i = 1, 300\n      b(i) = 2*b(i)\n    end do\n"
    (tmp_path / "main.f90").write_text(_program(_EXCHANGE + work + _LAST, "use block"))
    tree = load_tree([tmp_path])
    found = optimise(tree, tree.units_of(str(tmp_path / "main.f90"))[0])
    assert found.content is not None
    lines = [line.strip() for line in found.content.decode().splitlines()]
    (wait,) = (n for n, line in enumerate(lines) if _WAIT.fullmatch(line))
    assert lines.index("a(2) = 3") < wait
