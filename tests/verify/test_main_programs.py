"""Trees of several main programs, which no single command line can link."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.errors import InputError
from asphalt.project import Project
from asphalt.verify.main_programs import refuse_several_mains
from support.cli_programs import write_tree

COMPILE = "mpif90 {sources} -o {exe}"
POST = """\
program post
  use transposes
  print *, 1
end program post
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_tree(tmp_path / "src")
    (tmp_path / "src" / "post.f90").write_text(POST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["verify", "simulate"])
def test_two_main_programs_are_not_compiled(
    command: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asphalt.running.mpi.Mpi.require", lambda _: None)
    assert main([command, "--no-cache", "--jobs", "1", "src"]) == 2
    err = capsys.readouterr().err
    assert "one of 2 main programs (main in src/main.f90:1, post in src/post.f90:1)" in err
    assert "give the files of one of them (src/main.f90 src/transposes.f90)" in err
    assert "--build" in err
    assert "multiple definition" not in err


def test_a_build_of_its_own_may_make_one_of_them(here: Path) -> None:
    project = Project("src")
    with pytest.raises(InputError):
        refuse_several_mains(project, COMPILE)
    refuse_several_mains(project, "make FC={fc}")
    refuse_several_mains(project, "mpif90 transposes.f90 main.f90 -o {exe}")


def test_the_files_of_one_program(here: Path) -> None:
    refuse_several_mains(Project("src/main.f90", "src/transposes.f90"), COMPILE)


def test_a_program_in_a_branch_of_the_preprocessor(here: Path) -> None:
    """Flags of the compiler may leave out either of them."""
    (here / "src" / "post.f90").unlink()
    (here / "src" / "post.F90").write_text(f"#ifndef NO_POST\n{POST}#endif\n")
    refuse_several_mains(Project("src"), COMPILE)


def test_an_included_main_program_is_one(here: Path) -> None:
    (here / "src" / "post.f90").unlink()
    (here / "src" / "main.f90").rename(here / "src" / "body.f90")
    (here / "src" / "main.f90").write_text('include "body.f90"\n')
    refuse_several_mains(Project("src"), COMPILE)
