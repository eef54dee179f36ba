"""Every code has two programs: one that gets it, and the same one mended, which is proved."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.analysis.conditions import call_arguments, point_to_point, usage
from asphalt.config.passes import TRANSFERS
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.diagnostics.examples import FOLDER, examples_of
from asphalt.diagnostics.model import SiteReport
from asphalt.project import Project
from asphalt.running.process import run
from support.code_examples import ACCEPTED, OF_STEPS, REFUSED
from support.judging import SETTINGS
from support.mpi_run import MPICH, OPENMPI, compile_source, installed

DEFECTS = {"ASP005", "ASP901"}
"""What only a defect of asphalt itself raises: no program gets it."""

# what a compiler has, and asphalt is not given
BESIDE = ("asp007_communication.f90", "asp013_sizes.f90")

# what is said of a step of a transformation is tested with the transformation
REFUSED_EXCHANGES = [path for path in REFUSED if path not in OF_STEPS]
PROVED_EXCHANGES = [path for path in ACCEPTED if path not in OF_STEPS]


def test_every_code_has_its_programs() -> None:
    without = {code for code in ALL_CODES if examples_of(code).refused is None}
    assert without == DEFECTS
    assert {path.name for path in FOLDER.iterdir()} == {
        *(path.name for path in REFUSED),
        *(path.name for path in ACCEPTED),
        *BESIDE,
    }


def outermost(project: Project) -> list[SiteReport]:
    """The exchanges without those in procedures that wrap them."""
    inside = {id(unit.unit) for site in project.sites() for unit in site.exchange.through}
    sites = project.sites()
    return [site.report for site in sites if id(site.exchange.located.unit) not in inside]


@pytest.mark.parametrize("path", REFUSED_EXCHANGES, ids=lambda path: path.stem)
def test_the_program_gets_exactly_this_code(path: Path) -> None:
    code = path.stem.partition("_")[0].upper()
    blocking = code in {found.id for found in point_to_point.STAY_BLOCKING}
    settings = replace(SETTINGS, passes=TRANSFERS if blocking else SETTINGS.passes)
    project = Project(path, settings=settings)
    assert project.problems == ()
    listed = {found.id for found in point_to_point.CODES}
    reports = outermost(project)
    wrong = code in {found.id for found in (*usage.CODES, *call_arguments.CODES)}
    if wrong:
        reports += project.findings
    elif blocking:
        reports += (*project.kept_blocking(), *project.not_overlapped(()))
    else:
        reports += project.transfers() if code in listed else ()
    assert reports
    for report in reports:
        assert report.code == code, report
        assert report.verdict in (("finding",) if wrong else ("refused", "assumed", "skipped"))
        assert report.witness or report.evidence  # of what is only assumed
        assert {mark.role for mark in report.marks} >= {"exchange"}
        if report.verdict in ("refused", "finding"):
            assert any(mark.role == "offending" for mark in report.marks)
    assert project.transform() == ()


@pytest.mark.parametrize("path", PROVED_EXCHANGES, ids=lambda path: path.stem)
def test_the_mended_program_is_proved(path: Path) -> None:
    code = path.stem.partition("_")[0].upper()
    if code in {found.id for found in point_to_point.STAY_BLOCKING}:
        project = Project(path, settings=replace(SETTINGS, passes=TRANSFERS))
        assert project.kept_blocking() == ()
        changes = project.transform()
        assert project.not_overlapped(changes) == ()
        assert [site.verdict for change in changes for site in change.sites] == ["applied"]
        return
    project = Project(path, settings=SETTINGS)
    assert project.problems == ()
    assert project.findings == ()
    reports = outermost(project)
    assert reports
    assert [(report.verdict, report.code) for report in reports] == [("proved", None)] * len(
        reports
    ), reports


def test_a_compiler_takes_them(tmp_path: Path) -> None:
    (mpi, *_) = installed(MPICH, OPENMPI)  # the first is read in a third of the time
    for name in BESIDE:
        assert compile_source(mpi, FOLDER / name, tmp_path, ["-fsyntax-only"]).code == 0
    paths = [*map(str, (*REFUSED, *ACCEPTED))]
    done = run([mpi.free, "-fsyntax-only", *paths], tmp_path, 120)
    assert done.status == 0, done.stderr.decode()


def test_the_documentation_is_complete() -> None:
    for code in ALL_CODES.values():
        assert re.fullmatch(r"ASP\d{3,4}", code.id)
        assert int(code.id[3:]) // 100 == code.condition
        assert code.title
        assert not code.title.endswith(".")
        assert code.title[0].islower() or code.title.startswith(("MPI", "OpenMP"))
        for text in (code.meaning, code.advice):
            assert text == text.strip()
            assert text.endswith(".")
