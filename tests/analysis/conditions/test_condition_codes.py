"""Every code has a program in the suite that gets it, and a refused file stays as it was."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest

from asphalt.cli.main import main
from asphalt.diagnostics.catalogue import ALL_CODES, STEP_CODES
from support.judging import Case
from support.mpi_run import MPICH, OPENMPI, compile_source, installed

CASES: tuple[Case, ...] = tuple(
    case
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    if path != Path(__file__)
    for case in run_path(str(path)).get("CASES", ())
)
# what only a defect of asphalt itself raises
DEFECTS = {"ASP005", "ASP901"}


def test_every_code_has_a_program() -> None:
    assert {case.code for case in CASES} == set(ALL_CODES) - set(STEP_CODES) - DEFECTS


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_refused_file_comes_out_byte_for_byte(case: Case, tmp_path: Path) -> None:
    source, out = tmp_path / "src", tmp_path / "out"
    source.mkdir()
    before = case.refused.replace("\n", "  \t\r\n", 3).encode(
        "latin-1"
    )  # not as one would write it
    (source / f"exchange{case.suffix}").write_bytes(before)
    defines = [option for define in case.defines for option in ("-D", define)]
    options = ["--output", str(out), "--no-cache", "--jobs", "1", "--passes", "prepush", *defines]
    assert main(["apply", str(source), *options]) == 0
    assert (out / f"exchange{case.suffix}").read_bytes() == before
    assert not list(out.rglob("asphalt_params.inc"))


# what no compiler takes as it stands
INCOMPLETE = {
    "module-that-is-not-given",
    "module-of-sizes-that-is-not-given",
    "no-module-of-mpi",
    "statement-not-understood-elsewhere",
}


@pytest.mark.wide
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in INCOMPLETE], ids=str)
def test_the_programs_are_fortran(case: Case, tmp_path: Path) -> None:
    for name, text in (("refused", case.refused), ("accepted", case.accepted)):
        source = tmp_path / f"{name}{case.suffix}"
        source.write_text(text)
        (mpi, *_) = installed(OPENMPI, MPICH)
        flags = [f"-D{define}" for define in case.defines]
        outcome = compile_source(mpi, source, tmp_path, ["-fsyntax-only", *flags])
        assert outcome.code == 0, outcome.stderr


def test_a_code_belongs_to_the_condition_that_its_number_says() -> None:
    for code in ALL_CODES.values():
        assert len(code.id) in (6, 7)
        assert int(code.id.removeprefix("ASP")) // 100 == code.condition
