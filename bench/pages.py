"""Checks the charged pages: the page faults of each kernel of ``bench.costs`` on one rank.

It compares the page faults between two readings of the clock with the pages charged there:

    python -m bench.pages

writes pages.md in ``bench/results/costs``.  The system counts faults of pages of 4096 bytes; pages
of 2 MiB (transparent_hugepage) must be off, or restricted to programs that request them.
"""

from __future__ import annotations

import click

from asphalt.analysis.cost.classes import CLASSES
from asphalt.machine.machine import Machine
from asphalt.running.mpi import OPENMPI, SMPI
from bench.costs import RESULTS, SIZES, Pair

_PAGE = 1e-6  # seconds a page on both clocks
_CLOCK = """\
! Page faults without input or output, in millions, instead of the time of day.
double precision function mpi_wtime()
  use, intrinsic :: iso_c_binding, only: c_int, c_long
  implicit none
  interface
    integer(c_int) function getrusage(who, usage) bind(c)
      import :: c_int, c_long
      integer(c_int), value :: who
      integer(c_long), intent(out) :: usage(*)
    end function getrusage
  end interface
  integer(c_long) :: usage(18) ! two times of two numbers each, then ru_maxrss ... ru_minflt
  if (getrusage(0_c_int, usage) /= 0) stop 'getrusage does not work here'
  mpi_wtime = usage(9)*1d-6
end function mpi_wtime
"""


def counts(name: str) -> tuple[int, int]:
    """The page faults of a kernel, and the pages that it is charged for."""
    seconds = dict.fromkeys(CLASSES, 0.0) | {"page": _PAGE}
    pair = Pair(name, Machine("pages", "gfortran", ("-O2",), seconds), _CLOCK)
    pair.measure()
    row = pair.row()
    return round(row.least / _PAGE), round(row.simulated / _PAGE)


@click.command()
def main() -> None:
    """Compare page faults and charged pages, print them and write them."""
    for mpi in (OPENMPI, SMPI):
        mpi.require()
    lines = [
        "# Page faults and charged pages of one rank",
        "",
        "Between the two looks of each kernel at the clock. Written by `python -m bench.pages`.",
        "",
        "| kernel | page faults | charged pages |",
        "|---|---|---|",
    ]
    for name in SIZES:
        faults, charged = counts(name)
        lines.append(f"| {name} | {faults} | {charged} |")
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "pages.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
