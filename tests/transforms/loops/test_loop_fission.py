"""Nests become two where a message has to do with some of their statements only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from asphalt.analysis.verdicts.splitting_codes import DIGITS
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.transforms.loops import loop_fission
from asphalt.transforms.loops.loop_fission import SplitNest
from support.mpi_run import MPICH, OPENMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_UNIT = """\
subroutine {name}(a, b, c, d, r, n, m, from, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, from, comm
  real(8), intent(inout) :: a(n,m), b(n,m), c(n,m), d(n,m), r(n)
  integer :: i, j, k, ierr, request
  real(8) :: t, s
{declared}
{before}{body}{behind}
end subroutine {name}
"""
_RECEIVED = """\
  call MPI_Irecv(r, n, MPI_DOUBLE_PRECISION, from, 1, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
"""
_SENT = """\
  call MPI_Isend(r, n, MPI_DOUBLE_PRECISION, from, 1, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
"""


def _loop(*statements: str, head: str = "do i = 1, n") -> str:
    return f"  {head}\n" + "".join(f"    {s}\n" for s in statements) + "  end do\n"


def _nest(*statements: str) -> str:
    return (
        "  do j = 1, m\n    do i = 1, n\n"
        + "".join(f"      {s}\n" for s in statements)
        + "    end do\n  end do\n"
    )


_USES = "a(i,1) = a(i,1) + r(n+1-i)"
_FREE = "b(i,1) = sqrt(c(i,1))"

SPLIT: dict[str, tuple[str, list[str]]] = {
    # of each nest, what stands in it
    "one loop": (_loop(_USES, _FREE), [_FREE, _USES]),
    "the free one first": (_loop(_FREE, _USES), [_FREE, _USES]),
    "two loops": (
        _nest("a(i,j) = a(i,j) + r(i)", "b(i,j) = 2*c(i,j)"),
        ["b(i,j) = 2*c(i,j)", "a(i,j) = a(i,j) + r(i)"],
    ),
    "a loop beside a statement": (
        "  do j = 1, m\n    a(1,j) = r(1)\n    do i = 1, n\n      b(i,j) = 2*c(i,j)\n"
        "    end do\n  end do\n",
        ["b(i,j) = 2*c(i,j)", "a(1,j) = r(1)"],
    ),
    "what it needs comes with it": (
        _loop("c(i,1) = d(i,1)", _USES, "b(i,1) = c(i,1)"),
        ["c(i,1) = d(i,1); b(i,1) = c(i,1)", _USES],
    ),
    "of an earlier iteration": (
        _loop("b(i,1) = b(i-1,1) + 1", "a(i,1) = r(i) + b(i-1,1)", head="do i = 2, n"),
        ["b(i,1) = b(i-1,1) + 1", "a(i,1) = r(i) + b(i-1,1)"],
    ),
    "a temporary of each": (
        _loop("t = r(i)", "a(i,1) = t*t", "t = c(i,1)", "b(i,1) = t*t"),
        ["t = c(i,1); b(i,1) = t*t", "t = r(i); a(i,1) = t*t"],
    ),
    "a sum of its own": (
        _loop(_USES, "d(1,1) = d(1,1) + c(i,1)"),
        ["d(1,1) = d(1,1) + c(i,1)", _USES],
    ),
    "under a condition": (
        "  if (n > m) then\n" + _loop(_USES, _FREE) + "  end if\n",
        [_FREE, _USES],
    ),
    "labels": (
        "  do 10 j = 1, m\n  do 10 i = 1, n\n    a(i,j) = r(i)\n    b(i,j) = 2*c(i,j)\n"
        "10 continue\n",
        ["b(i,j) = 2*c(i,j)", "a(i,j) = r(i)"],
    ),
}  # fmt: skip

WHOLE: dict[str, str] = {
    "it needs what the other computes": _loop(_USES, "b(i,1) = a(i,1)"),
    "a later iteration needs it": _loop("a(i,1) = r(i)", "b(i,1) = a(max(i-1,1),1)"),
    "it changes what the other reads later": _loop("a(i,1) = r(i) + b(min(i+1,n),1)", _FREE),
    "it changes what the other read": _loop("a(i,1) = r(i) + c(i,1)", "c(i,1) = 3"),
    "both store to one element": _loop("a(i,1) = r(i)", "a(max(i-1,1),1) = 2"),
    "a temporary of both": _loop("t = r(i)", "a(i,1) = t", "b(i,1) = t + 1"),
    "a temporary that is read behind": _loop("t = r(i)", "a(i,1) = t", "t = c(i,1)")
    + "  a(1,1) = t\n",
    "a temporary that is set sometimes": _loop(
        "t = r(i)", "a(i,1) = t", "if (c(i,1) > 0) t = c(i,1)", "b(i,1) = t"
    ),
    "one sum of both": "  s = 0\n"
    + _loop("s = s + r(i)", "s = s + c(i,1)")
    + "  a(1,1) = s\n",
    "CYCLE": _loop(_USES, "if (c(i,1) < 0) cycle", _FREE),
    "EXIT": _loop(_USES, "if (c(i,1) < 0) exit", _FREE),
    "output": _loop(_USES, "print *, c(i,1)"),
    "a procedure that is not given": _loop(_USES, "call trace(b(i,1))"),
    "a label that is jumped to": "  do i = 1, n\n    if (c(i,1) > 0) go to 5\n    a(i,1) = r(i)\n"
    "5   b(i,1) = 2\n  end do\n",
    "steps": _loop(_USES, _FREE, head="do i = 1, n, 2"),
    "everything is free": _loop("a(i,1) = 1", _FREE),
    "nothing is free": _loop(_USES, "b(i,1) = r(i)"),
    "bounds that one of them changes": "  k = n\n  do j = 1, m\n    do i = 1, k\n"
    "      b(i,j) = 2*c(i,j)\n    end do\n    k = int(r(1))\n  end do\n",
    "a variable of two loops that is read behind": "  do j = 1, m\n    do i = 1, n\n"
    "      a(i,j) = r(i)\n    end do\n    do i = 1, m\n      b(1,j) = b(1,j) + c(1,i)\n"
    "    end do\n  end do\n  a(1,1) = i\n",
    "a variable that is asked for outside of its loop": "  do j = 1, m\n    do i = 1, n\n"
    "      a(i,j) = r(i)\n    end do\n    b(1,j) = i\n  end do\n",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What is found in each procedure of one file, and its text behind the first step."""

    found: dict[str, list[SplitNest | Refused]]
    text: str

    def nests(self, name: str) -> list[str]:
        """The assignments of each nest of a procedure, in their order."""
        text = self.text.split(f"subroutine {name}(")[1].split("end subroutine")[0]
        found: list[list[str]] = []
        depth = 0
        for line in (line.strip() for line in text.splitlines()):
            if line.startswith("do "):
                depth += 1
                if depth == 1:
                    found.append([])
            elif line.startswith("end do"):
                depth -= 1
            elif depth and not line.startswith("10 "):
                found[-1].append(line)
            elif line.startswith("10 "):
                depth = 0
        return ["; ".join(one) for one in found]


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """All cases behind a receive as the procedures of one file."""
    cases = {f"s{n}": body for n, (body, _) in enumerate(SPLIT.values())}
    cases |= {f"w{n}": body for n, body in enumerate(WHOLE.values())}
    text = "\n".join(
        _UNIT.format(name=name, body=body, declared="", before=_RECEIVED, behind="")
        for name, body in cases.items()
    )
    tree = Stepped.of(tmp_path_factory.mktemp("units"), {"units.f90": text})
    found: dict[str, list[SplitNest | Refused]] = {name: [] for name in cases}
    while True:
        steps = [
            (facts, step)
            for facts, step in tree.found(loop_fission)
            if not found[facts.unit.name] and isinstance(step, SplitNest | Refused)
        ]
        if not steps:
            return Found(found, tree.text("units.f90"))
        facts, step = steps[0]
        found[facts.unit.name].append(step)
        if isinstance(step, SplitNest):
            tree.apply(loop_fission, facts, step)


@pytest.mark.parametrize("number", range(len(SPLIT)), ids=SPLIT)
def test_a_nest_becomes_two(units: Found, number: int) -> None:
    """What meets no message comes first, with all that it needs."""
    nests = [*SPLIT.values()][number][1]
    assert isinstance(units.found[f"s{number}"][0], SplitNest)
    assert units.nests(f"s{number}") == nests


@pytest.mark.parametrize("number", range(len(WHOLE)), ids=WHOLE)
def test_a_nest_stays_whole(units: Found, number: int) -> None:
    """The order of what depends on each other is kept, or nothing would be gained."""
    assert units.found[f"w{number}"] == []


def test_what_no_message_needs_goes_behind_a_send(tmp_path: Path) -> None:
    """The nest that fills the buffer comes first."""
    body = _loop(_FREE, "r(n+1-i) = 2*c(i,1)", "d(i,1) = b(i,1)")
    text = _UNIT.format(name="unit", body=body, declared="", before="", behind=_SENT)
    tree = Stepped.of(tmp_path, {"unit.f90": text})
    assert tree.applied(loop_fission) == 1
    nests = Found({}, tree.text("unit.f90")).nests("unit")
    assert nests == ["r(n+1-i) = 2*c(i,1)", f"{_FREE}; d(i,1) = b(i,1)"]


def test_comments_are_written_once(tmp_path: Path) -> None:
    """Those of the loop stay at the first nest, those of statements at these."""
    body = (
        "  ! the loop\n  do i = 1, n ! over points\n    ! what has come\n"
        f"    {_USES} ! done\n    ! beside\n    {_FREE}\n  end do ! of points\n"
    )
    text = _UNIT.format(name="unit", body=body, declared="", before=_RECEIVED, behind="")
    tree = Stepped.of(tmp_path, {"unit.f90": text})
    assert tree.applied(loop_fission) == 1
    assert (
        tree.text("unit.f90").split("STATUS_IGNORE, ierr)\n")[1]
        == f"""\
  ! the loop
  ! asphalt: the statements of the nest that meet nothing under way
  do i = 1, n ! over points
    ! beside
    {_FREE}
  end do ! of points
  do i = 1, n
    ! what has come
    {_USES} ! done
  end do

end subroutine unit
"""
    )


@pytest.mark.parametrize(
    ("statements", "whole"),
    [
        ((_USES, "b(i,1) = sin(c(i,1))"), True),
        (("a(i,1) = cos(r(i))", _FREE), True),
        ((_USES, "b(i,1) = c(i,1)**2"), False),
    ],
)
def test_functions_that_compilers_vectorise_keep_a_loop_whole(
    tmp_path: Path, statements: tuple[str, ...], whole: bool
) -> None:
    """A loop with other statements may be vectorised otherwise, and change last digits."""
    text = _UNIT.format(
        name="unit", body=_loop(*statements), declared="", before=_RECEIVED, behind=""
    )
    (found,) = Stepped.of(tmp_path, {"unit.f90": text}).found(loop_fission)
    if whole:
        assert isinstance(found[1], Refused)
        assert found[1].code is DIGITS
    else:
        assert isinstance(found[1], SplitNest)


def test_functions_beside_a_loop_are_in_no_innermost_one(tmp_path: Path) -> None:
    """Without that loop they would be."""
    inner = "    do i = 1, n\n      {}\n    end do\n"
    apart = (
        "  do j = 1, m\n    b(1,j) = exp(c(1,j))\n" + inner.format("a(i,j) = r(i)") + "  end do\n"
    )
    beside = (
        "  do j = 1, m\n    b(1,j) = exp(c(1,j))\n"
        + inner.format("b(i,j) = b(1,j) + c(i,j)")
        + inner.format("a(i,j) = r(i)")
        + "  end do\n"
    )
    kinds = []
    for name, body in (("apart", apart), ("beside", beside)):
        text = _UNIT.format(name="unit", body=body, declared="", before=_RECEIVED, behind="")
        (found,) = Stepped.of(tmp_path / name, {"unit.f90": text}).found(loop_fission)
        kinds.append(type(found[1]))
    assert kinds == [Refused, SplitNest]


_PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 4000
  real(8) :: s(n), r(n), a(n), b(n), c(n), d(n), t
  integer :: i, me, np, ierr, step
  integer(8) :: hash
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do i = 1, n
    c(i) = 1 + mod(7*i + me, 13)
    a(i) = 0
    b(i) = i
    d(i) = 1
  end do
  do step = 1, 3
    do i = 1, n
      t = c(i)*step + d(i)
      s(n+1-i) = t/3
      b(i) = sqrt(b(i) + c(i))
    end do
    call MPI_Sendrecv(s, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, r, n, &
                      MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    do i = 2, n
      d(i) = d(i-1)/2 + sqrt(b(i))
      a(i) = a(i) + r(n+1-i)*d(i-1)
    end do
  end do
  hash = 1
  do i = 1, n
    hash = ieor(ishftc(hash, 7), transfer(a(i) + b(i) + c(i) + d(i) + r(i), hash))
  end do
  print '(i2,z17)', me, hash
  call MPI_Finalize(ierr)
end program main
"""


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
def test_the_results_are_the_same(tmp_path: Path, mpi: Mpi) -> None:
    """Nests on both sides of an exchange become two each, and what they compute stays."""
    path = tmp_path / "main.f90"
    path.write_text(_PROGRAM)
    tree = load_tree([path])
    found = optimise(tree, tree.units_of(str(path))[0])
    assert sum(step.does.startswith("the nest") for step in found.steps) == 2
    assert same_lines(mpi, tmp_path, _PROGRAM, found.content)
