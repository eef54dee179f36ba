"""The header of an MPI library names nothing, in whatever way it is included."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import Tree, load_tree

_UNIT = """\
      subroutine start(v, left, r)
      implicit none
{}
      integer v(10), left, r, ierr
      call MPI_Irecv(v, 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, r,
     &  ierr)
      end
"""
_HEADERS = {
    "mpif.h": "      include 'mpif-constants.h'\n      integer MPI_BOTTOM\n",
    "mpif-constants.h": "      integer MPI_ANY_SOURCE\n      parameter (MPI_ANY_SOURCE=-1)\n",
}


def _tree(folder: Path, line: str, files: dict[str, str]) -> Tree:
    for name, text in {"src/a.F": _UNIT.format(line), **files}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for name, text in _HEADERS.items():
        (folder / "mpi").mkdir(exist_ok=True)
        (folder / "mpi" / name).write_text(text)
    dirs = (str(folder / "mpi"), str(folder / "src"))
    return load_tree([folder / "src" / "a.F"], Settings(cache=False, jobs=1, include_dirs=dirs))


LINES = {
    "INCLUDE": ("      include 'mpif.h'", {}),
    "#include": ('#include "mpif.h"', {}),
    "in a header": ('#include "own.h"', {"src/own.h": '#include "mpif.h"\n'}),
    "in an included file": ("      include 'own.h'", {"src/own.h": "      include 'mpif.h'\n"}),
}


@pytest.mark.parametrize("case", LINES)
def test_its_constants_are_not_named(case: str, tmp_path: Path) -> None:
    tree = _tree(tmp_path, *LINES[case])
    assert tree.problems == ()
    assert [tree.mentions(name) for name in ("mpi_any_source", "mpi_bottom")] == [(), ()]
    (located,) = tree.units_of(str(tmp_path / "src" / "a.F"))
    assert [place.unit.name for place in tree.mentions("mpi_irecv")] == [located.unit.name]


def test_what_a_header_of_the_program_names_is_named(tmp_path: Path) -> None:
    header = '#include "mpif.h"\n      integer from\n      parameter (from=MPI_ANY_SOURCE)\n'
    tree = _tree(tmp_path, '#include "own.h"', {"src/own.h": header})
    assert [place.unit.name for place in tree.mentions("mpi_any_source")] == ["start"]
    assert tree.mentions("mpi_bottom") == ()
