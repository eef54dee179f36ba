"""The index names what a file defines, and fortls evaluates nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.preprocess import preprocess
from asphalt.frontend.lexical.source_text import source_text
from asphalt.frontend.source_tree.index import FileIndex, UseEntry, index_file, live_text

MODULE = """\
module Exchange
  use mpi, only: all => mpi_alltoall, mpi_comm
  use kinds
  implicit none
  interface swap
    module procedure swap_r, swap_c
  end interface
  interface
    subroutine outside(x)
      real :: x
    end subroutine
  end interface
contains
  subroutine swap_r(A, n)
    real :: A(n)
    integer :: n
    if (n > 0) call Helper(A)
    call all(A)
  end subroutine
  subroutine swap_c(A)
    complex :: A
  end subroutine
end module
"""


def index(text: str, name: str = "a.f90") -> FileIndex:
    return index_file(source_text(name, text.encode("latin-1")))


def test_units_with_ranges_parents_and_arguments() -> None:
    units = {unit.name: unit for unit in index(MODULE).units if unit.name}
    assert (units["exchange"].kind, units["exchange"].first, units["exchange"].last) == (
        "module",
        1,
        23,
    )
    assert (units["swap_r"].first, units["swap_r"].last) == (14, 19)
    assert units["swap_r"].parents == ("exchange",)
    assert units["swap_r"].args == ("a", "n")
    assert units["swap"].members == ("swap_r", "swap_c")
    assert units["outside"].declared_only
    assert not units["swap_r"].declared_only


def test_use_association_with_renames() -> None:
    (module,) = (unit for unit in index(MODULE).units if unit.kind == "module")
    assert module.uses == (
        UseEntry("mpi", frozenset({"all", "mpi_comm"}), (("all", "mpi_alltoall"),)),
        UseEntry("kinds", None, ()),
    )


def test_called_names() -> None:
    assert index(MODULE).called == {"helper", "all"}


def test_fixed_form() -> None:
    text = "C     A comment\n      SUBROUTINE F(A,\n     &  B)\n      CALL G(A)\n      END\n"
    found = index(text, "a.f")
    assert [(unit.name, unit.args) for unit in found.units] == [("f", ("a", "b"))]
    assert found.called == {"g"}


def test_only_the_analysed_configuration_counts() -> None:
    source = source_text("a.F90", b"#ifdef A\nsubroutine f\n#else\nsubroutine g\n#endif\nend\n")
    facts = CppFacts(frozenset({2}), {4: "subroutine h"})
    assert live_text(source, facts) == "\n\n\nsubroutine h\n\nend\n"
    assert [unit.name for unit in index_file(source, facts).units] == ["h"]


@pytest.mark.parametrize("name", ["a.f90", "a.F90", "a.F", "a.fpp"])
@pytest.mark.parametrize(
    "line",
    [
        "#if __import__('os').system('touch X')",
        "#if 0\n#elif __import__('os').system('touch X')",
        "#define A __import__('os').system('touch X')\n#if A",
    ],
)
def test_a_hostile_condition_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"{line}\n      call f\n#endif\n      end\n"
    source = source_text(str(tmp_path / name), text.encode())
    index_file(source, None)
    index_file(source, CppFacts(frozenset({2})))
    assert list(tmp_path.iterdir()) == []


def test_the_hostile_condition_is_one_that_fortls_would_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this, the test above could pass for the wrong reason."""
    from fortls.parsers.internal.parser import FortranFile

    monkeypatch.chdir(tmp_path)
    file = FortranFile("a.F90")
    file.set_contents(["#define A __import__('os').mkdir('X')", "#if A", "#endif", "end"])
    file.parse()
    assert [path.name for path in tmp_path.iterdir()] == ["X"]


def test_preprocessed_file_goes_through_both(tmp_path: Path) -> None:
    path = tmp_path / "a.F90"
    path.write_text("#ifdef MPI_ON\nsubroutine f\nend\n#else\nsubroutine g\nend\n#endif\n")
    source = source_text(str(path), path.read_bytes())
    found = index_file(source, preprocess(source, ["MPI_ON"]))
    assert [(unit.name, unit.first) for unit in found.units] == [("f", 2)]


@pytest.mark.parametrize("text", ["", "end\nend\ncontains\ncontains\n", "((((\n", "module\n"])
def test_broken_text_gives_an_index_all_the_same(text: str) -> None:
    assert isinstance(index(text), FileIndex)
