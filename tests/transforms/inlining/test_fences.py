"""Fences behind inlined waits: what a call told the compiler of its arguments is still told where
the procedure's body has taken the place of the call."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.expr import Ref
from asphalt.ir.tree import leaves
from asphalt.project import Outcome, Project
from asphalt.transforms.inlining.fences import fenced
from support.mpi_run import MPICH, OPENMPI, Mpi, build, installed, run, runtime_texts

_HALOS = """\
module halos
  use mpi
  implicit none
  integer, parameter :: n = 4000
contains
  subroutine start(g, left, right, r)
    integer, intent(in) :: left, right
    real(8), intent(inout) :: g(0:n+1)
    integer, intent(inout) :: r(2)
    integer :: ie
    call MPI_Irecv(g(0), 1, MPI_REAL8, left, 1, MPI_COMM_WORLD, r(1), ie)
    call MPI_Isend(g(n), 1, MPI_REAL8, right, 1, MPI_COMM_WORLD, r(2), ie)
  end subroutine start
  subroutine finish(g, r)
    real(8), intent(inout) :: g(0:n+1)
    integer, intent(inout) :: r(2)
    integer :: ie
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ie)
  end subroutine finish
end module halos
"""
_WORK = """\
module work
  use mpi
  use halos
  implicit none
{shared}contains
  subroutine step(me, np, s{dummy})
    integer, intent(in) :: me, np
    real(8), intent(out) :: s
{own}    real(8) :: f(n), x
    integer :: r(2), i, left, right
{allocation}    left = me - 1
    if (me == 0) left = MPI_PROC_NULL
    right = me + 1
    if (right == np) right = MPI_PROC_NULL
    do i = 0, n + 1
      g(i) = me + i
    end do
    call start(g, left, right, r)
    x = 0
    if (left == MPI_PROC_NULL) x = g(0)
    call finish(g, r)
    do i = 1, n
      f(i) = sqrt(abs(g(i-1) + 0.5d0))*me
    end do
    s = sum(f) + x + g(0)*1000
  end subroutine step
end module work
program main
  use mpi
  use work
  implicit none
  integer :: ierr, me, np
  real(8) :: s{actual}
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call step(me, np, s{passed})
  print '(i0, z17)', me, s
  call MPI_Finalize(ierr)
end program main
"""
_LOCAL = "    real(8) :: g(0:n+1)\n"
_PARTS = ("shared", "dummy", "own", "allocation", "actual", "passed")


def _work(**parts: str) -> str:
    return _WORK.format(**{part: parts.get(part, "") for part in _PARTS})


def _applied(folder: Path, work: str) -> Outcome:
    for name, text in (("halos.f90", _HALOS), ("work.f90", work)):
        (folder / name).write_text(text)
    return Project(folder, settings=Settings(cache=False, jobs=1)).outcome()


def _text(outcome: Outcome) -> str:
    (change,) = outcome.changes
    return change.after.decode()


_TWICE = """\
module work
  use mpi
  use halos
  implicit none
contains
  subroutine step(me, np, s, k)
    integer, intent(in) :: me, np
    real(8), intent(out) :: s
    real(8), {kind}intent(inout) :: k({shape})
    real(8) :: g(0:n+1), f(n), x
    integer :: r(2), r2(2), i, left, right
    left = me - 1
    if (me == 0) left = MPI_PROC_NULL
    right = me + 1
    if (right == np) right = MPI_PROC_NULL
    do i = 0, n + 1
      g(i) = me + i
    end do
    call start(g, left, right, r)
    x = 0
    if (left == MPI_PROC_NULL) x = g(0)
    call finish(g, r)
    do i = 1, n
      f(i) = sqrt(abs(g(i-1) + 0.5d0))*me
    end do
    s = sum(f) + x + g(0)*1000
{test}    call start(k, left, right, r2)
    call finish(k, r2)
    do i = 1, n
      f(i) = sqrt(abs(k(i-1) + 0.5d0))*me
    end do
    s = s + sum(f)
{end}  end subroutine step
end module work
"""
_OUTER = """\
module outers
  use mpi
  use work
  implicit none
contains
  subroutine outer(me, np, t)
    integer, intent(in) :: me, np
    real(8), intent(out) :: t
    real(8) :: k(0:n+1), w(n), b
    integer :: i
    k = me
    call step(me, np, b, k)
    do i = 1, n
      w(i) = sqrt(me + i + 0.5d0)
    end do
    t = sum(w) + b
  end subroutine outer
end module outers
program main
  use mpi
  use outers
  implicit none
  integer :: ierr, me, np
  real(8) :: t
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call outer(me, np, t)
  print '(i0, 2z17)', me, t
  call MPI_Finalize(ierr)
end program main
"""


def test_variables_of_a_procedure_inlined_at_two_levels_have_fences(tmp_path: Path) -> None:
    (tmp_path / "outers.f90").write_text(_OUTER)
    work = _TWICE.format(kind="", shape="0:n+1", test="", end="")
    (change,) = _applied(tmp_path, work).changes
    assert change.path.name == "outers.f90"
    text = change.after.decode()
    assert "call step(" not in text
    lines = [line.strip() for line in text.splitlines()]
    for request, buffer in (("r", "g"), ("r2", "k")):
        waits = [
            n for n, line in enumerate(lines) if line.startswith(f"call MPI_Wait({request}(1)")
        ]
        assert waits
        assert {lines[n + 1] for n in waits} == {f"call asphalt_sync({buffer})"}


_PREPARED = """\
program main
  use mpi
  use halos
  implicit none
  real(8) :: g(0:n+1), h(4)
  integer :: r(2), q, ierr, t
  call MPI_Init(ierr)
  g = 0
  call MPI_Recv_init(g(0), 1, MPI_REAL8, 0, 1, MPI_COMM_SELF, r(1), ierr)
  call MPI_Send_init(g(n), 1, MPI_REAL8, 0, 1, MPI_COMM_SELF, r(2), ierr)
  do t = 1, 3
    call MPI_Irecv(h, 4, MPI_REAL8, MPI_PROC_NULL, 2, MPI_COMM_SELF, q, ierr)
    {exchange}
    print *, g(0)
    call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)
  end do
  call MPI_Finalize(ierr)
end program main
"""


def test_prepared_operations_have_fences_though_their_starts_name_no_buffer(tmp_path: Path) -> None:
    units = []
    body = "call MPI_Startall(2, r, ierr)\n    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)"
    for name, exchange in (("given", "call finish(g, r)"), ("made", body)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "halos.f90").write_text(_HALOS)
        (folder / "main.f90").write_text(_PREPARED.format(exchange=exchange))
        tree = load_tree([folder], Settings(jobs=1, cache=False))
        (located,) = tree.units_of(str(folder / "main.f90"))
        units.append(UnitFacts(located, Analyses(tree).of()[0]))
    given, facts = units
    calls = [leaf.call for node in fenced(facts, given.unit).body for leaf in leaves(node)]
    named = [call.procedure.name for call in calls if call and isinstance(call.procedure, Ref)]
    start, wait, last = map(named.index, ("mpi_startall", "mpi_waitall", "mpi_wait"))
    assert named[start - 2 : start] == ["asphalt_sync"] * 2
    assert named[wait + 1 : wait + 3] == ["asphalt_sync"] * 2
    assert named[last + 1 : last + 3] == ["asphalt_sync", "mpi_finalize"]


def test_where_others_may_have_started_something_all_buffers_have_fences(tmp_path: Path) -> None:
    """What a procedure that is not seen has started may be complete behind any wait: `h`, too."""
    own = f"{_LOCAL}    real(8) :: h(4)\n"
    for call, expected in (("", {"g"}), ("    call elsewhere(h)\n", {"g", "h"})):
        folder = tmp_path / str(len(expected))
        folder.mkdir()
        text = _text(_applied(folder, _work(own=own, allocation=call)))
        called = {line.strip() for line in text.splitlines() if "call asphalt_sync(" in line}
        assert called == {f"call asphalt_sync({name})" for name in expected}


def test_an_absent_argument_is_not_asked_whether_it_is_allocated(tmp_path: Path) -> None:
    forms = {"kind": "allocatable, optional, ", "shape": ":"}
    work = _TWICE.format(test="    if (present(k)) then\n", end="    end if\n", **forms)
    lines = [line.strip() for line in _text(_applied(tmp_path, work)).splitlines()]
    asked = [n for n, line in enumerate(lines) if line == "if (allocated(k)) call asphalt_sync(k)"]
    assert asked
    assert {lines[n - 1] for n in asked} == {"if (present(k)) then"}


@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
def test_an_element_that_was_read_before_the_wait_is_read_again(
    mpi: Mpi, level: str, tmp_path: Path
) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "made").mkdir()
    text = _text(_applied(tmp_path / "given", _work(own=_LOCAL)))
    assert "call finish" not in text
    made = {**runtime_texts(text), "halos.f90": _HALOS, "work.f90": text}
    for name, content in made.items():
        (tmp_path / "made" / name).write_text(content)
    outputs = []
    for folder, names in (("given", ("halos.f90", "work.f90")), ("made", tuple(made))):
        sources = [tmp_path / folder / name for name in names]
        build_folder = tmp_path / f"build_{folder}"
        build_folder.mkdir()
        program = build(mpi, sources, build_folder, [level])
        outputs.append(sorted(run(mpi, program, 3).stdout.splitlines()))
    assert len(outputs[0]) == 3
    assert outputs[1] == outputs[0]


@pytest.mark.parametrize(
    ("work", "fence"),
    [
        (_work(own=_LOCAL), "call asphalt_sync(g)"),
        (
            _work(own="    real(8), intent(inout) :: g(0:n+1)\n", dummy=", g", passed=", g",
                  actual=", g(0:n+1)"),
            "call asphalt_sync(g)",
        ),
        (
            _work(own="    real(8), allocatable :: g(:)\n", allocation="    allocate(g(0:n+1))\n"),
            "if (allocated(g)) call asphalt_sync(g)",
        ),
    ],
    ids=["local", "dummy", "allocatable"],
)  # fmt: skip
def test_a_fence_stands_behind_each_inlined_wait(work: str, fence: str, tmp_path: Path) -> None:
    lines = [line.strip() for line in _text(_applied(tmp_path, work)).splitlines()]
    waits = [n for n, line in enumerate(lines) if line.startswith(("call MPI_Wait",))]
    assert waits
    assert all(lines[n + 1] == fence for n in waits)
    assert "use asphalt_core, only: asphalt_sync" in lines


@pytest.mark.parametrize(
    "parts",
    [
        {"shared": "  real(8) :: g(0:n+1)\n"},
        {"own": "    real(8), target :: g(0:n+1)\n"},
        {"own": "    real(8) :: g(0:n+1)\n    common /grid/ g\n"},
    ],
    ids=["module", "target", "common"],
)
def test_what_any_call_may_change_has_no_fence(parts: dict[str, str], tmp_path: Path) -> None:
    text = _text(_applied(tmp_path, _work(**parts)))
    assert "call finish" not in text
    assert "asphalt_sync" not in text


def test_waits_of_the_procedure_itself_have_no_fence(tmp_path: Path) -> None:
    start = """\
    call MPI_Irecv(g(0), 1, MPI_REAL8, left, 1, MPI_COMM_WORLD, r(1), i)
    call MPI_Isend(g(n), 1, MPI_REAL8, right, 1, MPI_COMM_WORLD, r(2), i)
"""
    work = _work(own=_LOCAL).replace("    call start(g, left, right, r)\n", start)
    work = work.replace("call finish(g, r)", "call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, i)")
    text = _text(_applied(tmp_path, work))
    assert "interior" in text
    assert "asphalt_sync" not in text
