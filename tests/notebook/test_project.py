"""The Python interface: projects, sites, plans and differences, and how they show themselves."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

import asphalt
from asphalt.config.errors import UsageError
from asphalt.notebook.diff import Diff
from asphalt.notebook.plan import Plan
from asphalt.notebook.project import Project
from asphalt.notebook.site import Site
from support.places import ROOT

EXAMPLES = ROOT / "docs" / "examples"
ALL = asphalt.Settings(passes=("all",))


@pytest.fixture(scope="module")
def both() -> Project:
    """A project with an exchange and, in another program, transfers."""
    files = (EXAMPLES / "transpose", EXAMPLES / "heat")
    return Project(*files, settings=ALL)


def test_it_is_what_asphalt_offers() -> None:
    assert asphalt.Project is Project
    assert repr(Project(EXAMPLES / "heat")) == f"Project({str(EXAMPLES / 'heat')!r})"


def test_all_sites_in_order(both: Project) -> None:
    verdicts = [(site.operation, site.verdict, site.code) for site in both.sites()]
    assert verdicts == [
        ("MPI_Sendrecv", "proved", None),
        ("MPI_Sendrecv", "proved", None),
        ("MPI_Reduce", "refused", "ASP026"),
        ("MPI_Reduce", "refused", "ASP026"),
        ("MPI_Alltoall", "proved", None),
    ]
    assert repr(both.sites()[-1]).endswith("transposes.f90:18 MPI_Alltoall: proved>")


def test_a_site_by_name_and_by_place(both: Project) -> None:
    transpose = both.site("transpose")
    assert transpose is both.site("transposes.f90:18") is both.site(transpose.place)
    assert both.site("heat.f90:25").name == "heat:25"


@pytest.mark.parametrize("name", ["transpos", "f90:25", "heat.f90:26", ""])
def test_no_such_site(both: Project, name: str) -> None:
    with pytest.raises(UsageError, match=r"no site of that name or place: .*transpose \("):
        both.site(name)


def test_bad_paths(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or directory"):
        Project(tmp_path / "nothing")
    with pytest.raises(UsageError, match="at least one"):
        Project()


def test_settings_are_those_of_the_tree(tmp_path: Path) -> None:
    (tmp_path / "asphalt.toml").write_text("tile = 5\n")
    (tmp_path / "empty.f90").write_text("end\n")
    assert Project(tmp_path / "empty.f90").settings.tile == 5


def test_a_plan_of_one_site_changes_no_other(both: Project) -> None:
    plans = {site.name: site.plan() for site in both.sites() if site.verdict == "proved"}
    changed = {name: [one.path.name for one in plan.changes] for name, plan in plans.items()}
    assert changed == {
        "heat:25": ["heat.f90"],
        "heat:28": ["heat.f90"],
        "transpose": ["transposes.f90"],
    }
    whole = both.plan()
    assert {one.path.name for one in whole.changes} == {"heat.f90", "transposes.f90"}
    assert str(plans["transpose"].diff()) in str(whole.diff())
    assert str(plans["heat:25"].diff()) == str(plans["heat:28"].diff()) in str(whole.diff())
    assert {step.transformation for step in plans["heat:25"].steps} >= {"nonblocking", "splitting"}


def test_k_and_d_of_a_plan(both: Project, tmp_path: Path) -> None:
    plan = both.site("transpose").plan(tile=8, depth=2)
    assert [(site.tile, site.depth) for site in plan.sites] == [(8, 2)]
    assert repr(plan) == "<Plan: 1 site>"
    assert [path.name for path in plan.write(tmp_path / "out")] == ["transposes.f90"]
    (header,) = (tmp_path / "out").rglob("asphalt_params.inc")
    assert "asphalt_k_transpose = 8 " in header.read_text()


def test_a_project_shows_a_table(both: Project) -> None:
    shown = both._repr_html_()
    assert shown.count("<tr>") == 1 + len(both.sites())
    assert '<td style="text-align:left">can be prepushed along z (every block)</td>' in shown


def test_a_site_shows_its_evidence_over_the_source(both: Project) -> None:
    site = both.site("transpose")
    assert "│ ┌────     do z = 1, nz   the producer: this nest defines s" in str(site)
    assert "the producer: this nest defines s" in unescape(site._repr_html_())
    assert "<span style=" in site._repr_html_()


def test_a_difference_stands_side_by_side(both: Project) -> None:
    diff = both.site("transpose").plan(tile=8).diff()
    assert diff
    assert repr(diff) == "<Diff of 1 file>"
    assert str(diff).startswith("--- a/")
    shown = diff._repr_html_()
    assert shown.count("asphalt_x%next_tile") == 1
    assert "<script" not in shown


def test_no_difference(both: Project) -> None:
    diff = Plan(both.core, exchanges=(), units=()).diff()
    assert not diff
    assert "No file would change" in diff._repr_html_()
    assert str(diff) == ""


def test_markup_of_the_source_is_text(tmp_path: Path) -> None:
    text = (EXAMPLES / "transpose" / "transposes.f90").read_text()
    (tmp_path / "a.f90").write_text(text.replace("! Fills", "! <b>[red]bold[/red] & Fills"))
    project = Project(tmp_path, settings=ALL)
    site = project.site("transpose")
    assert isinstance(site, Site)
    shown = site.plan().diff()._repr_html_()
    assert "<b>[red]" not in shown
    assert isinstance(site.plan().diff(), Diff)
    assert "&lt;b&gt;" in shown
