"""Programs that would give other digits, hang or not compile if a rule were left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.frontend.tree import load_tree
from asphalt.optimise import Optimised, optimise

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


@pytest.mark.parametrize("tag", ["MPI_ANY_TAG", "2"])
def test_sends_keep_their_order_where_a_receive_takes_any_tag(tmp_path: Path, tag: str) -> None:
    other = "subroutine take(x, n)\n  use mpi\n  integer :: n, e\n  real(8) :: x(n)\n"
    other += f"  call MPI_Recv(x, n, {_KIND}, 0, {tag}, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)\n"
    other += "end subroutine take\n"
    body = _loop("c(i) = i") + _loop("b(i) = b(i) + 1") + _SENDS
    found = _optimised(tmp_path, body, take__f90=other)
    assert (found.content is None) is (tag == "MPI_ANY_TAG")


@pytest.mark.parametrize("mode", ["Rsend", "Send"])
def test_a_receive_stays_before_what_tells_a_ready_send(tmp_path: Path, mode: str) -> None:
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
    assert _refused(_optimised(tmp_path, body, first__inc="c = 0\n")) == ["ASP023"]
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
