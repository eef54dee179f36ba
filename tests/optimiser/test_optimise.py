"""Transfers between two ranks: made non-blocking, and moved apart only where every rule holds.

Each rule of Danalis et al., ICS 2009, section 4, has a program that would be wrong without it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asphalt.config.passes import Pass
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.running.mpi import MPICH, OPENMPI, Mpi, environment
from support.mpi_run import RUNTIME

_UNIT = """\
subroutine exchange(a, b, c, n, left, right, comm, flag)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right, comm
  logical, intent(in) :: flag
  real(8), intent(inout) :: a(n), b(n), c(n)
  integer :: status(MPI_STATUS_SIZE), ierr, i, m
  real(8) :: t
  real(8), volatile :: v
  real(8), allocatable :: q(:)
  integer(8) :: n8
{body}
end subroutine exchange
"""
_RECEIVE = "  call MPI_Recv(a, n, MPI_DOUBLE_PRECISION, left, 1, comm, status, ierr)\n"
_SEND = "  call MPI_Send(b, n, MPI_DOUBLE_PRECISION, right, 1, comm, ierr)\n"


def _work(array: str, value: str = "0.5d0*i") -> str:
    return f"  do i = 1, n\n    {array}(i) = {array}(i) + {value}\n  end do\n"


def _optimised(tmp_path: Path, source: str, **files: str) -> Optimised:
    path = tmp_path / "exchange.f90"
    path.write_text(source)
    for name, text in files.items():
        (tmp_path / f"{name}.f90").write_text(text)
    tree = load_tree([tmp_path])
    return optimise(tree, tree.units_of(str(path))[0])


def _unit(tmp_path: Path, body: str, **files: str) -> Optimised:
    return _optimised(tmp_path, _UNIT.format(body=body), **files)


def _statements(found: Optimised) -> list[str]:
    """The executable statements, in short: calls of the runtime, and loops by what they
    define."""
    assert found.content is not None
    short: list[str] = []
    for line in found.content.decode().splitlines():
        words = line.strip()
        if "asphalt_irecv(" in words or "asphalt_isend(" in words:
            short.append(words.split("asphalt_")[1][:5] + " " + words.split("(")[-1][0])
        elif "asphalt_wait(" in words:
            short.append("wait " + words.split(", ")[1][0])
        elif "(i) =" in words:
            short.append("work " + words[0])
    return short


def test_the_wait_goes_behind_work_that_leaves_the_buffer_alone(tmp_path: Path) -> None:
    found = _unit(tmp_path, _RECEIVE + _work("c") + _work("a"))
    assert _statements(found) == ["irecv a", "work c", "wait a", "work a"]
    assert [transfer.line for transfer in found.transfers] == [12]


def test_the_start_goes_before_work_that_leaves_the_buffer_alone(tmp_path: Path) -> None:
    found = _unit(tmp_path, _work("b") + _work("c") + _SEND)
    assert _statements(found) == ["work b", "isend b", "work c", "wait b"]


def test_work_beyond_a_statement_that_has_to_wait_comes_into_the_window(tmp_path: Path) -> None:
    found = _unit(tmp_path, _RECEIVE + _work("a") + _work("c"))
    assert _statements(found) == ["irecv a", "work c", "wait a", "work a"]


def test_a_pending_send_may_be_read_but_not_changed(tmp_path: Path) -> None:
    read = _unit(tmp_path, _SEND + _work("c", "b(i)"))
    assert _statements(read) == ["isend b", "work c", "wait b"]
    assert _unit(tmp_path, _SEND + _work("b", "c(i)")).content is None


def test_a_pending_receive_may_not_even_be_read(tmp_path: Path) -> None:
    assert _unit(tmp_path, _RECEIVE + _work("c", "a(i)")).content is None


@pytest.mark.parametrize(
    "between",
    [
        "  print *, t\n",
        "  t = MPI_Wtime()\n",
        "  call MPI_Comm_free(comm, ierr)\n",
        "  if (flag) return\n",
        "  if (flag) stop 1\n",
        "  call unknown(t)\n",
        "  call random_number(t)\n",
        "  call cpu_time(t)\n",
        "  critical\n    t = 1\n  end critical\n",
        "  v = 1\n",
        "  allocate(q(n))\n",
        "10 continue\n",
    ],
)
def test_nothing_moves_past_what_others_can_see(tmp_path: Path, between: str) -> None:
    jump = "  if (flag) goto 10\n" if between.startswith("10") else ""
    assert _unit(tmp_path, jump + _RECEIVE + between + _work("c")).content is None


def test_a_wait_moves_past_a_barrier(tmp_path: Path) -> None:
    body = _RECEIVE + "  call MPI_Barrier(comm, ierr)\n" + _work("c") + "  a = a + c\n"
    lines = [line.strip() for line in (_unit(tmp_path, body).content or b"").decode().splitlines()]
    barrier = lines.index("call MPI_Barrier(comm, ierr)")
    start, wait = (
        next(n for n, line in enumerate(lines) if line.startswith(f"call asphalt_{name}("))
        for name in ("irecv", "wait")
    )
    assert start < barrier < lines.index("do i = 1, n") < wait < lines.index("a = a + c")


def test_a_status_that_is_read_stays_with_its_wait(tmp_path: Path) -> None:
    body = _RECEIVE + "  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, m, ierr)\n"
    assert _unit(tmp_path, body + "  c(1) = m\n").content is None
    found = _unit(tmp_path, _RECEIVE + _work("b") + "  c(1) = status(MPI_TAG)\n")
    assert _statements(found) == ["irecv a", "work b", "wait a"]
    assert b"asphalt_wait(asphalt_request_1, a, status)" in (found.content or b"")


def test_an_error_code_that_is_read_keeps_the_call(tmp_path: Path) -> None:
    found = _unit(tmp_path, _RECEIVE + "  if (ierr /= 0) c = 0\n" + _work("c"))
    assert found.content is None
    assert [refused.code.id for refused in found.refused] == ["ASP020"]


def test_counts_of_another_kind_keep_the_call(tmp_path: Path) -> None:
    body = _RECEIVE.replace("(a, n,", "(a, n8,") + _work("c")
    found = _unit(tmp_path, body)
    assert found.content is None
    assert [refused.code.id for refused in found.refused] == ["ASP023"]


def test_a_copy_is_no_buffer_of_a_pending_transfer(tmp_path: Path) -> None:
    body = _RECEIVE.replace("(a,", "(a(1:n:2),") + _work("c")
    found = _unit(tmp_path, body)
    assert found.content is None
    assert [refused.code.id for refused in found.refused] == ["ASP021"]
    assert found.refused[0].message == (
        "a is a section with a stride: it may be passed as a copy, which is gone when the call "
        "returns"
    )


def test_a_result_is_no_buffer_of_a_pending_transfer(tmp_path: Path) -> None:
    call = "  call MPI_Send(maxval(a), 1, MPI_DOUBLE_PRECISION, 1, 1, comm, ierr)\n"
    (refused,) = _unit(tmp_path, call + _work("c")).refused
    assert (refused.code.id, refused.message.partition(":")[0]) == (
        "ASP021",
        "maxval is a function, of which the result is sent",
    )


_TWO = """\
  call MPI_Recv(a, n, MPI_DOUBLE_PRECISION, {}, {}, comm, status, ierr)
  do i = 1, n
    c(i) = a(i)
  end do
  call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, {}, {}, comm, status, ierr)
"""


@pytest.mark.parametrize(
    ("first", "second", "swap"),
    [
        (("left", "1"), ("left", "1"), False),  # b would get what a is to get
        (("left", "1"), ("right", "1"), False),  # left may be right
        (("left", "MPI_ANY_TAG"), ("left", "2"), False),
        (("left", "1"), ("left", "2"), True),
        (("0", "1"), ("1", "1"), True),
    ],
)
def test_receives_that_may_be_of_one_message_keep_their_order(
    tmp_path: Path, first: tuple[str, str], second: tuple[str, str], swap: bool
) -> None:
    found = _unit(tmp_path, _work("c") + _TWO.format(*first, *second))
    text = (found.content or _TWO.encode()).decode()
    places = [
        max(text.find(f"MPI_Recv({name}"), text.find(f"asphalt_irecv({name}")) for name in "ab"
    ]
    assert -1 not in places
    assert (places[1] < places[0]) is swap


def test_orders_between_ranks_stay_where_a_receive_takes_any_source(tmp_path: Path) -> None:
    body = _RECEIVE + _SEND + _work("c")
    free = _unit(tmp_path, body)
    assert _statements(free).index("isend b") < _statements(free).index("wait a")
    other = "subroutine s\n  use mpi\n  print *, MPI_ANY_SOURCE\nend subroutine s\n"
    bound = _unit(tmp_path, body, other=other)
    text = (bound.content or b"").decode().lower()
    assert "wait(asphalt_request_1, a)" in text
    assert text.index("wait(asphalt_request_1, a)") < text.index("send(b")


def test_a_wait_never_comes_before_a_start(tmp_path: Path) -> None:
    # moved up, the wait for the receive would wait for what the other rank sends after our send
    body = _work("c") + _SEND + _RECEIVE + _work("c")
    for statements in [_statements(_unit(tmp_path, body))]:
        assert statements.index("isend b") < statements.index("wait a")


def test_a_call_on_one_path_only_stays_on_it(tmp_path: Path) -> None:
    body = "  if (flag) then\n" + _RECEIVE + "    a(1) = 0\n  end if\n" + _work("c")
    found = _unit(tmp_path, body)
    lines = [line.strip() for line in (found.content or b"").decode().splitlines()]
    starts = [line for line in lines if "asphalt_irecv(" in line]
    assert len(starts) == 1
    assert starts[0].startswith("if (flag) call")
    at = lines.index(starts[0])
    waits = next(n for n, line in enumerate(lines) if "asphalt_wait(" in line)
    assert "if (flag) then" in lines[at:waits]


def test_a_condition_that_the_first_half_changes_is_not_asked_twice(tmp_path: Path) -> None:
    body = "  if (a(1) > 0) then\n" + _RECEIVE + "    c(1) = 0\n  end if\n" + _work("b")
    found = _unit(tmp_path, body)
    assert found.content is None


def test_requests_of_the_user_that_are_used_again_keep_their_order(tmp_path: Path) -> None:
    body = """\
  call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, left, 1, comm, m, ierr)
  call MPI_Wait(m, status, ierr)
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 2, comm, m, ierr)
  call MPI_Wait(m, status, ierr)
"""
    found = _unit(tmp_path, body + _work("c"))
    text = (found.content or b"").decode()
    order = [text.find(word) for word in ("Irecv(a", "Wait(m", "Irecv(b")]
    assert found.content is None or order == sorted(order)


def test_openmp_is_left_alone(tmp_path: Path) -> None:
    body = "!$omp parallel\n" + _RECEIVE + _work("c") + "!$omp end parallel\n"
    assert _unit(tmp_path, body).content is None


def test_what_was_made_is_left_as_it_is(tmp_path: Path) -> None:
    found = _unit(tmp_path, _RECEIVE + _work("c") + _work("a"))
    assert found.content is not None
    again = _optimised(tmp_path, found.content.decode())
    assert again.content is None
    assert again.transfers == ()


def test_motion_finds_nothing_more_where_it_ended(tmp_path: Path) -> None:
    found = _unit(tmp_path, _work("c") + _SEND + _RECEIVE + _work("c"))
    assert found.ended == "no transformation finds another step"
    assert [step.transformation for step in found.steps].count(Pass.MOTION) >= 1


_PROGRAM = """\
program ring
  use mpi
  implicit none
  integer, parameter :: n = 50, m = 10
  integer :: ierr, me, np, north, south, it, i, j
  integer :: status(MPI_STATUS_SIZE)
  real(8) :: u(n, 0:m+1), v(n, m), w(n, m), top(n), bottom(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  north = me - 1
  if (north < 0) north = MPI_PROC_NULL
  south = me + 1
  if (south == np) south = MPI_PROC_NULL
  u = 0
  bottom = 0
  do j = 1, m
    do i = 1, n
      v(i,j) = me*100 + i + j*0.5d0
    end do
  end do
  w = v
  do it = 1, 4
    do i = 1, n
      top(i) = v(i,1)
    end do
    call MPI_Sendrecv(top, n, MPI_DOUBLE_PRECISION, north, 1, u(1,m+1), n, &
                      MPI_DOUBLE_PRECISION, south, 1, MPI_COMM_WORLD, status, ierr)
    if (mod(me, 2) == 0) then
      call MPI_Ssend(v(1,m), n, MPI_DOUBLE_PRECISION, south, 2, MPI_COMM_WORLD, ierr)
      call MPI_Recv(bottom, n, MPI_DOUBLE_PRECISION, north, 2, MPI_COMM_WORLD, status, ierr)
    else
      call MPI_Recv(bottom, n, MPI_DOUBLE_PRECISION, north, 2, MPI_COMM_WORLD, status, ierr)
      call MPI_Ssend(v(1,m), n, MPI_DOUBLE_PRECISION, south, 2, MPI_COMM_WORLD, ierr)
    end if
    do j = 1, m
      do i = 1, n
        w(i,j) = sqrt(w(i,j)) + v(i,j)
      end do
    end do
    do i = 1, n
      u(i,0) = bottom(i)
    end do
    do j = 1, m
      do i = 1, n
        u(i,j) = w(i,j)
      end do
    end do
    do j = 1, m
      do i = 1, n
        v(i,j) = 0.25d0*(u(i,j-1) + u(i,j+1) + 2*u(i,j))
      end do
    end do
  end do
  do i = 0, np - 1
    if (i == me) print '(i3,1x,z16.16)', me, transfer(sum(v), 1_8)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call MPI_Finalize(ierr)
end program ring
"""


@pytest.mark.parametrize("mpi", [OPENMPI, MPICH], ids=lambda mpi: mpi.name)
def test_a_program_gives_the_same_digits(tmp_path: Path, mpi: Mpi) -> None:
    found = _optimised(tmp_path, _PROGRAM)
    assert {transfer.operation for transfer in found.transfers} == {
        "MPI_Sendrecv",
        "MPI_Ssend",
        "MPI_Recv",
    }
    assert found.content is not None
    (tmp_path / "made.f90").write_bytes(found.content)
    outputs = []
    for name, sources in (
        ("before", [tmp_path / "exchange.f90"]),
        ("after", [*RUNTIME, tmp_path / "made.f90"]),
    ):
        build = [mpi.free, "-O2", *map(str, sources), "-o", name]
        subprocess.run(build, cwd=tmp_path, env=environment(), check=True, capture_output=True)
        run = subprocess.run(
            mpi.command(3, tmp_path / name),
            cwd=tmp_path,
            env=environment(),
            check=True,
            capture_output=True,
            timeout=100,
        )
        outputs.append(sorted(run.stdout.splitlines()))
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 3
