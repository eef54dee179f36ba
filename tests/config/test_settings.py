"""Settings come from the nearest file, and what is not a setting is a usage error."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.errors import UsageError
from asphalt.config.settings import Settings, load_settings
from asphalt.config.sizes import Size, size_of
from asphalt.ir.source import Form

ALL = """
defines = ["__MPI", "N=3"]
include-dirs = ["include"]
jobs = 2
cache = false
form = "fixed"
width = 132
cpp = true
tile = 8
depth = 2
assume = ["Control", "pure: fft1d"]
sizes = { NX = 512, "solver:nx" = 64, "grid%ny" = 8 }
"""


def test_nothing_set(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()


@pytest.mark.parametrize(
    ("name", "header"),
    [("asphalt.toml", ""), ("pyproject.toml", "[tool.asphalt]"), ("fpm.toml", "[extra.asphalt]")],
)
def test_everything_set_in_a_directory_above(tmp_path: Path, name: str, header: str) -> None:
    (tmp_path / name).write_text(header + ALL)
    (tmp_path / "src").mkdir()
    assert load_settings(tmp_path / "src") == Settings(
        defines=("__MPI", "N=3"),
        include_dirs=(str(tmp_path / "include"),),
        jobs=2,
        cache=False,
        form=Form.FIXED,
        width=132,
        cpp=True,
        tile=8,
        depth=2,
        assume=frozenset({"control", "pure:fft1d"}),
        sizes=(Size(None, "nx", 512), Size("solver", "nx", 64), Size(None, "grid%ny", 8)),
    )


def test_a_file_of_another_tool_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "asphalt.toml").write_text("tile = 4\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    assert load_settings(tmp_path / "src").tile == 4


def test_a_named_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("defines = {A = true, B = 2}\n")
    assert load_settings(tmp_path, tmp_path / "mine.toml").defines == ("A", "B=2")


@pytest.mark.parametrize(
    "line",
    [
        "tiles = 3",
        "tile = -1",
        "tile = '8'",
        "tile = true",
        "depth = 0",
        "jobs = 0",
        "width = 10",
        "form = 'loose'",
        "cache = 1",
        "assume = 'x'",
        "defines = ['1X']",
        "defines = ['-o evil']",
        "not toml",
    ],
)
def test_what_is_not_a_setting(tmp_path: Path, line: str) -> None:
    (tmp_path / "asphalt.toml").write_text(line + "\n")
    with pytest.raises(UsageError, match=r"asphalt\.toml"):
        load_settings(tmp_path)


def test_a_named_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_settings(tmp_path, tmp_path / "nowhere.toml")


def test_the_form_of_single_files(tmp_path: Path) -> None:
    (tmp_path / "asphalt.toml").write_text(
        'form = "free"\nforms = { "*.fpp" = "free", "old/*.F" = "fixed" }\n'
    )
    found = load_settings(tmp_path)
    assert found.form_of(str(tmp_path / "old" / "a.F")) is Form.FIXED
    assert found.form_of(str(tmp_path / "new" / "a.F")) is Form.FREE
    assert found.form_of("x/a.fpp") is Form.FREE
    assert Settings(forms=(("a.f", Form.FREE),)).form_of("b.f") is None
    (tmp_path / "asphalt.toml").write_text('forms = "free"\n')
    with pytest.raises(UsageError, match="a table of patterns"):
        load_settings(tmp_path)


def test_the_last_size_of_a_variable_counts() -> None:
    given = (size_of("n=3"), size_of("a:n=4"), size_of(" N = +5 "))
    assert Settings(sizes=given).sizes == (Size(None, "n", 5), Size("a", "n", 4))
