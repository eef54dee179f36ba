"""Stores that receives overwrite: what must hold for them to go, one program each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.analysis.verdicts import store_codes
from asphalt.analysis.verdicts.store_codes import EVALUATED, READ, UNFILLED
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.diagnostics.examples import examples_of
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from asphalt.project import Project
from asphalt.transforms.buffers import redundant_stores
from support.mpi_run import MPICH, OPENMPI, installed
from support.stepping import Stepped

_PROGRAM = """\
module sizes
  implicit none
  integer, parameter :: n = 8
end module sizes
subroutine step(x, y, m, west, flag, v)
  use mpi
  use sizes
  implicit none
  integer :: m, west
  logical :: flag
  real(8) :: x(n,2), y(n)
  real(8), volatile :: v
  integer :: k, d, i, ierr, request(2), type, window
  real(8) :: z(n), s
  real(8), allocatable :: a(:)
  common /others/ s
  {declared}
  {body}
{inside}end subroutine step
program main
  use mpi
  use sizes
  implicit none
  real(8) :: x(n,2), y(n), v
  integer :: ierr, m
  call MPI_Init(ierr)
  m = 2
  call step(x, y, m, 0, .true., v)
  call MPI_Send(y, {sent}, MPI_DOUBLE_PRECISION, 0, {tag}, MPI_COMM_WORLD, ierr)
  {other}
  call MPI_Finalize(ierr)
end program main
"""
_END = "MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"


def _receive(where: str = "x(1,1)", count: str = "n", source: str = "west", tag: str = "1") -> str:
    return f"call MPI_Recv({where}, {count}, MPI_DOUBLE_PRECISION, {source}, {tag}, {_END}"


def _start(where: str, request: str) -> str:
    return (
        f"call MPI_Irecv({where}, n, MPI_DOUBLE_PRECISION, west, 1, MPI_COMM_WORLD, {request}, "
        "ierr)"
    )


_RECEIVE = _receive()


def _tree(folder: Path, body: str, **changes: str) -> Stepped:
    usual = {"declared": "", "inside": "", "sent": "n", "tag": "1", "other": ""}
    text = _PROGRAM.format(body=body, **{**usual, **changes})
    tree = Stepped.of(folder, {"a.f90": text})
    tree.any_sizes = True
    return tree


_GONE = {
    "an assignment": f"x(:,1) = 0\n{_RECEIVE}",
    "a loop": f"do i = 1, n\nx(i,1) = 0\nend do\n{_RECEIVE}",
    "a nest, column by column": "do d = 1, 2\ndo i = 1, n\nx(i,d) = 0\nend do\nend do\n"
    + _receive("x(1,1)") + "\n" + _receive("x(1,2)"),
    "all of it, received in parts": "x = 0\n" + _start("x(1,1)", "request(1)") + "\n"
    + _start("x(1,2)", "request(2)"),
    "received in a loop": f"x = -1\ndo d = 1, 2\n{_receive('x(1,d)')}\nend do",
    "in one iteration": f"do d = 1, 2\nx(:,d) = 0\n{_receive('x(1,d)')}\nend do",
    "fewer than are received": f"x(2:n:3,1) = y(1)\n{_RECEIVE}",
    "under one condition": f"if (flag) x(:,1) = 0\nif (flag) {_RECEIVE}",
    "in branches of one condition": f"if (flag) then\nx(:,1) = 0\nm = 1\nend if\n"
    f"if (flag) then\n{_RECEIVE}\nend if",
    "now and then": f"if (flag) x(:,1) = 0\n{_RECEIVE}",
    "other work between": f"x(:,1) = 0\ndo i = 1, n\ny(i) = x(i,2)\nend do\n{_RECEIVE}",
    "a sum of integers": f"k = 1\nx(k+1,1) = y(2*k-1)\n{_RECEIVE}",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(_GONE))
def test_what_a_receive_overwrites_goes(name: str, tmp_path: Path) -> None:
    tree = _tree(tmp_path, _GONE[name])
    before = tree.text("a.f90")
    assert tree.applied(redundant_stores) == 1
    after = tree.text("a.f90")
    assert "! asphalt: nothing is stored to x that MPI_" in after
    lines = (line.strip() for line in before.splitlines())
    stored = [line for line in lines if re.match(r"(if \(flag\) )?x\b.* = ", line)]
    assert stored
    assert not set(stored) & {line.strip() for line in after.splitlines()}
    assert before.count("call MPI_") == after.count("call MPI_")


_STAYS: dict[str, tuple[str, dict[str, str], str]] = {
    "a message may be shorter": (f"x(:,1) = 0\n{_RECEIVE}", {"sent": "n - 1"}, "ASP074"),
    "a message has the count of its rank": (f"x(:,1) = 0\n{_RECEIVE}", {"sent": "m"}, "ASP074"),
    "any tag": (f"x(:,1) = 0\n{_receive(tag='MPI_ANY_TAG')}",
                {"tag": "2", "sent": "n - 1"}, "ASP074"),
    "nobody may send": (f"if (m == 3) west = MPI_PROC_NULL\nx(:,1) = 0\n{_RECEIVE}", {}, "ASP074"),
    "a grid may end": (f"x(:,1) = 0\n{_RECEIVE}",
                       {"other": "call MPI_Cart_shift(0, 0, 1, m, ierr, ierr)"}, "ASP074"),
    "less is received": (f"x = 0\n{_RECEIVE}", {}, "ASP074"),
    "one element less": (f"x(:,1) = 0\n{_receive(count='n - 1')}", {"sent": "n - 1"}, "ASP074"),
    "another column": (f"x(:,2) = 0\n{_RECEIVE}", {}, "ASP074"),
    "the receive may be skipped": (f"x(:,1) = 0\nif (flag) {_RECEIVE}", {}, "ASP074"),
    "a branch without the receive": (f"x(:,1) = 0\nif (flag) then\n{_RECEIVE}\nelse\nm = 1\nend if",
                                     {}, "ASP074"),
    "another condition": (f"if (m > 0) x(:,1) = 0\nif (flag) {_RECEIVE}", {}, "ASP074"),
    "the condition changes": (f"if (m > 0) x(:,1) = 0\nm = m - 1\nif (m > 0) {_RECEIVE}", {},
                              "ASP074"),
    "other iterations": (f"do d = 1, 2\nx(:,d) = 0\nend do\ndo d = 2, 2\n{_receive('x(1,d)')}\n"
                         "end do", {}, "ASP074"),
    "a receive may be cancelled": (f"x(:,1) = 0\n{_RECEIVE}",
                                   {"other": "call MPI_Cancel(m, ierr)"}, "ASP074"),
    "another program": (f"x(:,1) = 0\n{_RECEIVE}",
                        {"other": "call MPI_Comm_get_parent(m, ierr)"}, "ASP074"),
    "a procedure that is not given may send": (f"x(:,1) = 0\n{_RECEIVE}",
                                               {"other": "call unknown()"}, "ASP074"),
    "a window": (f"x(:,1) = 0\n{_RECEIVE}", {"other": "call MPI_Win_fence(0, m, ierr)"}, "ASP075"),
    "a procedure between": (f"x(:,1) = 0\ncall unknown()\n{_RECEIVE}", {}, "ASP075"),
    "a prepared send between": (f"x(:,1) = 0\ncall MPI_Start(request(1), ierr)\n{_RECEIVE}", {},
                                "ASP075"),
    "a datatype that may reach far": (
        "x(:,1) = 0\ncall MPI_Send(y, 1, type, 1, 2, MPI_COMM_WORLD, ierr)\n" + _RECEIVE, {},
        "ASP075"),
    "a way out": (f"x(:,1) = 0\nif (flag) return\n{_RECEIVE}", {}, "ASP075"),
    "output": (f"x(:,1) = 0\nprint *, m\n{_RECEIVE}", {}, "ASP075"),
    "an operation of reals": (f"x(:,1) = s*2\n{_RECEIVE}", {}, "ASP076"),
    "a function": (f"x(:,1) = sqrt(y(1))\n{_RECEIVE}", {}, "ASP076"),
    "a conversion": (f"x(:,1) = m\n{_RECEIVE}", {}, "ASP076"),
    "a division": (f"x(m/k,1) = 0\n{_RECEIVE}", {}, "ASP076"),
    "a comparison of reals": (f"if (s > 0) x(:,1) = 0\n{_RECEIVE}", {}, "ASP076"),
    "the variable of the loop is read": (f"do i = 1, n\nx(i,1) = 0\nend do\n{_RECEIVE}\nm = i", {},
                                         "ASP076"),
    "the variable of the loop is a dummy": (f"do m = 1, n\nx(m,1) = 0\nend do\n{_RECEIVE}", {},
                                            "ASP076"),
    "something volatile": (f"x(:,1) = v\n{_RECEIVE}", {}, "ASP076"),
    "a label": (f"10 x(:,1) = 0\n{_RECEIVE}", {}, "ASP076"),
    "a directive": (f"!dir$ novector\nx(:,1) = 0\n{_RECEIVE}", {}, "ASP076"),
    "a shared line": (f"x(:,1) = 0; m = 1\n{_RECEIVE}", {}, "ASP075"),
    "the end of a branch": (f"if (flag) then\nx(:,1) = 0\nend if\n{_RECEIVE}", {}, "ASP076"),
    "a shape that an assignment gives": (
        "a = y\n" + _receive("a"), {}, "ASP074"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(_STAYS))
def test_what_may_be_missed_stays(name: str, tmp_path: Path) -> None:
    body, changes, code = _STAYS[name]
    tree = _tree(tmp_path, body, **changes)
    (found,) = (one for _, one in tree.found(redundant_stores))
    assert isinstance(found, Refused)
    assert found.code.id == code, found
    assert found.span is not None
    assert found.witness is not None
    assert found.marks


_NO_SITE = {
    "it is read": f"x(:,1) = 0\nz = x(:,1)\n{_RECEIVE}",
    "a column of it is read": f"x = 0\ns = x(3,1)\n{_RECEIVE}",
    "it is sent": "x(:,1) = 0\ncall MPI_Send(x, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, "
    f"ierr)\n{_RECEIVE}",
    "it is sent and received": "x(:,1) = 0\ncall MPI_Sendrecv_replace(x(1,1), n, "
    f"MPI_DOUBLE_PRECISION, 0, 1, 0, 1, {_END}",
    "something else is stored, too": f"do i = 1, n\nx(i,1) = 0\ny(i) = 0\nend do\n{_RECEIVE}",
    "the receive comes first": f"{_RECEIVE}\nx(:,1) = 0",
    "a pointer": "block\nreal(8), pointer :: p(:)\np => null()\np = 0\n" + _receive("p")
    + "\nend block",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(_NO_SITE))
def test_other_stores_are_not_looked_at(name: str, tmp_path: Path) -> None:
    tree = _tree(tmp_path, _NO_SITE[name])
    assert [one for _, one in tree.found(redundant_stores) if not _is_unfilled(one)] == []
    assert tree.applied(redundant_stores) == 0


def _is_unfilled(found: object) -> bool:
    return isinstance(found, Refused) and found.code is UNFILLED


def test_what_is_read_from_ranks_alone_need_not_be_filled(tmp_path: Path) -> None:
    body = f"z = 0\n{_receive('z')}\nif (west /= MPI_PROC_NULL) y = z"
    tree = _tree(tmp_path, body, other="m = MPI_PROC_NULL")
    assert tree.applied(redundant_stores) == 1
    read = _tree(tmp_path / "read", f"{body}\ny(1) = z(2)", other="m = MPI_PROC_NULL")
    assert [found.code for found in read.refusals(redundant_stores)] == [UNFILLED]


@pytest.mark.parametrize(
    "body",
    [
        f"x(:,1) = 0\n{_RECEIVE}\n{_receive('x(1,2)', source='m')}\n"
        "if (m /= MPI_PROC_NULL) y = x(:,1)",  # what came from another rank, or not at all
        f"x(:,1) = 0\n{_RECEIVE}\nwest = m\n{_receive('x(1,2)')}\n"
        "if (west /= MPI_PROC_NULL) y = x(:,1)",
        f"do i = 1, 2\nx(:,i) = 0\nwest = west + m\n{_receive('x(1,i)')}\n"
        "if (west /= MPI_PROC_NULL) y = x(:,1)\nend do",  # in an iteration before
    ],
    ids=["another_rank", "another_value", "another_iteration"],
)
def test_what_another_receive_defines_is_no_read_from_a_rank(body: str, tmp_path: Path) -> None:
    declared = "real(8) :: x(n,2)"
    text = _PROGRAM.format(
        body=body, declared=declared, inside="", sent="n", tag="1", other="m = MPI_PROC_NULL"
    ).replace(
        "  real(8) :: x(n,2), y(n)\n  real(8), volatile", "  real(8) :: y(n)\n  real(8), volatile"
    )
    text = text.replace("subroutine step(x, ", "subroutine step(").replace("step(x, y", "step(y")
    tree = Stepped.of(tmp_path, {"a.f90": text})
    tree.any_sizes = True
    found = tree.refusals(redundant_stores)
    assert UNFILLED in [one.code for one in found]
    assert tree.steps(redundant_stores) == []
    plain = text.replace(body, f"x(:,1) = 0\n{_RECEIVE}\nif (west /= MPI_PROC_NULL) y = x(:,1)")
    tree = Stepped.of(tmp_path / "plain", {"a.f90": plain})
    tree.any_sizes = True
    assert len(tree.steps(redundant_stores)) == 1


def test_a_send_under_another_name_may_be_shorter(tmp_path: Path) -> None:
    other = """\
module names
  use mpi, give => MPI_Send
end module names
subroutine shorter(y)
  use names
  real(8) :: y(*)
  integer :: ierr
  call give(y, 3, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)
end subroutine shorter
program main
"""
    text = _PROGRAM.format(
        body=f"x(:,1) = 0\n{_RECEIVE}", declared="", inside="", sent="n", tag="1",
        other="call shorter(y)",
    ).replace("program main\n", other, 1)  # fmt: skip
    tree = Stepped.of(tmp_path, {"a.f90": text})
    tree.any_sizes = True
    assert [one.code for one in tree.refusals(redundant_stores)] == [UNFILLED]


def test_each_code_has_its_programs() -> None:
    for code in store_codes.CODES:
        programs = examples_of(code.id)
        assert programs.refused is not None
        assert [one.code for one in Stepped.at(programs.refused).refusals(redundant_stores)] == [
            code
        ]
        assert programs.accepted is not None
        assert len(Stepped.at(programs.accepted).steps(redundant_stores)) == 1
    assert store_codes.CODES == (UNFILLED, READ, EVALUATED)


def test_refusals_are_reported_on_request(tmp_path: Path) -> None:
    refused = examples_of(UNFILLED.id).refused
    assert refused is not None
    accepted = examples_of(UNFILLED.id).accepted
    assert accepted is not None
    settings = Settings(cache=False, jobs=1, passes=("stores",))
    (report,) = Project(refused, settings=settings).kept_stores()
    assert (report.code, report.operation, report.line) == (
        "ASP074",
        "store before MPI_Sendrecv",
        14,
    )
    assert report.witness == f"{refused}:15"
    project = Project(accepted, settings=settings)
    assert project.kept_stores() == ()
    (change,) = project.transform()
    (site,) = change.sites
    assert (site.verdict, site.line, site.passes) == ("applied", 13, ("stores",))


_RING = """\
module sizes
  implicit none
  integer, parameter :: n = 40
end module sizes
module faces
  use mpi
  use sizes
  implicit none
  private
  public :: exchange
  real(8), save :: incoming(n, -1:1), outgoing(n, -1:1)
contains
  subroutine exchange(u, left, right, far)
    real(8), intent(inout) :: u(n, 0:n+1), far(n)
    integer, intent(in) :: left, right
    integer :: i, j, neighbour(-1:1), d, ierr
    neighbour = [left, 0, right]
    outgoing(:, -1) = u(:, 1)
    outgoing(:, 1) = u(:, n)
    do j = 2, n - 1
      do i = 1, n
        u(i, j) = u(i, j) + 0.125d0*sin(u(i, j))
      end do
    end do
    ! nothing of the last step
    do i = 1, n
      incoming(i, -1) = 0
    end do
    call MPI_Sendrecv(outgoing(1, 1), n, MPI_DOUBLE_PRECISION, right, 7, incoming(1, -1), n, &
                      MPI_DOUBLE_PRECISION, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    incoming(:, 1) = 0
    call MPI_Sendrecv(outgoing(1, -1), n, MPI_DOUBLE_PRECISION, left, 7, incoming(1, 1), n, &
                      MPI_DOUBLE_PRECISION, right, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      u(i, 0) = incoming(i, -1)
      u(i, n+1) = incoming(i, 1)
    end do
    far = -1
    call MPI_Sendrecv(u(1, 2), n, MPI_DOUBLE_PRECISION, right, 8, far, n, MPI_DOUBLE_PRECISION, &
                      left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    d = neighbour(0)
  end subroutine exchange
end module faces
program ring
  use mpi
  use sizes
  use faces
  implicit none
  real(8) :: u(n, 0:n+1), far(n)
  integer :: me, np, ierr, i, j, step
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do j = 0, n + 1
    do i = 1, n
      u(i, j) = sin(dble(i + 3*j)) + me
    end do
  end do
  do step = 1, 3
    call exchange(u, modulo(me - 1, np), modulo(me + 1, np), far)
    do j = 1, n
      u(:, j) = 0.5d0*u(:, j) + 0.25d0*(u(:, j-1) + u(:, j+1)) + far
    end do
  end do
  print '(i3,3z17)', me, transfer(sum(u), 0_8), transfer(u(3,0), 0_8), transfer(u(n,n+1), 0_8)
  call MPI_Finalize(ierr)
end program ring
"""


@pytest.mark.wide
def test_the_bits_stay_and_each_step_gains(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path / "src", {"ring.f90": _RING})
    (mpi, *_) = installed(OPENMPI, MPICH)
    before = tree.result(mpi, tmp_path / "before", ("ring.f90",), 3)
    assert tree.applied(redundant_stores) == 3
    assert tree.result(mpi, tmp_path / "after", ("ring.f90",), 3) == before
    path = str(tmp_path / "src" / "ring.f90")
    plain = load_tree((tmp_path / "src",), Settings(cache=False, jobs=1))
    (unit,) = (u for u in plain.units_of(path) if u.unit.name == "exchange")
    found = optimise(plain, unit, Options(("stores", "nonblocking", "motion")))
    assert [one.buffer for one in found.cleared] == ["incoming", "incoming", "far"]
    assert {transfer.operation for transfer in found.transfers} == {"MPI_Sendrecv"}
    assert found.content is not None
    assert found.content.count(b"nothing is stored to") == 3
    assert all(
        seconds > 0
        for step in found.steps
        if step.transformation == Pass.STORES
        for seconds in step.gained.values()
    )
