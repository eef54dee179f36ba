"""Variables that hold one predefined datatype of MPI, and those that may hold another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.call_graph.call_sites import CallSites, SharedDefinitions
from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.names.scopes import Scopes, Symbol
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from support.analysed import Analysed, e

_MODULE = """\
module kinds
  use mpi
  implicit none
  integer, save :: shared, given{initial}
  integer(8), save :: long
end module kinds
"""
_MAIN = """\
program main
  use kinds
  implicit none
  integer :: own, n, ierr
  real :: x(4)
  {main}
  call work
contains
  subroutine inner
    {inner}
  end subroutine inner
end program main
"""
_WORK = """\
subroutine work
  use kinds
  implicit none
  integer :: plain, ierr, n, other
  real :: x(4)
  common /types/ plain, n
  {work}
  x = 0
end subroutine work
"""
_DATA = """\
block data values
  integer plain, n
  common /types/ plain, n
  data plain / 17 /
end block data values
"""


def datatype(
    name: str, *texts: str, unit: str = "work", main: str = "", inner: str = "", work: str = "",
    initial: str = ""
) -> str | None:  # fmt: skip
    given = {"main": main, "inner": inner, "work": work, "initial": initial}
    texts = texts or (_MODULE, _MAIN, _WORK)
    found = datatype_of(e(name), Analysed(*(t.format(**given) for t in texts), chain=(unit,)).scope)
    return None if found is None else found.name


@pytest.mark.parametrize(
    ("name", "unit", "given"),
    [
        ("shared", "work", {"main": "shared = MPI_REAL"}),
        ("shared", "work", {"main": "shared = MPI_REAL", "work": "shared = (MPI_REAL)"}),
        ("own", "main", {"main": "if (n > 3) own = MPI_REAL\nown = MPI_REAL"}),
        ("plain", "work", {"work": "plain = MPI_REAL"}),
        ("other", "work", {"work": "other = MPI_REAL\ncall MPI_Send(x, 1, other, 0, 0, n, ierr)"}),
    ],
)
def test_one_datatype(name: str, unit: str, given: dict[str, str]) -> None:
    assert datatype(name, unit=unit, **given) == "mpi_real"


@pytest.mark.parametrize(
    ("name", "unit", "given"),
    [
        ("shared", "work", {}),
        ("shared", "work", {"main": "shared = MPI_REAL", "work": "shared = MPI_REAL8"}),
        ("shared", "work", {"main": "shared = MPI_REAL\nread *, shared"}),
        ("shared", "work", {"main": "shared = MPI_REAL\nshared = shared + 1"}),
        ("shared", "work", {"main": "shared = MPI_REAL\ncall unseen(shared)"}),
        ("shared", "work", {"main": "call MPI_Type_contiguous(2, MPI_REAL, shared, ierr)"}),
        ("shared", "work", {"main": "shared = MPI_REAL\ncall MPI_Type_free(shared, ierr)"}),
        ("given", "work", {"main": "given = MPI_REAL", "initial": " = 0"}),
        ("long", "work", {"main": "long = MPI_REAL"}),
        ("own", "main", {"main": "own = MPI_REAL", "inner": "own = MPI_INTEGER"}),
        ("other", "work", {"work": "data other / 3 /\nother = MPI_REAL"}),
        ("n", "main", {"main": "n = 4"}),
    ],
)
def test_perhaps_another_datatype(name: str, unit: str, given: dict[str, str]) -> None:
    assert datatype(name, unit=unit, **given) is None


def test_text_that_is_not_seen_may_give_another_one() -> None:
    work = {"work": "shared = MPI_REAL\nplain = MPI_REAL"}
    assert datatype("shared", _MODULE, _WORK, **work) is None  # a library: any program may
    assert datatype("plain", _MODULE, _MAIN, _WORK, _DATA, **work) is None


_GIVEN = {"main": "shared = MPI_REAL\ngiven = MPI_REAL", "inner": "", "initial": ""}


@pytest.mark.parametrize(
    ("name", "work", "known"),
    [
        ("shared", "x = 1", "mpi_real"),
        # another variable of this name
        ("shared", "block\n integer :: shared\n x = 1\n end block", None),
        ("own", "own = MPI_REAL", "mpi_real"),
        ("own", "own = MPI_REAL\nif (n > 1) own = MPI_DOUBLE_PRECISION", None),
    ],
)
def test_variables_of_modules_are_asked_for_once_for_all_texts(
    name: str, work: str, known: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Scopes, str]] = []

    def seen(sites: CallSites, symbol: Symbol) -> SharedDefinitions | str:
        asked.append((sites.scopes, symbol.name))
        return whole(sites, symbol)

    whole = CallSites.shared_definitions
    monkeypatch.setattr(CallSites, "shared_definitions", seen)
    texts = (_MODULE, _MAIN, _WORK.replace("plain, ierr", "plain, own, ierr"))
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.f90").write_text(text.format(**_GIVEN, work=""))
    path = str(tmp_path / "2.f90")
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    analyses = Analyses(tree)
    for more in range(2):
        text = texts[2].format(**_GIVEN, work=f"{work}\nx(1) = {more}")
        edited = tree.edited({path: text.encode()})
        effects, _ = analyses.edited(edited).of(any_sizes=True)
        scope = effects.scopes.of(edited.units_of(path)[0])
        found = datatype_of(e(name), scope)
        assert (None if found is None else found.name) == known
    given, _ = analyses.of(any_sizes=True)
    assert all(scopes is given.scopes for scopes, one in asked if one == "shared")
    assert len([one for _, one in asked if one == "shared"]) <= 1
