"""Short statements go before a wait where the nest behind them needs what they define."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.ir.tree import Do, Leaf
from asphalt.transforms.loops import splitting
from asphalt.transforms.motion import code_motion
from asphalt.transforms.motion.hoisting import Run, hoistable
from support.mpi_run import MPICH, OPENMPI, Mpi, installed
from support.stepping import Stepped

PROGRAM = """\
program smooth
  use mpi
  implicit none
  integer, parameter :: n = 50
  integer :: i, k, me, np, ierr, request, first
  real(8) :: u(0:n), v(n), w(n), c, d
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  u = me + 1
  w = [(0.1d0*i + me, i = 1, n)]
  c = 3
  d = 4
  first = 2
  do k = 1, 3
    call MPI_Irecv(u(0), 1, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, MPI_COMM_WORLD, request, &
                   ierr)
    call MPI_Send(u(n), 1, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    u(1) = u(1) + u(0)
{between}
    do i = first, n
      v(i) = {value}
    end do
    u(n) = u(n) + v(n)*d
  end do
  print '(i0, 3z17)', me, sum(u), sum(v(2:)), c
  call MPI_Finalize(ierr)
end program smooth
"""


def _tree(folder: Path, between: str, value: str = "c*w(i)") -> Stepped:
    text = PROGRAM.format(between=between, value=value)
    return Stepped.of(folder, {"smooth.f90": text})


def _in_order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


@pytest.mark.parametrize(
    ("between", "value"),
    [
        ("    c = 0.5d0*k", "c*w(i)"),
        ("    c = 0.5d0*k\n    d = c + 1", "d*w(i)"),
        ("    if (k > 1) then\n      c = 0.5d0*k\n    else\n      c = 2\n    end if", "c*w(i)"),
        ("    u(2) = u(0)\n    c = 0.5d0*k", "c*w(i)"),
        ("    first = k", "w(i)*k"),
    ],
    ids=["one", "two", "branch", "beside-another", "bound"],
)
@pytest.mark.parametrize("mpi", installed(MPICH, OPENMPI), ids=lambda mpi: mpi.name)
def test_both_go_before_the_wait(between: str, value: str, mpi: Mpi, tmp_path: Path) -> None:
    given, tree = (_tree(tmp_path / name, between, value) for name in ("given", "moved"))
    assert tree.applied(code_motion) > 1
    last = between.splitlines()[-1].strip()
    text = tree.text("smooth.f90").partition("do k = 1, 3")[2]
    assert _in_order(text, "MPI_Irecv", last, "do i = first, n", "MPI_Wait", "u(1) = u(1)")
    results = [
        one.result(mpi, tmp_path / folder, ["smooth.f90"], 3)
        for folder, one in (("one", given), ("two", tree))
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "between",
    [
        "    c = u(0)",
        "    print *, c\n    c = 0.5d0*k",
        "    call unseen(c)",
        "    c = u(1)",
        "    w(3) = u(0)\n    c = 0.5d0*k",
        "    d = u(0)\n    c = d",
    ],
    ids=["received", "printed", "unseen", "from-received", "other-operand", "through-another"],
)
def test_the_nest_stays(between: str, tmp_path: Path) -> None:
    tree = _tree(tmp_path, between)
    tree.applied(code_motion)
    text = tree.text("smooth.f90").partition("do k = 1, 3")[2]
    assert _in_order(text, "MPI_Wait", "do i = first, n")


def test_a_bound_that_goes_before_the_wait_is_not_what_it_was(tmp_path: Path) -> None:
    """Which iterations need the message follows from the new bound."""
    text = PROGRAM.format(between="    first = 1", value="u(i-1)")
    text = text.replace("u(1) = u(1) + u(0)", "d = u(8)").replace("u(0), 1", "u(8), 1")
    text = text.replace("  do k = 1, 3\n", "  do k = 1, 3\n    first = 9\n")
    tree = Stepped.of(tmp_path, {"smooth.f90": text})
    tree.applied(splitting, code_motion)
    text = tree.text("smooth.f90").partition("do k = 1, 3")[2]
    assert _in_order(text, "MPI_Wait", "do i = first, n")


def test_a_run_that_grows_is_as_one_that_is_given_whole(tmp_path: Path) -> None:
    between = "    c = 0.5d0*k\n    d = c + u(1)\n    first = 2\n    c = c + 1\n    w(1) = w(2)"
    facts = next(one for one in _tree(tmp_path, between).facts() if one.unit.kind == "program")
    loop = next(node for node in facts.unit.body if isinstance(node, Do) and len(node.body) > 2)
    wait = next(
        n
        for n, node in enumerate(loop.body)
        if isinstance(node, Leaf) and "MPI_Wait" in (node.body or "")
    )
    run = Run(loop.body[wait : wait + 1], facts)
    for end in range(wait + 1, len(loop.body)):
        node = loop.body[end]
        assert run.needed(node) == Run(loop.body[wait:end], facts).needed(node)
        assert run.hoistable() == hoistable(loop.body[wait:end], facts)
        run.nodes.append(node)
    assert run.hoistable()
    assert not run.may_go(0)
