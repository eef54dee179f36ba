"""What proofs look through: the step is taken where the fact holds, and where it does not, only the
question about it prevents the step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, Mpi, installed, same_lines
from support.safety_facts import FACTS, Fact

ALL = {f"{name} {n}": fact for name, facts in FACTS.items() for n, fact in enumerate(facts)}


def _made(fact: Fact, which: str, folder: Path) -> list[bytes]:
    """What asphalt makes of one of the two programs."""
    text, beside = (fact.free, {}) if which == "free" else (fact.bound, fact.beside)
    for name, content in {f"main{fact.suffix}": text, **beside}.items():
        (folder / name).write_text(content)
    settings = Settings(cache=False, jobs=1, passes=fact.passes, assume=fact.assume)
    return [change.after for change in Project(folder, settings=settings).transform()]


def _is_taken(fact: Fact, which: str, folder: Path) -> bool:
    """Whether asphalt takes the step in one of the two programs."""
    return any(re.search(fact.step, text.decode()) for text in _made(fact, which, folder))


@pytest.mark.parametrize("name", ALL)
def test_the_step_is_taken_where_the_fact_holds(name: str, tmp_path: Path) -> None:
    fact = ALL[name]
    for which, taken in (("free", True), ("bound", False)):
        folder = tmp_path / which
        folder.mkdir()
        assert _is_taken(fact, which, folder) is taken


@pytest.mark.parametrize("name", ALL)
def test_the_pair_finds_a_question_that_is_not_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = ALL[name]
    monkeypatch.setattr(fact.without.owner, fact.without.name, fact.without.answer)
    assert _is_taken(fact, "bound", tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize("which", ["free", "bound"])
@pytest.mark.parametrize("name", [name for name, fact in ALL.items() if fact.passes == TRANSFERS])
def test_results_are_the_same(name: str, which: str, mpi: Mpi, tmp_path: Path) -> None:
    fact = ALL[name]
    folder = tmp_path / "source"
    folder.mkdir()
    made = _made(fact, which, folder)
    if made and fact.suffix == ".f90":
        text = fact.free if which == "free" else fact.bound
        same_lines(mpi, tmp_path, text, made[0])
