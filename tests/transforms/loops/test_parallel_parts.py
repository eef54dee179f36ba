"""Parallel loops that need a halo: each part has the directive, or the loop stays whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from support.mpi_run import OPENMPI, RUNTIME, Mpi, build, installed, run

_PROGRAM = """\
module scales
  implicit none
  real(8), save :: scale = 1, own = 1
!$omp threadprivate(own)
end module scales
module scale_of_all
  implicit none
  real(8), save :: common_scale = 1
end module scale_of_all
module work
  use mpi
  implicit none
contains
  real(8) function half(x)
    real(8), intent(in) :: x
    half = x*0.5d0
  end function half
  subroutine step(u, v, n, left, right)
    use scales, only: own
    use scale_of_all, only: common_scale
    integer, intent(in) :: n, left, right
    real(8), intent(inout) :: u(n,0:n+1), v(n,n)
    real(8) :: t, s
    integer :: i, j, m, ierr
!$  integer, external :: omp_get_thread_num
    m = 1; s = 0; t = 0
    call MPI_Sendrecv(u(1,n), n, MPI_DOUBLE_PRECISION, right, 1, &
      u(1,0), n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{nest}    v(1,1) = v(1,1) + s
  end subroutine step
end module work
program ring
  use work
  implicit none
  integer, parameter :: n = 300
  integer :: me, np, ierr, k
  real(8) :: u(n,0:n+1), v(n,n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  u = me; v = 1
  do k = 1, 3
    call step(u, v, n, mod(me - 1 + np, np), mod(me + 1, np))
    u(:, 1:n) = v
  end do
  print '(i0, 2(1x, z16))', me, sum(u), sum(v)
  call MPI_Finalize(ierr)
end program ring
"""
_NEST = """\
{directive}    do j = 1, n
{head}      do i = 1, n
        t = u(i,j-1)*0.5d0
{inside}        v(i,j) = {value} + t
      end do
    end do
{end}"""


def _text(
    directive: str, inside: str = "", value: str = "u(i,j)", head: str = "", end: str = ""
) -> str:
    nest = _NEST.format(directive=directive, inside=inside, value=value, head=head, end=end)
    return _PROGRAM.format(nest=nest)


def _internal(text: str, declared: str) -> str:
    """The program with internal procedures instead of a module, and more variables."""
    before, _, rest = text.partition("module work\n")
    procedures, _, main = rest.partition("contains\n")[2].partition("end module work\n")
    main = main.replace("  use work\n  implicit none\n", f"  use mpi\n  implicit none\n{declared}")
    return before + main.replace("end program", f"contains\n{procedures}end program")


_PRIVATE = "!$omp parallel do private(i, t)"
_DIVIDED = {
    "plain": (_text(f"{_PRIVATE}\n"), f"{_PRIVATE}\n"),
    "with an end": (_text(f"{_PRIVATE}\n", end="!$omp end parallel do\n"), f"{_PRIVATE}\n"),
    "loops with one label": (
        _text(f"{_PRIVATE}\n", end="!$omp end parallel do\n")
        .replace("do j =", "do 10 j =")
        .replace("do i =", "do 10 i =")
        .replace("      end do\n    end do\n!$omp", "10 continue\n!$omp"),
        f"{_PRIVATE}\n",
    ),
    "a module variable": (_text(f"{_PRIVATE}\n", value="common_scale*u(i,j)"), f"{_PRIVATE}\n"),
    "a variable of the host": (
        _internal(_text(f"{_PRIVATE}\n", value="mine*u(i,j)"), "  real(8), save :: mine = 1\n"),
        f"{_PRIVATE}\n",
    ),
    "collapse": (_text(f"{_PRIVATE} collapse(2)\n"), f"{_PRIVATE} collapse(2)\n"),
    "simd": (_text("!$omp parallel do simd private(t)\n"), "!$omp parallel do simd private(t)\n"),
    "in two lines": (
        _text(f"{_PRIVATE} &\n!$omp   & if (n > m) schedule(static)\n"),
        f"{_PRIVATE} &\n!$omp   & if (n > m) schedule(static)\n",
    ),
}
_RUN = "with an end", "loops with one label", "collapse"
_WHOLE = {
    "reduction": _text(f"{_PRIVATE} reduction(max: s)\n", inside="        s = max(s, t)\n"),
    "lastprivate": _text("!$omp parallel do private(i) lastprivate(t)\n"),
    "firstprivate": _text("!$omp parallel do private(i) firstprivate(t)\n"),
    "ordered": _text(f"{_PRIVATE} ordered\n"),
    "collapse": _text(f"{_PRIVATE} collapse(2)\n").replace("i = 1, n\n", "i = 1, n + 0*j\n"),
    "simd and collapse": _text("!$omp parallel do simd private(t) collapse(2)\n"),
    "critical": _text(
        f"{_PRIVATE}\n", "!$omp critical\n", "u(i,j)", end=""
    ).replace("+ t\n", "+ t\n!$omp end critical\n"),
    "the number of the thread": _text(
        f"{_PRIVATE}\n", inside="!$      t = t + omp_get_thread_num()\n"),
    "a variable of each thread": _text(f"{_PRIVATE}\n", value="own*u(i,j)"),
    "a COMMON block of each thread": _text(f"{_PRIVATE}\n", value="own*u(i,j)").replace(
        "scale = 1, own = 1\n!$omp threadprivate(own)\n",
        "scale = 1\n  real(8) :: own\n  common /each/ own\n!$omp threadprivate(/each/)\n"),
    "a variable of the host of each thread": _internal(
        _text(f"{_PRIVATE}\n", value="mine*u(i,j)"),
        "  real(8), save :: mine = 1\n!$omp threadprivate(mine)\n"),
    "a function": _text(f"{_PRIVATE}\n", value="half(u(i,j))"),
    "its directive reads what it changes": _text(f"{_PRIVATE} if (v(1,1) > 0)\n"),
    "a parallel loop in a loop": _text("", head="!$omp parallel do private(t)\n"),
}  # fmt: skip


def _transformed(folder: Path, text: str) -> str:
    folder.mkdir()
    path = folder / "ring.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (step,) = (one for one in tree.units_of(str(path)) if one.unit.name == "step")
    found = optimise(tree, step, Options(TRANSFERS))
    return text if found.content is None else found.content.decode()


@pytest.mark.parametrize("case", _DIVIDED)
def test_each_part_has_the_directive(case: str, tmp_path: Path) -> None:
    text, directive = _DIVIDED[case]
    found = _transformed(tmp_path / "in", text)
    loops = found.count("    do j = ") + found.count("    do 10 j = ")
    assert found.count(directive) == loops == 2
    for part in ("the interior of the nest, which meets nothing that is under way", "the edges"):
        assert f"{part}\n{directive}" in found.replace("the edges of the nest", "the edges")
    for mpi in installed(OPENMPI) if case in _RUN else ():
        _same(mpi, tmp_path, text, found)


@pytest.mark.parametrize("case", _WHOLE)
def test_a_loop_that_stays_whole(case: str, tmp_path: Path) -> None:
    found = _transformed(tmp_path / "in", _WHOLE[case])
    assert found.count("    do j = ") == found.count("      do i = ") == 1
    assert "the interior of the nest" not in found


def test_a_loop_of_one_thread_beside_a_parallel_one(tmp_path: Path) -> None:
    more = "!$omp parallel do\n    do i = 1, n\n      v(i,1) = v(i,1)*2\n    end do\n"
    found = _transformed(tmp_path / "in", _text("", end=more))
    assert "the interior of the nest" in found
    assert found.count("!$omp parallel") == 1


def _same(mpi: Mpi, folder: Path, text: str, found: str) -> None:
    for flags in ((), ("-fopenmp",)):
        printed = []
        for name, source in (("old", text), ("new", found)):
            place = folder / f"{name}{len(flags)}"
            place.mkdir()
            path = place / "ring.f90"
            path.write_text(source)
            built = build(mpi, [*RUNTIME, path], place, ("-O1", *flags))
            outcome = run(mpi, built, 3, threads=2)
            assert outcome.code == 0, outcome.stderr
            printed.append(sorted(outcome.stdout.splitlines()))
        assert printed[0] == printed[1]
