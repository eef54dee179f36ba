"""What the optimiser makes of one procedure of a program."""

from __future__ import annotations

from pathlib import Path

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from support.mpi_run import Mpi, same_lines


def optimised_and_run(folder: Path, program: str, procedure: str, *mpis: Mpi) -> str:
    """A program in free form with one procedure optimised, all passes for transfers requested; it
    must print the same with each MPI."""
    source = folder / "in"
    source.mkdir()
    (source / "main.f90").write_text(program)
    tree = load_tree([source], Settings(cache=False, jobs=1))
    units = tree.units_of(str(source / "main.f90"))
    (unit,) = (one for one in units if one.unit.name == procedure)
    found = optimise(tree, unit, Options(TRANSFERS))
    assert found.content is not None
    for number, mpi in enumerate(mpis):
        place = folder / str(number)
        place.mkdir()
        assert same_lines(mpi, place, program, found.content)
    return found.content.decode()
