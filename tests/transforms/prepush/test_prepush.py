"""What becomes of one program of each shape, as text.

``golden/NAME.before.f90`` is the input and ``golden/NAME.after.f90`` what is expected (``.f`` for
fixed form).  After a change that is meant, the expected files are written anew by

    PYTHONPATH=.:tests python tests/transforms/prepush/test_prepush.py

and the difference is to be read before it is committed.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from asphalt.frontend.lexical.source_text import read_source
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.tree import leaves, units_in
from asphalt.project import Project
from support.judging import SETTINGS, program, site, transformed
from support.places import GOLDEN

BEFORE = sorted(GOLDEN.glob("*.before.f*"))


def after(before: Path) -> Path:
    return before.with_name(before.name.replace(".before.", ".after."))


def transformation(before: Path, folder: Path) -> str:
    alone = folder / before.name.replace(".before", "")  # sites are named after the files beside
    alone.write_bytes(before.read_bytes())
    (change,) = Project(alone, settings=SETTINGS).transform()
    return change.after.decode("latin-1")


def named(value: object) -> str | None:
    return value.name.split(".")[0] if isinstance(value, Path) else None


@pytest.mark.parametrize("before", BEFORE, ids=named)
def test_golden(before: Path, tmp_path: Path) -> None:
    assert transformation(before, tmp_path) == after(before).read_text(encoding="latin-1")


def test_there_is_a_program_of_each_kind() -> None:
    kinds = {
        "every_block",
        "slab",
        "packing",
        "fixed",
        "f08",
        "backwards",
        "late",
        "clone",
        "slab_window",
    }
    assert kinds <= {str(named(path)) for path in BEFORE}


@pytest.mark.parametrize("before", BEFORE, ids=named)
def test_untouched_lines_come_out_as_they_were(before: Path) -> None:
    """Every line of the input is there, in its order, but for the heads of the tiled loops."""
    old = before.read_text(encoding="latin-1").splitlines()
    new = iter(after(before).read_text(encoding="latin-1").splitlines())
    fixed = before.suffix == ".f"
    for line in old:
        if line.strip().lower().startswith(("do z =", "do k =", "planes: do z =", "do 10 iz =")):
            continue
        words = line if fixed else line.strip()
        assert any(words == (other if fixed else other.strip()) for other in new), line


@pytest.mark.parametrize("before", BEFORE, ids=named)
def test_the_output_is_fortran_that_is_understood(before: Path) -> None:
    expected = after(before)
    file = parse_file(read_source(expected))
    assert [unit.kind for unit in units_in(file)] == ["subroutine"]
    assert all(len(line) <= (72 if expected.suffix == ".f" else 132) for line in _code(expected))
    assert len(list(leaves(file))) > 15


def _code(path: Path) -> list[str]:
    lines = path.read_text(encoding="latin-1").splitlines()
    return [line for line in lines if not line.lstrip().startswith(("!", "C"))]


@pytest.mark.parametrize("before", BEFORE, ids=named)
def test_applied_once_more_nothing_changes(before: Path, tmp_path: Path) -> None:
    again = tmp_path / before.name
    again.write_bytes(after(before).read_bytes())
    found = Project(again, settings=SETTINGS)
    assert [site.verdict for site in found.sites()] == ["applied"]
    assert found.transform() == ()


@pytest.mark.parametrize(
    ("loop", "declare", "times"),
    [
        ("do p = 1, np", "", "np"),
        ("do p = 2, np + 1", "", "np"),
        ("do p = 1, wide", "integer(8) :: wide\n", ""),
        ("do p = 1, np, 1", "", ""),
    ],
)
def test_the_runtime_gets_the_trip_count_of_the_tiled_loop(
    loop: str, declare: str, times: str, tmp_path: Path
) -> None:
    plane = "p - 1" if loop.startswith("do p = 2") else "p"
    nest = f"""\
do z = 1, nz
  do i = 1, n
    w(i,z) = dble(i*z) + me
  end do
end do
{loop}
  do z = 1, nz
    do i = 1, n
      s(i,z,{plane}) = w(i,z)
    end do
  end do
end do
"""
    wide = "wide = np\n" if "wide" in declare else ""
    declare = f"real(8) :: w(n,nz)\n{declare}"
    text = transformed(tmp_path, program(nest=nest, declare=declare, before=wide))
    *_, last = re.findall(r"call asphalt_x%progress\(([^)]*)\)", text)
    given = "".join(last.replace("&", " ").split())
    assert given == times


def test_new_names_are_declared_and_begin_with_asphalt(tmp_path: Path) -> None:
    before, text = program(), transformed(tmp_path, program())
    words = set(re.findall(r"[a-z_]\w*", _without_comments(text)))
    new = words - set(re.findall(r"[a-z_]\w*", _without_comments(before)))
    own = {word for word in new if word.startswith("asphalt_")}
    assert new - own <= {
        "include", "inc", "storage_size", "true", "only", "asphalt", "if", "not", "type", "while",
        "unit", "last", "k", "d", "lo", "hi", "site", "alone", "uniform",
        "begin", "next_tile", "progress", "finished",
    }  # fmt: skip


def _without_comments(text: str) -> str:
    return "\n".join(line.split("!")[0] for line in text.lower().splitlines())


def test_the_comment_in_front_of_the_nest_stays_in_front(tmp_path: Path) -> None:
    text = transformed(tmp_path, program(nest="! planes\ndo z = 1, nz\n  s(:,z,:) = z\nend do\n"))
    lines = [line.strip() for line in text.splitlines()]
    where = lines.index("! planes")
    mark = "! asphalt: MPI_Alltoall of site 'exchange' prepushed along z; holds while "
    assert lines[where + 1].startswith(mark)
    assert lines[where + 2].startswith("call asphalt_x%begin(")


def test_directives_of_the_loop_stay_with_the_loop(tmp_path: Path) -> None:
    nest = "!dir$ ivdep\ndo z = 1, nz\n  s(:,z,:) = z\nend do\n"
    lines = [line.strip() for line in transformed(tmp_path, program(nest=nest)).splitlines()]
    assert lines[lines.index("!dir$ ivdep") + 1] == "do z = asphalt_x%lo, asphalt_x%hi"


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_new_lines_end_as_the_others_do(eol: str, tmp_path: Path) -> None:
    text = transformed(tmp_path, program().replace("\n", eol))
    assert text.count(eol) == text.count("\n")
    assert "asphalt_x%next_tile(s)" in text


def test_sizes_are_spelled_as_the_call_spells_them(tmp_path: Path) -> None:
    """Declarations in an included file may be in another letter case."""
    text = (GOLDEN / "fixed.before.f").read_text().upper().replace("'MPIF.H'", "'mpif.h'")
    declared = [line for line in text.splitlines(keepends=True) if line[6:].startswith("INTEGER ")]
    assert declared
    (tmp_path / "sizes.inc").write_text("".join(declared).lower())
    for number, line in enumerate(declared):
        text = text.replace(line, "" if number else "      INCLUDE 'sizes.inc'\n", 1)
    (tmp_path / "main.f").write_text(text)
    (change,) = Project(tmp_path, settings=SETTINGS).transform()
    before = set(text.splitlines())
    new = [line for line in change.after.decode().splitlines() if line not in before]
    statements = [line for line in new if not line.startswith("!") and "INCLUDE" not in line]
    assert any("%BEGIN(" in line for line in statements)
    assert "".join(statements).isupper()


def test_every_site_of_a_unit_is_transformed(tmp_path: Path) -> None:
    both = program(after="do z = 1, nz\n  s(:,z,:) = 3*z\nend do\n" + _CALL)
    text = transformed(tmp_path, both)
    assert text.count("call asphalt_x%begin") == 2
    assert text.count("include 'asphalt_params.inc'") == 1
    assert "asphalt_k_exchange_1" in text
    assert "asphalt_k_exchange_2" in text
    assert site(tmp_path, text).verdict == "applied"


_CALL = """\
call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                  MPI_COMM_WORLD, ierr)
"""

if __name__ == "__main__":
    for path in BEFORE:
        with TemporaryDirectory() as folder:
            after(path).write_text(transformation(path, Path(folder)), encoding="latin-1")
