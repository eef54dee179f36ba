"""Whether all ranks reach each call of a collective operation is asked once for a program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.messages.collectives import Together, together
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.uniformity.uniformity import Judgement, Uniformity
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import Tree, load_tree
from asphalt.ir.expr import Expr
from asphalt.ir.tree import Leaf
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.tiling import pipelining

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer :: me, k, n, ierr
  real(8) :: a(100), b(100)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  n = 100
  a = me
  call MPI_Recv(b, 100, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &
                MPI_STATUS_IGNORE, ierr)
  do k = 1, 100
    a(k) = a(k) + b(k)
  end do
  call MPI_Send(a, 100, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD, ierr)
  call MPI_Bcast(a, 100, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  call more
  call MPI_Finalize(ierr)
contains
  subroutine more
    call MPI_Bcast(b, 100, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  end subroutine more
end program main
"""
_LEFT = """\
subroutine left(me)
  use mpi
  implicit none
  integer :: me, ierr
  real(8) :: c(10)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  if (me == 0) call MPI_Bcast(c, 10, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
end subroutine left
"""


class _Counting(Uniformity):
    """Counts the questions about calls."""

    asked = 0

    def reached(self, scope: Scope, leaf: Leaf, communicator: Expr | None) -> Judgement:
        self.asked += 1
        return super().reached(scope, leaf, communicator)


def _tree(tmp_path: Path, **files: str) -> Tree:
    for name, text in files.items():
        (tmp_path / f"{name}.f90").write_text(text)
    return load_tree([tmp_path], Settings(cache=False, jobs=1))


def _facts(tree: Tree) -> tuple[dict[str, UnitFacts], _Counting]:
    effects, _ = Analyses(tree).of(any_sizes=True)
    counting = _Counting(effects.scopes)
    units = (one for entry in tree.files for one in tree.units_of(entry.path))
    return {one.unit.name: UnitFacts(one, effects, "\n", counting) for one in units}, counting


def _together(facts: UnitFacts) -> Together:
    calls = facts.once(Messages).own_calls()
    return together(facts, next(c for _, c in calls if c.operation == "mpi_bcast"))


def test_the_answer_for_an_operation_is_that_of_all_units(tmp_path: Path) -> None:
    facts, uniformity = _facts(_tree(tmp_path, main=_PROGRAM))
    first = _together(facts["main"])
    assert first == Together(None)
    assert uniformity.asked == 2
    assert _together(facts["more"]) is first
    assert uniformity.asked == 2


def test_it_depends_on_which_procedures_count_as_executed(tmp_path: Path) -> None:
    facts, _ = _facts(_tree(tmp_path, main=_PROGRAM, left=_LEFT))
    without = replace(facts["main"], once_called=frozenset({"left"}))
    for _ in range(2):
        assert _together(facts["main"]).why_not is not None
        assert _together(without) == Together(None)


def test_nests_in_tiles_ask_nothing_about_collective_operations(tmp_path: Path) -> None:
    facts, uniformity = _facts(_tree(tmp_path, main=_PROGRAM))
    main = facts["main"]
    assert main.once(pipelining.check)  # what keeps the receive and the send from being cut
    assert [step.operation for step in main.once(nonblocking.message_splits)] == [
        "MPI_Recv",
        "MPI_Send",
    ]
    assert uniformity.asked == 0
    assert len(main.once(nonblocking.check)) == 3
    assert uniformity.asked == 2
