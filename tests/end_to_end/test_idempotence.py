"""Applied to its own output, asphalt changes nothing: the optimiser ends where it finds no step."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import PASSES, TRANSFERS, Pass
from asphalt.optimiser.outcome import FIXPOINT
from asphalt.running.mpi import OPENMPI
from bench.lab.build import Recipe, sources_of
from bench.lab.case import Case, load_cases
from fuzz.batch import _MAIN, SUPPORT
from fuzz.transfers import KINDS
from support.code_examples import ACCEPTED, OF_STEPS
from support.idempotence import stays

QUICK = frozenset({"alltoalls", "exchanges", "shifts"})
"""The kinds of procedures of which the quick suite transforms one."""
CHEAP = frozenset({"fft_inplace", "fixed_legacy", "plane_slab", "uneven_slabs"})
"""The kernels that the quick suite transforms."""
KERNELS = tuple(
    pytest.param(case, marks=() if case.name in CHEAP else pytest.mark.wide)
    for case in load_cases()
)
EXAMPLES = tuple(
    pytest.param(path, marks=() if path in OF_STEPS else pytest.mark.wide, id=path.stem)
    for path in ACCEPTED
)


_PROGRAM = """\
{module}program work
  use mpi
{use}  implicit none
  integer, parameter :: n = 2000, m = 500
  integer :: ierr, me, np, i, j
  real(8) :: s(n,m), r(n,m), w(n,m)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
{body}
  print *, me, sum(w)
  call MPI_Finalize(ierr)
end program work
"""
_NEST = """\
do j = 1, m
  do i = 1, n
    {}
  end do
end do
"""


def _program(body: str, module: str = "", use: str = "") -> dict[str, bytes]:
    return {"work.f90": _PROGRAM.format(body=body, module=module, use=use).encode()}


def _nest(text: str) -> str:
    return _NEST.format(text)


_SEND = "call MPI_Send(s, n*m, MPI_DOUBLE_PRECISION, 1, 7, MPI_COMM_WORLD, ierr)\n"
_RECEIVE = (
    "call MPI_Recv(r, n*m, MPI_DOUBLE_PRECISION, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)\n"
)


def test_a_send_from_a_copy_lets_the_other_arm_begin_earlier(tmp_path: Path) -> None:
    """The copy hides the message behind what fills the buffer again."""
    body = (
        _nest("w(i,j) = me + i*j")
        + "if (me == 0) then\n"
        + _nest("s(i,j) = sqrt(w(i,j)) + exp(-w(i,j))")
        + _SEND
        + _nest("s(i,j) = w(i,j) + exp(-s(i,j))")
        + "else if (me == 1) then\n"
        + _RECEIVE
        + _nest("w(i,j) = w(i,j) + sqrt(r(i,j))")
        + "end if\n"
    )
    in_one_piece = tuple(name for name in TRANSFERS if name != Pass.PIPELINING)
    found = stays(tmp_path, _program(body), in_one_piece)
    (change,) = found.changes
    assert {site.operation for site in change.sites} == {"MPI_Send", "MPI_Recv"}
    (procedure,) = found.procedures
    assert procedure.ended == FIXPOINT
    assert [step.does for step in procedure.steps] == [
        "MPI_Send of line 21 leaves from a copy",
        "MPI_Recv of line 28 becomes a start and a wait",
        "the branch of line 15 is split behind the start of a transfer",
        "the start of line 15 goes before line 10",
    ]


_SHARED = """\
s = me
w = 1
i = 3
call MPI_Sendrecv(s(1,1), n, MPI_DOUBLE_PRECISION, modulo(me+i, np), 1, &
                  r(1,i), n, MPI_DOUBLE_PRECISION, modulo(me-i, np), 1, &
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
i = 4
call MPI_Sendrecv(s(1,2), n, MPI_DOUBLE_PRECISION, modulo(me+i, np), 2, &
                  r(1,i), n, MPI_DOUBLE_PRECISION, modulo(me-i, np), 2, &
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
do k = 1, m
  do j = 1, n
    w(j,k) = w(j,k)*0.5d0 + 1
  end do
end do
"""


def test_waits_go_behind_the_parts_of_a_nest(tmp_path: Path) -> None:
    text = _program(_SHARED)["work.f90"].replace(b":: ierr,", b":: k, ierr,")
    (change,) = stays(tmp_path, {"work.f90": text}).changes
    lines = [line.strip() for line in change.after.decode().splitlines()]
    part = lines.index("! asphalt: the nest goes on, beside the next transfer")
    waits = [line for line in lines[part:] if line.startswith("call asphalt_wait")]
    assert len(waits) == 1  # for both sends, and the second receive
    assert waits[0].startswith("call asphalt_wait_all(3, ")


_MODULE = """\
module exchanges
contains
  subroutine exchange(g, n, me, np)
    use mpi
    integer, intent(in) :: n, me, np
    real(8), intent(inout) :: g(n,0:3)
    integer :: ierr
    real(8) :: line(n), got(n)
    line = g(:,1)
    call MPI_Sendrecv(line, n, MPI_DOUBLE_PRECISION, modulo(me+1, np), 1, &
                      got, n, MPI_DOUBLE_PRECISION, modulo(me-1, np), 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      g(i,0) = got(i)
    end do
  end subroutine exchange
end module exchanges
"""


def test_what_was_inlined_is_left_alone(tmp_path: Path) -> None:
    body = "r = me\nw = 1\ncall exchange(r, n, me, np)\n" + _nest("w(i,j) = sqrt(w(i,j)) + 1")
    found = stays(tmp_path, _program(body, _MODULE, "  use exchanges\n"))
    (change,) = found.changes
    assert b"! asphalt: exchange of work.f90 stands here" in change.after
    assert change.after.count(b"call MPI_Sendrecv(line") == 1  # in the module, as it was


@pytest.mark.parametrize("case", KERNELS, ids=lambda case: case.name)
def test_a_kernel(case: Case, tmp_path: Path) -> None:
    stays(tmp_path, sources_of(Recipe(case, "original", OPENMPI)))


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example(path: Path, tmp_path: Path) -> None:
    stays(tmp_path, {path.name: path.read_bytes()}, PASSES)


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        pytest.param(kind, numbers, marks=() if quick else pytest.mark.wide)
        for kind in KINDS
        for numbers in ((0,), range(1, 13))
        for quick in [numbers == (0,) and kind in QUICK]
    ],
)
def test_random_procedures(kind: str, numbers: tuple[int, ...], tmp_path: Path) -> None:
    for number in numbers:
        file, text = KINDS[kind](7, number)
        caller = _MAIN.format(calls=f"  ierr = 0; call {Path(file).stem}\n").encode()
        files = {file: text.encode(), f"calls_{Path(file).stem}.f90": caller}
        # messages are cut where all of the program is seen
        if kind in ("alltoalls", "shifts", "waves"):
            files[SUPPORT.name] = SUPPORT.read_bytes()
        passes = PASSES if kind == "alltoalls" else TRANSFERS
        stays(tmp_path / str(number), files, passes)
