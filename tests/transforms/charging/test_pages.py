"""First touches of pages: where they are charged, and how many."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from textwrap import dedent, indent

import pytest

from asphalt.analysis.cost.classes import CLASSES
from asphalt.config.settings import Settings
from asphalt.machine.machine import BUILT_IN, Machine, load_machine
from asphalt.simulation.charged import charge_tree

MACHINE = Machine("pages", "", (), dict.fromkeys(CLASSES, 0.0) | {"page": 1.0})
# what is charged until the program tells: one second a page
REST = """\
subroutine smpi_execute_flops(flops)
  implicit none
  double precision :: flops, told
  common /counted/ told
  told = told + flops/1d9
end subroutine smpi_execute_flops
subroutine mpi_initialized(flag, ierror)
  implicit none
  logical :: flag
  integer :: ierror
  flag = .true.
  ierror = 0
end subroutine mpi_initialized
subroutine tell()
  implicit none
  double precision :: told
  common /counted/ told
  print '(i0)', nint(told)
  told = 0
end subroutine tell
block data
  double precision :: told
  common /counted/ told
  data told /0/
end block data
"""
MB = 131072  # elements of 8 bytes
PAGES = 256  # of 1 MB


def charged(folder: Path, text: str, name: str = "a.f90", machine: Machine = MACHINE) -> str:
    """The text with its pages charged."""
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / name).write_text(dedent(text))
    made = charge_tree(source, folder / "out", machine, Settings(cache=False, jobs=1))
    return (made.root / name).read_text()


def told(folder: Path, text: str, name: str = "a.f90", *flags: str) -> list[int]:
    """The pages that a program is charged for, from each call of ``tell`` to the next."""
    charged(folder, text, name)
    out = folder / "out"
    (out / "rest.f90").write_text(REST)
    command = ["gfortran", "-Wall", "-fcheck=all", *flags, "-o", "program"]
    sources = [name, "asphalt_charge.f90", "rest.f90"]
    subprocess.run([*command, *sources], cwd=out, check=True, capture_output=True)
    run = subprocess.run([out / "program"], capture_output=True, text=True, check=True)
    return [int(one) for one in run.stdout.split()]


def program(body: str, more: str = "", declared: str = "") -> str:
    """A program with an allocatable array a and a pointer p."""
    head = "implicit none\nexternal :: tell\nreal(8), allocatable :: a(:)\nreal(8), pointer :: p(:)"
    own = f"{head}\n{dedent(declared)}integer :: i, turn\n{dedent(body)}"
    inner = f"contains\n{indent(dedent(more), '  ')}" if more else ""
    return f"program one\n{indent(own, '  ')}{inner}end program one\n"


def test_allocated_and_stored_arrays_are_reported(tmp_path: Path) -> None:
    text = """\
        subroutine s(n, b)
          use mpi
          implicit none
          integer, intent(in) :: n
          real(8), intent(inout) :: b(n)
          complex(4), allocatable :: a(:, :)
          integer :: i, j, ierr
          allocate (a(n, 2))
          do j = 1, 2
            do i = 1, n
              a(i, j) = b(i)
            end do
          end do
          call MPI_Bcast(b, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
        end subroutine s
        """
    after = charged(tmp_path, text)
    price = "1.0e0_8"
    allocated = r"  if \(allocated\(a\)\) call asphalt_allocated\(a, 8.0_8\*size\(a\), \d+_4\)\n"
    assert re.search(rf"  allocate \(a\(n, 2\)\)\n{allocated}", after)
    assert (
        f"  if (allocated(a)) call asphalt_touched(a, 8.0_8*size(a), {price})\n  do j = 1, 2\n"
    ) in after
    assert (
        f"  call asphalt_touched(b, 8.0_8*size(b), {price})\n"
        "  call asphalt_charge_now()\n  call MPI_Bcast("
    ) in after
    kept = re.sub(r"  interface\n.*end interface\n", "", after, flags=re.DOTALL)
    kept = "".join(line for line in kept.splitlines(True) if "asphalt_" not in line)
    assert kept == dedent(text)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = 1\ncall tell()\na = 2\n", [PAGES, 0]),
        ("a(:) = 1\n", [PAGES]),
        ("do i = 1, size(a)\n  a(i) = i\nend do\n", [PAGES]),
        ("where ([(.true., i = 1, size(a))]) a = 1\n", [PAGES]),
        ("forall (i = 1:size(a)) a(i) = i\n", [PAGES]),
        ("do concurrent (i = 1:size(a))\n  a(i) = i\nend do\n", [PAGES]),
        ("a(1) = 1\n", [1]),  # an element alone
        ("a(1) = 1\ncall tell()\na = 2\n", [1, PAGES - 1]),
        ("i = 0\nif (i > 0) a(i) = 1\nif (i < 1) a(i + 1) = 1\n", [1]),
        ("if (a(1) > 0) print *, a(1)\n", [0]),  # reading is not charged
        ("if (size(a) < 0) then\n  a = 1\nend if\n", [0]),
        ("associate (b => a)\n  b = 1\n  a = 1\nend associate\n", [PAGES]),
        ("do turn = 1, 3\n  a = turn\n  call tell()\nend do\n", [PAGES, 0, 0, 0]),
    ],
)
def test_a_page_is_charged_once(body: str, expected: list[int], tmp_path: Path) -> None:
    text = program(f"allocate (a({MB}))\n{body}call tell()\n")
    assert told(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (MB // 16, [0, 0, 0, 0]),  # such blocks lie on pages of others
        (MB, [PAGES, PAGES, 0, 0]),  # from the system, then from the heap, which keeps its pages
        (31 * MB, [31 * PAGES, 31 * PAGES, 0, 0]),
        (40 * MB, [40 * PAGES] * 4),  # from the system each time
    ],
)
def test_memory_that_is_given_back_comes_back_as_the_c_library_has_it(
    size: int, expected: list[int], tmp_path: Path
) -> None:
    more = "subroutine work(n)\n  integer, intent(in) :: n\n  real(8), allocatable :: own(:)\n"
    more += "  allocate (own(n))\n  own = 1\nend subroutine work\n"
    body = f"do turn = 1, 4\n  call work({size})\n  call tell()\nend do\n"
    assert told(tmp_path, program(body, more)) == expected


def test_larger_blocks_from_the_heap_have_some_new_pages(tmp_path: Path) -> None:
    more = "subroutine work(n)\n  integer, intent(in) :: n\n  real(8), allocatable :: own(:)\n"
    more += "  allocate (own(n))\n  own = 1\nend subroutine work\n"
    sizes = (8, 4, 6, 2, 8, 7)
    body = "".join(f"call work({size * MB})\ncall tell()\n" for size in sizes)
    # the second block of 8 MB is as large as the one that was given back, but no larger
    assert told(tmp_path, program(body, more)) == [PAGES * n for n in (8, 4, 2, 0, 2, 0)]


@pytest.mark.parametrize(
    ("dummy", "actual", "expected"),
    [
        ("x(n)", "a, size(a)", [PAGES]),
        ("x(*)", "a, size(a)", [PAGES]),
        ("x(n/512, *)", "a, size(a)", [PAGES]),
        ("x(:)", "a, size(a)", [PAGES]),
        ("x(:)", "a(1::2), size(a)/2", [PAGES // 2]),  # as if they were next to each other
        ("x(n)", "a(1), size(a)/2", [PAGES // 2]),
        ("x(n)", f"a({MB // 2 + 1}), size(a)/2", [PAGES // 2]),
    ],
)
def test_dummy_arrays_are_known_by_their_address(
    dummy: str, actual: str, expected: list[int], tmp_path: Path
) -> None:
    statement = "x(:, 1:512) = 1" if "," in dummy else "x(1:n) = 1"
    more = "subroutine work(x, n)\n  integer, intent(in) :: n\n"
    more += f"  real(8), intent(out) :: {dummy}\n  {statement}\nend subroutine work\n"
    body = f"allocate (a({MB}))\ncall work({actual})\ncall tell()\n"
    flags = ("-fno-check-array-temporaries", "-fcheck=no-array-temps", "-fcheck=no-bounds")
    assert told(tmp_path, program(body, more), "a.f90", *flags) == (
        [0] if "::2" in actual else expected  # a copy is passed, which is not the array
    )


@pytest.mark.parametrize("attribute", ["save", "common"])
def test_arrays_that_are_there_from_the_beginning(attribute: str, tmp_path: Path) -> None:
    declared = f"real(8) :: b({MB}), c({MB // 16})\n"
    declared += "save :: b, c\n" if attribute == "save" else "common /all/ b, c\n"
    body = "do turn = 1, 2\n  b = 1\n  c = 1\n  call tell()\nend do\n"
    assert told(tmp_path, program(body, declared=declared)) == [PAGES, 0]


def test_arrays_of_modules_and_of_the_stack(tmp_path: Path) -> None:
    text = f"""\
        module shared
          implicit none
          real(8) :: b({MB})
        end module shared
        program one
          implicit none
          call work(); call tell()
          call work(); call tell()
        end program one
        subroutine work()
          use shared, only: renamed => b
          implicit none
          real(8) :: own(50000)
          own = 1
          renamed = own(1)
        end subroutine work
        """
    assert told(tmp_path, text) == [PAGES, 0]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"allocate (p({MB}))\ncall fill(p)\ncall tell()\n", [PAGES]),
        (f"allocate (a({MB}), p({2 * MB}))\np = 1\ncall fill(a)\ncall tell()\n", [PAGES]),
        (f"allocate (a({MB}), source=1d0)\ncall tell()\na = 2\ncall tell()\n", [PAGES, 0]),
        (f"allocate (a({MB})); a = 1; call tell()\n", [PAGES]),
        (f"allocate (a({MB}), stat=i)\na = 2\ncall tell()\n", [PAGES]),
    ],
    ids=["pointer", "pointers are not said to be touched", "source", "one line", "stat"],
)
def test_ways_to_allocate(body: str, expected: list[int], tmp_path: Path) -> None:
    more = "subroutine fill(x)\n  real(8), intent(out) :: x(:)\n  x = 1\nend subroutine fill\n"
    assert told(tmp_path, program(body, more)) == expected


def test_what_is_allocated_once_is_charged_once(tmp_path: Path) -> None:
    body = f"""\
        do turn = 1, 3
          if (.not. allocated(a)) allocate (a({40 * MB}))
          a = turn
          call tell()
        end do
        """
    assert told(tmp_path, program(body)) == [40 * PAGES, 0, 0]


def test_components_are_known_where_they_are_passed(tmp_path: Path) -> None:
    declared = (
        "type :: grid\n  real(4), allocatable :: u(:, :)\nend type grid\ntype(grid) :: g(2)\n"
    )
    body = f"allocate (g(2)%u({MB}, 2))\ncall fill(g(2)%u)\ncall tell()\n"
    more = "subroutine fill(x)\n  real(4), intent(out) :: x(:, :)\n  x = 1\nend subroutine fill\n"
    assert told(tmp_path, program(body, more, declared)) == [PAGES]


def test_fixed_form_and_older_standards(tmp_path: Path) -> None:
    text = f"""\
c     in the old way
      subroutine work(x, n)
      implicit none
      integer n, i
      double precision x(n)
      do 10 i = 1, n
   10 x(i) = i
      if (n .lt. 0) goto 20
   20 x(1) = 2
      end
      program one
      implicit none
      double precision a, b
      common /all/ a({MB}), b(50000)
      external tell
      call work(a, {MB})
      call tell
      a = 3
      call tell
      call work(a, {MB})
      call tell
      end
"""
    assert told(tmp_path, text, "a.f", "-std=f2008") == [0, PAGES, 0]


def test_other_kinds_by_default(tmp_path: Path) -> None:
    body = f"allocate (a({MB}))\nif (i /= i) allocate (p({MB}))\na = 1\ncall tell()\n"
    flags = ("-fdefault-integer-8", "-fdefault-real-8", "-fdefault-double-8")
    text = program(body, "subroutine tell()\n  print '(i0)', 0\nend subroutine tell\n")
    charged(tmp_path, text.replace("  external :: tell\n", ""))
    command = ["gfortran", "-c", *flags, "a.f90"]
    subprocess.run(command, cwd=tmp_path / "out", check=True, capture_output=True)


def test_procedures_with_entries_are_left_alone(tmp_path: Path) -> None:
    text = """\
        subroutine one(a)
          real(8) :: a(:), b(:)
          a = 1
          return
          entry two(b)
          b = 1
        end subroutine one
        """
    assert "asphalt_touched" not in charged(tmp_path, text)


def test_absent_and_unallocated_arrays_are_not_asked(tmp_path: Path) -> None:
    more = """\
        subroutine work(x)
          real(8), intent(out), optional :: x(:)
          integer :: j
          do j = 1, 0
            if (present(x)) x(j) = 1
            a(j) = 1
          end do
        end subroutine work
        """
    assert told(tmp_path, program("call work()\ncall tell()\n", more)) == [0]


def test_nothing_is_charged_without_a_price(tmp_path: Path) -> None:
    """Machine files that were written before there was this class have none."""
    assert "page" not in BUILT_IN.read_text()
    text = program(f"allocate (a({MB}))\na = 1\ncall tell()\n")
    after = charged(tmp_path, text, machine=load_machine())
    assert "asphalt_touched" not in after
    assert "asphalt_allocated" not in after
