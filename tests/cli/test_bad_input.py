"""Input that makes no sense: file, line and what to do on stderr, exit code 2, nothing written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from asphalt.cli.main import main
from support.cli_programs import TRANSPOSES, write_tree

NEST_LINE = TRANSPOSES.splitlines().index("    do z = 1, nz") + 1
COMMANDS = ("scan", "diff", "apply", "explain")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path / "src")
    return tmp_path


def arguments(command: str, *options: str) -> list[str]:
    what = {"apply": ["src", "--output", "out"], "explain": ["src/transposes.f90:20", "src"]}
    return [command, *what.get(command, ["src"]), "--no-cache", "-j1", *options]


def state(folder: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def refused(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Each command refuses the input, says why in one line, and writes nothing."""

    def check(message: str, *options: str, commands: tuple[str, ...] = COMMANDS) -> None:
        before = state(here)
        for command in commands:
            assert main(arguments(command, *options)) == 2, command
            written = capsys.readouterr()
            errors = [line for line in written.err.splitlines() if "error:" in line]
            assert len(errors) == 1, written.err
            assert message in errors[0]
            assert written.out == ""
        assert state(here) == before

    return check


def with_directive(here: Path, *lines: str, before: str = "    do z = 1, nz") -> None:
    """Put lines in front of a statement of the exchange."""
    path = here / "src/transposes.f90"
    text = "".join(f"    {line}\n" for line in lines)
    assert before in TRANSPOSES
    path.write_text(TRANSPOSES.replace(before, f"{text}{before}", 1))


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["!$asphalt tiles(8)"], 0, "'tiles' is no directive of asphalt"),
        (["!$asphalt tile(-1)"], 0, "tile takes a whole number from 0"),
        (["!$asphalt depth(5000)"], 0, "depth takes a whole number from 1 to 4096"),
        (["!$asphalt assume(sunshine)"], 0, "'sunshine' is no assumption"),
        (["!$asphalt assume(uniform: nx)"], 0, "nothing"),
        (["!$asphalt assume(uniform: n, &", "!$asphalt nx)"], 0, "no variable nx is known"),
        (["!$asphalt assume(uniform: sin)"], 0, "no variable sin is known"),
        (["!$asphalt assume(pure: fft1d)"], 0, "no procedure fft1d is called here"),
        (["!$asphalt assume(pure: dble)"], 0, "dble is known to asphalt"),
        (["!$asphalt skip tile(4)"], 0, "skips what this directive is for"),
        (["!$asphalt skip", "!$asphalt assume(control)"], 1, "skips what this directive is for"),
        (["!$asphalt tile(8)", "!$asphalt tile(4)"], 1, "says something else for the same place"),
        (["!$asphalt tile(8) depth(2)", "", "!$asphalt depth(2)"], 2, "says the same"),
        (["!$asphalt assume(control) assume(control)"], 0, "says the same"),
        (["!$asphalt match(a)"], 0, "match(...) belongs in front of an MPI call"),
        (["!$asphalt assume(uniform: n, &"], 0, "the directive ends with '&'"),
    ],
)
def test_directives_that_make_no_sense(
    lines: list[str], line: int, message: str, here: Path, refused: Callable[..., None]
) -> None:
    if message == "nothing":
        message = "no variable nx is known here"
    with_directive(here, *lines)
    refused("src/transposes.f90:" + str(NEST_LINE + line) + ": ", commands=("scan",))
    refused(message)


def test_two_places_of_one_site_contradict(here: Path, refused: Callable[..., None]) -> None:
    with_directive(here, "!$asphalt tile(8)")
    path = here / "src/transposes.f90"
    call = "    call MPI_Alltoall"
    path.write_text(path.read_text().replace(call, f"    !$asphalt tile(4)\n{call}", 1))
    refused(f"src/transposes.f90:{NEST_LINE + 8}: src/transposes.f90:{NEST_LINE} says something")
    path.write_text(path.read_text().replace("tile(4)", "skip"))
    refused(f"src/transposes.f90:{NEST_LINE}: ")


def test_a_directive_behind_everything(here: Path, refused: Callable[..., None]) -> None:
    path = here / "src/sub/refused.f90"
    path.write_text(path.read_text() + "! the end\n!$asphalt skip\n")
    refused("src/sub/refused.f90:15: no statement follows this directive")


def test_a_directive_in_front_of_an_end(here: Path, refused: Callable[..., None]) -> None:
    with_directive(here, "!$asphalt skip", before="  end subroutine transpose")
    refused("src/transposes.f90:21: no statement follows this directive")


MATCHES = """\
subroutine halo(a, comm)
  use mpi
  implicit none
  real :: a(2)
  integer :: comm, north, south, ierr
  !$asphalt match(n)
  call MPI_Irecv(a(1), 1, MPI_REAL, 0, 0, comm, north, ierr)
  !$asphalt match({first})
  call MPI_Irecv(a(2), 1, MPI_REAL, 1, 0, comm, south, ierr)
  !$asphalt match(n)
  call MPI_Wait(north, MPI_STATUS_IGNORE, ierr)
  {last}
  call MPI_Wait(south, MPI_STATUS_IGNORE, ierr)
end subroutine halo
"""


def test_an_id_alone(here: Path, refused: Callable[..., None]) -> None:
    (here / "src/halo.f90").write_text(MATCHES.format(first="s", last=""))
    refused("src/halo.f90:8: match(s) occurs only here in its procedure")


def test_an_id_of_two_starts(here: Path, refused: Callable[..., None]) -> None:
    (here / "src/halo.f90").write_text(MATCHES.format(first="n", last=""))
    refused("src/halo.f90:8: match(n): src/halo.f90:6 already starts an operation with this id")


def test_ids_that_match(here: Path) -> None:
    text = MATCHES.format(first="s", last="!$asphalt match(s)")
    (here / "src/halo.f90").write_text(text)
    assert main(arguments("scan")) == 0


HEADER = """\
! Written by asphalt.
      integer, parameter :: asphalt_k_transpose = 4  ! written as: 0
{line}
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("      integer, parameter :: asphalt_d_transpose = 0", "from 1 up, not '0'"),
        ("      integer, parameter :: asphalt_d_transpose = 4097", "must be 4096 or less"),
        ("      integer, parameter :: asphalt_k_other = -1", "from 0 up, not '-1'"),
        ("      integer, parameter :: asphalt_k_other = 2147483648", "must be 2147483647 or less"),
        ("      integer, parameter :: asphalt_k_other = many", "from 0 up, not 'many'"),
        ("<<<<<<< HEAD", "no header holds such a line"),
        ("asphalt_d_transpose: 4", "no header holds such a line"),
        ("      call f", "no header holds such a line"),
    ],
)
def test_a_header_that_makes_no_sense(
    line: str, message: str, here: Path, refused: Callable[..., None]
) -> None:
    (here / "src/asphalt_params.inc").write_text(HEADER.format(line=line))
    refused("src/asphalt_params.inc:3: ", commands=("scan",))
    refused(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tile", "-1"], "not in the range 0<=x<=2147483647"),
        (["--tile", "2147483648"], "not in the range"),
        (["--depth", "0"], "not in the range 1<=x<=4096"),
        (["--depth", "4097"], "not in the range"),
        (["--depth", "two"], "not a valid integer"),
    ],
)
def test_values_out_of_range(
    options: list[str], message: str, here: Path, refused: Callable[..., None]
) -> None:
    refused(message, *options, commands=("diff", "apply"))


def test_settings_out_of_range(here: Path, refused: Callable[..., None]) -> None:
    (here / "asphalt.toml").write_text("depth = 5000\n")
    refused("asphalt.toml: depth must be 4096 or less, not 5000")


def test_unknown_assumptions(here: Path, refused: Callable[..., None]) -> None:
    refused("assume luck: this is no assumption; use control, bits", "--assume", "control,luck")
    refused("assume pure: write pure:NAME", "--assume", "pure")
    refused("assume control:x: write control", "--assume", "control:x")
    refused("holds at a place of the source only", "--assume", "uniform:n")


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("n", "size n: write NAME=VALUE, where VALUE is a whole number"),
        ("n=4.5", "size n=4.5: write NAME=VALUE"),
        ("n+1=4", "size n+1: is not the name of a variable; write NAME or PROCEDURE:NAME or"),
        ("nowhere=4", "size nowhere=4: no variable of the program has the name nowhere; check"),
        ("other:ierr=4", "size other:ierr=4: other declares no variable ierr; it is declared"),
        ("s=4", "size s=4: s is no integer scalar in"),
        (
            "main:n=4",
            "size main:n=4: n is a named constant, whose value is known; leave the size out",
        ),
    ],
)
def test_sizes_of_nothing(
    size: str, message: str, here: Path, refused: Callable[..., None]
) -> None:
    refused(message, "--size", size)


def test_sizes_in_settings(here: Path, refused: Callable[..., None]) -> None:
    (here / "asphalt.toml").write_text("[sizes]\nnowhere = 4\n")
    refused("size nowhere=4: no variable of the program has the name")
    (here / "asphalt.toml").write_text('sizes = { nz = "4" }\n')
    refused("asphalt.toml: size nz: must be a whole number, not '4'")


def test_a_directory_that_does_not_exist(here: Path, refused: Callable[..., None]) -> None:
    refused("-I nowhere: no such directory; check the path", "-I", "nowhere")
    (here / "asphalt.toml").write_text('include_dirs = ["gone"]\n')
    refused("gone: no such directory")


def test_a_value_of_a_person_is_not_ignored_silently(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "src/asphalt_params.inc").write_text(HEADER.format(line=""))
    told = "src/asphalt_params.inc:2: asphalt_k_transpose = 4 was set here by hand and is kept"
    assert main(arguments("diff", "--tile", "8")) == 0
    assert f"asphalt: note: {told}, although --tile says 8" in capsys.readouterr().err
    assert main(arguments("apply", "--tile", "8")) == 0
    assert "asphalt_k_transpose = 4 was set here by hand" in capsys.readouterr().err
    assert main(arguments("apply")) == 0
    assert "by hand" not in capsys.readouterr().err


def test_a_directive_of_no_exchange_is_mentioned(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = here / "src/main.f90"
    path.write_text(path.read_text().replace("  total = 0", "  !$asphalt tile(4)\n  total = 0", 1))
    with_directive(here, "!$asphalt tile(8)")
    for command in COMMANDS:
        assert main(arguments(command)) == 0
        told = capsys.readouterr().err
        assert "note: src/main.f90:15: this directive belongs to no exchange" in told, command
        assert "transposes.f90:" not in told


def test_the_command_itself(here: Path) -> None:
    with_directive(here, "!$asphalt nonsense")
    outcome = subprocess.run(
        [sys.executable, "-m", "asphalt", *arguments("apply")], capture_output=True, text=True
    )
    assert outcome.returncode == 2
    assert outcome.stdout == ""
    assert outcome.stderr == (
        f"asphalt: error: src/transposes.f90:{NEST_LINE}: 'nonsense' is no directive of asphalt; "
        "use skip, tile(K), depth(D), assume(...) or match(ID)\n"
    )
    assert not (here / "out").exists()


def test_a_statement_with_an_exchange_that_is_not_understood_is_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = here / "src/broken.f90"
    path.write_text("subroutine f(s)\nreal(8) :: s(8)\ncall mpi_alltoall(s, 1\nend subroutine f\n")
    assert main(["scan", "src", "--no-cache", "-j1"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "broken.f90:3" in line]
    assert len(told) == 1
    assert "names MPI_ALLTOALL, and is not understood" in told[0]


def test_the_root_of_the_file_system_is_no_output(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apply", "src", "--output", "/", "--no-cache", "-j1"]) == 2
    assert "is the root of the file system" in capsys.readouterr().err


def test_files_with_old_line_ends_are_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No compiler reads a file whose lines end with CR alone; the rest of the tree is done."""
    old = here / "src/old.f90"
    old.write_bytes(b"subroutine other\r  print *, 1\rend subroutine other\r")
    for command in COMMANDS:
        assert main(arguments(command)) == 0
        written = capsys.readouterr()
        told = [line for line in written.err.splitlines() if "src/old.f90" in line]
        assert len(told) == 1, command
        assert "warning: src/old.f90: its lines end with CR alone" in told[0]
        assert "transposes.f90" in written.out
    assert (here / "out/old.f90").read_bytes() == old.read_bytes()
    # what may call MPI is in the way of proofs for the whole program
    old.write_bytes(TRANSPOSES.replace("transposes", "other").replace("\n", "\r").encode())
    assert main(arguments("scan")) == 0
    assert "assumed  ASP202" in capsys.readouterr().out
    assert main(["scan", "src/old.f90", "--no-cache", "-j1"]) == 2
    assert "error: src/old.f90: its lines end with CR alone" in capsys.readouterr().err


def test_line_ends_of_other_systems_are_not(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "src/transposes.f90"
    for end in (b"\r\n", b"\r\r\n"):
        path.write_bytes(TRANSPOSES.encode().replace(b"\n", end))
        assert main(arguments("scan")) == 0
        assert "CR alone" not in capsys.readouterr().err


SYNTAX = """\
program s
  use mpi
  implicit none
  integer :: ierr
  real(8) :: a(10)
  call MPI_Init(ierr)
  a = (1.0 +
  call MPI_Finalize(ierr)
end program s
"""


def scanned(capsys: pytest.CaptureFixture[str], *paths: str) -> tuple[int, str]:
    code = main(["scan", "--no-cache", "-j1", *paths])
    return code, capsys.readouterr().err


def test_a_statement_with_a_syntax_error_is_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "s.f90").write_text(SYNTAX)
    code, err = scanned(capsys, "s.f90")
    assert code == 0
    assert "note: s.f90:7: s: this statement is not understood" in err
    assert "correct it" in err
    assert "#if" not in err  # there is none in the file
    (here / "s.f90").write_text(SYNTAX.replace("(1.0 +", "1.0"))
    assert scanned(capsys, "s.f90") == (0, "asphalt: no exchange found\n")
    (here / "s.F90").write_text(f"#ifdef MORE\n{SYNTAX}#endif\n".replace("(1.0 +", "1.0"))
    assert "#if branches" in scanned(capsys, "s.F90")[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# asphalt\n#asphalt by proof\n", "invalid preprocessing directive"),
        ("all: main\n\tmake main\n", "README.md: has no program unit of Fortran"),
    ],
)
def test_a_text_that_is_no_fortran(
    text: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "README.md").write_text(text)
    code, err = scanned(capsys, "README.md")
    assert code == 2
    assert message in err
    assert "its suffix is none of Fortran's (.f90, .F90, .f, ...): name Fortran files" in err


def test_other_files_beside_fortran(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shells expand * to all files of a directory."""
    (here / "src" / "Makefile").write_text("all: main\n\tmake main\n")
    (here / "src" / "part.inc").write_text("call MPI_Barrier(comm, ierr)\n")
    (here / "src" / "old.src").write_text(TRANSPOSES)
    code, err = scanned(capsys, "src/Makefile", "src/old.src")
    assert code == 0
    assert "warning: src/Makefile: has no program unit of Fortran" in err
    assert "old.src" not in err
    code, err = scanned(capsys, "src/part.inc", "src/old.src")
    assert code == 2
    assert "src/part.inc:1: statements of no program unit" in err
    assert "is this Fortran?" not in err


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["scan", "scr"], "scr: no such file or directory; did you mean src?"),
        (["apply", "src/mian.f90", "-o", "out"], "did you mean src/main.f90?"),
        (["scan", "scr/main.f90"], "did you mean src?"),
        (["scan", "no/such"], "no/such: no such file or directory; check the path"),
        (["explain", "src/mian.f90:3"], "did you mean src/main.f90?"),
        (["verify", "src/mian.f90:main"], "did you mean src/main.f90?"),
        (["scna", "src"], "No such command 'scna'. Did you mean scan?"),
    ],
)
def test_misspelt_names(
    words: list[str], advice: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert advice in capsys.readouterr().err


def test_explain_says_where_exchanges_are(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "src" / "more.f90").write_text("subroutine more\n  use mpi\n  stop\nend subroutine\n")
    options = ["--no-cache", "-j1"]
    assert main(["explain", "src/more.f90:3", *options]) == 2
    assert "the file alone has none: name the files or the tree of" in capsys.readouterr().err
    assert main(["explain", "src/more.f90:3", "src", *options]) == 2
    err = capsys.readouterr().err
    assert "src/more.f90:3: no exchange here; the file has none, but others of its" in err
    assert "src/transposes.f90:20 (MPI_Alltoall in transpose)" in err
    assert main(["explain", "src/more.f90:3", "src/more.f90", *options]) == 2
    assert "neither the file nor the others" in capsys.readouterr().err
