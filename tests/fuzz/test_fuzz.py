"""The fuzzer itself: a small fixed sample, the mutants it must find, and all that it ever found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings

from asphalt.running.mpi import MPIS, Mpi
from fuzz.checking import Setting, failures
from fuzz.hazards import HAZARDS
from fuzz.mutation import MUTANTS, Mutant, named
from fuzz.oddities import MUST_STAY, ODDITIES
from fuzz.plain import LEVEL, PLAIN, plain_program
from fuzz.program import HOMES, Exchange, Procedure, Program, simpler
from fuzz.render import render
from fuzz.strategy import draw_exchange, lawful, numbered_program, programs
from fuzz.teeth import hazard_of, hunt
from fuzz.transformation import Case, must_stay, transformed
from support.mpi_run import SMPI, installed

SAMPLE = range(12)
needs_smpi = pytest.mark.skipif(not installed(SMPI), reason="SMPI is not installed")


def _cases(seed: int, numbers: range, folder: Path, binding: str = "") -> list[Case]:
    return [
        transformed(numbered_program(seed, n, binding), f"c{n}", folder, bits=True) for n in numbers
    ]


@needs_smpi
def test_a_sample_of_programs(tmp_path: Path) -> None:
    cases = _cases(4, SAMPLE, tmp_path)
    assert failures(cases, Setting(), tmp_path / "run") == []
    assert sum(case.changed for case in cases) >= 0.4 * len(cases)
    assert any(must_stay(case.program) for case in cases)


@pytest.mark.wide
@pytest.mark.parametrize("mpi", [m for m in MPIS if m.name in map(str, installed())], ids=str)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_more_programs(mpi: Mpi, level: str, tmp_path: Path) -> None:
    numbers = range(200) if mpi.simulated else range(200, 230)
    binding = "" if mpi.simulated else "use mpi_f08"
    setting = Setting(level, mpi)
    cases = [
        transformed(numbered_program(3, n, binding), f"c{n}", tmp_path, setting.bits)
        for n in numbers
    ]
    for start in range(0, len(cases), 40):
        assert failures(cases[start : start + 40], setting, tmp_path / "run") == []


@settings(max_examples=30, deadline=None)
@given(programs())
def test_texts_keep_to_their_form(program: Program) -> None:
    source = render(program, "c0")
    for line in source.text.splitlines():
        assert len(line) <= (72 if program.fixed else 132) or line.startswith("!")
    assert source.name == ("c0.f" if program.fixed else "c0.f90")
    assert program not in simpler(program)


def test_every_drawn_program_is_lawful() -> None:
    drawn = [numbered_program(4, number) for number in range(500)]
    assert all(lawful(program) for program in drawn if must_stay(program))


def test_simplifying_ends() -> None:
    program, steps = numbered_program(2, 1), 0
    while further := simpler(program):
        program, steps = further[0], steps + 1
        assert steps < 500
    assert program.exchanges == (Exchange(),)


@pytest.mark.parametrize("odd", MUST_STAY[::4])
def test_what_must_stay_stays(odd: str, tmp_path: Path) -> None:
    _assert_stays(odd, 1, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("odd", MUST_STAY)
def test_what_must_stay_stays_in_all_surroundings(odd: str, tmp_path: Path) -> None:
    _assert_stays(odd, 20, tmp_path)


@pytest.mark.parametrize(
    ("mutant", "odd"),
    [("ASP701", "print between"), ("ASP601", "changed after"), ("ASP702", "broadcast between")],
)
def test_an_illegal_program_shows_a_mutant(mutant: str, odd: str, tmp_path: Path) -> None:
    program = Program((Procedure("main", (Exchange(storage="allocatable", odd=odd),)),))
    assert transformed(program, "c0", tmp_path).fault == ""
    with named(mutant).active():
        assert transformed(program, "c0", tmp_path).fault == "an illegal program was changed"


@needs_smpi
def test_a_run_shows_a_mutant(tmp_path: Path) -> None:
    late = Program((Procedure("main", (Exchange(storage="allocatable", late=2),)),))
    setting = Setting(ranks=(2,))
    with named("ASP401").active():
        case = transformed(late, "c0", tmp_path)
    found = failures([case], setting, tmp_path / "run")
    assert [failure.kind for failure in found] == ["different"]


@pytest.mark.wide
@pytest.mark.parametrize("mpi", [m for m in MPIS if m.name in map(str, installed())], ids=str)
def test_a_receive_of_any_tag_is_pending_on_one_rank(mpi: Mpi, tmp_path: Path) -> None:
    exchange = Exchange(storage="fixed", odd="any source", skipped=(1, 0))
    case = transformed(Program((Procedure("procedure", (exchange,)),), nz=3), "c58", tmp_path)
    assert case.changed
    assert failures([case], Setting(mpi=mpi, ranks=(1, 2)), tmp_path / "run") == []


@pytest.mark.wide
@needs_smpi
@pytest.mark.parametrize("mutant", PLAIN)
def test_a_plain_program_shows_each_mutant(mutant: str, tmp_path: Path) -> None:
    program = plain_program(mutant)
    setting = Setting(LEVEL.get(mutant, "-O0"), ranks=(3,))
    assert transformed(program, "c0", tmp_path, setting.bits).fault == ""
    with named(mutant).active():
        case = transformed(program, "c0", tmp_path, setting.bits)
    assert case.changed
    if case.fault != "an illegal program was changed":
        assert failures([case], setting, tmp_path / "run")


@pytest.mark.wide
@needs_smpi
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_random_programs_show_each_mutant(mutant: Mutant) -> None:
    mpi = HAZARDS[hazard_of(mutant)].mpi
    if mpi.name not in map(str, installed()):
        pytest.skip(f"{mpi.name} is not installed")
    found = hunt(mutant, 7, range(400))
    # nothing but MPI_IN_PLACE is sent then, and that no loop defines: ASP101 refuses it as well
    assert found.done is (mutant.name != "ASP002/ASP602 in place")


@pytest.mark.wide
def test_programs_of_a_hazard_are_close_to_its_condition(tmp_path: Path) -> None:
    for mutant in MUTANTS[::4]:
        codes = {"proved", *mutant.codes}
        said: set[str] = set()
        for number in range(10):
            program = numbered_program(7, number, near=hazard_of(mutant))
            case = transformed(program, "c0", tmp_path, bits=True)
            assert case.fault == ""
            said |= {code or verdict for verdict, code in case.verdicts}
        assert said & codes, mutant.name


@needs_smpi
def test_a_run_shows_that_a_copy_is_used(tmp_path: Path) -> None:
    left_out = Exchange(
        storage="allocatable", work="planes first", against=True, order="pzi", silent=True
    )
    said = transformed(Program((Procedure("main", (left_out,)),)), "c0", tmp_path)
    assert said.layouts == ("can be prepushed along z (strided)",)
    shown = Program((Procedure("main", (replace(left_out, silent=False),)),))
    assert not transformed(shown, "c0", tmp_path).changed
    with named("ASP105 the copy").active():
        case = transformed(shown, "c0", tmp_path)
    found = failures([case], Setting(ranks=(2,)), tmp_path / "run")
    assert [failure.kind for failure in found] == ["different"]


def _assert_stays(odd: str, count: int, folder: Path) -> None:
    for number in range(count):
        random = Random(f"{odd} {number}")
        home = random.choice(ODDITIES[odd].homes or HOMES)
        program = Program((Procedure(home, (draw_exchange(random, odd),)),), n=2 + number % 2)
        case = transformed(program, "c0", folder, bits=True)
        assert case.fault == "", (odd, number)
        assert not case.changed
