"""Nests behind a wait are split into interior and edges, only where every iteration is free."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.verdicts.splitting_codes import CODES, DIGITS, LONG, ORDER, SHAPE, STATEMENT
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.diagnostics.examples import examples_of
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.transforms.loops import splitting
from asphalt.transforms.loops.index_set_splitting import DividedNest
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.rewriting.step import Found
from support.halo_nests import Program, once, program, split_and_moved
from support.mpi_run import MPICH, OPENMPI, Mpi, build, installed, run
from support.stepping import Stepped

_UNIT = """\
subroutine {name}(u, after, left, n, m, k, below, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, k, below, comm
  real(8), intent(inout) :: u(0:n+1,0:m+1), after(n,m), left(m)
  integer :: i, j, ierr, request
  real(8) :: s, t
{declared}
  call MPI_Irecv(u(1,0), n, MPI_DOUBLE_PRECISION, below, 1, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
{body}
end subroutine {name}
"""
_FIVE = "after(i,j) = u(i,j) + u(i-1,j) + u(i+1,j) + u(i,j-1) + u(i,j+1)"
_COLUMN = "  do j = 1, m\n    u(0,j) = left(j)\n  end do\n"


def _nest(*statements: str, rows: str = "1, m", columns: str = "1, n") -> str:
    inside = "".join(f"      {statement}\n" for statement in statements)
    return f"  do j = {rows}\n    do i = {columns}\n{inside}    end do\n  end do\n"


REFUSED: dict[str, tuple[Code, str, str]] = {
    "carried": (ORDER, _nest("u(i,j) = 0.5d0*(u(i,j) + u(i,j-1))"), ""),
    "anti": (ORDER, _nest("after(i,j) = u(i,j-1)", "u(i,j) = u(i,j+1)"), ""),
    "output": (ORDER, _nest("after(i,1) = u(i,j-1)"), ""),
    "sum": (ORDER, _nest("s = s + u(i,j-1)"), ""),
    "element_sum": (ORDER, _nest("after(1,1) = after(1,1) + u(i,j-1)"), ""),
    "lives_on": (ORDER, _nest("t = u(i,j-1)", "after(i,j) = t") + "  after(1,1) = t\n", ""),
    "from_before": (ORDER, _nest("after(i,j) = t + u(i,j-1)", "t = i"), ""),
    "sometimes": (ORDER, _nest("if (u(i,j-1) > 0) t = i", "after(i,j) = t"), ""),
    "saved": (ORDER, _nest("t = u(i,j-1)", "after(i,j) = t"), "  save :: t"),
    "variable": (ORDER, _nest(_FIVE) + "  after(1,1) = i\n", ""),
    "row": (ORDER, _nest("row(i) = row(i) + u(i,j-1)", "after(i,j) = row(i)"),
            "  real(8) :: row(n)"),
    "call": (STATEMENT, _nest("call trace(u(i,j-1))"), ""),
    "function": (STATEMENT, _nest("after(i,j) = trace(u(i,j-1))"),
                 "  real(8), external :: trace"),
    "exit": (STATEMENT, _nest("if (u(i,j-1) < 0) exit", "after(i,j) = 1"), ""),
    "return": (STATEMENT, _nest("if (u(i,j-1) < 0) return", "after(i,j) = 1"), ""),
    "stop": (STATEMENT, _nest("if (u(i,j-1) < 0) stop", "after(i,j) = 1"), ""),
    "print": (STATEMENT, _nest("after(i,j) = u(i,j-1)", "print *, i"), ""),
    "name": (STATEMENT, "  outer: do j = 1, m\n    after(1,j) = u(1,j-1)\n  end do outer\n", ""),
    "label": (STATEMENT, "  do 10 j = 1, m\n10  after(1,j) = u(1,j-1)\n", ""),
    "jump": (STATEMENT, "  do 10 j = 1, m\n    if (u(1,j-1) < 0) go to 10\n"
             "    after(1,j) = u(1,j-1)\n10 continue\n", ""),
    "volatile": (STATEMENT, _nest("after(i,j) = u(i,j-1)", "v = i"), "  real(8), volatile :: v"),
    "allocation": (STATEMENT, _nest("allocate(q(n))", "after(i,j) = u(i,j-1)", "deallocate(q)"),
                   "  real(8), allocatable :: q(:)"),
    "pointer": (SHAPE, _nest("after(i,j) = p(i,j-1)"),
                "  real(8), pointer :: p(:,:)\n  target :: u\n  p => u"),
    "overlaid": (SHAPE, "  f(2) = u(1,0)\n" + _nest("after(i,j) = u(i,j) + g(1)"),
                 "  real(8) :: f(4), g(4)\n  equivalence (f(2), g(1))"),
    "index": (SHAPE, _nest("after(i,j) = u(i,rows(j))"), "  integer :: rows(m)"),
    "middle": (SHAPE, _nest("after(i,j) = u(i,j-k)"), ""),
    "everywhere": (SHAPE, _nest("after(i,j) = u(i,j) + u(i,0)"), ""),
    "diagonal": (SHAPE, _nest("after(i,j) = u(i,i-j)"), ""),
    "nothing_left": (SHAPE, "  do j = 1, 5\n    u(j,0) = 0\n  end do\n", ""),
    "writes_it": (SHAPE, _nest("u(i,0) = 0"), ""),
    "triangle": (SHAPE, _COLUMN + _nest("after(i,j) = u(i-1,j)", columns="1, j"), ""),
    "new_bound": (SHAPE, "  last = ierr\n" + _nest(_FIVE, rows="1, last"), "  integer :: last"),
    "long_bound": (SHAPE, _nest(_FIVE, rows="1, last").replace("do j", "do jj"),
                   "  integer(8) :: jj\n  integer(8), parameter :: last = 9"),
    "max": (SHAPE, _nest(_FIVE), "  real(8) :: max(3)"),
    "bounds": (SHAPE, "  call MPI_Irecv(w(1,0), n, MPI_DOUBLE_PRECISION, below, 2, comm, &\n"
               "    request, ierr)\n  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"
               + _nest("after(i,j) = w(i,j-1)"),
               "  real(8), allocatable :: w(:,:)\n  allocate (w(0:n,0:m))\n  deallocate (w)\n"
               "  allocate (w(0:n+1,0:m))"),
    "digits": (DIGITS, _COLUMN + _nest("after(i,j) = sin(u(i-1,j)) + u(i,j-1)"), ""),
    "power": (DIGITS, _COLUMN + _nest("after(i,j) = u(i-1,j)**3"), ""),
    "long": (LONG, _nest(_FIVE, *["after(i,j) = after(i,j) + 1"]*40), ""),
}  # fmt: skip

SPLIT: dict[str, tuple[str, str, list[str]]] = {
    "first_row": (_nest(_FIVE), "", ["do j = 2, m", "do j = 1, min(1, m)"]),
    "column": (
        _COLUMN + _nest("after(i,j) = u(i-1,j)"),
        "",
        ["do i = 2, n", "do i = 1, min(1, n)"],
    ),
    "both": (
        _COLUMN + _nest(_FIVE),
        "",
        ["do j = 2, m", "do i = 2, n", "do j = 1, min(1, m)", "do j = 2, m",
         "do i = 1, min(1, n)"],
    ),
    "labels": (
        "  do 10 j = 1, m\n    do 20 i = 1, n\n      after(i,j) = u(i,j-1)\n"
        "20  continue\n10 continue\n",
        "",
        ["do 10 j = 2, m", "do j = 1, min(1, m)"],
    ),
    "label_of_both": (
        "  do 10 j = 1, m\n  do 10 i = 1, n\n    after(i,j) = u(i,j-1)\n10 continue\n",
        "",
        ["do 10 j = 2, m", "do j = 1, min(1, m)"],
    ),
    "two_rows": (_nest("after(i,j) = u(i,max(0,j-2))"), "", ["do j = 3, m", "do j = 1, min(2, m)"]),
    "last_row": (
        _nest("after(i,j) = u(i,m-j)"),
        "",
        ["do j = 1, m - 1", "do j = max(m, 1), m"],
    ),
    "first_and_last": (
        _nest("after(i,j) = u(i,j-1) + u(i,m-j)"),
        "",
        ["do j = 2, m - 1", "do j = 1, m, max(1, m - 1)"],
    ),
    "temporary": (_nest("t = u(i,j-1)", "after(i,j) = t*t"), "", ["do j = 2, m"]),
    "row_of_temporaries": (
        "  do j = 1, m\n    do i = 1, n\n      row(i) = u(i,j-1)\n    end do\n"
        "    do i = 1, n\n      after(i,j) = row(i)**2\n    end do\n  end do\n",
        "  real(8) :: row(n)",
        ["do j = 2, m", "do j = 1, min(1, m)"],
    ),
    "cycle": (_nest("if (u(i,j) < 0) cycle", _FIVE), "", ["do j = 2, m"]),
    "only_the_inner_loop": (
        _COLUMN + _nest("u(i,j) = u(i,j) + u(i,j+1) + u(0,1)*0", "after(i,j) = u(i-1,j)").replace(
            "u(i,j) = u(i,j) + u(i,j+1) + u(0,1)*0", "t = u(i-1,j)"),
        "",
        ["do i = 2, n", "do i = 1, min(1, n)"],
    ),
    "sine_in_whole_rows": (_nest("after(i,j) = sin(u(i,j-1))"), "", ["do j = 2, m"]),
    "square": (_COLUMN + _nest("after(i,j) = sqrt(u(i-1,j)**2)"), "", ["do i = 2, n"]),
    "triangle": (_nest("after(i,j) = u(i,j-1)", columns="1, j"), "", ["do j = 2, m"]),
    "other_bounds": (
        _nest(_FIVE, rows="max(1, k), min(m, k+9)"),
        "",
        ["do j = max(1, k) + 1, min(m, k + 9)"],
    ),
    "constant_bounds": (_nest(_FIVE, rows="1, 9"), "", ["do j = 2, 9", "do j = 1, 1"]),
}  # fmt: skip


NOTHING = {
    # all of it can be moved
    "free": _nest("after(i,j) = u(i,j)"),
    # other iterations than those of one step after the other
    "strided": _nest(_FIVE, rows="1, m, 2"),
    "downwards": _nest(_FIVE, rows="m, 1, -1"),
    # an edge already
    "edge": _nest(_FIVE, rows="1, min(1, m)"),
    "while": "  j = 1\n  do while (u(1,j-1) > 0)\n    j = j + 1\n  end do\n",
    "no_loop": "  after(1,1) = u(1,0)\n",
}


@dataclass(frozen=True)
class Units:
    """What is found in each procedure of one file, and its text when all nests are split once."""

    found: dict[str, list[DividedNest | Refused]]
    text: str

    def loops(self, name: str) -> list[str]:
        """The heads of the loops of a procedure."""
        text = self.text.split(f"subroutine {name}(")[1].split("end subroutine")[0]
        return [line.strip() for line in text.splitlines() if line.strip().startswith("do ")]


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Units:
    """All cases as the procedures of one file."""
    cases = {f"r_{name}": (body, declared) for name, (_, body, declared) in REFUSED.items()}
    cases |= {f"s_{name}": (body, declared) for name, (body, declared, _) in SPLIT.items()}
    cases |= {f"n_{name}": (body, "") for name, body in NOTHING.items()}
    text = "\n".join(
        _UNIT.format(name=name, body=body, declared=declared)
        for name, (body, declared) in cases.items()
    )
    tree = Stepped.of(tmp_path_factory.mktemp("units"), {"units.f90": text})
    found: dict[str, list[DividedNest | Refused]] = {name: [] for name in cases}

    def check(facts: UnitFacts) -> tuple[Found, ...]:
        steps = splitting.check(facts)
        found[facts.unit.name] += [s for s in steps if isinstance(s, DividedNest | Refused)]
        return steps

    once(tree, replace(splitting.TRANSFORMATION, check=check))
    return Units(found, tree.text("units.f90"))


@pytest.mark.parametrize("name", REFUSED)
def test_a_nest_stays_whole(name: str, units: Units) -> None:
    (refused,) = units.found[f"r_{name}"]
    assert isinstance(refused, Refused), refused
    assert refused.code == REFUSED[name][0], refused
    assert "is not split" in refused.message
    assert ("for the bounds of w are not" in refused.message) is (name == "bounds")


def test_every_code_is_given() -> None:
    assert {code for code, _, _ in REFUSED.values()} == set(CODES)


@pytest.mark.parametrize("name", SPLIT)
def test_a_nest_is_split(name: str, units: Units) -> None:
    (step,) = units.found[f"s_{name}"]
    assert isinstance(step, DividedNest), step
    loops = units.loops(f"s_{name}")
    wanted = SPLIT[name][2]
    at = loops.index(wanted[0])
    places = iter(loops[at:])
    assert all(head in places for head in wanted), loops  # in this order


def test_labels_stay_with_the_interior(units: Units) -> None:
    text = units.text.split("subroutine s_label_of_both(", 1)[1].split("end subroutine")[0]
    _, edges = text.split("  ! asphalt: the edges of the nest\n")
    assert text.count("10 continue") == 1
    assert edges.startswith(
        "  do j = 1, min(1, m)\n  do i = 1, n\n    after(i,j) = u(i,j-1)\n  end do\n  end do\n"
    )


@pytest.mark.parametrize("name", NOTHING)
def test_there_is_nothing_to_split(name: str, units: Units) -> None:
    assert units.found[f"n_{name}"] == []


def test_the_examples_of_the_codes(tmp_path: Path) -> None:
    paths = [p for c in CODES for p in (examples_of(c.id).refused, examples_of(c.id).accepted) if p]
    files = {path.name: path.read_text() for path in paths}
    tree = Stepped.of(tmp_path, files)
    starting = nonblocking.TRANSFORMATION
    while once(tree, starting):
        pass
    last = {Path(facts.located.path).name: found for facts, found in tree.found(splitting)}
    assert set(last) == set(files)  # others are loops that unpack
    for name, found in last.items():
        code, kind = Path(name).stem.split("_")
        assert isinstance(found, Refused) == (kind == "refused"), (code, found)
        assert not isinstance(found, Refused) or found.code.id == code.upper()


@pytest.mark.parametrize("accepted", ["bits", "bits@step:LINE", "in the source"])
def test_other_digits_are_accepted(accepted: str, tmp_path: Path) -> None:
    refused = examples_of(DIGITS.id).refused
    assert refused is not None
    said = "  !$asphalt assume(bits)\n" if accepted == "in the source" else ""
    text = refused.read_text().replace("  integer :: i, j", f"{said}  integer :: i, j")
    tree = Stepped.of(tmp_path, {"a.f90": text})
    starting = nonblocking.TRANSFORMATION
    while once(tree, starting):
        pass
    if not said:
        (one,) = (r for r in tree.refusals(splitting) if r.code is DIGITS)
        assert one.lifted_by == "bits"
        assert one.span is not None
        tree.accepted = frozenset({accepted.replace("LINE", str(one.span.first))})
    assert [step.assumed for step in tree.steps(splitting)] == [("bits",)]
    tree.applied(splitting)
    assert "  ! asphalt: assumed: bits\n" in tree.text("a.f90")


_BEFORE = """\
  ! five points
  do j = 1, m
    do i = 1, n
      after(i,j) = u(i,j) + u(i,j-1) & ! the row below
                   + u(i-1,j)
    end do
  end do ! of a step
"""
_AFTER = """\
  ! five points
  ! asphalt: the interior of the nest, which meets nothing that is under way
  do j = 2, m
    do i = 1, n
      after(i,j) = u(i,j) + u(i,j-1) & ! the row below
                   + u(i-1,j)
    end do
  end do ! of a step
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  ! asphalt: the edges of the nest
  do j = 1, min(1, m)
    do i = 1, n
      after(i,j) = u(i,j) + u(i,j-1) & ! the row below
                   + u(i-1,j)
    end do
  end do
"""


def test_the_interior_comes_into_the_window_with_its_comments(tmp_path: Path) -> None:
    path = tmp_path / "unit.f90"
    path.write_text(_UNIT.format(name="step", body=_BEFORE, declared=""))
    tree = load_tree([tmp_path])
    found = optimise(tree, tree.units_of(str(path))[0])
    assert found.content is not None
    assert _AFTER in found.content.decode()
    assert [done.transformation for done in found.steps] == ["splitting", "motion"]


@pytest.mark.parametrize(
    "body",
    [
        # something that the wait and the interior cannot pass
        "  print *, n\n" + _nest(_FIVE),
        # what is computed in between is needed everywhere
        "  s = u(1,0)\n" + _nest("after(i,j) = s + u(i,j-1)"),
    ],
)
def test_a_split_that_fills_no_window_is_undone(tmp_path: Path, body: str) -> None:
    path = tmp_path / "unit.f90"
    path.write_text(_UNIT.format(name="step", body=body, declared=""))
    tree = load_tree([tmp_path])
    assert optimise(tree, tree.units_of(str(path))[0]).content is None


def _results(tree: Stepped, made: Program, folder: Path, mpi: Mpi) -> str:
    folder.mkdir(parents=True)
    sources = []
    for name, text in {**made.files(), "nests.f90": tree.text("nests.f90")}.items():
        (folder / name).write_text(text)
        sources.append(folder / name)
    outcome = run(mpi, build(mpi, sources, folder, ["-O1", "-fcheck=all", "-Wall"]), 2)
    assert outcome.code == 0, outcome.stderr
    return outcome.stdout


def _same(tmp_path: Path, seed: int, count: int, mpi: Mpi) -> tuple[int, int]:
    made = program(seed, count)
    original = Stepped.of(tmp_path / "original", {"nests.f90": made.nests})
    changed, splits, moves = split_and_moved(tmp_path / "changed", made)
    assert _results(original, made, tmp_path / "one", mpi) == _results(
        changed, made, tmp_path / "two", mpi
    )
    return splits, moves


def test_random_nests_give_the_same(tmp_path: Path) -> None:
    (mpi, *_) = installed(OPENMPI, MPICH)
    splits, moves = _same(tmp_path, 1, 2, mpi)
    assert splits > 0
    assert moves > splits


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(2, 26))
def test_many_random_nests_give_the_same(tmp_path: Path, seed: int) -> None:
    for mpi in installed(OPENMPI, MPICH)[seed % 2 :][:1]:
        splits, _ = _same(tmp_path, seed, 8, mpi)
        assert splits > 0
