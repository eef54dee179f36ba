"""``asphalt fc``, with a real compiler."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from asphalt.building.common_defines import common_defines
from asphalt.building.compiler_words import Reading, command_of
from asphalt.building.database import Entry
from asphalt.building.marks import marks_in
from asphalt.cli.main import main
from support.mpi_run import OPENMPI, installed, run

pytestmark = [
    pytest.mark.skipif(not installed(OPENMPI), reason="needs Open MPI"),
    pytest.mark.skipif(shutil.which("objcopy") is None, reason="needs binutils"),
]
FC = OPENMPI.free
KERN = """\
module kern
  implicit none
contains
  subroutine work(c, n)
    integer, intent(in) :: n
    double precision, intent(out) :: c(n)
    integer :: i
    do i = 1, n
      c(i) = sin(1d0*i)*cos(2d0*i)
    end do
  end subroutine work
end module kern
"""
MAIN = """\
program main
  use mpi
  use kern, only: work
  implicit none
  include 'sizes.inc'
  integer :: ierr, rank, other
  double precision :: a(n), b(n), c(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  other = 1 - rank
  a = rank
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, other, 1, b, n, MPI_DOUBLE_PRECISION, other, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call work(c, n)
  if (rank == 0) print '(2es24.16)', sum(b), sum(c)
  call MPI_Finalize(ierr)
end program main
"""
PRINTS = KERN.replace("    do i", "    print *, n\n    do i")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.f90").write_text(MAIN)
    (tmp_path / "src" / "kern.f90").write_text(KERN)
    (tmp_path / "src" / "sizes.inc").write_text("  integer, parameter :: n = 1000\n")
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path / "build")
    return tmp_path / "build"


COMMANDS = (
    f"{FC} -O1 -c ../src/kern.f90 -o kern.o",
    f"{FC} -O1 -I../src -c ../src/main.f90 -o main.o",
    f"{FC} -o prog main.o -L. -lk",
)


def fc(option: str, command: str) -> int:
    return main(["fc", option, "build.json", "--", *command.split()])


def make(option: str, *commands: str) -> list[int]:
    """The exit codes of the commands; what was compiled of kern goes into an archive."""
    codes = []
    for command in commands or COMMANDS:
        codes.append(fc(option, command))
        if command == COMMANDS[0]:
            subprocess.run(["ar", "rcs", "libk.a", "kern.o"], check=True)
    return codes


def calls(program: Path) -> bool:
    """Whether a program has the runtime."""
    names = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True)
    return "asphalt_core" in names.stdout


def test_a_build(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert make("--record") == [0, 0, 0]
    assert not calls(here / "prog")
    expected = run(OPENMPI, here / "prog", 2)
    capfd.readouterr()
    assert make("--database") == [0, 0, 0]
    assert calls(here / "prog")
    (line,) = capfd.readouterr().err.splitlines()  # nothing of the file without a transfer
    assert line.startswith("asphalt: ../src/main.f90: transformed, as ")
    assert "asphalt_isend" in Path(line.rpartition(" ")[2]).read_text()
    assert run(OPENMPI, here / "prog", 2) == expected
    assert [Path(one.source).name for one in marks_in(here / "libk.a")] == ["kern.f90"]

    # an edit that changes no proof: what was compiled of the other file is right
    kern = here.parent / "src" / "kern.f90"
    kern.write_text(KERN.replace("cos(2d0", "cos(3d0"))
    assert make("--database", COMMANDS[0], COMMANDS[2]) == [0, 0]
    # nothing moves past output
    kern.write_text(PRINTS)
    capfd.readouterr()
    assert make("--database", COMMANDS[0], COMMANDS[2]) == [0, 2]
    told = capfd.readouterr().err
    assert "compile " in told
    assert "src/main.f90 again" in told
    assert "kern.f90" not in told
    assert make("--database", COMMANDS[1], COMMANDS[2]) == [0, 0]
    # an object in an archive that is older than its source
    kern.write_text(KERN)
    assert fc("--database", COMMANDS[1]) == 0
    assert fc("--database", COMMANDS[2]) == 2
    assert "src/kern.f90 again" in capfd.readouterr().err


def test_a_shared_library(here: Path) -> None:
    """The runtime is in what needs it first, and in nothing else."""
    commands = (
        f"{FC} -O1 -fPIC -I../src -c ../src/kern.f90 -o kern.o",
        f"{FC} -O1 -fPIC -I../src -c ../src/main.f90 -o main.o",
        f"{FC} -shared -o libk.so kern.o main.o",
        f"{FC} -o prog -L. -lk -Wl,-rpath,{here}",
    )
    assert make("--record", *commands) == [0, 0, 0, 0]
    expected = run(OPENMPI, here / "prog", 2)
    assert make("--database", *commands) == [0, 0, 0, 0]
    assert defines(here / "libk.so")
    assert not defines(here / "prog")
    assert run(OPENMPI, here / "prog", 2) == expected
    (here.parent / "src" / "kern.f90").write_text(PRINTS)
    assert fc("--database", commands[3]) == 2  # the library is older than its sources


def defines(file: Path) -> bool:
    """Whether a program or library has procedures of the runtime, not only calls of them."""
    command = ["nm", "--defined-only", str(file)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return "asphalt_core" in found.stdout


def test_a_macro_of_one_source(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kern = here.parent / "src" / "kern.f90"
    kern.write_text(KERN.replace("    do i", "#ifndef FAST\n    print *, n\n#endif\n    do i"))
    with_macro = COMMANDS[0].replace("-O1", "-O1 -DFAST -cpp")
    preprocessed = COMMANDS[1].replace("-O1", "-O1 -cpp")
    commands = (with_macro, preprocessed, f"{FC} -o prog main.o kern.o")
    assert make("--record", *commands) == [0, 0, 0]
    expected = run(OPENMPI, here / "prog", 2)
    assert make("--database", *commands) == [0, 0, 0]
    assert calls(here / "prog")
    assert run(OPENMPI, here / "prog", 2) == expected
    main_file = here.parent / "src" / "main.f90"
    main_file.write_text(MAIN.replace("  a = rank\n", "#ifdef FAST\n#endif\n  a = rank\n"))
    assert fc("--database", preprocessed) == 0
    assert "compiled with different -D, for FAST" in capsys.readouterr().err


def test_macros_whose_names_have_parts(here: Path) -> None:
    """A name that the preprocessor puts together is not seen."""
    files = {
        "a.f90": "print *, FAST\n",
        "b.f90": "#define JOIN(x, y) x##y\nprint *, JOIN(FA, ST)\n",
    }
    for name, text in files.items():
        (here / name).write_text(text)
    readings = (Reading(("FAST",), cpp=True), Reading(cpp=True))
    known = [Entry(here / name, one) for name, one in zip(files, readings, strict=True)]
    assert "b.f90 puts names of macros together" in common_defines(known)
    (here / "b.f90").write_text("print *, 2\n")
    assert common_defines(known) == ("FAST",)
    # a compiler that reads directives for accelerators, and one that does not
    readings = (Reading(("_OPENACC",)), Reading())
    known = [Entry(here / name, one) for name, one in zip(files, readings, strict=True)]
    (here / "a.f90").write_text("!$acc kernels\n")
    assert common_defines(known) == ("_OPENACC",)
    (here / "b.f90").write_text("print *, 2\n!$ACC parallel\n")
    assert "_OPENACC" in common_defines(known)[-200:]
    assert isinstance(common_defines(known), str)


SPREAD = """\
program spread_out
  use mpi
  implicit none
  integer, parameter :: n = 64
  integer :: ierr, p, k, i
  double precision, allocatable :: s(:, :), r(:, :)
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, p, ierr)
  allocate (s(n, 4*p), r(n, 4*p))
  do k = 1, 4*p
    do i = 1, n
      s(i, k) = i*k
    end do
  end do
  call MPI_Alltoall(s, 4*n, MPI_DOUBLE_PRECISION, r, 4*n, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program spread_out
"""


def test_k_and_d_stay_what_somebody_made_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = here.parent / "src" / "spread.f90"
    source.write_text(SPREAD)
    commands = (f"{FC} -c ../src/spread.f90 -o spread.o", f"{FC} -o prog spread.o")
    assert make("--record", *commands) == [0, 0]
    assert make("--database", *commands) == [0, 0]
    (header,) = (here / "build.asphalt" / "latest" / "source").rglob("asphalt_params.inc")
    (line,) = (one for one in header.read_text().splitlines() if "asphalt_k_spread_out = 0" in one)
    changed = line.replace("= 0", "= 2")
    header.write_text(header.read_text().replace(line, changed))
    assert fc("--database", commands[1]) == 2  # the object is older than its K
    assert "spread.f90 again" in capsys.readouterr().err
    assert make("--database", *commands) == [0, 0]
    source.write_text(SPREAD.replace("i*k", "i + k"))
    assert make("--database", *commands) == [0, 0]
    (after,) = (here / "build.asphalt" / "latest" / "source").rglob("asphalt_params.inc")
    assert after.resolve() != header.resolve() or changed in after.read_text()
    assert changed in after.read_text()


MAKEFILE = """\
prog: main.o kern.o a.o b.o
\t$(FC) -o $@ $^
main.o: ../src/main.f90 kern.o
\t$(FC) -O1 -I../src -c $< -o $@
%.o: ../src/%.f90
\t$(FC) -O1 -c $< -o $@
clean:
\trm -f *.o *.mod prog
"""


def test_a_parallel_make(here: Path) -> None:
    for name in "ab":
        text = f"subroutine {name}\nend subroutine {name}\n"
        (here.parent / "src" / f"{name}.f90").write_text(text)
    (here / "Makefile").write_text(MAKEFILE)
    wrapper = f"{sys.executable} -m asphalt fc {{}} build.json -- {FC}"
    for option in ("--record", "--database"):
        command = ["make", "-j4", f"FC={wrapper.format(option)}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert calls(here / "prog") == (option == "--database")
        subprocess.run(["make", "clean"], capture_output=True, check=True)
    assert len(json.loads((here / "build.json").read_text())) == 4


def test_what_the_database_does_not_have(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make("--record") == [0, 0, 0]
    (here / "new.f90").write_text("subroutine new\nend subroutine new\n")
    assert fc("--database", f"{FC} -c new.f90") == 2
    assert "new.f90: is not in " in capsys.readouterr().err
    assert fc("--database", COMMANDS[0].replace("-O1", "-O1 -DX")) == 2
    assert "other options than before" in capsys.readouterr().err
    (here / "conftest.f90").write_text("program p\nend program p\n")
    assert fc("--database", f"{FC} -c conftest.f90") == 0
    assert not list(marks_in(here / "conftest.o"))
    assert capsys.readouterr().err == ""  # which configurations take for a warning


def test_one_command_for_all(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = f"{FC} -O1 -I../src ../src/kern.f90 ../src/main.f90 -o prog"
    assert main(["--quiet", "fc", "--", *words.split()]) == 0
    assert capfd.readouterr().err == ""
    assert main(["fc", "--", *words.split()]) == 0
    assert capfd.readouterr().err == "asphalt: ../src/main.f90: transformed\n"
    assert calls(here / "prog")
    assert run(OPENMPI, here / "prog", 2).code == 0


def test_a_part_of_a_program_stays_as_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fc", "--", *COMMANDS[0].split()]) == 0
    assert main(["fc", "--", *COMMANDS[1].split()]) == 0
    assert "main.f90: as it is, since this command shows a part" in capsys.readouterr().err
    subprocess.run(["ar", "rcs", "libk.a", "kern.o"], check=True)
    assert main(["fc", "--", *COMMANDS[2].split()]) == 0
    assert not calls(here / "prog")
    assert run(OPENMPI, here / "prog", 2).code == 0


@pytest.mark.parametrize("more", ["kern.o", "-L. -lk", "callbacks.c", "-shared", "-c"])
def test_what_shows_a_part_of_a_program(here: Path, more: str) -> None:
    (here / "libk.a").touch()
    words = (FC, "../src/main.f90", *more.split())
    assert not command_of(words, here).is_whole
    assert command_of(words[:2], here).is_whole


def test_the_exit_code_is_the_compilers(here: Path) -> None:
    (here / "bad.f90").write_text("program p\n  nonsense(\nend program p\n")
    assert main(["fc", "--", FC, "-c", "bad.f90"]) == 1
    assert main(["fc", "--", "no-such-compiler", "-c", "bad.f90"]) == 2
