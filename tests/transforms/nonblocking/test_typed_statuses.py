"""Statuses of ``mpi_f08`` that are read: the wait gives them, as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from support.mpi_run import MPICH, OPENMPI, RUNTIME, RUNTIME_F08, Mpi, build, installed, run

_MODULE = """\
module kept
  use mpi_f08
  implicit none
  type :: halo
    integer :: width = 0
    type(MPI_Status) :: status
    type(MPI_Status), pointer :: far => null()
  end type halo
  type(MPI_Status) :: shared
contains
  subroutine look(found)
    integer, intent(out) :: found
    found = 100*shared%MPI_SOURCE + shared%MPI_TAG
  end subroutine look
end module kept
"""
_UNIT = """\
subroutine exchange{number}(me, np, a, b, c, found, got)
  use kept, only: halo, look, shared
  use mpi_f08, only: MPI_Status, its_status => MPI_Status, MPI_Send, MPI_Recv, MPI_Sendrecv, &
                     MPI_Sendrecv_replace, swap => MPI_Sendrecv, MPI_Get_count, &
                     MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, MPI_INTEGER, MPI_PROC_NULL, &
                     MPI_STATUS_IGNORE
  implicit none
  integer, parameter :: n = 3000
  integer, intent(in) :: me, np
  real(8), intent(inout) :: a(n), b(n), c(n)
  integer, intent(inout) :: found, got
  integer :: i, j, left, right, below, above, at(4)
  type(MPI_Status) :: status, other, several(4)
  type(its_status) :: renamed
  type(MPI_Status), pointer :: far
  type(MPI_Status), target :: near
  type(halo) :: side
  left = modulo(me - 1, np); right = modulo(me + 1, np)
  below = merge(MPI_PROC_NULL, me - 1, me == 0)
  above = merge(MPI_PROC_NULL, me + 1, me == np - 1)
  at = 2; j = 1
  far => near
{body}
end subroutine exchange{number}
"""
_MAIN = """\
program main
  use mpi_f08
  implicit none
  integer, parameter :: n = 3000
  real(8) :: a(n), b(n), c(n)
  integer :: me, np, found, got
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, np)
  a = me + 0.5d0; b = 0; c = 0; found = 0; got = -1
{calls}  call MPI_Finalize()
contains
  subroutine tell
    print '(i0, 3z17, 2i12)', me, sum(a), sum(b), sum(c), found, got
  end subroutine tell
end program main
"""
_KIND = "MPI_DOUBLE_PRECISION"
_WORK = "  do i = 1, n\n    c(i) = c(i) + sin(dble(i))\n  end do\n"
_COUNT = f"  call MPI_Get_count({{}}, {_KIND}, got)\n"


def shift(status: str, source: str = "left", to: str = "right", tag: int = 1) -> str:
    return (
        f"  call MPI_Sendrecv(a, n, {_KIND}, {to}, {tag}, &\n    b, n, {_KIND}, {source}, {tag}, "
        f"MPI_COMM_WORLD, {status})\n"
    )


def ends(status: str) -> str:
    return f"  found = found + 100*{status}%MPI_SOURCE + {status}%MPI_TAG\n"


def optimised(folder: Path, body: str, number: int = 0) -> tuple[str, Optimised]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"exchange{number}.f90"
    path.write_text(_UNIT.format(body=body.rstrip("\n"), number=number))
    (folder / "kept.f90").write_text(_MODULE)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    return path.read_text(), optimise(tree, tree.units_of(str(path))[0])


_QUEUE = f"""\
  do j = 1, 4
    call MPI_Send(a, 100 - j, {_KIND}, right, j, MPI_COMM_WORLD)
  end do
  do j = 1, 4
    call MPI_Recv(b, n, {_KIND}, left, j, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, {_KIND}, got)
    found = found*5 + status%MPI_TAG + got
    do i = 1, n
      c(i) = c(i) + b(i)*j
    end do
  end do
"""
_REPLACE = f"""\
  call MPI_Sendrecv_replace(a, n, {_KIND}, {{to}}, 3, {{source}}, 3, MPI_COMM_WORLD, status)
"""
_MANY = "  found = found + merge(1, 0, status%MPI_SOURCE == MPI_PROC_NULL)\n"
GIVEN = {
    "a variable": (shift("status") + _WORK + ends("status") + _COUNT.format("status"), "status"),
    "an element": (
        shift("several(j+1)") + _WORK + ends("several(2)") + _COUNT.format("several(2)"),
        "several(j+1)",
    ),
    "a component": (shift("side%status") + _WORK + ends("side%status"), "side%status"),
    "of a module": (shift("shared") + _WORK + "  call look(found)\n", "shared"),
    "a target": (shift("near") + _WORK + ends("far"), "near"),
    "an argument by its name": (shift("status=status") + _WORK + ends("status"), "status"),
    "renamed": (
        shift("renamed").replace("MPI_Sendrecv", "swap") + _WORK + ends("renamed"),
        "renamed",
    ),
    "copied": (shift("status") + _WORK + "  other = status\n" + ends("other"), "status"),
    "changed": (
        shift("status") + "  status%MPI_TAG = 7\n" + _WORK + ends("status"),
        "status",
    ),
    "from nobody": (
        shift("status", "below", "above") + _WORK + ends("status") + _MANY,
        "status",
    ),
    "replaced": (
        _REPLACE.format(to="right", source="left") + _WORK + ends("status"),
        "status",
    ),
    "replaced from nobody": (
        _REPLACE.format(to="above", source="below") + _WORK + _MANY + _COUNT.format("status"),
        "status",
    ),
    "taken from a queue": (_QUEUE, "status"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_the_wait_gives_the_status(name: str, tmp_path: Path) -> None:
    body, status = GIVEN[name]
    _, found = optimised(tmp_path, body)
    text = (found.content or b"").decode()
    assert f", {status})\n" in "".join(
        line + "\n" for line in text.splitlines() if "call asphalt_" in line and "_f08(" in line
    )


STAYING = {
    "a pointer": (shift("far") + "  far => several(1)\n" + _WORK + ends("near"), "ASP022"),
    "behind a pointer": (shift("side%far") + _WORK + ends("side%far"), "ASP022"),
    "the message says which": (
        "  call MPI_Sendrecv(me, 1, MPI_INTEGER, right, 1, at, 4, MPI_INTEGER, left, 1, &\n"
        "    MPI_COMM_WORLD, several(at(1)))\n" + _WORK + ends("several(2)"),
        "ASP023",
    ),
}


@pytest.mark.parametrize("name", STAYING)
def test_the_call_gives_the_status(name: str, tmp_path: Path) -> None:
    body, code = STAYING[name]
    _, found = optimised(tmp_path, body)
    assert found.content is None
    assert code in [refused.code.id for refused in found.refused]


def test_the_call_stays_whose_message_says_which_array_is_its_status(tmp_path: Path) -> None:
    """The same rule for the older modules."""
    body = (
        "  call MPI_Sendrecv(me, 1, MPI_INTEGER, right, 1, at, 4, MPI_INTEGER, left, 1, &\n"
        "    MPI_COMM_WORLD, statuses(1, at(1)), ierr)\n" + _WORK + "  found = statuses(1, 2)\n"
    )
    path = tmp_path / "main.f90"
    text = f"""\
subroutine exchange(me, left, right, c, n, found)
  use mpi
  implicit none
  integer, intent(in) :: me, left, right, n
  integer, intent(out) :: found
  real(8), intent(inout) :: c(n)
  integer :: at(4), statuses(MPI_STATUS_SIZE, 4), ierr, i
  at = 2
{body}end subroutine exchange
"""
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    found = optimise(tree, tree.units_of(str(path))[0])
    assert found.content is None
    assert [refused.code.id for refused in found.refused] == ["ASP023"]


@pytest.fixture(scope="module")
def exchanges(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """All of them, before and after."""
    folder = tmp_path_factory.mktemp("source")
    found: list[tuple[str, str]] = []
    for number, (body, _) in enumerate(GIVEN.values()):
        text, made = optimised(folder / str(number), body, number)
        found.append((text, (made.content or b"").decode()))
    return found


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
def test_the_statuses_are_the_same(
    mpi: Mpi, exchanges: list[tuple[str, str]], tmp_path: Path
) -> None:
    calls = "".join(
        f"  call exchange{number}(me, np, a, b, c, found, got)\n  call tell\n"
        for number, _ in enumerate(exchanges)
    )
    results = []
    for kind in (0, 1):
        folder = tmp_path / str(kind)
        folder.mkdir()
        texts = [_MODULE, *(one[kind] for one in exchanges), _MAIN.format(calls=calls)]
        (folder / "all.f90").write_text("".join(texts))
        sources = [*RUNTIME, *RUNTIME_F08, folder / "all.f90"]
        built = build(mpi, sources, folder, ["-O2", "-fcheck=bounds"])
        for ranks in (2, 3):
            outcome = run(mpi, built, ranks)
            assert outcome.code == 0, outcome.stderr
            results.append(sorted(outcome.stdout.splitlines()))
    assert results[:2] == results[2:]
    assert [len(lines) for lines in results[:2]] == [2 * len(GIVEN), 3 * len(GIVEN)]


def test_modules_for_typed_statuses_are_written_where_they_are_used(tmp_path: Path) -> None:
    for name in ("first", "second"):
        source = tmp_path / name
        source.mkdir()
        body = shift("status" if name == "first" else "MPI_STATUS_IGNORE") + _WORK
        body += ends("status") if name == "first" else ""
        (source / f"{name}.f90").write_text(_UNIT.format(body=body.rstrip("\n"), number=1))
        (source / "kept.f90").write_text(_MODULE)
    out = tmp_path / "out"
    common = ["--passes", "transfers", "--no-cache", "--jobs", "1", "--output"]
    assert main(["apply", str(tmp_path / "second"), *common, str(out)]) == 0
    few = ["asphalt_copies.f90", "asphalt_core.f90", "asphalt_transfers.f90"]
    assert _runtime(out) == few
    assert main(["apply", str(tmp_path / "first"), *common, str(out)]) == 0
    assert _runtime(out) == [*few, "asphalt_transfers_f08.f90"]
    assert main(["apply", str(tmp_path / "second"), *common, str(out)]) == 0
    # what the first run wrote is still there
    assert _runtime(out) == [*few, "asphalt_transfers_f08.f90"]


def _runtime(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("asphalt_*.f90"))
