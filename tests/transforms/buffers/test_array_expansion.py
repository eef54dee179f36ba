"""Buffers for each iteration of a loop, and what leaves the loop then."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.transforms.buffers import array_expansion
from support.mpi_run import SMPI, Mpi, installed, runtime_texts
from support.stepping import Stepped

_PROGRAM = """\
program planes
  use mpi
  implicit none
  integer, parameter :: n = {n}, nz = {nz}, steps = 3
  real(8) :: v(0:n, n, nz){more}
  real(8) :: top(n), low(n), w(n)
  integer :: me, np, above, below, i, j, k, step, ierr, status(MPI_STATUS_SIZE)
{declared}  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  above = me - 1
  below = me + 1
  if (below == np) below = -1
  v = me + 1
{before}  do step = 1, steps
    do k = 2, nz
{body}    end do
  end do
{behind}  print '(i0, z17)', me, sum(v)
  call MPI_Finalize(ierr)
{inside}end program planes
"""
_RECEIVE = """\
      if (above /= -1) then
        call MPI_Recv(top, n, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, status, ierr)
        do j = 1, n
          v(0,j,k) = top(j)
        end do
      end if
"""
_WORK = """\
      do j = 1, n
        do i = 1, n
          v(i,j,k) = v(i,j,k) + sin(v(i,j,k-1) + k)/3
        end do
      end do
"""
_SEND = """\
      if (below /= -1) then
        do j = 1, n
          low(j) = v(n,j,k)
        end do
        call MPI_Send(low, n, MPI_DOUBLE_PRECISION, below, 1, MPI_COMM_WORLD, ierr)
      end if
"""
_BODY = _RECEIVE + _WORK + _SEND


def program(
    body: str = _BODY,
    *,
    n: int = 20,
    nz: int = 8,
    more: str = "",
    declared: str = "",
    before: str = "",
    behind: str = "",
    inside: str = "",
) -> str:
    return _PROGRAM.format(
        n=n, nz=nz, more=more, body=body, declared=declared, before=before, behind=behind,
        inside=inside,
    )  # fmt: skip


_SHOWN = "contains\n  subroutine show\n    print *, top(1)\n  end subroutine show\n"
STAYING = {
    "a value goes into the next iteration": program(
        _BODY.replace("(above /= -1) then\n", "(above /= -1) then\n"
                      "        if (k > 2) v(0,1,1) = top(1)\n")
    ),
    "what it brings is needed by the next iteration": program(
        _BODY.replace("sin(v(i,j,k-1)", "sin(v(i-1,j,k-1)")
    ),
    "what it brings is needed in the same iteration": program(
        _BODY.replace("sin(v(i,j,k-1)", "sin(v(i-1,j,k)")
    ),
    "it is used behind the loop": program(behind="  v(1,1,1) = top(1)\n"),
    "it is set before the loop": program(before="  top = 0\n"),
    "a message may be shorter": program(
        before="  if (below /= -1) call MPI_Send(low, n - 1, MPI_DOUBLE_PRECISION, below, 1, &\n"
        "    MPI_COMM_WORLD, ierr)\n"
    ),
    "a receive may get nothing": program(
        _BODY.replace("(above /= -1)", "(k > 0)"), before="  if (me == 0) above = MPI_PROC_NULL\n"
    ),
    "any number of iterations": program().replace("do k = 2, nz", "do k = 2, max(nz, np)"),
    "too many iterations": program(nz=100),
    "too much memory": program(n=20000).replace("v(0:n, n, nz)", "v(0:n, 9, nz)"),
    "its bounds may be asked for": program(
        _BODY.replace("v(0,j,k) = top(j)", "v(0,j,k) = top(j) + size(top)")
    ),
    "it may be seen elsewhere": program(inside=_SHOWN).replace(
        "contains\n", "  call show()\ncontains\n"
    ),
    "it shares its memory": program(declared="  equivalence (top, w)\n"),
    "its values are kept": program(declared="  save :: top\n"),
    "the operation may go on": program(
        _BODY.replace("MPI_Recv(top, n, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, status,",
                      "MPI_Irecv(top, n, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, i,")
    ),
    "an iteration is left early": program("      if (v(1,1,k) > 1d9) cycle\n" + _BODY),
    "an index of the same name": program(
        _BODY.replace("        do j = 1, n\n          v(0,j,k) = top(j)\n        end do\n",
                      "        forall (k = 1:n) v(0,k,1) = top(k)\n")
    ),
    "a construct that may rename": program(
        _BODY.replace("        do j = 1, n\n          v(0,j,k) = top(j)\n        end do\n",
                      "        associate (t => top)\n          v(0,:,k) = t\n"
                      "        end associate\n")
    ),
}  # fmt: skip


NEEDED = [name for name in STAYING if name.startswith("what it brings")]


def _steps(folder: Path, text: str) -> list[str]:
    stepped = Stepped.of(folder, {"planes.f90": text})
    found = stepped.steps(array_expansion)
    return [n for s in found if isinstance(s, array_expansion.ExpandBuffers) for n in s.names]


@pytest.mark.parametrize("name", STAYING)
def test_one_buffer_for_all_iterations(name: str, tmp_path: Path) -> None:
    assert "top" not in _steps(tmp_path, STAYING[name])


def test_the_constants_of_the_bounds_come_first(tmp_path: Path) -> None:
    late = program().replace(", nz = 8", "").replace(
        "  integer :: me,", "  integer, parameter :: nz = 8\n  integer :: me,"
    )  # fmt: skip
    assert _steps(tmp_path, late.replace("v(0:n, n, nz)", "v(0:n, n, 8)")) == []


def test_each_iteration_has_its_own(tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"planes.f90": program()})
    assert stepped.applied(array_expansion) == 1
    text = stepped.text("planes.f90")
    assert "  real(8) :: top(n,2:nz), low(n,2:nz), w(n)\n" in text
    assert "call MPI_Recv(top(:,k), n, MPI_DOUBLE_PRECISION, above, 1, " in text
    assert "          v(0,j,k) = top(j,k)\n" in text
    assert "          low(j,k) = v(n,j,k)\n" in text


def _optimised(folder: Path, text: str) -> Optimised:
    path = folder / "source" / "planes.f90"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    tree = load_tree([path.parent], Settings(cache=False, jobs=1))
    return optimise(tree, tree.units_of(str(path))[0])


def _with_buffers_of_its_own(found: Optimised, name: str) -> list[str]:
    """The steps that give a buffer to each iteration."""
    told = (step.does.partition(" has its own ") for step in found.steps)
    return [names for _, _, names in told if name in names.split(", ")]


def _drained(found: Optimised) -> list[str]:
    """The steps that take waits out of a loop."""
    told = (step.does.split() for step in found.steps)
    return [" ".join(said) for said in told if said[:2] in (["the", "wait"], ["the", "waits"])
            and {"leave", "leaves"} & set(said)]  # fmt: skip


def _prints(folder: Path, text: str, ranks: int, mpi: Mpi = SMPI) -> str:
    files = {**runtime_texts(text), "planes.f90": text}
    return Stepped.of(folder, files).result(mpi, folder / "run", list(files), ranks)


def test_all_waits_leave_the_loop(tmp_path: Path) -> None:
    if SMPI not in installed():
        pytest.skip("no SMPI")
    found = _optimised(tmp_path, program())
    assert found.content is not None
    text = found.content.decode()
    assert {"expansion", "waits"} <= {step.transformation for step in found.steps}
    assert _with_buffers_of_its_own(found, "top")
    assert _drained(found)
    loops = text.split("do step = 1, steps\n")[1].split("    ! asphalt: what all iterations")
    assert "asphalt_wait" not in loops[0]
    assert loops[1].count("call asphalt_wait") == 2
    assert "v(0,j,k) = top(j,k)" in loops[1]
    assert _prints(tmp_path / "after", text, 4) == _prints(tmp_path / "before", program(), 4)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(), ids=str)
@pytest.mark.parametrize("last", [1, 2, 8])
def test_other_constants_give_the_same_digits(mpi: Mpi, last: int, tmp_path: Path) -> None:
    found = _optimised(tmp_path, program())
    assert found.content is not None
    texts = [one.replace("nz = 8", f"nz = {last}") for one in (found.content.decode(), program())]
    after, before = (
        _prints(tmp_path / str(n), text, 4, mpi) for n, text in enumerate(texts)
    )  # fmt: skip
    assert after == before


@pytest.mark.wide
@pytest.mark.parametrize("number", range(len(NEEDED)))
def test_what_is_needed_is_waited_for(number: int, tmp_path: Path) -> None:
    """Receives may be posted ahead of the loop, but each is taken where it was."""
    if SMPI not in installed():
        pytest.skip("no SMPI")
    text = STAYING[NEEDED[number]]
    found = _optimised(tmp_path, text)
    made = text if found.content is None else found.content.decode()
    assert not _with_buffers_of_its_own(found, "top")
    assert not _drained(found)
    assert _prints(tmp_path / "after", made, 3) == _prints(tmp_path / "before", text, 3)
