"""Work on window memory keeps its order with what starts and completes transfers."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.memory.rma_windows import has_windows, may_be_window_memory
from asphalt.analysis.names.scopes import Scopes
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from support.mpi_run import MPICH, Mpi, installed, same_lines

# rank 0 puts into w of rank 1, and sends; rank 1 receives, and finds in w what was put
_PUTS = """\
{modules}program main
  use mpi
{uses}  implicit none
  integer, parameter :: n = 300
  real(8) :: a(n,n), x(n), y(n)
  integer(MPI_ADDRESS_KIND) :: bytes, d
  integer :: me, np, ierr, i, j, window
{declare}
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = 1; x = me + 5; y = 3; bytes = 8*n; d = 0
{create}
  w = 0
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (me == 0) then
    do j = 1, n
      do i = 1, n
        a(i,j) = a(i,j)*0.75d0 + dble(i + j)*0.001d0
      end do
    end do
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window, ierr)
    call MPI_Put(x, n, MPI_DOUBLE_PRECISION, 1, d, n, MPI_DOUBLE_PRECISION, window, ierr)
    call MPI_Win_unlock(1, window, ierr)
    call MPI_Send(x, n, MPI_DOUBLE_PRECISION, 1, 4, MPI_COMM_WORLD, ierr)
  else if (me == 1) then
    call MPI_Recv(y, n, MPI_DOUBLE_PRECISION, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do j = 1, n
      do i = 1, n
        a(i,j) = a(i,j) + {read}
      end do
    end do
    x = y
  end if
  print '(i0, 2z17)', me, sum(a), sum(x)
  call MPI_Win_free(window, ierr)
  call MPI_Finalize(ierr)
{contains}end program main
{beside}"""
_CREATE = "MPI_Win_create(w, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)"
_MODULE = "module m\n  real(8){target} :: w(300)\nend module m\n"
_MAKE = """\
subroutine {name}(v, window)
  use mpi
  real(8) :: v(300)
  integer :: window, ierr
  {call}
end subroutine {name}
"""
_WINDOW = (
    "call MPI_Win_create(v, 2400_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)"
)
_INSIDE = f"contains\n  subroutine make()\n    call {_CREATE}\n  end subroutine make\n"


def puts(read: str = "w(j)", **parts: str) -> str:
    given = {"declare": "real(8) :: w(n)", "create": f"call {_CREATE}"}
    empty = dict.fromkeys(("modules", "uses", "contains", "beside"), "")
    return _PUTS.format(read=read, **{**empty, **given, **parts})


PROGRAMS = {
    "a-variable-of-the-unit": puts(),
    "asynchronous": puts(declare="real(8), asynchronous :: w(n)"),
    "of-a-module": puts(modules=_MODULE.format(target=""), uses="  use m\n", declare=""),
    "a-target-of-a-module": puts(
        modules=_MODULE.format(target=", target"), uses="  use m\n", declare=""
    ),
    "what-mpi-allocates": puts(
        uses="  use, intrinsic :: iso_c_binding\n",
        declare="type(c_ptr) :: place\nreal(8), pointer :: w(:)",
        create="call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, place, window, ierr)"
        "\ncall c_f_pointer(place, w, [n])",
    ),
    "given-by-a-procedure": puts(
        create="call make(w, window)", beside=_MAKE.format(name="make", call=_WINDOW)
    ),
    "given-by-a-procedure-of-a-procedure": puts(
        create="call make(w, window)",
        beside=_MAKE.format(name="make", call="call really(v, window)")
        + _MAKE.format(name="really", call=_WINDOW),
    ),
    "given-by-a-procedure-inside": puts(create="call make()", contains=_INSIDE),
    "given-by-a-procedure-that-is-not-seen": puts(
        create="call MPI_Win_create(x, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)\n"
        "call make(w, window)"
    ),
}


def optimised(folder: Path, text: str) -> Optimised:
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (unit,) = (u for u in tree.units_of(str(path)) if u.unit.name == "main")
    return optimise(tree, unit, Options(("nonblocking", "fission", "motion")))


def lines(found: Optimised, text: str) -> list[str]:
    after = text if found.content is None else found.content.decode()
    return [line.strip() for line in after.splitlines()]


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_what_was_put_is_read_behind_the_message(text: str, tmp_path: Path) -> None:
    after = lines(optimised(tmp_path, text), text)
    completes = max(
        n for n, line in enumerate(after) if line.startswith(("call MPI_Recv", "call asphalt_wait"))
        and "x" not in line.split("(")[1]
    )  # fmt: skip
    assert completes < after.index("a(i,j) = a(i,j) + w(j)")


def test_work_on_other_memory_comes_beside_the_message(tmp_path: Path) -> None:
    text = puts(read="x(j)")
    after = lines(optimised(tmp_path, text), text)
    wait = next(
        n for n, line in enumerate(after) if line.startswith("call asphalt_wait") and "y" in line
    )
    assert after.index("a(i,j) = a(i,j) + x(j)") < wait


# rank 1 computes w and sends; rank 0 receives and gets w
_GETS = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 300
  real(8) :: a(n,n), x(n), y(n), w(n)
  integer(MPI_ADDRESS_KIND) :: bytes, d
  integer :: me, np, ierr, i, j, window
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = 1; x = me + 5; y = 3; w = me; bytes = 8*n; d = 0
  call MPI_Win_create(w, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  if (me == 1) then
    do j = 1, n
      do i = 1, n
        w(j) = w(j)*0.5d0 + i + j
      end do
    end do
    call MPI_Send(x, n, MPI_DOUBLE_PRECISION, 0, 4, MPI_COMM_WORLD, ierr)
    do j = 1, n
      do i = 1, n
        a(i,j) = a(i,j)*0.75d0 + dble(i + j)*0.001d0
      end do
    end do
  else if (me == 0 .and. np > 1) then
    call MPI_Recv(y, n, MPI_DOUBLE_PRECISION, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window, ierr)
    call MPI_Get(y, n, MPI_DOUBLE_PRECISION, 1, d, n, MPI_DOUBLE_PRECISION, window, ierr)
    call MPI_Win_unlock(1, window, ierr)
  end if
  print '(i0, 2z17)', me, sum(a), sum(y)
  call MPI_Win_free(window, ierr)
  call MPI_Finalize(ierr)
end program main
"""


def test_what_others_get_is_stored_before_the_message(tmp_path: Path) -> None:
    after = lines(optimised(tmp_path, _GETS), _GETS)
    start = next(n for n, s in enumerate(after) if s.startswith("call asphalt_isend"))
    wait = next(n for n, s in enumerate(after) if s.startswith("call asphalt_wait") and n > start)
    work = next(n for n, line in enumerate(after) if line.startswith("a(i,j) = a(i,j)*0.75d0"))
    assert after.index("w(j) = w(j)*0.5d0 + i + j") < start < work < wait


@pytest.mark.parametrize("mpi", installed(MPICH), ids=str)
@pytest.mark.parametrize("text", [puts(), _GETS], ids=["put", "get"])
def test_results_are_the_same(text: str, mpi: Mpi, tmp_path: Path) -> None:
    found = optimised(tmp_path, text)
    assert same_lines(mpi, tmp_path, text, found.content or text.encode(), 2)


def test_variables_of_a_program_with_windows(tmp_path: Path) -> None:
    text = puts(create="call make(w, window)", beside=_MAKE.format(name="make", call=_WINDOW))
    (tmp_path / "main.f90").write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    main, make = tree.units_of(str(tmp_path / "main.f90"))
    scopes = Scopes(tree)
    inside, beside = scopes.of(main), scopes.of(make)
    assert has_windows(inside)
    names = ("w", "a", "x", "y", "ierr", "window", "i")
    assert {n for n in names if may_be_window_memory(n, inside)} == {"w", "window"}
    assert may_be_window_memory("v", beside)


def test_without_windows_nothing_is_window_memory(tmp_path: Path) -> None:
    (tmp_path / "main.f90").write_text("subroutine s(a)\n  real :: a(3)\n  a = 1\nend subroutine\n")
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (unit,) = tree.units_of(str(tmp_path / "main.f90"))
    scope = Scopes(tree).of(unit)
    assert not has_windows(scope)
    assert not may_be_window_memory("a", scope)
