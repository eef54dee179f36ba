"""``asphalt scan`` and ``asphalt explain``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from asphalt.cli.main import main
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.report.json import SCHEMA
from support.cli_programs import REFUSED_LINE, TRANSPOSES, TRANSPOSES_LINE, write_tree


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_tree(tmp_path / "src")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scan(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Of exchanges, unless the arguments ask for others."""
    passes = () if "--passes" in arguments else ("--passes", "prepush")
    status = main(["scan", "--no-cache", "--jobs", "1", *passes, *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_line_a_site(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = scan(capsys, "src")
    refused, proved = sorted(out.splitlines())
    assert status == 0
    assert refused.split()[0] == f"src/sub/refused.f90:{REFUSED_LINE}"
    assert "refused" in refused
    assert refused.split()[3] in ALL_CODES
    assert proved.split()[0] == f"src/transposes.f90:{TRANSPOSES_LINE}"
    assert proved.split()[2] == "proved"
    assert err == "asphalt: 2 sites: 1 proved, 1 refused\n"


def test_without_passes_exchanges_and_transfers_are_listed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scan", "--no-cache", "--jobs", "1", "src"]) == 0
    alike = capsys.readouterr().out
    assert [line.split()[1] for line in alike.splitlines()] == [
        *("MPI_Gather", "MPI_Alltoallw", "MPI_Alltoall")
    ]
    assert main(["scan", "--no-cache", "--jobs", "1", "--passes", "all", "src"]) == 0
    assert capsys.readouterr().out == alike


STORED = """\
subroutine stored(b, n, other)
  use mpi
  implicit none
  integer, intent(in) :: n, other
  real(8), intent(inout) :: b(n)
  integer :: ierr
  b = 0
  b(1) = sum(b)
  call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end subroutine stored
"""


def test_stores_before_a_receive_are_told_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stored.f90"
    file.write_text(STORED)
    _, out, err = scan(capsys, "--passes", "all", str(file))
    assert ":9 " in out
    assert ":8 " not in out
    assert "store" not in err
    _, out, err = scan(capsys, "--passes", "all", "--all", str(file))
    assert "stored.f90:8  store before MPI_Recv" in out
    assert main(["explain", "--no-cache", f"{file}:8"]) == 0
    assert "store before MPI_Recv" in capsys.readouterr().out


def test_modules_that_are_missing_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only those that a refused file uses, and neither MPI's nor the compiler's."""
    refused, proved = Path("src/sub/refused.f90"), Path("src/transposes.f90")
    used = "".join(f"  use field_{letter}\n" for letter in "gfedcba")
    more = f"\nsubroutine beside\n  use iso_c_binding\n  use mpi\n{used}end subroutine beside\n"
    refused.write_text(refused.read_text() + more)
    other = "\nsubroutine aside\n  use elsewhere\nend subroutine aside\n"
    proved.write_text(proved.read_text() + other)
    _, _, err = scan(capsys, "src")
    named = ", ".join(f"field_{letter}" for letter in "abcde")
    assert err.splitlines()[1:] == [
        f"asphalt: these modules are not among the files, which may cause refusals: {named} "
        "and 2 more"
    ]


_PASSES = """\
subroutine pass_on{n}(lo, hi, w, next, last)
  use {module}
  implicit none
  integer, intent(in) :: next, last
  real(8), intent(inout) :: lo, hi, w(1000)
  integer :: i, ierr
  call MPI_Sendrecv(lo, 1, MPI_REAL8, next, 1, hi, 1, MPI_REAL8, last, 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, ierr)
  {test}
  do i = 1, 1000
    w(i) = w(i)*0.5
  end do
end subroutine pass_on{n}
"""
_SETS_HANDLER = """\
program main
  use mpi
  implicit none
  integer :: ierr
  real(8) :: lo, hi, w(1000)
  call MPI_Init(ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  lo = 1
  w = 1
{calls}  call MPI_Finalize(ierr)
end program main
"""


def _passing(folder: Path, module: str, tests: list[str]) -> str:
    """A program that sets an error handler, with a procedure for each test of an error code."""
    texts = (_PASSES.format(n=n, module=module, test=test) for n, test in enumerate(tests))
    calls = "".join(f"  call pass_on{n}(lo, hi, w, 0, 0)\n" for n in range(len(tests)))
    (folder / "main.f90").write_text(_SETS_HANDLER.format(calls=calls) + "".join(texts))
    return str(folder / "main.f90")


def test_one_handler_is_told_once_for_all_sites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests = ["if (ierr /= 0) stop 1", "if (ierr > 0) print *, ierr", "w(1) = ierr"]
    file = _passing(tmp_path, "mpi", [*tests, *tests])
    _, out, err = scan(capsys, "--passes", "transfers", file)
    assert len(set(out.splitlines())) == 6
    assert err.splitlines()[1:] == [
        "asphalt: 6 sites are refused for one reason (ASP020): errors may not be fatal: "
        f"{file}:7 calls MPI_Comm_set_errhandler"
    ]


def test_other_reasons_for_one_code_are_told_where_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A code that has a second name is refused whatever the error handler is."""
    file = Path(_passing(tmp_path, "mpi", ["if (ierr /= 0) stop 1"] * 5))
    own = "  integer :: i, ierr\n"
    first, _, last = file.read_text().rpartition(own)
    file.write_text(f"{first}{own}  integer :: kept\n  equivalence (kept, ierr)\n{last}")
    _, out, err = scan(capsys, "--passes", "transfers", str(file))
    assert out.count("ASP020") == 5
    assert out.count("the variable does not only hold error codes") == 1
    assert "for one reason" not in err


def test_a_missing_module_is_told_with_the_sites_that_it_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _passing(tmp_path, "messages", ["if (ierr /= 0) stop 1"] * 5)
    _, out, err = scan(capsys, "--passes", "transfers", file)
    assert out.count("ASP013") == 5
    assert err.splitlines()[1:] == [
        "asphalt: these modules are not among the files, which may cause refusals: messages "
        "(refuses 5 sites)"
    ]


_BROKEN = """\
{head}
  implicit none
contains
  subroutine tidy(x)
    real(8) :: x
end module messages
"""


def test_a_module_whose_file_cannot_be_read_is_told_with_the_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its file has no call of MPI, so that nothing else tells of it."""
    _passing(tmp_path, "messages", ["continue"] * 5)
    broken = tmp_path / "broken.f90"
    broken.write_text(_BROKEN.format(head="Module Messages  ! of all"))
    why = f"{broken}:6: END MODULE inside the SUBROUTINE tidy of line 4"
    _, out, err = scan(capsys, "--passes", "transfers", str(tmp_path))
    assert out.count(f"the file of module messages cannot be read: {why}") == 5
    assert err.splitlines()[1:] == [
        "asphalt: the file of module messages cannot be read (refuses 5 sites), which may cause "
        f"refusals: {why}"
    ]


@pytest.mark.parametrize("head", ["module messages2", "! module messages", "use messages"])
def test_a_module_that_a_broken_file_does_not_define_is_missing(
    head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _passing(tmp_path, "messages", ["continue"] * 5)
    (tmp_path / "broken.f90").write_text(_BROKEN.format(head=head))
    _, out, err = scan(capsys, "--passes", "transfers", str(tmp_path))
    assert out.count("module messages is not among the given files") == 5
    assert "these modules are not among the files, which may cause refusals: messages" in err


def test_json_fits_the_schema(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = scan(capsys, "src", "--format", "json")
    report = json.loads(out)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    assert status == 0
    assert {Path(site["file"]).name: site["verdict"] for site in report["sites"]} == {
        "transposes.f90": "proved",
        "refused.f90": "refused",
    }
    assert [Path(entry["file"]).name for entry in report["files"]] == [
        "main.f90",
        "refused.f90",
        "transposes.f90",
    ]


def test_annotations(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = scan(capsys, "src", "--format", "github")
    assert f"::notice file=src/transposes.f90,line={TRANSPOSES_LINE},title=" in out
    assert out.count("\n") == 2


def test_calls_in_branches_that_are_left_out(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the options -D select is not told of, nor what does not call MPI, as a comment."""
    file = Path("src/main.F90")
    file.write_text(
        "program p\n  use mpi\n  integer :: ierr\n#ifdef PARALLEL\n  ! call MPI_Init\n"
        "  call MPI_Init(ierr)\n#endif\n#ifndef SERIAL\n  call Mpi_Finalize(ierr)\n#endif\n"
        "end program p\n"
    )
    assert "in #if branches that are not compiled, src/main.F90:6: give" in scan(capsys, "src")[2]
    assert "#if" not in scan(capsys, "src", "-DPARALLEL")[2]
    file.write_text(file.read_text().replace("#ifdef PARALLEL", "#ifndef PARALLEL"))
    assert "#if" not in scan(capsys, "src")[2]


def test_check(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scan(capsys, "src", "--check")[0] == 1
    assert scan(capsys, "src/transposes.f90", "--check")[0] == 0
    assert scan(capsys, "src/main.f90", "--check")[0] == 0


def test_a_file_without_an_exchange(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = scan(capsys, "src/main.f90")
    assert (status, out) == (0, "")
    assert err == "asphalt: no exchange found\n"
    assert scan(capsys, "src/main.f90", "-DX")[2] == "asphalt: no exchange found\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bom.f90", b"\xef\xbb\xbf" + TRANSPOSES.encode()),
        ("crlf.f90", TRANSPOSES.replace("\n", "\r\n").encode()),
        ("latin1.f90", TRANSPOSES.replace("one plane", "une pi\xe8ce").encode("latin-1")),
        ("utf8.f90", TRANSPOSES.replace("one plane", "une pi\xe8ce").encode()),
        ("no_newline.f90", TRANSPOSES.removesuffix("\n").encode()),
    ],
)
def test_odd_text_is_read(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes
) -> None:
    (here / name).write_bytes(content)
    status, out, err = scan(capsys, name)
    assert status == 0
    assert out.count("proved") == 1
    assert "Traceback" not in err


def test_an_empty_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "src" / "empty.f90").write_text("")
    assert scan(capsys, "src/empty.f90")[::2] == (
        2,
        "asphalt: error: src/empty.f90: the file is empty\n",
    )
    status, out, err = scan(capsys, "src")
    assert (status, out.count("\n")) == (0, 2)
    assert "src/empty.f90: the file is empty" in err


def test_an_unusable_file_in_a_tree_is_reported_and_the_rest_done(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "src" / "binary.f90").write_bytes(b"module m\n\0\1\2\nend module\n")
    status, out, err = scan(capsys, "src")
    assert status == 0
    assert out.count("\n") == 2
    assert "asphalt: warning: src/binary.f90" in err


def test_an_unusable_file_that_is_named_is_an_error(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "binary.f90").write_bytes(b"module m\n\0\1\2\nend module\n")
    status, out, err = scan(capsys, "binary.f90")
    assert (status, out) == (2, "")
    assert err.startswith("asphalt: error: binary.f90")
    assert err.count("\n") == 1


def test_nesting_that_does_not_close_is_reported_with_its_line(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "odd.f90").write_text(
        "subroutine s\n  use mpi\n  do i = 1, 3\n    call mpi_barrier(c, e)\nend subroutine\n"
    )
    status, out, err = scan(capsys, "odd.f90")
    assert (status, out) == (2, "")
    assert err.startswith("asphalt: error: odd.f90:")
    assert err.count("\n") == 1


def test_a_directory_without_fortran(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "none").mkdir()
    (here / "none" / "readme.txt").write_text("hello\n")
    status, _, err = scan(capsys, "none")
    assert status == 2
    assert err.startswith("asphalt: error: none: no Fortran ")
    assert err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "secret.f90").write_text(TRANSPOSES)
    (here / "secret.f90").chmod(0)
    status, _, err = scan(capsys, "secret.f90")
    assert status == 2
    assert "secret.f90" in err


def test_a_reader_that_goes_away_is_no_error(here: Path) -> None:
    program = "import sys; from asphalt.cli.main import run; run()"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", program, "scan", "--no-cache", "-j1", "src/transposes.f90"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


TWO_TRANSFERS = """\
module rows
  use mpi
contains
  subroutine shift(a, b, c, n, to, from, comm)
    integer, intent(in) :: n, to, from, comm
    real(8), intent(inout) :: a(n), b(n), c(n)
    integer :: i, ierr
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, to, 1, b, n, MPI_DOUBLE_PRECISION, from, 1, &
                      comm, MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      c(i) = 0.5d0*c(i) + i
    end do
  end subroutine shift
  subroutine turn(a, b, n, to, from, comm)
    integer, intent(in) :: n, to, from, comm
    real(8), intent(inout) :: a(n), b(n)
    integer :: ierr
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, to, 2, b, n, MPI_DOUBLE_PRECISION, from, 2, &
                      comm, MPI_STATUS_IGNORE, ierr)
    print *, b(1)
  end subroutine turn
end module rows
"""


def test_explain_a_proved_site(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--no-cache", f"src/transposes.f90:{TRANSPOSES_LINE}"]) == 0
    out = capsys.readouterr().out
    assert "proved" in out
    assert "evidence:" in out


def test_explain_a_refused_site_in_its_tree(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--no-cache", f"src/sub/refused.f90:{REFUSED_LINE}", "src"]) == 0
    out = capsys.readouterr().out
    code = next(word for word in out.split() if word in ALL_CODES)
    assert ALL_CODES[code].title in out
    assert "What you can do" in out


def test_explain_says_of_a_transfer_what_scan_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.f90"
    path.write_text(TWO_TRANSFERS)
    usual = ["--no-cache", "--jobs", "1", "--passes", "transfers"]
    assert main(["scan", *usual, "--format", "json", str(path)]) == 0
    scanned = json.loads(capsys.readouterr().out)["sites"]
    assert {site["verdict"] for site in scanned} == {"proved", "refused"}
    for site in scanned:
        place = f"{path}:{site['line']}"
        assert main(["explain", *usual, "--format", "json", place]) == 0
        assert json.loads(capsys.readouterr().out)["sites"] == [site]


def test_explain_a_line_without_an_exchange(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--no-cache", "src/transposes.f90:3"]) == 2
    assert capsys.readouterr().err == (
        "asphalt: error: src/transposes.f90:3: no exchange here; "
        f"see line {TRANSPOSES_LINE} (MPI_Alltoall in transpose)\n"
    )


@pytest.mark.parametrize("name", sorted(ALL_CODES))
def test_every_code_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name.lower()]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{name}  {ALL_CODES[name].title}")
    assert ALL_CODES[name].advice.strip() in out


def test_a_code_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    name = min(ALL_CODES)
    assert main(["explain", name, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == name


STARTED = """\
subroutine shift(a, b, n, left, right)
  use mpi
  implicit none
  integer :: n, left, right, i, ierr, requests(2)
  real(8) :: a(n), b(n), c(n), d(n)
  call MPI_Recv(c, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call MPI_Send(c, n, MPI_REAL8, right, 1, MPI_COMM_WORLD, ierr)
  call MPI_Irecv(b, n, MPI_REAL8, left, 2, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(a, n, MPI_REAL8, right, 2, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  do i = 1, n
    d(i) = a(i) + c(i)
  end do
  do i = 1, n
    a(i) = b(i) + d(i)
  end do
end subroutine shift
"""


def test_transfers_with_the_passes_for_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would come beside each, or why it stays; operations that the program starts, too."""
    path = tmp_path / "shift.f90"
    path.write_text(STARTED)
    status, out, _ = scan(capsys, "--passes", "transfers", str(path))
    assert status == 0
    lines = [line.split(":", 1)[1] for line in out.splitlines()]
    assert [line.split()[:3] for line in lines] == [
        ["6", "MPI_Recv", "refused"],
        ["7", "MPI_Send", "proved"],
        ["8", "MPI_Irecv", "proved"],
        ["9", "MPI_Isend", "proved"],
    ]
    assert "ASP062" in lines[0]
    assert "overlaps with do i = 1, n" in lines[2]


def test_messages_that_are_not_asked_about(
    here: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Who looks for something else than exchanges of all ranks is told where."""
    call = "call MPI_Send(x, 1, MPI_REAL, 0, 1, MPI_COMM_WORLD, ierr)"
    declared = "  use mpi\n  real :: x\n  integer :: ierr\n"
    text = f"subroutine sends(x)\n{declared}  {call}\nend subroutine\n"
    (tmp_path / "sends.f90").write_text(text)
    assert "--passes transfers" in scan(capsys, str(tmp_path / "sends.f90"))[2]
    assert "--passes" not in scan(capsys, str(tmp_path / "sends.f90"), "--all")[2]


def test_quiet_and_colour(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.setenv(name, "")
    usual = ("scan", "--no-cache", "--jobs", "1", "--passes", "prepush", "src")
    assert main(["--quiet", *usual]) == 0
    shown = capsys.readouterr()
    assert (shown.out.count("\n"), shown.err) == (2, "")
    assert main(["--quiet", "scan", "nowhere"]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main(["--color", "always", *usual]) == 0
    assert "\x1b[" in capsys.readouterr().out
    assert main(["--color", "never", *usual]) == 0
    assert "\x1b[" not in capsys.readouterr().out
