"""Names of sites."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.diagnostics.site_names import site_name


def test_a_site_has_the_name_of_its_procedure(tmp_path: Path) -> None:
    assert site_name(tmp_path / "a.f90", "transpose", 1, 1) == "transpose"


def test_several_sites_are_counted(tmp_path: Path) -> None:
    names = [site_name(tmp_path / "a.f90", "transpose", number, 2) for number in (1, 2)]
    assert names == ["transpose_1", "transpose_2"]


def test_a_main_program_without_a_name(tmp_path: Path) -> None:
    assert site_name(tmp_path / "my-run.f90", "", 1, 1) == "my_run_main"


@pytest.mark.parametrize(
    "other",
    ["subroutine transpose(n)\n", "  INTEGER FUNCTION TRANSPOSE ()\n", "program  transpose\n"],
)
def test_the_file_comes_first_where_names_repeat(other: str, tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text("subroutine transpose(n)\n")
    (tmp_path / "b.F90").write_text(other)
    assert site_name(tmp_path / "a.f90", "transpose", 1, 1) == "a_transpose"
    assert site_name(tmp_path / "b.F90", "transpose", 1, 1) == "b_transpose"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("b.f90", "call transpose(n)\n"),
        ("b.f90", "subroutine transpose_all(n)\n"),
        ("b.txt", "subroutine transpose(n)\n"),
        ("sub/b.f90", "subroutine transpose(n)\n"),
    ],
)
def test_other_mentions_do_not_matter(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / name).write_text(text)
    assert site_name(tmp_path / "a.f90", "transpose", 1, 1) == "transpose"


@given(st.from_regex(r"[a-z][a-z0-9_]{0,62}", fullmatch=True), st.integers(1, 99))
def test_names_fit_into_the_header(unit: str, number: int) -> None:
    name = site_name(Path("nowhere/file.f90"), unit, number, 99)
    assert re.fullmatch(r"[a-z]\w*", name)
    assert len(f"asphalt_k_{name}") <= 63
    assert len(name) <= 45


@given(st.from_regex(r"[a-z][a-z0-9_]{50,62}", fullmatch=True))
def test_long_names_stay_apart(unit: str) -> None:
    other = unit[:-1] + ("a" if unit[-1] != "a" else "b")
    path = Path("nowhere/file.f90")
    assert site_name(path, unit, 1, 1) != site_name(path, other, 1, 1)
    assert site_name(path, unit, 1, 2) != site_name(path, unit, 2, 2)
