"""The scan finds every file and every name in its disguises."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.frontend.source_tree.scan import (
    find_foreign,
    find_sources,
    has_mpi_name,
    has_name,
    joined_fixed,
)
from asphalt.ir.source import Form


@pytest.mark.parametrize(
    "text",
    [
        "call MPI_Send(a)\n",
        "call mp&\n  &i_send(a)\n",
        "call M& ! why\r\n  ! a comment\r\n\r\n&PI_SEND(a)\r\n",
        "call mpi&\n#ifdef A\n&_send(a)\n",
        "call m&\n&p&\n&i_send(a)\n",
        "use mpi, only: x => mpi_alltoall\n",
    ],
)
def test_free_form_disguises(text: str) -> None:
    assert has_mpi_name(text.encode(), Form.FREE)


@pytest.mark.parametrize(
    "text",
    [
        "      CALL MPI_SEND(A)\n",
        "      CALL M P I _SEND(A)\n",
        "      CALL MP\n     &I_SEND(A)\n",
        "      CALL MP! why\n     &I_SEND(A)\n",
        "      CALL M\nC     comment\n\n     1PI_SEND(A)\n",
        "      CALL M\n     1P\n     2I_SEND(A)\n",
        "      CALL M\n     1PI\n     2_SEND(A)\n",
        "      CALL" + " " * 60 + "MP00000100\n     1I_SEND(A)\n",
        "\tCALL MPI\n\t1_SEND(A)\n",
        "      CALL MPI\r\n     1_SEND(A)\r\n",
    ],
)
def test_fixed_form_disguises(text: str) -> None:
    assert has_mpi_name(text.encode(), Form.FIXED)


@pytest.mark.parametrize("form", list(Form))
def test_files_without_mpi_are_distinguished(form: Form) -> None:
    text = b"      subroutine f(a)\n      i_x = mp\n     & + pi_x\n      end\n"
    assert not has_mpi_name(text, form)


@given(
    st.lists(st.integers(1, 10), max_size=4, unique=True),
    st.sampled_from(["", "! c", "\n", "\n! c", "\n#if 1"]),
    st.booleans(),
)
def test_a_name_cut_anywhere_is_found(cuts: list[int], between: str, upper: bool) -> None:
    name = "mpi_allgather"
    parts = [name[a:b] for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), len(name)], strict=True)]
    free = "call " + f"&{between}\n  &".join(parts) + "(a)\n"
    fixed_between = between.replace("\n! c", "\nC c")
    fixed = "      call " + f"{fixed_between}\n     &".join(parts) + "(a)\n"
    for text, form in ((free, Form.FREE), (fixed, Form.FIXED)):
        data = (text.upper() if upper else text).encode()
        assert has_mpi_name(data, form)
        assert has_name(data, [b"allgather"], form)


def test_fixed_form_text_past_column_72_does_not_count() -> None:
    line = "      X = 1".ljust(72) + "MPI_X\n"
    assert b"mpi" not in joined_fixed(line.lower().encode())


def test_find_sources(tmp_path: Path) -> None:
    for name in ("b.F90", "a.f", "sub/c.for", "sub/d.txt", ".git/e.f90", "sub/.pc/f.f90"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("end\n")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    (tmp_path / "a_link.f").symlink_to(tmp_path / "a.f")
    (tmp_path / "gone.f").symlink_to(tmp_path / "nowhere.f")
    found, problems = find_sources([tmp_path])
    assert [str(p.relative_to(tmp_path)) for p in found] == ["a.f", "b.F90", "sub/c.for"]
    assert [p.file for p in problems] == [str(tmp_path / "gone.f")]


def test_a_file_is_taken_whatever_its_suffix_and_once(tmp_path: Path) -> None:
    source = tmp_path / "x.inc"
    source.write_text("end\n")
    assert find_sources([source, source]) == ((source,), ())


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.f90")
    found, problems = find_sources([tmp_path / "a.f90"])
    assert found == ()
    assert [p.message for p in problems] == ["not a regular file"]
    assert find_sources([tmp_path])[0] == ()


def test_find_foreign(tmp_path: Path) -> None:
    for name in ("b.C", "a/x.h", ".git/c.c", "d.f90"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert find_foreign([tmp_path]) == (tmp_path / "a/x.h", tmp_path / "b.C")


def test_missing_path_and_directory_without_fortran(tmp_path: Path) -> None:
    found, problems = find_sources([tmp_path / "nowhere", tmp_path])
    assert found == ()
    assert [p.message for p in problems] == [
        "no such file or directory",
        "no Fortran file in this directory",
    ]
