"""The cost of computation in the source: where it is charged, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from asphalt.settings import Settings
from asphalt.simulation.charged import charge_tree
from asphalt.simulation.machine import load_machine


def charged(tmp_path: Path, text: str, name: str = "a.f90") -> str:
    source = tmp_path / "source"
    source.mkdir()
    (source / name).write_text(dedent(text))
    found = charge_tree(source, tmp_path / "out", load_machine(), Settings(cache=False))
    assert found.runtime.is_file()
    return (found.root / name).read_text()


def test_a_nest_with_known_bounds_is_charged_once_and_otherwise_untouched(tmp_path: Path) -> None:
    text = """\
        subroutine add(n, m, a, b)
          integer, intent(in) :: n, m
          real(8), intent(inout) :: a(n, m)
          real(8), intent(in) :: b(n, m)
          integer :: i, j
          do j = 1, m   ! columns
            do i = 1, n
              a(i, j) = a(i, j) + b(i, j)
            end do
          end do
        end subroutine add
        """
    after = charged(tmp_path, text)
    assert after.count("call asphalt_charge(") == 1
    new = after[after.index("  call asphalt_charge(") : after.index("  do j = 1, m")]
    assert after.replace(new, "") == dedent(text)


def test_mpi_calls_come_after_what_has_been_charged(tmp_path: Path) -> None:
    text = """\
        subroutine step(n, a, comm)
          use mpi
          integer, intent(in) :: n, comm
          real(8), intent(inout) :: a(n)
          integer :: ierr
          a = a + 1
          call MPI_Barrier(comm, ierr)
        end subroutine step
        """
    after = charged(tmp_path, text)
    assert "  call asphalt_charge_now()\n  call MPI_Barrier(comm, ierr)\n" in after
