"""asphalt.unparse.params: the header is merged, never overwritten."""

from __future__ import annotations

import multiprocessing
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.config.errors import InputError
from asphalt.config.limits import HEADER
from asphalt.ir.source import Form
from asphalt.ir.stmt import Raw
from asphalt.unparse.params import HeaderEntry, merge_header, update_header
from asphalt.unparse.unparse import Style, lines_of


def entry(site: str, tile: int = 0, depth: int = 2, line: int = 20) -> HeaderEntry:
    return HeaderEntry(site, "MPI_Alltoall", f"exchange.f90:{line}", "z", tile, depth)


NEW = """\
! Written by asphalt. Edit the numbers and rebuild; there is no need to run asphalt again.
! k: iterations of a tile, 0 for a choice on entry; d: tiles in flight, at least 1.
! transpose: MPI_Alltoall at exchange.f90:20, tiled along z
      integer, parameter :: asphalt_k_transpose = 0  ! written as: 0
      integer, parameter :: asphalt_d_transpose = 2  ! written as: 2
      integer(merge(kind(0), -1, asphalt_k_transpose >= 0)),            & ! K must be 0 or more
     &parameter :: asphalt_valid_k_transpose = 0
      integer(merge(kind(0), -1, asphalt_d_transpose >= 1 .and.         &
     &asphalt_d_transpose <= 4096)), parameter ::                       & ! D must be from 1 to 4096
     &asphalt_valid_d_transpose = 0
"""
OLDER = """\
      integer(merge(kind(0), -1, asphalt_k_transpose >= 0 .and.         &
     &asphalt_d_transpose >= 1)), parameter ::                          &
     &asphalt_valid_transpose = 0
"""


def test_an_older_check_makes_place() -> None:
    old = "".join(NEW.splitlines(keepends=True)[:5]) + OLDER
    assert merge_header(old, [entry("transpose")]) == NEW
    assert merge_header(old, []) == old
    assert merge_header(old, [], drop=["transpose"]) == merge_header(NEW, [], drop=["transpose"])


def test_new_header() -> None:
    assert merge_header(None, [entry("transpose")]) == NEW


def test_merging_again_changes_nothing() -> None:
    assert merge_header(NEW, [entry("transpose")]) == NEW
    assert merge_header(NEW, []) == NEW
    without_newline = NEW.rstrip("\n")
    assert merge_header(without_newline, [entry("transpose")]) == without_newline


LONG = "a_procedure_with_quite_a_long_name_indeed_123"


def chosen(site: str, *backends: str) -> HeaderEntry:
    return replace(entry(site), backends=backends)


@pytest.mark.parametrize("site", ["transpose", LONG])
def test_backends(site: str) -> None:
    alone, isend, persistent = (
        merge_header(None, [chosen(site, *names)])
        for names in (("isend",), ("isend", "persistent"), ("persistent", "isend"))
    )
    assert "backend" not in alone
    assert persistent.count("asphalt_by_") == 3
    for text, entry_of in (
        (persistent, chosen(site, "persistent", "isend")),
        (isend, chosen(site, "isend", "persistent")),
        (alone, chosen(site, "isend")),
    ):
        for before in (alone, isend, persistent):
            assert merge_header(before, [entry_of]) == text
            assert merge_header(before, [], drop=[site]) == merge_header(alone, [], drop=[site])
    edited = persistent.replace("asphalt_by_persistent  ! w", "asphalt_by_isend  ! w")
    assert edited != persistent
    assert merge_header(edited, [chosen(site, "persistent", "isend")]) == edited
    assert merge_header(edited, [chosen(site, "isend")]) == alone
    lines = persistent.splitlines(keepends=True)
    here = next(n for n, line in enumerate(lines) if line.startswith("      procedure"))
    left = "".join([*lines[:4], *lines[here:]])  # somebody removed K and D
    assert merge_header(left, [chosen(site, "persistent", "isend")]) == persistent


def test_a_backend_that_is_not_there_is_told_of() -> None:
    text = merge_header(None, [chosen("transpose", "persistent", "isend")])
    wrong = text.replace("asphalt_by_persistent  ! w", "asphalt_by_shmem  ! w")
    must = "must be asphalt_by_isend or asphalt_by_persistent, not"
    with pytest.raises(InputError, match=rf"14: .* {must} asphalt_by_shmem"):
        merge_header(wrong, [])
    declared = wrong.replace(
        "      external", "      external :: asphalt_by_shmem\n      external", 1
    )
    assert merge_header(declared, [chosen("transpose", "persistent", "isend")]) == declared
    wrong = text.replace("=> asphalt_by_persistent  ! w", "=> null() ! w; ")
    with pytest.raises(InputError, match=rf"{must} null\(\)"):
        merge_header(wrong, [])


@pytest.mark.parametrize("suffix", ["f", "f90"])
def test_a_wrong_backend_does_not_compile(suffix: str, tmp_path: Path) -> None:
    user = tmp_path / f"user.{suffix}"
    user.write_text(f"      subroutine user\n      include '{HEADER}'\n      end\n")
    entries = [chosen(site, "persistent", "isend") for site in ("transpose", LONG)]
    right = merge_header(None, entries)
    for site in ("", "transpose", LONG):
        line = re.compile(rf"(asphalt_backend_{site} *=>\s*&?\s*&?)asphalt_by_persistent")
        (tmp_path / HEADER).write_text(line.sub(r"\1asphalt_by_shmem", right) if site else right)
        command = ["gfortran", "-Wall", "-c", user.name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (not site)
        if site:
            assert re.search(rf"{HEADER}:\d+:", done.stderr)
            assert "asphalt_by_shmem" in done.stderr
        else:
            assert done.stderr == ""


def test_values_that_a_person_set_stay() -> None:
    for old, edited in (
        ("transpose = 0  ! written as: 0", "transpose = 8  ! written as: 0"),
        ("transpose = 0  ! written as: 0", "transpose = 8  ! measured on Friday"),
        ("      integer, parameter :: asphalt_k_transpose = 0  ! written as: 0",
         "INTEGER,PARAMETER::ASPHALT_K_TRANSPOSE=8"),
    ):  # fmt: skip
        text = NEW.replace(old, edited)
        assert merge_header(text, [entry("transpose")]) == text
        assert merge_header(text, [entry("transpose", tile=3)]) == text
        assert "asphalt_d_transpose = 5" in merge_header(text, [entry("transpose", depth=5)])


def test_values_that_asphalt_wrote_follow_the_command_line() -> None:
    text = merge_header(NEW, [entry("transpose", tile=4, line=21)])
    assert "asphalt_k_transpose = 4  ! written as: 4" in text
    assert "exchange.f90:21" in text
    assert merge_header(text, [entry("transpose")]) == NEW


def test_sites_of_other_files_stay_and_names_are_in_order() -> None:
    text = merge_header(merge_header(NEW, [entry("zeta")]), [entry("alpha"), entry("beta")])
    sites = [line.split(":")[0][2:] for line in text.splitlines() if "tiled along" in line]
    assert sites == ["alpha", "beta", "transpose", "zeta"]
    assert merge_header(None, [entry(site) for site in reversed(sites)]) == text


def test_dropped_sites_go_and_nothing_else() -> None:
    both = merge_header(NEW, [entry("zeta")])
    assert merge_header(both, [], drop=["zeta"]) == NEW
    assert merge_header(both, [entry("zeta")], drop=["transpose", "unknown"]) == merge_header(
        None, [entry("zeta")]
    )


def test_missing_half_of_a_site_is_added() -> None:
    lines = NEW.splitlines(keepends=True)
    assert merge_header("".join(lines[:4]), [entry("transpose")]) == NEW
    assert merge_header("".join([*lines[:3], lines[4]]), [entry("transpose")]) == NEW


def test_a_header_of_an_older_version_gets_the_check() -> None:
    lines = NEW.splitlines(keepends=True)
    assert merge_header("".join(lines[:5]), [entry("transpose")]) == NEW
    assert merge_header("".join([*lines[:2], *lines[5:]]), [entry("transpose")]) == NEW


def test_a_strangely_edited_header_survives() -> None:
    text = (
        "! our own header\r\n"
        "C     a comment on asphalt_k_transpose = 7\r\n"
        "      integer, parameter :: nx = 4, &\n"
        "        ny = 5\n"
        "      integer, parameter :: asphalt_k_other = 2, asphalt_d_other = 3\n"
        "\n"
        "      integer, parameter :: asphalt_d_mine = 3 ! last"
    )
    merged = merge_header(text, [entry("transpose")])
    assert merged.startswith(text + "\n")
    assert "asphalt_k_transpose = 0  ! written as: 0\r\n" in merged
    assert merge_header(merged, [entry("transpose")]) == merged


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("integer, parameter :: asphalt_k_transpose = -1", "from 0 up, not '-1'"),
        ("integer, parameter :: asphalt_d_transpose = 0", "from 1 up, not '0'"),
        ("integer, parameter :: asphalt_d_transpose = two", "from 1 up, not 'two'"),
        ("integer, parameter :: asphalt_k_other = 1.5", "from 0 up, not '1.5'"),
        ("integer, parameter :: asphalt_k_other =", "from 0 up, not ''"),
        ("integer, parameter :: asphalt_k_transpose = &", "of its own"),
        ("parameter (asphalt_k_transpose = 3)", "of its own"),
        ("integer, parameter :: n = 1, asphalt_k_transpose = 3", "of its own"),
    ],
)
def test_what_cannot_be_merged_is_refused_with_its_line(
    line: str, message: str, tmp_path: Path
) -> None:
    header = tmp_path / HEADER
    text = f"! mine\n{line}\n"
    header.write_text(text)
    with pytest.raises(InputError) as refusal:
        update_header(header, [entry("transpose")])
    assert str(refusal.value).startswith(f"{header}:2: ")
    assert message in refusal.value.message
    assert header.read_text() == text
    assert list(tmp_path.iterdir()) == [header]


def test_a_name_defined_twice_is_refused() -> None:
    with pytest.raises(InputError, match="also set in line 4"):
        merge_header(NEW + NEW, [entry("other")])


def test_comment_is_one_line_of_plain_characters() -> None:
    odd = HeaderEntry("s", "MPI_Alltoall", "na\u00efve\nfile\\.f90:3", "z", 0, 2)
    assert odd.comment == "! s: MPI_Alltoall at na?ve?file?.f90:3, tiled along z"


def test_header_compiles_in_both_forms(tmp_path: Path) -> None:
    entries = [entry("transpose", 2147483647), entry(LONG, 2147483647, 3), entry("short", 3)]
    update_header(tmp_path / HEADER, entries)
    body = f"print '(3(i0,1x))', asphalt_k_transpose, asphalt_d_{LONG}, asphalt_k_short"
    assert len(LONG) == 45  # the longest name of a site
    for name, lines in {
        "free.f90": ["program p", "implicit none", f"include '{HEADER}'", body, "end"],
        "fixed.f": [
            "      program p",
            "      implicit none",
            f"      include '{HEADER}'",
            lines_of(Raw(body), Style(Form.FIXED, 72, False, ""), 6).replace("     &", "\n     &"),
            "      end",
        ],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        command = ["gfortran", "-Wall", "-pedantic", name, "-o", "prog"]
        outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert outcome.stderr == ""
        printed = subprocess.run([tmp_path / "prog"], capture_output=True, text=True, check=True)
        assert printed.stdout.split() == ["2147483647", "3", "3"]
    text = (tmp_path / HEADER).read_text()
    assert merge_header(text, entries) == text
    assert f"asphalt_k_{LONG}=9 " in merge_header(text, [entry(LONG, 9, 3)])
    assert LONG not in merge_header(text, [], drop=[LONG])


_K_RANGE, _D_RANGE = "K must be 0 or more", "D must be from 1 to 4096"


@pytest.mark.parametrize("site", ["site", LONG])
@pytest.mark.parametrize("suffix", ["f", "f90"])
@pytest.mark.parametrize(
    ("tile", "depth", "said"),
    [(0, 1, ""), (4, 4096, ""), (-3, 1, _K_RANGE), (4, 0, _D_RANGE), (4, 4097, _D_RANGE)],
)
def test_values_out_of_range_do_not_compile(
    tile: int, depth: int, said: str, site: str, suffix: str, tmp_path: Path
) -> None:
    text = merge_header(None, [entry(site, 7, 9)])
    text = re.sub(r"= ?7\b", f"={tile}", re.sub(r"= ?9\b", f"={depth}", text))
    (tmp_path / HEADER).write_text(text)
    user = tmp_path / f"p.{suffix}"
    user.write_text(f"      program p\n      implicit none\n      include '{HEADER}'\n      end\n")
    command = ["gfortran", "-fsyntax-only", "-Wall", user.name]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (outcome.returncode == 0) == (said == "")
    if said:
        assert re.search(rf"{HEADER}:\d+:", outcome.stderr)
        assert outcome.stderr.count("Error") == 1
    shown = [line for line in outcome.stderr.splitlines() if said and said in line]
    assert len(shown) == (1 if said else 0)
    assert all(f"asphalt_{said[0].lower()}_{site}" in line for line in shown)


def _writer(header: Path, worker: int) -> None:
    for turn in range(8):
        update_header(header, [entry(f"site_{worker}_{turn}", tile=worker)])


def test_many_processes_lose_nothing(tmp_path: Path) -> None:
    header = tmp_path / HEADER
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_writer, args=(header, worker)) for worker in range(6)]
    for process in workers:
        process.start()
    for process in workers:
        process.join(60)
        assert process.exitcode == 0
    everything = [entry(f"site_{w}_{turn}", tile=w) for w in range(6) for turn in range(8)]
    assert header.read_text() == merge_header(None, everything)
    assert list(tmp_path.iterdir()) == [header]
    assert not update_header(header, everything)


def test_mode_is_kept_and_folders_are_made(tmp_path: Path) -> None:
    header = tmp_path / "deep" / HEADER
    assert update_header(header, [entry("transpose")])
    header.chmod(0o600)
    assert update_header(header, [entry("other")])
    assert header.stat().st_mode & 0o777 == 0o600


def test_a_header_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / HEADER).mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        update_header(tmp_path / HEADER, [entry("transpose")])


_SITES = st.sampled_from(["a", "b", "c_1", LONG])
_ENTRIES = st.lists(
    st.builds(entry, _SITES, st.integers(0, 99), st.integers(1, 9), st.integers(1, 999)),
    max_size=4,
    unique_by=lambda one: one.site,
)


@given(_ENTRIES, _ENTRIES, st.integers(1, 99))
def test_edits_survive_any_merge(
    first: list[HeaderEntry], second: list[HeaderEntry], value: int
) -> None:
    text = merge_header(None, first)
    for one in first:  # a person edits every K
        text = text.replace(f"k_{one.site} = {one.tile} ", f"k_{one.site} = {one.tile + value} ")
    merged = merge_header(text, second)
    for one in first:
        assert f"asphalt_k_{one.site} = {one.tile + value} " in merged
    for one in second:
        assert f"asphalt_d_{one.site} = {one.depth} " in merged
    assert merge_header(merged, second) == merged
