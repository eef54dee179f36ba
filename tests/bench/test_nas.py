"""The page of the NAS Parallel Benchmarks, and what their build tells of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench import nas

_ROW = {"class": "S", "computation": 0.004, "communication": 0.002, "difference": None}
_ROWS = {
    "CG": {"ethernet-1g": {**_ROW, "original": 0.006, "transformed": None}},
    "MG": {"ethernet-1g": {**_ROW, "original": 0.006, "transformed": 0.005}},
    "SP": {"ib-ddr-2009": {**_ROW, "original": 0.006, "transformed": 0.0060000001}},
}


def test_each_program_has_a_row_for_its_platforms() -> None:
    lines = nas.page(_ROWS).split("\n")
    assert "| CG | S | 6 ms | not transformed |  | 4 ms | 2 ms |  |  |" in lines
    assert "| MG | S | 6 ms | 5 ms | 16.7 % | 4 ms | 2 ms | 50.0 % | equal |" in lines
    assert "| SP | S | 6 ms | 6 ms | 0.0 % | 4 ms | 2 ms | 0.0 % | equal |" in lines
    assert [line for line in lines if line.startswith("## ")] == [
        f"## {platform}" for platform in nas.PLATFORMS
    ]


def test_the_page_is_that_of_the_kept_results() -> None:
    kept = json.loads(nas.RESULTS.read_text(encoding="utf-8"))
    assert nas.PAGE.read_text(encoding="utf-8") == nas.page(kept)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_sources_are_those_of_the_makefile(tmp_path: Path) -> None:
    for name in ("MG", "common", "config", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "config" / "make.def.template").write_text("RAND = randi8\n")
    makefile = "include ../config/make.def\nOBJS = mg.o ../common/${RAND}.o ../common/t.o\n"
    (tmp_path / "MG" / "Makefile").write_text(f"{makefile}config:\n\ttouch npbparams.h\n")
    for name in ("MG/mg.f90", "common/randi8.f90", "common/t.c"):
        (tmp_path / name).touch()
    found = nas.configured(tmp_path, "MG", "S")
    assert found == [str(tmp_path / name) for name in ("MG/mg.f90", "common/randi8.f90")]
    assert (tmp_path / "MG" / "npbparams.h").exists()


def test_a_build_that_fails_is_told(tmp_path: Path) -> None:
    for name in ("MG", "config"):
        (tmp_path / name).mkdir()
    (tmp_path / "config" / "make.def").touch()
    with pytest.raises(nas.NasError, match="make config CLASS=S fails"):
        nas.configured(tmp_path, "MG", "S")
