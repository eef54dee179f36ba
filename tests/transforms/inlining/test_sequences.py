"""Arrays in another shape than their dummy: the same sequence of elements (F2018 15.5.2.11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.running.mpi import OPENMPI
from support.mpi_run import Mpi, installed, same_lines

_PROGRAM = """\
module sizes
  implicit none
  integer :: n = 6, m = 5
end module sizes
module tools
  implicit none
  interface all_of
    module procedure all_of_two
  end interface
contains
  subroutine all_of_two(x)
    real(8) :: x(:,:)
    x = 2*x
  end subroutine all_of_two
  subroutine twice(k, x)
    integer, intent(in) :: k
    real(8) :: x(k)
    x(1:k) = 2*x(1:k)
  end subroutine twice
end module tools
subroutine step(a, left, right)
  use mpi
  use sizes
  use tools
  implicit none
  real(8) :: a({lower}n,m{more})
  integer :: left, right, ierr, i, j
{declare}  {first}
  call MPI_Sendrecv_replace(a, n*m, MPI_DOUBLE_PRECISION, right, 1, left, 1, MPI_COMM_WORLD, &
                            MPI_STATUS_IGNORE, ierr)
  {body}
end subroutine step
program main
  use mpi
  use sizes
  implicit none
  real(8){attribute} :: w({dims})
  real(8) :: b(40000)
  integer :: me, np, ierr, i, left, right
{wide}  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
{allocate}  w = me
  b = 2
  call step({actual}, left, right)
  do i = 1, 40000
    b(i) = sqrt(b(i)) + 1
  end do
  print '(i0,3(1x,es24.16))', me, sum(w), sum(w**2), sum(b)
  call MPI_Finalize(ierr)
end program main
"""
_ELEMENTS = "do j = 1, m\n    do i = 1, n\n      a(i,j) = a(i,j) + i*j\n    end do\n  end do"


def text(
    body: str = _ELEMENTS,
    *,
    attribute: str = ", allocatable",
    dims: str = ":",
    allocate: str = "n*m",
    actual: str = "w",
    first: str = "ierr = 0",
    lower: str = "",
    declare: str = "",
    wide: str = "",
    more: str = "",
) -> str:
    return _PROGRAM.format(
        body=body,
        attribute=attribute,
        dims=dims,
        allocate=f"  allocate(w({allocate}))\n" if allocate else "",
        actual=actual,
        first=first,
        lower=lower,
        declare=declare,
        wide=wide,
        more=more,
    )


def made(folder: Path, source: str) -> bytes:
    folder.mkdir(exist_ok=True)
    (folder / "main.f90").write_text(source)
    settings = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS))
    changes = Project(folder, settings=settings).outcome().changes
    return changes[0].after if changes else source.encode()


def is_inlined(content: bytes) -> bool:
    return b"step of main.f90 stands here" in content


@pytest.mark.parametrize("mpi", installed(OPENMPI))
@pytest.mark.parametrize(
    ("source", "statement"),
    [
        (text(), "=w(asphalt_i_1+n*(j-1))"),
        (text(lower="0:", body=_ELEMENTS, allocate="(n + 1)*m"), "w(asphalt_i_1+1+(n+1)*(j-1))"),
        (text(allocate="0:n*m-1"), "w(asphalt_i_1-1+n*(j-1))"),
        (
            text(dims="2,60", attribute="", allocate="", body="ierr = 1"),
            "asphalt_wait(asphalt_request_1,w)",
        ),
        (text("call twice(n*m, a)"), "call twice(n*m, w)"),
        (text(more=",*", body="a(2,3,1) = 7"), "w(2+n*(2+m*"),
    ],
    ids=["elements", "lower", "from-0", "rank-2", "passed-on", "assumed-size"],
)
def test_they_are_inlined(source: str, statement: str, mpi: Mpi, tmp_path: Path) -> None:
    content = made(tmp_path / "in", source)
    assert is_inlined(content)
    assert statement.replace(" ", "") in content.decode().replace(" ", "")
    same_lines(mpi, tmp_path, source, content)


@pytest.mark.parametrize(
    "source",
    [
        text("a = a + 1"),  # a whole array of two dimensions
        text("a(:,2) = 1"),
        text("a(2,1) = size(a, 1)"),
        text("a(2,1) = sum(a)"),
        text("call all_of(a)"),  # an assumed shape, by a generic name
        text("call all_of_two(a)"),
        text("i = n\n  n = 3\n  a(2,2) = 1\n  n = i"),  # the extents change
        text(declare="  real(8) :: b(size(a, 1))\n", body="b = 1\n  a(2,2) = b(1)"),
        text(attribute=", pointer"),  # which may have gaps
        text(actual="w(2:)", allocate="n*m + 1"),
        text(wide="  integer(8) :: long\n", allocate="long", dims=":").replace(
            "  allocate", "  long = int(n, 8)*m\n  allocate"
        ),  # more elements than integers of the default kind count
        text(dims="2,60", attribute="", allocate=""),  # elements of two dimensions
    ],
    ids=[
        "whole",
        "section",
        "size",
        "sum",
        "generic",
        "assumed-shape",
        "changes",
        "declaration",
        "pointer",
        "part",
        "wide",
        "rank-2",
    ],
)
def test_they_are_not(source: str, tmp_path: Path) -> None:
    assert not is_inlined(made(tmp_path, source))
