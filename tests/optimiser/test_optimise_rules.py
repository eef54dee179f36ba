"""Programs that would give other digits, hang or not compile if a rule were left out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis_manager.analyses import Analyses
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.running.mpi import environment
from support.mpi_run import MPICH, OPENMPI, RUNTIME, installed

_UNIT = """\
subroutine exchange(a, b, c, n, left, right, comm, flag)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right, comm
  logical, intent(in) :: flag
  real(8), intent(inout) :: a(n), b(n), c(n)
  integer :: status(MPI_STATUS_SIZE), ierr, i, k, request, other, type
  real(8) :: u(10,10)
{declared}
{body}
end subroutine exchange
"""
_KIND = "MPI_DOUBLE_PRECISION"
_WINDOW = f"""\
  call MPI_Irecv(b, n, {_KIND}, left, 9, comm, other, ierr)
  call MPI_Wait(other, MPI_STATUS_IGNORE, ierr)
  b(1) = b(1) + 1
"""
_WAIT = "  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"


def _receive(buffer: str, count: str = "n") -> str:
    return f"  call MPI_Recv({buffer}, {count}, {_KIND}, left, 1, comm, status, ierr)\n"


def _start(buffer: str, count: str = "n") -> str:
    return f"  call MPI_Irecv({buffer}, {count}, {_KIND}, left, 1, comm, request, ierr)\n"


def _loop(statement: str) -> str:
    return f"  do i = 1, 5\n    {statement}\n  end do\n"


def _optimised(tmp_path: Path, body: str, declared: str = "", **files: str) -> Optimised:
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "exchange.f90"
    path.write_text(_UNIT.format(body=body, declared=declared))
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text)
    tree = load_tree([tmp_path])
    return optimise(tree, tree.units_of(str(path))[0])


def _lines(found: Optimised) -> list[str]:
    return [line.strip() for line in (found.content or b"").decode().splitlines()]


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        # a section with gaps reaches over more than as many elements in a row
        (_WINDOW + _receive("u(2:4,1:3)", "9") + _loop("u(i,2) = u(i,2) + i"), ""),
        (_WINDOW + _start("u(2:4,1:3)", "9") + _WAIT + _loop("u(i,2) = u(i,2) + i"), ""),
        # what one iteration starts, the next one waits for
        (
            f"  request = MPI_REQUEST_NULL\n  do k = 1, 9\n{_WINDOW}{_WAIT}"
            f"{_loop('c(i) = c(i) + u(i,k)')}{_start('u(1,k+1)', '10')}  end do\n{_WAIT}",
            "",
        ),
        # a persistent request names its buffer elsewhere
        (
            _start("a").replace("Irecv", "Recv_init")
            + "  call MPI_Start(request, ierr)\n"
            + _WINDOW
            + _WAIT
            + _loop("c(i) = a(i)"),
            "",
        ),
        # another procedure started it
        (
            _WINDOW + _WAIT.replace("request", "kept") + _loop("c(i) = a(i)"),
            "  integer :: kept\n  common /requests/ kept",
        ),
        (
            _WINDOW + _WAIT.replace("request", "kept") + _loop("c(i) = a(i)"),
            "  integer, save :: kept",
        ),
        (
            "  call post(a, request)\n" + _WINDOW + _WAIT + _loop("c(i) = a(i)"),
            "",
        ),
        (_start("a") + "  other = request\n" + _WAIT.replace("request", "other")
         + _loop("c(i) = a(i)"), ""),
        # programs pass the first of the variables of a common block, with a count for all of them
        (_receive("f", "10") + _loop("g(i) = i"), "  real(8) :: f(5), g(5)\n  common /block/ f, g"),
        (_start("f", "n") + _WAIT + _loop("g(i) = i"),
         "  real(8) :: f(5), g(5)\n  common /block/ f, g"),
        # a vector subscript makes a copy
        (_receive("u(index, 1)", "3") + _loop("c(i) = i"), "  integer :: index(3) = [1, 3, 5]"),
        # a second name
        (_receive("f", "5") + _loop("g(i) = i"),
         "  real(8) :: f(5), g(5)\n  equivalence (f(5), g(1))"),
        # a datatype that is not predefined
        (_start("u(1,1)", "1").replace(_KIND, "type") + _WAIT + _loop("u(i,2) = i"), ""),
        # counts that run over columns
        (_start("u(1,1)", "20") + _WAIT + _loop("u(i,2) = i"), ""),
        (_start("u(3,1)", "10") + _WAIT + _loop("u(i,2) = i"), ""),
        (
            "  allocate(q(10,2), v(5,4))\n  v = 1\n  q = v\n"
            + _start("q(1,1)", "10") + _WAIT + _loop("q(i,2) = i"),
            "  real(8), allocatable :: q(:,:), v(:,:)",
        ),
        (_start("q(1,1)", "10") + _WAIT + _loop("q(i,2) = 1"),
         "  real(8), pointer :: q(:,:)"),
    ],
)  # fmt: skip
def test_work_on_a_buffer_stays_behind_the_wait(tmp_path: Path, body: str, declared: str) -> None:
    posted = "subroutine post(x, r)\n  use mpi\n  real(8) :: x(*)\n  integer :: r, e\n"
    posted += f"  call MPI_Irecv(x, 5, {_KIND}, 0, 1, MPI_COMM_WORLD, r, e)\nend subroutine post\n"
    assert _optimised(tmp_path, body, declared, post__f90=posted).content is None


def test_a_part_of_a_common_block_that_the_count_fits_is_a_buffer(tmp_path: Path) -> None:
    declared = "  real(8) :: f(5), g(5)\n  common /block/ f, g"
    assert _optimised(tmp_path, _receive("f", "5") + _loop("g(i) = i"), declared).content


_SENDS = "".join(
    f"  call MPI_Send({buffer}, n, {_KIND}, right, {tag}, comm, ierr)\n"
    for buffer, tag in (("b", 1), ("a", 2))
)


@pytest.mark.parametrize("tag", ["MPI_ANY_TAG", "-1", "2"])
def test_sends_keep_their_order_where_a_receive_takes_any_tag(tmp_path: Path, tag: str) -> None:
    other = "subroutine take(x, n)\n  use mpi\n  integer :: n, e\n  real(8) :: x(n)\n"
    other += f"  call MPI_Recv(x, n, {_KIND}, 0, {tag}, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)\n"
    other += "end subroutine take\n"
    body = _loop("c(i) = i") + _loop("b(i) = b(i) + 1") + _SENDS
    lines = _lines(_optimised(tmp_path, body, take__f90=other))
    starts = [line.split("(")[1][0] for line in lines if "isend(" in line]
    assert starts == (["a", "b"] if tag == "2" else ["b", "a"])


@pytest.mark.parametrize("mode", ["Rsend", "Send"])
def test_a_receive_stays_before_what_triggers_a_ready_send(tmp_path: Path, mode: str) -> None:
    other = "subroutine give(x, n)\n  use mpi\n  integer :: n, e\n  real(8) :: x(n)\n"
    other += f"  call MPI_{mode}(x, n, {_KIND}, 0, 1, MPI_COMM_WORLD, e)\nend subroutine give\n"
    send = f"  call MPI_Send(b, n, {_KIND}, right, 1, comm, ierr)\n"
    body = _loop("c(i) = i") + _start("a") + send + _WAIT
    lines = _lines(_optimised(tmp_path, body, give__f90=other))
    receive = next(n for n, line in enumerate(lines) if "Irecv" in line)
    start = next(n for n, line in enumerate(lines) if "asphalt_isend(" in line)
    assert (receive < start) is (mode == "Rsend")


def _refused(found: Optimised) -> list[str]:
    assert found.content is None
    return [refused.code.id for refused in found.refused]


def test_declarations_do_not_follow_an_include_file_with_statements(tmp_path: Path) -> None:
    body = "  include 'first.inc'\n" + _receive("a") + _loop("c(i) = i")
    assert _refused(_optimised(tmp_path, body, first__inc="! do not edit\nc = 0\n")) == ["ASP023"]
    assert _optimised(tmp_path, body, first__inc="real(8) :: extra\n").content


def test_an_array_for_a_scalar_keeps_the_call(tmp_path: Path) -> None:
    # which is right without an interface, but not for a procedure of a module
    body = _receive("a", "counts") + _loop("c(i) = i")
    assert _refused(_optimised(tmp_path, body, "  integer :: counts(2)")) == ["ASP023"]


@pytest.mark.parametrize(
    ("declared", "actual", "read"),
    [
        ("integer, pointer :: seen(:,:)", "seen(1,1)", "seen(MPI_TAG,1)"),
        ("integer :: seen(2)", "seen", "seen(1)"),
    ],
)
def test_a_status_that_is_no_array_of_its_size_keeps_the_call(
    tmp_path: Path, declared: str, actual: str, read: str
) -> None:
    body = _receive("a").replace("status", actual) + _loop("c(i) = i") + f"  c(1) = {read}"
    assert _refused(_optimised(tmp_path, body, f"  {declared}")) == ["ASP023"]


@pytest.mark.parametrize("binding", ["mpi", "mpi_f08"])
def test_a_function_for_an_argument_is_called_once(tmp_path: Path, binding: str) -> None:
    # the wait has the buffer for an argument too, and a result of a function has no component
    call = _receive("a(next())", "1")
    if binding == "mpi_f08":
        call = "  call MPI_Recv(a, 1, MPI_REAL8, 0, 1, world(), MPI_STATUS_IGNORE)\n"
    path = tmp_path / "exchange.f90"
    inside = "contains\ninteger function next()\n k = k + 1\n next = k\nend function next\n"
    inside += "type(MPI_Comm) function world()\n world = MPI_COMM_WORLD\nend function world\n"
    if binding == "mpi":
        inside = inside.split("type")[0]
    text = _UNIT.format(body=f"  k = 0\n{call}{_loop('c(i) = i')}{inside}", declared="")
    text = text.replace("use mpi\n", f"use {binding}\n")
    path.write_text(text)
    tree = load_tree([tmp_path])
    assert "ASP023" in _refused(optimise(tree, tree.units_of(str(path))[0]))


@pytest.mark.parametrize(
    ("declared", "before"),
    [
        ("real(8) :: f(5), g(5)\n  equivalence (f(1), g(1))", ""),
        ("real(8), target :: f(5)\n  real(8), pointer :: g(:)", "  g => f\n"),
        ("real(8) :: f(5), g(5)\n  common /both/ f, g", ""),  # the count reaches over both
    ],
)
def test_a_message_that_changes_the_condition_by_another_name(
    tmp_path: Path, declared: str, before: str
) -> None:
    call = _receive("f", "10")
    work = _loop("c(i) = i")
    line = _optimised(
        tmp_path / "line", f"{before}  if (g(1) > 0) {call.strip()}\n{work}", declared
    )
    assert _refused(line) == ["ASP023"]
    branch = f"{before}  if (g(1) > 0) then\n{call}{_loop('b(i) = f(i)')}  end if\n{work}"
    found = _optimised(tmp_path / "branch", branch, declared)
    assert "if (g(1) > 0) call asphalt_irecv" not in (found.content or b"").decode()


def test_statements_of_one_line_stay_together(tmp_path: Path) -> None:
    body = _receive("a").replace("\n", "; k = 1\n") + _loop("c(i) = k")
    assert _refused(_optimised(tmp_path, body)) == ["ASP023"]


def test_comments_between_the_lines_of_a_call_stay(tmp_path: Path) -> None:
    call = _receive("a").replace("n, ", "& ! where it goes\n    ! and how much\n    n, ")
    lines = _lines(_optimised(tmp_path, call + _loop("c(i) = i")))
    at = lines.index("! where it goes")
    assert lines[at + 1] == "! and how much"
    assert any("asphalt_irecv(" in line for line in lines[at:])


def test_a_name_that_is_only_declared_is_not_declared_again(tmp_path: Path) -> None:
    declared = "  integer :: asphalt_request_1"
    lines = _lines(_optimised(tmp_path, _receive("a") + _loop("c(i) = i"), declared))
    assert "integer :: asphalt_request_1, asphalt_request_2" in lines


@pytest.mark.parametrize(
    "wildcard",
    [
        "anyone",
        "nobody",
        *(pytest.param(w, marks=pytest.mark.wide) for w in ("MPI_ANY_SOURCE", "-1", "-(2)", "0")),
    ],
)
def test_orders_between_ranks_stay_where_a_number_means_any_source(
    tmp_path: Path, wildcard: str
) -> None:
    other = (
        "subroutine take(x, n, nobody)\n  use mpi\n  integer :: n, e, nobody\n  real(8) :: x(n)\n"
    )
    other += "  integer, parameter :: anyone = -2\n"
    other += (
        f"  call MPI_Recv(x, n, {_KIND}, {wildcard}, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)\n"
    )
    other += "end subroutine take\n"
    send = f"  call MPI_Send(b, n, {_KIND}, right, 1, comm, ierr)\n"
    body = _receive("a") + send + _loop("c(i) = i")
    lines = _lines(_optimised(tmp_path, body, take__f90=other))
    wait = next(n for n, line in enumerate(lines) if "asphalt_wait(asphalt_request_1" in line)
    start = next(n for n, line in enumerate(lines) if "send(" in line.lower())
    assert (wait < start) is (wildcard not in ("0", "nobody"))


@pytest.mark.parametrize("mode", ["Ibsend", "Isend"])
def test_a_buffered_send_is_not_started_earlier(tmp_path: Path, mode: str) -> None:
    # what has arrived may tell that an earlier message has left the buffer
    send = f"  call MPI_{mode}(b, n, {_KIND}, right, 1, comm, request, ierr)\n"
    body = _receive("a") + _loop("c(i) = i") + send + _loop("c(i) = c(i) + i") + _WAIT
    lines = _lines(_optimised(tmp_path, body))
    wait = next(n for n, line in enumerate(lines) if "asphalt_wait(asphalt_request_1" in line)
    start = next(n for n, line in enumerate(lines) if f"MPI_{mode}" in line)
    assert (wait < start) is (mode == "Ibsend")


@pytest.mark.parametrize("mode", ["Bsend", "Ssend", "Rsend", "Send"])
def test_a_blocking_send_elsewhere_leaves_waits_free(tmp_path: Path, mode: str) -> None:
    """It has no request, so that every wait is for what is seen to be started for it."""
    work = "  do i = 1, n\n    c(i) = sqrt(abs(c(i))) + i\n  end do\n"
    use = "  do i = 1, n\n    b(i) = a(i)\n  end do\n"
    send = f"  call MPI_{mode}(b, n, {_KIND}, right, 1, comm, ierr)\n"
    lines = _lines(_optimised(tmp_path, _receive("a") + work + use + send))
    wait = next(n for n, line in enumerate(lines) if line.startswith("call asphalt_wait"))
    assert lines.index("c(i) = sqrt(abs(c(i))) + i") < wait < lines.index("b(i) = a(i)")


@pytest.mark.parametrize("blocking", [True, False])
def test_buffers_that_are_components_keep_work_behind_their_wait(
    tmp_path: Path, blocking: bool
) -> None:
    declared = "  type :: edge\n    real(8) :: v(9)\n  end type edge\n  type(edge) :: p, q"
    call = _receive("p%v", "9") if blocking else _start("p%v", "9") + _WAIT
    for work in ("p%v(i) = i", "q%v(i) = p%v(i)", "q = p"):
        assert _optimised(tmp_path, call + _loop(work), declared).content is None
    assert _optimised(tmp_path, call + _loop("q%v(i) = i"), declared).content


_INTO = "  call MPI_Irecv({}, 1, MPI_LOGICAL, left, 9, comm, other, ierr)\n"


@pytest.mark.parametrize(
    ("before", "between", "is_pair"),
    [
        # a wait for a request of this unit changes its own buffer alone
        (_start("a"), _WAIT, True),
        (_INTO.format("there"), _WAIT.replace("request", "other"), True),
        # which may be what the condition asks for
        (_INTO.format("here"), _WAIT.replace("request", "other"), False),
        (_INTO.format("there").replace(" 1,", " 2,"), _WAIT.replace("request", "other"), False),
        # a request that another unit may have started has any variable as its buffer
        ("", _WAIT.replace("request", "kept"), False),
        ("", "  call change\n", False),
        ("", "  here = .not. here\n", False),
    ],
)
def test_a_start_and_its_wait_are_a_pair_under_a_condition_that_stays(
    tmp_path: Path, before: str, between: str, is_pair: bool
) -> None:
    state = "  logical :: there, here\n  integer :: kept\n  common /state/ there, here, kept\n"
    change = f"subroutine change\n{state}  here = .true.\nend subroutine change\n"
    started = f"  if (here) call MPI_Irecv(b, n, {_KIND}, left, 7, comm, type, ierr)\n"
    done = "  if (here) call MPI_Wait(type, MPI_STATUS_IGNORE, ierr)\n"
    body = before + started + between + done + _loop("c(i) = i")
    _optimised(tmp_path, body, state, change__f90=change)
    tree = load_tree([tmp_path])
    (unit, *_) = tree.units_of(str(tmp_path / "exchange.f90"))
    messages = Messages(UnitFacts(unit, Analyses(tree).of()[0]))
    calls = messages.own_calls()
    (start,) = (leaf for leaf, call in calls if "left, 7" in (leaf.body or "") and call)
    assert (messages.completion(start) is not None) is is_pair


_PACKED = """\
  if (flag) then
    do i = 1, n
      {packed}
    end do
    call MPI_Send(b, n, MPI_DOUBLE_PRECISION, right, 1, comm, ierr)
{after}  end if
"""


@pytest.mark.parametrize(
    ("packed", "condition", "after", "moves"),
    [
        ("b(i) = i", "flag", "", True),
        ("b(i) = i", "b(1) > 0", "", False),  # what is packed changes the condition
        ("call change(i)", "here", "", False),
        ("b(i) = i", "flag", "    return\n", False),
    ],
)
def test_the_wait_of_a_packed_send_leaves_its_branch(
    tmp_path: Path, packed: str, condition: str, after: str, moves: bool
) -> None:
    body = _PACKED.format(packed=packed, after=after).replace("flag", condition)
    found = _optimised(
        tmp_path, body + _loop("c(i) = i"), "  logical :: here\n  common /state/ here"
    )
    assert (found.content is not None) is moves
    if moves:
        lines = _lines(found)
        start = next(n for n, line in enumerate(lines) if "call asphalt_isend(" in line)
        wait = next(n for n, line in enumerate(lines) if "call asphalt_wait(" in line)
        assert lines[wait].startswith("if (flag) call")
        assert start < lines.index("c(i) = i") < wait


def test_waits_that_do_work_do_not_pass_each_other_for_ever(tmp_path: Path) -> None:
    branches = "".join(
        f"  if ({side} >= 0) then\n"
        f"    call MPI_Recv({buffer}, n, {_KIND}, {side}, {tag}, comm, status, ierr)\n"
        f"    do i = 1, 5\n      u(i,{tag}) = {buffer}(i)\n    end do\n  end if\n"
        for side, buffer, tag in (("left", "a", 1), ("right", "b", 2))
    )
    found = _optimised(tmp_path, branches + _loop("c(i) = i"))
    assert found.ended == "no transformation finds another step"
    assert len(found.transfers) == 2
    lines = _lines(found)
    waits = [n for n, line in enumerate(lines) if "call asphalt_wait(" in line]
    assert lines.index("c(i) = i") < min(waits)


_SIZED = """\
program main
  use mpi
  implicit none
  integer, parameter :: m = {value}
  real(8) :: v(0:m+1), left(1), right(1)
  integer :: ierr, i, other, me
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  other = 1 - me
  v = me
  call MPI_Recv(left, 1, MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  v({first}) = left(1)
  do i = 1, 1
    right(i) = v(m)
  end do
  print *, right
  call MPI_Finalize(ierr)
end program main
"""


def _sized(tmp_path: Path, value: str, first: str = "0") -> Optimised:
    path = tmp_path / "main.f90"
    path.write_text(_SIZED.format(value=value, first=first))
    tree = load_tree([tmp_path])
    return optimise(tree, tree.units_of(str(path))[0])


def test_a_size_that_a_move_needs_is_checked_by_the_compiler(tmp_path: Path) -> None:
    found = _sized(tmp_path, "3")
    lines = _lines(found)
    check = "integer(kind=merge(kind(0), -1, m > 0)), parameter :: asphalt_checked_1 = 0"
    assert check in lines
    wait = next(n for n, line in enumerate(lines) if "call asphalt_wait(" in line)
    assert lines.index("right(i) = v(m)") < wait
    (mpi, *_) = installed(OPENMPI, MPICH)
    made = (found.content or b"").decode()
    for value, code in (("3", 0), ("0", 1)):
        path = tmp_path / "made.f90"
        path.write_text(made.replace("m = 3", f"m = {value}"))
        build = [mpi.free, "-c", *map(str, RUNTIME), str(path)]
        done = subprocess.run(
            build, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        assert code == 0 or "-1 not supported" in done.stderr


@pytest.mark.parametrize(("value", "first"), [("0", "0"), ("-2", "0"), ("3", "3"), ("3", "m")])
def test_sizes_that_do_not_help_keep_the_order(tmp_path: Path, value: str, first: str) -> None:
    assert _sized(tmp_path, value, first).content is None


_SHARED_LABEL = """\
      subroutine exchange(w, v, n, left)
      include 'mpif.h'
      integer n, left
      real*8 w(n,n), v(n,n), got(1000)
      integer ierr, i, j, k, request, status(mpi_status_size)
      do 10 k = 1, 2
         call mpi_irecv(got, n, mpi_double_precision, left, 1,
     &        mpi_comm_world, request, ierr)
         do 20 j = 1, n
         do 20 i = 1, n
   20       v(i,j) = i
         call mpi_wait(request, status, ierr)
         do 10 j = 1, n
         do 10 i = 1, n
   10       w(i,j) = w(i,j)*2 + v(i,j)
      end
"""


def test_nothing_goes_behind_a_nest_that_ends_the_loop_around_it(tmp_path: Path) -> None:
    """The label that ends the nest ends the outer loop: what follows it is outside of both."""
    path = tmp_path / "exchange.f"
    path.write_text(_SHARED_LABEL)
    tree = load_tree([tmp_path])
    assert optimise(tree, tree.units_of(str(path))[0]).content is None


_CODES = """\
program codes
  use mpi
  implicit none
  integer, parameter :: n = 100
  real(8) :: a(n), b(n), c(n), d(n), e(n), t
  integer :: me, np, other, it, i, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  other = np - 1 - me
  a = me; c = 1; d = 0; t = 0
  do it = 1, 3
    t = t + ierr
    ierr = 7
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, other, 1, b, n, MPI_DOUBLE_PRECISION, other, &
                      1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(c, n, MPI_DOUBLE_PRECISION, other, 2, e, n, MPI_DOUBLE_PRECISION, other, &
                      2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      d(i) = d(i) + 0.5d0*i
    end do
    a = a + b
    c = c + e
  end do
  print '(4z17)', t, sum(a), sum(c), sum(d)
  call MPI_Finalize(ierr)
end program codes
"""


def test_one_of_several_calls_stores_the_code_that_is_read_later(tmp_path: Path) -> None:
    path = tmp_path / "codes.f90"
    path.write_text(_CODES)
    tree = load_tree([tmp_path])
    found = optimise(tree, tree.units_of(str(path))[0])
    assert len(found.transfers) == 2
    assert _lines(found).count("ierr = MPI_SUCCESS") == 1


def test_codes_that_nobody_reads_are_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "codes.f90"
    path.write_text(_CODES.replace("    t = t + ierr\n", ""))
    tree = load_tree([tmp_path])
    found = optimise(tree, tree.units_of(str(path))[0])
    assert len(found.transfers) == 2
    assert "ierr = MPI_SUCCESS" not in _lines(found)
