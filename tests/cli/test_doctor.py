"""``asphalt doctor``."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.running import parts
from support.places import ROOT


def test_what_is_there_and_what_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = tmp_path / "make"
    tool.write_text("#!/bin/sh\necho GNU Make 1.2.3\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/nowhere")
    assert main(["doctor", "--format", "json"]) == 0
    found = {part["name"]: part for part in json.loads(capsys.readouterr().out)["parts"]}
    missing = {"gfortran", "CPP", "Open MPI", "MPICH", "SimGrid's SMPI", "mpif90", "gdb"}
    assert {name for name, part in found.items() if part["found"] is None} >= missing
    assert found["scipy"]["get"].startswith("pip install 'scipy>=")
    assert "libsimgrid-dev" in found["SimGrid's SMPI"]["get"]
    for columns in ("200", "80", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["doctor"]) == 0
        shown = capsys.readouterr().out
        assert "missing" in shown
        assert "1.2.3" in shown
        assert "…" not in shown
        for part in found.values():
            # what one copies stands in one line, however narrow the terminal is
            line = f"{part['name']}: {part['get']}"
            assert (line in shown.splitlines()) == (part["found"] is None)


def test_packages_are_those_of_the_extras() -> None:
    """So that the advice holds wherever asphalt was installed from."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra, packages in parts.EXTRAS.items():
        assert sorted(packages) == sorted(extras["optional-dependencies"][extra])
    assert parts.pip_line("procedures") == "pip install 'mpi4py>=4' 'numpy>=1.26'"


def test_another_distribution_of_that_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = {"asphalt": ["asphalt-mpi", "asphalt"], "click": ["click"]}
    monkeypatch.setattr(parts, "packages_distributions", lambda: installed)
    assert main(["doctor"]) == 1
    assert "the distribution asphalt brings an import package" in capsys.readouterr().err
    assert parts.other_distributions({"asphalt": ["asphalt-mpi"]}) == ()
