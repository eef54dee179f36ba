"""The words of compilers, and databases of what builds compile."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asphalt.building.compiler_words import Reading, command_of, reading_of
from asphalt.building.database import Entry, entries, record
from asphalt.config.errors import InputError
from asphalt.ir.source import Form


def test_what_a_command_does() -> None:
    here = Path("/build")
    compiled = command_of(["mpif90", "-O2", "-I", "inc", "-c", "../src/a.F90", "-o", "a.o"], here)
    assert (compiled.compiles, compiled.links, compiled.output) == (True, False, "a.o")
    assert [compiled.path(place) for place in compiled.sources] == [Path("/src/a.F90")]
    linked = command_of(["mpif90", "-o", "p", "main.o", "libk.a"], here)
    assert (linked.compiles, linked.links) == (False, True)
    assert list(linked.objects()) == [here / "main.o", here / "libk.a"]
    both = command_of(["mpif90", "a.f90", "b.f90", "-o", "p"], here)
    assert (both.compiles, both.links, len(both.sources)) == (True, True, 2)
    for asked in ("mpif90 --version", "mpif90 -E a.f90", "mpif90 -fsyntax-only a.f90"):
        assert not command_of(asked.split(), here).compiles


@pytest.mark.parametrize(
    ("words", "folder", "trial"),
    [
        ("mpif90 -c conftest.f90", "/build", True),
        ("mpif90 -o conftest conftest.o", "/build", True),
        ("mpif90 -c testFortranCompiler.f90", "/build/CMakeFiles/CMakeScratch/TryCompile-x", True),
        ("mpif90 -c config.f90", "/build", False),
    ],
)
def test_trials_of_configurations(words: str, folder: str, trial: bool) -> None:
    assert command_of(words.split(), Path(folder)).is_trial is trial


@pytest.mark.parametrize(
    ("words", "reading"),
    [
        ("", Reading()),
        ("-DA -D B=2 -Iinc -I /usr", Reading(("A", "B=2"), ("/build/inc", "/usr"))),
        ("-ffixed-form -ffixed-line-length-132", Reading(form=Form.FIXED, fixed=132)),
        ("-ffree-form -ffree-line-length-none", Reading(form=Form.FREE, free=1_000_000)),
        ("-cpp", Reading(cpp=True)),
        # the directives of OpenACC and CUDA Fortran mean something
        ("-fopenacc", Reading(("_OPENACC",))),
        ("-DA -acc=gpu -gpu=cc80", Reading(("A", "_OPENACC"))),
        ("-Mcuda=ccall -ta=tesla", Reading(("_OPENACC", "_CUDA"))),
        ("-fopenmp -accurate", Reading()),
    ],
)
def test_how_a_source_is_read(words: str, reading: Reading) -> None:
    command = command_of(["mpif90", *words.split(), "-c", "a.f90"], Path("/build"))
    assert reading_of(command) == reading


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("-O2 -fdefault-real-8", "-fdefault-real-8"),
        ("-fdefault-integer-8", "-fdefault-integer-8"),
        ("-freal-4-real-8", "-freal-4-real-8"),
        ("-r8", "-r8"),
        ("-i8", "-i8"),
        ("-Mr8", "-Mr8"),
        ("-real-size 64", "-real-size"),
        ("-integer_size 64", "-integer_size"),
        ("-autodouble", "-autodouble"),
        ("-qrealsize=8", "-qrealsize=8"),
        ("-s real64", "-s real64"),
        ("-sdefault64", "-sdefault64"),
        ("-s", None),
        ("-O3 -march=native -ffree-form", None),
        ("-o real -real", None),
    ],
)
def test_options_that_set_default_kinds(words: str, option: str | None) -> None:
    command = command_of(["mpif90", *words.split(), "-c", "a.f90"], Path("/build"))
    assert command.other_kinds == option


def test_a_database_is_whole_whoever_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "build.json"

    def write(number: int) -> None:
        record(file, command_of(["f90", f"-DN={number}", "-c", f"{number}.f90"], tmp_path))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert set(entries(file)) == {
        Entry(tmp_path / f"{n}.f90", Reading((f"N={n}",))) for n in range(40)
    }
    record(file, command_of(["f90", "-DN=new", "-c", "0.f90"], tmp_path))
    assert Entry(tmp_path / "0.f90", Reading(("N=new",))) in entries(file)


def test_databases_of_others_are_read(tmp_path: Path) -> None:
    file = tmp_path / "compile_commands.json"
    row = {"directory": str(tmp_path), "command": "/usr/bin/mpif90 -DX -c a.f90", "file": "a.f90"}
    other = row | {"file": "b.c"}
    file.write_text(json.dumps([row, other]))
    assert entries(file) == (Entry(tmp_path / "a.f90", Reading(("X",))),)
    file.write_text("[1]")
    with pytest.raises(InputError, match="is no compilation database"):
        entries(file)
