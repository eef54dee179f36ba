"""Procedures that compute nests come to the place of their calls, where that brings work beside a
transfer."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.inlining.codes import MEANING
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.transforms.inlining import opening
from support.mpi_run import OPENMPI, RUNTIME, Mpi, build, installed, run
from support.stepping import Stepped
from support.taken_together import taken_together

_NEST = """\
    do j = 1, m
      do i = 1, n
        v(i, j) = v(i, j) + 0.5d0*(u(i, j-1) + u(i, j))
      end do
    end do
"""
_PROGRAM = """\
module smoother
  implicit none
contains
  subroutine smooth(n, m, u, v)
    integer, intent(in) :: n, m
    real(8), intent(in) :: u(n, 0:m)
    real(8), intent(inout) :: v(n, 0:m)
    integer :: i, j

{nest}
  end subroutine smooth
end module smoother

program steps
  use mpi
  use smoother, only: smooth
  implicit none
  integer, parameter :: n = {n}, m = {m}
  real(8) :: u(n, 0:m), v(n, 0:m), w(n, 0:m)
  integer :: me, np, up, down, step, ierr, i, j

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  up = merge(me + 1, MPI_PROC_NULL, me + 1 < np)
  down = merge(me - 1, MPI_PROC_NULL, me > 0)
  do j = 0, m
    do i = 1, n
      u(i, j) = i + 2*j + me
      v(i, j) = j
      w(i, j) = i
    end do
  end do
  do step = 1, 10
{steps}
    do j = 1, m
      do i = 1, n
        u(i, j) = v(i, j)*0.5d0
      end do
    end do
  end do
  print '(i0, 1x, es24.16)', me, sum(v)
  call MPI_Finalize(ierr)
end program steps
"""
_SHIFT = """\
    call MPI_Sendrecv(u(1, m), n, MPI_DOUBLE_PRECISION, up, 1, u(1, 0), n, &
                      MPI_DOUBLE_PRECISION, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
"""
_CALL = "    call smooth(n, m, u, v)\n"


def _text(nest: str = _NEST, steps: str = _SHIFT + _CALL, n: int = 1000, m: int = 400) -> str:
    return _PROGRAM.format(nest=nest, steps=steps, n=n, m=m)


def _found(folder: Path, text: str) -> Optimised:
    path = folder / "steps.f90"
    path.write_text(text)
    tree = load_tree([path], Settings(cache=False, jobs=1))
    (main,) = tree.main_programs()
    return optimise(tree, main)


def _opened(found: Optimised) -> bool:
    return any(step.does.startswith("smooth (") for step in found.steps)


def test_the_interior_of_a_procedure_comes_beside_the_transfer(tmp_path: Path) -> None:
    text = _text()
    found = _found(tmp_path, text)
    assert _opened(found)
    lines = [line.strip() for line in (found.content or b"").decode().splitlines()]
    interior = next(n for n, line in enumerate(lines) if line.endswith("_1 = 2, m"))
    wait = next(n for n, line in enumerate(lines) if "asphalt_wait(" in line)
    assert "asphalt_irecv(" in "".join(lines[:interior])
    assert interior < wait
    assert "call smooth(n, m, u, v)" not in lines
    # where the call stood in the source
    (transfer,) = found.transfers
    assert "MPI_Sendrecv(" in text.splitlines()[transfer.line - 1]


@pytest.mark.parametrize(
    ("nest", "steps"),
    [
        # none of it has to wait: the call itself is moved
        (_NEST, _SHIFT + _CALL.replace("u, v", "w, v")),
        # each iteration needs what the one before has made of what is received
        (_NEST.replace("v(i, j) = v(i, j) +", "v(i, j) = v(i, j-1) +"), _SHIFT + _CALL),
        # no nest
        (_NEST.replace("do j = 1, m", "j = 1").replace("    end do\n", "", 1).replace(
            "      do i = 1, n", "      i = 1").replace("      end do\n", "", 1), _SHIFT + _CALL),
        # too long to be written twice
        (_NEST + "    v(1, 1) = 0.5d0*v(1, 1)\n"*40, _SHIFT + _CALL),
        # nothing is received in front of it
        (_NEST, _CALL + _SHIFT),
        # what others can see
        (_NEST.replace("      end do", "        print *, v(1, j)\n      end do"), _SHIFT + _CALL),
    ],
)  # fmt: skip
def test_a_procedure_stays_where_it_is(tmp_path: Path, nest: str, steps: str) -> None:
    assert not _opened(_found(tmp_path, _text(nest, steps)))


def test_a_procedure_stays_where_it_gains_nothing(tmp_path: Path) -> None:
    """All of a short loop is edge."""
    assert not _opened(_found(tmp_path, _text(m=1)))


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(OPENMPI), ids=str)
def test_results_are_the_same(tmp_path: Path, mpi: Mpi) -> None:
    text = _text(n=500)
    found = _found(tmp_path, text)
    assert _opened(found)
    assert found.content is not None
    for m in (1, 2, 30):
        outputs = []
        for name, content in (("before", text), ("after", found.content.decode())):
            folder = tmp_path / f"{name}{m}"
            folder.mkdir()
            source = folder / f"{name}.f90"
            source.write_text(content.replace("m = 400", f"m = {m}"))
            outcome = run(mpi, build(mpi, [*RUNTIME, source], folder), 3)
            assert outcome.code == 0, outcome.stderr
            outputs.append(sorted(outcome.stdout.splitlines()))
        assert outputs[0] == outputs[1]


def test_a_branch_is_split_for_the_interior_of_a_nest(tmp_path: Path) -> None:
    """By itself the split of a branch that is full of its own packing brings no work beside it."""
    steps = """\
    if (down /= MPI_PROC_NULL) then
      call MPI_Irecv(w, n, MPI_DOUBLE_PRECISION, down, 1, MPI_COMM_WORLD, request, ierr)
      do i = 1, n
        v(i, 0) = i
      end do
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      u(:, 0) = w(:, 0)
    end if
"""
    text = _text(steps=steps + _CALL).replace("ierr, i, j\n\n", "ierr, i, j, request\n\n")
    found = _found(tmp_path, text)
    kinds = [step.transformation for step in found.steps]
    assert {"inline", "fission", "splitting"} <= set(kinds)


_OPERATOR = """\
  interface operator(.with.)
    module procedure both
  end interface
  interface assignment(=)
    module procedure as_number
  end interface
contains
  pure real(8) function both(a, b)
    real(8), intent(in) :: a, b
    both = a{0}b
  end function both
  pure subroutine as_number(a, b)
    integer, intent(out) :: a
    logical, intent(in) :: b
    a = merge(3, 4, b)
  end subroutine as_number
"""


@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        ("v(i, j) = u(i, j-1) .with. u(i, j)", [MEANING]),
        ("k = (u(i, j-1) > 1)", [MEANING]),
        ("v(i, j) = u(i, j-1) + k*u(i, j)", []),
    ],
    ids=["operator", "assignment", "intrinsic"],
)
def test_operators_mean_what_the_procedure_sees(
    statement: str, codes: list[object], tmp_path: Path
) -> None:
    """The caller sees others under the same names, or none."""
    text = _PROGRAM.format(n=10, m=20, steps=_SHIFT + _CALL, nest=_NEST)
    text = text.replace("v(i, j) = v(i, j) + 0.5d0*(u(i, j-1) + u(i, j))", statement)
    text = text.replace("integer :: i, j\n\n", "integer :: i, j, k\n\n    k = 2\n")
    text = text.replace("contains\n", "  private\n  public :: smooth\n" + _OPERATOR.format("*"), 1)
    other = "module others\n  implicit none\n" + _OPERATOR.format("-") + "end module others\n"
    text = other + text.replace("  use mpi\n", "  use mpi\n  use others\n")
    tree = Stepped.of(tmp_path, {"a.f90": text})
    tree.any_sizes = True
    assert [one.code for one in tree.refusals(opening)] == codes
    assert len(tree.steps(opening)) == 1 - len(codes)


def test_a_construct_is_not_named_like_the_caller(tmp_path: Path) -> None:
    nest = _NEST.replace("    do j = 1, m", "    steps: do j = 1, m")
    nest = nest.replace("\n    end do\n", "\n    end do steps\n")
    text = _PROGRAM.format(n=10, m=20, steps=_SHIFT + _CALL, nest=nest)
    tree = Stepped.of(tmp_path / "taken", {"a.f90": text})
    tree.any_sizes = True
    assert [one.message for one in tree.refusals(opening)] == [
        "smooth is not inlined: the construct name steps exists in the caller"
    ]
    tree = Stepped.of(tmp_path / "free", {"a.f90": text.replace("steps: do", "rows: do").replace(
        "end do steps", "end do rows")})  # fmt: skip
    tree.any_sizes = True
    assert len(tree.steps(opening)) == 1


_TWO = _SHIFT + _CALL + _CALL.replace("u, v", "u, w")


@pytest.mark.parametrize(
    ("nest", "steps", "sizes"),
    [
        (_NEST, _TWO, [2]),
        # a label would stand twice
        (_NEST + "    if (v(1, 1) > 0) goto 10\n    v(1, 1) = 0\n10  continue\n", _TWO, [1, 1]),
        # only the second one is behind what is received
        (_NEST, _CALL + _SHIFT + _CALL, [1]),
    ],
    ids=["together", "label", "before"],
)
def test_several_procedures_are_opened_at_once(
    tmp_path: Path, nest: str, steps: str, sizes: list[int]
) -> None:
    """The text is that of one after the other."""
    files = {"steps.f90": _text(nest, steps)}
    one_by_one = Stepped.of(tmp_path / "one", files)
    assert one_by_one.applied(opening, unit="steps") == sum(sizes)
    tree = Stepped.of(tmp_path / "all", files)
    found, text = taken_together(tree, opening.TRANSFORMATION, "steps")
    assert found == sizes
    assert text == one_by_one.text("steps.f90")
