"""``asphalt diff`` and ``asphalt apply``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from asphalt.cli.main import main
from asphalt.report.json import SCHEMA
from support.cli_programs import MAIN, REFUSED, TRANSPOSES, write_tree
from support.places import ROOT

HEADER = "asphalt_params.inc"
_USED = ("backend_isend", "choice", "communicators", "core", "exchange")
RUNTIME = [f"asphalt_{name}.f90" for name in _USED]
QUIET = ("--no-cache", "--jobs", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_tree(tmp_path / "src")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asphalt(*arguments: str) -> int:
    command, *rest = arguments
    return main([command, *QUIET, *rest])


def snapshot(folder: Path) -> dict[str, tuple[bytes, float, int]]:
    """Content, time and mode of all files but the ledger's lock."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes(),
            path.stat().st_mtime,
            path.stat().st_mode,
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_apply_mirrors_the_tree(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(here / "src")
    assert asphalt("apply", "src", "--output", "out") == 0
    out = here / "out"
    assert sorted(snapshot(out)) == [
        ".asphalt/lock",
        ".asphalt/written.json",
        *RUNTIME,
        HEADER,
        "main.f90",
        "run.sh",
        "sub/refused.f90",
        "transposes.f90",
    ]
    assert (out / "main.f90").read_text() == MAIN
    assert (out / "sub" / "refused.f90").read_text() == REFUSED
    assert (out / "run.sh").stat().st_mode & 0o777 == 0o755
    text = (out / "transposes.f90").read_text()
    assert "! asphalt:" in text
    words = set(text.replace("(", " ").replace(",", " ").split())
    assert set(TRANSPOSES.replace("(", " ").replace(",", " ").split()) <= words
    assert snapshot(here / "src") == before
    captured = capsys.readouterr()
    assert " applied " in captured.out
    assert captured.err.splitlines()[-3:] == [
        "asphalt: 1 file transformed, 10 files written in out",
        "asphalt: to build: compile out/asphalt_core.f90, asphalt_backend_isend.f90, "
        "asphalt_choice.f90, asphalt_communicators.f90, asphalt_exchange.f90 in this order and "
        "before transposes.f90, and link their objects, too",
        f"asphalt: to build: transposes.f90 includes {HEADER} (K and D): compile it again when you "
        "edit it",
    ]


def test_a_second_apply_changes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asphalt("apply", "src", "--output", "out") == 0
    first = snapshot(here / "out")
    assert asphalt("apply", "src", "--output", "out") == 0
    assert snapshot(here / "out") == first
    assert asphalt("apply", "out", "--in-place") == 0
    assert snapshot(here / "out") == first
    assert asphalt("apply", "out", "--output", "again") == 0
    again = snapshot(here / "again")
    assert {name: again[name][0] for name in again if not name.startswith(".asphalt")} == {
        name: first[name][0] for name in first if not name.startswith(".asphalt")
    }


def test_in_place(here: Path) -> None:
    (here / "src" / "transposes.f90").chmod(0o640)
    before = snapshot(here / "src")
    assert asphalt("apply", "src", "--in-place") == 0
    after = snapshot(here / "src")
    assert sorted(set(after) - set(before)) == [*RUNTIME, HEADER]
    assert [name for name in before if after[name] != before[name]] == ["transposes.f90"]
    assert (here / "src" / "transposes.f90").stat().st_mode & 0o777 == 0o640
    assert asphalt("apply", "src", "--in-place") == 0
    assert snapshot(here / "src") == after


def test_in_place_follows_a_named_link(here: Path) -> None:
    (here / "link.f90").symlink_to("src/transposes.f90")
    assert asphalt("apply", "link.f90", "--in-place") == 0
    assert (here / "link.f90").is_symlink()
    assert "! asphalt:" in (here / "src" / "transposes.f90").read_text()
    assert (here / "src" / HEADER).exists()
    assert all((here / "src" / name).exists() for name in RUNTIME)


def test_values_that_a_person_set_are_kept(here: Path) -> None:
    assert asphalt("apply", "src", "--output", "out", "--tile", "4", "--depth", "3") == 0
    header = here / "out" / HEADER
    text = header.read_text()
    tile = next(line for line in text.splitlines() if "asphalt_k_" in line.split("!")[0])
    depth = next(line for line in text.splitlines() if "asphalt_d_" in line.split("!")[0])
    assert "= 4" in tile
    assert "= 3" in depth
    edited = text.replace(tile, tile.replace("= 4", "= 7"))
    header.write_text(edited)
    assert asphalt("apply", "src", "--output", "out", "--tile", "5", "--depth", "3") == 0
    assert header.read_text() == edited
    assert asphalt("apply", "src", "--output", "out", "--tile", "5", "--depth", "2") == 0
    assert tile.replace("= 4", "= 7") in header.read_text()
    assert depth not in header.read_text()


def test_a_bad_header_is_reported_and_nothing_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asphalt("apply", "src", "--output", "out") == 0
    header = here / "out" / HEADER
    header.write_text(header.read_text().replace("= 0", "= many", 1))
    (here / "src" / "main.f90").write_text(MAIN + "! another line\n")
    before = snapshot(here / "out")
    assert asphalt("apply", "src", "--output", "out") == 2
    assert snapshot(here / "out") == before
    assert f"{HEADER}:4: asphalt_k_" in capsys.readouterr().err


def test_a_header_beside_a_named_source_is_the_start(here: Path) -> None:
    assert asphalt("apply", "src", "--output", "out") == 0
    text = (here / "out" / HEADER).read_text().replace("= 0", "= 9", 1)
    (here / "src" / HEADER).write_text(text)
    assert asphalt("apply", "src/transposes.f90", "--output", "single") == 0
    assert (here / "single" / HEADER).read_text() == text


def test_files_of_others_are_not_overwritten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "out").mkdir()
    (here / "out" / "main.f90").write_text("! mine\n")
    before = snapshot(here / "out")
    assert asphalt("apply", "src", "--output", "out") == 2
    assert snapshot(here / "out") == before
    assert "main.f90: was not written by asphalt" in capsys.readouterr().err
    assert asphalt("apply", "src", "--output", "out", "--force") == 0
    assert (here / "out" / "main.f90").read_text() == MAIN


def test_an_edited_output_is_not_overwritten(here: Path) -> None:
    assert asphalt("apply", "src", "--output", "out") == 0
    target = here / "out" / "transposes.f90"
    target.write_text(target.read_text() + "! mine\n")
    (here / "src" / "transposes.f90").write_text(TRANSPOSES + "! another line\n")
    assert asphalt("apply", "src", "--output", "out") == 2
    assert target.read_text().endswith("! mine\n")


def test_a_changed_source_is_redone_alone(here: Path) -> None:
    assert asphalt("apply", "src", "--output", "out") == 0
    before = snapshot(here / "out")
    (here / "src" / "main.f90").write_text(MAIN + "! another line\n")
    assert asphalt("apply", "src", "--output", "out") == 0
    after = snapshot(here / "out")
    assert [name for name in after if after[name] != before[name]] == [
        ".asphalt/written.json",
        "main.f90",
    ]


def test_an_output_that_is_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "out").write_text("")
    assert asphalt("apply", "src", "--output", "out") == 2
    assert "is not a directory" in capsys.readouterr().err


def test_a_foreign_runtime_is_not_overwritten(here: Path) -> None:
    (here / "src" / RUNTIME[3]).write_text("! mine\n")
    before = snapshot(here / "src")
    assert asphalt("apply", "src", "--in-place") == 2
    assert snapshot(here / "src") == before


def test_a_link_that_leads_out_of_the_output(here: Path) -> None:
    (here / "out").mkdir()
    (here / "elsewhere").mkdir()
    (here / "out" / "sub").symlink_to("../elsewhere")
    assert asphalt("apply", "src", "--output", "out", "--force") == 2
    assert os.listdir(here / "elsewhere") == []


@pytest.mark.parametrize("how", [("--output", "out"), ("--in-place",)])
def test_a_file_behind_a_linked_folder_is_not_told_as_applied(
    here: Path, capsys: pytest.CaptureFixture[str], how: tuple[str, ...]
) -> None:
    (here / "elsewhere").mkdir()
    (here / "src" / "transposes.f90").rename(here / "elsewhere" / "transposes.f90")
    (here / "src" / "linked").symlink_to("../elsewhere")
    before = snapshot(here / "elsewhere")
    assert asphalt("apply", "src", *how, "--report", "r.json") == 0
    assert snapshot(here / "elsewhere") == before
    sites = json.loads((here / "r.json").read_text())["sites"]
    (site,) = (one for one in sites if one["file"].endswith("transposes.f90"))
    assert site["verdict"] == "refused"
    assert "link" in site["message"]
    shown = capsys.readouterr()
    assert " applied " not in shown.out
    assert "no file transformed" in shown.err


MOVED = """\
program p
  use mpi
  implicit none
  integer, parameter :: n = 1000
  integer :: ierr, rank, i, req
  double precision :: a(n), b(n), c(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  a = rank
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, 1 - rank, 1, MPI_COMM_WORLD, req, ierr)
  call MPI_Send(a, n, MPI_DOUBLE_PRECISION, 1 - rank, 1, MPI_COMM_WORLD, ierr)
  call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
  do i = 1, n
    c(i) = sin(1d0*i)*cos(2d0*i)
  end do
  print *, sum(b), sum(c)
  call MPI_Finalize(ierr)
end program p
"""


def test_no_runtime_is_asked_for_where_nothing_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.f90").write_text(MOVED)
    options = ("--passes", "motion")
    assert asphalt("diff", "p.f90", *options) == 0
    shown = capsys.readouterr()
    assert "+  call MPI_Wait" in shown.out
    assert "would also write" not in shown.err
    assert asphalt("apply", "p.f90", "--output", "out", *options) == 0
    assert "to build" not in capsys.readouterr().err
    assert sorted(path.name for path in Path("out").iterdir()) == [".asphalt", "p.f90"]


def test_the_report(here: Path) -> None:
    assert asphalt("apply", "src", "--output", "out", "--report", "r.json") == 0
    report = json.loads((here / "r.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    verdicts = {Path(site["file"]).name: site["verdict"] for site in report["sites"]}
    assert verdicts == {
        "main.f90": "refused",
        "transposes.f90": "applied",
        "refused.f90": "refused",
    }
    assert [entry["changed"] for entry in report["files"]] == [False, False, True]
    applied = next(site for site in report["sites"] if site["verdict"] == "applied")
    assert applied["depth"] >= 1


@pytest.mark.parametrize("report", ["src", "src/main.f90/r.json", "nowhere/r.json"])
def test_a_report_that_cannot_be_written(
    here: Path, report: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asphalt("apply", "src", "--output", "out", "--report", report) == 2
    assert not (here / "out").exists()
    assert f"--report {report}: " in capsys.readouterr().err
    assert not (here / "nowhere").exists()


def test_a_report_beside_what_is_written(here: Path) -> None:
    assert asphalt("apply", "src", "--output", "out", "--report", "out/r.json") == 0
    assert (here / "out" / "r.json").is_file()


def test_an_include_directory_that_is_not_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asphalt("apply", "src", "--output", "out", "-I", "nowhere") == 2
    assert not (here / "out").exists()
    assert "-I nowhere: no such directory" in capsys.readouterr().err


def test_the_needs_of_a_build_are_reported_once(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In place, too; not again where nothing of it is new, nor beside a fragment for make."""
    assert asphalt("apply", "src", "--in-place") == 0
    assert capsys.readouterr().err.count("to build:") == 2
    assert asphalt("apply", "src", "--in-place") == 0
    assert "to build:" not in capsys.readouterr().err
    assert asphalt("apply", "src", "--output", "out", "--makefile", "out/list.mk") == 0
    assert "to build:" not in capsys.readouterr().err


def test_a_tree_without_sites_is_copied(here: Path) -> None:
    assert asphalt("apply", "src/main.f90", "--output", "out") == 0
    assert sorted(snapshot(here / "out")) == [
        ".asphalt/lock",
        ".asphalt/written.json",
        "main.f90",
    ]
    assert (here / "out" / "main.f90").read_text() == MAIN


def test_diff_is_what_apply_does(here: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    before = snapshot(here / "src")
    assert asphalt("diff", "src") == 0
    diff = capsysbinary.readouterr().out
    assert snapshot(here / "src") == before
    subprocess.run(["git", "apply", "-"], cwd=here, input=diff, check=True)
    patched = snapshot(here / "src")
    assert asphalt("apply", "src", "--output", "out") == 0
    for name in ("transposes.f90", HEADER):
        assert (
            patched[name][0].splitlines()[5:] == (here / "out" / name).read_bytes().splitlines()[5:]
        )


def test_diff_check(here: Path) -> None:
    assert asphalt("diff", "src", "--check") == 1
    assert asphalt("diff", "src/main.f90", "--check") == 0
    assert asphalt("apply", "src", "--in-place") == 0
    assert asphalt("diff", "src", "--check") == 0


def test_a_parallel_make_loses_nothing(here: Path) -> None:
    """One run a file, all at once, into one directory: header and ledger hold every entry."""
    names = ("one", "two", "three")
    for name in names:
        text = TRANSPOSES.replace("transpose(", f"{name}(").replace("e transpose", f"e {name}")
        (here / f"{name}.f90").write_text(text.replace("transposes", f"{name}s"))
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "asphalt", "apply", *QUIET, f"{name}.f90", "--output", "out"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    errors = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], errors
    header = (here / "out" / HEADER).read_text()
    assert all(f"asphalt_k_{name} = " in header for name in names)
    before = snapshot(here / "out")
    for name in names:
        assert asphalt("apply", f"{name}.f90", "--output", "out") == 0
    assert snapshot(here / "out") == before


def test_crlf_and_latin1_survive(here: Path) -> None:
    data = TRANSPOSES.replace("one plane", "une pi\xe8ce").replace("\n", "\r\n").encode("latin-1")
    (here / "odd.f90").write_bytes(data)
    assert asphalt("apply", "odd.f90", "--output", "out") == 0
    text = (here / "out" / "odd.f90").read_bytes()
    assert b"une pi\xe8ce after the other\r\n" in text
    assert text.count(b"\n") == text.count(b"\r\n")


_MOVED = """\
module layer
  use mpi
  implicit none
  integer, parameter :: n = 200000
  real(8) :: out(n), in(n)
contains
  subroutine begin(r)
    integer, intent(out) :: r(2)
    integer :: ierr
    call MPI_Irecv(in, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, r(1), ierr)
    call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, r(2), ierr)
  end subroutine begin
  subroutine finish(r)
    integer, intent(inout) :: r(2)
    integer :: ierr
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
  end subroutine finish
end module layer
program main
  use layer
  implicit none
  integer :: r(2), i, ierr
  real(8) :: c(n)
  call MPI_Init(ierr)
  out = 1
  call begin(r)
  call finish(r)
  do i = 1, n
    c(i) = sqrt(real(i, 8))
  end do
  print *, c(n), in(n)
  call MPI_Finalize(ierr)
end program main
"""


def test_statements_in_another_order_need_no_runtime(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "main.f90").write_text(_MOVED)
    given = [str(tmp_path / "given"), "--passes", "transfers", "--no-cache"]
    assert main(["diff", *given]) == 0
    assert "would also write" not in "".join(capsys.readouterr())
    assert main(["apply", *given, "--output", str(tmp_path / "made")]) == 0
    assert (tmp_path / "made" / "main.f90").read_text() != _MOVED
    assert not [*(tmp_path / "made").glob("asphalt_*")]
    assert "to build" not in "".join(capsys.readouterr())


def test_apply_says_of_a_small_program_what_scan_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heat = str(ROOT / "docs" / "examples" / "heat")
    asphalt("scan", "--passes", "all", heat)
    scanned = [line for line in capsys.readouterr().out.splitlines() if "refused" in line]
    asphalt("apply", "--passes", "all", heat, "-o", str(tmp_path / "out"))
    applied = [line for line in capsys.readouterr().out.splitlines() if "refused" in line]
    assert len(scanned) == 1
    assert applied == scanned
