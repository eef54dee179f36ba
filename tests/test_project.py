"""The project: sites, verdicts, and the changes of whole trees."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.frontend.lexical.source_text import source_text
from asphalt.frontend.structure.parse import parse_file
from asphalt.project import DEFAULT_DEPTH, DEFAULT_TILE, Project
from asphalt.unparse.unparse import unparse
from support.cli_programs import MAIN, REFUSED_LINE, TRANSPOSES_LINE, write_tree
from support.judging import CALL, SETTINGS, program, transformed
from support.mpi_run import RUNTIME


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "src")


def test_files_and_sites_are_sorted(tree: Path) -> None:
    project = Project(tree, settings=SETTINGS)
    names = [str(path.relative_to(tree)) for path in project.files]
    assert names == ["main.f90", "sub/refused.f90", "transposes.f90"]
    found = [(Path(s.report.file).name, s.report.line, s.verdict) for s in project.sites()]
    assert found == [
        ("refused.f90", REFUSED_LINE, "refused"),
        ("transposes.f90", TRANSPOSES_LINE, "proved"),
    ]
    assert project.sites() is project.sites()
    assert project.problems == ()
    assert project.roots == (tree,)


def test_a_report_says_why(tree: Path) -> None:
    refused, proved = (site.report for site in Project(tree, settings=SETTINGS).sites())
    assert (refused.code, refused.backend, refused.evidence) == ("ASP001", None, ())
    assert (proved.code, proved.backend, proved.unit) == (None, "isend", "transpose")
    assert len(proved.evidence) >= 11
    assert proved.message == "can be prepushed along z (every block)"


def test_one_change_a_file(tree: Path) -> None:
    (change,) = Project(tree, settings=SETTINGS).transform()
    assert change.path == tree / "transposes.f90"
    assert change.before == (tree / "transposes.f90").read_bytes()
    (report,) = change.sites
    assert (report.verdict, report.passes) == ("applied", ("prepush",))
    assert (report.tile, report.depth) == (DEFAULT_TILE, DEFAULT_DEPTH)
    (parameter,) = change.parameters
    assert (parameter.site, parameter.tile, parameter.depth) == (report.id, 0, DEFAULT_DEPTH)
    assert parameter.source == f"transposes.f90:{TRANSPOSES_LINE}"
    assert parameter.loop == "z"


def test_arguments_come_before_settings_and_settings_before_defaults(tree: Path) -> None:
    project = Project(tree, settings=replace(SETTINGS, tile=7, depth=5))
    for tile, depth, expected in ((None, None, (7, 5)), (0, 1, (0, 1)), (3, None, (3, 5))):
        (change,) = project.transform(tile=tile, depth=depth)
        assert [(p.tile, p.depth) for p in change.parameters] == [expected]
        assert [(s.tile, s.depth) for s in change.sites] == [expected]


def test_nothing_is_written(tree: Path) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*.f90")}
    Project(tree, settings=SETTINGS).transform()
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == {
        **before,
        tree / "run.sh": b"#!/bin/sh\nexit 0\n",
    }


def test_the_same_result_every_time(tree: Path) -> None:
    first, second = (Project(tree, settings=SETTINGS).transform() for _ in range(2))
    assert first == second


def test_a_second_apply_changes_nothing(tree: Path) -> None:
    for change in Project(tree, settings=SETTINGS).transform():
        change.path.write_bytes(change.after)
    (tree / "asphalt_params.inc").write_text("! K and D\n")
    for source in RUNTIME:
        (tree / source.name).write_bytes(source.read_bytes())
    again = Project(tree, settings=SETTINGS)
    assert [site.verdict for site in again.sites()] == ["refused", "applied"]
    assert again.transform() == ()
    transfers = replace(SETTINGS, passes=TRANSFERS)
    changed = {change.path.name for change in Project(tree, settings=transfers).transform()}
    assert not changed & {source.name for source in RUNTIME}


def test_a_changed_file_is_printed_as_it_is_parsed(tree: Path) -> None:
    (change,) = Project(tree, settings=SETTINGS).transform()
    file = parse_file(source_text(str(change.path), change.after))
    assert unparse(file).encode("latin-1") == change.after


UNTIDY = """\
! caf\xe9: Latin-1, \ttabs and trailing blanks  \n\
subroutine other ; end subroutine other   ! untouched\n\
\n\
"""


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["\n", ""])
def test_untouched_lines_are_identical(eol: str, end: str, tmp_path: Path) -> None:
    before = (UNTIDY + program() + UNTIDY).rstrip("\n").replace("\n", eol) + end
    after = transformed(tmp_path, before)
    assert after != before
    assert after.endswith(UNTIDY.rstrip("\n").replace("\n", eol) + end)
    kept = after.split(eol)
    left = iter(kept)
    for line in before.split(eol):
        if re.match(r"\s+do z =", line):
            continue
        words = line if line in kept else f"  {line}"  # one level further in
        assert any(words == other for other in left), repr(line)


def test_several_units_of_one_file(tmp_path: Path) -> None:
    unit = """\
    subroutine {name}(n, nz, np, s, r)
      use mpi
      integer, intent(in) :: n, nz, np
      real(8), intent(inout) :: s(n,nz,np), r(n,nz,np)
      integer :: z, ierr
      do z = 1, nz
        s(:,z,:) = z
      end do
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                        MPI_COMM_WORLD, ierr)
    end subroutine {name}
"""
    calls = "call first(n, nz, np, s, r)\ncall second(n, nz, np, s, r)\n"
    text = program(nest=calls, call="", contained=unit.format(name="first")) + unit.format(
        name="second"
    )
    path = tmp_path / "two.f90"
    path.write_text(text)
    (change,) = Project(path, settings=SETTINGS).transform()
    assert [parameter.site for parameter in change.parameters] == ["first", "second"]
    assert change.after.count(b"asphalt: MPI_Alltoall of site") == 2
    assert change.after.count(b"include 'asphalt_params.inc'") == 2


def test_what_is_only_assumed_is_not_transformed(tmp_path: Path) -> None:
    nest = "do z = 1, nz\n  s(:,z,:) = exp(dble(z))\nend do\n"
    path = tmp_path / "a.f90"
    path.write_text(program(nest=nest))
    assert [site.verdict for site in Project(path, settings=SETTINGS).sites()] == ["assumed"]
    assert Project(path, settings=SETTINGS).transform() == ()
    accepted = Project(path, settings=replace(SETTINGS, assume=frozenset({"bits"})))
    (change,) = accepted.transform()
    assert b"assumed: bits" in change.after


def test_a_tree_without_sites(tmp_path: Path) -> None:
    (tmp_path / "main.f90").write_text(MAIN)
    project = Project(tmp_path, settings=SETTINGS)
    assert (project.sites(), project.transform()) == ((), ())


def test_a_missing_path_is_a_problem(tmp_path: Path) -> None:
    project = Project(tmp_path / "missing", settings=SETTINGS)
    (problem,) = project.problems
    assert "missing" in problem.file
    assert project.sites() == ()


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tree: Path) -> None:
    (tree / "binary.f90").write_bytes(b"\0\1\2call mpi_alltoall")
    project = Project(tree, settings=SETTINGS)
    assert any(problem.file.endswith("binary.f90") for problem in project.problems)
    assert "proved" in [site.verdict for site in project.sites()]


def test_a_site_is_named_after_its_file_where_names_repeat(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.f90").write_text(program(call=CALL))
    (tmp_path / "one" / "b.f90").write_text(program().replace("exchange", "EXCHANGE"))
    names = {s.name for s in Project(tmp_path / "one", settings=SETTINGS).sites()}
    assert names == {"a_exchange", "b_exchange"}
    (site,) = Project(tmp_path / "two", settings=SETTINGS).sites()
    assert site.name == "exchange"
