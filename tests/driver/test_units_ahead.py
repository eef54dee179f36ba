"""Several processes optimise the units of a tree, with the results of one."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from asphalt.analysis_manager.internal_errors import InternalErrors
from asphalt.config.settings import Settings
from asphalt.driver import units_ahead
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.outcome import Optimised
from asphalt.project import Outcome, Project

_UNITS = 20
_CHANGED = (4, 11)
_HEAD = """\
subroutine exchange{number}(a, b, n, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: a(n), b(n)
  integer :: i, ierr
  real(8) :: edge(n)
"""
_EXCHANGE = """\
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, left, 1, edge, n, MPI_DOUBLE_PRECISION, right, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
"""
_WORK = """\
  do i = 1, n
    b(i) = sqrt(b(i)) + sin(b(i))*{number}
  end do
"""
_LAST = """\
  a(1) = a(1) + edge(1)
end subroutine exchange{number}
"""


def _text(number: int) -> str:
    work = _WORK if number in _CHANGED else "  call MPI_Barrier(MPI_COMM_WORLD, ierr)\n"
    return (_HEAD + _EXCHANGE + work + _LAST).format(number=number)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    calls = "".join(f"  call exchange{n}(a, b, 1000, 0, 0)\n" for n in range(_UNITS))
    main = "program main\n  use mpi\n  integer :: ierr\n  real(8) :: a(1000), b(1000)\n"
    main += (
        f"  call MPI_Init(ierr)\n  a = 1\n  b = 1\n{calls}  call MPI_Finalize(ierr)\nend program\n"
    )
    (tmp_path / "main.f90").write_text(main)
    for file in range(4):
        units = range(file, _UNITS, 4)
        (tmp_path / f"part{file}.f90").write_text("\n".join(map(_text, units)))
    return tmp_path


def _outcome(folder: Path, jobs: int) -> tuple[Outcome, Project]:
    passes = ("nonblocking", "motion")
    project = Project(folder, settings=Settings(cache=False, jobs=jobs, passes=passes))
    return project.outcome(), project


class _Watched:
    """Optimises units, and notes in which processes; what happens to one of them is given."""

    def __init__(self, folder: Path, unit: str = "", waits: bool = False) -> None:
        self.file = folder / "processes"
        self.unit = unit
        self.waits = waits

    def __call__(
        self, tree: Tree, located: Located, options: Options, context: Context
    ) -> Optimised:
        with self.file.open("a") as file:
            file.write(f"{os.getpid()}\n")
        while self.waits and self.processes == {os.getpid()}:
            time.sleep(0.01)  # another one has not begun yet
        if located.unit.name == self.unit:
            self.happens()
        return _OPTIMISE(tree, located, options, context)

    def happens(self) -> None:
        """What happens to the unit."""

    @property
    def processes(self) -> set[int]:
        return set(map(int, self.file.read_text().split()))


_OPTIMISE = units_ahead.optimise


def _same(one: Outcome, other: Outcome) -> bool:
    return (
        one.changes == other.changes
        and one.procedures == other.procedures
        and one.tries == other.tries
        and one.own == other.own
    )


def test_results_are_those_of_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, _ = _outcome(folder, 1)
    assert sum(len(change.sites) for change in alone.changes) == len(_CHANGED)
    watched = _Watched(folder, waits=True)
    monkeypatch.setattr(units_ahead, "optimise", watched)
    together, project = _outcome(folder, 2)
    assert _same(alone, together)
    assert not project.internal_errors
    assert len(watched.processes) > 1
    assert os.getpid() in watched.processes


class _Failing(_Watched):
    def happens(self) -> None:
        raise ValueError("odd")


def test_an_internal_error_is_told_as_by_one_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InternalErrors, "raised", False)
    monkeypatch.setattr(units_ahead, "optimise", _Failing(folder, "exchange4"))
    alone, one = _outcome(folder, 1)
    together, other = _outcome(folder, 2)
    assert _same(alone, together)
    assert len(one.internal_errors) == 1
    assert "ValueError odd" in one.internal_errors[0].message
    assert one.internal_errors == other.internal_errors


class _Dying(_Watched):
    def happens(self) -> None:
        if os.getpid() == _TEST:
            raise ValueError("this process")
        os.kill(os.getpid(), signal.SIGKILL)


_TEST = os.getpid()


def test_a_process_that_dies_is_an_internal_error_of_its_unit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InternalErrors, "raised", False)
    alone, _ = _outcome(folder, 1)
    monkeypatch.setattr(units_ahead, "optimise", _Dying(folder, "exchange4"))
    together, project = _outcome(folder, 2)
    (error,) = project.internal_errors
    assert "exchange4" in error.message
    changed = [site.unit for change in together.changes for site in change.sites]
    assert changed == [
        site.unit for change in alone.changes for site in change.sites if site.unit != "exchange4"
    ]


class _Interrupted(_Watched):
    """Ends this process by an interrupt when another one has begun, and never returns there."""

    def __call__(
        self, tree: Tree, located: Located, options: Options, context: Context
    ) -> Optimised:
        if os.getpid() != _TEST:
            super().__call__(tree, located, options, context)
            signal.pause()
        while not self.file.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt


def test_no_process_outlives_an_interrupt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = _Interrupted(folder)
    monkeypatch.setattr(units_ahead, "optimise", watched)
    with pytest.raises(KeyboardInterrupt):
        _outcome(folder, 2)
    (other,) = watched.processes
    with pytest.raises(ProcessLookupError):
        os.kill(other, 0)
