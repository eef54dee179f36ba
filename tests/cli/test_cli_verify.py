"""``asphalt verify``, with a real compiler and a real MPI."""

import json
import shutil
from pathlib import Path

import pytest

from asphalt.cli.main import main
from support.cli_programs import MAIN, write_tree

pytestmark = pytest.mark.skipif(
    shutil.which("mpif90") is None or shutil.which("mpirun") is None, reason="needs an MPI"
)
COMPILE = "mpif90 -O1 {sources} -o {exe}"


@pytest.fixture
def here(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    write_tree(tmp_path / "src")
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("tmp")))  # logs of builds stay there
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verify(*arguments: str) -> int:
    return main(["verify", "--no-cache", "--jobs", "1", "src", *arguments])


def test_equal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(here.rglob("*"))
    assert verify("--compile", COMPILE, "--ranks", "1,3", "--tile", "0,4", "--depth", "2") == 0
    captured = capsys.readouterr()
    assert captured.out.count("equal") == 4
    assert captured.err.endswith("asphalt: 4 comparisons, all equal, 2 not tiled\n")
    assert sorted(here.rglob("*")) == before


def test_what_is_not_understood_is_not_verified(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was compared, but nobody may take that for a program that was found right."""
    path = here / "src" / "transposes.f90"
    text = path.read_text()
    path.write_text(text.replace("do i = 1, n", "do i = 1 n"))
    assert verify("--compile", COMPILE, "--ranks", "1") == 1
    err = capsys.readouterr().err
    assert "transposes.f90:1" in err
    assert "asphalt did not understand part of it (see above)" in err
    path.write_text(text.replace("do z = 1, nz", "do z = 1, nz, 2"))  # refused, but understood
    assert verify("--compile", COMPILE, "--ranks", "1") == 0


def test_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify("--compile", COMPILE, "--ranks", "2", "--tile", "2", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["version"] == 1
    assert told["failures"] == []
    assert told["runs"] == [
        {
            "tile": 2,
            "depth": None,
            "ranks": 2,
            "kind": "equal",
            "difference": None,
            "notes": [],
            "mpi": None,
            "findings": [],
            "stacks": [],
            "tiled": True,
        }
    ]


def test_kept_builds(here: Path) -> None:
    assert verify("--compile", COMPILE, "--ranks", "1", "--keep", "work") == 0
    assert (here / "work" / "original" / "transposes.f90").exists()
    transformed = next(path for path in (here / "work").iterdir() if path.name != "original")
    assert (transformed / "asphalt_core.f90").exists()


def test_an_original_that_does_not_build(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "src" / "main.f90").write_text(MAIN.replace("total = 0", "total = nothing"))
    assert verify("--compile", COMPILE) == 2
    err = capsys.readouterr().err
    assert err.startswith("asphalt: error: the original does not build: main.f90:")
    assert err.count("\n") == 1


def test_a_program_that_differs_from_itself(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that counts how often its directory was used: original and transformed differ."""
    run = "sh -c 'echo x >> ../count; wc -l < ../count'"
    assert verify("--compile", "touch {exe}", "--run", run, "--ranks", "1", "--tile", "2") == 1
    captured = capsys.readouterr()
    assert "line 1: '1' became '2'" in captured.out
    assert "the original's own output changes from run to run, on standard output" in captured.out
    assert "ignore such lines with --ignore REGEX" in captured.out
    assert "--output '-:1e-9'" in captured.out
    assert captured.err.endswith("not compared: 1 where the original's own output changes\n")


def test_a_hang(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = "sh -c 'if [ -e asphalt_core.f90 ]; then sleep 60; fi'"
    assert (
        verify(
            "--compile",
            "touch {exe}",
            "--run",
            run,
            "--ranks",
            "1",
            "--tile",
            "2",
            "--timeout",
            "5",
        )
        == 1
    )
    assert "hangs" in capsys.readouterr().out


def test_nothing_to_verify(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["verify", "--no-cache", "src/main.f90", "--compile", COMPILE]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nothing is transformed, so" in captured.err
    assert main([*arguments, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == []


def test_an_original_that_fails_proves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--compile", "touch {exe}", "--run", "false", "--ranks", "1", "--tile", "2")
    assert verify(*arguments) == 2
    captured = capsys.readouterr()
    assert "nothing is compared; run it as it can run" in captured.out
    assert "original fails" in captured.out
    assert captured.err.endswith("asphalt: not compared: 1 where the original fails\n")


def test_an_original_that_fails_is_quoted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own words come before those of the launcher."""
    path = here / "src" / "main.f90"
    stop = "print *, 'np must be even'\n  call MPI_Abort(MPI_COMM_WORLD, 1, ierr)\n  allocate(s("
    path.write_text(path.read_text().replace("allocate(s(", stop))
    assert verify("--compile", COMPILE, "--ranks", "3", "--tile", "2") == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "(it printed last: np must be even" in out
    assert "Set MCA parameter" not in out


def test_a_compile_line_that_makes_no_program(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify("--compile", "true", "--run", "true", "--ranks", "1", "--tile", "2") == 2
    assert "made no {exe}" in capsys.readouterr().err
