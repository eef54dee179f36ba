"""Each pass keeps each rule of Danalis et al., ICS 2009, section 4, or cannot break it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from asphalt.config.passes import OF_TRANSFERS, TRANSFERS, Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from asphalt.optimiser.phases import TRANSFORMATIONS
from asphalt.transforms.rewriting.step import Step
from support.mpi_run import (
    MPICH,
    OPENMPI,
    RUNTIME,
    Mpi,
    compile_runtime,
    compile_source,
    installed,
    link,
    run,
)
from support.places import ROOT
from support.safety_matrix import MATRIX, RULES, Elsewhere, Never, pairs
from support.safety_page import PAGE, page
from support.safety_pair import Pair
from support.safety_pairs import PAIRS
from support.stepping import Stepped

_PROCEDURES = ("step", "shift", "sweep")
ALL = {
    f"{name} {rule} {number}": pair
    for name, rules in PAIRS.items()
    for rule, group in rules.items()
    for number, pair in enumerate(group)
}


def _steps(folder: Path, text: str, pair: Pair) -> list[str]:
    tree = Stepped.of(folder, {"main.f90": text})
    tree.any_sizes = tree.uniform = True
    for one in pair.before:
        tree.applied(one)
    return [
        one.does
        for facts, one in tree.found(pair.transformation)
        if facts.unit.name in _PROCEDURES and isinstance(one, Step) and pair.about in one.does
    ]


@pytest.mark.parametrize("name", ALL)
def test_no_step_breaks_the_rule(name: str, tmp_path: Path) -> None:
    pair = ALL[name]
    assert _steps(tmp_path / "free", pair.free, pair)
    assert _steps(tmp_path / "bound", pair.bound, pair) == []


def test_each_pass_has_something_for_each_rule() -> None:
    assert set(MATRIX) == set(OF_TRANSFERS)
    for name, row in MATRIX.items():
        assert list(row.cells) == list(RULES), name
        for rule, cell in row.cells.items():
            known = pairs(name, rule)
            assert not known if isinstance(cell, Never) else known or cell, (name, rule)
    assert all(name in MATRIX and set(rules) <= set(RULES) for name, rules in PAIRS.items())


def test_each_transformation_belongs_to_the_row_of_its_pass() -> None:
    found: dict[str, set[str]] = {}
    for one in TRANSFORMATIONS:
        found.setdefault(one.name, set()).add(one.check.__module__.rpartition(".")[2])
    assert found == {name: set(row.modules) for name, row in MATRIX.items()}


@pytest.fixture(scope="module")
def collected() -> frozenset[str]:
    """All tests that pytest finds in the files that the matrix names."""
    files = sorted({one.node.partition("::")[0] for one in _elsewhere()})
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "--collect-only", "-q"]
    command = [sys.executable, "-m", "pytest", *options, *files]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return frozenset(found.stdout.splitlines())


def _elsewhere() -> list[Elsewhere]:
    cells = [cell for row in MATRIX.values() for cell in row.cells.values()]
    return [one for cell in cells if not isinstance(cell, Never) for one in cell]


def test_what_is_said_to_be_elsewhere_is(collected: frozenset[str]) -> None:
    assert [one.node for one in _elsewhere() if one.node not in collected] == []


@pytest.mark.parametrize(
    "nothing",
    [
        Elsewhere(
            "transforms/buffers/test_waits_behind_loop", "test_the_wait_stays", "fields"
        ),  # a word of its programs
        Elsewhere(
            "transforms/buffers/test_waits_behind_loop", "test_the_wait_stays"
        ),  # without the program
        Elsewhere("transforms/buffers/test_waits_behind_loop", "STAYING"),
        Elsewhere("transforms/buffers/test_waits_behind_loop", "_found"),
    ],
    ids=lambda one: one.node,
)
def test_what_is_no_test_is_not_taken_for_one(
    nothing: Elsewhere, collected: frozenset[str]
) -> None:
    assert any(
        node.startswith("tests/transforms/buffers/test_waits_behind_loop.py::")
        for node in collected
    )
    assert nothing.node not in collected


def test_the_page_shows_the_matrix() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make docs writes it"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> dict[Mpi, Path]:
    """A folder with the compiled runtime, for each MPI."""
    found = {}
    for mpi in installed():
        found[mpi] = tmp_path_factory.mktemp("runtime")
        assert compile_runtime(mpi, found[mpi]).code == 0
    return found


def _prints(folder: Path, text: str, mpi: Mpi, ranks: int) -> list[str]:
    path = folder / "main.f90"
    path.write_text(text)
    compiled = compile_source(mpi, path, folder, ("-O1", "-fcheck=all"))
    assert compiled.code == 0, compiled.stderr
    objects = [f"{source.stem}.o" for source in RUNTIME]
    outcome = run(mpi, link(mpi, [*objects, "main.o"], folder), ranks)
    assert outcome.code == 0, outcome.stderr
    return sorted(outcome.stdout.splitlines())


def _same(text: str, folder: Path, mpi: Mpi, runtime: Path) -> bool:
    """Whether a program prints the same when passes have been tried on its procedure; it may
    have stayed as it is."""
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([path], Settings(cache=False, jobs=1))
    (located,) = (one for one in tree.units_of(str(path)) if one.unit.name in _PROCEDURES)
    passes = [name for name in TRANSFERS if name != Pass.PIPELINING]  # which has a header
    made = optimise(tree, located, Options(passes)).content
    if made is None:
        return True
    shutil.copytree(runtime, folder / "run")
    before = _prints(folder / "run", text, mpi, 3)
    return before == _prints(folder / "run", made.decode(), mpi, 3) != []


@pytest.mark.parametrize("name", ["motion request 0", "fission order 0"])
def test_the_results_are_the_same(name: str, tmp_path: Path, runtime: dict[Mpi, Path]) -> None:
    """Of programs that keep one step, and take others."""
    (mpi, *_) = installed(OPENMPI, MPICH)
    assert _same(ALL[name].bound, tmp_path, mpi, runtime[mpi])


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(), ids=str)
@pytest.mark.parametrize("which", ["free", "bound"])
@pytest.mark.parametrize("name", ALL)
def test_all_results_are_the_same(
    name: str, which: str, mpi: Mpi, tmp_path: Path, runtime: dict[Mpi, Path]
) -> None:
    text = ALL[name].free if which == "free" else ALL[name].bound
    assert _same(text, tmp_path, mpi, runtime[mpi])
