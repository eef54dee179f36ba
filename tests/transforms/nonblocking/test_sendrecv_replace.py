"""A message that leaves from where another comes to: MPI_Sendrecv_replace becomes non-blocking."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from support.mpi_run import RUNTIME, SMPI, Mpi, build, installed, run

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 30000
  integer :: me, np, ierr, i, left, right, below, above, got, column, turn
  integer :: status(MPI_STATUS_SIZE), ends(2)
  real(8) :: a(n), b(n), c(n), g(7, 9)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np); right = modulo(me + 1, np)
  below = merge(MPI_PROC_NULL, me - 1, me == 0)
  above = merge(MPI_PROC_NULL, me + 1, me == np - 1)
  call MPI_Type_vector(9, 1, 7, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)
  a = me + 0.25d0; b = 1; c = me; g = me + 0.5d0; got = -1; ends = 0
{body}
  print '(i0, 4z17, 2i8, 2l2)', me, sum(a), sum(b), sum(c), sum(g), got, status(MPI_TAG), &
        ends(1) == MPI_PROC_NULL, ends(2) == MPI_PROC_NULL
  call MPI_Finalize(ierr)
end program main
"""
REAL = "MPI_DOUBLE_PRECISION"


def shift(
    buffer: str, to: str, source: str, tag: int, count: str = f"n, {REAL}", status: str = "status"
) -> str:
    ends = f"{to}, {tag}, {source}, {tag}, MPI_COMM_WORLD, {status}, ierr)\n"
    return f"  call MPI_Sendrecv_replace({buffer}, {count}, {ends}"


def work(array: str, value: str = "sin(dble(i))") -> str:
    return f"  do i = 1, n\n    {array}(i) = {array}(i) + {value}\n  end do\n"


RING = shift("a", "right", "left", 1)
COUNT = f"  call MPI_Get_count(status, {REAL}, got, ierr)\n"


def optimised(folder: Path, body: str) -> tuple[str, Optimised]:
    folder.mkdir(exist_ok=True)
    path = folder / "main.f90"
    path.write_text(_PROGRAM.format(body=body.rstrip("\n")))
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    return path.read_text(), optimise(tree, tree.units_of(str(path))[0])


def statements(found: Optimised) -> list[str]:
    """Calls, without those that set up, and loops by what they define."""
    _, _, body = (found.content or b"").decode().partition("got = -1; ends = 0\n")
    body = body.replace("&\n", "")
    short: list[str] = []
    for line in map(str.strip, body.splitlines()):
        if line.startswith("call "):
            name, _, arguments = line.removeprefix("call ").partition("(")
            own = "asphalt_" in name
            first = arguments.split(", ")[1 if "wait" in name else 0].rstrip(")")
            short.append(f"{name.removeprefix('asphalt_')} {first}" if own else name)
        elif "(i) =" in line:
            short.append(f"work {line[0]}")
    return short[: short.index("MPI_Finalize")]


def test_work_comes_beside_both_messages(tmp_path: Path) -> None:
    _, found = optimised(tmp_path, RING + work("b") + COUNT + work("a"))
    assert statements(found) == [
        "isendrecv_replace a", "work b", "wait a", "MPI_Get_count", "work a",
    ]  # fmt: skip
    text = (found.content or b"").decode()
    assert "call asphalt_wait(asphalt_request_1, a, status)" in text
    assert [(one.operation, one.messages) for one in found.transfers] == [
        ("MPI_Sendrecv_replace", 1)
    ]


STAY = {
    "what comes is read": work("b", "a(i)"),
    "what leaves is changed": work("a"),
    "a copy": "",
}


@pytest.mark.parametrize("name", STAY)
def test_it_stays(name: str, tmp_path: Path) -> None:
    begin = RING if STAY[name] else shift("a(1:n:2)", "right", "left", 1, f"n/2, {REAL}")
    _, found = optimised(tmp_path, begin + (STAY[name] or work("b")))
    assert found.content is None


def test_messages_keep_their_order(tmp_path: Path) -> None:
    """Both have one envelope: the second may not start before the first."""
    again = shift("c", "right", "left", 1)
    _, found = optimised(tmp_path, work("c") + RING + again + work("b"))
    assert [s for s in statements(found) if "replace" in s] == [
        "isendrecv_replace a", "isendrecv_replace c",
    ]  # fmt: skip


_COLUMN = shift("g(3,1)", "above", "below", 4, "1, column", "MPI_STATUS_IGNORE")
_SEVERAL = (
    RING
    + shift("c", "left", "right", 2, "np, MPI_DOUBLE_PRECISION", "MPI_STATUS_IGNORE")
    + work("b")
    + COUNT
    + work("a", "c(np)")
)
_ENDS = shift("a", "above", "below", 3) + work("b") + COUNT + "  ends(1) = status(MPI_SOURCE)\n"
_OTHER = shift("c", "below", "above", 3) + work("b") + "  ends(2) = status(MPI_SOURCE)\n"
LOOP = f"  do turn = 1, 3\n{_SEVERAL}  end do\n"
EVERYWHERE = LOOP + _COLUMN.replace("above", "right").replace("below", "left") + work("b")
"""SMPI's MPI_Sendrecv_replace writes to the buffer although nobody sends something."""


@pytest.mark.parametrize(
    "mpi", [pytest.param(m, marks=() if m is SMPI else pytest.mark.wide) for m in installed()],
    ids=str,
)  # fmt: skip
def test_the_same_is_computed(mpi: Mpi, tmp_path: Path) -> None:
    body = EVERYWHERE if mpi is SMPI else EVERYWHERE + _COLUMN + work("b") + _ENDS + _OTHER
    text, found = optimised(tmp_path / "tree", body)
    assert found.content is not None
    assert len(found.transfers) >= 3
    flags = ["-O1", "-w", "-fallow-argument-mismatch"]
    results: dict[str, list[list[str]]] = {}
    for kind, made in (("before", text.encode()), ("after", found.content)):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_bytes(made)
        built = build(mpi, [*RUNTIME, folder / "main.f90"], folder, flags)
        for ranks in (1, 3):
            outcome = run(mpi, built, ranks)
            assert outcome.code == 0, outcome.stderr
            results.setdefault(kind, []).append(sorted(outcome.stdout.splitlines()))
    assert results["before"] == results["after"]
    assert [len(lines) for lines in results["after"]] == [1, 3]
