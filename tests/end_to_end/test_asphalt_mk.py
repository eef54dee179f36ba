"""``asphalt.mk``: the transformation as a step of a build with make."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cli_programs import MAIN, TRANSPOSES

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
    return write(tmp_path)


@dataclass(frozen=True)
class FirstBuild:
    folder: Path
    lines: list[str]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> FirstBuild:
    folder = write(tmp_path_factory.mktemp("first"))
    return FirstBuild(folder, make(folder))


@pytest.fixture
def built(first: FirstBuild, tmp_path: Path) -> Path:
    """A copy of the first build, with the times of its files."""
    return Path(shutil.copytree(first.folder, tmp_path / "built"))


def write(folder: Path) -> Path:
    (folder / "src").mkdir()
    (folder / "src" / "main.f90").write_text(MAIN)
    (folder / "src" / "transposes.f90").write_text(TRANSPOSES)
    command = f"{sys.executable} -m asphalt"
    (folder / "Makefile").write_text(MAKEFILE.format(asphalt=command))
    return folder


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


def test_a_build_from_nothing(first: FirstBuild) -> None:
    here, lines = first.folder, first.lines
    assert transformed(lines) == 1
    used = ("backend_isend", "choice", "communicators", "core", "exchange")
    runtime = [f"asphalt_{name}.f90" for name in used]
    assert compiled(lines) == [*runtime, "main.f90", "transposes.f90"]
    assert "! asphalt:" in (here / "build" / "asphalt" / "src" / "transposes.f90").read_text()
    assert (here / "program").exists()


def test_nothing_to_do(built: Path) -> None:
    assert make(built) == ["make: 'program' is up to date."]


def test_a_changed_source(built: Path) -> None:
    (built / "src" / "main.f90").write_text(MAIN + "! another line\n")
    lines = make(built)
    assert transformed(lines) == 1
    assert compiled(lines) == ["main.f90"]


def test_an_edited_header(built: Path) -> None:
    header = built / "build" / "asphalt" / "src" / "asphalt_params.inc"
    header.write_text(header.read_text() + "! edited\n")
    lines = make(built)
    assert transformed(lines) == 0
    assert "transposes.f90" in compiled(lines)
    assert "asphalt_core.f90" not in compiled(lines)
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


def test_a_removed_output_is_made_again(built: Path) -> None:
    (built / "build" / "asphalt" / "src" / "transposes.f90").unlink()
    lines = make(built)
    assert transformed(lines) == 1
    assert "transposes.f90" in compiled(lines)


def test_other_options(built: Path) -> None:
    flags = "ASPHALT_FLAGS=--no-cache --jobs 1 --tile 4 -DNAME='a b'"
    lines = make(built, flags)
    assert transformed(lines) == 1
    assert "transposes.f90" in compiled(lines)
    assert "main.f90" in compiled(lines)  # it uses the module of the other
    assert (
        "asphalt_k_transpose = 4"
        in (built / "build" / "asphalt" / "src" / "asphalt_params.inc").read_text()
    )
    assert transformed(make(built, flags)) == 0


def test_clean_does_not_transform(here: Path) -> None:
    assert transformed(make(here, "clean")) == 0


def test_clean_removes_what_was_made(built: Path) -> None:
    assert transformed(make(built, "clean")) == 0
    assert not (built / "build").exists()


def test_an_error_stops_the_build(here: Path) -> None:
    (here / "src" / "transposes.f90").write_bytes(b"\0")
    done = subprocess.run(["make", "-j4"], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "asphalt: error: src/transposes.f90" in done.stderr
    assert not (here / "program").exists()
