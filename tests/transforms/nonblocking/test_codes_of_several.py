"""Error codes of operations that are taken apart at once: one must store MPI_SUCCESS, if read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from asphalt.transforms.buffers import receive_queues
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.nonblocking.nonblocking import Split
from support.mpi_run import OPENMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 300
  real(8) :: a(n), b(n), c(n), d(n), e(n), w(n, n)
  integer :: me, np, left, right, i, k, ierr, found
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  a = me; b = 0; c = 2*me; d = 0; e = 0; w = 1; found = 0
{body}{work}  found = found + ierr
  print '(2(i0, 1x), 4z17)', me, found, sum(b), sum(d), sum(e), sum(w)
  call MPI_Finalize(ierr)
end program main
"""
_WORK = """\
  do i = 1, n
    w(:, i) = sqrt(w(:, i) + i)
  end do
"""
_ENDS = "MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)\n"
_REAL = "n, MPI_DOUBLE_PRECISION"


def _shift(one: str, other: str) -> str:
    return (
        f"  call MPI_Sendrecv({one}, {_REAL}, right, 1, {other}, {_REAL}, left, 1, &\n    {_ENDS}"
    )


_AB, _CD = _shift("a", "b"), _shift("c", "d")
_OVERWRITTEN = {
    # nothing reads the first code, and the second one is that
    "two": (f"  ierr = 7\n{_AB}{_CD}", 1),
    "three": (f"  ierr = 7\n{_AB}{_CD}{_shift('a', 'e')}", 1),
    "branch": (f"  ierr = 7\n  if (np > 1) then\n{_AB}{_CD}{_WORK}  end if\n", 1),
    "loop": (f"  do k = 1, 2\n  ierr = 7\n{_AB}{_CD}{_WORK}  end do\n", 1),
    # the first one relies on the second one of the iteration before, whose code nothing reads yet
    "iteration before": (
        f"  do k = 1, 2\n{_AB}  found = found + ierr\n  ierr = 7\n{_CD}{_WORK}"
        "  end do\n  ierr = 0\n",
        1,
    ),
}
_ANYWAY = {
    # the variable has the value before: nothing stores it again
    "before": (f"{_AB}{_CD}", 0),
    "read between": (f"  ierr = 7\n{_AB}  found = ierr\n{_CD}", 1),
}


def _optimised(folder: Path, body: str) -> Optimised:
    folder.mkdir()
    path = folder / "main.f90"
    path.write_text(_PROGRAM.format(body=body, work=_WORK))
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    options = Options((Pass.NONBLOCKING, Pass.MOTION))
    return optimise(tree, tree.units_of(str(path))[0], options)


@pytest.mark.parametrize("mpi", installed(OPENMPI))
@pytest.mark.parametrize("case", [*_OVERWRITTEN, *_ANYWAY])
def test_the_code_is_stored_where_no_other_call_stores_it(
    case: str, mpi: Mpi, tmp_path: Path
) -> None:
    body, stores = {**_OVERWRITTEN, **_ANYWAY}[case]
    outcome = _optimised(tmp_path / "in", body)
    text = (outcome.content or b"").decode()
    assert text.count("ierr = MPI_SUCCESS") == stores
    assert text.count("call asphalt_irecv") > 1
    same_lines(mpi, tmp_path, _PROGRAM.format(body=body, work=_WORK), outcome.content)


def _receive(buffer: str, tag: int) -> str:
    return f"    call MPI_Recv({buffer}, {_REAL}, k, {tag}, {_ENDS}"


def _send(tag: int) -> str:
    return f"    call MPI_Send(a, {_REAL}, 0, {tag}, MPI_COMM_WORLD, ierr)\n"


_QUEUE = f"""\
  if (me == 0) then
    do k = 1, np - 1
    ierr = 7
{_receive("b", 1)}{_receive("c", 2)}    d = d + b
    e = e + 2*c
{_WORK}    end do
  else
{_send(1)}{_send(2)}  end if
"""


@pytest.mark.parametrize("mpi", installed(OPENMPI))
def test_receives_of_a_loop_do_not_rely_on_each_other(mpi: Mpi, tmp_path: Path) -> None:
    text = _PROGRAM.format(body=_QUEUE, work=_WORK)
    stepped = Stepped.of(tmp_path / "in", {"main.f90": text})
    assert stepped.applied(receive_queues) == 1
    after = stepped.text("main.f90")
    assert after.count("call asphalt_take") == 2
    assert after.count("ierr = MPI_SUCCESS") == 1
    same_lines(mpi, tmp_path, text, after.encode())


_IN_MODULE = {
    "codes.f90": "module codes\n  integer :: ierr\nend module codes\n",
    "main.f90": f"""\
subroutine shifts(a, b, c, d, e, w, n, left, right)
  use mpi
  use codes
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: a(n), b(n), c(n), d(n), e(n), w(n, n)
  integer :: i
{_AB}{_CD}{_shift("a", "e")}{_WORK}end subroutine shifts
""",
}


def _judged_at_once(
    folder: Path, files: dict[str, str], unit: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[int], str]:
    """How many steps are judged in each text, and what becomes of the file of a unit."""
    sizes: list[int] = []

    def seen(facts: UnitFacts, steps: Sequence[Split]) -> tuple[Split | None, ...]:
        sizes.append(len(found := whole(facts, steps)))
        return found

    whole = nonblocking.stored_now
    monkeypatch.setattr(nonblocking, "stored_now", seen)
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    located = next(one for one in tree.units_of(str(folder / "main.f90")) if one.unit.name == unit)
    outcome = optimise(
        tree, located, Options((Pass.NONBLOCKING, Pass.MOTION), frozenset(("fatal",)))
    )
    return sizes, (outcome.content or b"").decode()


def test_codes_that_are_read_whatever_becomes_of_others_are_judged_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, text = _judged_at_once(tmp_path / "in", _IN_MODULE, "shifts", monkeypatch)
    assert sizes[0] == 3
    assert text.count("ierr = MPI_SUCCESS") == 1


def test_a_code_is_judged_behind_the_last_one_that_nothing_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the first one relies on the second one of the iteration before, which nothing reads until then
    body, _ = _OVERWRITTEN["iteration before"]
    files = {"main.f90": _PROGRAM.format(body=body, work=_WORK)}
    sizes, text = _judged_at_once(tmp_path / "in", files, "main", monkeypatch)
    assert sizes[:2] == [1, 1]
    assert text.count("ierr = MPI_SUCCESS") == 1
