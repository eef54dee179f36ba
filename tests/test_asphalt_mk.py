"""``asphalt.mk``: the transformation as a step of a build with make."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_programs import MAIN, TRANSPOSES

pytestmark = pytest.mark.skipif(
    shutil.which("mpif90") is None or shutil.which("make") is None, reason="needs mpif90 and make"
)

MAKEFILE = """\
ASPHALT = {asphalt}
ASPHALT_SOURCES = src/main.f90 src/transposes.f90
ASPHALT_BUILD = build/asphalt
ASPHALT_FLAGS = --no-cache --jobs 1
include $(shell $(ASPHALT) mk)

program: $(ASPHALT_OBJECTS)
\tmpif90 -o $@ $^
$(ASPHALT_BUILD)/%.o: $(ASPHALT_BUILD)/%.f90
\tmpif90 -J $(ASPHALT_BUILD) -c -o $@ $<
clean:
\trm -rf build program
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.f90").write_text(MAIN)
    (tmp_path / "src" / "transposes.f90").write_text(TRANSPOSES)
    command = f"{sys.executable} -m asphalt"
    (tmp_path / "Makefile").write_text(MAKEFILE.format(asphalt=command))
    return tmp_path


def make(folder: Path, *goals: str) -> list[str]:
    """The commands that make ran, or its last words where it fails."""
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # the suite may itself be run by make
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    done = subprocess.run(
        ["make", "-j4", *goals], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def compiled(lines: list[str]) -> list[str]:
    return sorted(line.split("/")[-1] for line in lines if " -c -o " in line)


def transformed(lines: list[str]) -> int:
    return sum(" apply " in line for line in lines)


def test_a_build_from_nothing(here: Path) -> None:
    lines = make(here)
    assert transformed(lines) == 1
    assert compiled(lines) == ["asphalt_rt.f90", "main.f90", "transposes.f90"]
    assert "! asphalt:" in (here / "build" / "asphalt" / "src" / "transposes.f90").read_text()
    assert (here / "program").exists()


def test_nothing_to_do(here: Path) -> None:
    make(here)
    assert make(here) == ["make: 'program' is up to date."]


def test_a_changed_source(here: Path) -> None:
    make(here)
    (here / "src" / "main.f90").write_text(MAIN + "! another line\n")
    lines = make(here)
    assert transformed(lines) == 1
    assert compiled(lines) == ["main.f90"]


def test_an_edited_header(here: Path) -> None:
    make(here)
    header = here / "build" / "asphalt" / "src" / "asphalt_params.inc"
    header.write_text(header.read_text() + "! edited\n")
    lines = make(here)
    assert transformed(lines) == 0
    assert "transposes.f90" in compiled(lines)
    assert "asphalt_rt.f90" not in compiled(lines)
    assert header.read_text().endswith("! edited\n")


def test_an_edited_include_file(here: Path) -> None:
    """What is proved may rest on it: the sources are analysed again, and it is compiled again."""
    (here / "include").mkdir()
    (here / "include" / "sizes.inc").write_text("integer, parameter :: n = 3, nz = 10\n")
    text = MAIN.replace("integer, parameter :: n = 3, nz = 10", "include 'sizes.inc'")
    (here / "src" / "main.f90").write_text(text)
    rules = (here / "Makefile").read_text()
    rules = rules.replace("--jobs 1", "--jobs 1 -Iinclude").replace("-c -o", "-Iinclude -c -o")
    (here / "Makefile").write_text(rules)
    make(here)
    (here / "include" / "sizes.inc").write_text("integer, parameter :: n = 4, nz = 11\n")
    lines = make(here)
    assert transformed(lines) == 1
    assert compiled(lines) == ["main.f90"]
    assert make(here) == ["make: 'program' is up to date."]


def test_a_removed_output_is_made_again(here: Path) -> None:
    make(here)
    (here / "build" / "asphalt" / "src" / "transposes.f90").unlink()
    lines = make(here)
    assert transformed(lines) == 1
    assert "transposes.f90" in compiled(lines)


def test_other_options(here: Path) -> None:
    make(here)
    flags = "ASPHALT_FLAGS=--no-cache --jobs 1 --tile 4 -DNAME='a b'"
    lines = make(here, flags)
    assert transformed(lines) == 1
    assert "transposes.f90" in compiled(lines)
    assert "main.f90" in compiled(lines)  # it uses the module of the other
    assert (
        "asphalt_k_transpose = 4"
        in (here / "build" / "asphalt" / "src" / "asphalt_params.inc").read_text()
    )
    assert transformed(make(here, flags)) == 0


def test_clean_does_not_transform(here: Path) -> None:
    assert transformed(make(here, "clean")) == 0
    make(here)
    assert transformed(make(here, "clean")) == 0
    assert not (here / "build").exists()


def test_an_error_stops_the_build(here: Path) -> None:
    (here / "src" / "transposes.f90").write_bytes(b"\0")
    done = subprocess.run(["make", "-j4"], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "asphalt: error: src/transposes.f90" in done.stderr
    assert not (here / "program").exists()
