"""Sends and receives that are started together: what must hold for them to become one call."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from asphalt.transforms.exchanges import combination, joining
from support.mpi_run import MPICH, OPENMPI, Mpi, installed
from support.stepping import Stepped

_PROGRAM = """\
module line
  use mpi
  implicit none
  integer, parameter :: n = 5
  integer, save :: comm, me, np, left, right
contains
  subroutine find_neighbours()
    integer :: ierr
    comm = MPI_COMM_WORLD
    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_size(comm, np, ierr)
    left = me - 1
    if (left < 0) left = MPI_PROC_NULL
    right = me + 1
    if (right >= np) right = MPI_PROC_NULL
  end subroutine find_neighbours
end module line
program main
  use mpi
  use line
  implicit none
  real(8) :: u(n,0:4), v(n,0:4), w(n,0:4)
  integer :: ierr, step, i, j, r(8), q(8)
  {declared}
  call MPI_Init(ierr)
  call find_neighbours()
  do j = 0, 4
    do i = 1, n
      u(i,j) = 100*me + 10*j + i
      v(i,j) = -u(i,j)
      w(i,j) = u(i,j)**2
    end do
  end do
  j = 1
  {before}
  do step = 1, 3
    {body}
    u(1,2) = u(1,1) + u(n,4)*v(1,3)
    v(n,1) = w(1,4) - u(1,3)/7 + v(2,0)
    u(2,3) = v(2,4) + w(2,2)
  end do
  {after}
  do i = 0, np - 1
    call MPI_Barrier(comm, ierr)
    if (i == me) print '(i0, 999(1x, z16))', me, u, v, w
  end do
  call MPI_Finalize(ierr)
end program main
"""


def _receive(what: str, source: str, tag: int, request: str) -> str:
    kind = "MPI_DOUBLE_PRECISION"
    return f"call MPI_Irecv({what}, n, {kind}, {source}, {tag}, comm, {request}, ierr)\n    "


def _send(what: str, dest: str, tag: int, request: str) -> str:
    return _receive(what, dest, tag, request).replace("Irecv", "Isend")


def _wait(number: int, requests: str = "r") -> str:
    return f"call MPI_Waitall({number}, {requests}, MPI_STATUSES_IGNORE, ierr)\n    "


def _up(field: str, tag: int = 1, requests: str = "r") -> str:
    return (
        _receive(f"{field}(1,0)", "left", tag, f"{requests}(1)")
        + _send(f"{field}(1,3)", "right", tag, f"{requests}(2)")
        + _wait(2, requests)
    )


def _both(field: str, tag: int = 1) -> str:
    """Both ways in one group."""
    return (
        _receive(f"{field}(1,0)", "left", tag, "r(1)")
        + _receive(f"{field}(1,4)", "right", tag + 1, "r(2)")
        + _send(f"{field}(1,3)", "right", tag, "r(3)")
        + _send(f"{field}(1,1)", "left", tag + 1, "r(4)")
        + _wait(4)
    )


# how many messages a rank then sends in a step
GOES: dict[str, tuple[str, dict[str, str], int]] = {
    "two fields": (_up("u") + _up("v"), {}, 1),
    "three fields": (_up("u") + _up("v") + _up("w"), {}, 1),
    "both ways": (_both("u") + _both("v"), {}, 2),
    "tags of their own": (_both("u") + _both("v", 3), {}, 2),
    "one wait for all": (
        _up("u").replace(_wait(2), "")
        + _up("v", 2).replace("r(1)", "r(3)").replace("r(2)", "r(4)").replace("all(2", "all(4"),
        {},
        1,
    ),
    "work between": (_up("u") + "w(:,2) = u(:,0) + 1\n    " + _up("v"), {}, 1),
    "packed between the starts": (
        _up("u")
        + _receive("v(1,0)", "left", 1, "r(1)")
        + "w(:,3) = v(:,3)/3\n    "
        + _send("w(1,3)", "right", 1, "r(2)")
        + _wait(2),
        {},
        1,
    ),
    "a wait for each": (
        (_up("u") + _up("v", 2)).replace(
            _wait(2),
            "call MPI_Waitall(2, r(1:2), MPI_STATUSES_IGNORE, ierr)\n    ",
        ),
        {},
        1,
    ),
}

QUICK = frozenset({"both ways", "packed between the starts", "one wait for all"})
"""Those that the quick suite runs."""

STAYS: dict[str, tuple[str, dict[str, str]]] = {
    "one alone": (_up("u"), {}),
    "other partners": (
        _up("u") + _up("v", 2).replace("left", "x").replace("right", "left").replace("x", "right"),
        {},
    ),
    "a blocking message before the wait": (
        _up("u")
        + _up("v").replace(
            _wait(2),
            "if (me == 0 .and. np > 1) call MPI_Send(w, 1, MPI_REAL8, 1, 8, comm, ierr)\n"
            "    if (me == 1) call MPI_Recv(w, 1, MPI_REAL8, 0, 8, comm, "
            "MPI_STATUS_IGNORE, ierr)\n    " + _wait(2),
        )
        + "w(1,1) = 0\n    "
        + _up("u").replace(
            _wait(2),
            "call MPI_Barrier(comm, ierr)\n    " + _wait(2),
        ),
        {},
    ),
    "output before the wait": (
        (_up("u") + _up("v")).replace(_wait(2), "print '(a)', 'here'\n    " + _wait(2)),
        {},
    ),
    "statuses that are stored": (
        (_up("u") + _up("v")).replace("MPI_STATUSES_IGNORE", "many"),
        {"declared": "integer :: many(MPI_STATUS_SIZE, 8)"},
    ),
    "not on all ranks": (f"if (me >= 0) then\n    {_up('u')}{_up('v')}end if", {}),
    "an argument that changes between": (
        (_up("u") + _up("v"))
        .replace("u(1,0)", "u(1,j)")
        .replace("call MPI_Isend(u", "j = 2\n    call MPI_Isend(u")
        + "j = 0",
        {"before": "j = 0"},
    ),
    "messages that cross": (
        _receive("u(1,0)", "left", 1, "r(1)")
        + _send("v(1,3)", "right", 1, "q(2)")
        + _receive("v(1,0)", "left", 1, "q(1)")
        + _send("u(1,3)", "right", 1, "r(2)")
        + _wait(2)
        + _wait(2, "q"),
        {},
    ),
    "one tag for two neighbours": (
        (_both("u", 1) + _both("v", 1)).replace(", 2, comm", ", 1, comm"),
        {},
    ),
    "a wait for some": (
        (_up("u") + _up("v", 2)).replace(
            _wait(2),
            "call MPI_Waitany(2, r, i, MPI_STATUS_IGNORE, ierr)\n    "
            "call MPI_Waitany(2, r, i, MPI_STATUS_IGNORE, ierr)\n    ",
        ),
        {},
    ),
    "any source": (
        _up("u") + _up("v"),
        {
            "after": "if (np == 0) call MPI_Recv(w, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 9, "
            "comm, MPI_STATUS_IGNORE, ierr)"
        },
    ),
    "another call with the tag": (
        _up("u") + _up("v"),
        {
            "after": "if (me == 0) call MPI_Send(w, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, "
            "comm, ierr)"
        },
    ),
    "a message to a third rank that waits for the first": (
        "if (me == 0 .and. np > 2) then\n    "
        + _send("u(1,1)", "1", 1, "r(1)")
        + "call MPI_Recv(w, n, MPI_REAL8, 2, 3, comm, MPI_STATUS_IGNORE, ierr)\n    "
        + _send("v(1,1)", "1", 2, "r(2)")
        + _wait(2)
        + "else if (me == 1 .and. np > 2) then\n    "
        + "call MPI_Recv(u(1,0), n, MPI_REAL8, 0, 1, comm, MPI_STATUS_IGNORE, ierr)\n    "
        + "call MPI_Send(w, n, MPI_REAL8, 2, 4, comm, ierr)\n    "
        + "call MPI_Recv(v(1,0), n, MPI_REAL8, 0, 2, comm, MPI_STATUS_IGNORE, ierr)\n    "
        + "else if (me == 2) then\n    "
        + "call MPI_Recv(w, n, MPI_REAL8, 1, 4, comm, MPI_STATUS_IGNORE, ierr)\n    "
        + "call MPI_Send(w, n, MPI_REAL8, 0, 3, comm, ierr)\n    end if",
        {},
    ),
    "sends that wait before the receives are there": (
        "call MPI_Send(u(1,3), n, MPI_REAL8, right, 1, comm, ierr)\n    "
        "call MPI_Send(v(1,3), n, MPI_REAL8, right, 1, comm, ierr)\n    "
        "call MPI_Recv(u(1,0), n, MPI_REAL8, left, 1, comm, MPI_STATUS_IGNORE, ierr)\n    "
        "call MPI_Recv(v(1,0), n, MPI_REAL8, left, 1, comm, MPI_STATUS_IGNORE, ierr)\n    ",
        {},
    ),
    "an error code that is read": (
        (_up("u") + _up("v")).replace(_wait(2), _wait(2) + "if (ierr /= 0) w(1,1) = ierr\n    "),
        {},
    ),
}
_USUAL = {"declared": "", "before": "", "after": ""}


def _text(body: str, changes: dict[str, str]) -> str:
    return _PROGRAM.format(**{**_USUAL, **changes}, body=body)


def _tree(folder: Path, text: str) -> Stepped:
    tree = Stepped.of(folder, {"a.f90": text})
    tree.uniform = tree.any_sizes = True
    return tree


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize(
    ("body", "changes", "number"),
    [
        pytest.param(*one, id=name, marks=() if name in QUICK else pytest.mark.wide)
        for name, one in GOES.items()
    ],
)
def test_started_exchanges_become_one(
    body: str, changes: dict[str, str], number: int, mpi: Mpi, tmp_path: Path
) -> None:
    before = _text(body, changes)
    tree = _tree(tmp_path / "in", before)
    assert tree.applied(joining, combination) > 1
    after = tree.text("a.f90")
    assert after.count("call MPI_Sendrecv(") + after.count("call asphalt_isend(") == number
    assert "MPI_Isend(" not in after
    assert "MPI_Waitall(" not in after
    ranks = 3 if mpi is MPICH else 4
    again = Stepped.of(tmp_path / "original", {"a.f90": before})
    expected = again.result(mpi, tmp_path / "before", ("a.f90",), ranks)
    assert expected
    assert tree.result(mpi, tmp_path / "after", ("a.f90",), ranks) == expected


@pytest.mark.parametrize(("body", "changes"), STAYS.values(), ids=STAYS)
def test_started_exchanges_stay(body: str, changes: dict[str, str], tmp_path: Path) -> None:
    tree = _tree(tmp_path, _text(body, changes))
    assert tree.steps(joining) == []
    assert tree.steps(combination) == []


def _optimised(folder: Path, text: str) -> str | None:
    folder.mkdir(exist_ok=True)
    path = folder / "a.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (unit,) = (one for one in tree.units_of(str(path)) if one.unit.name == "main")
    found = optimise(tree, unit, Options((Pass.COMBINATION, Pass.REMOVAL)))
    return None if found.content is None else found.content.decode()


def test_they_are_joined_only_where_they_are_combined(tmp_path: Path) -> None:
    short = _optimised(tmp_path / "short", _text(_up("u") + _up("v"), {}))
    assert short is not None
    assert short.count("call MPI_Sendrecv(") == 1
    apart = _up("u") + "v(:,3) = u(:,0)\n    " + _up("v")
    assert _optimised(tmp_path / "apart", _text(apart, {})) is None
